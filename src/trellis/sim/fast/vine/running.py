"""A scenario of a vine on the compiled engine: what stands before the run, and more room when it needs it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from trellis import draw, protocols
from trellis.machine import Place
from trellis.protocols.overlays.topic_overlay import UNBOUNDED
from trellis.protocols.overlays.vine import AS_NEEDED, CONTACTS
from trellis.protocols.overlays.vine_packets import EVERY
from trellis.protocols.overlays.vitis import grace_of
from trellis.protocols.parts import small_world
from trellis.protocols.parts.profiles import Rates, size_of_names
from trellis.protocols.parts.ring import of_node, of_topic
from trellis.scenario.model import Cycles, Scenario
from trellis.scenario.plan import Plan
from trellis.sim.fast import lines as out
from trellis.sim.fast.driver import Driver
from trellis.sim.fast.memory import NONE, Block, block, table
from trellis.sim.fast.vine import covering, growing, mail, rounds
from trellis.sim.fast.vine import tables as t
from trellis.sim.fast.vine.comings import comings, lay_out
from trellis.sim.fast.vine.comings import rooms as rooms_of_comings
from trellis.sim.settled import is_settled
from trellis.trace.table import Trace
from trellis.words import Time

KNOWN, SHUNNED = 64, 64  # that each node has room for at first, beside those that one packet may bring
OVERLAYS = {"vitis": t.VITIS, "rendezvous": t.RENDEZVOUS, "topic-overlay": t.COVERING}


class Vines(Driver):
    """One run."""

    def __init__(self, scenario: Scenario, plan: Plan, kept: bool = True, counted: bool = False) -> None:
        assert kept
        assert not counted
        self.scenario, self.plan = scenario, plan
        self.nodes = scenario.nodes.count
        self.topics = list(plan.standing)
        self.code = {topic: code for code, topic in enumerate(self.topics)}
        self.about = scenario.about_topics()
        place = Place(0, self.nodes, seed=scenario.seed, topics=self.about)
        protocols.build(scenario.stack.overlay, scenario.stack.ordering, place, scenario.stack.options())  # or refuses
        self.options = protocols.LAYERED[scenario.stack.overlay].options | scenario.stack.options()
        self.comings = comings(scenario)
        self.rows = out.lines(1 << 16, True)
        self.block = self.begin()

    # What stands before the run

    def begin(self) -> Block:
        nodes, topics, overlay = self.nodes, len(self.topics), self.scenario.stack.overlay
        members = [np.array(sorted(set(who)), np.int64) for who in self.plan.standing.values()]
        mine = np.concatenate([*(np.full(len(who), code) for code, who in enumerate(members)), np.zeros(0, np.int64)])
        who = np.concatenate([*members, np.zeros(0, np.int64)])
        places = self.options["table"] or UNBOUNDED
        self.k = max(0, places - 2) if overlay == "rendezvous" else self.options.get("k", 0)
        strides = {t.FULL: 32 * t.PAIR, t.LISTS: 1024}
        words, counts = (topics + 63) // 64, np.bincount(who, minlength=nodes)
        most = int(counts.max(initial=0))
        formers = (min(places, 256) + 2) * t.PAIR
        known, shunned = (KNOWN + min(places, mail.CONTACTS_MAX + t.VIEW_MAX)) * t.ROW, SHUNNED * t.PAIR
        rooms = {
            t.NODES: nodes,
            t.MINE: len(mine),
            t.TOPIC: topics + 1,
            **{part: nodes * stride for part, stride in strides.items()},
            t.KNOWN: nodes * known,
            t.SHUNNED: nodes * shunned,
            t.VIEW: nodes * t.VIEW_MAX * t.PAIR,
            t.FORMER: nodes * formers,
            t.MARKS: nodes,
            t.SOME: nodes + 1,
            t.LINE: 2 * nodes + 4,
            t.LIST: nodes + 1,
            t.WANTED: topics + 1,
            **dict.fromkeys((t.OUTBOX, t.INBOX), 48 * nodes + 256),  # what is not touched costs nothing
            **dict.fromkeys(t.LETTERS, 256 * nodes + 1024),
            t.POOL: 8 * (nodes + topics) + 64 * len(mine) + 4096,
            t.CARRIED: 1 << (topics + 6 * len(mine) + 256).bit_length(),
            t.LINKS: 4 * topics + 32 * len(mine) + 1024,
            t.PASSAGES: 1 << (32 * len(self.plan.actions) + 1024).bit_length(),
            t.ACTIONS: len(self.plan.actions),
            t.FAR: nodes * self.k,
            t.BITS: nodes * words,
            t.OWNERS: topics + 1,
            t.LACKS: 2 * topics + 1,
            t.CHUNKS: 48 * nodes + topics + 1024,
            t.NOTES: 1 << 14,
            t.SPOTS: nodes,
            t.SHARED: nodes * t.SHARED_MAX,
            t.COMMON: (nodes + 1) * covering.words_for(most) * (overlay == "topic-overlay"),
        }
        said = self.said()
        rooms |= rooms_of_comings(self.comings, nodes, mine, topics, said)
        rooms[t.CARRIED_SLOTS], rooms[t.PASSAGE_SLOTS] = 2 * rooms[t.CARRIED], 2 * rooms[t.PASSAGES]
        m = block(rooms)
        for part, stride in strides.items():
            m[growing.STRIDES[part]] = stride
        m[t.FORMER_STRIDE], m[t.OVERLAY], m[t.TABLE_MAX] = formers, OVERLAYS[overlay], places
        m[t.NOW], m[t.TURN], m[t.ALL], m[t.ALL_TOPICS], m[t.WORDS] = -1, nodes, nodes, topics, words
        m[[t.FREE_LINK, t.FREE_CARRIED, t.FREE_CHUNK]] = NONE
        self.begin_options(m)
        self.begin_topics(m)
        order = np.argsort(who, kind="stable")
        table(m, t.MINE)[:, 0] = mine[order]
        bits = table(m, t.BITS)[:, 0].reshape(nodes, words)
        np.bitwise_or.at(bits, (who, mine // 64), np.int64(1) << (mine % 64))
        self.begin_nodes(m, counts)
        give_room(m, known, shunned)
        self.begin_actions(m, said)
        lay_out(m, self.comings, said)
        self.confirm(members)
        return m

    def begin_options(self, m: Block) -> None:
        network, seed = self.scenario.network, self.scenario.seed
        assert isinstance(network, Cycles)
        options = self.options
        m[t.LIMIT], m[t.SAMPLE], m[t.K] = options["limit"], options["sample"], self.k
        m[t.GRACE] = grace_of(options["grace"], self.k, self.nodes)
        m[t.GRACE_GROWS] = options["grace"] == AS_NEEDED
        m[t.D], m[t.COVER] = options.get("d", 0), options.get("cover", 0)
        m[t.LOSS] = math.ceil((network.loss or 0.0) * 2**53)
        m[t.UPKEEP] = network.upkeep is not False
        purposes = {t.SAMPLED: draw.SAMPLED, t.FRESH: draw.FRESH, t.SWAPPED: draw.SWAPPED, t.CHANNEL: draw.CHANNEL}
        purposes[t.SHORTCUTS] = draw.SHORTCUT
        for where, purpose in purposes.items():
            m[where] = signed(draw.draw(seed, purpose))

    def begin_topics(self, m: Block) -> None:
        rates, seed = Rates(self.about), self.scenario.seed
        rows = table(m, t.TOPIC)
        for code, topic in enumerate(self.topics):
            rows[code, t.T_POINT], rows[code, t.T_RATE] = signed(of_topic(seed, topic)), rates.of(topic)
            rows[code, t.T_BYTES] = size_of_names([topic])
        m[t.RATED] = bool(self.about)

    def begin_nodes(self, m: Block, counts: Block) -> None:
        seed, rows, topics, mine = self.scenario.seed, table(m, t.NODES), table(m, t.TOPIC), table(m, t.MINE)[:, 0]
        ends = np.cumsum(counts)
        rows[:, t.FIRST_TOPIC], rows[:, t.TOPICS] = ends - counts, counts
        m[t.MOST_TOPICS] = counts.max(initial=0)
        chars = np.array([len(topic) for topic in self.topics] or [0], np.int64)
        spots = table(m, t.SPOTS)
        told = (
            (spots[:, t.WEIGHT], topics[:, t.T_RATE]),
            (rows[:, t.BYTES], topics[:, t.T_BYTES]),
            (rows[:, t.CHARS], chars),
        )
        for field, each in told:
            sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(each[mine])])
            field[:] = sums[ends] - sums[ends - counts]
        chains = [t.FIRST_PASSAGE, t.LAST_PASSAGE, t.PROPOSED, t.ASKING]
        rows[:, [*chains, t.FIRST_PASSED, t.LAST_PASSED]] = NONE
        rows[:, [t.DOUBTFUL, t.STALE]] = 1
        view, far = table(m, t.VIEW)[:, 0].reshape(self.nodes, -1), table(m, t.FAR).reshape(self.nodes, -1)
        for me in range(self.nodes):
            spots[me, t.POINT] = signed(of_node(seed, me))
            known = draw.few(seed, draw.CONTACTS, range(self.nodes), CONTACTS, me, me)
            rows[me, t.VIEW_COUNT] = len(known)
            view[me, : 2 * len(known) : 2] = known
            for n, distance in enumerate(small_world.distances(seed, me, self.k, self.nodes)):
                far[me, 2 * n : 2 * n + 2] = signed(distance ^ (1 << 63)), distance // small_world.SLACK

    def said(self) -> dict[tuple[int, int, int], list[int]]:
        """Messages by topic, node and life; what the dead would say is none."""
        found: dict[tuple[int, int, int], list[int]] = {}
        for k, (at, node, event) in enumerate(self.plan.actions):
            if (life := self.comings.life(node, at)) != NONE:
                found.setdefault((self.code[event.topic], node, life), []).append(k)
        return found

    def begin_actions(self, m: Block, said: Mapping[tuple[int, int, int], list[int]]) -> None:
        m[t.ALL_ACTIONS] = len(self.plan.actions)
        actions = table(m, t.ACTIONS)
        for k, (at, node, event) in enumerate(self.plan.actions):
            actions[k, : t.A_SEQ] = at, node, self.code[event.topic]
        for (_, _, life), messages in said.items():
            actions[messages, t.A_LIFE] = life
            actions[messages, t.A_SEQ] = range(1, len(messages) + 1)

    def confirm(self, members: list[Block]) -> None:
        names, absent = len(self.topics) + 2, np.array(self.comings.absent, np.int64)
        self.rows = out.write_all(self.rows, out.CRASH, absent, names, names - 1)
        for code, who in enumerate(members):
            self.rows = out.write_all(self.rows, out.CONFIRM, np.setdiff1d(who, absent), names, code)

    # The run

    def go_on(self, end: Time, due: int) -> int:
        return rounds.go_on(self.block, self.rows, end, due)

    @property
    def now(self) -> Time:
        return int(self.block[t.NOW])

    @property
    def events(self) -> int:
        return int(self.block[t.EVENTS])

    @property
    def quiet(self) -> bool:
        return is_settled(self.scenario, self.plan)

    def degrees(self) -> list[int]:
        """How many neighbours each node has."""
        found: list[int] = table(self.block, t.NODES)[:, t.KNOWN_COUNT].tolist()
        return found

    def trace(self) -> Trace:
        said = table(self.block, t.ACTIONS)[:, [t.A_NODE, t.A_TOPIC, t.A_SEQ, t.A_LIFE]]
        return out.trace(self.rows, said, [*self.topics, EVERY, ""], mail.PACKETS)

    def grow(self) -> None:
        which = int(self.block[t.LACKING])
        if which == t.IN_ROWS:
            self.rows = out.grown(self.rows)
        else:
            self.block = growing.grown(self.block, which)


def give_room(m: Block, known: int, shunned: int) -> None:
    """So much for the neighbours of each node, and for those whom it shuns; more when it needs it."""
    nodes, number = table(m, t.NODES), np.arange(int(m[t.ALL]))
    parts = ((t.FIRST_KNOWN, t.WIDE_KNOWN, t.IN_KNOWN, known), (t.FIRST_SHUNNED, t.WIDE_SHUNNED, t.IN_SHUNNED, shunned))
    for first, wide, used, each in parts:
        nodes[:, first], nodes[:, wide], m[used] = number * each, each, len(nodes) * each


def signed(word: int) -> int:
    """A word of 64 bits as it lies in memory."""
    return word - (1 << 64) if word >> 63 else word
