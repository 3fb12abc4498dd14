"""A driver of rmq-mcp for gmqtt 0.8, MQTT 3.1.1 and 5. It has no WebSocket.

publish() returns nothing and nothing tells of its end. The acknowledgement is
seen by the store of messages in flight, which is the user's to give: it loses a
message on PUBACK and PUBCOMP, and on a PUBREC that refuses. The reason of a
PUBACK is not looked at.

With the session present, what is in the store is sent again on reconnecting,
without DUP; else the store is emptied, also of what was never sent, and the
packet ids of that stay taken for ever: with a receive maximum of 20 two lost
sessions can use them up. It reconnects with clean session off whatever was
asked for first. It does not remember packet ids that arrived, so QoS 2 is
delivered as often as it is sent. Its disconnect() does not stop a reconnect
that sleeps, which this driver does. The first connection is not retried.

Messages are acknowledged when the callback returns, in the order of arrival.
"""

from rmq import lines  # noqa: F401  before anything can print
import asyncio
import time
from importlib.metadata import version

import gmqtt
from gmqtt.mqtt.constants import MQTTv311, MQTTv50
from gmqtt.mqtt.handler import MQTTConnectError
from gmqtt.storage import PersistentStorage

from rmq import tls
from rmq.aio import AsyncSession
from rmq.conn import WAIT
from rmq.driver import main
from rmq.session import SDK, Ack


class Ledger(PersistentStorage):
    """The SDK's store, which knows which call each message is of."""

    def __init__(self):
        super().__init__()
        self.next, self.calls = None, {}

    def push_message(self, mid, raw_package):
        super().push_message(mid, raw_package)
        if self.next:
            self.calls[mid], self.next = self.next, None

    def remove_message_by_mid(self, mid):
        super().remove_message_by_mid(mid)
        call = self.calls.pop(mid, None)
        if call:
            call.done("ok", i=mid)

    def clear(self):
        super().clear()
        calls, self.calls = self.calls, {}
        for mid, call in calls.items():
            call.done("info", i=mid, x="the SDK dropped it: no session present")


class Client(gmqtt.Client):
    """The SDK's client, on one of several endpoints at each attempt."""

    dial = None

    async def _create_connection(self, host, port, ssl, clean_session, keepalive):
        conn = self.dial()
        try:
            connection = await asyncio.wait_for(
                super()._create_connection(conn.host, conn.port, ssl, clean_session, keepalive), WAIT)
        except (OSError, asyncio.TimeoutError) as e:
            conn.failed(str(e) or "no connection after %d s" % WAIT)
            raise OSError(str(e)) from e
        loop, transport = asyncio.get_running_loop(), connection._transport
        conn.opened(lambda: loop.call_soon_threadsafe(transport.abort))
        return connection


class Gmqtt(AsyncSession):
    def __init__(self, p):
        super().__init__(p)
        self.conn, self.wanted = None, False
        self.ledger, self.subacks = Ledger(), {}
        self.handling = 0
        self.connecting = None
        self.client = self.run(self.make(p.c))

    async def make(self, c):
        self.in_order = asyncio.Lock()
        kw = {}
        if c["protocol"] == "mqtt5":
            kw["session_expiry_interval"] = c.get("expiry_s") or 0
            if c.get("receive_max"):
                kw["receive_maximum"] = c["receive_max"]
        m = Client(c["client_id"], clean_session=bool(c.get("clean")), optimistic_acknowledgement=False,
                   persistent_storage=self.ledger, **kw)
        m.dial = self.dial
        m.set_config({"reconnect_delay": max(c.get("reconnect_ms") or 1, 1) / 1000.0, "reconnect_retries": -1})
        if c.get("username"):
            m.set_auth_credentials(c["username"], c.get("password"))
        m.on_connect, m.on_disconnect, m.on_subscribe = self.connected, self.disconnected, self.subscribed
        m.on_message = self.message
        handler = m._package_handler
        connack = handler._handle_connack_packet

        def watched(cmd, packet):
            if packet[1]:
                self.conn.refused(packet[1])
            connack(cmd, packet)
        handler._handle_connack_packet = watched
        return m

    def dial(self):
        if not self.wanted:
            raise OSError("disconnected by the application")
        if self.conn:
            self.conn.closed("replaced")
        self.conn = self.p.dial()
        return self.conn

    def connect(self):
        self.wanted = True
        self.connecting = self.start(self.first_connection())

    async def first_connection(self):
        c = self.p.c
        while self.wanted:
            try:
                await self.client.connect(
                    "endpoint", 1, ssl=tls.context(c) or False, keepalive=c.get("keep_alive_s") or 0,
                    version=MQTTv50 if c["protocol"] == "mqtt5" else MQTTv311)
                return
            except (OSError, MQTTConnectError):
                await asyncio.sleep(max(c.get("reconnect_ms") or 1, 1) / 1000.0)

    def connected(self, _client, present, _result, properties):
        limit = properties.get("receive_maximum")
        if isinstance(limit, list):  # the broker's; more packet ids than this raise an error
            self.window = max(limit[0] - 2, 1)
        self.conn.accepted(bool(present))
        self.p.ready(self.conn, bool(present))

    def disconnected(self, _client, *_):
        self.conn.closed("connection lost" if self.wanted else "closed by the client")

    def disconnect(self):
        self.wanted = False
        self.run(self.leave())

    async def leave(self):
        conn = self.conn
        try:
            await asyncio.wait_for(self.client.disconnect(), 2.0)
        except asyncio.TimeoutError:
            conn.break_off()
        except OSError as e:  # it passes on what TLS says to data after its close
            print("driver: disconnect: %s" % e)
        self.connecting.cancel()
        if conn:
            conn.closed("closed by the client")
        while self.handling:
            await asyncio.sleep(0.01)

    def subscribe(self, topic, qos):
        return self.run(self.subscribe_now(topic, qos))

    async def subscribe_now(self, topic, qos):
        conn, answer = self.conn, asyncio.get_running_loop().create_future()
        try:
            mid = self.client.subscribe(topic, qos)
        except OverflowError as e:
            return Ack("fail", text=str(e))
        self.subacks[mid] = answer
        deadline = time.monotonic() + WAIT
        while not answer.done():
            if conn.lost.is_set() or time.monotonic() > deadline:
                del self.subacks[mid]
                return Ack("info", text="no SUBACK")
            await asyncio.sleep(0.01)
        granted = answer.result()
        return Ack("fail", granted, "the broker refused") if granted >= 0x80 else Ack("ok", granted)

    def subscribed(self, _client, mid, granted, _properties):
        answer = self.subacks.pop(mid, None)
        if answer:
            answer.set_result(granted[0])

    def publish(self, call, stream, payload):
        self.soon(self.publish_now, call, stream, payload)

    def publish_now(self, call, stream, payload):
        qos, connected = stream["qos"], self.client.is_connected
        self.ledger.next = call if qos else None
        try:
            self.client.publish(stream["topic"], payload, qos=qos, retain=bool(stream.get("retain")))
        except OverflowError as e:  # no packet id is free
            self.ledger.next = None
            self.loop.call_later(0.01, lambda: call.done("fail", x=str(e)))
            return
        if qos == 0 and connected:
            call.done("ok")
        elif qos == 0:
            call.done("info", x="not connected")

    async def message(self, _client, topic, payload, qos, properties):
        conn = self.conn
        self.handling += 1
        try:
            async with self.in_order:
                await self.allowed(conn)
                self.p.deliver(topic, payload, qos=qos, retain=properties["retain"], dup=properties["dup"])
                await self.take_time(conn)
        finally:
            self.handling -= 1
        return 0  # the reason code of the acknowledgement


main(SDK(
    name="gmqtt", version=version("gmqtt"), session=Gmqtt, dedupes=False,
    protocols=("mqtt3", "mqtt5"), transports=("tcp", "tls"),
    cannot=["packet_id", "told", "publish_reason"],
))
