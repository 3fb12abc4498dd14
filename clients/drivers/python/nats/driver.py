"""A driver of rmq-mcp for nats-py, as a client of mq9.

The SDK's own request() listens on a wildcard inbox, which a broker of mq9 does
not find; so replies come to inboxes that are subscribed to literally, once, and
never unsubscribed. The acknowledgement of a publish is the reply to its send.
While the connection is lost the SDK keeps what is published, up to 2 MB, and
sends it on the next one; what it had handed to the old one it does not repeat.
"""

from rmq import lines  # noqa: F401  before anything can print
import asyncio
import json
import threading
from importlib.metadata import version

import nats.aio.client
import nats.errors

from rmq.conn import WAIT
from rmq.driver import main
from rmq.lines import Call
from rmq.natsio import NatsSession
from rmq.session import SDK, Ack

PREFIX = "$mq9.AI."
PRIORITIES = ("normal", "urgent", "critical")  # the lowest first
FETCH = {"num_msgs": 50, "max_wait_ms": 200}
ATTEMPTS = 3  # at a request that is the same however often it is made
IDLE = 0.1  # seconds to do nothing where there is nothing to do


class Box:
    """An inbox, for one request at a time."""

    def __init__(self):
        self.subject, self.answer = None, None

    async def arrived(self, message):
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(message.data)


class Nats(NatsSession):
    def __init__(self, p):
        super().__init__(p)
        self.nc, self.boxes, self.filters = None, [], []
        self.stop, self.consumer = threading.Event(), None

    def connect(self):
        self.stop = threading.Event()
        self.connecting = self.do(self.open())
        self.consumer = threading.Thread(target=self.consume, args=(self.stop,), daemon=True)
        self.consumer.start()

    async def open(self):
        c = self.p.c
        self.nc, self.boxes = nats.aio.client.Client(), []

        async def quiet(_error):
            pass  # the connection's end says it

        await self.nc.connect(
            servers=self.servers(), name=c["client_id"], dont_randomize=True,
            allow_reconnect=True, max_reconnect_attempts=-1, connect_timeout=WAIT,
            reconnect_time_wait=(c.get("reconnect_ms") or 0) / 1000.0,
            ping_interval=max(c.get("keep_alive_s") or 0, 1),
            reconnected_cb=self.up, error_cb=quiet)
        if not self.nc.is_connected:  # and never will be: it takes whatever comes first for the PONG
            return self.conn.failed("connect() returned without PONG: the SDK sends nothing until it is closed")
        await self.up()

    def disconnect(self):
        self.stop.set()
        self.connecting.cancel()
        self.consumer.join()
        if self.nc:
            self.do(self.nc.close()).result(WAIT)
        if self.conn:
            self.conn.closed("closed by the client")

    async def ask(self, subject, data, headers=None):
        """The reply to a request. What times out may have taken effect."""
        box = self.boxes.pop() if self.boxes else None
        if box is None:
            box = Box()
            box.subject = self.nc.new_inbox()
            await self.nc.subscribe(box.subject, cb=box.arrived)
        box.answer = self.loop.create_future()
        await self.nc.publish(PREFIX + subject, data, reply=box.subject, headers=headers)
        answer = await asyncio.wait_for(box.answer, WAIT)
        self.boxes.append(box)
        return json.loads(answer)

    def request(self, subject, **fields):
        return self.do(self.ask(subject, json.dumps(fields).encode())).result()

    def subscribe(self, topic, qos):
        lives = {"ttl": f["ttl_s"] for f in self.p.c["subscribe"] if f["filter"] == topic and f.get("ttl_s")}
        _, mailbox = self.cut(topic)
        for attempt in range(ATTEMPTS):
            try:
                error = self.request("MAILBOX.CREATE", name=mailbox, **lives).get("error")
                break
            except Exception as e:
                unknown = Ack("info", 0, str(e) or "no reply")
        else:
            return unknown
        if error and "already exists" not in error:
            return Ack("fail", 0, error)
        if topic not in self.filters:
            self.filters.append(topic)
        return Ack("ok")

    def cut(self, topic):
        """The group as which this client reads by a filter, and the mailbox."""
        if topic.startswith("$share/"):
            return topic.split("/", 2)[1:]
        return self.p.c["client_id"], topic

    def publish(self, call, stream, payload):
        headers = {}
        if stream.get("priority"):
            headers["mq9-priority"] = stream["priority"]
        if stream.get("ttl_s") and not call.fields.get("end"):
            headers["mq9-ttl"] = str(stream["ttl_s"])
        self.do(self.send(call, "MSG.SEND." + stream["topic"], payload, headers or None))

    async def send(self, call, subject, payload, headers):
        try:
            reply = await self.ask(subject, payload, headers)
        except (nats.errors.ConnectionClosedError, nats.errors.OutboundBufferLimitError) as e:
            return call.done("fail", x=str(e))
        except Exception as e:
            return call.done("info", x=str(e) or "no reply within %d s" % WAIT)
        if reply.get("error"):
            call.done("fail", x=reply["error"])
        elif "msg_id" not in reply:
            call.done("info", x="a reply without msg_id")
        else:
            call.done("ok", i=reply["msg_id"])

    def consume(self, stop):
        turn = 0
        while not stop.is_set():
            if not self.filters or not self.p.connected.is_open() or not self.p.unpaused.is_open():
                stop.wait(IDLE)
                continue
            turn += 1
            try:
                self.fetch(self.filters[turn % len(self.filters)], stop)
            except Exception as e:
                self.p.w.write("log", p=self.p.id, x="fetch: %s" % (str(e) or type(e).__name__))
                stop.wait(IDLE)

    def fetch(self, topic, stop):
        group, mailbox = self.cut(topic)
        call = Call(self.p, "fetch", x=mailbox)
        try:
            reply = self.request("MSG.FETCH." + mailbox, group_name=group, deliver="earliest", config=FETCH)
        except Exception as e:
            call.done("info", x=str(e) or type(e).__name__)
            raise
        if reply.get("error"):
            call.done("fail", x=reply["error"])
            raise RuntimeError(reply["error"])
        messages = reply.get("messages") or []
        call.done("ok", i=len(messages))
        last = {}
        for m in messages:
            if not self.p.unpaused.wait(stop) or stop.is_set():
                break  # what is not acknowledged is fetched again
            self.p.deliver(mailbox, m["payload"].encode(), qos=1, mid=m["msg_id"])
            if self.p.delay:
                stop.wait(self.p.delay)
            last[m["priority"]] = max(last.get(m["priority"], -1), m["msg_id"])
        for priority in PRIORITIES:
            if priority not in last:
                continue
            error = self.request("MSG.ACK." + mailbox, group_name=group, mail_address=mailbox, msg_id=last[priority]).get("error")
            if error:
                raise RuntimeError(error)
            self.p.w.write("point", k="ack", p=self.p.id, i=last[priority])


main(SDK("nats-py", version("nats-py"), ["mq9"], ["tcp"], False, ["session_present", "granted_qos", "told"], Nats))
