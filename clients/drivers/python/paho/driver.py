"""A driver of rmq-mcp for paho-mqtt 1.4 to 2.2, MQTT 3.1.1 and, from 1.5, 5.

The acknowledgement is on_publish, which this SDK calls when PUBACK or PUBCOMP
arrives for a message that is still in flight, once, across reconnects too, and
at QoS 0 when the packet was written. It is also what tells the application, so
both are honest. publish() itself answers NO_CONN for a message that it queues.

What is in flight is sent again on every new connection, with DUP, also on a
clean session: there a QoS 2 message may arrive twice (its README says so), and
a message that is published while the connection comes back may be sent twice
by resuming (issue #492). 1.4 and 1.5 send again after 20 s without an
acknowledgement, too. Messages of QoS 2 that arrive are kept by id until PUBREL.

Before 2.0 a consumer's only brake is its callback, which holds up the pings.
MQTT 5 shows the reason of a PUBACK from 2.0 on only.
"""

from rmq import lines  # noqa: F401  before anything can print
import collections
import threading
import time
from importlib.metadata import version

import paho.mqtt.client as mqtt

from acks import Acks
from rmq import tls
from rmq.conn import WAIT, dialing
from rmq.driver import main
from rmq.session import SDK, Ack, Session, outcome

V2 = hasattr(mqtt, "CallbackAPIVersion")
V5 = hasattr(mqtt, "MQTTv5")


def code(reason):
    """The number of a reason, of whichever type the version of the SDK has."""
    return int(getattr(reason, "value", reason) or 0)


class Client(mqtt.Client):
    """The SDK's client. It opens every connection by reconnect()."""

    attempt = None

    def reconnect(self):
        return self.attempt(super().reconnect)


class Paho(Session):
    def __init__(self, p):
        super().__init__(p)
        self.conn = None
        self.wanted = False
        self.pubacks, self.subacks = Acks(), Acks()
        self.unsent = {}  # QoS 0 by packet id: its call, until it is written
        self.inbox, self.inbox_lock = collections.deque(), threading.Lock()
        self.emptying = threading.Lock()
        self.mqtt = self.make(p.c)

    def make(self, c):
        v5 = c["protocol"] == "mqtt5"
        transport = c.get("transport") or "tcp"
        kw = {"client_id": c["client_id"], "protocol": mqtt.MQTTv5 if v5 else mqtt.MQTTv311,
              "transport": "websockets" if transport in ("ws", "wss") else "tcp"}
        if not v5:
            kw["clean_session"] = bool(c.get("clean"))
        m = Client(mqtt.CallbackAPIVersion.VERSION2, **kw) if V2 else Client(**kw)
        if c.get("username"):
            m.username_pw_set(c["username"], c.get("password"))
        context = tls.context(c)
        if context:
            m.tls_set_context(context)
        if kw["transport"] == "websockets":
            m.ws_set_options(path="/mqtt")
        retry = max(c.get("reconnect_ms") or 1, 1) / 1000.0
        m.reconnect_delay_set(retry, retry)
        m.max_inflight_messages_set((c.get("publish") or {}).get("max_inflight") or 20)
        m.attempt = self.attempt
        m.on_connect, m.on_disconnect = self.connected, self.disconnected
        m.on_publish = lambda _c, _u, mid, reason=0, *_: self.pubacks.arrived(mid, code(reason))
        m.on_subscribe = lambda _c, _u, mid, reasons, *_: self.subacks.arrived(mid, code(reasons[0]))
        m.on_message = lambda _c, _u, message: self.message(message)
        return m

    # The SDK retries one address; before each attempt it is given the next.
    def attempt(self, reconnect):
        if not self.wanted:
            raise OSError("disconnected by the application")
        conn = self.conn = self.p.dial()
        self.address(conn.host, conn.port)
        try:
            with dialing(conn):
                return reconnect()
        except (OSError, ValueError) as e:  # ValueError: of WebSocket, in 1.x
            conn.failed(str(e))
            raise

    def address(self, host, port):
        c, kw = self.p.c, {}
        if c["protocol"] == "mqtt5":
            from paho.mqtt.packettypes import PacketTypes  # not in 1.4
            from paho.mqtt.properties import Properties
            kw["clean_start"] = bool(c.get("clean"))
            kw["properties"] = properties = Properties(PacketTypes.CONNECT)
            properties.SessionExpiryInterval = c.get("expiry_s") or 0
            if c.get("receive_max"):
                properties.ReceiveMaximum = c["receive_max"]
        self.mqtt.connect_async(host, port, c.get("keep_alive_s") or 0, **kw)

    def connect(self):
        self.wanted = True
        self.address("127.0.0.1", 1)  # it wants one; attempt names the real ones
        self.mqtt.loop_start()

    def connected(self, _c, _u, flags, reason, *_):
        if code(reason):
            self.conn.refused(code(reason))
            return
        present = bool(flags["session present"] if isinstance(flags, dict) else flags.session_present)
        if V2:
            self.mqtt.manual_ack_set(False)  # else what the broker sends of QoS 2 again is never answered
        self.conn.accepted(present)
        self.p.ready(self.conn, present)

    def disconnected(self, *args):
        why = args[3] if V2 else args[2]
        self.over(str(why) if self.wanted else "closed by the client")

    def over(self, why):
        """The connection is; with it goes what was not written of QoS 0."""
        self.conn.closed(why)
        for mid in list(self.unsent):
            call = self.unsent.pop(mid, None)
            self.pubacks.forget(mid)
            if call:
                call.done("info", x="connection lost")

    def disconnect(self):
        self.wanted = False
        unless_replaced(self.mqtt.disconnect)
        timer = threading.Timer(2.0, lambda: self.conn and self.conn.break_off())  # a frozen broker reads no DISCONNECT
        timer.daemon = True
        timer.start()
        try:
            self.mqtt.loop_stop()
        except AttributeError:  # it forgot its network thread, which had just ended, before it waited for it
            pass
        timer.cancel()
        if self.conn:
            self.over("closed by the client")
        self.empty_inbox()

    def subscribe(self, topic, qos):
        lost, done, answer = self.conn.lost, threading.Event(), []

        def arrived(reason):
            answer.append(reason)
            done.set()
        self.subacks.begin()
        try:
            rc, mid = self.mqtt.subscribe(topic, qos)
        except OSError as e:
            return Ack("info", text=str(e))
        if rc != mqtt.MQTT_ERR_SUCCESS:
            return Ack("fail", text=mqtt.error_string(rc))
        self.subacks.expect(mid, arrived)
        deadline = time.monotonic() + WAIT
        while not done.wait(0.02):
            if lost.is_set() or time.monotonic() > deadline:
                self.subacks.forget(mid)
                return Ack("info", text="no SUBACK")
        return Ack("fail", answer[0], "the broker refused") if answer[0] >= 0x80 else Ack("ok", answer[0])

    def publish(self, call, stream, payload):
        qos, conn = stream["qos"], self.conn
        self.pubacks.begin()
        try:
            info = self.mqtt.publish(stream["topic"], payload, qos, bool(stream.get("retain")))
        except ValueError as e:  # refused before it was queued
            call.told("fail", str(e))
            call.done("fail", x=str(e))
            return
        except (OSError, RuntimeError) as e:  # the connection is being replaced; it may be queued
            call.told("fail", str(e))
            call.done("info", x=str(e))
            return
        queued = info.rc == mqtt.MQTT_ERR_NO_CONN and qos > 0
        if info.rc != mqtt.MQTT_ERR_SUCCESS and not queued:
            call.told("fail", mqtt.error_string(info.rc))
            call.done("fail", x=mqtt.error_string(info.rc))
            return
        if qos == 0:
            self.unsent[info.mid] = call
        self.pubacks.expect(info.mid, lambda reason: self.acknowledged(call, info.mid, reason))
        if qos == 0 and conn.lost.is_set():
            self.over("connection lost")

    def acknowledged(self, call, mid, reason):
        sent = {} if self.unsent.pop(mid, None) else {"i": mid}
        call.done(outcome(reason), **dict(sent, **({"r": reason} if reason else {})))
        if reason >= 0x80:
            call.told("fail", "reason %d" % reason)
        else:
            call.told("ok")

    def message(self, m):
        """The SDK's callback. A paused process withholds acknowledgements where
        the SDK knows how to (2.x); else the callback blocks, and with it the
        SDK's pings."""
        conn = self.conn
        if not V2:
            self.p.unpaused.wait(conn.lost)
            self.deliver(m, conn)
            return
        with self.inbox_lock:
            hold = not self.p.unpaused.is_open() or len(self.inbox) > 0
            self.mqtt.manual_ack_set(hold)
            if hold:
                self.inbox.append((conn, m))
                return
        self.deliver(m, conn)

    def resumed(self):
        threading.Thread(target=self.empty_inbox, daemon=True).start()

    def empty_inbox(self):
        """Handles what arrived during a pause. What is QoS 1 and of an earlier
        connection was not acknowledged, so the broker sends it again; QoS 2 it
        does not send again, and QoS 0 never."""
        with self.emptying:
            while self.p.unpaused.is_open() or not self.p.online.is_open():
                with self.inbox_lock:
                    if not self.inbox:
                        return
                    conn, m = self.inbox[0]
                current = not conn.lost.is_set()
                if m.qos != 1 or current:
                    self.deliver(m, conn)
                    if self.conn.up and (m.qos == 2 or current):
                        unless_replaced(self.mqtt.ack, m.mid, m.qos)
                with self.inbox_lock:
                    self.inbox.popleft()

    def deliver(self, m, conn):
        self.p.deliver(topic_of(m), m.payload, qos=m.qos, retain=m.retain, dup=m.dup, mid=m.mid)
        if self.p.delay:
            conn.lost.wait(self.p.delay)


def topic_of(m):
    """The topic of a message. The SDK raises where a broker sends bytes that
    are no UTF-8 [MQTT-3.3.2-1]; they are shown as U+FFFD."""
    try:
        return m.topic
    except UnicodeDecodeError:
        return m._topic.decode("utf-8", "replace")


def unless_replaced(send, *args):
    """Calls a function of the SDK that sends. It may raise while the network
    thread is replacing the connection; then nothing is sent, as if it had been
    lost a moment earlier."""
    try:
        send(*args)
    except OSError as e:
        print("driver: %s: %s" % (send.__name__, e))


main(SDK(
    name="paho-mqtt", version=version("paho-mqtt"), session=Paho, dedupes=True,
    protocols=("mqtt3", "mqtt5") if V5 else ("mqtt3",), transports=("tcp", "tls", "ws", "wss"),
    cannot=([] if V2 else ["pause_connected", "publish_reason"]),
))
