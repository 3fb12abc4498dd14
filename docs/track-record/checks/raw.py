#!/usr/bin/env python3
"""Checks of a three-node MQTT cluster with nothing but sockets.

    raw.py CHECK NODE1 NODE2 NODE3 [USER PASSWORD]      each node as HOST:PORT

They repeat by hand what a run showed, without any SDK: what they print is what
was on the wire. CHECK is one of first, moved, stranger, stall, keepalive, qos,
newcomer, large, deaf, handlers, will, elsewhere, retained. Leave two minutes, or a new cluster, between those of sessions.
"""
import socket
import struct
import sys
import threading
import time

START = time.time()


def say(*words):
    print("%7.2f" % (time.time() - START), *words, flush=True)


def text(s):
    return struct.pack(">H", len(s)) + s.encode()


def length(n):
    out = b""
    while True:
        n, digit = divmod(n, 128)
        out += bytes([digit | (0x80 if n else 0)])
        if not n:
            return out


class Client:
    """A connection; it acknowledges what it gets unless it is mute."""

    def __init__(self, name, node, clean=True, keepalive=60, mute=False, v5=False, will=None):
        self.name, self.mute, self.v5 = name, mute, v5
        self.got, self.acks, self.open = [], {}, True
        self.ready, self.subscribed = threading.Event(), threading.Event()
        host, port = NODES[node - 1].rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), 10)
        self.socket.settimeout(None)
        flags = 0xC0 | (2 if clean else 0) | (0x0C if will else 0)
        left = (b"\0" if v5 else b"") + text(will) + text(name) if will else b""  # its payload is the name
        expiry = b"\x05\x11" + struct.pack(">I", 0 if clean else 600) if v5 else b""
        self.send(0x10, text("MQTT") + bytes([5 if v5 else 4, flags]) + struct.pack(">H", keepalive)
                  + expiry + text(name) + left + text(USER) + text(PASSWORD))
        threading.Thread(target=self.read, daemon=True).start()
        if not self.ready.wait(15):
            sys.exit(f"{name}: no CONNACK from node {node}")

    def send(self, kind, body):
        self.socket.sendall(bytes([kind]) + length(len(body)) + body)

    def take(self, n):
        out = b""
        while len(out) < n:
            more = self.socket.recv(n - len(out))
            if not more:
                raise EOFError
            out += more
        return out

    def read(self):
        try:
            while True:
                first, n, shift = self.take(1)[0], 0, 0
                while True:
                    digit = self.take(1)[0]
                    n, shift = n | (digit & 127) << shift, shift + 7
                    if digit < 128:
                        break
                self.packet(first, self.take(n))
        except (EOFError, OSError):
            self.open = False

    def packet(self, first, body):
        kind, pid = first >> 4, body[:2]
        if kind == 2:
            self.ready.set()
        elif kind == 9:
            self.subscribed.set()
        elif kind == 4:  # PUBACK: the reason code is MQTT 5's
            self.acks[struct.unpack(">H", pid)[0]] = body[2] if len(body) > 2 else 0
        elif kind == 5:
            self.send(0x62, pid)
        elif kind == 6:
            self.send(0x70, pid)
        elif kind == 3:
            self.publish_arrived(first, body)

    def publish_arrived(self, first, body):
        end = 2 + struct.unpack(">H", body[:2])[0]
        qos, rest, pid = first >> 1 & 3, body[end:], b""
        if qos:
            pid, rest = rest[:2], rest[2:]
        if self.v5:
            rest = rest[1 + rest[0]:]  # properties; these are short
        self.got.append((time.time() - START, rest.decode(), qos))
        if qos and not self.mute:
            self.send(0x40 if qos == 1 else 0x50, pid)

    def subscribe(self, topic, qos):
        self.send(0x82, b"\0\1" + (b"\0" if self.v5 else b"") + text(topic) + bytes([qos]))
        if not self.subscribed.wait(15):
            sys.exit(f"{self.name}: no SUBACK")
        time.sleep(2)  # let it reach the other nodes

    def publish(self, topic, payload, pid, qos=1):
        self.send(0x30 | qos << 1, text(topic) + (struct.pack(">H", pid) if qos else b"")
                  + (b"\0" if self.v5 else b"") + payload.encode())

    def close(self):
        self.send(0xE0, b"")
        self.socket.close()

    def payloads(self):
        return [payload for _, payload, _ in self.got]


def first(run):
    """The first message of 40 topics that do not exist yet, acknowledged or refused."""
    for v5 in (False, True):
        name = "MQTT 5" if v5 else "MQTT 3.1.1"
        hears = Client(f"f{run}h{v5:d}", 2)
        hears.subscribe(f"first/{run}/{v5:d}/#", 1)
        speaks = Client(f"f{run}s{v5:d}", 1, v5=v5)
        for i in range(40):
            speaks.publish(f"first/{run}/{v5:d}/{i}", f"m{i}", i + 1)
        time.sleep(15)
        missing = sorted({f"m{i}" for i in range(40)} - set(hears.payloads()))
        refused = sorted(f"m{i - 1}" for i, code in speaks.acks.items() if code >= 0x80)
        say(name, len(speaks.acks), "PUBACKs, refused by reason code:", refused, "never delivered:", missing)


def moved(run, strangers=0):
    """A persistent session subscribes on node 2, and its client comes back on node 3."""
    owner = Client(f"o{run}", 2, clean=False)
    owner.subscribe(f"moved/{run}/#", 1)
    speaks = Client(f"p{run}", 1)
    for i in range(3):  # the first one of a new topic may be lost: see the check first
        speaks.publish(f"moved/{run}/t", f"before{i}", 10 + i)
        time.sleep(1)
    say("on node 2 the owner got", owner.payloads())
    owner.close()
    time.sleep(1)
    others = [Client(f"x{run}{i}", 2) for i in range(2 * strangers)]
    fill = [Client(f"y{run}{i}", 3) for i in range(strangers)]
    back = Client(f"o{run}", 3, clean=False)
    for i in range(5):
        speaks.publish(f"moved/{run}/t", f"after{i}", 2 + i)
        time.sleep(1)
    time.sleep(25)
    say("on node 3 the owner got", back.payloads())
    for c in others + fill:
        if c.got:
            say("a client without any subscription got", c.payloads())


def stranger(run):
    """The same, with clients on node 2 that have no subscription at all."""
    moved(run, strangers=75)


def stall(run):
    """A subscriber that does not acknowledge, and another one on the same node."""
    good, mute = Client(f"g{run}", 1), Client(f"m{run}", 1, clean=False, mute=True)
    good.subscribe(f"stall/{run}/good", 1)
    mute.subscribe(f"stall/{run}/mute", 1)
    speaks = Client(f"s{run}", 1)
    for i in range(2):  # the first one of a new topic may be lost: see the check first
        speaks.publish(f"stall/{run}/mute", f"kept{i}", 50 + i)
        time.sleep(1)
    began = time.time() - START
    for i in range(60):
        speaks.publish(f"stall/{run}/good", f"g{i}", 100 + i)
        time.sleep(1)
    times = [began] + [at for at, _, _ in good.got] + [time.time() - START]
    say("longest silence at the one that acknowledges: %.1f s" % max(b - a for a, b in zip(times, times[1:])))
    mute.socket.close()
    time.sleep(1)
    back = Client(f"m{run}", 1, clean=False)
    time.sleep(30)
    say("the mute one came back and got", back.payloads(), "of what it never acknowledged")


def keepalive(run):
    """Keep alive of 5 s, a PUBLISH every second, no PINGREQ."""
    busy, began = Client(f"k{run}", 1, keepalive=5), time.time()
    for i in range(20):
        if not busy.open:
            break
        busy.publish(f"keep/{run}", "x", 1 + i)
        time.sleep(1)
    say("connection", "open" if busy.open else "closed by the broker after %.0f s" % (time.time() - began),
        "with", len(busy.acks), "acknowledged publishes")


def qos(run):
    """QoS 0, 1 and 2 published to a subscription of QoS 2."""
    hears, speaks = Client(f"q{run}", 1), Client(f"r{run}", 1)
    hears.subscribe(f"qos/{run}", 2)
    for q in (0, 0, 1, 1, 2, 2):
        speaks.publish(f"qos/{run}", f"published {q}", 1 + q, q)
        time.sleep(1)
    time.sleep(3)
    for _, payload, q in hears.got:
        say(payload, "delivered", q)


def newcomer(run):
    """A subscriber that comes after messages which were not retained."""
    speaks = Client(f"n{run}", 1)
    for i in range(3):
        speaks.publish(f"new/{run}", f"before{i}", 1 + i)
        time.sleep(1)
    hears = Client(f"c{run}", 1)
    hears.subscribe(f"new/{run}", 1)
    speaks.publish(f"new/{run}", "after", 9)
    time.sleep(3)
    say("it got", hears.payloads())


def large(run):
    """Messages of QoS 1, each on a connection of its own: which are acknowledged within 10 s?"""
    for size in (1000, 900000, 999900, 999990, 1000000, 1048576):
        speaks = Client(f"l{run}-{size}", 1)
        speaks.publish(f"large/{run}", "first", 1)  # the topic is there
        time.sleep(2)
        began = time.time()
        speaks.publish(f"large/{run}", "x" * size, 2)
        while time.time() < began + 10 and speaks.open and 2 not in speaks.acks:
            time.sleep(0.01)
        say("payload of %7d bytes:" % size, "acknowledged after %.3f s" % (time.time() - began) if 2 in speaks.acks
            else "not acknowledged, connection " + ("open" if speaks.open else "closed"))


def answered(run, n):
    """Is a new client of node 1 accepted within 5 s?"""
    host, port = NODES[0].rsplit(":", 1)
    s = socket.create_connection((host, int(port)), 10)
    s.settimeout(5)
    body = text("MQTT") + bytes([4, 0xC2, 0, 60]) + text(f"a{run}{n}") + text(USER) + text(PASSWORD)
    try:
        s.sendall(b"\x10" + length(len(body)) + body)
        return s.recv(4) == b"\x20\x02\0\0"
    except OSError:
        return False
    finally:
        s.close()


def handlers(run):
    """Clients of MQTT 3.1.1 that are accepted and send a CONNACK: after how many is nobody answered? ENDS NODE 1."""
    sent = 0
    for n in range(400):
        try:
            Client(f"h{run}{n}", 1).send(0x20, b"\0\0")
            sent += 1
        except SystemExit:  # no CONNACK: its handler is gone
            if not any(answered(run, f"{n}.{i}") for i in range(3)):
                break
    time.sleep(10)
    say(sent, "clients were accepted; of 5 new ones", sum(answered(run, f"x{i}") for i in range(5)), "are accepted")


def deaf(run):
    """Packets that only servers send, from a client that was accepted: is it told, closed, or neither?"""
    for name, kind, body in (("PINGRESP", 0xD0, b""), ("SUBACK", 0x90, b"\0\1\0"), ("UNSUBACK", 0xB0, b"\0\1")):
        c = Client(f"d{run}{name}", 1)
        c.send(kind, body)
        time.sleep(20)
        try:
            c.publish(f"deaf/{run}", "x", 7)
        except OSError:
            c.open = False
        time.sleep(5)
        say(name, "connection", "open" if c.open else "closed", "and a PUBLISH after it", "acknowledged" if 7 in c.acks else "not acknowledged")


def will(run):
    """Clients with a will of QoS 1, keep alive 5 s, end by DISCONNECT (left) or without (lost), or come back after that (back). Whose will comes?"""
    hears, speaks = Client(f"v{run}", 1), Client(f"u{run}", 1)
    hears.subscribe(f"will/{run}", 1)
    for i in range(3):  # the first one of a new topic may be lost: see the check first
        speaks.publish(f"will/{run}", f"before{i}", 1 + i)
        time.sleep(1)
    for v5 in (False, True):
        for clean in (True, False):
            for left in (False, True):
                name = "%s-%s-%s" % ("5" if v5 else "3.1.1", "clean" if clean else "kept", "left" if left else "lost")
                dies = Client(f"{name}-{run}", 1, clean=clean, keepalive=5, v5=v5, will=f"will/{run}")
                time.sleep(2)
                dies.close() if left else dies.socket.shutdown(socket.SHUT_RDWR)
                say(name)
    for v5 in (False, True):
        name = "%s-kept-back" % ("5" if v5 else "3.1.1")
        dies = Client(f"{name}-{run}", 1, clean=False, keepalive=5, v5=v5, will=f"will/{run}")
        time.sleep(2)
        dies.socket.shutdown(socket.SHUT_RDWR)
        time.sleep(1)
        Client(f"{name}-{run}", 1, clean=False, v5=v5)
        say(name)
    time.sleep(90)
    for at, payload, _ in hears.got:
        say("at %7.2f it got" % at, payload)


def elsewhere(run):
    """Three messages to a client of node 1, whose topic is older than its subscription, and one to another client at node 2."""
    for v5 in (False, True):
        name = "MQTT 5" if v5 else "MQTT 3.1.1"
        speaks = Client(f"e{run}s{v5:d}", 3, v5=v5)
        for i, topic in enumerate("abab"):  # the first one of a new topic may be lost: see the check first
            speaks.publish(f"elsewhere/{run}/{v5:d}/{topic}", "old", 1 + i)
            time.sleep(1)
        idle = [Client(f"e{run}i{v5:d}{i}", 1, v5=v5) for i in range(60)]  # so that no client at node 2 has the number of the next one
        there = Client(f"e{run}t{v5:d}", 2, v5=v5)
        there.subscribe(f"elsewhere/{run}/{v5:d}/b", 1)
        here = Client(f"e{run}h{v5:d}", 1, v5=v5)
        here.subscribe(f"elsewhere/{run}/{v5:d}/a", 1)
        for i in range(3):
            speaks.publish(f"elsewhere/{run}/{v5:d}/a", f"a{i}", 10 + i)
        time.sleep(1)
        sent = time.time() - START
        speaks.publish(f"elsewhere/{run}/{v5:d}/b", "b", 20)
        while "b" not in there.payloads() and time.time() - START < sent + 120:
            time.sleep(0.1)
        late = ["%.1f s" % (at - sent) for at, payload, _ in there.got if payload == "b"]
        say(name, "at node 1:", here.payloads(), "at node 2, after it was sent:", late)
        for c in idle:
            c.close()


def retained(run):
    """A SUBSCRIBE to a topic with a retained message: how long does SUBACK take?"""
    for v5 in (False, True):
        name, topic = "MQTT 5" if v5 else "MQTT 3.1.1", f"retained/{run}/{v5:d}"
        speaks = Client(f"r{run}s{v5:d}", 1, v5=v5)
        for i in range(2):
            speaks.send(0x33, text(topic) + struct.pack(">H", 1 + i) + (b"\0" if v5 else b"") + b"kept")
            time.sleep(1)
        reads = Client(f"r{run}r{v5:d}", 1, v5=v5)
        asked = time.time()
        reads.send(0x82, b"\0\1" + (b"\0" if v5 else b"") + text(topic) + b"\1")
        said = reads.subscribed.wait(60)
        say(name, "SUBACK", "after %.1f s" % (time.time() - asked) if said else "never", "and", len(reads.got), "PUBLISHes")


CHECKS = {f.__name__: f for f in (first, moved, stranger, stall, keepalive, qos, newcomer, large, handlers, deaf, will, elsewhere, retained)}

if __name__ == "__main__":
    if len(sys.argv) not in (5, 7) or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    NODES, (USER, PASSWORD) = sys.argv[2:5], sys.argv[5:] or ("admin", "robustmq")
    say(CHECKS[sys.argv[1]].__doc__)
    CHECKS[sys.argv[1]]("%x" % (int(START) & 0xFFFF))
