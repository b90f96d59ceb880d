"""The packets of `total`: between those who publish or subscribe and the desks, and from desk to desk up the rank.

Source:   TNO section 3.4: event and subscription timestamps under construction. Only ids travel, payloads stay.
Assumes:  a tag is for ever: on a wire it is the packet's name.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from trellis.words import EXACT, GROUP_MAX, LENGTH_MAX, NodeId, Origin, Packet, Stamp, Time, Topic

DESKS_MAX = 64
PART_MAX = LENGTH_MAX // 2  # bytes of a desk's state in one packet
PARTS_MAX = 256

Positive = Annotated[int, Meta(ge=1, lt=EXACT)]
Natural = Annotated[int, Meta(ge=0, lt=EXACT)]
DeskId = Annotated[int, Meta(ge=0, lt=DESKS_MAX)]
Topics = Annotated[tuple[Topic, ...], Meta(max_length=GROUP_MAX)]  # ascending


class Ours(Packet, frozen=True, gc=False):
    """Between orderings; the overlay has nothing to do with it."""

    for_ordering: ClassVar[bool] = True


class Ask(Ours, frozen=True, gc=False, tag="TA"):
    """A publisher wants timestamps for its payloads on a topic, up to this one; those before `first` it has got."""

    first: Positive
    upto: Positive
    kind: ClassVar[str] = "ASK"


class Stamped(Ours, frozen=True, gc=False, tag="TS"):
    """The timestamps of `count` payloads, from `first` on: numbers from `number` on, the other entries alike."""

    first: Positive
    count: Positive
    number: Positive
    entries: Stamp  # without the topic's own
    kind: ClassVar[str] = "STAMP"

    @property
    def last(self) -> int:
        return self.first + self.count - 1


class Change(Ours, frozen=True, gc=False, tag="TC"):
    """A subscriber wants these topics from now on, and no others."""

    version: Positive  # its changes are counted from 1 on
    topics: Topics
    anew: bool = False  # its subscription had been given up
    kind: ClassVar[str] = "CHANGE"


class Admitted(Ours, frozen=True, gc=False, tag="TD"):
    """Every desk knows of the change. The numbers are those after which it gets everything."""

    version: Positive
    entries: Stamp
    anew: bool = False  # also of what it had before: that was given up meanwhile
    kind: ClassVar[str] = "ADMIT"


class Pull(Ours, frozen=True, gc=False, tag="TP"):
    """A subscriber waits for these numbers of a topic: whose are they, and will they come?"""

    number: Positive
    upto: Natural  # 0: it has none above
    kind: ClassVar[str] = "PULL"


class Told(Ours, frozen=True, gc=False, tag="TT"):
    """These numbers belong to what `id` names and to what follows it; if they are void, they will not come.

    Or they are so old that nobody knows any more whose they are.
    """

    number: Positive
    count: Positive
    void: bool
    known: bool = True
    kind: ClassVar[str] = "TOLD"


class Lapse(Ours, frozen=True, gc=False, tag="TL"):
    """The desk itself gives numbers up, because the publisher is gone and a subscriber waits for them."""

    number: Positive
    count: Positive
    kind: ClassVar[str] = "LAPSE"


class Renew(Ours, frozen=True, gc=False, tag="TN"):
    """Is my subscription still known? Until I hear that it was when I asked I deliver nothing."""

    version: Natural  # the last change that I know to be done
    at: Time  # by the subscriber's clock
    kind: ClassVar[str] = "RENEW"


class Renewed(Ours, frozen=True, gc=False, tag="TO"):
    """It was, or it was given up after that change, because nobody reached its subscriber for too long."""

    version: Natural
    at: Time
    stands: bool
    kind: ClassVar[str] = "RENEWED"


EXPIRE: Final = "expire"
GATHER: Final = "gather"
GATHERED: Final = "gathered"
FORGET: Final = "forget"
Pairs = Annotated[tuple[tuple[Origin, Topics], ...], Meta(max_length=GROUP_MAX)]


class Sweep(Ours, frozen=True, gc=False, tag="TQ"):
    """Subscriptions that are given up, or that count no more: from the desk where changes begin through all others.

    EXPIRE: these are over. GATHER: how far are the topics of these? FORGET: all subscribers are as far.
    """

    act: Literal["expire", "gather", "gathered", "forget"]
    round: Natural  # sweeps are counted
    pairs: Pairs
    entries: Stamp = ()
    kind: ClassVar[str] = "SWEEP"


class Reach(Ours, frozen=True, gc=False, tag="TR"):
    """Tell me when you have got everything up to these numbers, as far as they are for you."""

    round: Natural
    numbers: Stamp
    kind: ClassVar[str] = "REACH"


class Reached(Ours, frozen=True, gc=False, tag="TW"):
    """I have."""

    round: Natural
    kind: ClassVar[str] = "REACHED"


class Climb(Ours, frozen=True, gc=False, tag="TU"):
    """A timestamp on its way up the rank, from each desk to the next one."""

    to: DeskId  # the next one
    turn: Natural  # its number among those from the desk below to that one; 0: it has not left its home
    top: DeskId  # where it ends
    home: DeskId  # where it was begun
    serial: Positive  # among those begun there
    over: Natural  # up to this serial nobody asks any more
    entries: Stamp  # so far
    about: Stamped | Change | Sweep  # what it is for; its entries come when it is complete
    kind: ClassVar[str] = "CLIMB"


class Climbed(Ours, frozen=True, gc=False, tag="TV"):
    """To its home: a climb is complete, and this is the answer that was given."""

    to: DeskId
    serial: Positive
    answer: Stamped | Admitted | Sweep
    kind: ClassVar[str] = "TOP"


# Copies of a desk's book at other hosts.


class Seat(Ours, frozen=True, gc=False, tag="TK"):
    """A host counts from this line on."""

    host: NodeId
    kind: ClassVar[str] = "SEAT"


Command = Ask | Change | Climb | Climbed | Lapse | Renew | Sweep | Seat
Seats = Annotated[tuple[NodeId, ...], Meta(max_length=DESKS_MAX)]


class Entry(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """One line of the book of a desk."""

    epoch: Natural  # under which leader it was written
    command: Command | None  # None: a leader began


class Account(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """What a publisher was given on a topic."""

    numbered: Natural = 0  # its payloads so far
    answers: dict[Positive, Stamped] = {}  # by the first of them; until the publisher says that it has it


class Given(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """Numbers that were given to one publisher at once."""

    number: Positive
    count: Positive
    origin: Origin
    first: Positive  # of its payloads

    def __contains__(self, number: int) -> bool:
        return self.number <= number < self.number + self.count


class Listed(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """One subscriber."""

    subscriber: Origin
    current: Topics
    counted: Topics  # with what it had before


class Run(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """Numbers that were given up."""

    first: Positive
    last: Positive


class State(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """All that a desk knows."""

    up: Natural = 0  # climbs that went on to the desk above
    done: Natural = 0  # climbs of the desk below that passed here
    clocks: dict[Topic, Natural] = {}  # LC_T of the topics at home here
    known: dict[Topic, Natural] = {}  # LLC: of topics of lower rank, as they passed
    subscriptions: list[Listed] = []
    accounts: dict[tuple[Origin, Topic], Account] = {}
    admitted: dict[Origin, Admitted] = {}  # the last answer to each subscriber, at the desk where they begin
    changes: dict[Origin, Natural] = {}  # the last change of each that was begun there
    expired: list[Origin] = []  # whose subscriptions were given up there
    anew: dict[Origin, Natural] = {}  # with which change those came back of whom that was so before
    sweeps: Natural = 0
    sweep: Sweep | None = None  # the one under way
    given: dict[Topic, list[Given]] = {}  # lately, ascending
    voids: dict[Topic, list[Run]] = {}  # lately
    begun: Natural = 0
    open: dict[Positive, Climb] = {}  # begun here, and not at the top yet; by serial, ascending
    passed: dict[DeskId, dict[Positive, Climb]] = {}  # per home, as they left here, until that is sure
    held: dict[Positive, Climb] = {}  # by turn: they came before something that went before them


class Install(Ours, frozen=True, gc=False, tag="TJ"):
    """From the leader: your book lacks lines that I have no more. This is the desk after that line."""

    to: DeskId
    epoch: Natural
    index: Natural
    index_epoch: Natural
    seats: Seats
    part: Natural  # a large one comes in parts, from 0 on
    parts: Annotated[int, Meta(ge=1, le=PARTS_MAX)]
    state: Annotated[bytes, Meta(max_length=PART_MAX)]  # of a `State`, packed
    kind: ClassVar[str] = "INSTALL"


class Snapshot(msgspec.Struct, frozen=True, gc=False, array_like=True, forbid_unknown_fields=True):
    """The desk after a line of its book, as a host writes it down."""

    index: Natural
    epoch: Natural
    seats: Seats
    state: bytes


class Append(Ours, frozen=True, gc=False, tag="TE"):
    """From the leader of a desk: these lines follow that one. Lines up to `committed` hold for ever."""

    to: DeskId
    epoch: Natural
    after: Natural
    after_epoch: Natural
    entries: Annotated[tuple[Entry, ...], Meta(max_length=1024)]
    committed: Natural
    kind: ClassVar[str] = "APPEND"


class Appended(Ours, frozen=True, gc=False, tag="TF"):
    """My book agrees with the leader's up to this line; or it does not, and may only up to this one."""

    to: DeskId
    epoch: Natural
    upto: Natural
    agrees: bool
    kind: ClassVar[str] = "APPENDED"


class Vote(Ours, frozen=True, gc=False, tag="TG"):
    """I want to lead a desk whose leader I do not reach; my book ends with this line."""

    to: DeskId
    epoch: Natural
    last: Natural
    last_epoch: Natural
    handed: bool  # the leader wants it so
    kind: ClassVar[str] = "VOTE"


class Voted(Ours, frozen=True, gc=False, tag="TH"):
    """Lead it, or do not: then this is the epoch that I know."""

    to: DeskId
    epoch: Natural
    granted: bool
    kind: ClassVar[str] = "VOTED"


class Yours(Ours, frozen=True, gc=False, tag="TM"):
    """From the leader: you have all that I have, and this desk is yours by right. Ask for it."""

    to: DeskId
    epoch: Natural
    kind: ClassVar[str] = "YOURS"


class Leads(Ours, frozen=True, gc=False, tag="TI"):
    """To everybody: the host whose turn this epoch is leads the desk."""

    to: DeskId
    epoch: Natural
    kind: ClassVar[str] = "LEADS"


Answer = Stamped | Admitted | Sweep


def weight(entry: Entry) -> int:
    """Bytes that a line takes on a wire, at most."""
    command = entry.command
    names = command.entries if isinstance(command, Climb) else ()
    if isinstance(command, Climbed):
        names = command.answer.entries
    if isinstance(command, Change):
        names = tuple((topic, 0) for topic in command.topics)
    sweep = command.about if isinstance(command, Climb) else command.answer if isinstance(command, Climbed) else command
    if isinstance(sweep, Sweep):
        names += tuple((topic, 0) for _, topics in sweep.pairs for topic in topics)
    return 1024 + sum(4 * len(topic) + 12 for topic, _ in names)


def with_entries(about: Stamped | Change | Sweep, entries: Stamp) -> Answer:
    """The answer to what was asked."""
    if isinstance(about, Change):
        return Admitted(about.id, about.version, entries, about.anew)
    if isinstance(about, Sweep):
        return Sweep(about.id, about.act, about.round, about.pairs, entries)
    return Stamped(about.id, about.first, about.count, about.number, entries)


def kept_type(key: str) -> Any:
    """Of what a host writes down under a key (parts/bureau.py)."""
    match key.split("/"):
        case ["desk", _, "epoch"]:
            return Natural
        case ["desk", _, "state"]:
            return Snapshot
        case _:
            return Entry


WIRE: tuple[type[Packet], ...] = (
    *(Ask, Stamped, Change, Admitted, Pull, Told, Climb, Climbed),
    *(Renew, Renewed, Reach, Reached),
    *(Append, Appended, Install, Vote, Voted, Yours, Leads),
)
