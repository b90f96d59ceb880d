"""Every story file is true. `pytest tests/stories --rewrite` writes what happens now; read the difference in review."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("theatre", HERE / "theatre.py")
assert spec is not None
assert spec.loader is not None
theatre = importlib.util.module_from_spec(spec)
spec.loader.exec_module(theatre)

STORIES = sorted(HERE.glob("*.story"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_is_true(path: Path, request: pytest.FixtureRequest) -> None:
    told = path.read_text()
    happened = theatre.perform(told)
    if request.config.getoption("--rewrite"):
        path.write_text(happened)
    else:
        assert happened == told


def test_there_are_stories() -> None:
    assert len(STORIES) >= 12
