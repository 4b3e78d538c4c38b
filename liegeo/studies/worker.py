"""A process that runs members of a study: `python -m liegeo.studies.worker`, which a Worker of the driver starts.

Messages are pickles between two processes of one user, over pipes of their own.  Other than the processes of
`multiprocessing`, these do not run the user's script again, so that it needs no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from liegeo.studies.journal import MemberRow


class WorkerDiedError(Exception):
    """A worker ended in the middle of its work."""


class Worker:
    """A process of this machine that knows a task."""

    def __init__(self, task: bytes) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from liegeo.studies.worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)},
        )
        try:
            _send(self._stdin, task)
        except OSError:
            # it is told at the first call
            return

    @property
    def _stdin(self) -> BinaryIO:
        assert self._process.stdin is not None
        return self._process.stdin  # type: ignore[return-value]

    def run(self, members: Any) -> list[MemberRow]:
        """Return the rows of members; WorkerDiedError if the process ended."""
        try:
            _send(self._stdin, pickle.dumps(members))
            assert self._process.stdout is not None
            answer: Any = pickle.load(self._process.stdout)  # from our own process
        except (OSError, EOFError, pickle.UnpicklingError):
            self.close()
            raise WorkerDiedError from None
        if isinstance(answer, BaseException):
            raise answer
        return list(answer)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue
        self._process.wait()


def _send(pipe: BinaryIO, content: bytes) -> None:
    pipe.write(content)
    pipe.flush()


def main(arguments: Sequence[str] = ()) -> None:
    """Run members until the driver ends."""
    # Ctrl-C reaches all processes of a terminal: the driver decides
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # what functions of a user print must not come between messages
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    task = None
    while True:
        try:
            message = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        except Exception as error:
            # a module of the user's that cannot be imported here
            _send(answers, pickle.dumps(error))
            return
        try:
            if task is None:
                task = message
                continue
            answer = task.run(message)
        except Exception as error:
            answer = error
        _send(answers, pickle.dumps(answer))
