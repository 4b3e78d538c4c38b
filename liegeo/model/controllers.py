"""Sampled controllers that a person writes down: a Python function, or blocks that are wired by names.

A controller measures at t_k = offset + k period, computes once, and its outputs are in force from t_k + delay on until
the next ones are (kernels/blocks.py).  What it measures are columns of results, what it writes are inputs of force
elements or generalised forces of joints.  Blocks of a Controller take *signals*: what is measured, its own inputs,
other blocks above them, and, as "other.block", what a block of another controller gave at its last sample.

Adding a block: its kind and its equation in kernels/blocks.py, and a class here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import Fault, InputError, ModelError, Owner
from liegeo.kernels import blocks as at
from liegeo.model.about import about, classes_of
from liegeo.model.checks import Sealed, as_array, as_bounded, as_number, as_numbers, suggest
from liegeo.recorded import finite, is_recorded_number, settled

Array = NDArray[np.float64]

# A delay of more samples than this is a mistake in a unit.
MOST_PENDING = 10_000
#: Kinds of what a controller takes from outside, as columns of results know them (names.UNITS).
INPUT_KINDS = ("input", "angle", "position", "angular velocity", "velocity", "moment", "force")


def _check_times(part: Any) -> None:
    """Check period, delay and offset."""
    own = part.owner.field
    as_bounded(own("period"), part.period, strictly=True)
    as_bounded(own("delay"), part.delay)
    if not finite(as_number(own("offset"), part.offset)):
        raise ModelError(own("offset").fault(part.offset, "expected a finite time"))
    if part.delay > MOST_PENDING * part.period:
        expected = f"expected at most {MOST_PENDING} periods, which are {MOST_PENDING * part.period:g} s"
        raise ModelError(own("delay").fault(part.delay, expected, "Check its unit."))


def _check_names(part: Any, key: str, given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ModelError(part.owner.field(key).fault(given, "expected names, such as ['hinge.angle']"))
    return tuple(names)


@dataclass(frozen=True, eq=False)
class Sampled(Sealed):
    """A controller that is a Python function, called exactly once per sample, with a memory of its own.

    `function(t, y)`, or `function(t, y, memory)`, returns the outputs; y are the numbers measured, in the order of
    `measure`, which names columns or quantities of results.  `outputs` are names of inputs.  `memory`, a number of
    numbers or their start values, is an array that the function may change; a run that is resumed goes on with it, and
    with nothing else that a function may remember.  Outputs are `initial` until the first result is in force.

    A function with a method `for_run` is asked by it for what each run calls, which has the methods close, save, load
    and refused: FMUs are such functions (fmu_export/sampled_fmu.py).
    """

    function: Callable[..., Any]
    period: float
    measure: Sequence[str] = ()
    outputs: Sequence[str] = ()
    delay: float = 0.0
    offset: float = 0.0
    memory: int | ArrayLike = 0
    initial: ArrayLike = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        own = self.owner.field
        if not callable(self.function):
            raise ModelError(own("function").fault(self.function, "expected a function of (t, y) or (t, y, memory)"))
        for key in ("measure", "outputs"):
            object.__setattr__(self, key, _check_names(self, key, getattr(self, key)))
        _check_times(self)
        given: Any = self.memory
        n = int(given) if isinstance(given, int | np.integer) and not isinstance(given, bool) else None
        start = as_numbers(given) if n is None else np.zeros(max(n, 0))
        if start is None or start.ndim != 1 or not np.isfinite(start).all() or (n is not None and n < 0):
            raise ModelError(own("memory").fault(given, "expected how many numbers it has, or their start values"))
        object.__setattr__(self, "memory", as_array(own("memory"), start, start.shape))
        initial = as_numbers(self.initial)
        if initial is None or initial.ndim > 1 or not np.isfinite(initial).all():
            raise ModelError(own("initial").fault(self.initial, "expected a finite number, or one for each output"))

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner("controller", self.name or getattr(self.function, "__name__", ""))

    @property
    def takes_memory(self) -> bool:
        """Whether the function takes a third argument."""
        try:
            parameters = list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):
            return True
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            return True
        return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters) >= 3


# ---- blocks


@dataclass(frozen=True, eq=False, kw_only=True)
class ControlBlock(Sealed):
    """What all blocks have: inputs, which are signals, and outputs."""

    kind: ClassVar[int]
    # which of its fields are signals, or lists of them
    signals: ClassVar[tuple[str, ...]] = ("input",)
    # whether its inputs may be signals of blocks below it
    is_late: ClassVar[bool] = False

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to, if it is checked by itself."""
        return Owner("block", "", type(self).__name__)

    def wires(self) -> list[tuple[str, str]]:
        """Return the signals that it takes, in the order in which the kernel has them, each behind its field."""
        return [(key, name) for key in self.signals for name in _check_names(self, key, getattr(self, key))]

    def inputs(self) -> tuple[str, ...]:
        """Return the signals that it takes."""
        return tuple(name for _, name in self.wires())

    def check(self) -> None:
        """Raise what is wrong with its numbers."""

    def data(self, period: float) -> list[float]:
        """Return its numbers, as the kernel reads them."""
        return []

    def memory(self) -> list[float]:
        """Return its memory at the start."""
        return []

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def size(self) -> int:
        """Return the number of points of a table, or of states."""
        return 0

    def __post_init__(self) -> None:
        self.inputs()
        self.check()

    def _finite(self, *names: str) -> None:
        for name in names:
            if not finite(as_number(self.owner.field(name), getattr(self, name))):
                raise ModelError(self.owner.field(name).fault(getattr(self, name), "expected a finite number"))

    def _limits(self) -> None:
        low, high = (as_number(self.owner.field(name), getattr(self, name)) for name in ("low", "high"))
        if not low <= high:
            raise ModelError(self.owner.field("low").fault(low, f"must be at most high, which is {high:g}"))


_INPUT = about("name", "the signal that it takes")


@dataclass(frozen=True, eq=False, kw_only=True)
class Sum(ControlBlock):
    """A sum of signals, each times its factor, and an offset."""

    of: Sequence[str] = field(metadata=about("names", "the signals"))
    factors: ArrayLike | None = field(default=None, metadata=about("number", "one per signal; 1 each", shape=(None,)))
    offset: float = field(default=0.0, metadata=about("any", "added to the sum"))
    kind: ClassVar[int] = at.SUM
    signals: ClassVar[tuple[str, ...]] = ("of",)

    def check(self) -> None:
        self._finite("offset")
        n = len(self.inputs())
        factors = np.ones(n) if self.factors is None else self.factors
        object.__setattr__(self, "factors", as_array(self.owner.field("factors"), factors, (n,)))

    def data(self, period: float) -> list[float]:
        return [self.offset, *np.asarray(self.factors)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Gain(ControlBlock):
    """A signal times a number."""

    input: str = field(metadata=_INPUT)
    gain: float = field(metadata=about("any", "what it is multiplied by"))
    kind: ClassVar[int] = at.SUM

    def check(self) -> None:
        self._finite("gain")

    def data(self, period: float) -> list[float]:
        return [0.0, self.gain]


@dataclass(frozen=True, eq=False, kw_only=True)
class Multiplication(ControlBlock):
    """The product of signals."""

    of: Sequence[str] = field(metadata=about("names", "the signals"))
    kind: ClassVar[int] = at.PRODUCT
    signals: ClassVar[tuple[str, ...]] = ("of",)


@dataclass(frozen=True, eq=False, kw_only=True)
class Saturation(ControlBlock):
    """A signal kept between two bounds."""

    input: str = field(metadata=_INPUT)
    low: float = field(default=-np.inf, metadata=about("any", "the smallest output"))
    high: float = field(default=np.inf, metadata=about("any", "the largest output"))
    kind: ClassVar[int] = at.SATURATION

    def check(self) -> None:
        self._limits()

    def data(self, period: float) -> list[float]:
        return [self.low, self.high]


@dataclass(frozen=True, eq=False, kw_only=True)
class Quantiser(ControlBlock):
    """The nearest multiple of a step, as an encoder or a converter gives it; halves are rounded up."""

    input: str = field(metadata=_INPUT)
    step: float = field(metadata=about("any", "the smallest difference of two outputs"))
    kind: ClassVar[int] = at.QUANTISER

    def check(self) -> None:
        as_bounded(self.owner.field("step"), self.step, strictly=True)

    def data(self, period: float) -> list[float]:
        return [self.step]


@dataclass(frozen=True, eq=False, kw_only=True)
class LookupTable(ControlBlock):
    """A table: straight lines between points (x, y), held outside."""

    input: str = field(metadata=_INPUT)
    x: ArrayLike = field(metadata=about("number", "rising values of the input", shape=(None,)))
    y: ArrayLike = field(metadata=about("number", "the output at each", shape=(None,)))
    kind: ClassVar[int] = at.TABLE

    def check(self) -> None:
        n = np.size(np.asarray(self.x))
        for name in ("x", "y"):
            object.__setattr__(self, name, as_array(self.owner.field(name), getattr(self, name), (n,)))
        places = np.asarray(settled(list(np.asarray(self.x)), "it is a place in a table"), dtype=np.float64)
        if n < 2 or not (np.diff(places) > 0.0).all():
            raise ModelError(self.owner.field("x").fault(self.x, "expected two numbers or more, in rising order"))

    @property
    def size(self) -> int:
        return int(np.size(np.asarray(self.x)))

    def data(self, period: float) -> list[float]:
        return [*np.asarray(self.x), *np.asarray(self.y)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Previous(ControlBlock):
    """What a signal was at the sample before: the way back in a loop of blocks."""

    input: str = field(metadata=about("name", "the signal, also that of a block below"))
    initial: float = field(default=0.0, metadata=about("any", "the output at the first sample"))
    kind: ClassVar[int] = at.PREVIOUS
    is_late: ClassVar[bool] = True

    def check(self) -> None:
        self._finite("initial")

    def memory(self) -> list[float]:
        return [self.initial]


@dataclass(frozen=True, eq=False, kw_only=True)
class LowPass(ControlBlock):
    """A low-pass filter of first order, which begins with its first input."""

    input: str = field(metadata=_INPUT)
    time_constant: float = field(metadata=about("time", "1 / (2π cutoff frequency)"))
    kind: ClassVar[int] = at.LOW_PASS

    def check(self) -> None:
        as_bounded(self.owner.field("time_constant"), self.time_constant, strictly=True)

    def data(self, period: float) -> list[float]:
        return [self.time_constant]

    def memory(self) -> list[float]:
        return [0.0, 0.0]


@dataclass(frozen=True, eq=False, kw_only=True)
class StateSpace(ControlBlock):
    """y = C x + D u, x⁺ = A x + B u, from one sample to the next."""

    of: Sequence[str] = field(metadata=about("names", "the signals u"))
    A: ArrayLike = field(metadata=about("number", "from the states to the states, row by row", shape=(None, None)))
    B: ArrayLike = field(metadata=about("number", "from the inputs to the states", shape=(None, None)))
    C: ArrayLike = field(metadata=about("number", "from the states to the outputs", shape=(None, None)))
    D: ArrayLike | None = field(
        default=None, metadata=about("number", "from the inputs to the outputs; zero if not given", shape=(None, None))
    )
    initial: ArrayLike | None = field(
        default=None, metadata=about("number", "the states at the start; zero if not given", shape=(None,))
    )
    kind: ClassVar[int] = at.STATE_SPACE
    signals: ClassVar[tuple[str, ...]] = ("of",)

    def check(self) -> None:
        m, n, r = len(self.inputs()), len(np.atleast_2d(np.asarray(self.A))), len(np.atleast_2d(np.asarray(self.C)))
        shapes: dict[str, tuple[int, ...]] = {"A": (n, n), "B": (n, m), "C": (r, n), "D": (r, m), "initial": (n,)}
        for name, shape in shapes.items():
            given = getattr(self, name)
            value = np.zeros(shape) if given is None else given
            object.__setattr__(self, name, as_array(self.owner.field(name), value, shape))

    @property
    def n_outputs(self) -> int:
        return len(np.asarray(self.C))

    @property
    def size(self) -> int:
        return len(np.asarray(self.A))

    def data(self, period: float) -> list[float]:
        return [x for name in "ABCD" for x in np.asarray(getattr(self, name)).ravel()]

    def memory(self) -> list[float]:
        return [*np.asarray(self.initial), *[0.0] * self.size]


TUSTIN, ZOH = "tustin", "zoh"


@dataclass(frozen=True, eq=False, kw_only=True)
class TransferFunction(ControlBlock):
    """A transfer function of s, made discrete with the period of its controller, or of z."""

    input: str = field(metadata=_INPUT)
    numerator: ArrayLike = field(metadata=about("number", "coefficients, highest power first", shape=(None,)))
    denominator: ArrayLike = field(metadata=about("number", "coefficients, highest power first", shape=(None,)))
    variable: str = field(default="s", metadata=about("choice", "of s or of z", choices=("s", "z")))
    method: str = field(
        default=TUSTIN,
        metadata=about("choice", "how s becomes z: trapezoid rule, or held inputs", choices=(TUSTIN, ZOH)),
    )
    kind: ClassVar[int] = at.STATE_SPACE

    def check(self) -> None:
        for name in ("numerator", "denominator"):
            given = np.atleast_1d(
                np.asarray(settled(getattr(self, name), "it is a coefficient of a transfer function"))
            )
            if given.ndim != 1 or not len(given):
                raise ModelError(self.owner.field(name).fault(getattr(self, name), "expected a list of numbers"))
            object.__setattr__(self, name, as_array(self.owner.field(name), given, given.shape))
        if np.asarray(self.denominator)[0] == 0.0:
            raise ModelError(self.owner.field("denominator").fault(self.denominator, "must not begin with 0"))
        if len(np.asarray(self.numerator)) > len(np.asarray(self.denominator)):
            expected = "expected no more coefficients than the denominator has: it cannot look ahead"
            raise ModelError(self.owner.field("numerator").fault(self.numerator, expected))
        for name, choices in (("variable", ("s", "z")), ("method", (TUSTIN, ZOH))):
            if getattr(self, name) not in choices:
                raise ModelError(self.owner.field(name).fault(getattr(self, name), f"expected {' or '.join(choices)}"))

    @property
    def size(self) -> int:
        return len(np.asarray(self.denominator)) - 1

    def data(self, period: float) -> list[float]:
        matrices = self._companion()
        if self.variable == "s" and self.size:
            made = _tustin if self.method == TUSTIN else _held
            matrices = made(*matrices, settled(period, "a transfer function is made discrete with it"))
        return [float(x) for each in matrices for x in each.ravel()]

    def _companion(self) -> tuple[Array, Array, Array, Array]:
        """Return A, B, C, D in controllable canonical form."""
        n, last = self.size, np.asarray(self.denominator, dtype=np.float64)
        a = last / last[0]
        b = (
            np.concatenate([np.zeros(n + 1 - np.size(np.asarray(self.numerator))), np.asarray(self.numerator)])
            / last[0]
        )
        A = np.eye(n, k=-1)
        A[:1] = -a[1:]
        return A, np.eye(n, 1), (b[1:] - b[0] * a[1:])[np.newaxis], b[:1, np.newaxis]

    def memory(self) -> list[float]:
        return [0.0] * (2 * self.size)


def _tustin(A: Array, B: Array, C: Array, D: Array, T: float) -> tuple[Array, Array, Array, Array]:
    """Return the matrices of s = 2/T (z − 1)/(z + 1), with x + ½ T (A x + B u) in the place of x, which it steps."""
    inverse = np.linalg.inv(np.eye(len(A)) - 0.5 * T * A)
    Ad, Bd = inverse @ (np.eye(len(A)) + 0.5 * T * A), T * inverse @ B
    return Ad, Bd, C @ inverse, D + 0.5 * C @ Bd


def _held(A: Array, B: Array, C: Array, D: Array, T: float) -> tuple[Array, Array, Array, Array]:
    """Return the matrices that are exact for inputs that are held."""
    from scipy.linalg import expm

    n = len(A)
    both = expm(T * np.block([[A, B], [np.zeros((1, n + 1))]]))
    return both[:n, :n], both[:n, n:], C, D


@dataclass(frozen=True, eq=False, kw_only=True)
class PID(ControlBlock):
    """A PID controller: filtered derivative, weights of the setpoint, and an integral that does not wind up."""

    setpoint: str = field(metadata=about("name", "the signal to be followed"))
    measured: str = field(metadata=about("name", "the signal that follows it"))
    kp: float = field(metadata=about("any", "proportional gain"))
    ki: float = field(default=0.0, metadata=about("any", "integral gain, per second"))
    kd: float = field(default=0.0, metadata=about("any", "derivative gain, times seconds"))
    filter: float = field(default=0.0, metadata=about("time", "time constant of the filter of the derivative"))
    setpoint_weight: float = field(default=1.0, metadata=about("number", "of the setpoint in the proportional part"))
    derivative_weight: float = field(default=0.0, metadata=about("number", "of the setpoint in the derivative"))
    low: float = field(default=-np.inf, metadata=about("any", "the smallest output"))
    high: float = field(default=np.inf, metadata=about("any", "the largest output"))
    tracking: float | None = field(
        default=None,
        metadata=about("time", "in which the integral follows an output that is limited; kp/ki if not given, 0: never"),
    )
    kind: ClassVar[int] = at.PID
    signals: ClassVar[tuple[str, ...]] = ("setpoint", "measured")

    def check(self) -> None:
        self._finite("kp", "ki", "kd", "setpoint_weight", "derivative_weight")
        as_bounded(self.owner.field("filter"), self.filter)
        if self.tracking is not None:
            as_bounded(self.owner.field("tracking"), self.tracking)
        self._limits()

    def data(self, period: float) -> list[float]:
        tracking = self.tracking
        if tracking is None:
            # of a gain that may be set it is not asked whether it is zero
            has_integral = is_recorded_number(self.ki) or self.ki != 0.0
            tracking = abs(self.kp / self.ki) if has_integral else 0.0
        weights = [self.setpoint_weight, self.derivative_weight]
        return [self.kp, self.ki, self.kd, self.filter, *weights, self.low, self.high, tracking]

    def memory(self) -> list[float]:
        return [0.0] * 4


ALL_BLOCKS = classes_of(__name__, ControlBlock)


@dataclass(frozen=True, eq=False, kw_only=True)
class Controller(Sealed):
    """Blocks that run once per period, in their order, wired by names to what is measured and to what they drive.

    `measure` gives names of its own to columns of results, `inputs` are what it takes from outside, such as setpoints:
    each is an input of the model, "servo.target", in results, experiments and FMUs; its kind says in which unit it is.
    `outputs` say which signal drives an input of the model; `initial` what that is until the first result is in force.

    With `fmu` = {"file": …, "kind": …, "parameters": {…}} an FMU computes in place of blocks, in `simulate`: `measure`
    and `inputs` have the names of its inputs, and `outputs` name its outputs (fmu_export/sampled_fmu.py).
    """

    name: str
    period: float = field(metadata=about("time", "from one sample to the next"))
    measure: Mapping[str, str] = field(default_factory=dict, metadata=about("names by name", "columns of results"))
    inputs: Mapping[str, str] = field(default_factory=dict, metadata=about("names by name", "kinds of its inputs"))
    blocks: Mapping[str, ControlBlock] = field(default_factory=dict, metadata=about("blocks", "its blocks, in order"))
    outputs: Mapping[str, str | Sequence[str]] = field(
        default_factory=dict, metadata=about("signals by name", "by input of the model: the signal that drives it")
    )
    delay: float = field(default=0.0, metadata=about("time", "from a sample to its output"))
    offset: float = field(default=0.0, metadata=about("time", "when sample 0 is"))
    initial: Mapping[str, Any] = field(
        default_factory=dict, metadata=about("numbers by name", "outputs before the first result; zero if not given")
    )
    fmu: Mapping[str, Any] | None = field(
        default=None, metadata=about("an FMU", "what computes in place of blocks: its file, kind and parameters")
    )

    def __post_init__(self) -> None:
        for key in ("measure", "inputs", "blocks", "outputs", "initial", "fmu"):
            given = getattr(self, key)
            if key == "fmu" and given is None:
                continue
            if not isinstance(given, Mapping):
                raise ModelError(self.owner.field(key).fault(given, "expected a mapping of names"))
            object.__setattr__(self, key, MappingProxyType(dict(given)))
        _check_times(self)
        faults = [*self._faults()]
        if faults:
            raise ModelError(faults)

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner("controller", self.name)

    def _faults(self) -> Iterator[Fault]:
        own = self.owner.field
        for name, kind in self.inputs.items():
            if kind not in INPUT_KINDS:
                near = suggest(str(kind), INPUT_KINDS)
                yield own("inputs", name).fault(kind, f"expected {', '.join(INPUT_KINDS)}", near)
        for name in (*self.inputs, *self.blocks):
            if name in self.measure or (name in self.inputs and name in self.blocks):
                finding = "is there twice: give each a name of its own"
                yield own(words=f"the signal '{name}'").fault(finding=finding)
        if self.fmu is not None:
            yield from self._wrong_fmu(self.fmu)
            return
        known = {*self.measure, *self.inputs}
        blocks: Mapping[str, Any] = self.blocks
        every = {*known, *(name for each in blocks.items() for name in signals_of(*each))}
        for name, block in blocks.items():
            if not isinstance(block, ControlBlock):
                yield own("blocks", name).fault(block, "expected a block, as liegeo.model.PID")
                continue
            yield from self._wrong_signals(name, block, every if block.is_late else known, every)
            known.update(signals_of(name, block))
        for name, wired in self.outputs.items():
            for signal in _check_names(self, "outputs", wired):
                if signal not in every and "." not in signal:
                    yield own("outputs", name).fault(signal, "which is no signal", suggest(signal, sorted(every)))
        for name in self.initial:
            if name not in self.outputs:
                near = suggest(name, list(self.outputs))
                yield own("initial", name).fault(name, "which is none of its outputs", near)

    def _wrong_fmu(self, fmu: Mapping[str, Any]) -> Iterator[Fault]:
        own = self.owner.field
        if self.blocks:
            yield own("blocks").fault(finding="stand beside an FMU", expected="expected one or the other")
        for key in fmu:
            if key not in ("file", "kind", "parameters"):
                yield own("fmu", key).fault(finding="is no key of an FMU", expected="expected file, kind, parameters")
        if not isinstance(fmu.get("file"), str):
            yield own("fmu", "file").fault(fmu.get("file"), "expected the path of an FMU")
        for name, wired in self.outputs.items():
            if not isinstance(wired, str):
                yield own("outputs", name).fault(wired, "expected the name of one output of the FMU")

    def _wrong_signals(self, name: str, block: ControlBlock, allowed: set[str], every: set[str]) -> Iterator[Fault]:
        """Yield what is wrong with the inputs of a block, which may take those that are allowed."""
        for key, signal in block.wires():
            if signal in allowed or ("." in signal and signal not in every):
                continue
            below, advice = "which is no signal", suggest(signal, sorted(every))
            if signal in every:
                below = "which stands below it"
                advice = "Put it above, or take what it was at the sample before by a block of the kind 'previous'."
            yield self.owner.field("blocks", name, key).fault(signal, "", advice, finding=f"takes '{signal}', {below}")


def signals_of(name: str, block: ControlBlock) -> tuple[str, ...]:
    """Return the names of the outputs of a block: its own, or, of several, counted ones."""
    if not isinstance(block, ControlBlock) or block.n_outputs == 1:
        return (name,)
    return tuple(f"{name}[{k}]" for k in range(block.n_outputs))


def sampled_in(inputs: Any) -> tuple[Any, list[Sampled]]:
    """Return what is given as inputs without the sampled controllers in it, and these, each with its output."""
    if not isinstance(inputs, Mapping) or not any(isinstance(value, Sampled) for value in inputs.values()):
        return inputs, []
    found = []
    for name, value in inputs.items():
        if not isinstance(value, Sampled):
            continue
        if value.outputs not in ((), (name,)):
            raise InputError(
                f"inputs['{name}'] is a sampled controller with the outputs {list(value.outputs)}.\n"
                "  Leave its outputs out, or give it in controllers=[…]."
            )
        found.append(_with_output(value, name))
    return {name: value for name, value in inputs.items() if not isinstance(value, Sampled)}, found


def _with_output(sampled: Sampled, name: str) -> Sampled:
    return replace(sampled, outputs=(name,), name=sampled.name or name)
