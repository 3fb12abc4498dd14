"""Reads registers: one clean session after the other, and in each what is
retained on one topic after the other."""

import queue
import threading
import time

from rmq.lines import Call
from rmq.session import Session


class Reader(Session):
    def __init__(self, p):
        super().__init__(p)
        self.work = p.c["read_registers"]
        self.stop, self.thread = threading.Event(), None

    def connect(self):
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(self.stop,), daemon=True)
        self.thread.start()

    def disconnect(self):
        self.stop.set()
        self.thread.join()

    def run(self, stop):
        while self.p.unpaused.wait(stop):
            self.round(stop)
            if stop.wait((self.work.get("every_ms") or 0) / 1000.0):
                return

    def round(self, stop):
        """Reads every register once."""
        client = dict(self.p.c, clean=True, expiry_s=0, subscribe=None, publish=None, read_registers=None)
        p = type(self.p)(self.p.sdk, self.p.spec, client, self.p.w)
        ready, messages = queue.Queue(), queue.Queue()
        p.on_ready = lambda conn, _present: ready.put(conn)
        p.on_message = lambda topic, fields: fields.get("ret") and messages.put((topic, fields))
        p.connect()
        try:
            conn = None
            while conn is None and not stop.is_set():
                try:
                    conn = ready.get(timeout=0.02)
                except queue.Empty:
                    pass
            if conn is None:
                return
            for topic in self.work["topics"]:
                if not self.fetch(p, conn, topic, messages, stop):
                    return
        finally:
            p.disconnect()

    def fetch(self, p, conn, topic, messages, stop):
        """Reads one register. False when the session is of no more use."""
        call = Call(self.p, "fetch", x=topic)
        ack = p.session.subscribe(topic, 1)
        if ack.outcome != "ok":
            call.done(ack.outcome, r=ack.reason, x=ack.text)
            return False
        deadline = time.monotonic() + (self.work.get("wait_ms") or 0) / 1000.0
        while True:
            try:
                where, fields = messages.get(timeout=0.02)
                if where == topic:
                    call.done("ok", **fields)
                    return True
            except queue.Empty:
                if conn.lost.is_set() or stop.is_set():
                    call.done("info", x="connection lost" if conn.lost.is_set() else "the process has ended")
                    return False
                if time.monotonic() > deadline:
                    call.done("ok")
                    return True
