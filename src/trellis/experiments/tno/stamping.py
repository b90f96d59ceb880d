"""Runs of the timestamp generation alone: the real desks and publishers of `total`, and nobody who hears the messages.

Source:   TNO sections 5.1 and 5.2: five servers with 200 topic managers each, 1,000 clients, short and long links.
Promises: a row depends on its settings alone. Packets, queues and timestamps are those of the simulator; what a message
          does after it has its timestamp (diffusion and delivery) is left out, as in the paper.

**The server's capacity** is a parameter of the model: a server takes SERVICE to handle a packet. The paper has five
servers that make a little more than 4,000 timestamps a second at most when fed with 5,000 requests: 1,000 requests a
second each, so 1 ms. It is the same in all runs, and that the peak is where it is, is by fit.

**The clients.** "Under 300 ms up to 10,000 requests a second" and "a peak of 4,000 a second" cannot both be true of
clients that ask without waiting: the queues of saturated servers grow as long as the run lasts. They fit together if a
client waits for its timestamp before it asks for the next one: 1,000 clients that get 4,000 timestamps a second have
each waited 250 ms. So a client is patient, and those that are not are shown beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from trellis.effects import Effect, Send
from trellis.errors import UnsupportedByEngine
from trellis.events import Event, Standing
from trellis.experiments import tasks
from trellis.experiments.rows import Row, Rows
from trellis.machine import Machine, Place
from trellis.protocols.interest import Session
from trellis.protocols.layers import GAPLESS, START_CUT, Overlay
from trellis.protocols.orderings.total import Total
from trellis.protocols.parts.desk_packets import Climb, Climbed, Stamped
from trellis.protocols.parts.groups import ALONE, SHARED
from trellis.protocols.stack import Stack
from trellis.scenario import from_mapping
from trellis.scenario.check import check
from trellis.scenario.model import Scenario
from trellis.sim import AUTO, ENGINES, FAST, REFERENCE, Run, run
from trellis.sim.fast.total.desks import covers, is_worth_it
from trellis.trace import Trace
from trellis.words import Message, NodeId, Packet, Time, Topic

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop

Numbers = npt.NDArray[np.int64]

SITES, TOPICS, CLIENTS = 5, 1000, 1000
SERVICE = 1000  # microseconds
SHORT, LONG = (10_000, 2000), (100_000, 10_000)
SECOND = 1_000_000
RULE, SHAPE, RATE, EACH, PATIENT, DESKS = "rule", "shape", "rate", "each", "patient", "desks"
THOUSANDS = "thousands"  # of subscribed topics
SHAPES = (0.901, 0.349)


class Nowhere(Overlay):
    """Brings a message to nobody."""

    promise, source = "nothing", "ours: what is measured ends before diffusion"
    gives = frozenset({START_CUT, GAPLESS})

    def upon_receive(self, sender: NodeId, packet: Packet) -> None:
        raise AssertionError(f"{packet} from {sender}: nobody spreads anything")

    def upon_standing(self, topic: Topic, members: tuple[NodeId, ...]) -> None: ...
    def join(self, topic: Topic) -> None: ...
    def leave(self, topic: Topic) -> None: ...
    def spread(self, message: Message) -> None: ...


class Timed(Total):
    """Up to the timestamp; what a subscriber does with messages is left out."""

    def upon_arrive(self, session: Session, message: Message) -> None: ...


class TimedAlone(Timed):
    rule = ALONE


RULES: dict[str, type[Timed]] = {SHARED: Timed, ALONE: TimedAlone}


class Client(Stack):
    """Hears only of its own topics: a thousand clients need not be told of a thousand topics each."""

    def step(self, now: Time, event: Event) -> Sequence[Effect]:
        if type(event) is Standing and self.me not in event.members:
            return ()
        return super().step(now, event)


class Metered(Stack):
    """Counts the bytes of the timestamps that leave it: up to other desks, to whoever asked, and back to their home."""

    KINDS: ClassVar[dict[type[Packet], str]] = {Climb: "forwarded", Stamped: "answered", Climbed: "returned"}

    def __init__(self, ordering: Total, overlay: Overlay) -> None:
        super().__init__(ordering, overlay)
        self.bytes = dict.fromkeys(self.KINDS.values(), 0)

    def step(self, now: Time, event: Event) -> Sequence[Effect]:
        effects = super().step(now, event)
        for effect in effects:
            if isinstance(effect, Send) and (kind := self.KINDS.get(type(effect.packet))) is not None:
                packet: Any = effect.packet
                entries = packet.answer.entries if kind == "returned" else packet.entries
                self.bytes[kind] += len(msgspec.msgpack.encode(entries))
        return effects


def point(shape: float, rate: int, each: int = 10, rule: str = SHARED, desks: int = SITES, patient: bool = True) -> Row:
    """The settings of a run, all of them: what is not told is as in Figure 9."""
    return {SHAPE: shape, RATE: rate, EACH: each, RULE: rule, DESKS: desks, PATIENT: patient}


def scenario(point: Row, seconds: float, seed: int) -> Scenario:
    """A run of so many seconds; nothing is waited for after that."""
    desks, until = point[DESKS], round(seconds * SECOND)
    raw = {
        "name": "TNO section 5",
        "seed": seed,
        "stack": {"overlay": "vcube", "ordering": "total", "desks": desks, "block": TOPICS // desks},
        "nodes": {"count": SITES + CLIENTS},
        "subscriptions": {"kind": "popular", "topics": TOPICS, "each": point[EACH], "exponent": 1 + point[SHAPE],
                          "clients": SITES, "near": True},
        "workload": {"kind": "requests", "interval": CLIENTS * SECOND // point[RATE], "until": until,
                     "patient": point[PATIENT]},
        "network": {"kind": "sites", "sites": list(range(SITES)), "short": SHORT[0], "short_spread": SHORT[1],
                    "long": LONG[0], "long_spread": LONG[1], "servers": SITES, "service": SERVICE},
        "end": until,
    }  # fmt: skip
    found = from_mapping(raw)
    check(found)
    return found


def measured(point: Row, seconds: float, seed: int, engine: str = AUTO) -> Row:
    """Run one point. Everything is taken over the second half of the run: what was asked for before fills the links.

    Both engines give the same row, but for its cell `engine`.
    """
    asked = scenario(point, seconds, seed)
    found = stamped(asked, point[RULE], engine)
    half = round(seconds * SECOND) // 2
    late = found.stamped_at >= half
    latencies, entries = (found.stamped_at - found.asked_at)[late], found.entries[late]
    handled = [up + down for up, down in zip(found.forwarded, found.answered, strict=True)]
    return {
        "run": f"{asked.fingerprint()} {point[RULE]}",
        "settings": point | {THOUSANDS: point[EACH] * CLIENTS // 1000, "seed": seed},
        "sent": found.sent,
        "latency": float(latencies.mean()) / 1000 if len(latencies) else None,
        "slowest": float(np.quantile(latencies, 0.99)) / 1000 if len(latencies) else None,
        "throughput": len(latencies) * SECOND / (round(seconds * SECOND) - half),
        "entries": float(entries.mean()) if len(entries) else None,
        "outgoing": [100 * up / max(1, all_) for up, all_ in zip(found.forwarded, handled, strict=True)],
        "returned": sum(found.returned),
        "engine": found.engine,
    }


class Found(NamedTuple):
    """What a run is measured by, whichever engine made it."""

    asked_at: Numbers  # of each message that has its timestamp, in their order
    stamped_at: Numbers
    entries: Numbers
    sent: dict[str, int]  # packets by kind
    forwarded: list[int]  # per server: bytes of timestamps to other desks
    answered: list[int]  # to whoever asked
    returned: list[int]  # back to their home
    engine: str


def stamped(asked: Scenario, rule: str, engine: str = AUTO) -> Found:
    """Run a scenario up to the timestamps. `auto` takes the compiled engine for a large run that it has a twin for."""
    if engine not in ENGINES:
        raise UnsupportedByEngine(f"engine {engine!r}: no such engine; there are {', '.join(ENGINES)}")
    if engine == FAST or (engine == AUTO and is_for_the_compiled(asked, rule)):
        covers(asked, rule)
        from trellis.sim.fast.total.sequencing import Sequencing  # it needs Numba

        compiled = Sequencing(asked, rule)
        compiled.run()
        return Found(*compiled.found(), FAST)
    return found_of(*by_machines(asked, rule))


def is_for_the_compiled(asked: Scenario, rule: str) -> bool:
    try:
        covers(asked, rule)
    except UnsupportedByEngine:
        return False
    return is_worth_it(asked)


def by_machines(asked: Scenario, rule: str) -> tuple[Run, list[Metered]]:
    """The run, and its servers."""
    servers: list[Metered] = []
    first = getattr(asked.subscriptions, "clients", 0)

    def build(place: Place) -> Machine:
        ordering = RULES[rule](place, **{**Total.options, **asked.stack.options()})
        made = (Metered if place.me < first else Client)(ordering, Nowhere(place))
        if isinstance(made, Metered):
            servers.append(made)
        return made

    return run(asked, build=build), servers


def found_of(run: Run, servers: list[Metered]) -> Found:
    up, down, home = ([server.bytes[kind] for server in servers] for kind in Metered.KINDS.values())
    return Found(*waits(run.trace), packets(run.trace), up, down, home, REFERENCE)


def waits(trace: Trace) -> tuple[Numbers, Numbers, Numbers]:
    """Of the timestamps: when they were asked for, when they came, and how many entries they have."""
    begun = {(row.source, row.topic, row.seq): row.at for row in trace.of_kind("publish").rows()}
    done = list(trace.of_kind("spread").rows())
    asked_at = [begun[row.source, row.topic, row.seq] for row in done]
    cells = (asked_at, [row.at for row in done], [row.barrier for row in done])
    first, second, third = (np.array(each, np.int64) for each in cells)
    return first, second, third


def packets(trace: Trace) -> dict[str, int]:
    codes, names = trace.of_kind("send").words("packet")
    return {names[code]: int(count) for code, count in zip(*np.unique(codes, return_counts=True), strict=True)}


def on_spark(shop: Workshop, points: Sequence[Row], seconds: float, seeds: Sequence[int], engine: str = AUTO) -> Rows:
    """Every point with every seed."""
    work = [(point, seed) for point in points for seed in seeds]
    return tasks.on_spark(shop, work, lambda each: [measured(each[0], seconds, each[1], engine)], cost)


def cost(each: tuple[Row, int]) -> float:
    told: float = each[0][RATE] * each[0][EACH]
    return told
