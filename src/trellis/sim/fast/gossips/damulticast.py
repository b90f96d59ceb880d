"""daMulticast compiled. Answers to overlays/damulticast.py, damulticast_membership.py, damulticast_repair.py and
damulticast_beginning.py below orderings/unordered.py, in the rounds of sim/cycles.py.

Promises: the same rows, where everybody is in one group at most from before the run on, somebody subscribes to the root
          of the tree, and nobody says more than one thing on a topic; else it is refused by name (sim/fast).

What is kept otherwise than there, and why the rows are the same:
- Messages are bits: each source has one number only, so that what a process has is a set, and what its vectors say is
  that set. Nothing is dropped, so nothing is ever refused or given up. Bits go by topic and source, as gifts do.
- Whoever is in a group knows somebody above from the beginning on, of the nearest group that anybody is in: no nearer
  one ever comes up. Should a process forget all of them, the run is refused after all (`LOST`).
- What is owed to those who leave, and who holds what a process said, makes no rows.
- Nobody is told of a round by way of the calendar: after its packets each process has its turn.
"""

from __future__ import annotations

import numpy as np

from trellis.protocols.overlays.damulticast_repair import IDLE, SHOWN
from trellis.protocols.overlays.damulticast_search import PATIENCE, REFRESH
from trellis.protocols.parts.directory import PLACES as REMEMBER
from trellis.sim.fast import applications as app
from trellis.sim.fast import barriers as bar
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast.gossips import company as com
from trellis.sim.fast.gossips import damulticast_packets as say
from trellis.sim.fast.gossips import damulticast_search as srch
from trellis.sim.fast.gossips import gossip as gsp
from trellis.sim.fast.jit import compiled, go_on, inlined, merged
from trellis.sim.fast.memory import NONE, Block, Table, base, counter

SUMS = Table(24, 1)  # per message: what stands for it in a sum
AT_SUMS = base(SUMS.number)
G, A, TAU, REPAIRS = (counter(n) for n in (25, 27, 28, 29))  # options
TURN = counter(32)  # whose round is next
PARTNERS, SHOWNS, REFRESHES = (counter(n) for n in (21, 38, 39))  # draws as far as the seed goes
LOST_ONE = counter(34)  # whether somebody has forgotten all above
LOST = 3  # then the kernel comes back for good


@compiled
def work(m: Block, rows: Block, end: int, due: int) -> int:
    """Work off what is due until `due` events have happened, or something has no room."""
    while True:
        if m[cal.CURSOR] == m[cal.COUNT] and m[TURN] == m[net.NODES]:
            told = next_round(m, end, due)
            if told != NONE:
                return told
        while m[cal.CURSOR] < m[cal.COUNT] or m[TURN] < m[net.NODES]:
            key = cal.key(m) if m[cal.CURSOR] < m[cal.COUNT] else NONE
            short = lacking(m, rows, key)
            if short != NONE:
                m[app.LACKING] = short
                return app.GROW
            packet = key != NONE and cal.peer_of(key) >= 0
            if key != NONE and (cal.node_of(key) < m[TURN] or (cal.node_of(key) == m[TURN] and packet)):
                m[cal.CURSOR] += 1
                m[com.ROUND] = m[cal.NOW] - (1 if packet else 0)
                step(m, rows, key)
            else:
                m[com.ROUND] = m[cal.NOW]
                m[TURN] += 1
                begin_round(m, rows, m[TURN] - 1)
                if m[LOST_ONE]:
                    return LOST


@compiled
def next_round(m: Block, end: int, due: int) -> int:
    """Take out what is due at the next time. At every time from 1 on all have a turn."""
    if m[app.EVENTS] >= due:
        return app.PROGRESS
    if not app.push_actions(m):
        m[app.LACKING] = app.IN_CALENDAR
        return app.GROW
    now = m[cal.NOW] + 1
    if now == 0 and cal.next_time(m) > 0:
        now = 1
    if now > end:
        return app.DONE
    if cal.next_time(m) == now:
        cal.pop(m)
    else:
        m[cal.NOW], m[cal.CURSOR], m[cal.COUNT] = now, 0, 0
    m[TURN] = 0 if now else m[net.NODES]
    m[say.WRITTEN] = 0
    m[app.EVENTS] += m[cal.COUNT] + (m[net.NODES] if now else 0)
    return NONE


@inlined
def lacking(m: Block, rows: Block, key: int) -> int:
    """Which table has too little room for whatever may come of one event; NONE if all have enough."""
    asked = REMEMBER * (m[srch.LEVELS] + 1) + 4
    sent = asked + (m[com.MOST] + m[com.MOST_ABOVE]) * max(1, m[bar.USED_WAVES] if key != NONE else 1)
    if not cal.has_room(m, sent):
        return app.IN_CALENDAR
    if not out.has_room(rows, sent + 4 * m[bar.USED_WAVES] + 4):
        return app.IN_ROWS
    odd = (m[cal.NOW] + 1) & 1
    if m[say.WRITTEN] + asked * (say.SAID_MOST + 2 * m[com.MOST_ABOVE]) > m[say.ROOM_SAID + odd]:
        return say.IN_SAID + odd
    return NONE


@merged
def step(m: Block, rows: Block, key: int) -> None:
    now, me, j, what = m[cal.NOW], cal.node_of(key), cal.peer_of(key), m[cal.entry(m, key) + cal.WHAT]
    if j < 0:
        publish(m, rows, now, me, m[m[app.AT_ACTIONS] + what * app.ACTION + app.BYTES])
        return
    kind, p = what & say.KINDS, what >> say.KIND_BITS
    if kind == say.GOSSIP:
        out.write(rows, now, 0, out.RECEIVE, me, p, say.GOSSIP, j, 1, 0)
        upon_gossip(m, rows, now, me, p)
        return
    p += m[say.AT_SAID + (now & 1)]
    if kind == say.REFILL or not m[say.TERSE]:
        out.write(rows, now, 0, out.RECEIVE, me, say.id_of(m, kind, p, j, me), kind, j, 0, 0)
    if kind == say.DIGEST:
        upon_digest(m, rows, me, j, p)
    elif kind == say.HOLDINGS:
        upon_holdings(m, rows, me, j, p)
    elif kind == say.REFILL:
        upon_refill(m, rows, now, me, p)
    elif kind == say.SEARCH:
        srch.upon_search(m, rows, me, j, m[p + say.ABOUT], m[p + say.WANTED])
    else:
        srch.upon_found(m, me, j, p)


# Dissemination


@compiled
def publish(m: Block, rows: Block, now: int, me: int, bit: int) -> None:
    for kind in (out.PUBLISH, out.SPREAD, out.DELIVER):
        out.write(rows, now, 0, kind, me, bit, 0, -1, 0, 0)
    add(m, me, bit)
    pass_on(m, rows, me, bit)


@inlined
def add(m: Block, me: int, bit: int) -> None:
    h = com.home(m, me)
    m[h + com.HAS] |= 1 << bit
    m[h + com.YOUNG] |= 1 << bit
    m[h + com.CHANGES] += 1


@compiled
def upon_gossip(m: Block, rows: Block, now: int, me: int, bit: int) -> None:
    if not take(m, rows, now, me, bit):
        out.write(rows, now, 0, out.SKIP, me, bit, 0, -1, 0, 0)
    pass_on(m, rows, me, bit)


@compiled
def take(m: Block, rows: Block, now: int, me: int, bit: int) -> bool:
    """Deliver a message unless it came before, or is my own; whether it was."""
    h, w = com.home(m, me), m[bar.AT_WAVES] + bit * bar.WAVE
    if m[h + com.HAS] & (1 << bit):
        return False
    topic = m[w + bar.TOPIC]
    if topic != m[h + com.TOPIC] and not m[h + com.HAS] & m[com.circle(m, topic) + com.ITS_OWN]:
        m[h + com.CHANGES] += 1
        out.write(rows, now, 0, out.INHERIT, me, out.own(m[app.TOPICS], me, topic), 0, -1, 0, 0)
    add(m, me, bit)
    out.write(rows, now, 0, out.DELIVER, me, bit, 0, -1, 0, 0)
    return True


@compiled
def pass_on(m: Block, rows: Block, me: int, bit: int) -> None:
    """Infect, and die: some above, if this process elects itself, and its table."""
    h = com.home(m, me)
    if m[h + com.PASSED] & (1 << bit):
        return
    m[h + com.PASSED] |= 1 << bit
    size, above = com.size_of(m, me), m[h + com.KNOWN_ABOVE]
    if above:
        branch = m[com.circle(m, m[h + com.TOPIC]) + com.BRANCH]
        luck = go_on(go_on(np.uint64(m[m[bar.AT_WAVES] + bit * bar.WAVE + gsp.LUCK]), branch), me)
        if unit(luck) * size < m[G]:
            at = com.uppers(m, me)
            com.sort(m, at, at + 2 * m[com.MOST_ABOVE], above)
            for k in range(above):
                peer = m[at + m[m[com.AT_ORDER] + k]]
                if unit(go_on(luck, 1 + peer)) * above < m[A]:
                    say.send(m, rows, me, peer, say.GOSSIP, bit)
    at = com.fellows(m, me)
    com.sort(m, at, at + 2 * m[com.MOST], m[h + com.KNOWN])
    for k in range(min(m[h + com.FANOUT], m[h + com.KNOWN])):
        say.send(m, rows, me, m[at + m[m[com.AT_ORDER] + k]], say.GOSSIP, bit)


@inlined
def unit(word: np.uint64) -> float:
    return np.float64(gsp.number(word)) * com.UNIT


# Rounds


@compiled
def begin_round(m: Block, rows: Block, me: int) -> None:
    h, number = com.home(m, me), m[com.ROUND]
    if m[m[gsp.AT_DEAD] + me] or m[h + com.TOPIC] == NONE:
        return
    m[h + com.YOUNG] = 0
    if not com.begin_round(m, me):
        m[LOST_ONE] = 1
        return
    if number % PATIENCE == 0 and m[h + com.UNANSWERED]:
        srch.ask_again(m, rows, me)
    if not m[h + com.UNANSWERED]:
        turns = max(2 * REFRESH, REFRESH * com.size_of(m, me) // m[G])
        phase = go_on(go_on(np.uint64(m[REFRESHES]), me), m[gsp.record(m, m[h + com.TOPIC]) + gsp.KEY])
        if (number + np.int64(phase % np.uint64(turns))) % turns == 0:
            srch.refresh(m, rows, me)
    compare(m, rows, me, number)


@compiled
def compare(m: Block, rows: Block, me: int, number: int) -> None:
    """With a fellow; and with one of the group above, if it is this process's turn."""
    h = com.home(m, me)
    here = com.circle(m, m[h + com.TOPIC])
    own = go_on(np.uint64(m[PARTNERS]), me)
    word = go_on(go_on(own, m[gsp.record(m, m[h + com.TOPIC]) + gsp.KEY]), number)
    if gsp.few(m, com.fellows(m, me), m[h + com.KNOWN], 1, me, word):
        to = m[m[gsp.AT_PICKED]]
        say.send(m, rows, me, to, say.DIGEST, digest(m, me, m[h + com.TOPIC], 0, sum_of(m, me, m[h + com.TOPIC])))
    if m[h + com.KNOWN_ABOVE]:
        word = go_on(go_on(own, m[here + com.ROLL_ABOVE]), number)
        idle = m[h + com.AGREED_ON] == m[h + com.CHANGES] and number % IDLE != 0
        wary = m[h + com.KNOWN_ABOVE] < m[TAU]
        if wary or (not idle and unit(go_on(word, 1)) * com.size_of(m, me) < m[G]):
            gsp.few(m, com.uppers(m, me), m[h + com.KNOWN_ABOVE], 1, me, word)
            to = m[m[gsp.AT_PICKED]]
            say.send(
                m, rows, me, to, say.DIGEST, digest(m, me, m[h + com.TOPIC], say.UP, sum_of(m, me, m[h + com.TOPIC]))
            )


@compiled
def sum_of(m: Block, me: int, topic: int) -> int:
    """Of what I have of a topic and of those below it."""
    left, found, bit = m[com.home(m, me) + com.HAS] & m[com.circle(m, topic) + com.REACHED], 0, 0
    while left >> bit:
        if (left >> bit) & 1:
            found ^= m[m[AT_SUMS] + bit]
        bit += 1
    return found


@compiled
def digest(m: Block, me: int, about: int, flags: int, total: int) -> int:
    """A checksum, and whom I know: some fellows, and to a fellow all above. Whoever is asked above looks at neither."""
    h, p = com.home(m, me), say.new_packet(m)
    m[p + say.ABOUT], m[p + say.FLAGS], m[p + say.SUM] = about, flags, total
    e = p + say.ENTRIES
    m[e] = 0
    if flags != say.UP:
        word = go_on(go_on(np.uint64(m[SHOWNS]), me), m[gsp.record(m, m[h + com.TOPIC]) + gsp.KEY])
        at, count = com.fellows(m, me), m[h + com.KNOWN]
        m[e] = gsp.few(m, at, count, SHOWN, me, go_on(word, m[com.ROUND]))
        for k in range(m[e]):
            node = m[m[gsp.AT_PICKED] + k]
            say.tell_of(m, e + 1 + 2 * k, at, m[com.MOST], com.find(m, at, count, node))
    e += 1 + 2 * m[e]
    m[e] = 0 if flags & say.UP else m[h + com.KNOWN_ABOVE]
    for k in range(m[e]):
        say.tell_of(m, e + 1 + 2 * k, com.uppers(m, me), m[com.MOST_ABOVE], k)
    return e + 1 + 2 * m[e]


@compiled
def upon_digest(m: Block, rows: Block, me: int, j: int, p: int) -> None:
    h, about, flags = com.home(m, me), m[p + say.ABOUT], m[p + say.FLAGS]
    same = m[p + say.SUM] == sum_of(m, me, about)
    if flags == say.UP | say.SAME:  # somebody above had what I had
        k = com.find(m, com.uppers(m, me), m[h + com.KNOWN_ABOVE], j)
        if k < m[h + com.KNOWN_ABOVE] and m[com.uppers(m, me) + k] == j:
            com.hear_above(m, me, j, m[com.ROUND])
            if same:
                m[h + com.AGREED_ON] = m[h + com.CHANGES]
            say.hear_all_above(m, me, p + say.ENTRIES)
    elif flags == say.UP:
        if same or not m[REPAIRS]:
            say.send(m, rows, me, j, say.DIGEST, digest(m, me, about, say.UP | say.SAME, m[p + say.SUM]))
        else:
            say.send(m, rows, me, j, say.HOLDINGS, holdings(m, me, about, say.UP, -1))
    else:
        above = say.hear_all(m, me, p + say.ENTRIES)
        say.hear_all_above(m, me, above)
        com.hear(m, me, j, m[com.ROUND])
        if same and not flags & say.SAME:
            say.send(m, rows, me, j, say.DIGEST, digest(m, me, about, say.SAME, sum_of(m, me, about)))
        elif not same and m[REPAIRS] and not flags & say.SAME:
            say.send(m, rows, me, j, say.HOLDINGS, holdings(m, me, about, 0, -1))


# Repair


@inlined
def holdings(m: Block, me: int, about: int, flags: int, speaks_of: int) -> int:
    """What I have of a topic and of those below it: of all messages, or of some."""
    p = say.new_packet(m)
    has = m[com.home(m, me) + com.HAS] & m[com.circle(m, about) + com.REACHED] & speaks_of
    m[p + say.ABOUT], m[p + say.FLAGS], m[p + say.SPEAKS_OF], m[p + say.HOLDS] = about, flags, speaks_of, has
    return p + 4


@compiled
def upon_holdings(m: Block, rows: Block, me: int, j: int, p: int) -> None:
    """I send what it lacks, and say in turn what I lack."""
    h, about, flags, theirs = com.home(m, me), m[p + say.ABOUT], m[p + say.FLAGS], m[p + say.HOLDS]
    reached = m[com.circle(m, about) + com.REACHED]
    if not flags & say.UP:
        com.hear(m, me, j, m[com.ROUND])
    gives = m[h + com.HAS] & ~m[h + com.YOUNG] & reached & m[p + say.SPEAKS_OF] & ~theirs
    if gives:
        r = say.new_packet(m)
        m[r + say.ABOUT], m[r + say.FLAGS], m[r + say.GIVES] = about, flags & say.UP, gives
        say.send(m, rows, me, j, say.REFILL, r + 3)
    lacks = theirs & reached & ~m[h + com.HAS]
    if lacks and not flags & say.REPLY:
        behind = 0  # all of the topics of which I lack any
        for bit in range(m[bar.USED_WAVES]):
            if (lacks >> bit) & 1:
                behind |= m[com.circle(m, m[m[bar.AT_WAVES] + bit * bar.WAVE + bar.TOPIC]) + com.ITS_OWN]
        say.send(m, rows, me, j, say.HOLDINGS, holdings(m, me, about, flags & say.UP | say.REPLY, behind))


@compiled
def upon_refill(m: Block, rows: Block, now: int, me: int, p: int) -> None:
    from_below = m[p + say.FLAGS] & say.UP and m[p + say.ABOUT] != m[com.home(m, me) + com.TOPIC]
    gives = m[p + say.GIVES]
    for bit in range(m[bar.USED_WAVES]):
        if (gives >> bit) & 1 and take(m, rows, now, me, bit):
            out.write(rows, now, 0, out.FILL, me, bit, 0, -1, 0, 0)
            if from_below:
                pass_on(m, rows, me, bit)


@compiled
def begin(m: Block) -> None:
    """What stands before the run."""
    for me in range(m[net.NODES]):
        if m[com.home(m, me) + com.TOPIC] != NONE:
            com.stand(m, me)
    for topic in range(m[app.TOPICS]):
        if m[gsp.record(m, topic) + gsp.SIZE]:
            srch.remember(m, topic)
