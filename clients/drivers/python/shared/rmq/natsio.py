"""What sessions on nats-py share: its event loop in a thread, and its
connections written down."""

import asyncio
import threading

import nats.aio.client
import nats.aio.transport

from rmq.session import Session


class Transport(nats.aio.transport.TcpTransport):
    """The SDK's, which tells of each connection. The SDK makes one for each
    connection, in the session's thread."""

    async def connect(self, uri, buffer_size, connect_timeout):
        session = current.session
        session.conn = conn = session.p.dial_to("%s:%d" % (uri.hostname, uri.port))
        try:
            await super().connect(uri, buffer_size, connect_timeout)
        except Exception as e:
            conn.failed(str(e) or type(e).__name__)
            raise
        self.ours = conn
        conn.opened(lambda: session.loop.call_soon_threadsafe(self._bare_io_writer.transport.abort))

    def close(self):
        super().close()
        if getattr(self, "ours", None):
            self.ours.closed("the connection is over")


client = nats.aio.client
client.TcpTransport = Transport
learn = client.Client._process_info


async def learn_no_server(self, info, *args, **kwargs):
    """The SDK's, but that it goes to no server but those it was given: one that a
    broker names may be anybody's."""
    await learn(self, {k: v for k, v in info.items() if k != "connect_urls"}, *args, **kwargs)


client.Client._process_info = learn_no_server
current = threading.local()  # session: whose loop the thread runs


class NatsSession(Session):
    def __init__(self, p):
        super().__init__(p)
        self.conn, self.loop = None, asyncio.new_event_loop()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        current.session = self
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def do(self, coroutine):
        """Has the loop carry it out; answers its future."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def servers(self):
        return ["nats://" + e for e in self.p.c["endpoints"]]

    async def up(self):
        """To be called when the SDK says that it is connected."""
        self.conn.accepted(False)
        self.p.ready(self.conn, False)
