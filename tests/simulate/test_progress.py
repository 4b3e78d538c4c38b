"""The progress bar, on a terminal that a test can read."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from liegeo.results import progress
from liegeo.results.progress import Progress, describe

# Works for a while on a terminal, then ends as it is told.
CHILD = """
import sys, time
from liegeo.results.progress import Progress
with Progress(10.0, "crane", None) as progress:
    for k in range(1, 60):
        progress.update(0.1 * k, 5 * k)
        time.sleep(0.01)
    {end}
print("after", file=sys.stderr)
"""


def on_a_terminal(code):
    """What a child writes to the terminal that is its stderr, and its exit code."""
    reader, writer = pytest.importorskip("pty").openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    child = subprocess.Popen([sys.executable, "-c", code], stderr=writer, env=environment)
    os.close(writer)
    seen = b""
    while True:
        try:
            piece = os.read(reader, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(reader)
    return seen.decode(), child.wait()


def last_screen(text):
    """What is left after the last time the cursor was shown again."""
    return text.rpartition("\x1b[?25h")[2]


@pytest.mark.parametrize(
    ("end", "last"),
    [
        ("pass", "after"),
        ("raise ValueError('broken')", "ValueError: broken"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_a_terminal_sees_the_bar_and_is_left_clean(end, last):
    text, code = on_a_terminal(CHILD.format(end=end))
    assert "crane" in text
    assert "× real time" in text
    assert "steps/s" in text
    assert "left" in text
    # The cursor comes back, the line of the bar is erased, and what follows begins on a clean line.
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1
    rest = last_screen(text)
    assert "crane" not in rest
    assert "\x1b[2K" in rest
    assert (code == 0) == (end == "pass")
    assert rest.rstrip().endswith(last)


def test_at_most_ten_pictures_a_second():
    text, _ = on_a_terminal(CHILD.format(end="pass"))
    assert 3 <= text.count("× real time") <= 12


def test_a_short_run_shows_nothing(capsys):
    with Progress(1.0, "crane", show=True) as bar:
        bar.update(0.5, 10)
    assert capsys.readouterr() == ("", "")


def test_nothing_on_a_pipe(capfd):
    with Progress(1.0, "crane") as bar:
        bar.update(0.5, 10)
    assert capfd.readouterr() == ("", "")


def test_off_means_off(monkeypatch, capfd):
    monkeypatch.setattr(progress, "_make_bar", lambda label: pytest.fail("made a bar"))
    with Progress(1.0, "crane", show=False) as bar:
        for k in range(100):
            bar.update(1e-2 * k, k)
    assert capfd.readouterr() == ("", "")


def test_forced_on_it_writes_to_stderr_without_a_thread(capsys, monkeypatch):
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    threads = threading.active_count()
    with Progress(0.0, "crane [bold]", show=True) as bar:
        assert threading.active_count() == threads
        bar.update(0.0, 0)
        bar.update(1.0, 10)
    written = capsys.readouterr()
    assert written.out == ""
    assert "crane [bold]" in written.err


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((2.0, 100, 10.0, 4.0), "2 of 10 s · 0.5 × real time · 25 steps/s · 16 s left"),
        ((1.0, 100, 100.0, 10.0), "1 of 100 s · 0.1 × real time · 10 steps/s · 16 min 30 s left"),
        ((1.0, 100, 10.0, 3600.0), "1 of 10 s · 0.000278 × real time · 0.0278 steps/s · 9 h 00 min left"),
        ((10.5, 10, 10.0, 1.0), "10.5 of 10 s · 10.5 × real time · 10 steps/s · 0 s left"),
        ((0.0, 0, 10.0, 1.0), "0 of 10 s"),
    ],
)
def test_what_stands_beside_the_bar(given, text):
    assert describe(*given) == text
