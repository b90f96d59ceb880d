"""The journal: what one life of one node writes of its trace while it runs.

Promises: what was flushed survives the death of the process (`kill -9`), for it is in the system's page cache. A node
          that flushes before its links write therefore loses no row on which another node's rows depend. The first row
          is `start`; the last, if the life ends in good order, is `stop`.
Assumes:  the machine itself stays up: a power failure may take what the system has not written yet.

A line may be about a whole batch, and costs the same; whoever collects the traces lays it out message by message.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from trellis.errors import TraceError
from trellis.live.segments import (
    LINE,
    MAGIC,
    PACK,
    PART,
    ROWS,
    About,
    Leaf,
    Title,
    framed,
    pieces_in,
    place_of,
    read,
    read_segment,
    stem,
    turn,
    write_part,
)
from trellis.words import MessageId, NodeId, Packet, Time, Topic

ROWS_MAX = 1 << 18  # lines of a segment
LOCK = "lock"  # held while a life is being written
ENCODE = msgspec.msgpack.Encoder().encode


class Words(dict[str, int]):
    """Codes of words, and those that no frame has told yet."""

    def __init__(self) -> None:
        self.fresh: list[str] = []

    def __missing__(self, word: str) -> int:
        code = self[word] = len(self)
        self.fresh.append(word)
        return code


class Journal:
    """One life of one node. Calls only append to memory; `flush` writes."""

    def __init__(self, directory: Path, node: NodeId, incarnation: int, at: Time, rows_max: int = ROWS_MAX) -> None:
        """Begin a life. `at` must not be earlier than `last_time(directory)`."""
        self.directory = directory
        self.node = node
        self.incarnation = incarnation
        self.rows_max = rows_max
        self.number = 0  # of the segment
        self.lines = bytearray()  # not written yet
        self.written = bytearray()  # in this segment
        self.words = Words()
        self.orders: dict[Topic, str] = {}  # not written yet
        self.known: dict[Topic, str] = {}
        self.turning = ThreadPoolExecutor(1, "trellis-trace")
        self.turned: Future[None] | None = None  # the segment of which a part is being made
        with plainly(directory):
            directory.mkdir(parents=True, exist_ok=True)
            self.lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.segment, self.size = self.begin_segment(0)
            except BlockingIOError:
                os.close(self.lock)
                raise TraceError(f"{directory}: another process is writing a trace there; stop it first") from None
            except BaseException:
                os.close(self.lock)
                raise
        self.happened("start", at, self.me)
        self.flush()

    @property
    def me(self) -> MessageId:
        """In the place of a message, where a row is about this life as a whole."""
        return MessageId((self.node, self.incarnation), "", 0)

    def sent(self, at: Time, packet: Packet, to: NodeId) -> None:
        self.packet("send", at, packet, to)

    def received(self, at: Time, packet: Packet, sender: NodeId) -> None:
        self.packet("receive", at, packet, sender)

    def packet(self, kind: str, at: Time, packet: Packet, peer: NodeId) -> None:
        id, words, batch = packet.id, self.words, packet.batch
        self.lines += PACK(at, 0, id.seq, words[kind], words[id.topic], *id.origin, words[packet.kind], peer, batch, 0)

    def happened(self, kind: str, at: Time, id: MessageId, batch: int = 0, barrier: int = 0, peer: NodeId = -1) -> None:
        """Something about the `batch` messages from `id` on, or about `peer`."""
        words = self.words
        self.lines += PACK(at, 0, id.seq, words[kind], words[id.topic], *id.origin, words[""], peer, batch, barrier)

    def ordered(self, topic: Topic, ordering: str) -> None:
        """This node keeps that order on the topic: the topic will be judged by it. To be said before its first row."""
        if self.known.get(topic) != ordering:
            self.known[topic] = self.orders[topic] = ordering

    def flush(self) -> None:
        """Hand what is new to the system, by one write.

        If it cannot be written (a full disk), the segment is as it was, the lines stay, and the next flush tries again;
        how long to go on is for the caller to say.
        """
        if not self.lines and not self.orders:
            return
        with plainly(self.directory):
            self.append(framed(ENCODE(Leaf(self.words.fresh, self.orders, self.lines))))  # type: ignore[arg-type]
        self.written += self.lines
        self.words.fresh, self.orders, self.lines = [], {}, bytearray()
        if len(self.written) >= self.rows_max * LINE.itemsize:
            self.roll()

    def append(self, raw: bytes) -> None:
        """All of it, or nothing."""
        written = 0
        try:
            while written < len(raw):
                written += os.write(self.segment, raw[written:])
        except OSError:
            os.ftruncate(self.segment, self.size)
            raise
        self.size += len(raw)

    def begin_segment(self, number: int) -> tuple[int, int]:
        """A new file with its title, and how long it is."""
        path = stem(self.directory, self.node, self.incarnation, number).with_suffix(ROWS)
        title = MAGIC + framed(ENCODE(Title(self.node, self.incarnation, number)))
        try:
            if path.with_suffix(PART).exists():
                raise FileExistsError
            segment = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except FileExistsError:
            raise TraceError(f"{path}: life {self.incarnation} was lived already; start with the next one") from None
        try:
            written = os.write(segment, title)
            if written < len(title):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            os.close(segment)
            path.unlink()
            raise
        return segment, written

    def roll(self) -> None:
        """Begin the next segment; a thread makes a part of the full one. If that fails, it is read as it is."""
        try:
            segment, size = self.begin_segment(self.number + 1)
        except OSError:  # no room: go on with this one
            return
        self.finish_segment()
        self.number += 1
        self.segment, self.size, self.written, self.words = segment, size, bytearray(), Words()

    def finish_segment(self) -> None:
        os.close(self.segment)
        place = stem(self.directory, self.node, self.incarnation, self.number)
        about = About(Title(self.node, self.incarnation, self.number), self.known.copy())
        if self.turned is None or self.turned.done():  # at most one waits in memory; the others wait on disk
            self.turned = self.turning.submit(turn, place, about, list(self.words), self.written)

    def stop(self, at: Time) -> None:
        """The life ends in good order, and is written."""
        self.happened("stop", at, self.me)
        self.flush()

    def turn_rest(self) -> None:
        """Wait until all segments are parts, as far as there is room for them. Nothing may be told it any more."""
        try:
            self.finish_segment()
            self.turning.shutdown()
            with suppress(OSError):
                for number in range(self.number + 1):
                    place = stem(self.directory, self.node, self.incarnation, number)
                    if place.with_suffix(ROWS).exists() and (left := read_segment(place.with_suffix(ROWS))) is not None:
                        write_part(place, About(left.title, left.orders), left.table)
        finally:
            os.close(self.lock)

    def close(self, at: Time) -> None:
        """Both at once, for whoever may wait. If the end cannot be written, its segments are left as they are."""
        try:
            self.stop(at)
        finally:
            self.turn_rest()


def last_time(directory: Path) -> Time:
    """When the last life that was written there ended, as far as its trace tells: the clock must go on from there."""
    latest: dict[NodeId, Time] = {}
    for piece in reversed(pieces_in(directory) if directory.is_dir() else []):
        try:
            found = read(piece) if place_of(piece) not in latest else None
        except TraceError:  # no reason not to start; it is told when the traces are collected
            continue
        if found is not None and len(found.table):
            latest[found.title.node] = int(found.table.column("at").to_numpy().max())
    return max(latest.values(), default=0)


@contextmanager
def plainly(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TraceError(f"{directory}: the trace cannot be written ({error.strerror}); make room there") from None
