"""A scenario of `vcube` on the compiled engine: its tables, and what stands before the run."""

from __future__ import annotations

import numpy as np

from trellis import protocols
from trellis.protocols.parts.portions import weight
from trellis.sim.fast import barriers as bar
from trellis.sim.fast import slabs
from trellis.sim.fast import vcube as kernel
from trellis.sim.fast import views as vws
from trellis.sim.fast.memory import NONE, Block, Table, table
from trellis.sim.fast.whole import Whole
from trellis.words import Message, MessageId, Time


class Repaired(Whole):
    """One run."""

    packets = kernel.PACKETS

    def go_on(self, end: Time, due: int) -> int:
        return kernel.go_on(self.block, self.rows, end, due)

    def rooms(self) -> dict[Table, int]:
        nodes, places = self.nodes, self.nodes * len(self.topics)
        self.ordered = self.scenario.stack.ordering == "causal"
        self.speakers = max(1, int((self.unsaid > 0).sum(axis=1).max(initial=0)))
        self.views = vws.views(nodes)
        return {
            vws.HOLDERS: places,
            self.views: vws.STANDING + len(self.standing),
            kernel.PLACES: places,
            kernel.KNOWN: places * self.speakers if self.ordered else 1,
            slabs.ACKS: (int((self.unsaid > 0).sum()) + 4) * nodes,  # each has about one wave on its way
            kernel.WAITS: 1 << 10,
            kernel.IDS: len(self.topics),
        }

    def begin_places(self, m: Block) -> None:
        """Those who subscribe from before the run: each topic has one view for all."""
        vws.begin(m, self.views, self.nodes)
        options = protocols.OVERLAYS["vcube"].options | self.scenario.stack.options()
        m[kernel.WINDOW], m[kernel.BATCH] = options["window"], options["batch"]
        m[kernel.ORDERED], m[kernel.SPEAKERS] = self.ordered, self.speakers
        m[[slabs.FREE_SLAB, kernel.FREE_WAIT]] = NONE
        places = table(m, kernel.PLACES)
        chains = [kernel.LAST_SAID, kernel.FIRST_QUEUED, kernel.FIRST_UNSETTLED]
        places[:, [*chains, kernel.SAID + bar.FIRST_LOGGED, kernel.SAID + bar.LAST_LOGGED]] = NONE
        if self.ordered:
            places[:, kernel.SAID + bar.UNSAID] = self.unsaid.ravel()
        for code, topic in enumerate(self.topics):
            table(m, kernel.IDS)[code] = weight(Message(MessageId((0, 0), topic, 1), b""))
            speak = np.flatnonzero(self.unsaid[code])
            places[code * self.nodes + speak, kernel.COLUMN] = np.arange(len(speak))
        for topic, members in self.standing.items():
            places[vws.stand(m, self.views, members, self.code[topic], self.nodes), kernel.WANTED] = 1
            for node in members:
                self.confirm(node, self.code[topic])
