"""A scenario from a file or a mapping, or one line that says what is wrong with it.

Promises: whatever the bytes, either a scenario that can be run or a ScenarioError that names the key, its value, the
          rule and the way out. Nothing of the file is run or guessed.
"""

from __future__ import annotations

import csv
import difflib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from trellis import protocols
from trellis.errors import ScenarioError
from trellis.scenario.model import Matrix, Scenario, Section

FILE_BYTES_MAX = 64 << 20


def load(path: Path) -> Scenario:
    """Read a scenario file: TOML, or JSON as a run writes it beside its trace."""
    raw = read(path)
    try:
        scenario = from_mapping(raw)
        if isinstance(scenario.network, Matrix) and scenario.network.file:
            rows = read_matrix(path.parent / scenario.network.file)
            network = msgspec.structs.replace(scenario.network, rows=rows, file="")
            scenario = msgspec.structs.replace(scenario, network=network)
        check(scenario)
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from None
    return scenario


def from_mapping(raw: Mapping[str, Any]) -> Scenario:
    """The same from Python objects; the cross-checks of `check` are the caller's."""
    try:
        return msgspec.convert(raw, Scenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(explain(str(error), raw)) from None


def read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ScenarioError(f"{path}: larger than {FILE_BYTES_MAX >> 20} MiB; is it a scenario file?")
        text = path.read_bytes().decode()
        raw = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read ({error.strerror}); give the path of a scenario file") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"{path}: not UTF-8 text; a scenario file is TOML") from None
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ScenarioError(f"{path}: not valid TOML or JSON ({error or 'nested too deeply'})") from None
    if not isinstance(raw, dict):
        raise ScenarioError(f"{path}: holds a {type(raw).__name__}; a scenario is a table of keys")
    return raw


def read_matrix(path: Path) -> list[list[int]]:
    try:
        with path.open(newline="") as lines:
            return [[int(cell) for cell in row] for row in csv.reader(lines) if row]
    except (OSError, UnicodeDecodeError, ValueError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ScenarioError(f"network.file = {str(path)!r}: not a CSV file of whole numbers ({reason})") from None


def check(scenario: Scenario) -> None:
    """What no single key can show."""
    protocols.check(scenario.stack.overlay, scenario.stack.ordering, scenario.stack.options())
    count = scenario.nodes.count
    if scenario.stack.brokers is not None and scenario.stack.brokers > count:
        raise ScenarioError(
            f"stack.brokers = {scenario.stack.brokers}: there are only {count} nodes; use at most {count}"
        )
    network = scenario.network
    if isinstance(network, Matrix):
        rows = network.rows
        if len(rows) < count or any(len(row) != len(rows) for row in rows):
            widths = sorted({len(row) for row in rows})
            raise ScenarioError(
                f"network.rows: {len(rows)} rows of {widths} cells for {count} nodes; "
                f"give a square matrix with at least {count} rows"
            )
    low, high = getattr(network, "low", 0), getattr(network, "high", 0)
    if low > high:
        raise ScenarioError(f"network.low = {low}: above network.high = {high}; low must not exceed high")


def explain(error: str, raw: Mapping[str, Any]) -> str:
    """msgspec's finding as: the thing, the value, the rule, the way out."""
    what, _, where = error.partition(" - at `")
    keys = re.findall(r"[A-Za-z_][A-Za-z0-9_-]*|\[\d+\]", where.rstrip("`").removeprefix("$"))
    thing = ".".join(keys) or "the file"
    if missing := re.search(r"missing required field `(.+)`", what):
        return f"{dotted(keys, missing[1])} is missing: it has no default; add it to {table(keys)}"
    if unknown := re.search(r"contains unknown field `(.+)`", what):
        known = known_keys(keys, raw)
        near = difflib.get_close_matches(unknown[1], known, 1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        return f"{dotted(keys, unknown[1])}: no such key; {guess}{table(keys)} has {', '.join(known)}"
    value = dig(raw, keys)
    if what.startswith("Invalid value"):
        return f"{thing} = {value!r}: no such kind; there are {', '.join(kinds(keys))}"
    rule = what[0].lower() + what[1:]
    return f"{thing} = {value!r}: {rule}; change the value"


def dotted(keys: list[str], last: str) -> str:
    return ".".join([*keys, last])


def table(keys: list[str]) -> str:
    return f"[{'.'.join(keys)}]" if keys else "the top of the file"


def dig(raw: Any, keys: list[str]) -> Any:
    for key in keys:
        try:
            raw = raw[int(key[1:-1])] if key.startswith("[") else raw[key]
        except (KeyError, IndexError, TypeError):
            return None
    return raw


def sections(keys: list[str]) -> list[type[Section]]:
    """The sections that may stand at this place of the file."""
    if not keys:
        return [Scenario]
    field = next((f for f in msgspec.structs.fields(Scenario) if f.name == keys[0]), None)
    if field is None or len(keys) > 1:
        return []
    return list(getattr(field.type, "__args__", (field.type,)))


def tag_of(section: type[Section]) -> str:
    return str(section.__struct_config__.tag)


def kinds(keys: list[str]) -> list[str]:
    return [tag_of(section) for section in sections(keys[:-1])]


def known_keys(keys: list[str], raw: Mapping[str, Any]) -> list[str]:
    here = dig(raw, keys)
    kind = here.get("kind") if isinstance(here, dict) else None
    found: list[str] = []
    for section in sections(keys):
        if kind is None or tag_of(section) == kind:
            found += [f.encode_name for f in msgspec.structs.fields(section)]
    return found
