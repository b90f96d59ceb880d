"""Rounds in which nodes take their turns, compiled. Answers to sim/cycles.py and to `upon_time` in overlays/vine.py."""

from __future__ import annotations

from trellis.sim.fast.jit import compiled, merged
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.vine import exchanging, joining, lives, mail, neighbours, parted, sampling, spreading
from trellis.sim.fast.vine.room import lacks_room
from trellis.sim.fast.vine.tables import (
    A_AT,
    A_NODE,
    ACTION,
    AFTER,
    ALL,
    ALL_ACTIONS,
    AT_ACTIONS,
    AT_INBOX,
    AT_MINE,
    AT_OWNERS,
    BORN_AT,
    CURSOR,
    CYCLED,
    DONE,
    EVENTS,
    FIRST_TOPIC,
    GRACE,
    GRACE_OF,
    GROW,
    HEAD,
    ID,
    IS_DEAD,
    JOINING_COUNT,
    LIFE,
    LIFE_OF,
    NEXT_ACTION,
    NOW,
    OWN,
    OWN_OF,
    PACKET,
    PLACE,
    PROGRESS,
    ROUND,
    SHOWN,
    TOPICS,
    TURN,
    A,
    B,
    life,
    node,
    topic,
)


@compiled
def go_on(m: Block, rows: Block, end: int, due: int) -> int:
    """Work off rounds until `due` events have happened, or something has no room."""
    while True:
        if m[TURN] == m[ALL]:
            if not lives.end_round(m, rows):
                return GROW
            if m[EVENTS] >= due:
                return PROGRESS
            if m[NOW] + 1 > end:
                return DONE
            m[NOW] += 1
            mail.turn_over(m)
            m[TURN] = m[CURSOR] = m[CYCLED] = 0
            begin_turn(m, 0)
        while m[TURN] < m[ALL]:
            if not take_turn(m, rows, m[TURN]):
                return GROW
            m[TURN] += 1
            m[CYCLED] = 0
            if m[TURN] < m[ALL]:
                begin_turn(m, m[TURN])


@compiled
def begin_turn(m: Block, me: int) -> None:
    """Which topics are mine, for whoever asks, and in which life I am."""
    n, b = node(m, me), life(m, me)
    m[LIFE], m[OWN], m[GRACE] = m[b + LIFE_OF], m[b + OWN_OF], m[b + GRACE_OF]
    m[SHOWN] = (m[LIFE] << 1) | min(1, m[n + TOPICS])  # whoever takes nothing never had another one
    first = m[AT_MINE] + m[n + FIRST_TOPIC]
    for k in range(m[n + TOPICS]):
        m[m[AT_OWNERS] + m[first + k]] = me + 1
        m[topic(m, m[first + k]) + PLACE] = k


@merged
def take_turn(m: Block, rows: Block, me: int) -> bool:
    """A node's packets, its round, and what its application does; False, and again, if something has no room."""
    b = life(m, me)
    if m[b + IS_DEAD]:
        lives.miss_turn(m, me)
        return True
    born = m[b + BORN_AT]
    while m[CURSOR] < m[node(m, me) + AFTER]:
        if lacks_room(m, rows, me):
            return False
        p = m[AT_INBOX] + m[CURSOR] * PACKET
        m[CURSOR] += 1
        m[EVENTS] += 1
        m[ROUND] = m[NOW] - 1 - born
        receive(m, rows, me, m[p + HEAD], m[p + A], m[p + B])
    m[ROUND] = m[NOW] - born
    if not m[CYCLED] and m[NOW]:
        if lacks_room(m, rows, me):
            return False
        m[CYCLED] = 1
        m[EVENTS] += 1
        cycle(m, rows, me)
    while m[NEXT_ACTION] < m[ALL_ACTIONS]:
        a = m[AT_ACTIONS] + m[NEXT_ACTION] * ACTION
        if m[a + A_AT] != m[NOW] or m[a + A_NODE] != me:
            break
        if lacks_room(m, rows, me):
            return False
        m[NEXT_ACTION] += 1
        m[EVENTS] += 1
        spreading.publish(m, rows, me, m[NEXT_ACTION] - 1)
    return True


@merged
def receive(m: Block, rows: Block, me: int, head: int, a: int, b: int) -> None:
    sender, version, kind = (head >> mail.SENDER_SHIFT) & ID, head >> mail.VERSION_SHIFT, head & mail.KINDS
    if kind >= mail.LOOKUP:
        joining.receive(m, rows, me, sender, kind, a, b)
        return
    mail.arrived(m, rows, me, sender, version >> 1, kind, a if kind >= mail.NOTIFY else NONE)
    if kind == mail.BEAT:
        exchanging.upon_beat(m, rows, me, sender, version, (head >> mail.WHY_SHIFT) & mail.WHYS, a, b)
    elif kind == mail.NOTIFY:
        spreading.upon_notify(m, rows, me, sender, a)
    elif kind == mail.PULL:
        spreading.upon_pull(m, rows, me, sender, a)
    elif kind == mail.EVENT:
        spreading.upon_pulled(m, rows, me, a)
    elif kind == mail.SAMPLE:
        if not head & mail.REPLY:
            sampling.send_view(m, rows, me, sender, mail.REPLY)
        sampling.take(m, me, a, b)
    elif kind == mail.SWAP:
        if not head & mail.REPLY:
            exchanging.send_buffer(m, rows, me, sender, mail.REPLY)
        exchanging.reconsider(m, rows, me, a, b)
    elif neighbours.find(m, me, sender) != NONE:  # FULL
        neighbours.let_go(m, me, sender)
        neighbours.be_refused(m, me, sender)


@merged
def cycle(m: Block, rows: Block, me: int) -> None:
    neighbours.begin_round(m, me)
    parted.begin_round(m, me)
    sampling.exchange(m, rows, me)
    to = exchanging.partner(m, me)
    if to != NONE:
        exchanging.send_buffer(m, rows, me, to, 0)
    exchanging.exchange_profile(m, rows, me)
    if m[life(m, me) + JOINING_COUNT]:
        joining.go_on(m, rows, me)
    spreading.begin_round(m, rows, me)
