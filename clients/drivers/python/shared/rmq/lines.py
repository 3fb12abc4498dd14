"""What a driver writes: a line an event. Import this module before anything
that may print: it takes descriptor 1 for the lines and gives the others 2."""

import json
import os
import sys
import threading
import time

LINES = os.dup(1)
os.dup2(2, 1)
sys.stdout = sys.stderr

SHARED_CLOCK = sys.platform.startswith("linux") or sys.platform == "darwin"

if SHARED_CLOCK:
    def monotonic():
        """Nanoseconds of CLOCK_MONOTONIC."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
else:
    monotonic = time.perf_counter_ns

encode = json.JSONEncoder(separators=(",", ":")).encode


class Writer:
    """Writes lines; each is in the pipe when its method returns."""

    def __init__(self, fd):
        self.fd, self.lock, self.lines, self.calls = fd, threading.Lock(), 0, 0
        self.ended = False  # bye is written

    def write(self, e, **fields):
        with self.lock:
            self._write(e, fields)

    def call(self, **fields):
        """Writes a call and answers its number."""
        with self.lock:
            self.calls += 1
            self._write("call", fields, self.calls)
            return self.calls

    def bye(self):
        """Writes the last line. What an SDK says after it is not heard."""
        with self.lock:
            self._write("bye", {"p": 0, "lines": self.lines})
            self.ended = True

    def _write(self, e, fields, number=None):
        if self.ended:
            return
        head = '{"e":"%s","t":%d,' % (e, monotonic())
        if number is not None:
            head += '"c":%d,' % number
        data = (head + encode(fields)[1:] + "\n").encode()
        try:
            while data:
                data = data[os.write(self.fd, data):]
        except OSError:
            os._exit(1)  # nobody reads any more
        self.lines += 1


class Call:
    """A call that is in the history and has not returned. Only its first
    return counts, and only the first word of the SDK on it."""

    __slots__ = ("p", "kind", "number", "fields", "then", "lock", "returned", "was_told")

    def __init__(self, p, kind, then=None, **fields):
        self.p, self.kind, self.fields, self.then = p, kind, fields, then
        self.lock, self.returned, self.was_told = threading.Lock(), False, False
        self.number = p.w.call(k=kind, p=p.id, **fields)

    def done(self, outcome, **fields):
        """Writes the return, ok, fail or info. Fields are those of a line."""
        with self.lock:
            if self.returned:
                return
            self.returned = True
        self.p.w.write("return", k=self.kind, p=self.p.id, c=self.number, o=outcome, **fields)
        if self.then:
            self.then(outcome)

    def told(self, outcome, text=""):
        """Writes what the SDK tells the application of a publish, ok or fail."""
        with self.lock:
            if self.was_told:
                return
            self.was_told = True
        text = {"x": text} if text else {}
        self.p.w.write("point", k="told", p=self.p.id, s=self.fields["s"], n=self.fields["n"], o=outcome, **text)
