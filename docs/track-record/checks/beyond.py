#!/usr/bin/env python3
"""What a broker does with a message beyond its limit of messages in flight, with nothing but sockets.

    beyond.py HOST:PORT QOS [LIMIT]

A client of MQTT 3.1.1 sends LIMIT messages of QoS 2 and answers no PUBREC, as over a slow network.
Then it sends one more message, of QoS 1 or 2, and completes it. The check prints the broker's answers
to that message, and what a subscriber of its topic gets within two seconds. LIMIT is 20, the default
of mosquitto's max_inflight_messages.
"""
import socket
import struct
import sys


def text(s):
    return struct.pack(">H", len(s)) + s.encode()


def packet(head, body):
    assert len(body) < 128
    return bytes([head, len(body)]) + body


def client(address, name):
    connection = socket.create_connection(address, 10)
    connection.settimeout(2)
    connection.sendall(packet(0x10, text("MQTT") + b"\x04\x02\x00\x3c" + text(name)))
    assert connection.recv(4) == b"\x20\x02\x00\x00", "not let in"
    return connection


def publish(head, topic, number):
    return packet(head, text(topic) + struct.pack(">H", number) + b"message")


def answer(connection, size):
    """Up to so many bytes that come within two seconds; none if nothing comes."""
    got = b""
    try:
        while len(got) < size:
            more = connection.recv(size - len(got))
            if not more:
                return got + b" and the end of the connection"
            got += more
    except socket.timeout:
        pass
    return got


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[2] not in ("1", "2"):
        sys.exit(__doc__)
    host, port = sys.argv[1].rsplit(":", 1)
    qos, limit = int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) == 4 else 20
    subscriber, publisher = client((host, int(port)), "check-subscriber"), client((host, int(port)), "check-publisher")
    subscriber.sendall(packet(0x82, b"\x00\x01" + text("check/1") + b"\x02"))
    assert subscriber.recv(5) == b"\x90\x03\x00\x01\x02", "not subscribed"
    for number in range(1, limit + 1):
        publisher.sendall(publish(0x34, "check/2", number))
    print("PUBRECs:", answer(publisher, 4 * limit).count(b"\x50\x02"))
    publisher.sendall(publish(0x30 + 2 * qos, "check/1", limit + 1))
    got = answer(publisher, 4)
    if qos == 2:
        publisher.sendall(packet(0x62, struct.pack(">H", limit + 1)))
        got += answer(publisher, 4)
    print("answers to the message:", got.hex(" ") or "none")
    print("the subscriber got:", answer(subscriber, 64) or "nothing")
