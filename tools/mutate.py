"""Change the numerical code in one place at random, and report which tests notice the change.

    python tools/mutate.py choose mutants.json --seed 26 --count kernels=45 --count integrate=35
    NUMBA_DISABLE_JIT=1 python tools/mutate.py map plain.json tests/lie tests/dynamics tests/integrate tests/loops
    NUMBA_DISABLE_JIT=1 python tools/mutate.py judge mutants.json --map plain.json
    python tools/mutate.py judge mutants.json tests/dynamics tests/loops
    python tools/mutate.py show mutants.json

`choose` writes the list of mutants before any test runs; a seed gives the same list as long as the sources are the
same.  First a kind of change is drawn (see KINDS), then a place in the sources of the part (see PARTS), each with equal
chance.

`map` runs tests with a time limit for each, and writes which functions of liegeo each test calls, and how long it took.
As plain Python (NUMBA_DISABLE_JIT=1) it sees the calls inside kernels too, and nothing has to be compiled.

`judge` changes a copy of the repository, and runs tests until one fails: with `--map` those that call the changed
function, the quickest first; otherwise the given files and folders.  Mutants that a test has already noticed are left
out, and the file is written after each mutant, so that a run can be interrupted and repeated with further tests.
A plain-Python run notices some things that compiled kernels do not (an index out of range, a division by zero): such a
mutant is noted as "plain only", and judged again by the next run with compiled kernels.

Each run begins with imports and forks for each mutant, which saves seconds per mutant (and needs Linux or macOS).
Compiled mutants go to a cache of kernels of their own, which is deleted with the copy of the repository, unless
LIEGEO_CACHE_DIR names one.
A mutant that survives means that a test is missing, or that the change has no effect: note which, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"

INTEGRATORS = ("adaptive", "conserving", "constrained", "explicit", "iteration", "magnus", "stiff", "symmetric")
# By part: the files that are changed.
PARTS: dict[str, tuple[str, ...]] = {
    "kernels": ("liegeo/kernels/*.py",),
    "integrate": tuple(f"liegeo/integrate/{name}.py" for name in (*INTEGRATORS, "variational")),
    "lie": ("liegeo/lie/*.py",),
    "response": tuple(f"liegeo/analysis/{name}.py" for name in ("excitation", "frequency", "spectra", "reduction")),
    "flex": tuple(f"liegeo/flex/{name}.py" for name in ("beams", "fe", "inertia", "modes", "sections", "solid")),
}

# What only plain Python notices, or notices for another reason than a wrong result.
PLAIN_ONLY = ("IndexError", "ZeroDivisionError", "OverflowError", "UnboundLocalError")

# Imported before the first fork.
HEAVY = (
    "numpy",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.spatial",
    "scipy.integrate",
    "numba",
    "mpmath",
    "lxml.etree",
    "pydantic",
)


# ---- changes -------------------------------------------------------------------------------------------------------


def _with(node: ast.AST, **fields: Any) -> str:
    """Return the source of a node with other fields."""
    text = ast.unparse(type(node)(**{**dict(ast.iter_fields(node)), **fields}))  # type: ignore[arg-type]
    return text if isinstance(node, ast.stmt) else f"({text})"


def _flipped_sign(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.BinOp(op=ast.Add()) | ast.AugAssign(op=ast.Add()):
            yield _with(node, op=ast.Sub())
        case ast.BinOp(op=ast.Sub()) | ast.AugAssign(op=ast.Sub()):
            yield _with(node, op=ast.Add())
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield f"({ast.unparse(operand)})"


def _dropped_term(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right):
            yield f"({ast.unparse(left)})"
            yield f"({ast.unparse(right)})"
        case ast.BinOp(op=ast.Mult() | ast.Div(), left=left):
            yield f"({ast.unparse(left)})"
        case ast.AugAssign(target=target, value=value):
            yield f"{ast.unparse(target)} = {ast.unparse(value)}"


def _swapped_indices(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=[first, second, *others])):
            if ast.dump(first) != ast.dump(second):
                yield _with(node, slice=ast.Tuple(elts=[second, first, *others], ctx=ast.Load()))[1:-1]
        case ast.Subscript(slice=ast.Constant(value=int(value))):
            yield _with(node, slice=ast.Constant(value=value + 1 if value < 2 else value - 1))[1:-1]


def _other_range(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[stop]):
            yield f"range({ast.unparse(stop)} - 1)"
            yield f"range(1, {ast.unparse(stop)})"
        case ast.Call(func=ast.Name(id="range"), args=[start, stop]):
            yield f"range({ast.unparse(start)}, {ast.unparse(stop)} - 1)"
            yield f"range({ast.unparse(start)} + 1, {ast.unparse(stop)})"


def _other_constant(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=bool(value)):
            yield repr(not value)
        case ast.Constant(value=float(value)):
            yield repr(1.5 * value if value else 1.0)
        case ast.Constant(value=int(value)):
            yield repr(value + 1)


def _other_comparison(node: ast.AST) -> Iterator[str]:
    others: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
        ast.Lt: (ast.Gt, ast.LtE),
        ast.Gt: (ast.Lt, ast.GtE),
        ast.LtE: (ast.Gt, ast.Lt),
        ast.GtE: (ast.Lt, ast.Gt),
        ast.Eq: (ast.NotEq,),
        ast.NotEq: (ast.Eq,),
    }
    match node:
        case ast.Compare(ops=[op]):
            for other in others.get(type(op), ()):
                yield _with(node, ops=[other()])
        case ast.BoolOp(op=op):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"({ast.unparse(operand)})"


def _removed_statement(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Assign(targets=[ast.Subscript()]):
            yield "pass"


#: Kinds of change: for a node of the syntax tree, the texts that may stand in its place.
KINDS: dict[str, Callable[[ast.AST], Iterator[str]]] = {
    "sign": _flipped_sign,
    "term": _dropped_term,
    "index": _swapped_indices,
    "range": _other_range,
    "constant": _other_constant,
    "comparison": _other_comparison,
    "statement": _removed_statement,
}


@dataclass
class Mutant:
    number: int
    part: str
    kind: str
    file: str
    function: str
    line: int
    first: int
    last: int
    before: str
    after: str
    verdict: str = "not judged"
    rounds: list[str] = field(default_factory=list)
    reason: str = ""

    @property
    def open(self) -> bool:
        return not self.verdict.startswith(("FAILED", "ERROR", "did not end"))

    def __str__(self) -> str:
        return f"{self.number:3d} {self.file}:{self.line} ({self.kind}): {self.before}  ->  {self.after}"


def places(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield what stands inside functions, with the qualified name of the function.

    Messages and annotations are left out, because they are no numerical code, and so are decorators.
    """

    def inside(node: ast.AST, name: str, function: str) -> Iterator[tuple[str, ast.AST]]:
        match node:
            case ast.FunctionDef():
                full = f"{name}{node.name}"
                for child in node.body:
                    yield from inside(child, f"{full}.<locals>.", full)
            case ast.ClassDef():
                for child in node.body:
                    yield from inside(child, f"{name}{node.name}.", "")
            case ast.Raise() | ast.JoinedStr() | ast.Assert():
                return
            case ast.AnnAssign():
                if node.value is not None:
                    yield from inside(node.value, name, function)
            case _:
                if function:
                    yield function, node
                for child in ast.iter_child_nodes(node):
                    yield from inside(child, name, function)

    yield from inside(tree, "", "")


def span(source: str, node: Any) -> tuple[int, int]:
    """Return where a node begins and ends in the bytes of its source."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset


def choose(part: str, count: int, generator: random.Random, number: int) -> list[Mutant]:
    """Return so many different mutants of a part, numbered from `number`."""
    found: dict[str, list[Mutant]] = {kind: [] for kind in KINDS}
    for pattern in PARTS[part]:
        for path in sorted(ROOT.glob(pattern)):
            source = path.read_text(encoding="utf-8")
            for function, node in places(ast.parse(source)):
                for kind, change in KINDS.items():
                    for after in change(node):
                        first, last = span(source, node)
                        before = source.encode()[first:last].decode()
                        file = path.relative_to(ROOT).as_posix()
                        line = node.lineno  # type: ignore[attr-defined]
                        found[kind].append(Mutant(0, part, kind, file, function, line, first, last, before, after))
    chosen: list[Mutant] = []
    while len(chosen) < count:
        mutant = generator.choice(found[generator.choice([*KINDS])])
        if mutant not in chosen:
            chosen.append(mutant)
    for k, mutant in enumerate(chosen):
        mutant.number = number + k
    return chosen


# ---- tests ---------------------------------------------------------------------------------------------------------


class Watch:
    """A plugin of pytest: runs chosen tests in a given order, with a limit of processor time, and notes what happens.

    `limits` are seconds by the name of a test; without them all tests run, each for at most `limit` seconds.
    """

    def __init__(self, limit: float, limits: dict[str, float] | None = None, trace: bool = False) -> None:
        self.limit, self.limits, self.trace = limit, limits, trace
        self.seen: set[Any] = set()
        self.by_file: dict[str, set[str]] = {}
        self.calls: dict[str, dict[str, Any]] = {}
        self.failure = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.limits is not None:
            rank = {name: k for k, name in enumerate(self.limits)}
            items[:] = sorted((item for item in items if item.nodeid in rank), key=lambda item: rank[item.nodeid])

    def _note(self, frame: Any, event: str, argument: Any) -> None:
        self.seen.add(frame.f_code)

    @contextlib.contextmanager
    def _watched(self, seconds: float) -> Iterator[None]:
        def stop(*_: Any) -> None:
            sys.settrace(None)
            pytest.fail(f"did not end in {seconds:.1f} s")

        signal.signal(signal.SIGPROF, stop)
        # again and again, for the first may be caught
        signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
        if self.trace:
            sys.settrace(self._note)
        try:
            yield
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_PROF, 0.0)

    def _taken(self) -> set[str]:
        """Return the functions of liegeo that were called since the last question."""
        package = str(Path.cwd() / "liegeo") + os.sep
        names = {
            f"{Path(code.co_filename).relative_to(Path.cwd()).as_posix()}:{code.co_qualname}"
            for code in self.seen
            if code.co_filename.startswith(package)
        }
        self.seen.clear()
        return names

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Iterator[None]:
        if self.trace:
            sys.settrace(self._note)
        yield
        sys.settrace(None)
        self.by_file.setdefault(str(collector.path), set()).update(self._taken())

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        # what a fixture calls may serve other tests of the file as well
        with self._watched(10.0 * self.limit):
            yield
        self.by_file.setdefault(str(item.path), set()).update(self._taken())

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        start = time.process_time()
        with self._watched(self.limits[item.nodeid] if self.limits else self.limit):
            yield
        functions = self._taken() | self.by_file.get(str(item.path), set())
        self.calls[item.nodeid] = {"seconds": round(time.process_time() - start, 4), "functions": sorted(functions)}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self.calls.pop(report.nodeid, None)
        if report.outcome == "failed" and not self.failure:
            text = str(getattr(report.longrepr, "reprcrash", None) or report.longrepr)
            self.failure = f"FAILED {report.nodeid}: {' '.join(text.split()[:30])[:240]}"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failure:
            self.failure = f"ERROR {report.nodeid}: {' '.join(str(report.longrepr).split()[-30:])[-240:]}"


def run_tests(watch: Watch, arguments: list[str], stop_at_first: bool, seconds: float, answer: Path) -> None:
    """Run tests in a child of this process, which writes what `watch` noted to the file `answer`."""
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        # whatever happens, the child must not return: it would clean up what belongs to its parent
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            sys.path.insert(0, str(Path.cwd()))
            os.environ["PYTHONPATH"] = str(Path.cwd())
            options = ["-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--tb=short"]
            if PLAIN:
                # NumPy warns of what compiled kernels compute in silence
                options += ["-W", "ignore::RuntimeWarning"]
            code = pytest.main([*options, *(["-x"] if stop_at_first else []), *arguments], plugins=[watch])
            if code not in (0, 1, 5) and not watch.failure:
                watch.failure = f"ERROR pytest ended with {code!r}"
            answer.write_text(json.dumps([watch.failure, watch.calls]), encoding="utf-8")
        except BaseException:
            answer.write_text(json.dumps([f"ERROR {traceback.format_exc()[-400:]}", {}]), encoding="utf-8")
        finally:
            os._exit(0)
    end = time.monotonic() + seconds
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            answer.write_text(json.dumps(["did not end", {}]), encoding="utf-8")
            return
        time.sleep(0.05)
    if not answer.exists():
        answer.write_text(json.dumps(["ERROR the process died", {}]), encoding="utf-8")


def rounds(mutant: Mutant, calls: dict[str, Any], stage_seconds: float) -> Iterator[dict[str, float]]:
    """Yield time limits of the tests that call the changed function: a few quick ones first, then the others."""
    name = f"{mutant.file}:{mutant.function}"
    called = {test: noted["seconds"] for test, noted in calls.items() if name in noted["functions"]}
    order = sorted(called, key=lambda test: called[test])
    first, total = 0, 0.0
    while first < min(len(order), 40) and total < stage_seconds:
        total += called[order[first]]
        first += 1
    for tests in (order[:first], order[first:]):
        if tests:
            yield {test: 10.0 + 5.0 * called[test] for test in tests}


def judge(mutant: Mutant, copy: Path, calls: dict[str, Any] | None, arguments: list[str], seconds: float) -> None:
    """Run tests on a mutant in a copy of the repository, and note what they found."""
    path, answer = copy / mutant.file, copy / "answer.json"
    original = path.read_bytes()
    start, verdict, tests = time.monotonic(), "survived", 0
    try:
        path.write_bytes(original[: mutant.first] + mutant.after.encode() + original[mutant.last :])
        _forget(path)
        stages = [None] if calls is None else rounds(mutant, calls, 4.0)
        for limits in stages:
            files = arguments if limits is None else sorted({test.split("::")[0] for test in limits})
            watch = Watch(seconds, limits)
            run_tests(watch, files, True, seconds, answer)
            failure, passed = json.loads(answer.read_text(encoding="utf-8"))
            tests += len(passed)
            if failure:
                verdict = failure
                break
    finally:
        path.write_bytes(original)
        _forget(path)
    if PLAIN and any(f"{name}:" in verdict for name in PLAIN_ONLY):
        verdict = f"plain only: {verdict}"
    mutant.verdict = verdict
    mode = "plain" if PLAIN else "compiled"
    mutant.rounds.append(f"{mode}, {tests} tests passed, {time.monotonic() - start:.0f} s: {verdict}")


def _forget(path: Path) -> None:
    """Delete the byte code of a source file: another text of the same length and second looks the same to Python."""
    for old in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        old.unlink()


@contextlib.contextmanager
def a_copy() -> Iterator[Path]:
    """Go to a copy of the repository, with a cache of kernels of its own, for as long as this lasts."""
    with tempfile.TemporaryDirectory(prefix="liegeo-mutants-") as folder:
        copy = Path(folder) / "liegeo"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv*", "__pycache__", "*.fmu"))
        os.environ.setdefault("LIEGEO_CACHE_DIR", str(Path(folder) / "cache"))
        os.chdir(copy)
        for name in HEAVY:
            importlib.import_module(name)
        try:
            yield copy
        finally:
            os.chdir(ROOT)


# ---- commands ------------------------------------------------------------------------------------------------------


def read(record: Path) -> list[Mutant]:
    return [Mutant(**fields) for fields in json.loads(record.read_text(encoding="utf-8"))]


def write(record: Path, mutants: list[Mutant]) -> None:
    text = json.dumps([asdict(mutant) for mutant in mutants], indent=1, ensure_ascii=False)
    record.write_text(text + "\n", encoding="utf-8")


def command_choose(options: argparse.Namespace) -> None:
    generator = random.Random(options.seed)
    mutants: list[Mutant] = []
    for text in options.count or [f"{part}=25" for part in PARTS]:
        part, _, count = text.partition("=")
        mutants += choose(part, int(count), generator, len(mutants))
    write(options.record, mutants)


def command_map(options: argparse.Namespace) -> None:
    record = options.record.absolute()
    calls: dict[str, Any] = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    with a_copy() as copy:
        files = []
        for argument in options.tests:
            files += sorted(copy.glob(f"{argument}/test_*.py")) if (copy / argument).is_dir() else [copy / argument]
        for file in files:
            answer = copy / "answer.json"
            run_tests(Watch(options.limit, trace=True), [str(file)], False, options.seconds, answer)
            failure, found = json.loads(answer.read_text(encoding="utf-8"))
            calls |= found
            print(f"{file.relative_to(copy)}: {len(found)} tests; {failure}", flush=True)
            record.write_text(json.dumps(calls), encoding="utf-8")


def command_judge(options: argparse.Namespace) -> None:
    record = options.record.absolute()
    mutants = read(record)
    calls = None if options.map is None else json.loads(options.map.read_text(encoding="utf-8"))
    wanted = [
        mutant
        for mutant in mutants
        if mutant.open
        and (not options.part or mutant.part in options.part)
        and (not options.number or mutant.number in options.number)
        and (options.again or not (calls is not None and mutant.rounds))
    ]
    with a_copy() as copy:
        for mutant in wanted:
            judge(mutant, copy, calls, options.tests, options.seconds)
            write(record, mutants)
            print(f"{mutant}\n    {mutant.rounds[-1]}", flush=True)


def command_show(options: argparse.Namespace) -> None:
    mutants = read(options.record)
    for mutant in mutants:
        if options.all or mutant.open:
            print(f"{mutant}\n    {mutant.verdict}  {mutant.reason}")
    for part, count in Counter(mutant.part for mutant in mutants).items():
        left = sum(mutant.open for mutant in mutants if mutant.part == part)
        print(f"{part}: {count} mutants, {count - left} noticed, {left} not")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)

    def command(name: str, function: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        sub = commands.add_parser(name)
        sub.set_defaults(function=function)
        sub.add_argument("record", type=Path, help="a JSON file")
        return sub

    sub = command("choose", command_choose)
    sub.add_argument("--seed", type=int, default=0)
    sub.add_argument("--count", action="append", metavar="PART=N", help=f"one of {', '.join(PARTS)}, and how many")
    sub = command("map", command_map)
    sub.add_argument("tests", nargs="+", help="files and folders of tests")
    sub.add_argument("--limit", type=float, default=3.0, help="seconds for one test")
    sub.add_argument("--seconds", type=float, default=600.0, help="seconds for one file")
    sub = command("judge", command_judge)
    sub.add_argument("tests", nargs="*", help="arguments of pytest; not with --map")
    sub.add_argument("--map", type=Path)
    sub.add_argument("--part", action="append", choices=[*PARTS])
    sub.add_argument("--number", action="append", type=int, help="these mutants only")
    sub.add_argument("--again", action="store_true", help="with --map: also those that were judged before")
    sub.add_argument("--seconds", type=float, default=600.0, help="time limit for one round of tests")
    sub = command("show", command_show)
    sub.add_argument("--all", action="store_true", help="also those that a test noticed")
    options = parser.parse_args()
    options.function(options)


if __name__ == "__main__":
    main()
