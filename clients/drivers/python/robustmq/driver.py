"""A driver of rmq-mcp for robustmq, the SDK that is published for mq9.

It speaks mq9 as brokers did until v0.3: a mailbox is made without a name and
answered as mail_id, messages are published to MAILBOX.MSG without a reply, and
pushed to whoever subscribes to that. Brokers of v0.4 answer with mail_address
and an error that is there and empty, and refuse the other subjects. It asks by
nats-py's request(), whose wildcard inbox they do not find either. What is
reported here is what an application would see.

send() says nothing of the broker: no publish is ever acknowledged.
"""

from rmq import lines  # noqa: F401  before anything can print
from importlib.metadata import version

from robustmq.mq9 import Client

from rmq.conn import WAIT
from rmq.driver import main
from rmq.natsio import NatsSession
from rmq.session import SDK, Ack


class RobustMQ(NatsSession):
    queues = False
    client = None

    def connect(self):
        self.opening = self.do(self.open())

    async def open(self):
        c = self.p.c
        # One server: the SDK hands it to nats-py, which takes a list as well.
        self.client = Client(server=self.servers(), name=c["client_id"], request_timeout=WAIT,
                             max_reconnect_attempts=-1, reconnect_time_wait=(c.get("reconnect_ms") or 0) / 1000.0)
        self.client._on_reconnected = self.up
        await self.client.connect()
        await self.up()

    def disconnect(self):
        self.opening.cancel()
        if self.client and self.client._nc:
            self.do(self.client._nc.close()).result(WAIT)
        if self.conn:
            self.conn.closed("closed by the client")

    def subscribe(self, topic, qos):
        """A mailbox cannot be given a name unless it is public."""
        async def make():
            box = await self.client.create(ttl=86400, public=True, name=topic)
            await self.client.subscribe(box.mail_id, self.arrived)
        try:
            self.do(make()).result()
        except Exception as e:
            return Ack("fail", 0, "%s: %s" % (type(e).__name__, e))
        return Ack("ok")

    async def arrived(self, message):
        self.p.deliver(message.mail_id, message.payload, qos=1)

    def publish(self, call, stream, payload):
        async def send():
            try:
                await self.client.send(stream["topic"], payload)
            except Exception as e:
                return call.done("info", x="%s: %s" % (type(e).__name__, e))
            call.done("info", x="send() asks for no acknowledgement")
        self.do(send())


main(SDK("robustmq", version("robustmq"), ["mq9"], ["tcp"], False,
         ["session_present", "granted_qos", "told", "fetch", "protocol"], RobustMQ))
