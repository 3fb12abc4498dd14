"""What an SDK adds to the rest of a driver."""

import collections

# An Ack is how a call went: ok, fail or info, the broker's reason code, an
# error in words.
Ack = collections.namedtuple("Ack", "outcome reason text")
Ack.__new__.__defaults__ = (0, "")


def outcome(reason):
    """The outcome of a publish, by the reason code of its acknowledgement. 0x92 is
    of a PUBCOMP alone: that the broker knows no such packet says nothing of the
    message."""
    if reason == 0x92:
        return "info"
    return "fail" if reason >= 0x80 else "ok"


# An SDK is a client library and how to use it; session is a class.
SDK = collections.namedtuple("SDK", "name version protocols transports dedupes cannot session")


class Session:
    """One MQTT session in the hands of the SDK. It opens its connections by
    p.dial(), whose Conn it tells how they go, and says p.ready(conn) when one
    can be used."""

    queues = True  # it takes messages while it is not connected
    window = 65535  # publishes that it takes without an acknowledgement; it may change

    def __init__(self, p):
        self.p = p

    def connect(self):
        """Begins to connect and returns; from then on it stays connected."""
        raise NotImplementedError

    def disconnect(self):
        """Closes the connection in order and keeps it closed. When it returns
        nothing more is delivered."""
        raise NotImplementedError

    def subscribe(self, topic, qos):
        """Waits for the SUBACK, or for the end of the connection; answers an Ack."""
        raise NotImplementedError

    def publish(self, call, stream, payload):
        """Hands a message to the SDK, in order of its calls. call.done says
        when the broker acknowledged, or that it is known that it will not."""
        raise NotImplementedError

    def resumed(self):
        """The process goes on after a pause."""
