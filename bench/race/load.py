"""The load that all contestants carry: what is published and when, and the check of what arrives.

Phase one: numbered payloads, as fast as they go. Phase two: payloads with a time in them, at a fixed rate. The time is
when it was the publisher's turn, for all contestants alike, not when the call was made: a publisher that is kept by an
earlier call hides nothing, for its next turn began when the payload was due. How exactly an event loop's timer wakes it
(libuv and asyncio count milliseconds, `time.sleep` does not) is nobody's merit and does not count.

Promises: a subscriber that misses, repeats or swaps a payload says so. In phase one each payload is compared whole with
          the one expected at its place in a cycle of 1,024 different ones, and the number of them with the number sent;
          in phase two each carries its number.
Assumes:  the last payload of a phase arrives; if it does not, the heat runs into its time limit, which says so too.
          CLOCK_MONOTONIC is one clock for all processes of a machine (Linux).

The check is part of the figures. It costs 0.1 microseconds a payload where a library hands them over one by one, and
0.01 where it hands over lists (which is what lists are for): a tenth of the CPU time of the fastest of the former.
"""

from __future__ import annotations

import asyncio
import os
import struct
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any

CYCLE = 1024  # different payloads; a power of two
LIST_MAX = 8 * CYCLE  # the longest list that is compared at once
FRAME = 128 << 10  # bytes of payloads in one frame
HEAD = struct.Struct("!cQQ")  # kind, number, nanoseconds
NUMBERED, PROBE, TIMED, END = b"n", b"p", b"t", b"e"
RATE = 1000  # payloads a second in phase two
PAUSE = 0.005  # seconds between two looks at the board
TICK = 0.0005  # the same, when a publisher waits for room in its window
PHASES = 2


@dataclass(frozen=True, slots=True)
class Load:
    payload: int  # bytes
    seconds: float  # of each phase
    subscribers: int

    def cycle(self) -> list[bytes]:
        return [self.fill(NUMBERED, n) for n in range(CYCLE)]

    def in_one_frame(self) -> int:
        """How many payloads those who take lists get at once. Chosen by what suits the bare TCP fan-out."""
        return max(1, min(CYCLE, FRAME // self.payload))

    def fill(self, kind: bytes, number: int, at: int = 0) -> bytes:
        return HEAD.pack(kind, number, at).ljust(self.payload, b".")


class Board:
    """Shared memory beside the contest: how far each subscriber is. Nobody waits for a lock on it."""

    def __init__(self, subscribers: int) -> None:
        self.heard = RawArray("q", [-1] * subscribers)  # payloads of phase one; -1: not even a probe
        self.ended = RawArray("q", [0] * subscribers)  # phases
        self.sent = RawArray("q", [0])


@dataclass(slots=True)
class Published:
    """What the publisher reports."""

    sent: int  # payloads of phase one
    began: int  # nanoseconds
    cpu: float  # seconds of all processes, from the first payload of phase one until all have ended it


@dataclass(slots=True)
class Heard:
    """What a subscriber reports."""

    ended: int = 0  # nanoseconds: the end of phase one
    faults: list[str] = field(default_factory=list)  # empty: every payload, once, in the order published
    latencies: list[int] = field(default_factory=list)  # nanoseconds, phase two


class Feed:
    """The publisher's side: what to send next, or how long to wait."""

    def __init__(self, load: Load, board: Board, pipe: Connection, finish: Callable[[Published], None]) -> None:
        self.load, self.board, self.pipe, self.finish = load, board, pipe, finish

    def opened(self, address: str) -> None:
        """Subscribers may come now, to this address."""
        self.pipe.send(address)

    def steps(self, batch: int, window: int) -> Iterator[list[bytes] | float]:
        """Lists of payloads to send and seconds to wait.

        A window is for those without flow control of their own: the publisher stays at most so many payloads ahead of
        the slowest subscriber. It looks at the board for that, which costs nothing on the wire: a gift.
        """
        board, load, pipe = self.board, self.load, self.pipe
        while not pipe.poll():
            yield PAUSE
        processes: list[int] = pipe.recv()  # all are ready
        while min(board.heard[:]) < 0:  # subscribed is not always reachable: wait until everybody hears
            yield [load.fill(PROBE, 0)]
            yield PAUSE
        strip = load.cycle() * (batch // CYCLE + 2)
        sent = 0
        cpu = cpu_seconds(processes)
        began = time.monotonic_ns()
        until = began + int(load.seconds * 1e9)
        while time.monotonic_ns() < until:
            if window and sent - min(board.heard[:]) > window - batch:
                yield TICK
                continue
            yield strip[sent % CYCLE : sent % CYCLE + batch]
            sent += batch
            board.sent[0] = sent
        yield [load.fill(END, sent)]
        yield from self.until_ended(1)
        report = Published(sent, began, cpu_seconds(processes) - cpu)
        due = time.monotonic_ns()
        for number in range(int(load.seconds * RATE)):
            turn = due  # if the publisher was kept beyond it; else when its timer lets it
            while (now := time.monotonic_ns()) < due:
                yield (due - now) / 1e9
                turn = time.monotonic_ns()
            yield [load.fill(TIMED, number, turn)]
            due += 1_000_000_000 // RATE
        yield [load.fill(END, int(load.seconds * RATE))]
        yield from self.until_ended(2)
        self.finish(report)

    def until_ended(self, phase: int) -> Iterator[float]:
        while min(self.board.ended[:]) < phase:
            yield PAUSE


def drive(feed: Feed, send: Callable[[list[bytes]], None], batch: int, window: int = 0) -> None:
    for step in feed.steps(batch, window):
        if isinstance(step, float):
            time.sleep(step)
        else:
            send(step)


async def drive_async(feed: Feed, send: Callable[[list[bytes]], Awaitable[None]], batch: int, window: int = 0) -> None:
    for step in feed.steps(batch, window):
        if isinstance(step, float):
            await asyncio.sleep(step)
        else:
            await send(step)


class Tally:
    """A subscriber's side: is this the payload that had to come next?

    When all has come it reports. The subscriber stays: others may still need it.
    """

    def __init__(
        self, load: Load, board: Board, me: int, ready: Callable[[], None], finish: Callable[[Heard], None]
    ) -> None:
        self.board, self.me = board, me
        self.ready = ready  # to be called when the subscription stands
        self.finish = finish
        self.cycle = load.cycle()
        self.strip = self.cycle * (LIST_MAX // CYCLE + 1)
        self.count = 0  # payloads of this phase
        self.report = Heard()

    def take(self, payload: bytes) -> None:
        count = self.count
        if payload == self.cycle[count % CYCLE]:
            self.count = count + 1
            if not count % 64:
                self.board.heard[self.me] = count
        else:
            self.take_apart(payload)

    def take_many(self, payloads: list[bytes]) -> None:
        at = self.count % CYCLE
        if payloads == self.strip[at : at + len(payloads)]:
            self.count += len(payloads)
            self.board.heard[self.me] = self.count
        else:  # the end is among them, or phase two, or something is wrong, or it is a very long list
            for payload in payloads:
                self.take(payload)

    def take_apart(self, payload: bytes) -> None:
        now = time.monotonic_ns()
        kind, number, at = HEAD.unpack_from(payload)
        if kind == PROBE:
            self.board.heard[self.me] = 0
        elif kind == END:
            self.end(now, number)
        else:
            wanted = self.count if kind == TIMED else self.count % CYCLE
            if (kind == NUMBERED or number != wanted) and len(self.report.faults) < 3:  # `take` has compared the former
                self.report.faults.append(f"payload {self.count} is {number}, not {wanted} as it was sent")
            self.count += 1
            if kind == TIMED:
                self.report.latencies.append(now - at)
            else:
                self.board.heard[self.me] = self.count

    def end(self, now: int, sent: int) -> None:
        if self.count != sent:
            self.report.faults.append(f"{self.count:,} of {sent:,} payloads")
        board, me = self.board, self.me
        if board.ended[me] == 0:
            self.report.ended = now
        board.heard[me] = self.count
        self.count = 0
        board.ended[me] += 1
        if board.ended[me] == PHASES:
            self.finish(self.report)


def cpu_seconds(processes: list[int]) -> float:
    """Used so far by all threads of these processes, in user and kernel mode. Linux counts in hundredths."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def run(main: Coroutine[Any, Any, None]) -> None:
    """On uvloop where it is installed, for all that use asyncio alike."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


def loop_version() -> str:
    try:
        return f"uvloop {version('uvloop')}"
    except ImportError:  # PackageNotFoundError is one
        return "asyncio's own loop"
