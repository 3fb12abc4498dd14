#!/usr/bin/env python3
"""A message that is published last overtakes those that wait for room, with nothing but sockets.

    overtakes.py HOST:PORT

The broker is one that sends a client 20 messages before it waits for acknowledgements, as
mosquitto does by default. The subscriber acknowledges in the order in which it is sent
messages, as it must. A broker that keeps the order, and its limit, sends 1 to 20, and then
one more for each that is done.
"""
import socket
import struct
import sys

TOPIC = b"overtakes/t"


def text(b):
    return struct.pack(">H", len(b)) + b


class Client:
    def __init__(self, at, name):
        host, port = at.rsplit(":", 1)
        self.socket, self.got = socket.create_connection((host, int(port)), 5), b""
        self.send(0x10, text(b"MQTT") + bytes([4, 2]) + struct.pack(">H", 60) + text(name))
        self.packet()

    def send(self, kind, body):
        assert len(body) < 128
        self.socket.sendall(bytes([kind, len(body)]) + body)

    def packet(self, wait=1.0):
        """The next packet, all of which are short; (None, None) if there is none in time."""
        self.socket.settimeout(wait)
        try:
            while len(self.got) < 2 or len(self.got) < 2 + self.got[1]:
                more = self.socket.recv(65536)
                if not more:
                    sys.exit("the broker closed a connection")
                self.got += more
        except socket.timeout:
            return None, None
        kind, end = self.got[0], 2 + self.got[1]
        body, self.got = self.got[2:end], self.got[end:]
        return kind, body

    def publish(self, number, qos):
        self.send(0x30 | qos << 1, text(TOPIC) + struct.pack(">H", number) + b"%d" % number)
        self.packet()
        if qos == 2:
            self.send(0x62, struct.pack(">H", number))
            self.packet()

    def messages(self):
        """The numbers of those that come until it is quiet, with their packet ids; QoS 2 is answered with PUBREC."""
        out = {}
        while True:
            kind, body = self.packet()
            if kind is None:
                return out
            if kind >> 4 == 3:
                rest = body[2 + len(TOPIC):]
                out[int(rest[2:])] = rest[:2]
                if kind & 6 == 4:
                    self.send(0x50, rest[:2])


def main(at):
    subscriber, publisher = Client(at, b"overtakes-s"), Client(at, b"overtakes-p")
    subscriber.send(0x82, struct.pack(">H", 1) + text(TOPIC) + b"\2")
    subscriber.packet()
    for number in range(1, 81):
        publisher.publish(number, 2 if number <= 40 else 1)
    came = subscriber.messages()
    print("at once:", *came)
    for done in (1, 2):
        subscriber.send(0x70, came[done])  # PUBCOMP
        more = subscriber.messages()
        print("after PUBCOMP of %d:" % done, *more)
        came.update(more)
    if 41 in came:
        subscriber.send(0x40, came[41])  # PUBACK
        print("after PUBACK of 41:", *subscriber.messages())
    publisher.publish(81, 1)
    print("after 81 was published:", *subscriber.messages())


main(sys.argv[1])
