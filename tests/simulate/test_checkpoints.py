"""Checkpoints: a run that is killed, at any moment and any number of times, ends with the same bits."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import liegeo as lg
from liegeo import integrate as li
from liegeo.errors import InputError
from liegeo.integrate import Event
from models import crane, flexible_chain, pendulum

HERE = Path(__file__).parent

SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from models import crane, flexible_chain, pendulum
import liegeo as lg
from liegeo.integrate import Event

kind, checkpoint, out = sys.argv[1:]
run = {run}
# whole or not at all: this script, too, is killed at any moment
part = Path(out).with_name(".part.npz")
np.savez(part, t=run.t, q=run.q, v=run.v, steps=run.info.steps, rejected=run.info.rejected)
part.replace(out)
"""

# Each takes about a second: an explicit and an implicit method, with steps of their own and fixed ones, with memory,
# with inputs that are functions, with events.
RUNS = {
    "adaptive": "lg.simulate(pendulum(), t_end=2500.0, inputs={'hinge': lambda t: 20 * np.sin(t)}, output=2.5, "
    "checkpoint=checkpoint, checkpoint_every=0.0)",
    "alpha": "lg.simulate(flexible_chain(2), t_end=12.0, rtol=1e-4, atol=1e-5, output=0.03, checkpoint=checkpoint, "
    "checkpoint_every=0.0)",
    "fixed": "lg.simulate(flexible_chain(2), t_end=120.0, step=1e-3, output=0.1803, checkpoint=checkpoint, "
    "checkpoint_every=0.0)",
    "bdf": "lg.simulate(flexible_chain(1), t_end=160.0, method='lie-bdf-2', step=1e-3, output='steps', every=200, "
    "checkpoint=checkpoint, checkpoint_every=0.0)",
    "events": "lg.simulate(pendulum(), t_end=600.0, events=[Event(lambda t, x: x.v[0])], output=0.6, "
    "checkpoint=checkpoint, checkpoint_every=0.0)",
}


ENVIRONMENT = os.environ | {"PYTHONPATH": str(HERE.parents[1])}


def command(kind, checkpoint, out):
    return [sys.executable, "-c", SCRIPT.format(run=RUNS[kind]), kind, str(checkpoint), str(out)]


def whole(path):
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


@pytest.mark.foreign
@pytest.mark.parametrize("kind", RUNS)
def test_killed_runs_end_with_the_same_bits(kind, tmp_path):
    """SIGKILL at random moments, again and again; the run that ends equals one that nobody touched."""
    checkpoint, out, untouched = tmp_path / "run.checkpoint", tmp_path / "run.npz", tmp_path / "untouched.npz"
    subprocess.run(command(kind, tmp_path / "other.checkpoint", untouched), check=True, cwd=HERE, env=ENVIRONMENT)
    moments = random.Random(kind)
    kills, longest = 0, 0.3
    while not out.exists():
        process = subprocess.Popen(command(kind, checkpoint, out), cwd=HERE, env=ENVIRONMENT)
        known = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        if kills < 4:
            # until it has written once more, then a moment longer, perhaps into the next writing
            while process.poll() is None and (checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0) == known:
                time.sleep(0.001)
            time.sleep(moments.uniform(0.0, longest))
            process.kill()
            assert process.wait() in (0, -signal.SIGKILL)
            kills += process.returncode == -signal.SIGKILL
            if out.exists() and kills == 0:
                # it ended before the signal came, as on a quick machine: once more, with less patience
                out.unlink()
                longest /= 2
        else:
            assert process.wait() == 0
    expected, found = whole(untouched), whole(out)
    for name, array in expected.items():
        assert array.tobytes() == found[name].tobytes(), name
    assert not checkpoint.exists()
    assert {file.name for file in tmp_path.iterdir() if not file.name.startswith(".")} == {"run.npz", "untouched.npz"}


def stopped(model, path, **arguments):
    """A run that Ctrl-C ended, with its checkpoint."""
    calls = []

    def interrupt(t):
        calls.append(t)
        if len(calls) == 300:
            raise KeyboardInterrupt
        return 0.0

    run = lg.simulate(model, inputs={"hinge": interrupt}, checkpoint=path, **arguments)
    assert not run.info.finished
    return run


def test_ctrl_c_leaves_a_checkpoint_to_go_on_from(tmp_path):
    path = tmp_path / "pendulum.checkpoint"
    before = stopped(pendulum(), path, t_end=20.0)
    assert path.exists()
    after = lg.simulate(pendulum(), t_end=20.0, inputs={"hinge": lambda t: 0.0}, checkpoint=path)
    untouched = lg.simulate(pendulum(), t_end=20.0, inputs={"hinge": lambda t: 0.0})
    assert 0.0 < before.t[-1] < 20.0
    assert after.q.tobytes() == untouched.q.tobytes()
    assert after.t.tobytes() == untouched.t.tobytes()
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"t_end": 21.0}, "t_end, output"),
        ({"rtol": 1e-3}, "tolerances"),
        ({"output": 0.5}, "output"),
        ({"method": "rkmk-32"}, "method"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, change, what):
    path = tmp_path / "pendulum.checkpoint"
    stopped(pendulum(), path, t_end=20.0)
    kept = path.read_bytes()
    with pytest.raises(InputError, match=f"is of another run: {what} differ"):
        lg.simulate(pendulum(), **{"t_end": 20.0} | change, inputs={"hinge": lambda t: 0.0}, checkpoint=path)
    other = pendulum(damping=1e-9)
    with pytest.raises(InputError, match="is of another run: model differ"):
        lg.simulate(other, t_end=20.0, method="rkmk-54", inputs={"hinge": lambda t: 0.0}, checkpoint=path)
    assert path.read_bytes() == kept


TIMES = np.linspace(0.0, 20.0, 5)


@pytest.mark.parametrize(
    ("how", "other", "what"),
    [
        (
            {"method": li.generalised_alpha(0.8, 1e-3), "step": 1e-2},
            {"method": li.generalised_alpha(0.8, 1e-12)},
            "method",
        ),
        ({"method": li.index_3_alpha(0.8), "step": 1e-2}, {"method": li.generalised_alpha(0.8)}, "method"),
        ({"inputs": {"hinge": (TIMES, np.cos(TIMES))}}, {"inputs": {"hinge": (TIMES, np.sin(TIMES))}}, "inputs"),
        ({"inputs": {"hinge": (TIMES, np.cos(TIMES))}}, {"inputs": {"hinge": np.cos}}, "inputs"),
        ({"inputs": {"hinge": 1.0}}, {"inputs": {}}, "inputs"),
    ],
)
def test_methods_and_samples_tell_runs_apart(tmp_path, how, other, what):
    """Neither the name of a method nor that of an input says what it does."""
    path = tmp_path / "pendulum.checkpoint"
    calls = []

    def stop(result):
        calls.append(result)
        os.kill(os.getpid(), signal.SIGINT)

    run = lg.simulate(pendulum(), t_end=2000.0, output=1.0, checkpoint=path, watch=stop, **how)
    assert not run.info.finished
    with pytest.raises(InputError, match=f"is of another run: {what} differ"):
        lg.simulate(pendulum(), t_end=2000.0, output=1.0, checkpoint=path, **how | other)


def test_a_checkpoint_of_another_version_is_refused(tmp_path):
    path = tmp_path / "pendulum.checkpoint"
    stopped(pendulum(), path, t_end=20.0)
    path.write_bytes(path.read_bytes().replace(b"liegeo checkpoint 4", b"liegeo checkpoint 1", 1))
    with pytest.raises(InputError, match="was written by another version of liegeo"):
        lg.simulate(pendulum(), t_end=20.0, inputs={"hinge": lambda t: 0.0}, checkpoint=path)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    path = tmp_path / "pendulum.checkpoint"
    stopped(pendulum(), path, t_end=20.0)
    content = path.read_bytes()
    for damaged in (content[:-1], content[:40], b"", content[:200] + b"?" + content[201:], b"something else"):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="is not a checkpoint of liegeo, or is damaged"):
            lg.simulate(pendulum(), t_end=20.0, inputs={"hinge": lambda t: 0.0}, checkpoint=path)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        lg.simulate(
            pendulum(), t_end=20.0, checkpoint=tmp_path / "no" / "run", checkpoint_every=0.0, output="steps", step=1e-4
        )


def test_writing_is_rare_if_it_takes_long(tmp_path):
    """A checkpoint is due after twenty times the time that the last one took, whatever is asked for."""
    from liegeo.checkpoints import Checkpoint

    checkpoint = Checkpoint(tmp_path / "x", {}, 0.0)
    assert checkpoint.is_due()
    checkpoint._took = 1e6
    assert not checkpoint.is_due()


def test_events_are_in_checkpoints(tmp_path):
    """Found before the interruption, and after it."""
    path, lowest = tmp_path / "run", Event(lambda t, x: x.q[0] + np.pi / 2)
    stopped(pendulum(), path, t_end=20.0, events=[lowest])
    quiet = {"hinge": lambda t: 0.0}
    after = lg.simulate(pendulum(), t_end=20.0, inputs=quiet, events=[lowest], checkpoint=path)
    untouched = lg.simulate(pendulum(), t_end=20.0, inputs=quiet, events=[lowest])
    assert [x.t for x in after.info.events[0]] == [x.t for x in untouched.info.events[0]]


def test_models_of_this_file_move():
    """Otherwise equal bits would say nothing."""
    for model in (crane(), flexible_chain(1)):
        run = lg.simulate(model, t_end=0.05)
        assert np.abs(run.q[-1] - run.q[0]).max() > 1e-3
