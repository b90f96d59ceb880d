"""A grid: many scenarios as one description, a base and what varies.

Promises: a grid is a value, and so is each of its points. The seed of a run comes from its content and its repetition,
          not from its place in the grid: a point has the same luck in any grid that holds it, however it is cut up.
          The stack is left out of that content, so two overlays are compared under the same luck (decision 0007).
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trellis.errors import ScenarioError
from trellis.scenario.explain import shown
from trellis.scenario.load import complete, from_mapping, read
from trellis.scenario.model import Scenario, Section
from trellis.scenario.section import SEED_MAX, Name

POINTS_MAX = 1_000_000


class Grid(Section, frozen=True):
    """A base scenario without a seed; axes, of which every combination is run; variants, each crossed with those."""

    name: Name
    scenario: dict[str, Any]
    axes: dict[str, list[Any]] = {}  # dotted key -> values
    variants: list[dict[str, Any]] = []  # tables of dotted keys that are set together
    repetitions: Annotated[int, Meta(ge=1, le=100_000)] = 1
    seed: Annotated[int, Meta(ge=0, le=SEED_MAX)] = 0  # another one: other luck everywhere
    judge: bool = True  # whether each run is audited too
    trace: bool = True  # whether each run has one; without, large runs take less time and memory

    def fingerprint(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:16]


class Point(msgspec.Struct, frozen=True):
    """One run of a grid."""

    number: int  # in the grid, from 0
    point: int  # the same for all repetitions
    repetition: int
    settings: dict[str, Any]  # what varies: dotted key -> value
    scenario: Scenario
    run: str  # the scenario's fingerprint: its name in all tables


def load_grid(path: Path | str) -> tuple[Grid, list[Point]]:
    """Read a grid file (TOML or JSON) and lay it out; `base = FILE` names a scenario file beside it."""
    path = Path(path)
    try:
        raw = read(path)
        if "base" in raw and "scenario" not in raw:
            base = raw.pop("base")
            if not isinstance(base, str):
                raise ScenarioError(f"base = {shown(base)}: expected the path of a scenario file")
            raw["scenario"] = read_base(path.parent, base)
        grid = grid_from_mapping(raw)
        return grid, points(grid, path.parent)
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from None


def read_base(beside: Path, base: str) -> dict[str, Any]:
    """A scenario file as it stands. A file that it names lies beside it, not beside the grid."""
    try:
        raw = read(beside / base)
    except ScenarioError as error:
        raise ScenarioError(f"base = {str(beside / base)!r}: {error}") from None
    network = raw.get("network")
    if isinstance(network, dict) and isinstance(network.get("file"), str) and network["file"]:
        raw["network"] = {**network, "file": str(Path(base).parent / network["file"])}
    return raw


def grid_from_mapping(raw: Mapping[str, Any]) -> Grid:
    raw = dict(raw)
    for key in ("axes", "variants"):
        tables = raw.get(key)
        if isinstance(tables, dict):
            raw[key] = flat(tables)
        elif isinstance(tables, list):
            raw[key] = [flat(table) if isinstance(table, dict) else table for table in tables]
    if "scenario" not in raw:
        raise ScenarioError("scenario is missing: give [scenario], or base = FILE")
    try:
        grid = msgspec.convert(raw, Grid)
    except msgspec.ValidationError as error:
        raise ScenarioError(
            f"not a grid ({error}); it has name, scenario or base, axes, variants, repetitions"
        ) from None
    if grid.judge and not grid.trace:
        raise ScenarioError("trace = false with judge = true: audits need the trace; add judge = false, or keep traces")
    return msgspec.structs.replace(grid, scenario={k: v for k, v in grid.scenario.items() if k != "seed"})


def flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """`nodes.count = 8`, written so or as tables within tables, as dotted keys. Tables within lists are values."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict) and value:
            found |= flat(value, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = value
    return found


def points(grid: Grid, beside: Path = Path()) -> list[Point]:
    """Every run, in the order of the axes as they are written; the repetitions of a point follow each other."""
    size = math.prod([len(values) for values in grid.axes.values()]) * max(1, len(grid.variants)) * grid.repetitions
    if not 1 <= size <= POINTS_MAX:
        many = size if size < 1 << 64 else "far too many"
        raise ScenarioError(f"the grid has {many} runs; a grid has from 1 to {POINTS_MAX}: change axes or repetitions")
    found: list[Point] = []
    for point, settings in enumerate(combinations(grid)):
        scenario = scenario_at(grid, settings, beside)
        for repetition in range(grid.repetitions):
            seeded = scenario.with_seed(seed_of(scenario, grid.seed, repetition))
            found.append(Point(len(found), point, repetition, settings, seeded, seeded.fingerprint()))
    refuse_twins(found)
    return found


def combinations(grid: Grid) -> Iterator[dict[str, Any]]:
    for variant in grid.variants or [{}]:
        for values in itertools.product(*grid.axes.values()):
            yield {**variant, **dict(zip(grid.axes, values, strict=True))}


def scenario_at(grid: Grid, settings: Mapping[str, Any], beside: Path) -> Scenario:
    raw = {"name": grid.name, "seed": 0, **grid.scenario}
    for key, value in settings.items():
        put(raw, key, value)
    try:
        return complete(from_mapping(raw), beside)
    except ScenarioError as error:
        at = ", ".join(f"{key} = {shown(value)}" for key, value in settings.items())
        raise ScenarioError(f"at {at or 'its only point'}: {error}") from None


def put(raw: dict[str, Any], key: str, value: Any) -> None:
    """Set a dotted key. The tables on its way are copied: they belong to the grid, or to a value of another axis."""
    *path, last = key.split(".")
    here = raw
    for name in path:
        table = here.get(name, {})
        if not isinstance(table, dict):
            raise ScenarioError(f"axis {key!r}: {name!r} is no table of a scenario; see docs/scenarios.md")
        here[name] = dict(table)
        here = here[name]
    here[last] = value


def seed_of(scenario: Scenario, seed: int, repetition: int) -> int:
    content = msgspec.to_builtins(scenario)
    for key in ("name", "seed", "stack"):
        del content[key]
    told = msgspec.json.encode([content, seed, repetition], order="deterministic")
    return int.from_bytes(hashlib.sha256(told).digest()[:8]) & SEED_MAX


def refuse_twins(found: list[Point]) -> None:
    by_run: dict[str, Point] = {}
    for point in found:
        other = by_run.setdefault(point.run, point)
        if other is not point:
            raise ScenarioError(f"runs {other.number} and {point.number} are the same scenario; leave one value out")
