"""How a process finds its group and the one above: bootstrapping, and finding them again.

Source:   daMulticast section 4.2.2 (bootstrapping) and Figure 3: look for super(T); if nobody is there, for the topic
          above that as well, and so on up to the root; a search is passed on a few times and given up after a while.
Promises: when a process is in its group, it knows of every process that was in it before and of every process below
          that looked for somebody like it, as far as the nodes that remember them could be reached; and messages that
          are published from then on are beyond its start cut.
Departs:  a search goes to the nodes that remember the topic (`parts/directory.py`), who answer at once, also that they
          know nobody: so the search widens without waiting for a timeout, and of two processes that look for each other
          at least one is told. Only then is it passed on to others, as printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis import draw
from trellis.protocols.overlays.damulticast_group import IN, JOINING, LEAVING, Group, Uplink
from trellis.protocols.overlays.damulticast_packets import ENTRIES_MAX, Ask, Found, Search, Start
from trellis.protocols.parts.company import Entry
from trellis.protocols.parts.directory import LISTED, Directory, places_of
from trellis.protocols.parts.portions import portions
from trellis.words import NodeId, Topic

if TYPE_CHECKING:
    from trellis.protocols.overlays.damulticast_membership import Membership

PATIENCE = 4  # rounds until what is not answered is asked again
TRIES = 4  # and how often, before whoever was asked is taken for dead
ASKED = 4  # fellows that a joiner asks at once: some of them may be joining as well
UNREADY_MAX = 8  # if so many are, it asks no more
WAITS_MAX = 1  # and how often it lets them go first
SPREAD = 3  # to how many a search is passed on
BELOW_MAX = 65_536  # processes below that a joiner is told of
BELOW_PORTION = 2048  # of them, in one packet: with the longest names half a frame
PLACES_MAX = 4096  # topics of which a node knows by heart who remembers them
REFRESH = 8  # rounds in which g processes of a group say again that they are there


class Bootstrap:
    """The part of a process that searches, and that remembers who searched."""

    def __init__(self, overlay: Membership, hops: int, limit: int) -> None:
        self.overlay = overlay
        self.hops = hops
        self.directory = Directory(limit)
        self.places: dict[Topic, tuple[NodeId, ...]] = {}  # as I reach them now

    def places_of(self, topic: Topic) -> tuple[NodeId, ...]:
        found = self.places.get(topic)
        if found is None:
            place = self.overlay.place
            if len(self.places) >= PLACES_MAX:
                self.places.clear()
            found = self.places[topic] = places_of(place.seed, topic, place.size, self.overlay.reach)
        return found

    # Looking for others

    def begin(self, group: Group) -> None:
        self.look(group, group.topic, self.hops)
        for uplink in group.uplinks:
            self.look(group, uplink.branch, self.hops)
        self.go_on(group)

    def look(self, group: Group, wanted: Topic, hops: int) -> None:
        group.unanswered[wanted] = dict.fromkeys(self.places_of(wanted), 0)
        group.answered[wanted] = set()
        for place in list(group.unanswered[wanted]):
            self.ask_place(group, wanted, place, hops)

    def replace(self, group: Group, dead: NodeId) -> None:
        """A node is gone that I may have asked: others remember its topics now."""
        for wanted, places in list(group.unanswered.items()):
            if places.pop(dead, None) is not None:
                for place in self.places_of(wanted):
                    if place not in places and place not in group.answered[wanted]:
                        places[place] = 0
                        self.ask_place(group, wanted, place, self.hops if group.phase is JOINING else 0)
                self.widen(group, wanted)
        self.go_on(group)

    def ask_place(self, group: Group, wanted: Topic, place: NodeId, hops: int) -> None:
        search = Search(self.overlay.id_of(group.topic), wanted, group.me, group.phase is not LEAVING, hops)
        if place == self.overlay.me:
            self.upon_search(place, search)
        else:
            self.overlay.send(place, search)

    def begin_round(self, group: Group, number: int) -> None:
        """Ask again what was not answered, and say now and then that I am there."""
        if number % PATIENCE == 0:
            for wanted, places in list(group.unanswered.items()):
                for place in list(places):
                    self.ask_again(group, wanted, place)
            for node in list(group.asked):
                self.ask_for_start_again(group, node)
        if group.phase is JOINING:
            self.go_on(group)
        elif not any(group.unanswered.values()) and self.is_my_turn(group, number):
            self.refresh_or_rest(group)

    def is_my_turn(self, group: Group, number: int) -> bool:
        """Every process in its turn, so that a group says it g times in as many rounds, but none too often."""
        overlay = self.overlay
        phase = draw.draw(overlay.place.seed, draw.REFRESH, overlay.me, draw.key_of(group.topic))
        return (number + phase) % max(2 * REFRESH, REFRESH * group.company.size() // group.with_.g) == 0

    def refresh_or_rest(self, group: Group) -> None:
        """Whoever leaves looks for somebody only if it knows nobody who has what it has."""
        if group.phase is IN or self.overlay.is_alone(group):
            self.refresh(group)

    def refresh(self, group: Group) -> None:
        """Tell those who remember my topic, and those above it up to the group that I know, that I am still there."""
        self.look(group, group.topic, 0)
        for uplink in group.uplinks:
            for wanted in self.nearer(uplink):
                self.look(group, wanted, 0)

    def nearer(self, uplink: Uplink) -> tuple[Topic, ...]:
        """The scope up to the group that I know, which has lost some perhaps."""
        return uplink.scope if uplink.topic is None else uplink.scope[: uplink.scope.index(uplink.topic) + 1]

    def ask_again(self, group: Group, wanted: Topic, place: NodeId) -> None:
        places = group.unanswered[wanted]
        places[place] += 1
        if places[place] > TRIES:
            del places[place]
            self.widen(group, wanted)
        else:
            self.ask_place(group, wanted, place, self.hops if group.phase is JOINING else 0)

    def upon_found(self, sender: NodeId, found: Found) -> None:
        group = self.overlay.groups.get(found.id.topic)
        if group is None:
            return
        if found.wanted == group.topic:
            group.company.hear_all(found.members)
            if group.phase is JOINING:
                self.hear_below(group, found)
        else:
            for uplink in group.uplinks:
                uplink.offer(found.wanted, found.members)
        places = group.unanswered.get(found.wanted)
        if found.listed and places is not None and places.pop(sender, None) is not None:
            group.answered[found.wanted].add(sender)
            self.widen(group, found.wanted)
        self.go_on(group)

    def hear_below(self, group: Group, found: Found) -> None:
        """Who waits for members of the group; myself I need not ask."""
        overlay = self.overlay
        for topic, entry in found.below[: BELOW_MAX - len(group.below)]:
            if entry.node != overlay.me and overlay.tree.includes(group.topic, topic):
                group.below.setdefault(entry.node, topic)

    def widen(self, group: Group, wanted: Topic) -> None:
        """All have answered. If nobody is there, look for the topic above as well."""
        if group.unanswered.get(wanted):
            return
        group.unanswered.pop(wanted, None)
        for uplink in group.uplinks:
            if wanted in uplink.scope and uplink.topic is None:
                level = uplink.scope.index(wanted) + 1
                if level < len(uplink.scope) and uplink.scope[level] not in group.unanswered:
                    self.look(group, uplink.scope[level], self.hops if group.phase is JOINING else 0)

    # Remembering who looked

    def upon_search(self, sender: NodeId, search: Search) -> None:
        overlay, asker, wanted, group = self.overlay, search.me, search.wanted, search.id.topic
        is_place = overlay.me in self.places_of(wanted)
        if is_place and search.stays:
            overlay.arm()  # what I remember grows old
            now = overlay.round
            if wanted == group:
                self.directory.enrol(wanted, asker, now)
            else:
                self.directory.wait(wanted, group, asker, now)
        members = self.known_members(wanted, asker.node)
        below = self.directory.below(wanted, asker.node, overlay.round) if wanted == group else ()
        if is_place or members:
            for start in range(0, max(1, len(below)), BELOW_PORTION):
                last = start + BELOW_PORTION >= len(below)  # only then it is the answer
                some = below[start : start + BELOW_PORTION]
                self.answer(asker.node, Found(search.id, wanted, members if last else (), some, is_place and last))
        if not members and search.hops:
            self.pass_on(search)

    def answer(self, asker: NodeId, found: Found) -> None:
        if asker == self.overlay.me:
            self.upon_found(asker, found)
        else:
            self.overlay.send(asker, found)

    def known_members(self, wanted: Topic, asker: NodeId) -> tuple[Entry, ...]:
        found = {entry.node: entry for entry in self.directory.found(wanted, asker, self.overlay.round)}
        mine = self.overlay.groups.get(wanted)
        if mine is not None and mine.phase is IN and asker != self.overlay.me:
            found[self.overlay.me] = mine.me
            for entry in mine.company.told_of(mine.company.by_luck()[:LISTED]):
                found.setdefault(entry.node, entry)
        found.pop(asker, None)
        return tuple(found.values())[:ENTRIES_MAX]

    def pass_on(self, search: Search) -> None:
        """To some whom I know, else to anybody."""
        overlay = self.overlay
        known = {node for group in overlay.groups.values() for node in group.company.known}
        crowd = sorted(known) if len(known) > SPREAD else range(overlay.place.size)
        key = (draw.key_of(search.id.topic), draw.key_of(search.wanted), search.hops, overlay.round)
        chosen = draw.few(overlay.place.seed, draw.PASSED, crowd, SPREAD, overlay.me, overlay.me, search.me.node, *key)
        hops = min(search.hops, self.hops) - 1  # as often as I would ask for it: each time there are more of them
        if hops < 0:
            return
        further = Search(search.id, search.wanted, search.me, search.stays, hops)
        for node in chosen:
            if node != search.me.node and node in overlay.reach:
                overlay.send(node, further)

    # The start cut

    def go_on(self, group: Group) -> None:
        """Once all searches are answered: from which cut on do I get everything?"""
        if group.phase is not JOINING or any(group.unanswered.values()) or group.asked:
            return
        fellows = group.company.by_luck()
        others = [node for node in fellows if node not in group.unready]
        if others and len(group.unready) < UNREADY_MAX:
            for node in {min(others): None, **dict.fromkeys(others[:ASKED])}:
                self.ask_for_start(group, node, group.topic)
        elif fellows and min(fellows) < self.overlay.me and group.waits < WAITS_MAX:
            group.waits += 1
            group.unready.clear()  # they join as I do: those before me go first. I ask again in a while
            group.asked = {min(fellows): 0}
        elif sources := self.around(group):
            for node, of in sources.items():
                self.ask_for_start(group, node, of)
        else:
            self.overlay.begin_group(group)

    def around(self, group: Group) -> dict[NodeId, Topic]:
        """Of a group that I am the first of: who below waits for it, and one of each group above, if not asked yet."""
        found = {node: of for node, of in group.below.items() if node not in group.asked_of}
        for uplink in group.uplinks:
            if uplink.topic is not None and not any(node in group.asked_of for node in uplink.known):
                found[uplink.by_luck()[0]] = uplink.topic
        return found

    def ask_for_start(self, group: Group, node: NodeId, of: Topic) -> None:
        group.asked.setdefault(node, 0)
        group.asked_of[node] = of
        self.overlay.send(node, Ask(self.overlay.id_of(group.topic), of, group.me))

    def ask_for_start_again(self, group: Group, node: NodeId) -> None:
        group.asked[node] += 1
        if group.asked[node] > TRIES:
            group.forget(node)
        else:
            of = group.asked_of.get(node, group.topic)
            self.overlay.send(node, Ask(self.overlay.id_of(group.topic), of, group.me))

    def upon_ask(self, sender: NodeId, ask: Ask) -> None:
        """A joiner of my group, or of one above mine, wants to know what was delivered."""
        overlay = self.overlay
        group = overlay.groups.get(ask.of)
        if group is None or group.phase is LEAVING:
            overlay.stray(sender, ask.of)
            return
        about = ask.of
        if ask.of == ask.id.topic:
            group.company.hear(ask.me)
        elif overlay.tree.includes(ask.of, ask.id.topic):
            about = ask.id.topic
        else:
            for uplink in group.uplinks:
                uplink.offer(ask.id.topic, (ask.me,))
        ready = group.phase is not JOINING
        parts = portions(overlay.frontiers(about) if ready else {})
        for n, part in enumerate(parts, 1):
            overlay.send(sender, Start(ask.id, ask.of, ready, part, n < len(parts)))

    def upon_stray(self, group: Group, node: NodeId) -> None:
        """Whom I asked is not there any more."""
        if group.asked.pop(node, None) is not None:
            self.go_on(group)

    def upon_start(self, sender: NodeId, start: Start) -> None:
        group = self.overlay.groups.get(start.id.topic)
        if group is None or group.phase is not JOINING or sender not in group.asked:
            return
        reaches = self.overlay.tree.reaches
        group.learn_cut({topic: cut for topic, cut in start.vectors.items() if reaches(group.topic, topic)})
        if start.more:
            return
        del group.asked[sender]
        if start.of == group.topic and start.ready:
            self.overlay.begin_group(group)
            return
        if start.of == group.topic:
            group.unready[sender] = None
        self.go_on(group)
