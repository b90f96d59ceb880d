"""A scenario of `vcube-printed` on the compiled engine: its tables, and what stands before the run."""

from __future__ import annotations

import numpy as np

from trellis.events import Publish, Subscribe
from trellis.sim.fast import barriers as bar
from trellis.sim.fast.memory import NONE, Block, Table, table
from trellis.sim.fast.trees import printed_acks as acks
from trellis.sim.fast.trees import printed_records as kernel
from trellis.sim.fast.trees import slabs, taken, vcube_printed
from trellis.sim.fast.trees import views as vws
from trellis.sim.fast.whole import Whole, names
from trellis.words import Time


class Printed(Whole):
    """One run."""

    packets = kernel.PACKETS
    counts = True

    def go_on(self, end: Time, due: int) -> int:
        return vcube_printed.go_on(self.block, self.rows, end, due)

    def rooms(self) -> dict[Table, int]:
        nodes, places = self.nodes, self.nodes * len(self.topics)
        actors = len({(action.node, action.event.topic) for action in self.plan.actions})
        self.joins = any(isinstance(action.event, Subscribe) for action in self.plan.actions)
        self.fixed = all(isinstance(action.event, Publish) for action in self.plan.actions)
        self.speakers = max(1, int((self.unsaid > 0).sum(axis=1).max(initial=0)))
        self.views = vws.views(nodes)
        self.ordered = self.scenario.stack.ordering == "causal"
        self.words = taken.words(self.acts)
        return {
            vws.HOLDERS: places,
            self.views: vws.STANDING + len(self.standing) + (1 if self.fixed else min(places, 1 << 12)),
            kernel.PLACES: places,
            kernel.KNOWN: 1 if self.fixed else places * self.speakers,
            slabs.ACKS: (actors + 4) * slabs.words(nodes, not self.joins),  # each has about one wave on its way
            acks.SAID_RC: (actors + 4) * nodes if self.joins else 1,
            kernel.WAITS: 1 << 14,
            taken.MASKS: names(nodes) if self.ordered else 1,
            taken.TAKEN: nodes * self.words if self.ordered else 1,
        }

    def growing_with(self, which: int) -> list[Table]:
        if which == slabs.IN_ACKS:
            return [acks.SAID_RC] if self.joins else []
        return [taken.MASKS] if which == bar.IN_NAMES and self.ordered else []

    def begin_places(self, m: Block) -> None:
        """Those who subscribe from before the run, unless they announce themselves: each topic has one view for all."""
        vws.begin(m, self.views, self.nodes)
        m[kernel.ORDERED], m[kernel.SPEAKERS], m[taken.WORDS] = self.ordered, self.speakers, self.words
        m[kernel.JOINS], m[kernel.FIXED] = self.joins, self.fixed
        m[kernel.FREE_WAIT] = NONE
        slabs.begin(m, self.nodes, not self.joins)
        places = table(m, kernel.PLACES)
        said = kernel.SAID
        chains = [kernel.FIRST_QUEUED, kernel.LAST_QUEUED, kernel.FIRST_WAITING, kernel.LAST_WAITING]
        places[:, [*chains, said + bar.LOGGED_LAST]] = NONE
        places[:, [kernel.COLUMN, kernel.JOINED]] = NONE
        places[:, said + bar.UNSAID] = self.unsaid.ravel()
        for code in range(len(self.topics)):
            speak = np.flatnonzero(self.unsaid[code])
            places[code * self.nodes + speak, kernel.COLUMN] = np.arange(len(speak))
        for topic, members in self.standing.items():
            places[vws.stand(m, self.views, members, self.code[topic], self.nodes), kernel.IDLE] = 1
            for node in members:
                self.confirm(node, self.code[topic])
