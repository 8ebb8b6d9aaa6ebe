"""Ctrl-C and its like, once, and never between the start of a child and knowing of it."""

import contextlib
import signal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    def __init__(self, number):
        super().__init__()
        self.number = number


class Interruptions:
    def __init__(self):
        self.held = False
        self.number = None

    def listen(self):
        for each in SIGNALS:
            signal.signal(each, self._on_signal)

    def ignore(self):
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)

    def _on_signal(self, number, _):
        # One is enough: what follows is cleaning up, which a second one does not cut short.
        self.ignore()
        if not self.held:
            raise Ended(number)
        self.number = number

    @contextlib.contextmanager
    def hold(self):
        """What comes meanwhile is raised at the end."""
        self.held = True
        try:
            yield
        finally:
            self.held = False
        number, self.number = self.number, None
        if number is not None:
            raise Ended(number)
