"""What a message waits for, in printed VCube-PS. Answers to lines 62-66 and 83-94.

- A waiting message remembers the first predecessor that it waits for: those before it stay satisfied, unless what its
  node knows of a source falls back (LAPSES).
- Line 90 asks first whether the node has delivered that very predecessor (taken.py, a bit): then `last_delvs` is not
  below it, unless it has fallen back since (TRUSTED). So most of `last_delvs` is never looked at.
- Where nobody ever joins or leaves (FIXED) neither it nor `first_rec` is kept: a source's messages come one after the
  other by the same tree, from its first on, and each follows the one before, so they are delivered one after the other.
  Then the bits of predecessors whose numbers are near each other are looked at together.
- Without order nothing waits, and nobody asks what was delivered.
"""

from __future__ import annotations

from trellis.sim.fast import applications as app
from trellis.sim.fast import lines as out
from trellis.sim.fast import tally as tal
from trellis.sim.fast.barriers import AT_NAMES, AT_WAVES, BARRIER, FOLLOWS, SEQ, SOURCE, WAVE, log
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.trees.printed_records import (
    ALL_WAITING,
    AT_WAITS,
    BEHIND,
    FIRST_WAITING,
    FIXED,
    FREE_WAIT,
    LAPSE,
    LAPSES,
    LAST_WAITING,
    MESSAGE,
    MISSING,
    SAID,
    TRUSTED,
    USED_WAITS,
    WAIT,
    WAITERS,
    column,
    first_rec,
    known,
    lapse,
    last_delvs,
    set_last_delvs,
)
from trellis.sim.fast.trees.taken import is_all, masked, take, was_taken


@inlined
def deliver(m: Block, rows: Block, now: int, me: int, wave: int) -> None:
    """To the application, which may take part in a discussion."""
    tal.tell(m, rows, now, 0, out.DELIVER, me, wave, 0, -1, 0, 0)
    app.listen(m, now, me, m[m[AT_WAVES] + wave * WAVE + SOURCE])


@inlined
def has_taken(m: Block, p: int, me: int, wave: int) -> bool:
    """Whether it has, for certain, and has forgotten nothing since."""
    return was_taken(m, me, wave) and wave >= m[p + TRUSTED]


@inlined
def take_turn(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Lines 64-66 and 83-89 where nobody joins or leaves: those that wait do so until another one is delivered."""
    w = m[AT_WAVES] + wave * WAVE
    k = masked(m, me, w, 0)
    if not is_all(m, w, k):
        wait(m, p, wave, k)
        return
    deliver(m, rows, now, me, wave)
    take(m, me, wave)
    log(m, p + SAID, wave)
    if m[p + FIRST_WAITING] != NONE:
        check_delivery(m, rows, now, me, p)


@inlined
def await_turn(m: Block, p: int, wave: int) -> None:
    """Lines 64-66. A message that waits already keeps its place."""
    entry = m[p + FIRST_WAITING]
    while entry != NONE:
        if m[m[AT_WAITS] + entry * WAIT + MESSAGE] == wave:
            return
        entry = m[m[AT_WAITS] + entry * WAIT + BEHIND]
    wait(m, p, wave, 0)


@inlined
def wait(m: Block, p: int, wave: int, satisfied: int) -> None:
    """Behind the others; of its predecessors the first so many were delivered."""
    entry = m[FREE_WAIT]
    if entry == NONE:
        entry = m[USED_WAITS]
        m[USED_WAITS] += 1
    else:
        m[FREE_WAIT] = m[m[AT_WAITS] + entry * WAIT + BEHIND]
    one = m[AT_WAITS] + entry * WAIT
    m[one + MESSAGE], m[one + MISSING], m[one + LAPSE], m[one + BEHIND] = wave, satisfied, m[p + LAPSES], NONE
    if m[p + FIRST_WAITING] == NONE:
        m[p + FIRST_WAITING] = entry
    else:
        m[m[AT_WAITS] + m[p + LAST_WAITING] * WAIT + BEHIND] = entry
    m[p + LAST_WAITING] = entry
    m[p + WAITERS] += 1
    m[ALL_WAITING] += 1
    tal.waits(m, wave)


@inlined
def forget_waiting(m: Block, p: int) -> None:
    if m[p + FIRST_WAITING] != NONE:
        m[m[AT_WAITS] + m[p + LAST_WAITING] * WAIT + BEHIND] = m[FREE_WAIT]
        m[FREE_WAIT] = m[p + FIRST_WAITING]
    m[ALL_WAITING] -= m[p + WAITERS]
    m[p + FIRST_WAITING], m[p + LAST_WAITING], m[p + WAITERS] = NONE, NONE, 0


@compiled
def check_delivery(m: Block, rows: Block, now: int, me: int, p: int) -> None:
    """Lines 83-89: the first in the order of arrival that can be delivered, again and again."""
    before, entry = NONE, m[p + FIRST_WAITING]
    while entry != NONE:
        one = m[AT_WAITS] + entry * WAIT
        if not check_cb(m, p, me, one):
            before, entry = entry, m[one + BEHIND]
            continue
        wave = m[one + MESSAGE]
        if before == NONE:
            m[p + FIRST_WAITING] = m[one + BEHIND]
        else:
            m[m[AT_WAITS] + before * WAIT + BEHIND] = m[one + BEHIND]
        if m[p + LAST_WAITING] == entry:
            m[p + LAST_WAITING] = before
        m[p + WAITERS] -= 1
        m[ALL_WAITING] -= 1
        m[one + BEHIND] = m[FREE_WAIT]
        m[FREE_WAIT] = entry
        deliver(m, rows, now, me, wave)
        tal.waits_no_more(m, wave)
        take(m, me, wave)
        if not m[FIXED]:
            w = m[AT_WAVES] + wave * WAVE
            of = known(m, p, column(m, w))
            if last_delvs(m, of) > m[w + SEQ]:
                lapse(m, p)
            set_last_delvs(m, of, m[w + SEQ])
        log(m, p + SAID, wave)
        before, entry = NONE, m[p + FIRST_WAITING]


@inlined
def check_cb(m: Block, p: int, me: int, one: int) -> bool:
    """Lines 90-94."""
    wave = m[one + MESSAGE]
    w = m[AT_WAVES] + wave * WAVE
    if m[FIXED]:
        m[one + MISSING] = masked(m, me, w, m[one + MISSING])
        return is_all(m, w, m[one + MISSING])
    k = m[one + MISSING] if m[one + LAPSE] == m[p + LAPSES] else 0
    m[one + MISSING], m[one + LAPSE] = satisfied(m, p, me, wave, k), m[p + LAPSES]
    return m[one + MISSING] == m[w + BARRIER]


@compiled
def satisfied(m: Block, p: int, me: int, wave: int, k: int) -> int:
    """How many predecessors of a message, from the first on, it need not wait for; `k` of them are known."""
    w = m[AT_WAVES] + wave * WAVE
    first, count = m[AT_NAMES] + m[w + FOLLOWS], m[w + BARRIER]
    while k < count and (has_taken(m, p, me, m[first + k]) or not lacks(m, p, m[first + k])):
        k += 1
    return k


@inlined
def lacks(m: Block, p: int, wave: int) -> bool:
    """Line 92."""
    d = m[AT_WAVES] + wave * WAVE
    of = known(m, p, column(m, d))
    return last_delvs(m, of) < m[d + SEQ] and first_rec(m, of) <= m[d + SEQ]
