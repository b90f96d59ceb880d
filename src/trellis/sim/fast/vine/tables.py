"""All that a run of a vine has: its tables, and how kernels find their way in them.

A *reference* is a place in the pool, where what travels in profiles lies; NONE stands for what is empty.
"""

from __future__ import annotations

from trellis.sim.fast.jit import inlined
from trellis.sim.fast.memory import TABLES, Block, Table, base, counter, room

VITIS, RENDEZVOUS, COVERING = 0, 1, 2  # which overlay
FLIP = -(1 << 63)  # exchanges the lower and the upper half of 64 bits: then signed words compare as unsigned ones
ID_BITS = 20
ID = (1 << ID_BITS) - 1
CODE_BITS = 14  # of a topic
CODE = (1 << CODE_BITS) - 1

NODES = Table(0, 31)
FIRST_TOPIC, TOPICS, BYTES, CHARS = range(4)  # its topics, and their names
KNOWN_COUNT, VIEW_COUNT, FULL_COUNT, SHUN_COUNT, FORMER_COUNT = range(4, 9)
DOUBTFUL, STALE = 9, 10  # whether proposals may have changed, and whether whom it asks may have
PROPOSED, ASKING = 11, 12  # references: its proposals; whom it asks, each with a reference to the asks
LISTED, HOLES, CHILDREN = 13, 14, 15  # places of its list, and those that are empty; children of all topics together
FIRST_PASSAGE, LAST_PASSAGE, PASSAGE_COUNT = 16, 17, 18
SENT, AFTER = 19, 20  # packets so far (if any are lost); behind its packets of this round
FIRST_PASSED, LAST_PASSED, PASSED_COUNT = 21, 22, 23  # messages that went through it
FIRST_CHUNK, LAST_CHUNK, NOTED = 24, 25, 26  # its log of who was next to it on a path lately
FIRST_KNOWN, WIDE_KNOWN, FIRST_SHUNNED, WIDE_SHUNNED = range(27, 31)  # where its neighbours are, in how many words

SPOTS = Table(31, 2)  # of each node what many others look at
POINT, WEIGHT = 0, 1  # on the ring; the rates of its topics

MINE = Table(1, 1)  # topics of one node after the other, each in ascending order

TOPIC = Table(2, 6)
T_POINT, T_RATE, T_BYTES, PLACE = range(4)  # place: which one it is of the topics of the node whose turn it is
SEEN, SEEN_AT = 4, 5  # a mark, and what goes with it
OWNERS = Table(27, 1)  # by topic: one more than the last node whose turn it was and that takes it
LACKS = Table(28, 1)  # of its topics: how many neighbours for each are still wanted, and a bit for those with any

KNOWN = Table(3, 1)  # neighbours: a row for each, in the order in which they came
WHO, VERSION, SINCE, HEARD, SPOKE, WHY_MINE, WHY_THEIRS, PROPOSALS, ASKS, SHARES = range(10)
ROW = 10
NOT, FRIEND, SHORTCUT, RING = 0, 1, 2, 3

VIEW = Table(4, 1)  # two words for each: who (with the profile's version), and when it spoke
VIEW_MAX = 20
FULL, SHUNNED, FORMER = Table(5, 1), Table(6, 1), Table(7, 1)  # two words for each: who, and until when
PAIR = 2

MARKS = Table(8, 4)  # by node: a mark, and what goes with it
MARK, MARK_AT, HOP_COUNT, HOP_REF = range(4)
SOME = Table(9, 8)  # those that are looked at: candidates for the table, the sample or a letter
S_NODE, S_VERSION, S_A, S_B, S_OUT, S_WHY, S_MINE = range(7)
LINE = Table(10, 2)  # some of those in an order: which one, and a key
LIST = Table(11, 1)  # nodes in an order
WANTED = Table(12, 3)  # by topic
W_TOPIC, W_GATEWAY, W_HOP = 0, 1, 2

OUTBOX, INBOX = Table(13, 4), Table(14, 4)  # packets in the order in which they were sent; of this round, by receiver
TO, HEAD, A, B = range(4)
LETTERS = Table(15, 1), Table(16, 1)  # contacts in packets, in turns: who, the version of its profile, its age
LIFE_BITS = 20
VERSIONS = (2 << LIFE_BITS) - 1  # a profile's version: in which life, and whether it tells of any topics
AGE_SHIFT = ID_BITS + 1 + LIFE_BITS

POOL = Table(18, 1)  # how many words, then so many
CARRIED = Table(19, 4)  # what a node carries of a topic for others; key: NONE if it is free
C_KEY, C_PLACE, FIRST_CHILD, LAST_CHILD = range(4)
LISTS = Table(32, 1)  # all that a node carries, in that order: the topic and the least gateway; NONE where one was
CARRIED_SLOTS = Table(20, 2)
LINKS = Table(21, 3)  # chains
L_NODE, L_VALUE, L_NEXT = 0, 1, 2

PASSAGES = Table(22, 20)
P_KEY, P_MESSAGE, P_NEXT, P_STATE, BORN, ASKED, SOURCES = range(7)
SOURCE, SOURCES_MAX = 7, 8
FIRST_ASKER, LAST_ASKER, ASKERS = 15, 16, 17
ACTIVE, CAME, WAITING, PASSED, HAVE = 1, 2, 4, 8, 16
PASSAGE_SLOTS = Table(23, 2)

ACTIONS = Table(24, 7)
A_AT, A_NODE, A_TOPIC, A_SEQ, A_LIFE = range(5)  # in which life of its node
A_STREAM, A_NEXT = 5, 6  # which one of its topic's; the next of those that wait until their source has joined
FAR = Table(25, 2)  # k for each node: how far a shortcut should go (flipped), and a quarter of that
BITS = Table(26, 1)  # each node's topics, a bit for each
SHARED = Table(17, 1)  # what a node lately saw that it has in common with others: so many places, by who it is
SHARED_MAX = 128
SHARED_BITS = 32
COMMON = Table(40, 1)  # which topics each of those who are looked at has in common with one node (`covering.py`)
CHUNKS = Table(29, 64)  # of logs
NOTES = Table(30, 2)  # of one log, while it is tidied up
N_WHAT, N_NEXT = 0, 1

# Of nodes that come and go (`lives.py`, `joining.py`); where nobody does, there is nothing in most of these.
LIVES = Table(33, 8)  # by node; own: the number of the life that it has, of all lives of all nodes
IS_DEAD, LIFE_OF, BORN_AT, OWN_OF, GRACE_OF, BELIEVED, JOINING_COUNT, EARLY_COUNT = range(8)
FATES = Table(34, 12)  # who dies, comes up or subscribes again, in the order in which that happens
F_AT, F_WHAT, F_NODE, F_CONTACTS, F_CONTACT = range(5)  # the last ones: of whom it hears when it comes up
NOTHING, BREAKS, STARTS, SUBSCRIBES = range(4)
TAKEN = Table(35, 11)  # by node and topic as in `MINE`: what stands of it in a later life
T_JOINING, T_NOBODY, FIRST_ASKED, LAST_ASKED, ASKED_COUNT, FIRST_WAITS, LAST_WAITS, WAIT_COUNT = range(8)
FIRST_EARLY, LAST_EARLY, T_CUT = 8, 9, 10
CUTS = Table(36, 1)  # for each of those, where it began: a number for each stream of the topic
STREAMS = Table(37, 2)  # what one life of a node says on a topic: where its messages are, and how many
SAID = Table(38, 1)  # messages of one stream after the other
HEARD_ON = Table(39, 2)  # by topic: its first stream, and how many

PARTS = [NODES, MINE, TOPIC, KNOWN, VIEW, FULL, SHUNNED, FORMER, MARKS, SOME, LINE, LIST, WANTED, OUTBOX, INBOX]
PARTS += [*LETTERS, POOL, CARRIED, CARRIED_SLOTS, LINKS, PASSAGES, PASSAGE_SLOTS, ACTIONS, FAR, BITS, OWNERS, LACKS]
PARTS += [CHUNKS, NOTES, SPOTS, LISTS, SHARED, COMMON]
PARTS += [LIVES, FATES, TAKEN, CUTS, STREAMS, SAID, HEARD_ON]

AT_NODES, AT_MINE, AT_TOPIC, AT_KNOWN, AT_VIEW, AT_FULL, AT_SHUNNED, AT_FORMER = (base(n) for n in range(8))
AT_MARKS, AT_SOME, AT_LINE, AT_LIST, AT_WANTED, AT_OUTBOX, AT_INBOX = (base(n) for n in range(8, 15))
AT_LETTERS, AT_POOL, AT_CARRIED, AT_CARRIED_SLOTS, AT_LINKS = (base(n) for n in (15, 18, 19, 20, 21))
AT_PASSAGES, AT_PASSAGE_SLOTS, AT_ACTIONS, AT_FAR, AT_BITS = (base(n) for n in range(22, 27))
AT_OWNERS, AT_LACKS, AT_CHUNKS, AT_NOTES = (base(n) for n in range(27, 31))
AT_SPOTS, AT_LISTS, AT_SHARED, AT_COMMON = (base(n) for n in (31, 32, 17, 40))
AT_LIVES, AT_FATES, AT_TAKEN, AT_CUTS, AT_STREAMS, AT_SAID, AT_HEARD_ON = (base(n) for n in range(33, 40))
ROOM_KNOWN, ROOM_SHUNNED = room(KNOWN.number), room(SHUNNED.number)
ROOM_OUTBOX, ROOM_LETTERS = room(OUTBOX.number), room(LETTERS[0].number)
ROOM_POOL, ROOM_CARRIED, ROOM_LINKS, ROOM_PASSAGES = (room(n) for n in (18, 19, 21, 22))
ROOM_CARRIED_SLOTS, ROOM_PASSAGE_SLOTS, ROOM_CHUNKS, ROOM_NOTES = (room(n) for n in (20, 23, 29, 30))
NODE, TOPIC_WIDTH, MARKED, SOMEBODY, PLACED = NODES.width, TOPIC.width, MARKS.width, SOME.width, LINE.width
WISH, PACKET, CARRY, LINK, PASSAGE, ACTION = (t.width for t in (WANTED, OUTBOX, CARRIED, LINKS, PASSAGES, ACTIONS))
CHUNK, NOTE, SPOT = CHUNKS.width, NOTES.width, SPOTS.width
ALIVE, FATE, TAKES, STREAM, HEARS = (t.width for t in (LIVES, FATES, TAKEN, STREAMS, HEARD_ON))

# Time: of the host, and as the node whose turn it is counts rounds (before its `Cycle` it is one behind).
NOW, ROUND, TURN, CYCLED, CURSOR = (counter(n) for n in range(5))
EVENTS, NEXT_ACTION, ALL_ACTIONS, LACKING, SIDE = (counter(n) for n in range(5, 10))  # side: which letters came
OVERLAY, ALL, ALL_TOPICS, MOST_TOPICS = (counter(n) for n in range(10, 14))
TABLE_MAX, LIMIT, SAMPLE, GRACE, D, COVER, K, LOSS, UPKEEP = (counter(n) for n in range(14, 23))
SAMPLED, FRESH, SWAPPED, CHANNEL = (counter(n) for n in range(23, 27))  # draws with no key yet
FULL_STRIDE, FORMER_STRIDE, IN_KNOWN, IN_SHUNNED = (counter(n) for n in range(27, 31))
IN_OUTBOX, IN_INBOX, IN_LETTERS = counter(31), counter(32), counter(33)  # of letters, one for each side
IN_POOL, IN_CARRIED, IN_LINKS, FREE_LINK, FREE_LINKS, IN_PASSAGES, STAMP = (counter(n) for n in range(35, 42))
START, COUNT = counter(42), counter(43)  # a letter that was just written
IN_SOME, IN_LINE = counter(44), counter(45)
FREE_CARRIED, WORDS, RATED = (counter(n) for n in range(46, 49))  # words of bits; whether topics have rates
IN_CHUNKS, FREE_CHUNK, FREE_CHUNKS, LIST_STRIDE = (counter(n) for n in range(49, 53))

# Of the node whose turn it is, as grace: its life, the number of that, its profile's version; then of all.
LIFE, OWN, SHOWN, ALL_LIVES, NEXT_FATE, ALL_FATES, MOST_STREAMS = (counter(n) for n in range(60, 67))
FIRST_GRACE, GRACE_GROWS, SHORTCUTS = (counter(n) for n in range(67, 70))  # at first, whether it changes; a draw

# Why the kernel came back, and which table has no room if that is it.
DONE, PROGRESS, GROW = 0, 1, 2
IN_ROWS = TABLES


@inlined
def node(m: Block, me: int) -> int:
    return m[AT_NODES] + me * NODE


@inlined
def rows_of(m: Block, me: int) -> int:
    """Where a node's neighbours are."""
    return m[AT_KNOWN] + m[m[AT_NODES] + me * NODE + FIRST_KNOWN]


@inlined
def shunned_by(m: Block, me: int) -> int:
    return m[AT_SHUNNED] + m[m[AT_NODES] + me * NODE + FIRST_SHUNNED]


@inlined
def spot(m: Block, who: int) -> int:
    return m[AT_SPOTS] + who * SPOT


@inlined
def life(m: Block, me: int) -> int:
    return m[AT_LIVES] + me * ALIVE


@inlined
def topic(m: Block, code: int) -> int:
    return m[AT_TOPIC] + code * TOPIC_WIDTH


@inlined
def mark_of(m: Block, other: int) -> int:
    return m[AT_MARKS] + other * MARKED


@inlined
def some(m: Block, which: int) -> int:
    return m[AT_SOME] + which * SOMEBODY


@inlined
def new_stamp(m: Block) -> int:
    """A mark that nobody has yet."""
    m[STAMP] += 1
    return m[STAMP]


@inlined
def takes(m: Block, me: int, code: int) -> bool:
    """Whether the node whose turn it is takes a topic."""
    return m[m[AT_OWNERS] + code] == me + 1


@inlined
def somebody_takes(m: Block, other: int, code: int) -> bool:
    n = m[AT_NODES] + other * NODE
    low = m[AT_MINE] + m[n + FIRST_TOPIC]
    high = low + m[n + TOPICS]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if m[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low < end and m[low] == code


@inlined
def new_link(m: Block, who: int, value: int) -> int:
    link = m[FREE_LINK]
    if link < 0:
        link = m[IN_LINKS]
        m[IN_LINKS] += 1
    else:
        m[FREE_LINK] = m[m[AT_LINKS] + link * LINK + L_NEXT]
        m[FREE_LINKS] -= 1
    at = m[AT_LINKS] + link * LINK
    m[at + L_NODE], m[at + L_VALUE], m[at + L_NEXT] = who, value, -1
    return link


@inlined
def free_link(m: Block, link: int) -> None:
    m[m[AT_LINKS] + link * LINK + L_NEXT] = m[FREE_LINK]
    m[FREE_LINK] = link
    m[FREE_LINKS] += 1


@inlined
def link_at(m: Block, link: int) -> int:
    return m[AT_LINKS] + link * LINK


@inlined
def free_chain(m: Block, link: int) -> None:
    while link != -1:
        after = m[m[AT_LINKS] + link * LINK + L_NEXT]
        free_link(m, link)
        link = after
