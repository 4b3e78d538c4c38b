"""Change single operators and numbers of the numerical code at random, and list the changes that no test notices.

    python tools/mutate.py --count 100 --seed 1 --report mutants.json

Each mutant is a copy of the repository in which one expression differs: + becomes −, × becomes +, a number grows by a
half, a minus sign is dropped, a comparison is turned around.  The tests of its part run until one fails.  Kernels are
tried as plain Python first, which needs no compiler; what survives is tried once more with compiled kernels.  A mutant
that survives both is printed with its line: either a test is missing, or the change has no effect (say so, and go on).
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

# By part: the files that are changed, then the rounds of tests, each with (plain Python?, arguments for pytest).
PARTS: dict[str, tuple[tuple[str, ...], tuple[tuple[bool, tuple[str, ...]], ...]]] = {
    "kernels": (
        ("liegeo/kernels/*.py",),
        (
            (True, ("-m", "kernels", "tests/dynamics")),
            (False, ("tests/dynamics", "tests/loops", "tests/simulate", "tests/integrate")),
        ),
    ),
    "reductions": (
        ("liegeo/flex/modes.py", "liegeo/flex/fe.py", "liegeo/flex/beams.py", "liegeo/flex/sections.py"),
        ((False, ("tests/flex",)),),
    ),
    "integrals": (("liegeo/flex/inertia.py", "liegeo/flex/solid.py"), ((False, ("tests/flex",)),)),
}

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
}
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.Gt, ast.GtE: ast.Lt}


@dataclass
class Mutant:
    part: str
    file: str
    line: int
    before: str
    after: str
    verdict: str = ""


def can_change(node: ast.AST) -> bool:
    """Return whether `changed` knows another form of this expression."""
    match node:
        case ast.BinOp() | ast.AugAssign():
            return type(node.op) in OPERATORS
        case ast.UnaryOp():
            return isinstance(node.op, ast.USub)
        case ast.Constant():
            return isinstance(node.value, float) and node.value != 0.0
        case ast.Compare():
            return type(node.ops[0]) in COMPARISONS
    return False


def places(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the expressions inside functions that can be changed."""
    for function in tree.body:
        if isinstance(function, ast.FunctionDef | ast.ClassDef):
            yield from (node for node in ast.walk(function) if can_change(node))


def changed(node: ast.AST) -> str:
    """Return the source of the expression or statement with its one change."""
    if isinstance(node, ast.BinOp | ast.AugAssign):
        node.op = OPERATORS[type(node.op)]()
    elif isinstance(node, ast.UnaryOp):
        return f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Constant):
        return repr(1.5 * node.value)
    elif isinstance(node, ast.Compare):
        node.ops[0] = COMPARISONS[type(node.ops[0])]()
    text = ast.unparse(node)
    return text if isinstance(node, ast.AugAssign) else f"({text})"


def choose(part: str, generator: random.Random) -> tuple[Mutant, str]:
    """Return a random mutant of a part and the whole text of its file; each expression has the same chance."""
    candidates = []
    for pattern in PARTS[part][0]:
        for path in sorted(ROOT.glob(pattern)):
            source = path.read_text(encoding="utf-8")
            candidates += [(path, source, node) for node in places(ast.parse(source))]
    path, source, node = generator.choice(candidates)
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    text = source.encode()
    first = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
    last = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
    before, after = text[first:last].decode(), changed(node)
    mutant = Mutant(part, str(path.relative_to(ROOT)), node.lineno, before, after)  # type: ignore[attr-defined]
    return mutant, (text[:first] + after.encode() + text[last:]).decode()


def judge(mutant: Mutant, text: str, seconds: float) -> str:
    """Run the tests of the mutant's part on it; return what noticed it, or 'survived'."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "liegeo-mutant"
        skipped = shutil.ignore_patterns(".git", ".venv*", "__pycache__", "*.fmu")
        shutil.copytree(ROOT, copy, ignore=skipped)
        (copy / mutant.file).write_text(text, encoding="utf-8")
        for plain, arguments in PARTS[mutant.part][1]:
            environment = {**os.environ, "PYTHONPATH": str(copy), "NUMBA_DISABLE_JIT": "1" if plain else "0"}
            call = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *arguments]
            try:
                done = subprocess.run(
                    call, cwd=copy, env=environment, capture_output=True, encoding="utf-8", timeout=seconds, check=False
                )
            except subprocess.TimeoutExpired:
                return "did not end"
            if done.returncode:
                failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
                return failed[0][:200] if failed else f"exit {done.returncode}: {done.stdout[-200:]}"
    return "survived"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", choices=[*PARTS], help="one part only; otherwise all in turn")
    parser.add_argument("--seconds", type=float, default=900.0, help="time limit of one round of tests")
    parser.add_argument("--report", type=Path, help="a JSON file with all mutants, written after each")
    options = parser.parse_args()
    generator = random.Random(options.seed)
    parts = [options.part] if options.part else [*PARTS]
    mutants: list[Mutant] = []
    for k in range(options.count):
        mutant, text = choose(parts[k % len(parts)], generator)
        mutant.verdict = judge(mutant, text, options.seconds)
        mutants.append(mutant)
        print(f"{mutant.file}:{mutant.line}: {mutant.before}  ->  {mutant.after}\n    {mutant.verdict}", flush=True)
        if options.report is not None:
            whole = json.dumps([asdict(m) for m in mutants], indent=1, ensure_ascii=False)
            options.report.write_text(whole, encoding="utf-8")
    survivors = [m for m in mutants if m.verdict == "survived"]
    print(f"{len(survivors)} of {len(mutants)} mutants survived")
    raise SystemExit(1 if survivors else 0)


if __name__ == "__main__":
    main()
