"""Letters about a topic, compiled: what nodes say while one of them joins it. Answers to `id_of` and the packets of
overlays/vine_packets.py.

A letter begins with who said it first, in which life, and the topic; the rows of its packets are about those, whoever
passes it on.
"""

from __future__ import annotations

from trellis.sim.fast import lines as out
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import Block
from trellis.sim.fast.vine import mail
from trellis.sim.fast.vine.tables import (
    AT_LETTERS,
    ID,
    ID_BITS,
    LIFE,
    NOW,
    SIDE,
    UPKEEP,
)

ABOUT = 2  # words before what it says


@inlined
def begin_letter(m: Block, me: int, code: int) -> None:
    """Of my own."""
    mail.begin_letter(m)
    mail.put(m, me | (m[LIFE] << ID_BITS))
    mail.put(m, code)


@compiled
def send(m: Block, rows: Block, me: int, to: int, kind: int, start: int, count: int) -> None:
    """A letter that was written, or the beginning of one."""
    if m[UPKEEP]:
        at = m[AT_LETTERS + 1 - m[SIDE]] + start
        out.write(rows, m[NOW], 0, out.SEND, me, id_of(m, at), kind, to, 0, 0)
    mail.post(m, me, to, kind, start, count)


@inlined
def id_of(m: Block, letter: int) -> int:
    return mail.own(m, m[letter] & ID, m[letter] >> ID_BITS, m[letter + 1])
