"""What a message directly follows. Answers to `causal_barrier` of overlays/vcube_printed.py and orderings/causal.py.

A barrier is not kept up with each delivery: a node that still has something to say keeps what it has delivered since it
last spoke, and works the barrier out when it speaks. Messages and changes of membership are *waves*, numbered as they
come up.
"""

from __future__ import annotations

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block, Table, base, counter, room

WAVES = Table(14, 16)
SOURCE, TOPIC, SEQ, KIND = 0, 1, 2, 3
FLYING = 4  # packets on their way
FOLLOWS, BARRIER = 5, 6  # where its barrier begins among `names`, and how long it is
NEAR = 7  # a field of the kernel's own beside those that are looked at for each packet
QUEUE = 8  # the next one of those that wait to be spread by their source
MARK = 9
OWN = 10  # from here on each kernel has fields of its own
NAMES = Table(17, 1)  # barriers, one after the other
LOGGED = Table(19, 2)  # messages that were delivered, in chains
TOLD, THEN = 0, 1

# Of what a node delivered on a topic, in the record of its place.
UNSAID = 0  # messages that it will still ask to publish, or has waiting
LOGGED_LAST, LOGS = 1, 2  # delivered since it last spoke, a chain from the last one on, and how many
NUMBERS = 3

PARTS = [WAVES, NAMES, LOGGED]
AT_WAVES, AT_NAMES, AT_LOGGED = (base(part.number) for part in PARTS)
ROOM_WAVES, ROOM_NAMES, ROOM_LOGGED = (room(part.number) for part in PARTS)
IN_WAVES, IN_NAMES, IN_LOGGED = (part.number for part in PARTS)
WAVE, LOG = WAVES.width, LOGGED.width
STAMP, USED_WAVES, USED_NAMES, USED_LOGGED, FREE_LOG = (counter(n) for n in (21, 24, 27, 29, 33))


@inlined
def new_wave(m: Block, me: int, topic: int, seq: int, kind: int) -> int:
    wave = m[USED_WAVES]
    w = m[AT_WAVES] + wave * WAVE
    m[USED_WAVES] += 1
    m[w + SOURCE], m[w + TOPIC], m[w + SEQ], m[w + KIND], m[w + QUEUE] = me, topic, seq, kind, NONE
    return wave


@inlined
def turned(m: Block, last: int) -> int:
    """A chain, from its first one on: what is logged does not look at what was logged long ago."""
    first, entry = NONE, last
    while entry != NONE:
        one = m[AT_LOGGED] + entry * LOG
        first, entry, m[one + THEN] = entry, m[one + THEN], first
    return first


@compiled
def follow(m: Block, d: int, wave: int) -> None:
    """The barrier: what its source delivered since it last spoke, but for what one of those followed. Forgets it."""
    w = m[AT_WAVES] + wave * WAVE
    m[STAMP] += 1
    last = m[d + LOGGED_LAST]
    first = turned(m, last)
    entry = first
    while entry != NONE:
        one = m[AT_LOGGED] + entry * LOG
        told = m[AT_WAVES] + m[one + TOLD] * WAVE
        for k in range(m[AT_NAMES] + m[told + FOLLOWS], m[AT_NAMES] + m[told + FOLLOWS] + m[told + BARRIER]):
            m[m[AT_WAVES] + m[k] * WAVE + MARK] = 0
        m[told + MARK] = m[STAMP]
        entry = m[one + THEN]
    m[w + FOLLOWS] = m[USED_NAMES]
    entry = first
    while entry != NONE:
        one = m[AT_LOGGED] + entry * LOG
        told = m[AT_WAVES] + m[one + TOLD] * WAVE
        if m[told + MARK] == m[STAMP]:
            m[told + MARK] = 0
            m[m[AT_NAMES] + m[USED_NAMES]] = m[one + TOLD]
            m[USED_NAMES] += 1
        entry = m[one + THEN]
    m[w + BARRIER] = m[USED_NAMES] - m[w + FOLLOWS]
    if last != NONE:
        m[m[AT_LOGGED] + last * LOG + THEN] = m[FREE_LOG]
        m[FREE_LOG] = first
    m[d + LOGGED_LAST], m[d + LOGS] = NONE, 0


@inlined
def log(m: Block, d: int, wave: int) -> None:
    """A message was delivered: kept, if the node has something to say later."""
    if m[d + UNSAID] > 0:
        entry = m[FREE_LOG]
        if entry == NONE:
            entry = m[USED_LOGGED]
            m[USED_LOGGED] += 1
        else:
            m[FREE_LOG] = m[m[AT_LOGGED] + entry * LOG + THEN]
        one = m[AT_LOGGED] + entry * LOG
        m[one + TOLD], m[one + THEN] = wave, m[d + LOGGED_LAST]
        m[d + LOGGED_LAST] = entry
        m[d + LOGS] += 1
