"""A wave of messages comes in, in the compiled `vcube`. Answers to overlays/vcube.py and parts/seen.py."""

from __future__ import annotations

from trellis.sim.fast import lines as out
from trellis.sim.fast import tally as tal
from trellis.sim.fast.barriers import AT_WAVES, QUEUE, SEQ, WAVE
from trellis.sim.fast.jit import compiled, inlined, merged
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.trees import vcube_ordering as odr
from trellis.sim.fast.trees import vcube_waves as wvs
from trellis.sim.fast.trees import vcube_words as wrd
from trellis.sim.fast.trees.vcube_records import (
    ACK,
    AT_WAITS,
    BEHIND,
    CAME,
    COUNT,
    CUTTING,
    FIRST_CAME,
    FROM,
    HALF,
    IN,
    JOINING,
    LAST_CAME,
    LEAVING,
    LOW,
    MESSAGE,
    MOVES,
    OUT,
    PHASE,
    REFUSE,
    WAIT,
    early,
    give_wait,
    new_wait,
    seen,
    send,
)


@merged
def upon_pub(m: Block, rows: Block, now: int, me: int, p: int, wave: int, j: int, height: int) -> None:
    """Lines 40-53 and 62-68."""
    if cannot_serve(m, p, height):
        refuse(m, rows, now, me, p, wave, j, height)
        return
    if not wvs.launch(m, rows, now, me, p, wave, j, height):
        send(m, rows, now, me, j, wave, ACK, height, NONE, 0)
    one, is_early = wave, m[p + PHASE] == JOINING or m[p + PHASE] == CUTTING
    for _ in range(m[m[AT_WAVES] + wave * WAVE + COUNT]):
        if is_early:
            keep_for_later(m, p, one)
        else:
            take_or_skip(m, rows, now, me, p, one)
        one = m[m[AT_WAVES] + one * WAVE + QUEUE]


@inlined
def cannot_serve(m: Block, p: int, height: int) -> bool:
    phase = m[p + PHASE]
    return phase in (OUT, LEAVING) or (phase == JOINING and height > 0)


@compiled
def refuse(m: Block, rows: Block, now: int, me: int, p: int, wave: int, j: int, height: int) -> None:
    """The messages of the wave, if it has any, are skipped."""
    send(m, rows, now, me, j, wave, REFUSE, height, wrd.merge_knows(m, p, NONE), wrd.says_of_me(m, p))
    one = wave
    for _ in range(m[m[AT_WAVES] + wave * WAVE + COUNT]):
        tal.tell(m, rows, now, 0, out.SKIP, me, one, 0, -1, 0, 0)
        one = m[m[AT_WAVES] + one * WAVE + QUEUE]


@inlined
def keep_for_later(m: Block, p: int, wave: int) -> None:
    e, entry = early(m, p), new_wait(m, wave)
    if m[e + CAME] == 0:
        m[e + FIRST_CAME] = entry
    else:
        m[m[AT_WAITS] + m[e + LAST_CAME] * WAIT + BEHIND] = entry
    m[e + LAST_CAME] = entry
    m[e + CAME] += 1
    tal.waits(m, wave)


@compiled
def take_or_skip(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Unless it came before, or I am leaving."""
    if m[p + PHASE] == IN and (not m[MOVES] or see(m, p, wave)):
        odr.upon_arrive(m, rows, now, me, p, wave)
    else:
        tal.tell(m, rows, now, 0, out.SKIP, me, wave, 0, -1, 0, 0)


@compiled
def see(m: Block, p: int, wave: int) -> bool:
    """`Seen.add` (parts/seen.py)."""
    w = m[AT_WAVES] + wave * WAVE
    of, seq = seen(m, p, m[w + FROM]), m[w + SEQ]
    upto, first = m[of] & LOW, (m[of] >> HALF) - 1
    if seq <= upto:
        return False
    entry = first
    while entry != NONE:
        if m[m[AT_WAITS] + entry * WAIT + MESSAGE] == seq:
            return False
        entry = m[m[AT_WAITS] + entry * WAIT + BEHIND]
    if seq > upto + 1:
        entry = new_wait(m, seq)
        m[m[AT_WAITS] + entry * WAIT + BEHIND] = first
        m[of] = ((entry + 1) << HALF) | upto
        return True
    upto = seq
    before, entry = NONE, first
    while entry != NONE:
        one = m[AT_WAITS] + entry * WAIT
        behind = m[one + BEHIND]
        if m[one + MESSAGE] != upto + 1:
            before, entry = entry, behind
            continue
        upto += 1
        if before == NONE:
            first = behind
        else:
            m[m[AT_WAITS] + before * WAIT + BEHIND] = behind
        give_wait(m, entry)
        before, entry = NONE, first
    m[of] = ((first + 1) << HALF) | upto
    return True
