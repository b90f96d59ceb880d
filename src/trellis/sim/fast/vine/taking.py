"""What stands of a topic that a node takes in a later life, compiled. Answers to `Taken` of overlays/vine_topics.py.

In its first life a node takes all of its topics since before the run: nothing need be noted. Later it joins them all at
once, in round 0 of its own; none of it may be asked but by the node whose turn it is.
"""

from __future__ import annotations

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine.tables import (
    A_NEXT,
    A_SEQ,
    A_STREAM,
    A_TOPIC,
    ACTION,
    AT_ACTIONS,
    AT_CUTS,
    AT_TAKEN,
    EARLY_COUNT,
    FIRST_EARLY,
    FIRST_TOPIC,
    LAST_EARLY,
    LIFE,
    PLACE,
    T_CUT,
    T_JOINING,
    TAKES,
    life,
    node,
    takes,
    topic,
)


@inlined
def taken(m: Block, me: int, code: int) -> int:
    """Of a topic that the node whose turn it is takes."""
    return m[AT_TAKEN] + (m[node(m, me) + FIRST_TOPIC] + m[topic(m, code) + PLACE]) * TAKES


@inlined
def is_joining(m: Block, me: int, code: int) -> bool:
    return m[taken(m, me, code) + T_JOINING] != 0


@inlined
def is_in(m: Block, me: int, code: int) -> bool:
    return takes(m, me, code) and (m[LIFE] == 0 or not is_joining(m, me, code))


@inlined
def is_before_my_time(m: Block, me: int, message: int) -> bool:
    """Whether a message is below the cut from which I began; there is none before that."""
    a = m[AT_ACTIONS] + message * ACTION
    return m[a + A_SEQ] <= m[m[AT_CUTS] + m[taken(m, me, m[a + A_TOPIC]) + T_CUT] + m[a + A_STREAM]]


@inlined
def is_for_me(m: Block, me: int, message: int) -> bool:
    """Whether I deliver it when it comes."""
    if m[LIFE] == 0:
        return True
    return not is_joining(m, me, m[m[AT_ACTIONS] + message * ACTION + A_TOPIC]) and not is_before_my_time(
        m, me, message
    )


@compiled
def keep_early(m: Block, me: int, message: int) -> None:
    """Published while joining: it goes out when that is over."""
    a = m[AT_ACTIONS] + message * ACTION
    t = taken(m, me, m[a + A_TOPIC])
    m[a + A_NEXT] = NONE
    if m[t + FIRST_EARLY] == NONE:
        m[t + FIRST_EARLY] = message
    else:
        m[m[AT_ACTIONS] + m[t + LAST_EARLY] * ACTION + A_NEXT] = message
    m[t + LAST_EARLY] = message
    m[life(m, me) + EARLY_COUNT] += 1
