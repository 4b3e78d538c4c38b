"""Who runs the members of a study: this process, its threads, processes of this machine, or a Dask cluster.

All of them run the same `Task` on chunks of members, and give its rows in any order.  A worker that dies takes its
chunk with it, which another one runs again; a chunk that ended with three workers is run member by member, and a member
that ends with three becomes a row with an error.
"""

from __future__ import annotations

import functools
import math
import os
import pickle
import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent import futures
from typing import Any

from liegeo.errors import InputError
from liegeo.model.checks import suggest
from liegeo.studies.journal import MemberRow
from liegeo.studies.task import Task
from liegeo.studies.worker import Worker, WorkerDiedError

Members = Sequence[tuple[int, dict[str, float]]]

EXECUTORS = ("here", "threads", "processes", "dask")
# A chunk should take about so long: handing it over costs little beside that, and a kill loses little.
_CHUNK_SECONDS, _MOST_IN_CHUNK = 0.2, 64
# Chunks per worker that wait, so that the driver's memory does not grow with the study.
_WAITING = 3
# With so many workers a chunk may end before it is taken apart, and a member before it counts as failed.
_TRIES = 3
# A study of so many seconds is worth the two that processes take to begin.
_WORTH_PROCESSES = 6.0


def chunk_size(seconds: float, members: int, workers: int) -> int:
    """Return how many members a chunk has if one takes so many seconds."""
    fair = math.ceil(members / (workers * _WAITING))
    return max(1, min(_MOST_IN_CHUNK, fair, int(_CHUNK_SECONDS / max(seconds, 1e-9))))


def _died(member: int) -> MemberRow:
    return MemberRow(member, {}, f"the process that ran it ended {_TRIES} times, without an error of its own")


class Here:
    """This process, one member after another."""

    workers = 1

    def run(self, task: Task, chunks: Iterator[Members]) -> Iterator[list[MemberRow]]:
        for members in chunks:
            yield task.run(members)


class Threads:
    """Threads of this process: loops over steps run beside each other, what makes models does not."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, task: Task, chunks: Iterator[Members]) -> Iterator[list[MemberRow]]:
        running: set[futures.Future[list[MemberRow]]] = set()
        with futures.ThreadPoolExecutor(self.workers) as pool:
            try:
                while True:
                    while len(running) < self.workers * _WAITING and (members := next(chunks, ())):
                        running.add(pool.submit(self._run, task, members))
                    if not running:
                        return
                    done, running = futures.wait(running, return_when=futures.FIRST_COMPLETED)
                    for future in done:
                        yield future.result()
            finally:
                self._stop()
                pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, task: Task, members: Members) -> list[MemberRow]:
        return task.run(members)

    def _stop(self) -> None:
        """Nothing runs that must be ended."""


class Processes(Threads):
    """Processes of this machine, which threads of this one wait for; the task is sent to each once."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self._free: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._all: list[Worker] = []
        self._lock = threading.Lock()
        self._over = False

    def _run(self, task: Task, members: Members) -> list[MemberRow]:
        for _ in range(_TRIES):
            worker = self._worker(task)
            try:
                rows = worker.run(members)
            except WorkerDiedError:
                if self._over:
                    return []
                continue
            self._free.put(worker)
            return rows
        if len(members) == 1:
            return [_died(members[0][0])]
        return [row for member in members for row in self._run(task, [member])]

    def _worker(self, task: Task) -> Worker:
        try:
            return self._free.get_nowait()
        except queue.Empty:
            worker = Worker(task.pickled)
            with self._lock:
                self._all.append(worker)
            return worker

    def _stop(self) -> None:
        self._over = True
        with self._lock:
            for worker in self._all:
                worker.close()


# In a worker of Dask: the tasks that it knows, by digest.
_TASKS: dict[str, Task] = {}


def _run_sent(digest: str, pickled: bytes, members: Members) -> list[MemberRow]:
    """Run members in a worker of Dask, which keeps what was sent."""
    if digest not in _TASKS:
        _TASKS[digest] = pickle.loads(pickled)  # what the driver of this study sent
    return _TASKS[digest].run(members)


class Dask:
    """The workers of a Dask cluster, at the address of its scheduler, or of a Client that is there."""

    def __init__(self, scheduler: Any) -> None:
        try:
            import distributed
        except ImportError:
            raise InputError(
                "study: scheduler was given, but the package distributed is not installed.\n"
                "  pip install 'liegeo[dask]'"
            ) from None
        self._own = isinstance(scheduler, str)
        if self._own:
            try:
                scheduler = distributed.Client(scheduler, timeout="10s", set_as_default=False)
            except (OSError, ValueError) as error:
                raise InputError(f"study: scheduler is {scheduler!r}, which does not answer: {error}.") from None
        self._client: Any = scheduler
        self.workers = max(1, sum(each["nthreads"] for each in self._client.scheduler_info()["workers"].values()))

    def run(self, task: Task, chunks: Iterator[Members]) -> Iterator[list[MemberRow]]:
        import distributed

        client = self._client
        sent = client.scatter(task.pickled, broadcast=True, hash=True)
        running: dict[Any, Members] = {}
        try:
            while True:
                while len(running) < self.workers * _WAITING and (members := next(chunks, ())):
                    future = client.submit(_run_sent, task.digest, sent, members, pure=False)
                    running[future] = members
                if not running:
                    return
                with client.as_current():
                    done, _ = distributed.wait(list(running), return_when="FIRST_COMPLETED")
                for future in done:
                    members = running.pop(future)
                    try:
                        yield future.result()
                    except distributed.scheduler.KilledWorker:
                        yield [_died(member) for member, _ in members]
        finally:
            client.cancel(list(running))
            if self._own:
                client.close()


def check(executor: str | None, workers: int | None, scheduler: Any) -> None:
    """Raise InputError if nobody can run members so."""
    if executor is not None and executor not in EXECUTORS:
        known = ", ".join(EXECUTORS)
        raise InputError(
            f"study: executor is {executor!r}, expected one of {known}.{suggest(str(executor), EXECUTORS)}"
        )
    if executor is not None and (executor == "dask") != (scheduler is not None):
        raise InputError(
            f'study: executor is {executor!r} and scheduler is {scheduler!r}, expected executor="dask" with '
            'scheduler="tcp://…", or scheduler alone.'
        )
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise InputError(f"study: workers is {workers!r}, expected a whole number ≥ 1.")


def choose(executor: str | None, workers: int | None, scheduler: Any, seconds: float, members: int, task: Task) -> Any:
    """Return who runs so many members that take so many seconds each."""
    if scheduler is not None:
        task.check_sendable()
        return Dask(scheduler)
    n = workers or usable_cores()
    if executor is None:
        worth = n > 1 and seconds * members > _WORTH_PROCESSES
        executor = "here" if not worth else "processes" if task.sendable else "threads"
    if executor == "processes":
        task.check_sendable()
    made: Any = {"here": lambda n: Here(), "threads": Threads, "processes": Processes}[executor](n)
    return made


@functools.cache
def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
