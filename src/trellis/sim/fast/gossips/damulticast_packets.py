"""What packets of daMulticast say, in a block of memory, and how they are sent. Answers to
overlays/damulticast_packets.py.

A packet lives for one round: what it says stands in one of two tables in turn. What an id tells apart, its group and
who made it, is found from the rest.
"""

from __future__ import annotations

from trellis.sim.fast import applications as app
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast.gossips import company as com
from trellis.sim.fast.gossips import gossip as gsp
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import Block, Table, base, counter, room

PACKETS = ["", "GOSSIP", "DIGEST", "HOLDINGS", "REFILL", "SEARCH", "FOUND"]
GOSSIP, DIGEST, HOLDINGS, REFILL, SEARCH, FOUND = range(1, len(PACKETS))
KIND_BITS = 3  # of what an entry of the calendar is about; else the message, or where it stands what the packet says
KINDS = (1 << KIND_BITS) - 1

SAID = [Table(8, 1), Table(9, 1)]  # what packets say: of those that arrive at even times, and at odd ones
AT_SAID, ROOM_SAID, IN_SAID = base(SAID[0].number), room(SAID[0].number), SAID[0].number
ABOUT, FLAGS = 0, 1  # the topic of a packet's id, then
UP, SAME, REPLY = 1, 2, 2  # to a group above; an answer to the same sum; an answer to holdings
SUM, ENTRIES = 2, 3  # digest: entries: how many fellows, and then each with its age; then those above alike
SPEAKS_OF, HOLDS = 2, 3  # holdings: as bits, of which messages it speaks, and which of them are there
GIVES = 2  # a refill: as bits
WANTED, MEMBERS = 1, 2  # of a search, and of its answer; entries
SAID_MOST = 80  # numbers that a packet may say, but for entries of those above
WRITTEN, TERSE = counter(33), counter(30)  # how much is said to those of the next time; whether upkeep has no rows


@inlined
def id_of(m: Block, kind: int, p: int, sender: int, to: int) -> int:
    """What is answered keeps the id of what was asked."""
    answers = kind == FOUND or (kind == DIGEST and m[p + FLAGS] == UP | SAME)
    return out.own(m[app.TOPICS], to if answers else sender, m[p + ABOUT])


@inlined
def new_packet(m: Block) -> int:
    """Where the next packet says something."""
    return m[AT_SAID + ((m[cal.NOW] + 1) & 1)] + m[WRITTEN]


@compiled
def send(m: Block, rows: Block, me: int, to: int, kind: int, after: int) -> None:
    """What stands from `new_packet` up to `after`; gossip says a message alone."""
    now = m[cal.NOW]
    p = new_packet(m)
    if kind == GOSSIP:
        out.write(rows, now, 0, out.SEND, me, after, kind, to, 1, 0)
    elif kind == REFILL or not m[TERSE]:
        out.write(rows, now, 0, out.SEND, me, id_of(m, kind, p, me, to), kind, to, 0, 0)
    if m[gsp.LOSES] and gsp.is_lost(m, me, to):
        return
    arrival = net.arrives(m, net.leaves(m, now, me), me, to)
    if kind == GOSSIP:
        cal.push(m, arrival, to, me, (after << KIND_BITS) | kind)
    else:
        cal.push(m, arrival, to, me, (m[WRITTEN] << KIND_BITS) | kind)
        m[WRITTEN] += after - p


@inlined
def tell_of(m: Block, e: int, at: int, most: int, k: int) -> None:
    """An entry with its age, which is one more when it arrives."""
    m[e], m[e + 1] = m[at + k], m[com.ROUND] + 1 - m[at + most + k]


@inlined
def hear_all(m: Block, me: int, e: int) -> int:
    """Fellows that a packet tells of; where it goes on."""
    for k in range(m[e]):
        com.hear(m, me, m[e + 1 + 2 * k], m[com.ROUND] - m[e + 2 + 2 * k])
    return e + 1 + 2 * m[e]


@inlined
def hear_all_above(m: Block, me: int, e: int) -> None:
    for k in range(m[e]):
        com.hear_above(m, me, m[e + 1 + 2 * k], m[com.ROUND] - m[e + 2 + 2 * k])
