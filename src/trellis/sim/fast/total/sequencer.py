"""Timestamps from desks, in a block of memory. Answers to parts/desk.py and parts/line.py, as `total` uses them.

So far as experiments/tno/stamping.py runs them: up to the timestamp, with nobody who hears the messages. Clients that
wait answer to sim/waiting.py.

Assumes:  links that lose nothing and keep the order of their packets; one copy of each desk, at the node of its number;
          subscriptions that stand from the beginning; clients that host no desk.

What is kept otherwise than there, and why the rows are the same:
- No entries of timestamps, only how many there are and how many bytes they take as msgpack: nobody reads another number
  of a climb than that of its own topic. Names are as long as they are, and a number takes the bytes of its size.
- Neither turns nor what is held: all climbs of a desk take one link, so each comes in its turn. For the same reason a
  topic's answers come in the order of the questions, from its top alone: each is for the oldest that waits.
- Neither answers that are kept nor the book of a desk: nobody asks again, and nobody else leads.
- `clocks` has a number per topic, since a topic is at one desk; `known` one per desk and topic.
- A message has the number of the application's call. An id of a packet is that of the oldest message that is asked for.
"""

from __future__ import annotations

from trellis.sim.fast import applications as app
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast.jit import compiled, inlined, merged
from trellis.sim.fast.memory import NONE, Block, Table, base, counter
from trellis.sim.fast.total import sites
from trellis.sim.fast.total.sizes import size_of, size_of_all

PACKETS = ["", "ASK", "STAMP", "CLIMB", "TOP"]
ASK, STAMP, CLIMB, TOP = 1, 2, 3, 4
KIND_BITS = 3  # of what an entry of the calendar is about; the question has the others
KINDS = (1 << KIND_BITS) - 1
ASKS_MAX = 4  # of a line, on their way

TOPICS = Table(12, 4)
HOME, HIGHEST, CLOCK, NAMED = range(4)  # its desk; the highest of its group; its last number; bytes of its name
STARTS, OTHERS = Table(13, 1), Table(14, 1)  # per topic and desk: where those of its group begin that are at home there
KNOWN = Table(15, 1)  # per desk and topic of lower rank: its last number that passed
CLIENTS = Table(16, 5)  # per node
SPEAKING, FIRST_UNSAID, LAST_UNSAID, FIRST_UNASKED, LAST_UNASKED = range(5)
LINES = Table(17, 6)  # per client and topic of it
ABOUT, PUBLISHED, NUMBERED, ASKS, OLDEST, NEWEST = range(6)  # numbered: at its desk; of what waits: both ends
MESSAGES = Table(18, 8)  # by the number of the application's call
LINE, SEQ, SAID_AT, SPREAD_AT, ENTRIES, NEXT, AFTER, BEFORE = range(8)  # after and before: among those to be asked for
QUESTIONS = Table(19, 5)
OF, UPTO, LAST, MANY, BYTES = range(5)  # the oldest message; up to which; the last number; entries, and their bytes
SPREAD = Table(20, 1)  # messages, in the order in which they had their timestamps
SPENT = Table(23, 3)  # per server: bytes of timestamps to other desks, to whoever asked, back to their home
FORWARDED, ANSWERED, RETURNED = range(3)
USES = Table(24, 2)  # per kind of packet
TIMES, SINCE = 0, 1  # how often it was sent, and how many packets were before the first

PARTS = (TOPICS, STARTS, OTHERS, KNOWN, CLIENTS, LINES, MESSAGES, QUESTIONS, SPREAD, SPENT, USES)
(
    AT_TOPICS, AT_STARTS, AT_OTHERS, AT_KNOWN, AT_CLIENTS, AT_LINES, AT_MESSAGES, AT_QUESTIONS, AT_SPREAD, AT_SPENT,
    AT_USES,
) = (base(part.number) for part in PARTS)  # fmt: skip
TOPIC, CLIENT, LINE_WIDTH, MESSAGE, QUESTION, SPENDING, USE = (
    part.width for part in (TOPICS, CLIENTS, LINES, MESSAGES, QUESTIONS, SPENT, USES)
)
DESKS, ALL_TOPICS, FIRST_CLIENT, EACH, PATIENT, ASKED, DONE, POSTED = (counter(n) for n in range(37, 45))


@compiled
def go_on(m: Block, rows: Block, end: int, due: int) -> int:
    """Work off what is due until `due` events have happened, or something has no room."""
    while True:
        if m[cal.CURSOR] == m[cal.COUNT]:
            told = app.next_round(m, end, due)
            if told != NONE:
                return told
        while m[cal.CURSOR] < m[cal.COUNT]:
            key = cal.key(m)
            short = lacking(m, rows, key)
            if short != NONE:
                m[app.LACKING] = short
                return app.GROW
            m[cal.CURSOR] += 1
            step(m, rows, key)


@inlined
def lacking(m: Block, rows: Block, key: int) -> int:
    """Which table has too little room for whatever may come of one event; NONE if all have enough."""
    if not cal.has_room(m, 4):
        return app.IN_CALENDAR
    what, many = m[cal.entry(m, key) + cal.WHAT], 0
    if cal.peer_of(key) >= 0 and what & KINDS == STAMP:
        q = question(m, what >> KIND_BITS)
        many = m[q + UPTO] - m[message(m, m[q + OF]) + SEQ] + 1
    return NONE if out.has_room(rows, many + 4) else app.IN_ROWS


@inlined
def topic_at(m: Block, topic: int) -> int:
    return m[AT_TOPICS] + topic * TOPIC


@inlined
def client(m: Block, node: int) -> int:
    return m[AT_CLIENTS] + node * CLIENT


@inlined
def line_at(m: Block, line: int) -> int:
    return m[AT_LINES] + line * LINE_WIDTH


@inlined
def message(m: Block, number: int) -> int:
    return m[AT_MESSAGES] + number * MESSAGE


@inlined
def question(m: Block, number: int) -> int:
    return m[AT_QUESTIONS] + number * QUESTION


@merged
def step(m: Block, rows: Block, key: int) -> None:
    now, me, j, what = m[cal.NOW], cal.node_of(key), cal.peer_of(key), m[cal.entry(m, key) + cal.WHAT]
    asked, kind = what >> KIND_BITS, what & KINDS
    if j >= 0:
        out.write(rows, now, 0, out.RECEIVE, me, m[question(m, asked) + OF], kind, j, 0, 0)
        if sites.waits(m, now, me, what):
            return
    elif me >= m[FIRST_CLIENT]:
        act(m, rows, now, me, what)
        return
    if kind == ASK:
        upon_ask(m, rows, now, me, asked)
    elif kind == CLIMB:
        upon_climb(m, rows, now, me, asked)
    elif kind == STAMP:
        upon_stamped(m, rows, now, me, asked)


@inlined
def send(m: Block, rows: Block, now: int, me: int, to: int, asked: int, kind: int) -> None:
    arrival = sites.arrives(m, now, me, to)
    out.write(rows, now, 0, out.SEND, me, m[question(m, asked) + OF], kind, to, 0, 0)
    cal.push(m, arrival, to, me, (asked << KIND_BITS) | kind)
    u = m[AT_USES] + kind * USE
    if m[u + TIMES] == 0:
        m[u + SINCE] = m[POSTED]
    m[u + TIMES] += 1
    m[POSTED] += 1


# Clients


@merged
def act(m: Block, rows: Block, now: int, me: int, said: int) -> None:
    """A patient one waits until its message before has been handed down."""
    c = client(m, me)
    if m[PATIENT]:
        if m[c + SPEAKING]:
            m[message(m, said) + NEXT] = NONE
            if m[c + FIRST_UNSAID] == NONE:
                m[c + FIRST_UNSAID] = said
            else:
                m[message(m, m[c + LAST_UNSAID]) + NEXT] = said
            m[c + LAST_UNSAID] = said
            return
        m[c + SPEAKING] = 1
    publish(m, rows, now, me, c, said)


@inlined
def publish(m: Block, rows: Block, now: int, me: int, c: int, said: int) -> None:
    s = message(m, said)
    p = line_at(m, m[s + LINE])
    m[p + PUBLISHED] += 1
    m[s + SEQ], m[s + SAID_AT], m[s + NEXT] = m[p + PUBLISHED], now, NONE
    out.write(rows, now, 0, out.PUBLISH, me, said, 0, -1, 0, 0)
    if m[p + OLDEST] == NONE:
        m[p + OLDEST] = said
    else:
        m[message(m, m[p + NEWEST]) + NEXT] = said
    m[p + NEWEST] = said
    line_up(m, c, said)
    ask(m, rows, now, me, c)


@inlined
def line_up(m: Block, c: int, said: int) -> None:
    """Up to where I will ask. Two of one topic in a row are one question."""
    s, last = message(m, said), m[c + LAST_UNASKED]
    if last != NONE and m[message(m, last) + LINE] == m[s + LINE]:
        take_out(m, c, last)
        last = m[c + LAST_UNASKED]
    m[s + BEFORE], m[s + AFTER] = last, NONE
    if last == NONE:
        m[c + FIRST_UNASKED] = said
    else:
        m[message(m, last) + AFTER] = said
    m[c + LAST_UNASKED] = said


@inlined
def take_out(m: Block, c: int, said: int) -> None:
    s = message(m, said)
    before, after = m[s + BEFORE], m[s + AFTER]
    if before == NONE:
        m[c + FIRST_UNASKED] = after
    else:
        m[message(m, before) + AFTER] = after
    if after == NONE:
        m[c + LAST_UNASKED] = before
    else:
        m[message(m, after) + BEFORE] = before


@compiled
def ask(m: Block, rows: Block, now: int, me: int, c: int) -> None:
    """For all that may be asked for."""
    said = m[c + FIRST_UNASKED]
    while said != NONE:
        s = message(m, said)
        after, p = m[s + AFTER], line_at(m, m[s + LINE])
        if m[p + ASKS] < ASKS_MAX:
            take_out(m, c, said)
            m[p + ASKS] += 1
            asked = m[ASKED]
            m[ASKED] += 1
            q = question(m, asked)
            m[q + OF], m[q + UPTO] = m[p + OLDEST], m[s + SEQ]
            send(m, rows, now, me, m[topic_at(m, m[p + ABOUT]) + HOME], asked, ASK)
        said = after


@inlined
def upon_stamped(m: Block, rows: Block, now: int, me: int, asked: int) -> None:
    """Hand down what has its timestamp, in the order in which it was published."""
    q, c = question(m, asked), client(m, me)
    p = line_at(m, m[message(m, m[q + OF]) + LINE])
    m[p + ASKS] -= 1
    while m[p + OLDEST] != NONE and m[message(m, m[p + OLDEST]) + SEQ] <= m[q + UPTO]:
        said = m[p + OLDEST]
        s = message(m, said)
        m[p + OLDEST] = m[s + NEXT]
        m[s + SPREAD_AT], m[s + ENTRIES] = now, m[q + MANY] + 1
        m[m[AT_SPREAD] + m[DONE]] = said
        m[DONE] += 1
        out.write(rows, now, 0, out.SPREAD, me, said, 0, -1, 0, m[q + MANY] + 1)
        if m[PATIENT]:
            speak_again(m, now, me, c)
    ask(m, rows, now, me, c)


@inlined
def speak_again(m: Block, now: int, me: int, c: int) -> None:
    m[c + SPEAKING] = 0
    said = m[c + FIRST_UNSAID]
    if said != NONE:
        m[c + FIRST_UNSAID] = m[message(m, said) + NEXT]
        cal.push(m, now, me, -2, said)


# Desks


@inlined
def upon_ask(m: Block, rows: Block, now: int, me: int, asked: int) -> None:
    """Numbers for all messages that have none yet; then those of its group."""
    q = question(m, asked)
    p = line_at(m, m[message(m, m[q + OF]) + LINE])
    topic = m[p + ABOUT]
    t = topic_at(m, topic)
    m[t + CLOCK] += m[q + UPTO] - m[p + NUMBERED]
    m[q + LAST] = m[t + CLOCK]
    m[p + NUMBERED] = m[q + UPTO]
    for desk in range(me + 1, m[DESKS]):
        others = m[AT_STARTS] + topic * m[DESKS] + desk
        for k in range(m[AT_OTHERS] + m[others], m[AT_OTHERS] + m[others + 1]):
            enter(m, q, m[k], m[m[AT_KNOWN] + me * m[ALL_TOPICS] + m[k]])
    fill_and_send_on(m, rows, now, me, asked, topic)


@inlined
def upon_climb(m: Block, rows: Block, now: int, me: int, asked: int) -> None:
    q = question(m, asked)
    topic = m[line_at(m, m[message(m, m[q + OF]) + LINE]) + ABOUT]
    k = m[AT_KNOWN] + me * m[ALL_TOPICS] + topic
    m[k] = max(m[k], m[q + LAST])
    fill_and_send_on(m, rows, now, me, asked, topic)


@inlined
def enter(m: Block, q: int, topic: int, number: int) -> None:
    """One entry more."""
    m[q + MANY] += 1
    m[q + BYTES] += m[topic_at(m, topic) + NAMED] + size_of(number)


@compiled
def fill_and_send_on(m: Block, rows: Block, now: int, me: int, asked: int, topic: int) -> None:
    """The numbers of my topics as they are now. Then to the next desk, or to whoever asked, and to its home."""
    q, t, spent = question(m, asked), topic_at(m, topic), m[AT_SPENT] + me * SPENDING
    others = m[AT_STARTS] + topic * m[DESKS] + me
    for k in range(m[AT_OTHERS] + m[others], m[AT_OTHERS] + m[others + 1]):
        enter(m, q, m[k], m[topic_at(m, m[k]) + CLOCK])
    size = m[q + BYTES] + size_of_all(m[q + MANY])
    if m[t + HIGHEST] < me:
        m[spent + FORWARDED] += size
        send(m, rows, now, me, me - 1, asked, CLIMB)
        return
    m[spent + ANSWERED] += size
    send(m, rows, now, me, m[FIRST_CLIENT] + m[message(m, m[q + OF]) + LINE] // m[EACH], asked, STAMP)
    if m[t + HOME] != me:
        m[spent + RETURNED] += size
        send(m, rows, now, me, m[t + HOME], asked, TOP)
