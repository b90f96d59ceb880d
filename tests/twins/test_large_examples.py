"""examples/large: what the compiled engine is for. Each goes to it as it is; in short, both have the same rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from trellis.scenario import load
from trellis.sim import is_for_the_compiled
from trellis.swarm.twins import compare

LARGE = sorted((Path(__file__).parents[2] / "examples" / "large").glob("*.toml"))
SHORT = {
    "count = 4096": "count = 64",
    "count = 65536": "count = 256",
    "count = 1024": "count = 64",
    "subscribers = 1000": "subscribers = 50",
    "end = 7200000": "end = 60000",
}


def test_there_are_such_examples() -> None:
    assert [path.stem for path in LARGE] == ["all-publish", "churn", "one-publisher"]


@pytest.mark.parametrize("path", LARGE, ids=lambda path: path.stem)
def test_it_goes_to_the_compiled_engine(path: Path) -> None:
    """Also one message: the machines of 65,536 nodes that each know all others have no room here."""
    assert is_for_the_compiled(load(path))


@pytest.mark.parametrize("path", LARGE, ids=lambda path: path.stem)
def test_in_short_both_engines_have_the_same_rows(path: Path, tmp_path: Path) -> None:
    text = path.read_text()
    for long, short in SHORT.items():
        text = text.replace(long, short)
    brief = tmp_path / path.name
    brief.write_text(text)
    assert load(brief).nodes.count <= 256
    difference, rows = compare(load(brief))
    assert difference == ""
    assert rows > 1000
