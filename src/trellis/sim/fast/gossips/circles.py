"""A scenario of `damulticast` on the compiled engine: its groups, who remembers them, and what each knows at first."""

from __future__ import annotations

import numpy as np

from trellis import draw, protocols
from trellis.errors import UnsupportedByEngine
from trellis.protocols.overlays.damulticast_membership import LIMIT
from trellis.protocols.parts.account import mark
from trellis.protocols.parts.company import ANCHORS
from trellis.protocols.parts.directory import PLACES, places_of
from trellis.protocols.parts.hierarchy import super_of, supers
from trellis.protocols.parts.reach import Reach
from trellis.scenario.model import Cycles
from trellis.sim.fast import applications as app
from trellis.sim.fast import barriers as bar
from trellis.sim.fast import calendar as cal
from trellis.sim.fast.gossips import company as com
from trellis.sim.fast.gossips import damulticast as kernel
from trellis.sim.fast.gossips import damulticast_packets as say
from trellis.sim.fast.gossips import damulticast_search as srch
from trellis.sim.fast.gossips import gossip as gsp
from trellis.sim.fast.gossips.gossiping import NOBODY, Gossiping, Group, draws, signed
from trellis.sim.fast.memory import NONE, Block, Table, table
from trellis.words import Time, Topic

FANOUT_MAX = 42  # of a group as large as can be, but for c
USUALLY_SAID = 64  # numbers for each node in a round


class Circles(Gossiping):
    """One run."""

    packets = say.PACKETS

    def begins(self) -> int:
        return gsp.BY_TOPIC

    def names(self) -> set[Topic]:
        """Also of those above in which nobody is: they are asked for."""
        return super().names() | {above for topic in self.plan.standing for above in supers(topic)}

    def groups(self) -> list[Group]:
        return [self.group(topic) for topic in self.topics]

    def group(self, topic: Topic) -> Group:
        above = next((self.code[other] for other in supers(topic) if self.standing.get(other)), NONE)
        return Group(topic, self.members.get(topic, NOBODY), above)

    def levels(self, topic: Topic) -> int:
        """How far above a topic somebody is."""
        above = list(supers(topic))
        return 1 + next((n for n, other in enumerate(above) if self.standing.get(other)), len(above) - 1)

    def rooms(self) -> dict[Table, int]:
        usual, nodes, topics = super().rooms(), self.nodes, len(self.topics)
        largest = max(len(group.members) for group in self.laid)
        self.bits = sorted({(self.code[action.event.topic], action.node) for action in self.plan.actions})
        self.high = max(self.levels(topic) for topic in self.topics)
        self.most = min(largest, ANCHORS + self.options["c"] + FANOUT_MAX) + 1
        self.most_above = min(largest, self.options["z"]) + 1
        return {
            **usual,
            com.HOMES: nodes,
            com.CIRCLES: topics,
            com.FELLOWS: nodes * self.most * 4,
            com.UPPERS: nodes * self.most_above * 4,
            com.ORDER: max(self.most, self.most_above),
            gsp.MARKS: max(largest, self.most),
            gsp.PICKED: max(largest, self.most),
            kernel.SUMS: max(1, len(self.bits)),
            srch.LISTS: topics * PLACES,
            srch.ASKED: nodes * (self.high + 1) * PLACES,
            **dict.fromkeys(say.SAID, (1 << 12) + nodes * USUALLY_SAID),
        }

    def begin_places(self, m: Block) -> None:
        super().begin_places(m)
        options, network = self.options, self.scenario.network
        m[cal.NOW], m[kernel.TURN], m[say.WRITTEN], m[kernel.LOST_ONE] = -1, self.nodes, 0, 0
        m[com.MOST], m[com.MOST_ABOVE], m[com.LIMIT], m[srch.LEVELS] = self.most, self.most_above, LIMIT, self.high
        m[com.C], m[com.Z], m[kernel.G], m[kernel.A] = (options[name] for name in "czga")
        m[kernel.TAU], m[kernel.REPAIRS] = options["tau"], bool(options["repair"])
        m[say.TERSE] = isinstance(network, Cycles) and network.upkeep is False
        lucks = {
            kernel.PARTNERS: draw.PARTNER,
            kernel.SHOWNS: draw.SHOWN,
            kernel.REFRESHES: draw.REFRESH,
            srch.LISTINGS: draw.PLACE,
        }
        for at, purpose in lucks.items():
            m[at] = signed(draw.draw(self.scenario.seed, purpose))
        table(m, srch.ASKED)[:, 0] = NONE
        self.begin_messages(m)
        self.begin_circles(m)
        with np.errstate(over="ignore"):
            kernel.begin(m)

    def begin_messages(self, m: Block) -> None:
        waves, seed = table(m, bar.WAVES), self.scenario.seed
        m[bar.USED_WAVES] = len(self.bits)
        for bit, (code, source) in enumerate(self.bits):
            topic = self.topics[code]
            luck = draw.draw(seed, draw.SELECTED, source, 0, draw.key_of(topic), 1)
            waves[bit, [bar.SOURCE, bar.TOPIC, bar.SEQ, gsp.LUCK]] = source, code, 1, signed(luck)
            table(m, kernel.SUMS)[bit] = signed(mark(topic, (source, 0), 1))

    def begin_circles(self, m: Block) -> None:
        homes = table(m, com.HOMES)
        homes[:, com.TOPIC] = NONE
        circles = table(m, com.CIRCLES)
        circles[:, com.PLACES :] = NONE
        everybody = Reach(range(self.nodes))
        for code, topic in enumerate(self.topics):
            seed, members, up = self.scenario.seed, self.members.get(topic, NOBODY), super_of(topic)
            homes[members, com.TOPIC] = code
            here = circles[code]
            here[com.LUCK_ANCHOR] = signed(draw.draw(seed, draw.ANCHOR, draw.key_of(topic)))
            here[com.UP] = NONE if up is None else self.code[up]
            if up is not None:
                here[com.ROLL_ABOVE] = signed(draw.key_of(f"{topic} {up}"))
                here[com.BRANCH] = signed(draw.key_of(up))
            here[com.ITS_OWN] = sum(1 << bit for bit, (about, _) in enumerate(self.bits) if about == code)
            here[com.REACHED] = sum(
                1 << bit for bit, (about, _) in enumerate(self.bits) if self.tree.reaches(topic, self.topics[about])
            )
            found = places_of(seed, topic, self.nodes, everybody)
            here[com.PLACES : com.PLACES + len(found)] = found
            luck = draws(draw.draw(seed, draw.ANCHOR, draw.key_of(topic)), members)
            anchors = members[np.lexsort((members, luck))[: ANCHORS + 1]]
            here[com.FIRST_ANCHOR : com.FIRST_ANCHOR + len(anchors)] = anchors

    def begin_actions(self, m: Block) -> None:
        super().begin_actions(m)
        number = {each: bit for bit, each in enumerate(self.bits)}
        for record, (_, node, event) in zip(table(m, app.ACTIONS), self.plan.actions, strict=False):
            record[app.BYTES] = number[self.code[event.topic], node]

    def go_on(self, end: Time, due: int) -> int:
        told = kernel.work(self.block, self.rows, end, due)
        if told == kernel.LOST:
            raise UnsupportedByEngine(
                "a process that has forgotten everybody above it has no compiled twin; use engine='reference'"
            )
        return told

    @property
    def quiet(self) -> bool:
        """Whether nothing was new for so long that all must be everywhere."""
        end = self.scenario.end or 0
        last = max([action.at for action in self.plan.actions[-1:]], default=0)
        return end - last >= protocols.rounds_to_settle(self.scenario.stack.overlay)
