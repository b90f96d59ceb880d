"""How a node that came back joins its topics, compiled. Answers to `go_on_joining` of overlays/vine_topics.py, and to
`upon_sums` of overlays/vine_repair.py: whoever has joined and is found late compares, also where nothing is repaired.
"""

from __future__ import annotations

from trellis.sim.fast import lines as out
from trellis.sim.fast.jit import compiled
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import cuts, letters, looking, mail, starting
from trellis.sim.fast.vine.tables import (
    AT_MINE,
    AT_TAKEN,
    COUNT,
    FIRST_TOPIC,
    KNOWN_COUNT,
    NOW,
    ROUND,
    ROW,
    SPOKE,
    START,
    T_JOINING,
    T_NOBODY,
    TAKES,
    TOPICS,
    UPKEEP,
    WHO,
    node,
    rows_of,
    somebody_takes,
)
from trellis.sim.fast.vine.taking import is_in, taken

AGAIN, ALONE, SLOW = 4, 12, 40  # rounds
ASKED = 2  # whom it asks at once


@compiled
def receive(m: Block, rows: Block, me: int, sender: int, kind: int, start: int, count: int) -> None:
    at = mail.letter(m, start)
    if m[UPKEEP]:
        out.write(rows, m[NOW], 0, out.RECEIVE, me, letters.id_of(m, at), kind, sender, 0, 0)
    code, says = m[at + 1], at + letters.ABOUT
    if kind == mail.LOOKUP:
        looking.upon_lookup(m, rows, me, sender, at, count - letters.ABOUT)
    elif kind == mail.FOUND:
        looking.upon_found(m, rows, me, at, count)
    elif kind == mail.ASK:
        starting.upon_ask(m, rows, me, sender, code)
    elif kind == mail.START_AT:
        starting.upon_start(m, rows, me, sender, code, says)
    elif not m[says] and is_in(m, me, code) and cuts.is_as_far(m, me, code, says + 1):
        mail.begin_letter(m)
        for k in range(count):
            mail.put(m, 1 if k == letters.ABOUT else m[at + k])
        mail.close_letter(m)
        letters.send(m, rows, me, sender, mail.SUMS, m[START], m[COUNT])


@compiled
def go_on(m: Block, rows: Block, me: int) -> None:
    """In every round: ask, or begin if there is nobody to ask."""
    first = m[node(m, me) + FIRST_TOPIC]
    for k in range(first, first + m[node(m, me) + TOPICS]):
        if m[m[AT_TAKEN] + k * TAKES + T_JOINING]:
            go_on_joining(m, rows, me, m[m[AT_MINE] + k])


@compiled
def go_on_joining(m: Block, rows: Block, me: int, code: int) -> None:
    waited, t = m[ROUND], taken(m, me, code)
    first, fellows = rows_of(m, me), 0
    end = first + m[node(m, me) + KNOWN_COUNT] * ROW
    for row in range(first, end, ROW):
        fellows += m[row + SPOKE] and somebody_takes(m, m[row + WHO], code)
    alone = m[t + T_NOBODY] > 1 and not fellows
    if (waited >= ALONE and (alone or starting.is_first(m, me, t))) or waited >= SLOW:
        starting.begin(m, rows, me, code, NONE)
        return
    letters.begin_letter(m, me, code)
    mail.put(m, me)
    mail.close_letter(m)
    start, left = m[START], ASKED if waited < AGAIN else fellows
    for row in range(first, end, ROW):
        if left and m[row + SPOKE] and somebody_takes(m, m[row + WHO], code):
            left -= 1
            starting.ask(m, rows, me, code, m[row + WHO], start)
    if waited % AGAIN == 0:
        looking.look(m, rows, me, code, start)
