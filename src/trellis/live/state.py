"""What a node keeps in its data directory.

Promises: what was written is there after any crash (SQLite, synchronous=FULL, WAL): above all, a place is written down
          as given before anyone hears of it, and an incarnation as used before the node says a word. What cannot be
          written is a StateError, and the state on disk is as it was. Two processes never use one directory at once.
Assumes:  the disk keeps what it said it synced. An old copy of a directory is never put back: it would give places
          away a second time.

A node without a data directory has the same in memory. Names of files here are fixed: nothing that a peer says becomes
part of a path.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from trellis.errors import StateError
from trellis.live.places import INCARNATIONS, Incarnation, Lot, Member, PlaceId, Vacancy

STATE = "state.sqlite3"
LOCK = "lock"
OURS = 0x54524C53  # SQLite's application id: a file of ours
VERSION = 2  # of the tables

TABLES = """
CREATE TABLE node (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    cluster TEXT NOT NULL, name TEXT NOT NULL, place INTEGER NOT NULL, incarnation INTEGER NOT NULL,
    next INTEGER NOT NULL, level INTEGER NOT NULL
) STRICT;
CREATE TABLE vacancies (
    place INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL,
    next INTEGER NOT NULL, level INTEGER NOT NULL, open INTEGER NOT NULL
) STRICT;
CREATE TABLE members (
    place INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL, address TEXT NOT NULL, name TEXT NOT NULL,
    "left" INTEGER NOT NULL, next INTEGER NOT NULL, level INTEGER NOT NULL
) STRICT;
"""


# Since version 2: what the machines wrote down, and whether the place was ever somebody else's.
TABLES_2 = """
CREATE TABLE kept (stack TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (stack, key)) STRICT;
ALTER TABLE node ADD COLUMN pristine INTEGER NOT NULL DEFAULT 0;
"""


class Identity(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Who this node is, in the life that began when the directory was opened."""

    cluster: str
    name: str
    place: PlaceId
    incarnation: Incarnation
    lot: Lot


class State:
    """One open data directory, or the same in memory."""

    def __init__(self, directory: Path | None, name: str) -> None:
        """Open it for the node of this name. If it has a place already, this is its next life."""
        self.directory = directory
        self.name = name
        self.lock = -1
        self.db: sqlite3.Connection | None = None
        try:
            if directory is not None:
                self.lock = lock(directory)
            with self.explained("opened"):
                self.db = connect(directory)
                check(self.db, self.label)
                self.begin_life()
        except BaseException:
            self.close()
            raise

    @property
    def label(self) -> str:
        return f"data directory {self.directory}" if self.directory is not None else "state in memory"

    @property
    def lasting(self) -> bool:
        return self.directory is not None

    def close(self) -> None:
        """Let another process have it."""
        if self.db is not None:
            with suppress(sqlite3.Error):
                self.db.close()
            self.db = None
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1

    def identity(self) -> Identity | None:
        """None as long as the node has no place: before it founded or joined a cluster, and after it left."""
        found = self.rows("SELECT cluster, name, place, incarnation, next, level FROM node")
        with self.explained("read"):
            return msgspec.convert([*found[0][:4], found[0][4:]], Identity) if found else None

    def vacancies(self) -> list[Vacancy]:
        found = self.rows("SELECT place, incarnation, next, level, open FROM vacancies ORDER BY place")
        with self.explained("read"):
            return [msgspec.convert([*row[:2], row[2:4], bool(row[4])], Vacancy) for row in found]

    def members(self) -> list[Member]:
        """Whom it knew: where it can ask to be let in again."""
        found = self.rows('SELECT place, incarnation, address, name, "left", next, level FROM members ORDER BY place')
        with self.explained("read"):
            return [msgspec.convert([*row[:4], bool(row[4]), row[5:]], Member) for row in found]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.explained("read"):
            return self.opened.execute(query).fetchall()

    def settle(self, cluster: str, place: int, incarnation: int, lot: Lot) -> None:
        """Found or welcomed: this is who I am from now on. Before the first word in this incarnation."""
        with self.writing() as db:
            before = db.execute("SELECT pristine FROM node WHERE place = ?", (place,)).fetchone()
            pristine = bool(before[0]) if before is not None else incarnation == 0
            known = (cluster, self.name, place, incarnation, lot.next, lot.level, pristine)
            db.execute("INSERT OR REPLACE INTO node VALUES (1, ?, ?, ?, ?, ?, ?, ?)", known)

    def keep(self, lot: Lot, changed: Iterable[Vacancy]) -> None:
        """What I can still give out: `Roster` calls it before it gives anything away."""
        with self.writing() as db:
            db.execute("UPDATE node SET next = ?, level = ?", (lot.next, lot.level))
            rows = [(v.place, v.incarnation, v.lot.next, v.lot.level, v.open) for v in changed]
            db.executemany("INSERT OR REPLACE INTO vacancies VALUES (?, ?, ?, ?, ?)", rows)

    def remember(self, members: Iterable[Member]) -> None:
        """What is new of others."""
        with self.writing() as db:
            rows = [(m.place, m.incarnation, m.address, m.name, m.left, m.lot.next, m.lot.level) for m in members]
            db.executemany("INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    @property
    def pristine(self) -> bool:
        """Whether the place was this node's in all of its lives: then what is not written down here never was."""
        found = self.rows("SELECT pristine FROM node")
        return bool(found and found[0][0])

    def write_down(self, items: Mapping[tuple[str, str], bytes | None]) -> None:
        """What the machines want to find again after a crash, by stack and key; None: it may be forgotten."""
        with self.writing() as db:
            gone = [key for key, value in items.items() if value is None]
            db.executemany("DELETE FROM kept WHERE stack = ? AND key = ?", gone)
            rows = [(*key, value) for key, value in items.items() if value is not None]
            db.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", rows)

    def written_down(self, stack: str) -> dict[str, bytes]:
        with self.explained("read"):
            return dict(self.opened.execute("SELECT key, value FROM kept WHERE stack = ?", (stack,)))

    def leave(self) -> None:
        """Forget place, lot and vacancies for good: before anyone hears that they are another's."""
        with self.writing() as db:
            for table in ("node", "vacancies", "members", "kept"):
                db.execute(f"DELETE FROM {table}")

    def begin_life(self) -> None:
        known = self.identity()
        if known is None:
            return
        if known.name != self.name:
            raise StateError(f"{self.label}: it belongs to {known.name!r}, not to {self.name!r}; use another directory")
        if known.incarnation >= INCARNATIONS:
            raise StateError(f"{self.label}: its incarnations are used up; start with an empty directory")
        with self.writing() as db:
            db.execute("UPDATE node SET incarnation = incarnation + 1")

    @property
    def opened(self) -> sqlite3.Connection:
        assert self.db is not None, "the state is closed"
        return self.db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it on disk, or nothing."""
        db = self.opened
        with self.explained("written"):
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # SQLite may have rolled back by itself
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            way_out = (
                "free some space"
                if "full" in str(error) or "No space" in str(error)
                else "use another directory, or start with an empty one"
            )
            raise StateError(f"{self.label}: it cannot be {what} ({error}); {way_out}") from error
        except msgspec.ValidationError as error:
            raise StateError(f"{self.label}: it is torn ({error}); start with an empty one") from error


def lock(directory: Path) -> int:
    """Make the directory if need be, and hold it until the descriptor is closed, if only by the end of the process."""
    label = f"data directory {directory}"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in (LOCK, STATE, f"{STATE}-wal"):
            with suppress(FileNotFoundError):
                if not stat.S_ISREG((directory / name).lstat().st_mode):
                    raise StateError(f"{label}: {name} is not a plain file; use another directory")
        held = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise StateError(f"{label}: it cannot be used ({reason}); name a directory that can be written") from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise StateError(f"{label}: another process uses it; stop that one, or use another directory") from None
    return held


def connect(directory: Path | None) -> sqlite3.Connection:
    file = ":memory:" if directory is None else str(directory / STATE)
    if directory is not None:  # nobody else may read it; and its name is to last as long as what is in it
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        entries = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        os.fsync(entries)
        os.close(entries)
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    return db


def check(db: sqlite3.Connection, label: str) -> None:
    """One of ours, whole, and of a version that I know; tables are made in a new one."""
    (ours,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if ours != OURS and (ours or version or tables):
        raise StateError(f"{label}: {STATE} is not a state of Trellis; use another directory")
    if version > VERSION:
        raise StateError(f"{label}: its version is {version}, this Trellis knows up to {VERSION}; use a newer Trellis")
    (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise StateError(f"{label}: {STATE} is torn ({' '.join(verdict.split())}); start with an empty directory")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    if not tables:
        db.executescript(f"BEGIN; {TABLES} PRAGMA application_id = {OURS}; COMMIT;")
    if version < 2:
        db.executescript(f"BEGIN; {TABLES_2} PRAGMA user_version = {VERSION}; COMMIT;")
