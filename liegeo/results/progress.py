"""A bar for simulated time on the terminal: how far, how fast, how long it will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

# Seconds between two pictures of the bar.
INTERVAL = 0.1


class Progress:
    """Shows how much of `total` seconds is simulated, on stderr, and leaves no trace when it is done.

        with Progress(10.0, "crane", show=None) as progress:
            progress.update(t, steps)       # as often as one likes

    `show`: True, False, or None for "if stderr is a terminal".  Rates and time left are averages since the start.
    A run that is over within INTERVAL shows nothing.
    """

    def __init__(
        self,
        total: float,
        label: str = "",
        show: bool | None = None,
        text: Callable[[float, int, float, float], str] | None = None,
    ) -> None:
        """`text` makes what stands beside the bar, of what `describe` takes."""
        self.total = total
        self.label = label
        self._text = describe if text is None else text
        self.show = sys.stderr is not None and sys.stderr.isatty() if show is None else show
        self._bar: Any = None
        self._start = self._next = 0.0

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        self._next = self._start + INTERVAL
        return self

    def update(self, t: float, steps: int) -> None:
        """`t` of `total` seconds are simulated, in `steps` steps."""
        if not self.show:
            return
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + INTERVAL
        if self._bar is None:
            self._bar = _make_bar(self.label)
            self._bar.start()
        done = min(1.0, t / self.total) if self.total > 0.0 else 1.0
        self._bar.update(0, completed=done, text=self._text(t, steps, self.total, now - self._start))
        self._bar.refresh()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            bar, self._bar = self._bar, None
            bar.stop()


def describe(t: float, steps: int, total: float, elapsed: float) -> str:
    """What stands beside the bar."""
    if elapsed <= 0.0 or t <= 0.0:
        return f"{t:.4g} of {total:.4g} s"
    left = (total - t) * elapsed / t
    return (
        f"{t:.4g} of {total:.4g} s · {t / elapsed:.3g} × real time · {steps / elapsed:.3g} steps/s · "
        f"{duration(max(0.0, left))} left"
    )


def duration(seconds: float) -> str:
    """Return a time as people read it."""
    whole = round(seconds)
    minutes, seconds_left = divmod(whole, 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_left:02d} min"
    return f"{minutes} min {seconds_left:02d} s" if minutes else f"{whole} s"


def _make_bar(label: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    # Without a thread of its own; forced, because we only come here when a bar is wanted.
    bar = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[text]}", markup=False, style="dim"),
        console=Console(stderr=True, force_terminal=True),
        auto_refresh=False,
        transient=True,
    )
    bar.add_task(label, total=1.0, text="")
    return bar
