"""One client of the specification."""

import queue
import threading

from rmq import payload
from rmq.conn import Conn
from rmq.gate import Gate
from rmq.lines import Call
from rmq.producer import Producer
from rmq.registers import Reader


class Process:
    """What its SDK's session tells of it becomes lines."""

    def __init__(self, sdk, spec, client, writer):
        self.sdk, self.spec, self.c, self.w, self.id = sdk, spec, client, writer, client["process"]
        self.commands, self.quit = queue.Queue(), threading.Event()
        self.unpaused, self.online, self.connected = Gate(), Gate(is_open=False), Gate(is_open=False)
        self.delay = (client.get("delay_ms") or 0) / 1000.0
        self.turn = 0  # of the endpoints
        self.subscribed, self.subscribing = set(), threading.Lock()
        self.on_ready = self.on_message = None  # instead of subscribing and producing, of a delivery line
        self.finished = False  # publishing
        self.producer = Producer(self) if (client.get("publish") or {}).get("streams") else None
        self.session = Reader(self) if client.get("read_registers") else sdk.session(self)

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
                if self.unpaused.shut():
                    self.w.write("point", k="pause", p=self.id)
            elif do == "resume":
                if self.unpaused.open():
                    self.w.write("point", k="resume", p=self.id)
                    self.session.resumed()
            elif do == "finish":
                self.finish()
            elif do in ("end", "abandon"):
                if do == "end":
                    self.finish()
                self.disconnect()
                return
            else:
                print("driver: no command %r in the contract" % do)

    def finish(self):
        """Ends the publishing, once."""
        if self.producer and not self.finished:
            self.finished = True
            self.producer.finish()

    def connect(self):
        if self.online.open():
            self.turn = 0
            self.session.connect()

    def disconnect(self):
        if self.online.shut():
            self.session.disconnect()

    def dial(self):
        """An attempt to connect to the next endpoint; its call is written."""
        endpoints = self.c["endpoints"]
        endpoint = endpoints[self.turn % len(endpoints)]
        self.turn += 1
        return self.dial_to(endpoint)

    def dial_to(self, endpoint):
        """The same to an endpoint that the SDK chose."""
        return Conn(self, endpoint)

    def ready(self, conn, present):
        """To be called by the session when a connection can be used."""
        target = self.on_ready or self.use
        threading.Thread(target=target, args=(conn, present), daemon=True).start()

    def use(self, conn, present):
        """Subscribes to what the session cannot have, and begins to publish."""
        with self.subscribing:
            for f in self.c.get("subscribe") or []:
                topic, qos = f["filter"], f["qos"]
                if present and topic in self.subscribed:
                    continue
                self.subscribed.discard(topic)
                call = Call(self, "subscribe", q=qos, x=topic)
                ack = self.session.subscribe(topic, qos)
                if ack.outcome == "ok":
                    self.subscribed.add(topic)
                call.done(ack.outcome, r=ack.reason, x=ack.text)
        if self.producer:
            self.producer.start()

    def deliver(self, topic, body, **shown):
        """The application's callback for a message: writes it down. The time
        that the application takes, delay, is for the session to pass."""
        if self.on_message:
            self.on_message(topic, payload.describe(body, **shown))
        else:
            self.w.write("point", k="deliver", p=self.id, x=topic, **payload.describe(body, **shown))
