"""A scenario from a file or a mapping, or one line that says what is wrong with it.

Promises: whatever the bytes, either a scenario that can be run or a ScenarioError that names the key, its value, the
          rule and the way out. Nothing of the file is run or guessed.
"""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from trellis.errors import ScenarioError
from trellis.scenario.check import check
from trellis.scenario.explain import explain, shown
from trellis.scenario.model import Matrix, Scenario
from trellis.scenario.section import TIME_MAX

FILE_BYTES_MAX = 64 << 20


def load(path: Path | str) -> Scenario:
    """Read a scenario file: TOML, or JSON as a run writes it beside its trace."""
    path = Path(path)
    try:
        return complete(from_mapping(read(path)), path.parent)
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from None


def complete(scenario: Scenario, beside: Path) -> Scenario:
    """With the times of the file that it names, if any, and checked as a whole."""
    if isinstance(scenario.network, Matrix) and scenario.network.file:
        if scenario.network.rows:
            raise ScenarioError("network.file and network.rows: both give the times; leave one of them out")
        rows = read_matrix(beside / scenario.network.file)
        network = msgspec.structs.replace(scenario.network, rows=rows, file="")
        scenario = msgspec.structs.replace(scenario, network=network)
    check(scenario)
    return scenario


def from_mapping(raw: Mapping[str, Any]) -> Scenario:
    """The same from Python objects; the cross-checks of `check` are the caller's."""
    try:
        return msgspec.convert(raw, Scenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(explain(str(error), raw)) from None


def read(path: Path) -> dict[str, Any]:
    kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
    try:
        text = read_bytes(path).decode("utf-8-sig")
        raw = read_json(text) if kind == "JSON" else tomllib.loads(text)
    except OSError as error:
        raise ScenarioError(f"cannot be read ({error.strerror}); give the path of a scenario file") from None
    except UnicodeError:
        raise ScenarioError(f"not UTF-8 text; a scenario file is {kind}") from None
    except RecursionError:
        raise ScenarioError(f"not a scenario: this {kind} is nested too deeply; a scenario has three levels") from None
    except ValueError as error:
        known = isinstance(error, tomllib.TOMLDecodeError | json.JSONDecodeError)
        reason = error if known else "a number has too many digits"
        raise ScenarioError(f"not valid {kind} ({reason}); correct that place") from None
    if not isinstance(raw, dict):
        raise ScenarioError(f"holds {shown(raw)}; a scenario is a table of keys")
    return raw


def read_bytes(path: Path) -> bytes:
    """A file that is longer than any scenario, perhaps endless, is not read to its end."""
    with path.open("rb") as file:
        found = file.read(FILE_BYTES_MAX + 1)
    if len(found) > FILE_BYTES_MAX:
        raise ScenarioError(f"{path.name} is larger than {FILE_BYTES_MAX >> 20} MiB; give the path of a smaller file")
    return found


def read_json(text: str) -> Any:
    raw = json.loads(text, object_pairs_hook=each_once)
    json.dumps(raw, ensure_ascii=False).encode()  # half a surrogate pair can be written in JSON, but it is not text
    return raw


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """TOML refuses a key that is given twice; so do we in JSON."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for n, (key, _) in enumerate(pairs) if key in dict(pairs[:n]))
        raise ScenarioError(f"{twice}: the key is given twice; leave one out")
    return found


def read_matrix(path: Path) -> list[list[int]]:
    thing = f"network.file = {str(path)!r}"
    try:
        text = read_bytes(path).decode("utf-8-sig")
        cells = [row for row in csv.reader(text.splitlines()) if row]
    except OSError as error:
        raise ScenarioError(f"{thing}: cannot be read ({error.strerror}); give the path of a CSV file") from None
    except (ValueError, csv.Error) as error:
        raise ScenarioError(f"{thing}: not a CSV file ({error}); give rows of whole numbers") from None
    return [[cell_time(thing, r, c, cell) for c, cell in enumerate(row, 1)] for r, row in enumerate(cells, 1)]


def cell_time(thing: str, row: int, column: int, cell: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,18}\s*", cell) or not (row != column) <= int(cell) <= TIME_MAX:
        raise ScenarioError(
            f"{thing}: row {row}, cell {column} is {shown(cell)}: a time is a whole number from 1 to {TIME_MAX} "
            f"(0 only on the diagonal); change the cell"
        )
    return int(cell)
