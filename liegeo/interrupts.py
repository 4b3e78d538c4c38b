"""Ctrl-C, and the signals of a closed terminal and of a system that shuts down, heard between pieces of a run."""

from __future__ import annotations

import signal
import threading
from typing import Any, Self

# Signals that end a run; Windows has not all of them.
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


class CtrlC:
    """Ctrl-C is noted and heard between pieces, so that what is kept is whole; a second one is heard at once.

    The signals that a closed terminal and a system that shuts down send, SIGHUP and SIGTERM, mean the same.  Before
    `listen` all of them mean what they did: a short run has no use for handlers, which take 15 µs.
    """

    def __enter__(self) -> Self:
        self.pressed = False
        self._before: dict[int, Any] = {}
        return self

    def listen(self) -> None:
        """Hear the signals from now on."""
        if self._before:
            return
        # Only the main thread may, and only it gets the signals.
        if threading.current_thread() is threading.main_thread():
            for name in _ENDING:
                number = getattr(signal, name, None)
                # who starts a program with nohup does not want to hear of SIGHUP
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._note)

    def _note(self, number: int, frame: Any) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
