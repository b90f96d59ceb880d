"""Records of repaired VCube-PS in a block of memory: what vcube.py and those it is made of have in common."""

from __future__ import annotations

from trellis.sim.fast import barriers as bar
from trellis.sim.fast import calendar as cal
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast import tally as tal
from trellis.sim.fast.barriers import AT_WAVES, FLYING, NEAR, OWN, WAVE
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block, Table, base, counter, room
from trellis.sim.fast.trees import views as vws

PACKETS = ["", "SUB", "CUT", "UNS", "PUB", "ACK", "GONE"]
SUB, CUT, UNS, PUB, ACK, REFUSE = range(1, len(PACKETS))
KIND_BITS, HEIGHT_BITS = 3, 5  # of what an entry of the calendar is about; then the wave, and a parcel plus one
KINDS, HEIGHTS = (1 << KIND_BITS) - 1, (1 << HEIGHT_BITS) - 1
WAVE_SHIFT, WAVE_BITS = KIND_BITS + HEIGHT_BITS, 28
WAVES_MAX, PARCEL_SHIFT = (1 << WAVE_BITS) - 1, WAVE_SHIFT + WAVE_BITS
RANK_BITS = 2  # of what somebody says of itself; the version has the others
RANKS = (1 << RANK_BITS) - 1

PLACES = Table(12, 21)  # a node on a topic: topic * nodes + node
WANTED = 0
PUBLISHED, LAST_SAID = 1, 2  # how many of my messages, and the last one that was spread: a chain from the first on
FIRST_QUEUED = 3  # the first one that waits for the window
OUTSTANDING = 4  # my waves on their way
FIRST_UNSETTLED = 5  # the first of my waves that is not settled
UNSETTLED = 6  # how many of those have come back, before an earlier one
WAITERS = 7  # parked
COLUMN = 8  # of the node among those that publish on the topic
PHASE = 9
OUT, JOINING, CUTTING, IN, DRAINING, LEAVING = range(6)
VERSION = 10  # my membership changes so far
VIEW = 11  # the holder of mine
AGAIN = 12  # I left, and shall join at once
UNSPREAD, FIRST_UNSPREAD, LAST_UNSPREAD = 13, 14, 15  # published before I was in: how many, and a chain of messages
UNDER_WAY = 16  # waves that are passed on by my view
SAID = 17  # what a barrier is made of (barriers.py)
EARLY = Table(28, 3)  # per place: messages of others that came while I was joining: how many, and a chain
CAME, FIRST_CAME, LAST_CAME = 0, 1, 2
COUNT = OWN  # of a wave: messages, from this one on
SLAB = NEAR
RETURNED = OWN + 1
WEIGHT = OWN + 2  # of a message: bytes on a wire
FROM = OWN + 3  # the column of its source
TOLD = OWN + 4  # the vector of an UNS
KNOWN = Table(13, 1)  # per place, and node that publishes on its topic: the last number delivered, and what is parked
HALF = 32  # bits; the entry that was parked last stands above them, plus one
LOW = (1 << HALF) - 1
HAD = Table(20, 1)  # the same: departed, and what I had when I left
SEEN = Table(23, 1)  # the same: up to where all has come, and what came ahead of that
WAITS = Table(18, 3)  # messages that are parked, came early or came ahead, in chains
MESSAGE, MISSING, BEHIND = 0, 1, 2
IDS = Table(24, 1)  # per topic: bytes of an id on a wire
VECTORS = Table(16, 1)  # as many numbers for each as nodes that publish on one topic
SAYINGS = Table(25, 3)  # what members say of themselves, in chains
WHO, SAYS, AFTER = 0, 1, 2
PENDINGS = Table(26, 11)  # waves that somebody passed on, and that have not come back
NEXT, ASKER, HEIGHT, BY, AWAITING, SERVED, FIRST_ASKED, VECTOR, FIRST_SAYING, LAST_SAYING, ANSWERED = range(11)
ASKED = Table(27, 3)  # whom it asked, in chains
WHOM, OPEN, THEN = 0, 1, 2  # node and height, or -1; whether it has not answered
PARCELS = Table(29, 2)  # what an answer brings, if it brings anything: a vector, and a chain or a single word
BRINGS, SAYS_TOO = 0, 1

PARTS = [PLACES, EARLY, KNOWN, HAD, SEEN, WAITS, IDS, VECTORS, SAYINGS, PENDINGS, ASKED, PARCELS]
AT_PLACES, AT_EARLY, AT_KNOWN, AT_HAD, AT_SEEN, AT_WAITS, AT_IDS = (base(part.number) for part in PARTS[:7])
AT_VECTORS, AT_SAYINGS, AT_PENDINGS, AT_ASKED, AT_PARCELS = (base(part.number) for part in PARTS[7:])
PLACE, WAIT, SAYING, PENDING, ASK, PARCEL = (part.width for part in (PLACES, WAITS, SAYINGS, PENDINGS, ASKED, PARCELS))
ROOM_WAITS, ROOM_VECTORS, ROOM_SAYINGS, ROOM_PENDINGS, ROOM_ASKED, ROOM_HOLDERS, ROOM_PARCELS = (
    room(part.number) for part in (WAITS, VECTORS, SAYINGS, PENDINGS, ASKED, vws.HOLDERS, PARCELS)
)
IN_WAITS, IN_VECTORS, IN_SAYINGS, IN_PENDINGS, IN_ASKED, IN_HOLDERS, IN_VIEWS, IN_PARCELS = 18, 16, 25, 26, 27, 8, 9, 29
ORDERED, SPEAKERS, WINDOW, BATCH = (counter(n) for n in (20, 23, 37, 38))
MOVES = counter(34)  # whether anybody ever joins or leaves
MASKED = counter(97)  # whether what was delivered is kept as bits: in causal order, where nobody joins or leaves
CROWD = counter(46)  # the most newcomers that anybody ever knew
USED_HOLDERS = counter(45)
USED_PARCELS, FREE_PARCEL = counter(47), counter(93)
USED_WAITS, USED_VECTORS, USED_SAYINGS, USED_PENDINGS, USED_ASKED = (counter(n) for n in (28, 39, 26, 41, 43))
FREE_WAIT, FREE_VECTOR, FREE_SAYING, FREE_PENDING, FREE_ASKED = (counter(n) for n in (32, 40, 31, 42, 44))


@inlined
def place(m: Block, topic: int, node: int) -> int:
    return m[AT_PLACES] + (topic * m[net.NODES] + node) * PLACE


@inlined
def early(m: Block, p: int) -> int:
    return m[AT_EARLY] + (p - m[AT_PLACES]) // PLACE * EARLY.width


@inlined
def known(m: Block, p: int, column: int) -> int:
    return m[AT_KNOWN] + ((p - m[AT_PLACES]) // PLACE * m[SPEAKERS] + column)


@inlined
def had(m: Block, p: int, column: int) -> int:
    return m[AT_HAD] + ((p - m[AT_PLACES]) // PLACE * m[SPEAKERS] + column)


@inlined
def seen(m: Block, p: int, column: int) -> int:
    return m[AT_SEEN] + ((p - m[AT_PLACES]) // PLACE * m[SPEAKERS] + column)


@inlined
def take(m: Block, used: int, free: int, at: int, width: int, link: int) -> int:
    """A record that was given back, or a new one."""
    found = m[free]
    if found == NONE:
        found = m[used]
        m[used] += 1
    else:
        m[free] = m[m[at] + found * width + link]
    return found


@inlined
def new_wait(m: Block, what: int) -> int:
    entry = take(m, USED_WAITS, FREE_WAIT, AT_WAITS, WAIT, BEHIND)
    m[m[AT_WAITS] + entry * WAIT + MESSAGE], m[m[AT_WAITS] + entry * WAIT + BEHIND] = what, NONE
    return entry


@inlined
def give_wait(m: Block, entry: int) -> None:
    m[m[AT_WAITS] + entry * WAIT + BEHIND] = m[FREE_WAIT]
    m[FREE_WAIT] = entry


@inlined
def new_wave(m: Block, me: int, p: int, topic: int, seq: int, kind: int) -> int:
    wave = bar.new_wave(m, me, topic, seq, kind)
    w = m[AT_WAVES] + wave * WAVE
    m[w + SLAB], m[w + TOLD], m[w + FROM] = NONE, NONE, m[p + COLUMN]
    return wave


@compiled
def send(
    m: Block, rows: Block, now: int, me: int, to: int, wave: int, kind: int, height: int, head: int, tail: int
) -> None:
    departure = net.leaves(m, now, me)
    arrival = net.arrives(m, departure, me, to)
    w = m[AT_WAVES] + wave * WAVE
    tal.tell(m, rows, now, departure - now, out.SEND, me, wave, kind, to, m[w + COUNT] if kind == PUB else 0, 0)
    m[w + FLYING] += 1
    parcel = NONE
    if head != NONE or tail:
        parcel = take(m, USED_PARCELS, FREE_PARCEL, AT_PARCELS, PARCEL, BRINGS)
        m[m[AT_PARCELS] + parcel * PARCEL + BRINGS], m[m[AT_PARCELS] + parcel * PARCEL + SAYS_TOO] = head, tail
    what = ((parcel + 1) << PARCEL_SHIFT) | (wave << WAVE_SHIFT) | (height << KIND_BITS) | kind
    cal.push(m, arrival, to, me, what)


@inlined
def opened(m: Block, parcel: int) -> tuple[int, int]:
    """What an answer brings, read once."""
    if parcel == NONE:
        return NONE, 0
    one = m[AT_PARCELS] + parcel * PARCEL
    head, tail = m[one + BRINGS], m[one + SAYS_TOO]
    m[one + BRINGS] = m[FREE_PARCEL]
    m[FREE_PARCEL] = parcel
    return head, tail
