"""A scenario of `vcube` on the compiled engine: its tables, and what stands before the run."""

from __future__ import annotations

import numpy as np

from trellis import protocols
from trellis.events import Publish
from trellis.protocols.parts.portions import weight
from trellis.sim.fast import barriers as bar
from trellis.sim.fast.memory import NONE, Block, Table, table
from trellis.sim.fast.trees import slabs, taken, vcube
from trellis.sim.fast.trees import vcube_records as kernel
from trellis.sim.fast.trees import views as vws
from trellis.sim.fast.whole import Whole, names
from trellis.words import Message, MessageId, Time


class Repaired(Whole):
    """One run."""

    packets = kernel.PACKETS
    counts = True

    def go_on(self, end: Time, due: int) -> int:
        return vcube.go_on(self.block, self.rows, end, due)

    def rooms(self) -> dict[Table, int]:
        nodes, places = self.nodes, self.nodes * len(self.topics)
        self.ordered = self.scenario.stack.ordering == "causal"
        self.moves = any(not isinstance(action.event, Publish) for action in self.plan.actions)
        self.speakers = max(1, int((self.unsaid > 0).sum(axis=1).max(initial=0)))
        numbers = places * self.speakers
        self.masked = self.ordered and not self.moves
        self.words = taken.words(self.acts)
        self.views = vws.views(nodes)
        if self.moves:  # newcomers, behind how many there are
            self.views = Table(self.views.number, self.views.width + 1 + nodes)
        return {
            vws.HOLDERS: places + (64 if self.moves else 0),
            self.views: vws.STANDING + len(self.standing) + 8,
            kernel.PLACES: places,
            kernel.EARLY: places,
            kernel.KNOWN: numbers if self.ordered or self.moves else 1,
            kernel.HAD: numbers if self.moves else 1,
            kernel.SEEN: numbers if self.moves else 1,
            # each has about one wave on its way
            slabs.ACKS: (int((self.unsaid > 0).sum()) + 4) * slabs.words(nodes, not self.moves),
            kernel.WAITS: 1 << 10,
            kernel.IDS: len(self.topics),
            kernel.VECTORS: 16 * self.speakers,
            kernel.SAYINGS: 1 << 10,
            kernel.PENDINGS: 1 << 10,
            kernel.ASKED: 1 << 12,
            kernel.PARCELS: 1 << 10,
            taken.TAKEN: nodes * self.words if self.masked else 1,
            taken.MASKS: names(nodes) if self.masked else 1,
        }

    def growing_with(self, which: int) -> list[Table]:
        return [taken.MASKS] if which == bar.IN_NAMES and self.masked else []

    def begin_places(self, m: Block) -> None:
        """Those who subscribe from before the run, unless they announce themselves: each topic has one view for all."""
        vws.begin(m, self.views, self.nodes)
        options = protocols.OVERLAYS["vcube"].options | self.scenario.stack.options()
        m[kernel.WINDOW], m[kernel.BATCH] = options["window"], options["batch"]
        m[kernel.ORDERED], m[kernel.SPEAKERS], m[kernel.MOVES] = self.ordered, self.speakers, self.moves
        m[kernel.MASKED], m[taken.WORDS] = self.masked, self.words
        free = [kernel.FREE_WAIT, kernel.FREE_VECTOR, kernel.FREE_SAYING, kernel.FREE_PENDING, kernel.FREE_ASKED]
        free.append(kernel.FREE_PARCEL)
        m[free] = NONE
        slabs.begin(m, self.nodes, not self.moves)
        places = table(m, kernel.PLACES)
        m[kernel.USED_HOLDERS] = len(places)
        places[:, kernel.VIEW] = np.arange(len(places))
        chains = [kernel.LAST_SAID, kernel.FIRST_QUEUED, kernel.FIRST_UNSETTLED]
        places[:, [*chains, kernel.SAID + bar.LOGGED_LAST]] = NONE
        if self.ordered:
            places[:, kernel.SAID + bar.UNSAID] = self.unsaid.ravel()
        for code, topic in enumerate(self.topics):
            table(m, kernel.IDS)[code] = weight(Message(MessageId((0, 0), topic, 1), b""))
            speak = np.flatnonzero(self.unsaid[code])
            places[code * self.nodes + speak, kernel.COLUMN] = np.arange(len(speak))
        for topic, members in self.standing.items():
            mine = vws.stand(m, self.views, members, self.code[topic], self.nodes, 1)
            places[mine, kernel.WANTED], places[mine, kernel.PHASE], places[mine, kernel.VERSION] = 1, kernel.IN, 1
            for node in members:
                self.confirm(node, self.code[topic])
