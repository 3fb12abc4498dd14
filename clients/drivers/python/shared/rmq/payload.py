"""The payload: a text header, padding, a checksum over both."""

import zlib

from rmq.lines import monotonic

HEADER = 92  # bytes
CHECKSUM = HEADER - 9  # where the checksum's own field begins
PADDING = bytes(ord("a") + i % 26 for i in range(26))


def make(run, process, epoch, stream, seq, qos, kind, size):
    """A payload of size bytes, at least 92."""
    size = max(size, HEADER)
    head = b"RQ1|%-8.8b|%08x|%04x|%08x|%016x|%d|%b|%016x|%08x|" % (
        run.encode(), process, epoch, stream, seq, qos, kind.encode(), monotonic(), size)
    start, rest = (stream + seq) % 26, size - HEADER
    padding = (PADDING * (rest // 26 + 2))[start:start + rest]
    return head + b"%08x|" % zlib.crc32(padding, zlib.crc32(head)) + padding


def checksum(payload):
    if len(payload) < HEADER:
        return zlib.crc32(payload)
    return zlib.crc32(payload[HEADER:], zlib.crc32(payload[:CHECKSUM]))


def describe(payload, qos, retain=False, dup=False, mid=None):
    """The fields of a line about a message that arrived. What the SDK does not
    show is left out."""
    payload = bytes(payload)
    fields = {"q": qos, "h": payload[:HEADER].decode("latin-1"), "crc": "%08x" % checksum(payload), "len": len(payload)}
    if mid:
        fields["i"] = mid
    if dup:
        fields["dup"] = True
    if retain:
        fields["ret"] = True
    return fields
