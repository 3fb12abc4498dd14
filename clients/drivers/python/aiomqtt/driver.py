"""A driver of rmq-mcp for aiomqtt 2.5, MQTT 3.1.1 and 5, which wraps paho-mqtt.

It does not reconnect. As its documentation has it, one Client is entered again
and again in a loop, so that paho's client and what it has in flight live on;
what paho sends again, with DUP, and what it removes of QoS 2 see paho's driver.

publish() returns when paho calls on_publish, also where MQTT 5 refused, and
raises after 10 s without, or at once while not connected, although paho has
queued the message in both cases and sends it later: what told calls a failure
may be delivered. The acknowledgement is paho's on_publish, which this driver
overrides to see packet id and reason code; and on_connect, which shows the
session present that the SDK keeps to itself. After a lost connection the client
is entered before its CONNACK is there, and a refusal is not raised. Where it was
writing when the connection was lost, the next one's descriptor may fail to be
watched (add_reader: FileNotFoundError), and nothing is ever read from it: after
5 s without CONNACK the driver gives up that client, with what it has in flight.
Entering a client forgets the end of a connection that came before it returned
(__aenter__ replaces _disconnected), and the client then waits for ever: the
driver asks paho whether it is connected, and leaves it.

A message is acknowledged before the application has it: it waits in a queue.
"""

from rmq import lines  # noqa: F401  before anything can print
import asyncio
import contextvars
from importlib.metadata import version

import aiomqtt
import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from rmq import tls
from rmq.aio import AsyncSession
from rmq.conn import WAIT, dialing
from rmq.driver import main
from rmq.session import SDK, Ack, outcome

PUBLISH_WAIT = 10  # seconds, the SDK's own; for the rest it is given WAIT
publishing = contextvars.ContextVar("publishing")  # the call whose message is handed over


class Client(aiomqtt.Client):
    """The SDK's client, and what it does not show."""

    def __init__(self, session, *args, **kw):
        self.session = session
        super().__init__(*args, **kw)
        self.paho_publish, self._client.publish = self._client.publish, self.publish_watched

    def _client_connect(self):
        conn = self.session.conn
        try:
            with dialing(conn):
                super()._client_connect()
        except (OSError, ValueError) as e:
            conn.failed(str(e))
            raise

    def _on_connect(self, client, userdata, flags, reason_code, properties=None):
        self.session.connected(flags.session_present, reason_code)
        super()._on_connect(client, userdata, flags, reason_code, properties)

    def _on_publish(self, client, userdata, mid, reason_code, properties):
        self.session.acknowledged(mid, reason_code.value)
        super()._on_publish(client, userdata, mid, reason_code, properties)

    def publish_watched(self, *args, **kw):
        info = self.paho_publish(*args, **kw)
        self.session.handed_over(publishing.get(), info)
        return info


async def made(kind):
    """Something of asyncio, which up to Python 3.9 belongs to the loop it is made in."""
    return kind()


class Aiomqtt(AsyncSession):
    queues = False

    def __init__(self, p):
        super().__init__(p)
        self.conn, self.wanted, self.staying = None, False, None
        self.calls = {}  # by packet id
        self.leave, self.inbox = self.run(made(asyncio.Event)), self.run(made(asyncio.Queue))
        self.handling = False
        self.client = self.run(self.make(p.c))
        self.consuming = self.start(self.consume())

    async def make(self, c):
        v5, transport = c["protocol"] == "mqtt5", c.get("transport") or "tcp"
        window = (c.get("publish") or {}).get("max_inflight") or 20
        kw = {"protocol": aiomqtt.ProtocolVersion.V5 if v5 else aiomqtt.ProtocolVersion.V311}
        if v5:
            kw["clean_start"] = bool(c.get("clean"))
            kw["properties"] = properties = Properties(PacketTypes.CONNECT)
            properties.SessionExpiryInterval = c.get("expiry_s") or 0
            if c.get("receive_max"):
                properties.ReceiveMaximum = c["receive_max"]
        else:
            kw["clean_session"] = bool(c.get("clean"))
        if transport in ("ws", "wss"):
            kw.update(transport="websockets", websocket_path="/mqtt")
        m = Client(self, "endpoint", 1, identifier=c["client_id"], username=c.get("username") or None,
                   password=c.get("password") or None, keepalive=c.get("keep_alive_s") or 0, timeout=WAIT,
                   max_inflight_messages=window, tls_context=tls.context(c), **kw)
        m.pending_calls_threshold = window  # it warns of more at each publish
        return m

    def connect(self):
        self.wanted = True
        self.staying = self.start(self.stay())

    async def stay(self):
        """The loop that the documentation recommends."""
        self.leave.clear()
        while self.wanted:
            conn = self.conn = self.p.dial()
            self.client._hostname, self.client._port = conn.host, conn.port
            reading = None
            try:
                async with self.client:
                    reading = asyncio.ensure_future(self.read(conn))
                    await asyncio.wait((reading, asyncio.ensure_future(self.left(conn))), return_when=asyncio.FIRST_COMPLETED)
                await reading
            except aiomqtt.MqttError as e:
                conn.break_off()
                conn.closed(str(e.__cause__ or e) if self.wanted else "closed by the client")
            if reading and not reading.done():  # it could not be left: no other way to be rid of it
                reading.cancel()
                self.abandon()
                self.client = await self.make(self.p.c)
            if self.wanted:
                await asyncio.sleep(max(self.p.c.get("reconnect_ms") or 1, 1) / 1000.0)

    async def left(self, conn):
        """Ends when the connection is to be left or is over, or no CONNACK came."""
        paho = self.client._client
        while not self.leave.is_set() and not conn.lost.is_set() and not conn.broken and (paho.is_connected() or not conn.up):
            await asyncio.sleep(0.02)

    async def read(self, conn):
        """Ends with an error of the SDK when the connection does."""
        async for message in self.client.messages:
            self.inbox.put_nowait((conn, message))

    def abandon(self):
        calls, self.calls = self.calls, {}
        for call in calls.values():
            call.done("info", x="its client was given up")

    async def consume(self):
        while True:
            conn, m = await self.inbox.get()
            self.handling = True
            while not self.p.unpaused.is_open() and self.p.online.is_open():
                await asyncio.sleep(0.01)
            self.p.deliver(m.topic.value, m.payload, qos=m.qos, retain=m.retain, mid=m.mid)
            await self.take_time(conn)
            self.handling = False

    def connected(self, present, reason):
        if reason.value:
            self.conn.refused(reason.value)
            return
        self.conn.accepted(bool(present))
        self.p.ready(self.conn, bool(present))

    def disconnect(self):
        self.wanted = False
        self.run(self.depart())

    async def depart(self):
        self.leave.set()
        waited = asyncio.wrap_future(self.staying)
        done, _ = await asyncio.wait((waited,), timeout=2.0)
        if not done:
            self.conn.break_off()  # a frozen broker reads no DISCONNECT
            await waited
        while self.handling or not self.inbox.empty():
            await asyncio.sleep(0.01)

    def subscribe(self, topic, qos):
        try:
            code = self.run(self.client.subscribe(topic, qos))[0]
        except aiomqtt.MqttCodeError as e:
            return Ack("fail", text=str(e))
        except aiomqtt.MqttError as e:
            return Ack("info", text=str(e))
        code = int(getattr(code, "value", code))
        return Ack("fail", code, "the broker refused") if code >= 0x80 else Ack("ok", code)

    def publish(self, call, stream, payload):
        self.soon(lambda: asyncio.ensure_future(self.publish_now(call, stream, payload)))

    async def publish_now(self, call, stream, payload):
        publishing.set(call)
        try:
            await self.client.publish(stream["topic"], payload, stream["qos"], bool(stream.get("retain")),
                                      timeout=PUBLISH_WAIT)
            call.told("ok")
        except (aiomqtt.MqttError, ValueError) as e:
            call.told("fail", str(e))
            if stream["qos"] == 0:
                call.done("info", x=str(e))

    def handed_over(self, call, info):
        if info.rc == mqtt.MQTT_ERR_SUCCESS or info.rc == mqtt.MQTT_ERR_NO_CONN and call.fields["q"] > 0:
            self.calls[info.mid] = call  # sent, or queued
        else:
            call.done("fail", x=mqtt.error_string(info.rc))

    def acknowledged(self, mid, reason):
        call = self.calls.pop(mid, None)
        if call:
            fields = {"i": mid} if call.fields["q"] else {}
            if reason:
                fields["r"] = reason
            call.done(outcome(reason), **fields)


main(SDK(
    name="aiomqtt", version=version("aiomqtt"), session=Aiomqtt, dedupes=True,
    protocols=("mqtt3", "mqtt5"), transports=("tcp", "tls", "ws", "wss"),
    cannot=["dup", "withhold_ack"],
))
