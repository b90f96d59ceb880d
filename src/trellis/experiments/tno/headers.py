"""Header bytes per delivered event, before and after deltas per link.

Source:   ours, in the setting of TNO Figure 7 at 10 topics a client; the paper counts entries and ships all of them.
"""

from __future__ import annotations

import importlib.util
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from trellis import draw
from trellis.errors import UnsupportedByEngine
from trellis.experiments import tasks
from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Row, Rows, average, pick, ratio
from trellis.experiments.tno.fig7 import CLIENTS
from trellis.experiments.tno.stamping import SHAPE, SHAPES, TOPICS
from trellis.metrics.summary import Interval
from trellis.protocols.parts.deltas import Restorer, Shortener, only
from trellis.protocols.parts.groups import SHARED, Groups
from trellis.sim import AUTO, ENGINES, FAST, REFERENCE
from trellis.sim.fast import INSTEAD
from trellis.words import Stamp

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

EACH_CLIENT = 10
LINK, EVENTS = "link", "events"
CLIENT, TRUNK = "client", "trunk"
PLAIN, ZLIB, DELTAS, WANTED = "plain", "zlib", "deltas", "deltas, wanted"
LARGE = 10_000  # events times links from which on the compiled form is worth loading the compiler
BEFORE = 1_000_000  # events published before the first that is measured: numbers have the bytes of a system that runs


class Wire:
    """One link, and what four ways of writing timestamps take on it."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self.wanted = wanted  # the topics of those at its other end
        self.bytes = dict.fromkeys((PLAIN, ZLIB, DELTAS, WANTED), 0)
        self.carried = self.entries = 0
        self.whole, self.part = Shortener(), Shortener()
        self.other_whole, self.other_part = Restorer(), Restorer()
        self.stream = zlib.compressobj(1)

    def carry(self, topic: str, stamp: Stamp, plain: bytes) -> None:
        self.carried += 1
        self.entries += len(stamp)
        self.bytes[PLAIN] += len(plain)
        self.squeeze(plain)
        self.bytes[DELTAS] += self.over(self.whole, self.other_whole, topic, stamp)
        self.bytes[WANTED] += self.over(self.part, self.other_part, topic, only(stamp, self.wanted))

    def squeeze(self, plain: bytes | memoryview) -> None:
        self.bytes[ZLIB] += len(self.stream.compress(plain)) + len(self.stream.flush(zlib.Z_SYNC_FLUSH))

    def over(self, here: Shortener, there: Restorer, topic: str, stamp: Stamp) -> int:
        sent = here.shorten(topic, stamp)
        if there.restore(topic, sent) != stamp:
            raise AssertionError(f"event {self.carried} on {topic}: not what was sent")
        return len(sent)


def rows_of(shape: float, kind: str, events: tuple[int, ...], links: int, engine: str = AUTO) -> Rows:
    """Events one after the other, numbered at one place; links know nothing at first. One row after each count.

    Both engines give the same rows, but for their cell `engine`.
    """
    weights = draw.zipf_weights(TOPICS, 1 + shape)
    names = [f"t{rank}" for rank in range(TOPICS)]
    interests = [
        frozenset(names[rank] for rank in draw.interests(0, client, weights, EACH_CLIENT)) for client in range(CLIENTS)
    ]
    groups = Groups(SHARED)
    for client, topics in enumerate(interests):
        groups.change((client, 0), topics)
    chosen = draw.sample(0, draw.SUBSCRIBERS, range(CLIENTS), links)
    wires = [Wire(frozenset(names))] if kind == TRUNK else [Wire(interests[client]) for client in chosen]
    sorted_groups = {name: sorted(groups.of(name)) for name in names}
    upto = list(accumulate(weights))
    numbers = {name: BEFORE * weight // upto[-1] for name, weight in zip(names, weights, strict=True)}
    topics_of = [names[bisect_right(upto, draw.draw(0, draw.TOPIC, n) % upto[-1])] for n in range(events[-1])]
    found, engine = [], engine_for(engine, len(wires) * events[-1])
    carry = carry_compiled if engine == FAST else carry_all
    for count in carry(wires, sorted_groups, numbers, topics_of, events):
        row = row_of({SHAPE: shape, LINK: kind, EVENTS: count}, wires)
        found.append(row | {"topics": sum(map(len, sorted_groups.values())) / TOPICS, "engine": engine})
    return found


def engine_for(engine: str, carried: int) -> str:
    """Which one is meant; for so many events times links, if that is to be decided here."""
    if engine not in ENGINES:
        raise UnsupportedByEngine(f"engine {engine!r}: no such engine; there are {', '.join(ENGINES)}")
    here = importlib.util.find_spec("numba") is not None
    if engine == FAST and not here:
        raise UnsupportedByEngine(f"Numba is not installed: pip install 'trellis[fast]', or {INSTEAD}")
    if engine == AUTO:
        return FAST if here and carried >= LARGE else REFERENCE
    return engine


def carry_all(
    wires: list[Wire], groups: dict[str, list[str]], numbers: dict[str, int], events: list[str], counts: tuple[int, ...]
) -> Iterator[int]:
    """Events on these topics; stops after each count."""
    for event, topic in enumerate(events):
        numbers[topic] += 1
        hearing = [wire for wire in wires if topic in wire.wanted]
        if hearing:
            stamp = tuple((name, numbers[name]) for name in groups[topic])
            plain = msgspec.msgpack.encode(stamp)
            for wire in hearing:
                wire.carry(topic, stamp, plain)
        if event + 1 in counts:
            yield event + 1


def carry_compiled(
    wires: list[Wire], groups: dict[str, list[str]], numbers: dict[str, int], events: list[str], counts: tuple[int, ...]
) -> Iterator[int]:
    """The same, compiled but for the streams of zlib: they are what they are."""
    from trellis.sim.fast.total import headers as links  # it needs Numba

    names = sorted(groups)
    code = {name: n for n, name in enumerate(names)}
    wanted = np.array([[name in wire.wanted for name in names] for wire in wires], np.int64)
    kernel = links.Links(names, [[code[name] for name in groups[topic]] for topic in names], wanted)
    now, told = np.array([numbers[name] for name in names], np.int64), np.array([code[topic] for topic in events])
    hearing = [[wire for wire, wants in zip(wires, column, strict=True) if wants] for column in wanted.T]
    stops = sorted({*range(0, len(events), links.AT_ONCE), *counts})
    for start, stop in pairwise(stops):
        for topic, plain in zip(told[start:stop].tolist(), kernel.carry(told[start:stop], now), strict=True):
            for wire in hearing[topic]:
                wire.squeeze(plain)
        if stop in counts:
            for wire, tally in zip(wires, kernel.tally.tolist(), strict=True):
                wire.carried, wire.entries, wire.bytes[PLAIN], wire.bytes[DELTAS], wire.bytes[WANTED] = tally
            yield stop


def row_of(settings: Row, wires: list[Wire]) -> Row:
    """Per event that a link carried."""
    carried = sum(wire.carried for wire in wires)
    return {
        "run": " ".join(map(str, settings.values())),
        "settings": settings,
        "sent": {},
        "carried": carried,
        "entries": sum(wire.entries for wire in wires) / max(1, carried),
        "bytes": {way: sum(wire.bytes[way] for wire in wires) / max(1, carried) for way in wires[0].bytes},
    }


def rows(shop: Workshop, scale: Scale, engine: str = AUTO) -> Rows:
    counts, links = ((1000, 10_000, 100_000), 100) if scale == "paper" else ((1000, 10_000), 4)
    work = [(shape, kind, counts, links, engine) for kind in (CLIENT, TRUNK) for shape in reversed(SHAPES)]
    return tasks.on_spark(shop, work, lambda each: rows_of(*each), lambda each: -each[0])  # the flatter, the longer


def last(rows: Rows, shape: float, kind: str, value: Callable[[Row], float]) -> Interval | None:
    """Of such a link, at the largest number of events that was run."""
    chosen = pick(rows, {SHAPE: shape, LINK: kind})
    most = max((row["settings"][EVENTS] for row in chosen), default=0)
    return average(pick(chosen, {EVENTS: most}), value)


def size(rows: Rows, shape: float, kind: str, way: str) -> Interval | None:
    """Bytes per event."""
    return last(rows, shape, kind, lambda row: row["bytes"][way])


def gain(rows: Rows, shape: float, kind: str, way: str) -> Interval | None:
    return ratio(size(rows, shape, kind, PLAIN), size(rows, shape, kind, way))


def bars(name: str, color: int, found: dict[str, Interval | None]) -> Series:
    return Series(name, {x: bar for x, bar in found.items() if bar is not None}, False, color)


def charts(rows: Rows) -> list[Chart]:
    counted = (
        ("over topics", CLIENT, lambda row: row["topics"]),
        ("over events that a client gets", CLIENT, lambda row: row["entries"]),
        ("over all events", TRUNK, lambda row: row["entries"]),
    )
    series = [
        bars(name, color, {f"{shape}": last(rows, shape, kind, value) for shape in SHAPES})
        for color, (name, kind, value) in enumerate(counted)
    ]
    found = [Chart("Entries of a timestamp, by what the mean is taken over", "bars", "", "entries", series)]
    for kind, title in (
        (CLIENT, "the link of a client, which brings its 10 topics"),
        (TRUNK, "a link that carries all"),
    ):
        series = [
            bars(way, color, {f"{shape}": size(rows, shape, kind, way) for shape in SHAPES})
            for color, way in ((2, PLAIN), (3, ZLIB), (0, DELTAS), (1, WANTED))
        ]
        events = max((row["settings"][EVENTS] for row in rows), default=0)
        note = f"{events:,} events; links know nothing at first; zlib is one stream per link, flushed each time."
        found.append(Chart(f"Header bytes per event: {title}", "bars", "", "bytes", series, log_y=True, note=note))
    return found


EXPERIMENT = Experiment(
    id="headers",
    title="Header bytes per delivered event",
    source="Not in the paper; the setting of Fig. 7 at 10 topics a client",
    about="Events are published by the law of Figure 7 and carry their timestamps over links: to clients (a sample of "
    "the 10,000, each with a link that brings its ten topics), or over one link that carries everything. `plain` is "
    "the timestamp as msgpack; `deltas` are the entries that changed since the last event of that topic on that link "
    "(src/trellis/protocols/parts/deltas.py; the reference decodes and compares every one); `deltas, wanted` also "
    "leave out topics to which nobody at the other end subscribes. A million events went before, so that "
    "numbers have the length of a running system; links begin without knowledge. The wanted factor of 10 is ours.",
    grids=lambda scale: [],
    claims=[
        Claim(
            f"wanted, not published: {shape}, {link} link: plain over {way}",
            10.0,
            lambda rows, shape=shape, link=link, way=way: gain(rows, shape, link, way),  # type: ignore[misc]
            "x",
            rule="at least",
            why="the first event of each topic on a link is sent whole, and most topics are rare",
        )
        for link in (CLIENT, TRUNK)
        for shape in SHAPES
        for way in ((DELTAS, WANTED) if link == CLIENT else (DELTAS,))
    ],
    charts=charts,
    tables=(Table("headers", rows, engines=True),),
)
