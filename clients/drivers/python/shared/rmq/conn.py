"""A connection to a broker, from the attempt to its end."""

import socket
import threading
from contextlib import contextmanager

from rmq.lines import Call

WAIT = 5.0  # seconds to wait for a connection, for its CONNACK, and for a SUBACK


class Conn:
    """One attempt to connect, and the connection that came of it. It writes
    down, once, how the attempt went and that the connection is over."""

    def __init__(self, p, endpoint):
        self.p, self.endpoint = p, endpoint
        host, port = endpoint.rsplit(":", 1)
        self.host, self.port = host.strip("[]"), int(port)
        self.lock = threading.Lock()
        self.up, self.broken, self.lost = False, False, threading.Event()
        self.cut = self.release = None
        self.call = Call(p, "connect", a=endpoint)

    def opened(self, cut, release=None):
        """The connection is there: from now on a CONNACK is waited for, and
        cut breaks the connection off. release is called when it is over."""
        self.cut, self.release = cut, release
        timer = threading.Timer(WAIT, lambda: self.up or self.break_off())
        timer.daemon = True
        timer.start()

    def break_off(self):
        """Breaks off the connection, if there is one."""
        if self.cut and not self.lost.is_set():
            self.broken = True
            self.cut()

    def accepted(self, present):
        """CONNACK said yes. present is whether the session is."""
        self.up, self.p.turn = True, 0
        self.p.connected.open()
        self.call.done("ok", **({"sp": True} if present else {}))

    def refused(self, reason):
        self.call.done("fail", r=reason, x="the broker refused")

    def failed(self, text):
        """The connection could not be opened."""
        self.call.done("fail", x=text)
        self.closed(text)

    def closed(self, text):
        """The connection is over, whoever ended it."""
        with self.lock:
            if self.lost.is_set():
                return
            self.lost.set()
        if self.up:
            self.p.connected.shut()
            self.p.w.write("point", k="disconnect", p=self.p.id, x=text)
        else:
            self.call.done("info", x="%s before CONNACK" % text)
        if self.release:
            self.release()


# Paho's client makes its sockets by socket.create_connection, in every version,
# 1.4 and 1.5 without a time limit, and waits for TLS and WebSocket handshakes
# for as long as its keep alive, before it shows the socket to anybody.
_create_connection, _dialing = socket.create_connection, threading.local()


@contextmanager
def dialing(conn):
    """What the thread connects to meanwhile is this connection."""
    _dialing.conn = conn
    try:
        yield conn
    finally:
        _dialing.conn = None


def _dial(address, *args, **kw):
    conn = getattr(_dialing, "conn", None)
    if conn is None:
        return _create_connection(address, *args, **kw)
    if not args:
        kw.setdefault("timeout", WAIT)
    sock = _create_connection(address, *args, **kw)
    # The SDK wraps its own descriptor, and may close it while this side looks.
    ours = sock.dup()

    def cut():
        try:
            ours.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is closed
    conn.opened(cut, ours.close)
    return sock


socket.create_connection = _dial
