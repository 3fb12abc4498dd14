"""For SDKs of asyncio: one event loop for all clients, in a thread of its own."""

import asyncio
import threading

from rmq.driver import crash
from rmq.session import Session


class AsyncSession(Session):
    """A session whose SDK runs in the event loop."""

    loop = asyncio.new_event_loop()

    def start(self, coroutine):
        """Begins something in the loop. If it raises, the driver has died."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        future.add_done_callback(raised)
        return future

    def run(self, coroutine):
        """Waits in another thread for something in the loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def soon(self, function, *args):
        """Calls a function in the loop; in order."""
        self.loop.call_soon_threadsafe(function, *args)

    async def allowed(self, conn):
        """Returns when the process is not paused, or its connection is over."""
        while not self.p.unpaused.is_open() and self.p.online.is_open() and not conn.lost.is_set():
            await asyncio.sleep(0.01)

    async def take_time(self, conn):
        """Passes the time that the application takes for a message."""
        end = self.loop.time() + self.p.delay
        while not conn.lost.is_set() and self.loop.time() < end:
            await asyncio.sleep(min(0.1, max(end - self.loop.time(), 0)))


def raised(future):
    if not future.cancelled() and future.exception():
        error = future.exception()
        crash(type(error), error, error.__traceback__)


threading.Thread(target=AsyncSession.loop.run_forever, daemon=True).start()
