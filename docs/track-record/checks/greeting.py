#!/usr/bin/env python3
"""What a NATS listener says first, with nothing but a socket.

    greeting.py HOST:PORT

It connects, says nothing for a second, sends CONNECT and PING in one write, as
every client library does, and prints the lines that come, with their times.
Libraries take the first line behind INFO for the answer to their PING.
"""
import socket
import sys
import time

CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"lang":"check","version":"1","protocol":1}\r\nPING\r\n'


def lines(connection, seconds):
    """The lines that come within a time, each cut short."""
    connection.settimeout(0.1)
    text, end = b"", time.time() + seconds
    while time.time() < end:
        try:
            text += connection.recv(65536)
        except socket.timeout:
            continue
        while b"\r\n" in text:
            line, text = text.split(b"\r\n", 1)
            print("%7.3f" % (time.time() - START), line.decode()[:60], flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    host, port = sys.argv[1].rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as connection:
        START = time.time()
        lines(connection, 1)
        print("%7.3f" % (time.time() - START), "-> CONNECT, PING", flush=True)
        connection.sendall(CONNECT)
        lines(connection, 1)
