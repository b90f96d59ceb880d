"""One heat: one contestant, one publisher and its subscribers, each a process of its own on this machine.

Order of start: the server if there is one, the publisher (it says where it listens), the subscribers (each says that it
stands), and only then the word to begin, all over pipes. At the end, whatever happened, no child is left.
"""

from __future__ import annotations

import cProfile
import io
import multiprocessing
import pstats
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Self, TypeVar

from contestants import contestant

from race.load import PHASES, Board, Feed, Heard, Load, Published, Tally

T = TypeVar("T")

SPAWN = multiprocessing.get_context("spawn")  # a fresh interpreter each: no thread or socket of another's
START_SECONDS = 60.0  # ten interpreters on few cores
SLACK_SECONDS = 30.0  # to drain what is queued when the publisher stops
PROFILE_LINES = 18


class Broken(Exception):
    """This heat has no figures; the text says why."""


@dataclass(frozen=True, slots=True)
class Figures:
    deliveries_per_second: float
    cpu_seconds_per_million: float
    latency_us_p50: float
    latency_us_p99: float


@dataclass(slots=True)
class Failed:
    reason: str


@dataclass(slots=True)
class Profile:
    text: str


def run_heat(name: str, load: Load, profile: bool = False) -> tuple[Figures, list[str]]:
    """The figures; with `profile`, also where the publisher and one subscriber spend their time."""
    board = Board(load.subscribers)
    with contestant(name).server() or nullcontext(("", 0)) as (address, server), Crew(board) as crew:
        crew.allow(START_SECONDS)
        publisher = crew.start("publisher", publish, name, load, board, address, profile)
        [address] = crew.gather([publisher], str)
        subscribers = [
            crew.start(f"subscriber {me}", subscribe, name, load, board, address, profile and me == 0, me)
            for me in range(load.subscribers)
        ]
        crew.gather(subscribers, str)
        crew.allow(PHASES * load.seconds + SLACK_SECONDS)
        publisher.pipe.send([child.process.pid for child in crew.children] + [server] * (server > 0))
        heard = crew.gather(subscribers, Heard)
        [published] = crew.gather([publisher], Published)
        profiles = crew.gather([publisher, subscribers[0]], Profile) if profile else []
    return figures(published, heard), [p.text for p in profiles]


def figures(published: Published, heard: list[Heard]) -> Figures:
    faults = [f"subscriber {me}: {fault}" for me, one in enumerate(heard) for fault in one.faults]
    if faults:
        raise Broken(f"lost: {'; '.join(faults[:3])}")
    deliveries = published.sent * len(heard)
    seconds = (max(one.ended for one in heard) - published.began) / 1e9
    latencies = [latency / 1e3 for one in heard for latency in one.latencies]
    hundredths = statistics.quantiles(latencies, n=100)
    return Figures(deliveries / seconds, published.cpu / deliveries * 1e6, hundredths[49], hundredths[98])


@dataclass(slots=True)
class Child:
    process: BaseProcess
    pipe: Connection
    said: list[Any] = field(default_factory=list)


class Crew:
    """The processes of a heat: heard together, ended together."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.children: list[Child] = []
        self.until = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self.children:
            child.process.kill()
        for child in self.children:
            child.process.join()

    def allow(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds

    def start(self, title: str, work: Callable[..., None], *arguments: object) -> Child:
        mine, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=work, args=(theirs, *arguments), name=title, daemon=True)
        process.start()
        theirs.close()
        self.children.append(Child(process, mine))
        return self.children[-1]

    def gather(self, wanted: list[Child], kind: type[T]) -> list[T]:
        """One word of this kind from each of these; an accident of any child ends the heat."""
        while not all(child.said for child in wanted):
            at_pipe = {child.pipe: child for child in self.children if not child.pipe.closed}
            ready = wait(at_pipe, timeout=max(0.0, self.until - time.monotonic()))
            if not ready:
                heard = ", ".join(f"{n:,}" for n in self.board.heard)
                raise Broken(f"lost or stuck: {self.board.sent[0]:,} sent, at the time limit heard {heard}")
            for pipe in ready:
                listen(at_pipe[pipe])  # type: ignore[index]
            if gone := next((c for c in wanted if c.pipe.closed and not c.said), None):
                raise Broken(f"{gone.process.name} ended without a word")
        words = [child.said.pop(0) for child in wanted]
        assert all(isinstance(word, kind) for word in words), words
        return words


def listen(child: Child) -> None:
    try:
        word = child.pipe.recv()
    except EOFError:
        child.pipe.close()
        return
    if isinstance(word, Failed):
        raise Broken(f"{child.process.name}: {word.reason}")
    child.said.append(word)


def publish(pipe: Connection, name: str, load: Load, board: Board, address: str, profile: bool) -> None:
    with reporting(pipe, profile) as finish:
        contestant(name).publisher(address, Feed(load, board, pipe, finish))


def subscribe(pipe: Connection, name: str, load: Load, board: Board, address: str, profile: bool, me: int) -> None:
    with reporting(pipe, profile) as finish:
        contestant(name).subscriber(address, Tally(load, board, me, lambda: pipe.send("ready"), finish))


@contextmanager
def reporting(pipe: Connection, profile: bool) -> Iterator[Callable[[object], None]]:
    """A child's life. Nothing may escape it: the parent hears the reason and ends the heat."""
    profiler = cProfile.Profile(time.process_time)  # CPU time: waiting does not count

    def finish(report: object) -> None:
        profiler.disable()
        pipe.send(report)
        if profile:
            pipe.send(Profile(top_lines(profiler)))

    try:
        if profile:
            profiler.enable()
        yield finish
    except BaseException as accident:
        pipe.send(Failed(f"{type(accident).__name__}: {accident}"))


def top_lines(profiler: cProfile.Profile) -> str:
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("tottime").print_stats(PROFILE_LINES)
    return text.getvalue().strip()
