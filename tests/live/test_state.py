"""A data directory: what was given away is never given twice, whatever happens to the process or the disk."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from trellis.errors import StateError
from trellis.live.frames import Refused, Welcome
from trellis.live.places import WHOLE, Lot, Member, Vacancy
from trellis.live.roster import Roster
from trellis.live.state import LOCK, STATE, State

GIVING = Path(__file__).with_name("giving_node.py")


def roster_of(state: State) -> Roster:
    known = state.identity()
    assert known is not None
    mine = Member(known.place, known.incarnation, "a:1", known.name, False, known.lot)
    return Roster(known.cluster, mine, state.keep, state.vacancies())


def test_a_node_comes_back_as_itself_in_its_next_life(tmp_path: Path) -> None:
    with closing(State(tmp_path, "a")) as state:
        assert state.identity() is None
        state.settle("c", 5, 0, Lot(9, 2))
        state.keep(Lot(13, 3), [Vacancy(3, 1, Lot(7, 2)), Vacancy(6, 0, Lot(14, 3))])
        state.keep(Lot(13, 3), [Vacancy(3, 2, Lot(7, 2), open=False)])
        state.remember([Member(0, 2, "[::1]:7", "e", True, Lot(8, 3)), Member(1, 0, "b:1", "b", False, Lot(3, 1))])
    for life in (1, 2):
        with closing(State(tmp_path, "a")) as state:
            known = state.identity()
            assert known is not None
            assert (known.cluster, known.name, known.place, known.incarnation) == ("c", "a", 5, life)
            assert known.lot == Lot(13, 3)
            assert state.vacancies() == [Vacancy(3, 2, Lot(7, 2), open=False), Vacancy(6, 0, Lot(14, 3))]
            assert [member.address for member in state.members()] == ["[::1]:7", "b:1"]
            assert state.members()[0] == Member(0, 2, "[::1]:7", "e", True, Lot(8, 3))


def test_a_node_without_a_directory_has_the_same_in_memory() -> None:
    with closing(State(None, "a")) as state:
        state.settle("c", 0, 0, WHOLE)
        assert not state.lasting
        assert isinstance(roster_of(state).admit("b", []), Welcome)
        known = state.identity()
        assert known is not None
        assert known.lot == Lot(2, 0)
    with closing(State(None, "a")) as state:
        assert state.identity() is None


def test_who_left_starts_as_new(tmp_path: Path) -> None:
    with closing(State(tmp_path, "a")) as state:
        state.settle("c", 5, 0, Lot(9, 2))
        state.keep(Lot(9, 2), [Vacancy(3, 1, Lot(7, 2))])
        state.leave()
    with closing(State(tmp_path, "b")) as state:
        assert (state.identity(), state.vacancies(), state.members()) == (None, [], [])


def test_what_is_written_is_synced_before_it_counts(tmp_path: Path) -> None:
    with closing(State(tmp_path, "a")) as state:
        assert state.opened.execute("PRAGMA synchronous").fetchone() == (2,)
        assert state.opened.execute("PRAGMA journal_mode").fetchone() == ("wal",)


# Whose directory it is


def test_two_processes_cannot_use_one_directory(tmp_path: Path) -> None:
    with closing(State(tmp_path, "a")):
        code = f"from pathlib import Path; from trellis.live.state import State; State(Path({str(tmp_path)!r}), 'a')"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert other.returncode != 0
        said = other.stderr.strip().splitlines()[-1]
        assert f"StateError: data directory {tmp_path}: another process uses it" in said
        with pytest.raises(StateError, match="another process uses it"):
            State(tmp_path, "a")
    State(tmp_path, "a").close()


def test_a_directory_belongs_to_one_name(tmp_path: Path) -> None:
    with closing(State(tmp_path, "a")) as state:
        state.settle("c", 5, 0, WHOLE)
    with pytest.raises(StateError, match="it belongs to 'a', not to 'b'"):
        State(tmp_path, "b")
    with closing(State(tmp_path, "a")) as state:
        known = state.identity()
        assert known is not None
        assert known.incarnation == 1  # who was refused used none


def make_foreign(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE somebody (elses)")


def make_newer(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA user_version = 3")


def make_odd(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE node SET level = 77")
        db.commit()


def make_bare(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("DROP TABLE vacancies")
        db.execute("DROP TABLE node")


def tear(file: Path) -> None:
    whole = bytearray(file.read_bytes())
    whole[4096:] = os.urandom(len(whole) - 4096)
    file.write_bytes(whole)


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (lambda file: file.write_bytes(b"not a database, but long enough to be taken for one" * 99), "not a database"),
        (lambda file: file.write_bytes(file.read_bytes()[:5000]), "malformed|torn"),
        (tear, "malformed|torn"),
        (lambda file: (file.unlink(), make_foreign(file)), "not a state of Trellis"),
        (make_newer, "its version is 3"),
        (make_odd, "torn"),
        (make_bare, "no such table"),
        (lambda file: (file.unlink(), file.mkdir()), "not a plain file"),
        (lambda file: (file.rename(file.with_name("x")), file.symlink_to("x")), "not a plain file"),
    ],
)
def test_a_torn_or_foreign_file_is_one_clear_line(tmp_path: Path, spoil: object, rule: str) -> None:
    with closing(State(tmp_path, "a")) as state:
        state.settle("c", 5, 0, WHOLE)
    spoil(tmp_path / STATE)  # type: ignore[operator]
    with pytest.raises(StateError, match=rule) as raised:
        State(tmp_path, "a")
    assert str(raised.value).startswith(f"data directory {tmp_path}: ")
    assert "\n" not in str(raised.value)


def test_a_directory_that_cannot_be_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below", Path("nul\0byte")):
        with pytest.raises(StateError, match="it cannot be used"):
            State(path, "a")
    (tmp_path / LOCK).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError, match="not a plain file"):
        State(tmp_path, "a")
    assert not (tmp_path / "elsewhere").exists()


# Death


def answers(output: str) -> list[tuple[str, ...]]:
    return [tuple(line.split()) for line in output.splitlines()]


def giving(directory: Path, death: int = 0, when: str = "after") -> list[str]:
    return [sys.executable, str(GIVING), str(directory), str(death), when]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_node_killed_between_giving_a_place_and_answering_never_gives_it_again(tmp_path: Path, when: str) -> None:
    heard: list[tuple[str, ...]] = []
    for death in (1, 2, 4, 7):
        run = subprocess.run(giving(tmp_path, death, when), capture_output=True, text=True, timeout=60, check=False)
        assert run.returncode == -signal.SIGKILL, run.stderr
        heard += answers(run.stdout)
    assert len(set(heard)) == len(heard)
    assert [line[1] for line in heard if line[0] == "incarnation"] == ["0", "1", "2", "3"]
    places = [int(line[1]) for line in heard if line[0] == "place" and line[2] == "0"]
    lost = 0 if when == "before" else 4  # what was written and not answered is lost
    assert len(places) == 0 + 1 + 3 + 5
    assert max(places) == len(places) + min(lost, 3)


def test_a_node_killed_at_any_moment_never_gives_a_place_twice(tmp_path: Path) -> None:
    heard: list[tuple[str, ...]] = []
    for lines in (1, 3, 20, 50, 110):
        with subprocess.Popen(giving(tmp_path), stdout=subprocess.PIPE, text=True) as node:
            assert node.stdout is not None
            heard += answers("".join(node.stdout.readline() for _ in range(lines)))
            node.kill()
            heard += answers(node.stdout.read())
    assert len(set(heard)) == len(heard)
    assert len(heard) >= 184


# A full disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_refuses_joiners_and_gives_no_place_twice(small_disk: Path) -> None:
    given = []
    with closing(State(small_disk / "a", "a")) as state:
        state.settle("c", 0, 0, WHOLE)
        roster = roster_of(state)
        given += [answer.place for answer in [roster.admit("b", [])] if isinstance(answer, Welcome)]
        fill(small_disk)
        refusals = 0
        for _ in range(400):  # what is left of the last page and of the log may still take some
            answer = roster.admit("b", [])
            if isinstance(answer, Refused):
                refusals += 1
                assert f"data directory {small_disk / 'a'}: it cannot be written" in answer.reason
            else:
                assert isinstance(answer, Welcome)
                given.append(answer.place)
        assert refusals
    (small_disk / "filling").unlink()
    with closing(State(small_disk / "a", "a")) as state:
        answer = roster_of(state).admit("b", [])
        assert isinstance(answer, Welcome)
        given.append(answer.place)
    assert given == list(range(1, len(given) + 1))


def fill(disk: Path) -> None:
    with (disk / "filling").open("wb", buffering=0) as filling, suppress(OSError):
        while True:
            filling.write(bytes(512))


def test_a_disk_that_is_full_from_the_start_is_one_clear_line(small_disk: Path) -> None:
    fill(small_disk)
    with pytest.raises(StateError, match=r"No space|full"):
        State(small_disk / "a", "a")


def test_a_quota_refuses_joiners_and_gives_no_place_twice(tmp_path: Path) -> None:
    """The same where nothing can be mounted: SQLite's own limit."""
    with closing(State(tmp_path, "a")) as state:
        state.settle("c", 5, 0, Lot(65_541, 16))
        roster = roster_of(state)
        (pages,) = state.opened.execute("PRAGMA page_count").fetchone()
        state.opened.execute(f"PRAGMA max_page_count = {pages}")
        handed = [Vacancy(place, 0, Lot(place + 65_536, 16)) for place in range(100, 2000)]
        refusal = roster.inherit(handed)
        assert isinstance(refusal, Refused)
        assert "full" in refusal.reason
        assert not roster.vacancies
        assert state.vacancies() == []
        assert isinstance(roster.admit("b", []), Welcome)  # an update in place needs no page
