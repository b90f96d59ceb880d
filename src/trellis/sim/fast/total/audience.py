"""Who subscribes to what and who asks when, by a power law. Answers to scenario/popularity.py and parts/groups.py.

The draws are those of draw.py, floats are added and multiplied in its order. What is kept otherwise: topics are
numbers; the group of a topic (Definition 1) is counted once for all desks, since nobody joins or leaves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trellis import draw
from trellis.protocols.parts.groups import ALONE
from trellis.scenario.model import Popular, Requests, Scenario
from trellis.scenario.popularity import Law
from trellis.sim.fast.jit import compiled, go_on, inlined, ln
from trellis.sim.fast.memory import Block

ELEVEN = np.uint64(11)
TINY = 2.0**-53


class Audience(NamedTuple):
    """The clients of a scenario: topics of each, and what they ask for, by time and client."""

    first: int  # the first of them
    topics: Block  # per client: its topics
    at: Block
    who: Block  # nodes
    which: Block  # of the client's topics


def audience(scenario: Scenario, spec: Popular, workload: Requests) -> Audience:
    law = Law(scenario, spec)
    first, count, each = spec.clients, scenario.nodes.count - spec.clients, spec.each
    weights = np.array(law.weights, np.int64)
    ranks = np.zeros((count, each), np.int64)
    most = round(1.2 * count * workload.until / workload.interval) + 1000
    luck = [word_of(draw.draw(scenario.seed, purpose)) for purpose in (draw.INTEREST, draw.INTERVAL, draw.TOPIC)]
    with np.errstate(over="ignore"):
        interests(luck[0], first, weights, int(weights.sum()), np.zeros_like(weights), ranks)
        while True:
            asked = np.zeros((most, 3), np.int64)
            found = requests(luck[1], luck[2], first, weights[ranks], workload.interval, workload.until, asked)
            if found <= most:
                break
            most = found
    asked = asked[:found]
    asked = asked[np.lexsort((asked[:, 1], asked[:, 0]))]
    begins = np.array([law.first(first + n) for n in range(count)], np.int64)
    topics = (begins[:, None] + ranks) % spec.topics
    return Audience(first, topics, asked[:, 0].copy(), asked[:, 1].copy(), asked[:, 2].copy())


def word_of(drawn: int) -> np.int64:
    """A word of 64 bits, as a block has it."""
    return np.uint64(drawn).astype(np.int64)


@compiled
def interests(luck: np.int64, first: int, weights: Block, total: int, left: Block, ranks: Block) -> None:
    """`draw.interests` of each client."""
    for n in range(ranks.shape[0]):
        rest = total
        for k in range(len(weights)):
            left[k] = weights[k]
        word = go_on(np.uint64(luck), first + n)
        for turn in range(ranks.shape[1]):
            at = np.int64(go_on(word, turn) % np.uint64(rest))
            rank = 0
            while at >= left[rank]:
                at -= left[rank]
                rank += 1
            rest -= left[rank]
            left[rank] = 0
            ranks[n, turn] = rank


@compiled
def requests(
    lapses: np.int64, choices: np.int64, first: int, weights: Block, mean: int, until: int, asked: Block
) -> int:
    """`popularity.requests`: time, client and which of its topics; how many there are, also if not all have room."""
    found = 0
    for n in range(weights.shape[0]):
        lapse, choice = go_on(np.uint64(lapses), first + n), go_on(np.uint64(choices), first + n)
        total, at, turn = 0, np.int64(0), 0
        for k in range(weights.shape[1]):
            total += weights[n, k]
        while True:
            at += exponential(go_on(lapse, turn), mean)
            if at > until:
                break
            left, k = np.int64(go_on(choice, turn) % np.uint64(total)) - weights[n, 0], 0
            while left >= 0:
                k += 1
                left -= weights[n, k]
            if found < len(asked):
                asked[found, 0], asked[found, 1], asked[found, 2] = at, first + n, k
            found += 1
            turn += 1
    return found


@inlined
def exponential(word: np.uint64, mean: int) -> np.int64:
    """`draw.exponential`."""
    return max(np.int64(1), np.int64(np.rint(-mean * ln(1.0 - np.float64(word >> ELEVEN) * TINY))))


def groups(topics: Block, homes: Block, desks: int, rule: str) -> tuple[Block, Block]:
    """Of each topic the others of its group, those of one desk together; and where those of (topic, desk) begin."""
    count = len(homes)
    starts = np.zeros(count * desks + 1, np.int64)
    if rule == ALONE:
        return np.zeros(0, np.int64), starts
    each = topics.shape[1]
    order = np.argsort(topics.ravel(), kind="stable")
    holders, upto = order // each, np.searchsorted(topics.ravel()[order], np.arange(count + 1))
    ranked = np.argsort(homes, kind="stable")
    others = np.zeros(count * count, np.int64)
    found = share(topics, holders, upto, ranked, homes, desks, np.zeros(count, np.int64), others, starts)
    return others[:found].copy(), starts


@compiled
def share(
    topics: Block, holders: Block, upto: Block, ranked: Block, homes: Block, desks: int, both: Block, others: Block,
    starts: Block,
) -> int:  # fmt: skip
    """What two subscriptions share with each topic."""
    found, count = 0, len(homes)
    for topic in range(count):
        for k in range(count):
            both[k] = 0
        for k in range(upto[topic], upto[topic + 1]):
            for n in range(topics.shape[1]):
                both[topics[holders[k], n]] += 1
        at = 0
        for desk in range(desks):
            starts[topic * desks + desk] = found
            while at < count and homes[ranked[at]] == desk:
                if both[ranked[at]] >= 2 and ranked[at] != topic:
                    others[found] = ranked[at]
                    found += 1
                at += 1
    starts[count * desks] = found
    return found
