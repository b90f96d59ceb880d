"""The architecture holds: one direction, and protocols that see nothing but the vocabulary."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "trellis"

# From left to right; a module imports only what stands to its left, or its own room.
ORDER = [
    "vocabulary",
    "protocols",
    "scenario",
    "trace",
    "sim",
    "live",
    "audit",
    "metrics",
    "swarm",
    "pipeline",
    "experiments",
    "report",
    "cli",
]
VOCABULARY = {"words", "events", "effects", "machine", "draw", "errors"}
PROTOCOLS_MAY_USE = {"__future__", "abc", "bisect", "collections", "functools", "heapq", "typing", "msgspec", "trellis"}
SIM_MUST_NOT_USE = {"random", "datetime", "socket", "logging", "asyncio", "threading", "uuid", "secrets", "pyspark"}

MODULES = sorted(path for path in SRC.rglob("*.py"))


def imports(path: Path) -> list[str]:
    """Every imported module's full name, also inside functions."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found += [node.module or ""]
            if node.module == "trellis":
                found += [f"trellis.{alias.name}" for alias in node.names]
    return found


def room(name: str) -> str | None:
    """Where a module of ours stands; None for the package itself."""
    parts = name.split(".")
    if parts[0] != "trellis" or len(parts) == 1 or parts[1] == "__version__":
        return None
    if parts[1] == "__main__":
        return "cli"
    return "vocabulary" if parts[1] in VOCABULARY else parts[1]


def module_name(path: Path) -> str:
    return ".".join(["trellis", *path.relative_to(SRC).with_suffix("").parts]).removesuffix(".__init__")


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_a_module_imports_only_what_stands_to_its_left(path: Path) -> None:
    here = room(module_name(path))
    if here is None:
        return
    for name in imports(path):
        there = room(name)
        if there is not None:
            assert ORDER.index(there) <= ORDER.index(here), f"{module_name(path)} imports {name}"


def test_every_room_is_on_the_line() -> None:
    rooms = {path.name for path in SRC.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms | {"vocabulary"} == set(ORDER)


@pytest.mark.parametrize("path", sorted((SRC / "protocols").rglob("*.py")), ids=module_name)
def test_protocols_see_no_clock_no_randomness_no_socket_no_log(path: Path) -> None:
    for name in imports(path):
        assert name.split(".")[0] in PROTOCOLS_MAY_USE, f"{module_name(path)} imports {name}"
        assert room(name) in (None, "vocabulary", "protocols"), f"{module_name(path)} imports {name}"
    called = {node.func.id for node in ast.walk(ast.parse(path.read_text())) if is_plain_call(node)}
    assert not called & {"hash", "id", "print", "open", "eval", "exec", "input"}


def is_plain_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


@pytest.mark.parametrize("path", sorted((SRC / "sim").rglob("*.py")), ids=module_name)
def test_the_simulator_draws_only_by_purpose(path: Path) -> None:
    assert not {name.split(".")[0] for name in imports(path)} & SIM_MUST_NOT_USE
    if path.name != "__init__.py":
        assert "time" not in imports(path), "only the run as a whole is timed"


def test_help_does_not_pay_for_the_heavy_libraries() -> None:
    """`trellis --help` loads no pyarrow: the command modules import it where they use it."""
    for path in (SRC / "cli").glob("*.py"):
        top = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)]
        names = [alias.name for node in top if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in top if isinstance(node, ast.ImportFrom)]
        assert not [
            n for n in names if n.startswith(("pyarrow", "numpy", "trellis.sim", "trellis.audit", "trellis.trace"))
        ]


def test_a_test_of_the_rule_can_fail(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("import time\nfrom trellis.sim import run\n")
    assert imports(bad) == ["time", "trellis.sim"]
    assert room("trellis.sim") == "sim"
