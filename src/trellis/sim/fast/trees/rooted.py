"""One root per topic, in a block of memory. Answers to overlays/single_root.py and overlays/brokers.py, line by line.

Assumes:  links that lose nothing and keep the order of their packets, as its twins do.

The orders are those of orderings/unordered.py and orderings/causal.py. What is kept otherwise than there, and why the
rows are the same:
- Both overlays are a tree per topic in which each node but the root has one *feeder*. A subscriber of a broker is
  welcomed by its feeder; on the single tree the next hop towards a joiner is the one of the joiner's feeders that I
  feed. A broker has no feeder to ask: it is fed from the start and for ever, so it neither joins nor is pruned.
- `member` and `joining` of a feed and the phase of a session change in the same steps, so they are one. Leaving takes
  no time: a session is out, joining or in.
- No vectors: neither `fed`, `seen`, `delivered` nor the cut of a welcome. The root emits each publisher's messages in
  their order, everybody is fed in the root's order, and the welcome travels with it: what comes to a member is beyond
  its cut and new.
- Nothing is ever parked. Who publishes b after it delivered a got a from the root, or has itself sent a there before:
  the root emits a before b, and whoever is fed b was fed a before or has it in its cut. Of causal order there remains
  what each message follows (barriers.py). Without order nobody keeps what it delivered, and the barrier is empty.
"""

from __future__ import annotations

from trellis.sim.fast import applications as app
from trellis.sim.fast import barriers as bar
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast import tally as tal
from trellis.sim.fast.jit import compiled, inlined, merged
from trellis.sim.fast.memory import NONE, Block, Table, base

PACKETS = ["", "ROOT", "PUB", "SUB", "ACK", "UNS"]
ROOT, PUB, SUB, ACK, UNS = 1, 2, 3, 4, 5  # those up to PUB carry a message
KIND_BITS = 3  # of what an entry of the calendar is about; the wave has the others
KINDS = (1 << KIND_BITS) - 1

PLACES = Table(12, 16)  # a node on a topic: topic * nodes + node
PHASE = 0
OUT, JOINING, IN = 0, 1, 2
FIRST_CHILD, CHILDREN = 1, 2  # whom I feed: where they begin, and how many there are now
EARLY, FIRST_EARLY, LAST_EARLY = 3, 4, 5  # published before I was in: how many, and a chain of waves
SAID = 6  # what a barrier is made of (barriers.py)
FEEDER = SAID + bar.NUMBERS  # whom I ask for the topic, or -1
WANTED = FEEDER + 1  # the application's last word
GRAFTING = FEEDER + 2  # joins that passed upward through me and have not come back
PUBLISHED, CHANGES = FEEDER + 3, FEEDER + 4  # messages, and changes of membership
ROOTS = Table(24, 1)  # per topic
FED = Table(25, 1)  # children, in the order in which they came, with room for all that a node may have

AT_PLACES, AT_ROOTS, AT_FED = (base(part.number) for part in (PLACES, ROOTS, FED))
PLACE = PLACES.width


@compiled
def go_on(m: Block, rows: Block, end: int, due: int) -> int:
    """Work off what is due until `due` events have happened, or something has no room."""
    while True:
        key = app.next_key(m, end, due)
        if key < 0:
            return -1 - key
        short = lacking(m, rows, key)
        if short != NONE:
            m[app.LACKING] = short
            return app.GROW
        m[cal.CURSOR] += 1
        step(m, rows, key)


@inlined
def lacking(m: Block, rows: Block, key: int) -> int:
    """Which table has too little room for whatever may come of one event; NONE if all have enough."""
    what = m[cal.entry(m, key) + cal.WHAT]
    if cal.peer_of(key) >= 0:
        topic = m[m[bar.AT_WAVES] + (what >> KIND_BITS) * bar.WAVE + bar.TOPIC]
    else:
        topic = m[m[app.AT_ACTIONS] + what * app.ACTION + app.ABOUT]
    p = place(m, topic, cal.node_of(key))
    said = 1 + m[p + EARLY]
    sent = said * (m[p + CHILDREN] + 2) + 2
    if not cal.has_room(m, sent):
        return app.IN_CALENDAR
    if not out.has_room(rows, sent + 4 * said + 4):
        return app.IN_ROWS
    if m[bar.USED_WAVES] + 2 > m[bar.ROOM_WAVES]:
        return bar.IN_WAVES
    if m[bar.USED_LOGGED] + said > m[bar.ROOM_LOGGED]:
        return bar.IN_LOGGED
    if m[bar.USED_NAMES] + m[p + SAID + bar.LOGS] + said > m[bar.ROOM_NAMES]:
        return bar.IN_NAMES
    return tal.lacking(m, said, said + 1)


@inlined
def place(m: Block, topic: int, node: int) -> int:
    return m[AT_PLACES] + (topic * m[net.NODES] + node) * PLACE


@inlined
def topic_of(m: Block, wave: int) -> int:
    return m[m[bar.AT_WAVES] + wave * bar.WAVE + bar.TOPIC]


@inlined
def source_of(m: Block, wave: int) -> int:
    return m[m[bar.AT_WAVES] + wave * bar.WAVE + bar.SOURCE]


@merged
def step(m: Block, rows: Block, key: int) -> None:
    now, me, j, what = m[cal.NOW], cal.node_of(key), cal.peer_of(key), m[cal.entry(m, key) + cal.WHAT]
    if j < 0:
        act(m, rows, now, me, m[app.AT_ACTIONS] + what * app.ACTION)
        return
    wave, kind = what >> KIND_BITS, what & KINDS
    w = m[bar.AT_WAVES] + wave * bar.WAVE
    p = place(m, m[w + bar.TOPIC], me)
    m[w + bar.FLYING] -= 1
    tal.tell(m, rows, now, 0, out.RECEIVE, me, wave, kind, j, 1 if kind <= PUB else 0, 0)
    if kind <= PUB:
        upon_pub(m, rows, now, me, p, wave)
    elif kind == SUB:
        upon_sub(m, rows, now, me, p, wave)
    elif kind == ACK:
        upon_welcome(m, rows, now, me, p, wave)
    else:
        feed_no_more(m, p, j)
        prune(m, rows, now, me, p, topic_of(m, wave))
    if m[w + bar.FLYING] == 0:
        tal.over(m, wave, 1)


@inlined
def send(m: Block, rows: Block, now: int, me: int, to: int, wave: int, kind: int) -> None:
    departure = net.leaves(m, now, me)
    arrival = net.arrives(m, departure, me, to)
    tal.tell(m, rows, now, departure - now, out.SEND, me, wave, kind, to, 1 if kind <= PUB else 0, 0)
    m[m[bar.AT_WAVES] + wave * bar.WAVE + bar.FLYING] += 1
    cal.push(m, arrival, to, me, (wave << KIND_BITS) | kind)


# The ordering (layers.py)


@merged
def act(m: Block, rows: Block, now: int, me: int, a: int) -> None:
    """`upon_subscribe`, `upon_unsubscribe` and `upon_publish`."""
    topic, does = m[a + app.ABOUT], m[a + app.DOES]
    p, own = place(m, topic, me), out.own(m[app.TOPICS], me, topic)
    if (m[p + WANTED] != 0) == (does == app.JOIN):
        if does == app.SAY:
            m[p + SAID + bar.UNSAID] -= 1
        tal.tell(m, rows, now, 0, out.REFUSE, me, own, 0, -1, 0, 0)
    elif does == app.SAY:
        m[p + PUBLISHED] += 1
        wave = bar.new_wave(m, me, topic, m[p + PUBLISHED], PUB)
        tal.tell(m, rows, now, 0, out.PUBLISH, me, wave, 0, -1, 0, 0)
        if m[p + PHASE] == IN:
            spread(m, rows, now, me, p, wave)
        else:
            keep_early(m, p, wave)
    elif does == app.JOIN:
        tal.tell(m, rows, now, 0, out.SUBSCRIBE, me, own, 0, -1, 0, 0)
        m[p + WANTED] = 1
        if m[p + PHASE] == OUT:
            m[p + PHASE] = JOINING
            upon_sub(m, rows, now, me, p, next_change(m, me, p, topic, SUB))
    else:
        tal.tell(m, rows, now, 0, out.UNSUBSCRIBE, me, own, 0, -1, 0, 0)
        m[p + WANTED] = 0
        if m[p + PHASE] == IN:
            leave(m, rows, now, me, p, topic)


@inlined
def keep_early(m: Block, p: int, wave: int) -> None:
    if m[p + FIRST_EARLY] == NONE:
        m[p + FIRST_EARLY] = wave
    else:
        m[m[bar.AT_WAVES] + m[p + LAST_EARLY] * bar.WAVE + bar.QUEUE] = wave
    m[p + LAST_EARLY] = wave
    m[p + EARLY] += 1


@compiled
def joined(m: Block, rows: Block, now: int, me: int, p: int, topic: int) -> None:
    m[p + PHASE] = IN
    if m[p + WANTED]:
        tal.tell(m, rows, now, 0, out.CONFIRM, me, out.own(m[app.TOPICS], me, topic), 0, -1, 0, 0)
    wave = m[p + FIRST_EARLY]
    while wave != NONE:
        spread(m, rows, now, me, p, wave)
        wave = m[m[bar.AT_WAVES] + wave * bar.WAVE + bar.QUEUE]
    m[p + EARLY], m[p + FIRST_EARLY], m[p + LAST_EARLY] = 0, NONE, NONE
    if not m[p + WANTED]:
        leave(m, rows, now, me, p, topic)


@compiled
def spread(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Stamp a message of mine, deliver it here, and to the root with it."""
    w = m[bar.AT_WAVES] + wave * bar.WAVE
    bar.follow(m, p + SAID, wave)
    tal.tell(m, rows, now, 0, out.SPREAD, me, wave, 0, -1, 0, m[w + bar.BARRIER])
    m[p + SAID + bar.UNSAID] -= 1
    deliver_and_remember(m, rows, now, me, p, wave)
    root = m[m[AT_ROOTS] + m[w + bar.TOPIC]]
    if root == me:
        upon_pub(m, rows, now, me, p, wave)
        if m[w + bar.FLYING] == 0:
            tal.over(m, wave, 1)
    else:
        send(m, rows, now, me, root, wave, ROOT)


@inlined
def deliver_and_remember(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    if m[p + WANTED]:
        tal.tell(m, rows, now, 0, out.DELIVER, me, wave, 0, -1, 0, 0)
        app.listen(m, now, me, source_of(m, wave))
    bar.log(m, p + SAID, wave)


# The overlay


@compiled
def upon_pub(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Pass it on, and take it if I want it. What I published myself the ordering delivered at once."""
    first = m[AT_FED] + m[p + FIRST_CHILD]
    for k in range(first, first + m[p + CHILDREN]):
        send(m, rows, now, me, m[k], wave, PUB)
    if m[p + PHASE] == IN and source_of(m, wave) != me:
        deliver_and_remember(m, rows, now, me, p, wave)
    elif m[p + PHASE] != OUT:
        tal.tell(m, rows, now, 0, out.SKIP, me, wave, 0, -1, 0, 0)


@compiled
def upon_sub(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Upward to whoever can welcome the joiner."""
    if m[p + FEEDER] != NONE:
        m[p + GRAFTING] += 1
        send(m, rows, now, me, m[p + FEEDER], wave, SUB)
    else:
        upon_welcome(m, rows, now, me, p, wave)


@compiled
def upon_welcome(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Graft the next hop towards the joiner, and everything after this welcome goes there too."""
    topic, hop = topic_of(m, wave), source_of(m, wave)
    if m[p + FEEDER] != NONE:
        m[p + GRAFTING] -= 1
    if hop == me:
        joined(m, rows, now, me, p, topic)
        return
    while m[place(m, topic, hop) + FEEDER] != me:
        hop = m[place(m, topic, hop) + FEEDER]
    feed(m, p, hop)
    send(m, rows, now, me, hop, wave, ACK)


@compiled
def leave(m: Block, rows: Block, now: int, me: int, p: int, topic: int) -> None:
    m[p + PHASE] = OUT
    prune(m, rows, now, me, p, topic)


@compiled
def prune(m: Block, rows: Block, now: int, me: int, p: int, topic: int) -> None:
    """Leave the tree when nobody behind me needs me. A join on its way through me keeps me in."""
    if m[p + FEEDER] != NONE and m[p + PHASE] != IN and not m[p + CHILDREN] and not m[p + GRAFTING]:
        send(m, rows, now, me, m[p + FEEDER], next_change(m, me, p, topic, UNS), UNS)


@inlined
def next_change(m: Block, me: int, p: int, topic: int, kind: int) -> int:
    """They count downward."""
    m[p + CHANGES] -= 1
    return bar.new_wave(m, me, topic, m[p + CHANGES], kind)


@inlined
def feed(m: Block, p: int, child: int) -> None:
    """Whom I feed already keeps its place."""
    first = m[AT_FED] + m[p + FIRST_CHILD]
    after = first + m[p + CHILDREN]
    for k in range(first, after):
        if m[k] == child:
            return
    m[after] = child
    m[p + CHILDREN] += 1


@inlined
def feed_no_more(m: Block, p: int, child: int) -> None:
    """The others keep their order."""
    first = m[AT_FED] + m[p + FIRST_CHILD]
    after = first + m[p + CHILDREN]
    at = first
    while at < after and m[at] != child:
        at += 1
    if at < after:
        for k in range(at, after - 1):
            m[k] = m[k + 1]
        m[p + CHILDREN] -= 1
