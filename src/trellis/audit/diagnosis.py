"""Which hole of the printed VCube-PS a failure fell through, told from the trace alone.

Source:   the list of holes in docs/protocols/vcube.md.
Promises: a name only where the rows show the cause; else the name of the audit.

A lost message is followed down its tree to the node that should have passed it on and did not. If that node had asked
to join and knew nobody yet, it is V1; if it had left, V4. A message that is stuck waits for one that was published
before the node's subscription stood and that therefore never comes: V2. A violation of causal order is V3. Four
holes were found by our own schedules. V9: a node that came back and was confirmed does not know a member, because that
member leaves itself out of its acknowledgement (line 96) as long as `first_rec` remembers the earlier subscription.
V10: lines 33-34 clear what a node received after it came back, when the UNS of its earlier subscription completes.
V11: line 19 delivers a node's own message when it leaves the queue, even if the node has left the topic by then.
V12: a source that came back has a second task (line 11), and two messages under way that may overtake each other.
"""

from __future__ import annotations

from collections.abc import Iterable

from trellis.audit.causal import Pasts, Stream, stream_of, topics_of
from trellis.audit.delivery import Logbook
from trellis.audit.witness import Witness, id_of
from trellis.protocols.parts.hypercube import cluster
from trellis.trace.rows import Row
from trellis.words import MessageId, NodeId, Topic

HOLES = {
    "V1": "a joiner was given a subtree before it had a view: everybody behind it missed the message",
    "V2": "a late subscriber waits for ever for a message from before its subscription",
    "V3": "skipping a predecessor forgot what that one followed: causal order is broken",
    "V4": "a leaver went on forwarding from an old view: who joined since then missed the message",
    "V9": "a member kept silent to a returning subscriber, because it still remembered it: it is left out for good",
    "V10": "a node came back before its UNS was acknowledged: the clean-up wiped what had come meanwhile",
    "V11": "a message that was still queued when its publisher left is delivered there all the same",
    "V12": "a source that came back has two broadcasts under way, and they overtook each other",
}


class Diagnosis:
    """Names for the witnesses of one run."""

    def __init__(self, rows: Iterable[Row], witnesses: dict[str, list[Witness]]) -> None:
        self.rows = list(rows)
        self.lost = {(w.node, w.message): w for w in witnesses.get("lost", [])}
        self.book = Logbook(self.rows)
        self.passed: dict[MessageId, dict[NodeId, list[NodeId]]] = {}  # who sent a message on to whom
        self.reached: dict[tuple[NodeId, MessageId], int] = {}  # when it first had it, as a row's position
        self.standing: dict[tuple[NodeId, Topic], list[tuple[int, str]]] = {}
        for row in self.rows:
            self.note(row)
        self.lived = topics_of(self.rows, birth="spread")
        self.pasts: dict[Topic, Pasts] = {}

    def note(self, row: Row) -> None:
        match row.kind:
            case "send" if row.packet == "PUB":
                self.passed.setdefault(id_of(row), {}).setdefault(row.node, []).append(row.peer)
            case "receive" if row.packet == "PUB":
                self.reached.setdefault((row.node, id_of(row)), row.position)
            case "spread":
                self.reached.setdefault((row.node, id_of(row)), row.position)
            case "subscribe" | "confirm" | "unsubscribe":
                self.standing.setdefault((row.node, row.topic), []).append((row.position, row.kind))

    def name(self, witness: Witness) -> str:
        match witness.audit:
            case "lost":
                return self.name_lost(witness)
            case "stuck":
                return self.name_stuck(witness)
            case "causal" | "fifo":
                same_source = witness.other is not None and witness.other.origin == witness.message.origin
                return "V12" if same_source else "V3"
            case "uninvited":
                return "V11"
            case audit:
                return audit

    def name_lost(self, witness: Witness) -> str:
        """Follow the tree towards the node that missed it."""
        id, node = witness.message, witness.node
        at = id.source
        for _ in range(64):
            toward = [to for to in self.passed.get(id, {}).get(at, []) if cluster(at, to) == cluster(at, node)]
            if not toward:
                break
            at = toward[0]
        said = self.words(at, id)
        if said[-1:] == ["confirm"] and "unsubscribe" in said:
            return "V9"
        return {"subscribe": "V1", "unsubscribe": "V4"}.get(said[-1] if said else "", "lost")

    def words(self, node: NodeId, id: MessageId) -> list[str]:
        """What had been said of this node's subscription when the message reached it."""
        position = self.reached.get((node, id), -1)
        return [kind for at, kind in self.standing.get((node, id.topic), []) if at <= position]

    def name_stuck(self, witness: Witness) -> str:
        """What is it waiting for? Something it was owed and that was lost, or something older than its subscription."""
        id, node = witness.message, witness.node
        current = self.book.current((node, id.topic))
        if current is None:
            return "stuck"
        since = current.since.position
        waits_for = [m for m in self.past(id) if not self.delivered_since(node, m, since)]
        never_came = [m for m in waits_for if m not in current.received]
        for m in never_came:
            if (node, m) in self.lost:
                return self.name_lost(self.lost[node, m])
        if never_came:
            return "V2"
        came_back = "unsubscribe" in self.words(node, id)
        return "V10" if came_back else "stuck"

    def delivered_since(self, node: NodeId, id: MessageId, since: int) -> bool:
        """A delivery in an earlier subscription does not help: leaving forgets it (line 34)."""
        delivered = self.book.delivered.get(((node, 0), id))  # no schedule of the printed form has crashes
        return delivered is not None and delivered.position > since

    def past(self, id: MessageId) -> list[MessageId]:
        """All that happened before a message was stamped, on its topic: what its barrier stands for."""
        lived = self.lived.get(id.topic, [])
        pasts = self.pasts.get(id.topic)
        if pasts is None:
            pasts = self.pasts[id.topic] = Pasts(lived)
            for life, row in lived:
                (pasts.publish if row.kind == "spread" else pasts.deliver)(life, id_of(row))
        numbers: dict[Stream, list[int]] = {}
        for _, row in lived:
            if row.kind == "spread":
                numbers.setdefault(stream_of(id_of(row)), []).append(row.seq)
        return pasts.members(pasts.of_message[id], numbers) if id in pasts.of_message else []
