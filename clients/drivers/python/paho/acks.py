"""Packet ids and who waits for them."""

import threading


class Acks:
    """Who waits for which packet id. An acknowledgement may be faster than the
    return of the SDK's function that names the id, and it comes while the SDK
    holds its locks: so nothing of the SDK is called under this one."""

    def __init__(self):
        self.lock, self.waiting, self.early = threading.Lock(), {}, {}

    def begin(self):
        """Goes before the SDK's function: an id it then names is a new one."""
        with self.lock:
            self.early.clear()

    def expect(self, mid, then):
        """Calls then with the reason code when the acknowledgement arrives."""
        with self.lock:
            if mid not in self.early:
                self.waiting[mid] = then
                return
            reason = self.early.pop(mid)
        then(reason)

    def arrived(self, mid, reason):
        with self.lock:
            then = self.waiting.pop(mid, None)
            if then is None:
                self.early[mid] = reason
                return
        then(reason)

    def forget(self, mid):
        with self.lock:
            self.waiting.pop(mid, None)
