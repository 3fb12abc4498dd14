"""A driver of rmq-mcp for paho-mqtt 1.6 and 2.x, MQTT 3.1.1 and 5.

clients/CONTRACT.md says what a driver does. The acknowledgement is on_publish,
which this SDK calls when PUBACK or PUBCOMP arrives, across reconnects too. It
is only called for a message that is still in flight, once.
"""

import collections
import json
import os
import queue
import socket
import sys
import threading
import time
import zlib

# Before anything else can print: descriptor 1 is for lines only.
LINES = os.dup(1)
os.dup2(2, 1)
sys.stdout = sys.stderr

import paho.mqtt  # noqa: E402
import paho.mqtt.client as mqtt  # noqa: E402
from paho.mqtt.packettypes import PacketTypes  # noqa: E402
from paho.mqtt.properties import Properties  # noqa: E402

try:
    from importlib.metadata import version as installed
except ImportError:  # Python 3.7
    def installed(_):
        return paho.mqtt.__version__

CONTRACT = 1
HEADER = 92
WAIT = 5.0  # seconds, for a CONNACK and a SUBACK
CATCH_UP = 0.1  # seconds of delay that the pace makes up for
V2 = hasattr(mqtt, "CallbackAPIVersion")
SHARED_CLOCK = sys.platform.startswith("linux") or sys.platform == "darwin"

if SHARED_CLOCK:
    def monotonic():
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
else:
    def monotonic():
        return time.perf_counter_ns()


class Writer:
    """Writes lines; each is in the pipe when write returns."""

    def __init__(self, fd):
        self.fd, self.lock, self.lines, self.calls = fd, threading.Lock(), 0, 0

    def write(self, e, **fields):
        with self.lock:
            self._write(e, fields)

    def call(self, **fields):
        with self.lock:
            self.calls += 1
            self._write("call", fields, self.calls)
            return self.calls

    def bye(self):
        with self.lock:
            self._write("bye", {"p": 0, "lines": self.lines})

    def _write(self, e, fields, number=None):
        head = '{"e":"%s","t":%d' % (e, monotonic())
        if number is not None:
            head += ',"c":%d' % number
        data = (head + "," + json.dumps(fields, separators=(",", ":"))[1:] + "\n").encode()
        try:
            while data:
                data = data[os.write(self.fd, data):]
        except OSError:
            os._exit(1)  # nobody reads any more
        self.lines += 1


def checksum(payload):
    if len(payload) < HEADER:
        return zlib.crc32(payload)
    return zlib.crc32(payload[HEADER:], zlib.crc32(payload[:HEADER - 9]))


PADDING = bytes(ord("a") + i % 26 for i in range(26))


def encode(run, process, epoch, stream, seq, qos, kind, size):
    size = max(size, HEADER)
    head = "RQ1|%-8.8s|%08x|%04x|%08x|%016x|%d|%s|%016x|%08x|" % (
        run, process, epoch, stream, seq, qos, kind, monotonic(), size)
    start, rest = (stream + seq) % 26, size - HEADER
    padding = (PADDING * (rest // 26 + 2))[start:start + rest]
    crc = zlib.crc32(padding, zlib.crc32(head.encode()))
    return head.encode() + b"%08x|" % crc + padding


def describe(m):
    payload = bytes(m.payload)
    return {"q": m.qos, "dup": bool(m.dup), "ret": bool(m.retain), "i": m.mid,
            "h": payload[:HEADER].decode("latin-1"), "crc": "%08x" % checksum(payload), "len": len(payload)}


class Gate:
    """Open or closed; who waits at it passes when it opens or gives up."""

    def __init__(self, is_open=True):
        self.event = threading.Event()
        if is_open:
            self.event.set()

    def is_open(self):
        return self.event.is_set()

    def open(self):
        was, _ = self.event.is_set(), self.event.set()
        return not was

    def shut(self):
        was, _ = self.event.is_set(), self.event.clear()
        return was

    def wait(self, *stops):
        while not self.event.wait(0.05):
            if any(s.is_set() for s in stops):
                return False
        return True


class Acks:
    """Who waits for which packet id. An acknowledgement may be faster than the
    return of the SDK's function that names the id, and it comes while the SDK
    holds its locks: so nothing of the SDK is called under this one."""

    def __init__(self):
        self.lock, self.waiting, self.early = threading.Lock(), {}, {}

    def begin(self):
        """Goes before the SDK's function: an id it then names is a new one."""
        with self.lock:
            self.early.clear()

    def expect(self, mid, then):
        with self.lock:
            if mid not in self.early:
                self.waiting[mid] = then
                return
            reason = self.early.pop(mid)
        then(reason)

    def arrived(self, mid, reason):
        with self.lock:
            then = self.waiting.pop(mid, None)
            if then is None:
                self.early[mid] = reason
                return
        then(reason)

    def forget(self, mid):
        with self.lock:
            self.waiting.pop(mid, None)


def code(reason):
    """The number of a reason, of whichever type the version of the SDK has."""
    return int(getattr(reason, "value", reason) or 0)


class Session:
    """One MQTT session in the hands of the SDK."""

    def __init__(self, process, client, on_ready, on_message):
        self.p, self.c = process, client
        self.on_ready, self.on_message = on_ready, on_message
        self.lock = threading.Lock()
        self.wanted = self.up = False
        self.conn = 0  # how many connections there were
        self.lost = threading.Event()  # of the current connection
        self.call = None  # the connect that has not returned
        self.turn = 0
        self.pubacks, self.subacks = Acks(), Acks()
        self.mqtt = self.make()

    def make(self):
        c, v5 = self.c, self.c["protocol"] == "mqtt5"
        kw = {"client_id": c["client_id"], "protocol": mqtt.MQTTv5 if v5 else mqtt.MQTTv311}
        if not v5:
            kw["clean_session"] = bool(c.get("clean"))
        m = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, **kw) if V2 else mqtt.Client(**kw)
        if c.get("username"):
            m.username_pw_set(c["username"], c.get("password"))
        retry = max(c.get("reconnect_ms") or 1, 1) / 1000.0
        m.reconnect_delay_set(retry, retry)
        window = (c.get("publish") or {}).get("max_inflight") or 20
        m.max_inflight_messages_set(window)
        m.on_connect, m.on_disconnect, m.on_connect_fail = self.connected, self.disconnected, self.connect_failed
        m.on_publish = lambda _c, _u, mid, reason=0, *_: self.pubacks.arrived(mid, code(reason))
        m.on_subscribe = lambda _c, _u, mid, reasons, *_: self.subacks.arrived(mid, code(reasons[0]))
        m.on_message = lambda _c, _u, message: self.on_message(self, message)
        m.on_socket_open = lambda _c, _u, sock: self.expect_connack(sock)
        return m

    # The SDK retries one address; before each attempt it is given the next.
    def attempt(self):
        endpoint = self.c["endpoints"][self.turn % len(self.c["endpoints"])]
        host, port = endpoint.rsplit(":", 1)
        self.call = self.p.w.call(k="connect", p=self.p.id, a=endpoint)
        kw = {}
        if self.c["protocol"] == "mqtt5":
            kw["clean_start"] = bool(self.c.get("clean"))
            kw["properties"] = properties = Properties(PacketTypes.CONNECT)
            properties.SessionExpiryInterval = self.c.get("expiry_s") or 0
            if self.c.get("receive_max"):
                properties.ReceiveMaximum = self.c["receive_max"]
        self.mqtt.connect_async(host.strip("[]"), int(port), self.c.get("keep_alive_s") or 0, **kw)

    def expect_connack(self, sock):
        conn = self.conn

        def late():
            if not self.up and self.conn == conn:
                cut(sock)
        timer = threading.Timer(WAIT, late)
        timer.daemon = True
        timer.start()

    def connect(self):
        self.wanted, self.turn = True, 0
        self.attempt()
        self.mqtt.loop_start()

    def connected(self, _c, _u, flags, reason, *_):
        present = flags["session present"] if isinstance(flags, dict) else flags.session_present
        reason = code(reason)
        if reason:
            self.returned("fail", r=reason, x="the broker refused")
            return
        self.lost = threading.Event()
        self.up, self.turn, self.conn = True, 0, self.conn + 1
        if V2:
            self.mqtt.manual_ack_set(False)  # else what the broker sends of QoS 2 again is never answered
        self.returned("ok", sp=bool(present))
        threading.Thread(target=self.on_ready, args=(self, bool(present), self.lost), daemon=True).start()

    def disconnected(self, *args):
        if self.up:
            self.up = False
            self.lost.set()
            why = args[3] if V2 else args[2]
            self.p.w.write("point", k="disconnect", p=self.p.id, x=str(why) if self.wanted else "closed by the client")
        else:
            self.returned("info", x="connection lost before CONNACK")
            self.turn += 1
        if self.wanted:
            self.attempt()

    def connect_failed(self, *_):
        self.returned("fail", x=str(sys.exc_info()[1] or "cannot connect"))
        self.turn += 1
        if self.wanted:
            self.attempt()

    def returned(self, outcome, **fields):
        call, self.call = self.call, None
        if call is not None:
            self.p.w.write("return", k="connect", p=self.p.id, c=call, o=outcome, **fields)

    def disconnect(self):
        self.wanted = False
        self.lost.set()
        unless_replaced(self.mqtt.disconnect)
        sock = self.mqtt.socket()
        timer = threading.Timer(2.0, lambda: cut(sock))  # a frozen broker reads no DISCONNECT
        timer.daemon = True
        timer.start()
        self.mqtt.loop_stop()
        timer.cancel()
        if self.up:
            self.disconnected(None, None, None, "closed by the client")
        self.returned("fail", x="not tried any more")

    def subscribe(self, topic, qos):
        """Answers outcome, reason code and text."""
        lost, done, answer = self.lost, threading.Event(), []

        def arrived(reason):
            answer.append(reason)
            done.set()
        self.subacks.begin()
        try:
            rc, mid = self.mqtt.subscribe(topic, qos)
        except OSError as e:
            return "info", 0, str(e)
        if rc != mqtt.MQTT_ERR_SUCCESS:
            return "fail", 0, mqtt.error_string(rc)
        self.subacks.expect(mid, arrived)
        deadline = time.monotonic() + WAIT
        while not done.wait(0.02):
            if lost.is_set() or time.monotonic() > deadline:
                self.subacks.forget(mid)
                return "info", 0, "no SUBACK"
        return ("fail", answer[0], "the broker refused") if answer[0] >= 0x80 else ("ok", answer[0], "")


def unless_replaced(send, *args):
    """Calls a function of the SDK that sends. It may raise while the network
    thread is replacing the connection; then nothing is sent, as if it had been
    lost a moment earlier."""
    try:
        send(*args)
    except OSError as e:
        print("driver: %s: %s" % (send.__name__, e))


def cut(sock):
    try:
        if sock is not None:
            sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it is closed


class Process:
    """One client of the specification."""

    def __init__(self, spec, client, writer):
        self.spec, self.c, self.w, self.id = spec, client, writer, client["process"]
        self.commands, self.quit = queue.Queue(), threading.Event()
        self.paused, self.online = Gate(), Gate(is_open=False)
        self.delay = (client.get("delay_ms") or 0) / 1000.0
        self.subscribed, self.subscribing = set(), threading.Lock()
        self.inbox, self.inbox_lock = collections.deque(), threading.Lock()
        self.emptying = threading.Lock()
        self.producer = Producer(self) if (client.get("publish") or {}).get("streams") else None
        if client.get("read_registers"):
            self.session = Reader(self)
        else:
            self.session = Session(self, client, self.ready, self.message)

    def run(self):
        while True:
            do = self.commands.get()
            if do == "connect":
                self.connect()
            elif do == "disconnect":
                self.disconnect()
            elif do == "reconnect":
                self.disconnect()
                self.connect()
            elif do == "pause":
                if self.paused.shut():
                    self.w.write("point", k="pause", p=self.id)
            elif do == "resume":
                if self.paused.open():
                    self.w.write("point", k="resume", p=self.id)
                    threading.Thread(target=self.empty_inbox, daemon=True).start()
            elif do in ("end", "abandon"):
                if do == "end" and self.producer:
                    self.producer.finish()
                self.disconnect()
                return
            else:
                print("driver: no command %r in the contract" % do)

    def connect(self):
        if self.online.open():
            self.session.connect()

    def disconnect(self):
        if self.online.shut():
            self.session.disconnect()
            self.empty_inbox()

    def ready(self, session, present, lost):
        with self.subscribing:
            for f in self.c.get("subscribe") or []:
                topic, qos = f["filter"], f["qos"]
                if present and topic in self.subscribed:
                    continue
                call = self.w.call(k="subscribe", p=self.id, q=qos, x=topic)
                outcome, reason, text = session.subscribe(topic, qos)
                if outcome == "ok":
                    self.subscribed.add(topic)
                self.w.write("return", k="subscribe", p=self.id, c=call, o=outcome, r=reason, x=text)
        if self.producer:
            self.producer.start()

    def message(self, session, m):
        """The SDK's callback. A paused process withholds acknowledgements where
        the SDK knows how to (2.x); else the callback blocks, and with it the
        SDK's pings."""
        if not V2:
            self.paused.wait(session.lost)
            self.deliver(m, session.lost)
            return
        with self.inbox_lock:
            hold = not self.paused.is_open() or len(self.inbox) > 0
            session.mqtt.manual_ack_set(hold)
            if hold:
                self.inbox.append((session.conn, m))
                return
        self.deliver(m, session.lost)

    def empty_inbox(self):
        """Handles what arrived during a pause. What is QoS 1 and of an earlier
        connection was not acknowledged, so the broker sends it again; QoS 2 it
        does not send again, and QoS 0 never."""
        with self.emptying:
            while self.paused.is_open() or not self.online.is_open():
                with self.inbox_lock:
                    if not self.inbox:
                        return
                    conn, m = self.inbox[0]
                s = self.session
                current = s.up and conn == s.conn
                if m.qos != 1 or current:
                    self.deliver(m, s.lost)
                    if s.up and (m.qos == 2 or current):
                        unless_replaced(s.mqtt.ack, m.mid, m.qos)
                with self.inbox_lock:
                    self.inbox.popleft()

    def deliver(self, m, lost):
        self.w.write("point", k="deliver", p=self.id, **describe(m))
        if self.delay:
            lost.wait(self.delay)


class Producer:
    """Publishes a process's messages."""

    def __init__(self, process):
        self.p, self.work = process, process.c["publish"]
        self.streams = self.work["streams"]
        self.next = [0] * len(self.streams)
        self.window = self.work.get("max_inflight") or 20
        self.open, self.changed = 0, threading.Condition()
        self.stop = threading.Event()
        self.thread = None

    def start(self):
        with self.changed:
            if self.thread is None and not self.stop.is_set():
                self.thread = threading.Thread(target=self.run, daemon=True)
                self.thread.start()

    def run(self):
        rate, count = self.work.get("rate_per_s") or 0, self.work.get("count") or 0
        interval, due, n = (1.0 / rate if rate > 0 else 0.0), 0.0, 0
        while count == 0 or n < count:
            if not self.p.paused.wait(self.stop) or not self.p.online.wait(self.stop):
                return
            now = time.monotonic()
            if now - due > CATCH_UP:
                due = now
            if due > now and self.stop.wait(due - now):
                return
            due += interval
            with self.changed:
                while self.open >= self.window and not self.stop.is_set():
                    self.changed.wait(0.1)
                if self.stop.is_set():
                    return
                self.open += 1
            self.publish(n % len(self.streams), "M", lambda _outcome: self.release())
            n += 1

    def release(self):
        with self.changed:
            self.open -= 1
            self.changed.notify_all()

    def publish(self, index, kind, then):
        s, seq = self.streams[index], self.next[index]
        self.next[index] += 1
        p, qos = self.p, s["qos"]
        payload = encode(p.spec["run"], p.id, p.spec.get("epoch") or 0, s["stream"], seq, qos, kind,
                         self.work.get("payload_bytes") or 0)
        end = {"end": True} if kind == "E" else {}
        call = p.w.call(k="publish", p=p.id, s=s["stream"], n=seq, q=qos, **end)

        def returned(outcome, reason=0, mid=None, text=None):
            fields = {"r": reason} if reason else {}
            if mid is not None:
                fields["i"] = mid
            if text:
                fields["x"] = text
            p.w.write("return", k="publish", p=p.id, c=call, o=outcome, **fields)
            then(outcome)
        p.session.pubacks.begin()
        try:
            info = p.session.mqtt.publish(s["topic"], payload, qos, bool(s.get("retain")))
        except ValueError as e:  # refused before it was queued
            returned("fail", text=str(e))
            return
        except (OSError, RuntimeError) as e:  # the connection is being replaced; it may be queued
            returned("info", text=str(e))
            return
        if qos == 0:
            sent = info.rc == mqtt.MQTT_ERR_SUCCESS and p.session.up
            returned("ok" if sent else "info", text="" if sent else mqtt.error_string(info.rc))
        elif info.rc in (mqtt.MQTT_ERR_SUCCESS, mqtt.MQTT_ERR_NO_CONN):  # sent, or queued
            p.session.pubacks.expect(info.mid, lambda reason: returned(
                "fail" if reason >= 0x80 else "ok", reason, info.mid))
        else:
            returned("fail", text=mqtt.error_string(info.rc))

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
                return
        with self.changed:
            while self.open > 0 and time.monotonic() < deadline and not p.quit.is_set():
                self.changed.wait(0.05)
        deadline = time.monotonic() + wait
        pause = max((p.c.get("reconnect_ms") or 0) / 1000.0, 0.01)
        for index in range(len(self.streams)):
            while not self.mark(index, deadline):
                if time.monotonic() + pause > deadline or p.quit.wait(pause):
                    return

    def mark(self, index, deadline):
        outcome, done = [], threading.Event()

        def then(o):
            outcome.append(o)
            done.set()
        self.publish(index, "E", then)
        while not done.wait(0.02):
            if time.monotonic() > deadline or self.p.quit.is_set():
                return False
        return outcome[0] == "ok"


class Reader:
    """Reads registers: one clean session after the other, and in each what is
    retained on one topic after the other."""

    up, conn, lost = False, 0, threading.Event()

    def __init__(self, process):
        self.p, self.work = process, process.c["read_registers"]
        self.stop, self.thread = threading.Event(), None

    def connect(self):
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(self.stop,), daemon=True)
        self.thread.start()

    def disconnect(self):
        self.stop.set()
        self.thread.join()

    def run(self, stop):
        while self.p.paused.wait(stop):
            self.round(stop)
            if stop.wait((self.work.get("every_ms") or 0) / 1000.0):
                return

    def round(self, stop):
        client = dict(self.p.c, clean=True, expiry_s=0)
        ready, messages = threading.Event(), queue.Queue()
        s = Session(self.p, client, lambda *_: ready.set(), lambda _s, m: messages.put(m))
        s.connect()
        try:
            while not ready.wait(0.02):
                if stop.is_set():
                    return
            for topic in self.work["topics"]:
                if not self.fetch(s, topic, messages, stop):
                    return
        finally:
            s.disconnect()

    def fetch(self, s, topic, messages, stop):
        lost = s.lost
        call = self.p.w.call(k="fetch", p=self.p.id, x=topic)

        def returned(outcome, **fields):
            self.p.w.write("return", k="fetch", p=self.p.id, c=call, o=outcome, **fields)
            return outcome == "ok"
        outcome, reason, text = s.subscribe(topic, 1)
        if outcome != "ok":
            return returned(outcome, r=reason, x=text)
        deadline = time.monotonic() + (self.work.get("wait_ms") or 0) / 1000.0
        while True:
            try:
                m = messages.get(timeout=0.02)
                if m.retain and m.topic == topic:
                    return returned("ok", **describe(m))
            except queue.Empty:
                if lost.is_set():
                    return returned("info", x="connection lost while reading")
                if stop.is_set():
                    return returned("info", x="the process has ended")
                if time.monotonic() > deadline:
                    return returned("ok")


def read_spec():
    line = sys.stdin.readline()
    if not line:
        sys.exit("driver: no specification on stdin; the driver is started by rmq-mcp")
    spec = json.loads(line)
    if spec.get("contract") != CONTRACT:
        sys.exit("driver: specification of contract %r, this driver speaks %d" % (spec.get("contract"), CONTRACT))
    for c in spec["clients"]:
        if c["protocol"] not in ("mqtt3", "mqtt5"):
            sys.exit("driver: client %d wants %r, paho-mqtt speaks mqtt3, mqtt5" % (c["process"], c["protocol"]))
    return spec


def read_commands(processes):
    for line in sys.stdin:
        command = json.loads(line)
        for p in processes:
            if command.get("process", -1) in (-1, p.id):
                p.commands.put(command["do"])
    for p in processes:
        p.quit.set()
        p.commands.put("abandon")


def crash(args):
    """A thread that died, ours or the SDK's, is a driver that died."""
    sys.__excepthook__(args.exc_type, args.exc_value, args.exc_traceback)
    sys.stderr.flush()
    os._exit(2)


def main():
    threading.excepthook = crash
    spec = read_spec()
    cannot = [] if V2 else ["pause_connected", "publish_reason"]
    w = Writer(LINES)
    w.write("hello", p=0, contract=CONTRACT, sdk="paho-mqtt", version=installed("paho-mqtt"),
            clock="monotonic" if SHARED_CLOCK else "process", dedupes=True, cannot=cannot)
    processes = [Process(spec, c, w) for c in spec["clients"]]
    threads = [threading.Thread(target=p.run, daemon=True) for p in processes]
    for p, thread in zip(processes, threads):
        if p.c.get("start") != "waiting":
            p.commands.put("connect")
        thread.start()
    threading.Thread(target=read_commands, args=(processes,), daemon=True).start()
    for thread in threads:
        thread.join()
    w.bye()
    sys.stderr.flush()
    os._exit(0)  # daemon threads of the SDK may still be around


main()
