"""Publishes a process's messages."""

import threading
import time

from rmq import payload
from rmq.lines import Call

CATCH_UP = 0.1  # seconds of delay that the pace makes up for


class Producer:
    def __init__(self, p):
        self.p, self.work = p, p.c["publish"]
        self.streams = self.work["streams"]
        self.next = [0] * len(self.streams)
        self.window = self.work.get("max_inflight") or 20
        self.open, self.changed = 0, threading.Condition()
        self.stop, self.thread = threading.Event(), None

    def start(self):
        """Begins to publish, once."""
        with self.changed:
            if self.thread is None and not self.stop.is_set():
                self.thread = threading.Thread(target=self.run, daemon=True)
                self.thread.start()

    def run(self):
        rate, count = self.work.get("rate_per_s") or 0, self.work.get("count") or 0
        interval, n = (1.0 / rate if rate > 0 else 0.0), 0
        due = time.monotonic() + (self.work.get("first_ms") or 0) / 1000.0
        while count == 0 or n < count:
            left = due - time.monotonic()
            if left > 0 and self.stop.wait(left):
                return
            if not self.p.unpaused.wait(self.stop) or not self.taken(self.stop):
                return
            with self.changed:
                while self.open >= min(self.window, self.p.session.window) and not self.stop.is_set():
                    self.changed.wait(0.1)
                if self.stop.is_set():
                    return
                self.open += 1
            late = time.monotonic() - due
            if late > CATCH_UP and interval > 0:
                due += late - late % interval
            due += interval
            self.publish(n % len(self.streams), "M", lambda _outcome: self.release())
            n += 1

    def taken(self, *stops):
        """Waits until the session takes a message."""
        p = self.p
        return p.online.wait(*stops) and (p.session.queues or p.connected.wait(*stops))

    def release(self):
        with self.changed:
            self.open -= 1
            self.changed.notify_all()

    def publish(self, index, kind, then):
        """Publishes the next message of a stream. Its call is in the history
        before the SDK hears of it."""
        s, seq = self.streams[index], self.next[index]
        self.next[index] += 1
        p, qos = self.p, s["qos"]
        body = payload.make(p.spec["run"], p.id, p.spec.get("epoch") or 0, s["stream"], seq, qos, kind,
                            self.work.get("payload_bytes") or 0)
        end = {"end": True} if kind == "E" else {}
        p.session.publish(Call(p, "publish", then, s=s["stream"], n=seq, q=qos, **end), s, body)

    def finish(self):
        """Stops, waits for what is outstanding, and ends each stream with a
        marker that the broker acknowledged."""
        p = self.p
        p.connect()
        with self.changed:
            self.stop.set()
            self.changed.notify_all()
        wait = (p.spec.get("ack_wait_ms") or 0) / 1000.0
        deadline = time.monotonic() + wait
        if self.thread:
            self.thread.join(wait)
            if self.thread.is_alive():
                return  # the SDK still holds the last message: a marker would overtake it
        with self.changed:
            while self.open > 0 and time.monotonic() < deadline and not p.quit.is_set():
                self.changed.wait(0.05)
        deadline = time.monotonic() + wait
        pause = max((p.c.get("reconnect_ms") or 0) / 1000.0, 0.01)
        for index, stream in enumerate(self.streams):
            while not stream.get("unmarked") and not self.mark(index, deadline):
                if time.monotonic() + pause > deadline or p.quit.wait(pause):
                    return

    def mark(self, index, deadline):
        """Publishes one end marker. False where it was not acknowledged: the
        stream goes on by one more."""
        given_up, outcome, done = threading.Event(), [], threading.Event()
        timer = threading.Timer(max(deadline - time.monotonic(), 0), given_up.set)
        timer.daemon = True
        timer.start()
        try:
            if not self.taken(given_up, self.p.quit):
                return False

            def then(o):
                outcome.append(o)
                done.set()
            self.publish(index, "E", then)
            while not done.wait(0.02):
                if given_up.is_set() or self.p.quit.is_set():
                    return False
            return outcome[0] == "ok"
        finally:
            timer.cancel()
