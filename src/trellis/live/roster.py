"""Who is a member, and who gets which place, without any agreement.

Source:   ours; an id space in halves that their owners give out, as in buddy allocation.
Promises: no two lives ever have the same (place, incarnation), and no two live nodes one place: also when many are
          admitted at once, when the network is split, and when nodes crash, come back or leave. Rosters that heard the
          same news are equal, in whatever order it came. Where every member knows the lots of all and nobody failed
          or left, the next place given is the lowest free one, so n nodes stand on 0..n-1.
Assumes:  a data directory is one node's: never run twice at once (state.py locks it), never put back from an old copy.
          Members are not Byzantine: what they tell of others is believed; what a node says of itself is held against
          its certificate's name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b
from typing import TypeVar

import msgspec

from trellis.errors import StateError
from trellis.live.frames import Elsewhere, Refused, Welcome
from trellis.live.places import INCARNATIONS, MEMBERS_MAX, TOLD_MAX, UNHEARD, Lot, Member, Vacancy
from trellis.words import NodeId

HOPS_MAX = 3  # how often a joiner is sent elsewhere

# Write down my lot and what changed of the vacancies that I hold, for good; StateError when that cannot be done.
Keep = Callable[[Lot, Iterable[Vacancy]], None]

Told = TypeVar("Told", Member, Vacancy)


def pieces(news: Sequence[Told]) -> list[tuple[Told, ...]]:
    """What fits one frame each, in the same order."""
    return [tuple(news[start : start + TOLD_MAX]) for start in range(0, len(news), TOLD_MAX)]


def later(one: Lot, other: Lot) -> Lot:
    """Of two lots of one place."""
    return max(one, other, key=lambda lot: (lot.next, lot.level))


def merged(one: Member, other: Member) -> Member:
    """What is known of a place by two who tell each other: in any order, any number of times, the same.

    The newer incarnation holds; in one incarnation, who left has left. The lot shrinks from life to life.
    """
    newer = max(one, other, key=lambda m: (m.incarnation, m.left, m.address, m.name))
    lot = later(one.lot, other.lot)
    return newer if newer.lot == lot else msgspec.structs.replace(newer, lot=lot)


def forgotten(member: Member | None) -> bool:
    """Gone for good, as an operator said: its last life is over, and nobody ever stands on its place again.

    Were the place given out again, two members that are cut off from each other could each give it to another node.
    """
    return member is not None and member.left and member.incarnation == INCARNATIONS


class Roster:
    """What one member knows of all, and the places that it can give out."""

    def __init__(
        self, cluster: str, mine: Member, keep: Keep, vacancies: Iterable[Vacancy] = (), lasting: bool = True
    ) -> None:
        self.cluster = cluster
        self.keep = keep
        self.lasting = lasting  # whether what I keep outlives the process, and so my lot
        self.me = mine.place
        self.said = mine  # who I am, whatever others say of my place
        self.members: dict[NodeId, Member] = {mine.place: mine}
        self.vacancies = {vacancy.place: vacancy for vacancy in vacancies}  # handed to me
        self.summed = ""  # the checksum of the members, while it is right
        self.promised: dict[NodeId, tuple[str, Lot]] = {}  # places that I gave out in this life, and to which name

    @property
    def mine(self) -> Member:
        return self.members[self.me]

    @property
    def ousted(self) -> bool:
        """Whether my place is in use by another, in a newer life or on a copy of my state: then I must fall silent."""
        mine, said = self.mine, self.said
        return (mine.incarnation, mine.address, mine.name) != (said.incarnation, said.address, said.name)

    def present(self) -> list[Member]:
        """Who has not left, by place. They may be dead."""
        return sorted((m for m in self.members.values() if not m.left), key=lambda m: m.place)

    # News

    def all_news(self) -> tuple[Member, ...]:
        """For a new link or a joiner: all that I know."""
        return tuple(self.members[place] for place in sorted(self.members))

    def sum(self) -> str:
        """The same at two members that know the same."""
        if not self.summed:
            self.summed = blake2b(msgspec.msgpack.encode(self.all_news()), digest_size=8).hexdigest()
        return self.summed

    def put(self, member: Member) -> None:
        self.members[member.place] = member
        self.summed = ""

    def hear(self, members: Iterable[Member]) -> list[Member]:
        """What of this is new to me, to be told on to everybody but the teller."""
        news = []
        for member in members:
            known = self.members.get(member.place)
            if known is None and len(self.members) >= MEMBERS_MAX:
                continue  # a bound on memory; places are given out without this table
            now = member if known is None else merged(known, member)
            if now != known:
                self.put(now)
                news.append(now)
        return news

    def greet(self, place: NodeId, incarnation: int, address: str, name: str) -> list[Member] | Refused:
        """A node says who it is. The news to tell, or why it cannot be.

        Under another name than I know its owner by it is refused until I hear that the owner left.
        """
        known = self.members.get(place)
        refusal = self.not_its_own(place, name, "join instead")
        if refusal is not None:
            return refusal
        if known is not None and (known.incarnation, known.left) > (incarnation, False):
            what = "given back" if known.left else "in use"
            return Refused(f"place {place}: it is {what} in incarnation {known.incarnation}; {incarnation} is over")
        if known is not None and known.incarnation == incarnation and known.address != address:
            return Refused(f"place {place}: incarnation {incarnation} is at {known.address}, not at {address}")
        lot = known.lot if known is not None else self.promised.get(place, (name, UNHEARD))[1]  # its news will say more
        return self.hear([Member(place, incarnation, address, name, False, lot)])

    def not_its_own(self, place: NodeId, name: str, way_out: str) -> Refused | None:
        """Why a node of this name cannot stand on this place, if I know of a reason."""
        known, vacancy = self.members.get(place), self.vacancies.get(place)
        if place == self.me:
            return Refused(f"place {place}: it is mine; two nodes run on copies of one data directory")
        if forgotten(known):
            return Refused(f"place {place}: it was forgotten as gone for good; start with an empty data directory")
        if place in self.mine.lot:
            return Refused(f"place {place}: nobody was ever given it; {way_out}")
        if vacancy is not None and vacancy.open:
            return Refused(f"place {place}: it was given back; {way_out}")
        owner = known.name if known is not None and not known.left else self.promised.get(place, (name, UNHEARD))[0]
        if owner != name:
            return Refused(f"place {place}: it belongs to {owner!r}, not to {name!r}; {way_out}")
        return None

    # Places

    def admit(self, name: str, live: Collection[NodeId], hops: int = 0) -> Welcome | Elsewhere | Refused:
        """A newcomer asks for a place: `live` are those I have a link to, `hops` how often it was sent on already.

        What is given away is kept before this returns. Should the answer get lost, the place is lost with it: nobody
        else ever gets it. The newcomer is a member once it says so itself (`greet`).
        """
        if self.mine.left or self.ousted:
            return Refused(f"member {self.me} is leaving; ask another one")
        open = [v for v in self.vacancies.values() if v.open and v.incarnation < INCARNATIONS]
        vacant = [v for v in open if not forgotten(self.members.get(v.place))]
        if vacant:
            return self.give_again(min(vacant, key=lambda v: v.place), name, live)
        better = self.better(live)
        if better is not None and (hops < HOPS_MAX or self.mine.free.empty):
            return Elsewhere(better.address)
        if self.mine.free.empty:
            return Refused(f"member {self.me} has no place left to give; ask another one")
        return self.give_next(name, live)

    def better(self, live: Collection[NodeId]) -> Member | None:
        """The live member with the lowest free place, unless it is I."""
        others = [m for m in self.members.values() if m.place in live and m.place != self.me and not m.left]
        able = [m for m in (self.mine, *others) if not m.free.empty]
        best = min(able, key=lambda m: (m.free.next, m.place != self.me), default=self.mine)
        return None if best.place == self.me else best

    def give_again(self, vacancy: Vacancy, name: str, live: Collection[NodeId]) -> Welcome | Refused:
        given = msgspec.structs.replace(vacancy, open=False, incarnation=vacancy.incarnation + 1)
        refusal = self.refuse_unless_kept(self.mine.lot, [given])
        if refusal is not None:
            return refusal
        self.vacancies[given.place] = given
        return self.welcome(given.place, given.incarnation, given.lot, name, live)

    def give_next(self, name: str, live: Collection[NodeId]) -> Welcome | Refused:
        lot = self.mine.free
        kept, given = lot.first() if self.lasting else lot.halves()
        refusal = self.refuse_unless_kept(kept, [])
        if refusal is not None:
            return refusal
        self.put(msgspec.structs.replace(self.mine, lot=kept))
        return self.welcome(lot.next, 0, given, name, live)

    def refuse_unless_kept(self, lot: Lot, changed: Iterable[Vacancy]) -> Refused | None:
        try:
            self.keep(lot, changed)
        except StateError as error:
            return Refused(f"member {self.me} cannot write down what it gives away: {error}")
        return None

    def welcome(self, place: NodeId, incarnation: int, lot: Lot, name: str, live: Collection[NodeId]) -> Welcome:
        self.promised[place] = name, lot
        reached = (self.me, *(other for other in sorted(live) if other != place))
        return Welcome(self.cluster, place, incarnation, lot, self.all_news(), reached)

    def readmit(self, name: str, place: NodeId, incarnation: int, live: Collection[NodeId] = ()) -> Welcome | Refused:
        """A node comes back to the place in its data directory, in a life after all that it and I know of.

        I may never have heard of it: others gave it its place, before I came or in a part of the network that I was
        cut off from. Then its own word counts. Nobody else can have its place: it would have had to leave first,
        and who leaves forgets its place before anyone is told. It knows its lot better than I, and keeps the later of
        its own and mine.
        """
        known, vacancy = self.members.get(place), self.vacancies.get(place)
        way_out = "come back through another member, or start with an empty data directory"
        refusal = self.not_its_own(place, name, way_out)
        if refusal is not None:
            return refusal
        given_back = known.incarnation if known is not None and known.left else -1
        if incarnation <= given_back or (vacancy is not None and incarnation < vacancy.incarnation):
            return Refused(f"place {place}: it was given back; {way_out}")
        latest = max(incarnation, known.incarnation if known is not None else 0)
        if latest >= INCARNATIONS:
            return Refused(f"place {place}: its incarnations are used up; {way_out}")
        return self.welcome(place, latest + 1, known.lot if known is not None else UNHEARD, name, live)

    # Leaving

    def heir(self, live: Collection[NodeId]) -> Member | None:
        """Whom I hand my places to: the lowest live one, so that they gather where most joiners ask."""
        return next((m for m in self.present() if m.place in live and m.place != self.me), None)

    def leave(self) -> tuple[Vacancy, ...]:
        """I leave: what I hand to my heir. It is never sent twice.

        The caller forgets its place for good (`State.leave`) before it says a word of this. If the heir is not there
        after all, the places are lost to the cluster, which costs nothing else.
        """
        mine = self.mine
        handed = (Vacancy(self.me, mine.incarnation, mine.lot), *(v for v in self.vacancies.values() if v.open))
        self.put(msgspec.structs.replace(mine, left=True))
        self.vacancies = {}
        return handed

    def not_gone(self, place: NodeId, live: Collection[NodeId]) -> Refused | None:
        """Why a member cannot be forgotten, if I know of a reason."""
        known = self.members.get(place)
        if place == self.me:
            return Refused(f"place {place}: it is this node's own; end it with --leave instead")
        if known is None or known.left:
            return Refused(f"place {place}: no member stands there; `trellis status` shows who does")
        if place in live:
            return Refused(f"place {place}: it is alive; end it with --leave instead")
        return None

    def forget(self, place: NodeId) -> list[Member]:
        """An operator says that a member is gone for good. The news, which is the same whoever of us is told."""
        return self.hear([msgspec.structs.replace(self.members[place], incarnation=INCARNATIONS, left=True)])

    def inherit(self, handed: Iterable[Vacancy]) -> list[Member] | Refused:
        """Another member leaves, and hands me its places. They are kept before this returns the news to tell."""
        if self.mine.left or self.ousted:
            return Refused(f"member {self.me} is leaving itself; hand over to another one")
        fresh = {v.place: v for v in handed if v.open and self.may_inherit(v)}
        refusal = self.refuse_unless_kept(self.mine.lot, fresh.values())
        if refusal is not None:
            return refusal
        self.vacancies |= fresh
        known = [self.members[place] for place in fresh if place in self.members]
        gone = [m for m in known if m.incarnation == fresh[m.place].incarnation]
        return self.hear([msgspec.structs.replace(m, left=True, lot=fresh[m.place].lot) for m in gone])

    def may_inherit(self, handed: Vacancy) -> bool:
        """Not what I had before, nor what is in use in a later life than the one that is handed over."""
        had, known = self.vacancies.get(handed.place), self.members.get(handed.place)
        fresh = had is None or handed.incarnation >= had.incarnation + had.open  # what I gave out comes back as given
        mine = handed.place == self.me or handed.place in self.mine.lot
        return fresh and not mine and (known is None or known.incarnation <= handed.incarnation)
