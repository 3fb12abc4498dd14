"""A driver of rmq-mcp for amqtt 0.11, MQTT 3.1.1.

publish() of a QoS above 0 returns when the SDK has matched PUBACK or PUBCOMP to
it. The acknowledgement is seen where the SDK tells its plugins of each packet
that it read, which is before it is matched: what is matched too late is
acknowledged all the same. publish() raises after 5 s without PUBACK, and then
the SDK knows of the message no more; at QoS 2 it waits for ever.

When the connection is lost each publish() in flight raises, an AttributeError
more often than not, because the SDK takes the session from under it; only then
is the message kept, and sent again with DUP, session present or not. What is
raised is what is told: what was told to have failed may be delivered. A message
whose PUBREC has been read is kept in no case: its PUBREL is not sent again, and
its outcome is not known. Its packet id is taken again 65535 messages later, by
when a broker may still hold it, and then takes the new message for the old. On
disconnect() nothing is kept. While not connected publish() waits.

A lost broker is noticed by the end of the connection only: no PINGRESP is
missed. On reconnecting the SDK first waits up to 10 s for what it sends again,
and only then lets its user publish and subscribe. A PUBREL of a message that it
does not wait for stays without PUBCOMP. A WebSocket that ends between two
frames of one PUBLISH makes it read for ever, in a loop that stops all clients
of a driver, so WebSocket is left out. disconnect() does not stop a reconnect,
which this driver does.

A message is acknowledged before the application has it: it waits in a queue.
"""

from rmq import lines  # noqa: F401  before anything can print
import asyncio
import contextvars
import time
from collections import OrderedDict
from importlib.metadata import version

import amqtt.client
from amqtt.contexts import ClientConfig
from amqtt.errors import ConnectError
from amqtt.events import MQTTEvents
from amqtt.mqtt.connack import ConnackPacket
from amqtt.mqtt.protocol.client_handler import ClientProtocolHandler
from amqtt.mqtt.puback import PubackPacket
from amqtt.mqtt.pubcomp import PubcompPacket

from rmq.aio import AsyncSession
from rmq.conn import WAIT
from rmq.driver import main
from rmq.session import SDK, Ack

SCHEMES = {"tcp": "mqtt://%s", "tls": "mqtts://%s"}
publishing = contextvars.ContextVar("publishing", default=None)  # the call whose message is handed over


class Flight(OrderedDict):
    """The SDK's store of messages in flight, which knows which call each is of."""

    def __init__(self):
        super().__init__()
        self.calls = {}  # not acknowledged, by packet id; the SDK itself forgets some

    def __setitem__(self, mid, message):
        super().__setitem__(mid, message)
        call = publishing.get()
        if call:
            self.give_up(mid, "its packet id is taken again")
            self.calls[mid] = call

    def acknowledged(self, mid, qos):
        call = self.calls.get(mid)
        if call and call.fields["q"] == qos:
            del self.calls[mid]
            call.done("ok", i=mid)

    def give_up(self, mid, text):
        call = self.calls.pop(mid, None)
        if call:
            call.done("info", i=mid, x=text)

    def sweep(self):
        """To be called when what is no longer in the store has no publish() either."""
        for mid in [mid for mid in self.calls if mid not in self]:
            self.give_up(mid, "the SDK dropped it")


class Handler(ClientProtocolHandler):
    """The SDK's side of one connection, which tells of its begin and end."""

    conn = None

    def attach(self, session, reader, writer):
        super().attach(session, reader, writer)
        self.conn = self.plugins_manager.session.conn
        transport, loop = writer._writer.transport, asyncio.get_running_loop()
        self.conn.opened(lambda: loop.call_soon_threadsafe(transport.abort))

    async def handle_connection_closed(self):
        wanted = self.plugins_manager.session.wanted
        self.conn.closed("connection lost" if wanted else "closed by the client")
        await super().handle_connection_closed()


amqtt.client.ClientProtocolHandler = Handler


class Client(amqtt.client.MQTTClient):
    """The SDK's client, on one of several endpoints at each attempt."""

    def __init__(self, session, *args, **kw):
        super().__init__(*args, **kw)
        self.owner = session
        self.fire, self.plugins_manager.fire_event = self.plugins_manager.fire_event, self.fire_watched
        self.plugins_manager.session = session

    def _init_session(self, *args):
        made, c = super()._init_session(*args), self.owner.p.c
        made.username, made.password = c.get("username") or None, c.get("password") or None
        made.inflight_out = self.owner.flight
        return made

    async def _connect_coro(self):
        conn = self.owner.dial()
        self.session.broker_uri = SCHEMES[self.owner.p.c.get("transport") or "tcp"] % conn.endpoint
        try:
            code = await super()._connect_coro()
        except BaseException as e:
            if conn.cut:
                conn.break_off()
                conn.closed(str(e) or type(e).__name__)
            else:
                conn.failed(str(e) or "no connection after %d s" % WAIT)
            raise
        finally:
            self.owner.flight.sweep()
        self.owner.usable(conn)
        return code

    async def fire_watched(self, event, **kw):
        if event == MQTTEvents.PACKET_RECEIVED:
            self.owner.received(kw["packet"])
        await self.fire(event, **kw)

    def is_connected(self):
        """Whether publish() goes on at once."""
        return self._connected_state.is_set()

    async def stop_connecting(self, task):
        """Ends what disconnect() leaves: the first connect, in this task, and a
        reconnect, in one of its own."""
        tasks = [t for t in (task, self._disconnect_task) if t and not t.done()]
        for t in tasks:
            t.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def made(kind, *args, **kw):
    """Something of asyncio, which belongs to the loop it is made in."""
    return kind(*args, **kw)


class Amqtt(AsyncSession):
    queues = False

    def __init__(self, p):
        super().__init__(p)
        self.conn, self.wanted, self.present = None, False, False
        self.connecting = self.consumer = None
        self.consuming = self.handling = False
        self.flight = Flight()
        self.outbox = self.run(made(asyncio.Queue))
        c = p.c
        config = ClientConfig(
            keep_alive=c.get("keep_alive_s") or 0, ping_delay=0, cleansession=bool(c.get("clean")),
            connection_timeout=WAIT, check_hostname=False, auto_reconnect=True, reconnect_retries=-1,
            reconnect_max_interval=max(c.get("reconnect_ms") or 1, 1) / 1000.0)
        self.client = self.run(made(Client, self, c["client_id"], config))
        if p.producer:
            self.start(self.hand_over())

    def dial(self):
        if not self.wanted:
            raise asyncio.CancelledError  # another error is no reason for the SDK to stop
        if self.conn:
            self.conn.closed("replaced")
        self.conn = self.p.dial()
        return self.conn

    def connect(self):
        self.wanted = True
        self.start(self.stay())
        self.consuming = True
        self.start(self.consume())

    async def stay(self):
        """The SDK reconnects by itself. Its connect() would begin with nothing
        in flight; the second time it is reconnect()."""
        self.connecting = asyncio.current_task()
        try:
            if self.client.session:
                await self.client.reconnect()
            else:
                await self.client.connect(SCHEMES["tcp"] % "endpoint:1", cafile=self.p.c.get("ca"))
        except ConnectError:
            if self.wanted:
                raise

    def received(self, packet):
        if isinstance(packet, ConnackPacket):
            if packet.return_code:
                self.conn.refused(packet.return_code)
            else:
                self.present = bool(packet.session_parent)
                self.conn.accepted(self.present)
        elif isinstance(packet, PubackPacket):
            self.flight.acknowledged(packet.packet_id, 1)
        elif isinstance(packet, PubcompPacket):
            self.flight.acknowledged(packet.packet_id, 2)

    def usable(self, conn):
        if not conn.lost.is_set():
            self.p.ready(conn, self.present)

    def disconnect(self):
        self.wanted = False
        self.run(self.leave())

    async def leave(self):
        conn = self.conn
        try:
            await asyncio.wait_for(self.client.disconnect(), 2.0)
        except asyncio.TimeoutError:
            pass  # a frozen broker reads no DISCONNECT
        except Exception as e:  # it passes on whatever the connection has
            print("driver: disconnect: %r" % e)
        await self.client.stop_connecting(self.connecting)
        if conn:
            conn.break_off()
            conn.closed("closed by the client")
        await asyncio.sleep(0.01)
        while self.handling or not self.client.session.delivered_message_queue.empty():
            await asyncio.sleep(0.01)
        self.consuming = False
        await self.client.cancel_tasks()
        await asyncio.wait((self.consumer,))

    def subscribe(self, topic, qos):
        return self.run(self.subscribe_now(topic, qos))

    async def subscribe_now(self, topic, qos):
        conn, deadline = self.conn, time.monotonic() + WAIT
        asked = asyncio.ensure_future(self.client.subscribe([(topic, qos)]))
        while not asked.done():
            if conn.lost.is_set() or time.monotonic() > deadline:
                asked.cancel()
                return Ack("info", text="no SUBACK")
            await asyncio.sleep(0.01)
        if asked.exception():
            return Ack("info", text=repr(asked.exception()))
        code = asked.result()[0]
        return Ack("fail", code, "the broker refused") if code >= 0x80 else Ack("ok", code)

    def publish(self, call, stream, payload):
        self.soon(self.outbox.put_nowait, (call, stream, payload))

    async def hand_over(self):
        """Keeps the order, which waiting in publish() would not."""
        while True:
            work = await self.outbox.get()
            while not self.client.is_connected():
                await asyncio.sleep(0.01)
            asyncio.ensure_future(self.publish_now(*work))

    async def publish_now(self, call, stream, payload):
        conn = self.conn
        if not self.client.is_connected():
            call.done("fail", x="not connected")
            return
        publishing.set(call)
        try:
            await self.client.publish(stream["topic"], payload, stream["qos"], bool(stream.get("retain")))
        except (asyncio.CancelledError, Exception) as e:
            text = str(e) or type(e).__name__
            call.told("fail", text)
            mid = next((mid for mid, c in self.flight.calls.items() if c is call), None)
            if mid is None:
                call.done("info", x=text)
            elif mid not in self.flight:
                self.flight.give_up(mid, text)
            return
        call.told("ok")
        if stream["qos"] == 0:
            if conn.lost.is_set() or not self.wanted:
                call.done("info", x="the connection was lost")
            else:
                call.done("ok")

    async def consume(self):
        self.consumer = asyncio.current_task()
        while self.consuming:
            try:
                m = await self.client.deliver_message()
            except (asyncio.CancelledError, Exception):  # there is no connection, for which it has many words
                m = None
            if m is None:
                await asyncio.sleep(0.01)
                continue
            self.handling, conn = True, self.conn
            while not self.p.unpaused.is_open() and self.p.online.is_open():
                await asyncio.sleep(0.01)
            self.p.deliver(m.topic, m.data, qos=m.qos, retain=m.retain, dup=m.publish_packet.dup_flag, mid=m.packet_id)
            await self.take_time(conn)
            self.handling = False


main(SDK(
    name="amqtt", version=version("amqtt"), session=Amqtt, dedupes=True,
    protocols=("mqtt3",), transports=("tcp", "tls"),
    cannot=["withhold_ack"],
))
