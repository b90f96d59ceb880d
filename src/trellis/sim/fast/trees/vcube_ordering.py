"""What a message waits for, in the compiled `vcube`. Answers to orderings/causal.py and orderings/unordered.py.

What is parked hangs at what its node has delivered of the source that it waits for, the last one first: as a stack is
emptied.
"""

from __future__ import annotations

from trellis.sim.fast import applications as app
from trellis.sim.fast import barriers as bar
from trellis.sim.fast import lines as out
from trellis.sim.fast import tally as tal
from trellis.sim.fast.barriers import AT_NAMES, AT_WAVES, BARRIER, FOLLOWS, QUEUE, SEQ, SOURCE, TOPIC, WAVE
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.trees import vcube_publishing as pub
from trellis.sim.fast.trees.taken import is_all, mask, masked, take, was_taken
from trellis.sim.fast.trees.vcube_records import (
    AT_IDS,
    AT_WAITS,
    BEHIND,
    FIRST_UNSPREAD,
    FROM,
    HALF,
    LAST_UNSPREAD,
    LOW,
    MASKED,
    MESSAGE,
    MISSING,
    MOVES,
    ORDERED,
    SAID,
    UNSPREAD,
    WAIT,
    WAITERS,
    WANTED,
    WEIGHT,
    give_wait,
    known,
    new_wait,
)


@compiled
def stamp_and_spread(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Stamp a message of mine, deliver it here and hand it down."""
    w = m[AT_WAVES] + wave * WAVE
    bar.follow(m, p + SAID, wave)
    if m[MASKED]:
        sort_names(m, w)
        mask(m, wave)
    m[w + WEIGHT] += m[m[AT_IDS] + m[w + TOPIC]] * (1 + m[w + BARRIER])
    tal.tell(m, rows, now, 0, out.SPREAD, me, wave, 0, -1, 0, m[w + BARRIER])
    m[p + SAID + bar.UNSAID] -= 1
    deliver_and_remember(m, rows, now, me, p, wave)
    pub.spread(m, rows, now, me, p, wave)


@inlined
def keep_unspread(m: Block, p: int, wave: int) -> None:
    if m[p + UNSPREAD] == 0:
        m[p + FIRST_UNSPREAD] = wave
    else:
        m[m[AT_WAVES] + m[p + LAST_UNSPREAD] * WAVE + QUEUE] = wave
    m[p + LAST_UNSPREAD] = wave
    m[p + UNSPREAD] += 1


@inlined
def deliver_and_remember(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    w = m[AT_WAVES] + wave * WAVE
    if m[ORDERED] or m[MOVES]:
        of = known(m, p, m[w + FROM])
        if m[w + SEQ] > m[of] & LOW:
            m[of] = (m[of] >> HALF << HALF) | m[w + SEQ]
    if m[MASKED]:
        take(m, me, wave)
    if m[p + WANTED]:
        tal.tell(m, rows, now, 0, out.DELIVER, me, wave, 0, -1, 0, 0)
        app.listen(m, now, me, m[w + SOURCE])
    bar.log(m, p + SAID, wave)


@inlined
def upon_arrive(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Deliver it, or park it on what is missing. Without order nothing is."""
    if not m[ORDERED]:
        deliver_and_remember(m, rows, now, me, p, wave)
        return
    lacks = missing(m, p, me, wave)
    if lacks != NONE:
        park(m, p, new_wait(m, wave), lacks)
        m[p + WAITERS] += 1
        tal.waits(m, wave)
        return
    deliver_and_remember(m, rows, now, me, p, wave)
    free = freed(m, p, wave, NONE)
    if free != NONE:
        deliver_ready(m, rows, now, me, p, free)


@compiled
def deliver_ready(m: Block, rows: Block, now: int, me: int, p: int, free: int) -> None:
    """One delivery can free others."""
    while free != NONE:
        entry = free
        one = m[AT_WAITS] + entry * WAIT
        wave, free = m[one + MESSAGE], m[one + BEHIND]
        lacks = missing(m, p, me, wave)
        if lacks != NONE:
            park(m, p, entry, lacks)
            continue
        give_wait(m, entry)
        m[p + WAITERS] -= 1
        deliver_and_remember(m, rows, now, me, p, wave)
        tal.waits_no_more(m, wave)
        free = freed(m, p, wave, free)


@compiled
def missing(m: Block, p: int, me: int, wave: int) -> int:
    """CHECKCB: the first predecessor, by source and number, that I have not delivered. What I published I delivered."""
    w, found, source, seq = m[AT_WAVES] + wave * WAVE, NONE, 0, 0
    if m[MASKED]:
        return first_not_taken(m, me, w)
    for k in range(m[AT_NAMES] + m[w + FOLLOWS], m[AT_NAMES] + m[w + FOLLOWS] + m[w + BARRIER]):
        d = m[AT_WAVES] + m[k] * WAVE
        if m[d + SOURCE] == me or m[known(m, p, m[d + FROM])] & LOW >= m[d + SEQ]:
            continue
        if found == NONE or m[d + SOURCE] < source or (m[d + SOURCE] == source and m[d + SEQ] < seq):
            found, source, seq = m[k], m[d + SOURCE], m[d + SEQ]
    return found


@inlined
def first_not_taken(m: Block, me: int, w: int) -> int:
    """The same where nobody comes or goes, and names stand by source: a source's messages are delivered in turn."""
    if is_all(m, w, masked(m, me, w, 0)):
        return NONE
    k = m[AT_NAMES] + m[w + FOLLOWS]
    while was_taken(m, me, m[k]):
        k += 1
    return m[k]


@compiled
def sort_names(m: Block, w: int) -> None:
    """What a message follows, by source; of each there is one."""
    first = m[AT_NAMES] + m[w + FOLLOWS]
    for k in range(first + 1, first + m[w + BARRIER]):
        name, at = m[k], k
        source = m[m[AT_WAVES] + name * WAVE + SOURCE]
        while at > first and m[m[AT_WAVES] + m[at - 1] * WAVE + SOURCE] > source:
            m[at] = m[at - 1]
            at -= 1
        m[at] = name


@inlined
def park(m: Block, p: int, entry: int, lacks: int) -> None:
    """In front of what waits for something of the same source."""
    one, of = m[AT_WAITS] + entry * WAIT, known(m, p, m[m[AT_WAVES] + lacks * WAVE + FROM])
    m[one + MISSING], m[one + BEHIND] = lacks, (m[of] >> HALF) - 1
    m[of] = (m[of] & LOW) | ((entry + 1) << HALF)


@compiled
def freed(m: Block, p: int, wave: int, rest: int) -> int:
    """A message was delivered: what was parked on it, in front of the rest of what is free."""
    of = known(m, p, m[m[AT_WAVES] + wave * WAVE + FROM])
    entry, first, last, kept = (m[of] >> HALF) - 1, rest, NONE, NONE
    m[of] &= LOW
    while entry != NONE:
        one = m[AT_WAITS] + entry * WAIT
        behind = m[one + BEHIND]
        if m[one + MISSING] == wave:
            m[one + BEHIND] = rest
            if last == NONE:
                first = entry
            else:
                m[m[AT_WAITS] + last * WAIT + BEHIND] = entry
            last = entry
        else:
            m[one + BEHIND] = NONE
            if kept == NONE:
                m[of] |= (entry + 1) << HALF
            else:
                m[m[AT_WAITS] + kept * WAIT + BEHIND] = entry
            kept = entry
        entry = behind
    return first
