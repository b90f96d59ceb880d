"""What a node has of a topic, as a number for each of its streams, compiled. Answers to protocols/parts/seen.py and
account.py, and to `frontier` of protocols/layers.py.

A stream is what one life of a node says on a topic. Where the machines compare sums of numbers, these are compared
themselves: that differs in one case of 2**64.
"""

from __future__ import annotations

from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import mail, spreading, taking
from trellis.sim.fast.vine.tables import (
    AT_CUTS,
    AT_HEARD_ON,
    AT_SAID,
    AT_STREAMS,
    HAVE,
    HEARS,
    LIFE,
    P_STATE,
    STREAM,
    T_CUT,
)


@inlined
def streams(m: Block, code: int) -> int:
    """How many a topic has."""
    return m[m[AT_HEARD_ON] + code * HEARS + 1]


@inlined
def stream(m: Block, code: int, which: int) -> int:
    return m[AT_STREAMS] + (m[m[AT_HEARD_ON] + code * HEARS] + which) * STREAM


@inlined
def cut(m: Block, me: int, code: int, which: int) -> int:
    """Below which number of a stream I have nothing, and lack nothing."""
    return m[m[AT_CUTS] + m[taking.taken(m, me, code) + T_CUT] + which] if m[LIFE] else 0


@inlined
def has(m: Block, me: int, s: int, seq: int) -> bool:
    p = spreading.passage_of(m, me, m[m[AT_SAID] + m[s] + seq - 1])
    return p != NONE and m[p + P_STATE] & HAVE != 0


@compiled
def delivered(m: Block, me: int, code: int, which: int) -> int:
    """The highest number."""
    s, least = stream(m, code, which), cut(m, me, code, which)
    seq = m[s + 1]
    while seq > least and not has(m, me, s, seq):
        seq -= 1
    return max(seq, least)


@compiled
def upto(m: Block, me: int, code: int, which: int) -> int:
    """Up to which one nothing is missing."""
    s, seq = stream(m, code, which), cut(m, me, code, which)
    while seq < m[s + 1] and has(m, me, s, seq + 1):
        seq += 1
    return seq


@compiled
def tell_frontier(m: Block, me: int, code: int) -> None:
    for which in range(streams(m, code)):
        mail.put(m, delivered(m, me, code, which))


@compiled
def tell_how_far(m: Block, me: int, code: int) -> None:
    for which in range(streams(m, code)):
        mail.put(m, upto(m, me, code, which))


@compiled
def is_as_far(m: Block, me: int, code: int, vector: int) -> bool:
    """Whether I have what somebody else has."""
    which, count = 0, streams(m, code)
    while which < count and upto(m, me, code, which) == m[vector + which]:
        which += 1
    return which == count
