"""Records of printed VCube-PS in a block of memory: what vcube_printed.py and those it is made of have in common."""

from __future__ import annotations

from trellis.sim.fast import network as net
from trellis.sim.fast.barriers import NEAR, OWN, SOURCE, TOPIC, USED_WAVES
from trellis.sim.fast.jit import inlined
from trellis.sim.fast.memory import Block, Table, base, counter, room
from trellis.sim.fast.trees import views as vws

PACKETS = ["", "SUB", "UNS", "PUB", "ACK"]
SUB, UNS, PUB, ACK = 1, 2, 3, 4

PLACES = Table(12, 16)  # a node on a topic: topic * nodes + node
FIRST_WAITING, LAST_WAITING, WAITERS = 0, 1, 2  # not_delvs, a chain
COLUMN = 3  # of the node among those that publish on the topic, or -1
SAID = 4  # what a barrier is made of (barriers.py)
IDLE = 8  # tasks that wait for the queue
FIRST_QUEUED, LAST_QUEUED, QUEUED = 9, 10, 11  # br_queue, a chain of waves
JOINED = 12  # the wave by which it last joined, -1 if it stands from before the run
LAPSES = 13  # how often a source fell back behind what was known of it
TRUSTED = 14  # from this wave on, what it has taken it has taken since `last_delvs` last fell back
KNOWN = Table(13, 1)  # per place, and node that publishes on its topic: first_rec and last_delvs, each plus one
HALF = 32  # bits; 0 is none
LOW = (1 << HALF) - 1
SLAB = NEAR  # of a wave: its `acks`
ACTING = OWN  # its source waits for acknowledgements
WAITS = Table(18, 4)  # messages that wait, in chains
MESSAGE, MISSING, LAPSE, BEHIND = 0, 1, 2, 3  # the predecessor that it waits for, since so many lapses

PARTS = [PLACES, KNOWN, WAITS]
AT_PLACES, AT_KNOWN, AT_WAITS = (base(part.number) for part in PARTS)
PLACE, WAIT = PLACES.width, WAITS.width
ROOM_WAITS, IN_WAITS, IN_VIEWS = room(WAITS.number), WAITS.number, 9

ORDERED, SPEAKERS = counter(20), counter(23)
USED_WAITS, FREE_WAIT = counter(28), counter(32)
JOINS = counter(34)  # whether anybody ever joins; if not, no ACK has anything to say that others do not know
FIXED = counter(40)  # whether nobody ever joins or leaves
ALL_QUEUED, ALL_WAITING = counter(41), counter(42)  # over all places


@inlined
def place(m: Block, topic: int, node: int) -> int:
    return m[AT_PLACES] + (topic * m[net.NODES] + node) * PLACE


@inlined
def number(m: Block, p: int) -> int:
    """Of a place."""
    return (p - m[AT_PLACES]) // PLACE


@inlined
def is_in(m: Block, p: int, me: int) -> bool:
    return vws.has_member(m, number(m, p), m[net.NODES], me)


@inlined
def update(m: Block, p: int, node: int, inside: int, rc: int) -> None:
    vws.update(m, number(m, p), m[net.NODES], node, inside, rc)


@inlined
def column(m: Block, w: int) -> int:
    """Of a wave's source among those that publish on its topic, or -1."""
    return m[place(m, m[w + TOPIC], m[w + SOURCE]) + COLUMN]


@inlined
def known(m: Block, p: int, column: int) -> int:
    """What a place knows of a publisher."""
    return m[AT_KNOWN] + (number(m, p) * m[SPEAKERS] + column)


@inlined
def first_rec(m: Block, of: int) -> int:
    return (m[of] >> HALF) - 1


@inlined
def last_delvs(m: Block, of: int) -> int:
    return (m[of] & LOW) - 1


@inlined
def set_first_rec(m: Block, of: int, seq: int) -> None:
    m[of] = (m[of] & LOW) | ((seq + 1) << HALF)


@inlined
def set_last_delvs(m: Block, of: int, seq: int) -> None:
    m[of] = (m[of] >> HALF << HALF) | (seq + 1)


@inlined
def lapse(m: Block, p: int) -> None:
    """`last_delvs` has fallen back."""
    m[p + LAPSES] += 1
    m[p + TRUSTED] = m[USED_WAVES]
