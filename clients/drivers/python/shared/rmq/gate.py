"""A gate is open or closed."""

import threading


class Gate:
    """Who waits at it passes when it opens, or gives up."""

    def __init__(self, is_open=True):
        self.event, self.lock = threading.Event(), threading.Lock()
        if is_open:
            self.event.set()

    def is_open(self):
        return self.event.is_set()

    def open(self):
        """Reports whether it was closed."""
        with self.lock:
            was = self.event.is_set()
            self.event.set()
            return not was

    def shut(self):
        """Reports whether it was open."""
        with self.lock:
            was = self.event.is_set()
            self.event.clear()
            return was

    def wait(self, *stops):
        """True once it is open, False if one of the events is set first."""
        while not self.event.wait(0.02):
            if any(s.is_set() for s in stops):
                return False
        return True
