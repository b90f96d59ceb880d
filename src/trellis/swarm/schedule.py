"""One seed is one world: a random schedule of joins, leaves and publications, as a scenario.

Promises: the schedule does not depend on the stack that will run it, so two stacks can be tried under the same luck;
          but those whose order reaches across topics have other schedules than the rest.
          Only an overlay that relies on FIFO links always gets them; others are also tried with packets that overtake.
"""

from __future__ import annotations

import msgspec

from trellis import draw
from trellis.audit import PROMISES
from trellis.protocols import ORDERINGS, needs_fifo_links, rounds_to_settle
from trellis.protocols.orderings.total import Total
from trellis.scenario.model import (
    Change,
    Crash,
    Explicit,
    Faults,
    Lose,
    Matrix,
    Nodes,
    Pause,
    Publication,
    Random,
    Scenario,
    Script,
    Sever,
    StackSpec,
)
from trellis.scenario.plan import plan
from trellis.swarm.crossing import crossing
from trellis.swarm.dice import Dice, uneven_links
from trellis.words import NodeId, Time

NODES_MIN, NODES_MAX = 8, 32
REPLIES = ("STAMP", "ADMIT")  # of topic managers: to a publisher, to a subscriber
PATIENCE = 50_000
COPIES = 3  # of the book of a desk, where things break


World = tuple[list[int], list[Change], list[Publication]]  # standing members, joins and leaves, publications


def schedule(seed: int, overlay: str, ordering: str) -> Scenario:
    """8 to 32 nodes (any number) on one topic or two; who joins may leave and come back.

    Two of three seeds are calm: many members, some of whom change, and links that are alike. The third is restless: a
    few nodes come and go all the time, also until nobody is left, and some links are a thousand times slower.

    An order that reaches across topics is tried on more topics, by fewer nodes (crossing.py).
    """
    if "total" in PROMISES[ordering]:
        return crossing(seed, overlay, ordering)
    dice = Dice(seed)
    restless = draw.draw(seed, draw.SWARM, 0) % 3 == 2
    count = dice.between(NODES_MIN, NODES_MAX)
    horizon = dice.one_of([300, 1000, 3000])
    high = dice.one_of([10, 100, 400])
    members: dict[str, list[int]] = {}
    changes: list[Change] = []
    said: list[Publication] = []
    for topic in ["a", "b"][: dice.one_of([1, 1, 1, 2])]:
        world = restless_topic(dice, topic, count) if restless else calm_topic(dice, topic, count, horizon)
        members[topic] = world[0]
        changes += world[1]
        said += world[2]
    service = dice.one_of([0, 0, 1, 3])
    fifo = dice.one_of([1, 1, 0]) == 1 or bool(needs_fifo_links(overlay, ordering))
    return Scenario(
        name=f"swarm-{seed}",
        seed=seed,
        stack=StackSpec(overlay=overlay, ordering=ordering),
        nodes=Nodes(count=count),
        subscriptions=Explicit(members=members, changes=changes),
        workload=Script(messages=said),
        network=uneven_links(dice, count, service)
        if restless
        else Random(low=1, high=high, service=service, fifo=fifo),
    )


PACKETS = 40  # that a node may send in one round, at most
LONG = 60_000  # many times what the slowest links of a world take


def break_things(scenario: Scenario) -> Scenario:
    """The same schedule in a world that fails: nodes crash, some come back, some stand still, links are cut.

    Everything heals in the end but for the nodes that stay dead. Some nodes keep so little that gaps must be announced.
    """
    assert isinstance(scenario.workload, Script)
    dice = Dice(scenario.seed, draw.FAULTS)
    count = scenario.nodes.count
    horizon = max([100, *(said.at for said in scenario.workload.messages)])
    notice = dice.one_of([10, 50, 200, 800])
    spans = [notice // 2 + 1, 2 * notice, 5 * notice, 20 * notice]
    events: list[Crash | Pause | Sever] = []
    for _ in range(dice.between(1, 6)):
        at, node, span = dice.between(0, horizon), dice.between(0, count - 1), dice.one_of(spans)
        what = dice.between(0, 9)
        if what < 2:
            events.append(Crash(at=at, node=node))
        elif what < 5:
            events.append(Crash(at=at, node=node, restart=at + span))
        elif what < 7:
            events.append(Pause(at=at, node=node, span=span))
        else:
            other = (node + dice.between(1, count - 1)) % count
            events.append(Sever(at=at, node=node, other=other, span=span))
    if dice.between(0, 3) == 0:  # a split: one side against the other
        at, span, half = dice.between(0, horizon), dice.one_of(spans), dice.between(1, count - 1)
        events += [Sever(at=at, node=a, other=b, span=span) for a in range(half) for b in range(half, count)]
    stack = msgspec.structs.replace(
        scenario.stack, repair=dice.one_of([20, 100, 500]), keep=dice.one_of([3, 10_000, 10_000, 10_000])
    )
    if "copies" in ORDERINGS[stack.ordering].options:
        lease = dice.one_of([0, 0, LONG])
        stack = msgspec.structs.replace(stack, copies=COPIES, retry=2 * notice, lease=lease)
        if lease:  # somebody comes back when it was given up
            at, node = dice.between(0, horizon), dice.between(0, count - 1)
            events += [Sever(at=at, node=node, other=other, span=2 * LONG) for other in range(count) if other != node]
        events = spare_a_majority(events, stack, 3 * notice)
    return msgspec.structs.replace(scenario, stack=stack, faults=Faults(events=events, notice=notice))


def spare_a_majority(events: list[Crash | Pause | Sever], stack: StackSpec, span: Time) -> list[Crash | Pause | Sever]:
    """Of the hosts of desks at most one stays dead, and only where that leaves a majority of the copies."""
    desks = stack.options().get("desks", Total.options["desks"])
    lost = COPIES - 1 - COPIES // 2 if desks >= COPIES else 0
    spared = []
    for event in events:
        if isinstance(event, Crash) and event.restart is None and event.node < desks:
            lost -= 1
            if lost < 0:
                event = msgspec.structs.replace(event, restart=event.at + span)
        spared.append(event)
    return spared


def beat(scenario: Scenario) -> Scenario:
    """The same schedule for an overlay that acts in rounds: at times one is about as long as a packet takes at most, at
    times shorter. It ends when all has settled.
    """
    dice = Dice(scenario.seed, draw.BEAT)
    period = max(5, slowest(scenario) // dice.one_of([1, 1, 2])) + PACKETS * getattr(scenario.network, "service", 0)
    actions = plan(msgspec.structs.replace(scenario, end=None)).actions
    last = max([scenario.last_cause(), *(action.at for action in actions[-1:])])
    stack = msgspec.structs.replace(scenario.stack, period=period)
    if stack.options().get("repair") is not None:
        stack = msgspec.structs.replace(stack, repair=1)
    return msgspec.structs.replace(scenario, stack=stack, end=last + (1 + rounds_to_settle(stack.overlay)) * period)


def slowest(scenario: Scenario) -> Time:
    network = scenario.network
    if isinstance(network, Random):
        return network.high
    return max(map(max, network.rows)) if isinstance(network, Matrix) else 1


def lose_replies(scenario: Scenario, share: float) -> Scenario:
    """The same schedule where a share of the sequencer's replies never arrive. Who waits asks again, long after the
    slowest reply would have come: never because it is only late.
    """
    faults = scenario.faults if isinstance(scenario.faults, Faults) else Faults()
    lose = [Lose(packet=kind, share=share) for kind in REPLIES]
    stack = msgspec.structs.replace(scenario.stack, retry=PATIENCE)
    return msgspec.structs.replace(scenario, stack=stack, faults=msgspec.structs.replace(faults, lose=lose))


def make_hasty(scenario: Scenario) -> Scenario:
    """The same schedule among subscribers that hold back few messages, or none for long."""
    dice = Dice(scenario.seed, draw.HASTE)
    room, ttl = dice.one_of([0, 1, 2, 5]), dice.one_of([0, 3, 20, 100, 400])
    stack = msgspec.structs.replace(scenario.stack, buffer=room, ttl=ttl if room or ttl else 10)
    return msgspec.structs.replace(scenario, stack=stack)


def restless_topic(dice: Dice, topic: str, count: int) -> World:
    """A pool of three to six nodes joins, leaves and speaks, at times in quick succession."""
    pool = draw.sample(dice.seed, draw.SWARM, range(count), dice.between(3, 6), draw.key_of(topic))
    standing = sorted({dice.one_of(pool) for _ in range(dice.between(1, 3))})
    inside: list[NodeId] = list(standing)
    changes: list[Change] = []
    said: list[Publication] = []
    at = 0
    for _ in range(dice.between(8, 40)):
        at += dice.one_of([1, 2, 5, 40, 150, 500])
        what = dice.between(0, 9)
        outside = [node for node in pool if node not in inside]
        if what < 3 and outside:
            inside.append(dice.one_of(outside))
            changes.append(Change(at=at, node=inside[-1], topic=topic, do="join"))
        elif what < 6 and inside:
            changes.append(Change(at=at, node=inside.pop(dice.between(0, len(inside) - 1)), topic=topic, do="leave"))
        elif inside:
            said.append(Publication(at=at, node=dice.one_of(inside), topic=topic, payload=f"{len(said)}"))
    return standing, changes, said


def calm_topic(dice: Dice, topic: str, count: int, horizon: Time) -> World:
    """Walk through the horizon; at each step somebody joins, leaves or speaks."""
    order = sorted(range(count), key=lambda node: (draw.draw(dice.seed, draw.SWARM, draw.key_of(topic), node), node))
    standing = sorted(order[: dice.between(2, min(8, count - 1))])
    inside: list[NodeId] = list(standing)
    changes: list[Change] = []
    said: list[Publication] = []
    joins, leaves, words = dice.between(1, 6), dice.between(0, 4), dice.between(4, 24)
    moments = sorted({dice.between(0, horizon) for _ in range(joins + leaves + words)})
    for at in moments:
        what = dice.between(1, joins + leaves + words)
        if what <= joins:
            outside = [node for node in range(count) if node not in inside]
            if outside:
                node = dice.one_of(outside)
                inside.append(node)
                changes.append(Change(at=at, node=node, topic=topic, do="join"))
            joins -= 1
        elif what <= joins + leaves:
            if len(inside) > 1:
                node = dice.one_of(inside)
                inside.remove(node)
                changes.append(Change(at=at, node=node, topic=topic, do="leave"))
            leaves -= 1
        else:
            said.append(Publication(at=at, node=dice.one_of(inside), topic=topic, payload=f"{len(said)}"))
            words -= 1
    return standing, changes, said
