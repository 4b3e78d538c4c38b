"""Studies that are killed, and clusters whose workers are: nothing is lost, nothing is there twice."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import liegeo as lg
from liegeo.studies import Uniform, study

pytestmark = pytest.mark.foreign

STUDY = """
study: 1
name: spread
model: double_pendulum.yaml
set: {experiment.end: 0.02 s}
vary:
  rod.mass: {uniform: [0.5 kg, 1.5 kg]}
  rod.length: {normal: [1 m, 5 %]}
members: MEMBERS
design: sobol
seed: 4
outputs:
  height: max(upper.end.position.z)
  speed: middle.speed
"""


def write_study(folder, members):
    (folder / "double_pendulum.yaml").write_text(Path("models/double_pendulum.yaml").read_text())
    (folder / "spread.yaml").write_text(STUDY.replace("MEMBERS", str(members)))


def start(folder, *options):
    command = [sys.executable, "-m", "liegeo.cli", "study", "spread.yaml", "-o", "spread.npz", "--quiet", *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def end(process):
    """Kill a process at once, with those that it started: these end when they hear no more of it."""
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_a_study_killed_twenty_times_ends_with_the_same_table(tmp_path):
    """At instants drawn at random; rows that were there before a kill stay as they are, to the byte."""
    draw = random.Random(7)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        write_study(folder, 500)
    output, _ = start(whole, "--executor", "processes").communicate(timeout=300)
    assert (whole / "spread.npz").exists(), output
    log, before = killed / "spread.members" / "rows.log", b""
    kills = 0
    while kills < 20:
        process = start(killed, "--executor", draw.choice(["here", "threads", "processes"]))
        grown = time.monotonic() + 60.0
        # a kill before anything was done tells little
        while (not log.exists() or log.stat().st_size <= len(before)) and time.monotonic() < grown:
            if process.poll() is not None:
                break
            time.sleep(0.005)
        time.sleep(draw.uniform(0.0, 0.05))
        end(process)
        kills += 1
        now = log.read_bytes()
        kept = before[: before.rfind(b"\n") + 1]
        assert now.startswith(kept)
        before = now
    start(killed, "--executor", "here").communicate(timeout=300)
    with np.load(whole / "spread.npz") as one, np.load(killed / "spread.npz") as other:
        assert one.files == other.files
        for name in one.files:
            assert one[name].tobytes() == other[name].tobytes(), name
    lines = log.read_bytes().splitlines()
    members = [line.split(b'"member": ')[1].split(b",")[0] for line in lines if b'"member": ' in line]
    assert len(set(members)) == 500
    # whole rows are there once; a line that was cut off is gone
    assert len(members) == 500


def test_dask_workers_that_are_killed_lose_nothing(tmp_path):
    """Four workers, of which two are killed in the middle; the table is that of one process."""
    distributed = pytest.importorskip("distributed")
    arm = lg.load("models/double_pendulum.yaml")
    arguments = {"outputs": {"height": "max(upper.end.position.z)", "speed": "middle.speed"}, "t_end": 0.02}
    vary = {"rod.mass": Uniform("0.5 kg", "1.5 kg"), "rod.length": [0.9, 1.0, 1.1]}
    here = study(arm, vary, design="random", members=600, executor="here", **arguments)
    log = tmp_path / "kept" / "rows.log"
    done_at_kill = []

    def kill(pids):
        for pid, rows in zip(pids, (60, 200), strict=True):
            while not log.exists() or log.read_bytes().count(b"\n") < rows:
                time.sleep(0.01)
            os.kill(pid, signal.SIGKILL)
            done_at_kill.append(log.read_bytes().count(b"\n"))

    with distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None) as cluster:
        pids = [nanny.process.pid for nanny in cluster.workers.values()]
        assert len(pids) == 4
        killer = threading.Thread(target=kill, args=(pids[:2],), daemon=True)
        killer.start()
        address = cluster.scheduler_address
        found = study(arm, vary, design="random", members=600, scheduler=address, folder=log.parent, **arguments)
        killer.join(timeout=10)
    assert len(done_at_kill) == 2
    assert done_at_kill[1] < 600
    assert log.read_bytes().count(b"\n") == 600
    assert found.finished
    assert not found.errors
    assert found["height"].tobytes() == here["height"].tobytes()
    assert found["speed"].tobytes() == here["speed"].tobytes()


def test_a_scheduler_that_does_not_answer_is_named():
    pytest.importorskip("distributed")
    from liegeo.errors import InputError

    arm = lg.load("models/double_pendulum.yaml")
    with pytest.raises(InputError, match=r"scheduler is 'tcp://127.0.0.1:9', which does not answer"):
        study(arm, {"rod.mass": [1.0] * 4}, "final(energy)", t_end=0.01, scheduler="tcp://127.0.0.1:9")


def test_ctrl_c_returns_what_there_is_and_the_same_command_goes_on(tmp_path):
    write_study(tmp_path, 400)
    process = start(tmp_path, "--executor", "here")
    log = tmp_path / "spread.members" / "rows.log"
    until = time.monotonic() + 60.0
    while (not log.exists() or log.stat().st_size < 20_000) and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    with np.load(tmp_path / "spread.npz") as found:
        part = found["height"].copy()
    assert 0 < np.isfinite(part).sum() < 400
    start(tmp_path, "--executor", "here").communicate(timeout=300)
    with np.load(tmp_path / "spread.npz") as found:
        whole = found["height"]
        assert np.isfinite(whole).all()
        assert whole[np.isfinite(part)].tobytes() == part[np.isfinite(part)].tobytes()


def test_a_study_whose_model_names_files_runs_where_these_are_not(tmp_path):
    """As on another machine: the worker finds no folder of the model, and writes the files into one of its own."""
    from liegeo.studies.outputs import read_outputs
    from liegeo.studies.task import Task

    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "calculix_link.yaml").write_bytes(Path("models/calculix_link.yaml").read_bytes())
    mechanism = lg.load("models/calculix_link.yaml")
    task = Task.of(mechanism, {"t_end": 0.01}, read_outputs("final(energy)"))
    assert task.files
    for name, content in task.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    moved = Task.of(lg.load(folder / "calculix_link.yaml"), {"t_end": 0.01}, read_outputs("final(energy)"))
    sent = moved.pickled
    shutil.rmtree(folder)
    values = {"experiment.end": 0.01}
    (row,) = pickle.loads(sent).run([(0, values)])
    (expected,) = task.run([(0, values)])
    assert not row.error
    assert row.values == expected.values
