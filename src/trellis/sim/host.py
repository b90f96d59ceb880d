"""The event-driven host: a scenario in, a trace out.

Promises: the same scenario gives the same rows, on any machine and under any hash seed. A machine is only ever
          called through `step`; what it asks for is carried out here and nowhere else.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable

from trellis import protocols
from trellis.effects import CancelTimer, Confirm, Deliver, Effect, Gap, Held, Keep, Note, Send, SetTimer, Settle
from trellis.errors import AlreadySubscribed, NotSubscribed, UnexpectedEvent
from trellis.events import Event, Publish, Receive, Standing, Subscribe, Timeout, Unsubscribe
from trellis.machine import Machine, Place
from trellis.scenario.model import Scenario
from trellis.scenario.plan import REPLY, Action, Plan, plan
from trellis.sim.calendar import APPLICATION, PACKET, TIMER, Calendar, Entry
from trellis.sim.network import Line, network_of
from trellis.trace.table import Recorder, Trace
from trellis.words import Message, MessageId, NodeId, Time, Topic

Progress = Callable[[Time, int], None]  # now, events so far
PROGRESS_EVERY = 1 << 14
BUILD = Callable[[Place], Machine]
Standings = dict[Topic, tuple[NodeId, ...]]


class Host:
    """All nodes of one run. `step` works off the next time."""

    def __init__(self, scenario: Scenario, build: BUILD | None = None) -> None:
        self.scenario = scenario
        self.plan: Plan = plan(scenario)
        self.network: Line = network_of(scenario)
        self.calendar = Calendar()
        self.recorder = self.new_recorder()
        self.build = build or builder(scenario)
        self.about = scenario.about_topics()  # one table for all places: there may be many of both
        self.machines = [self.build(self.place(node)) for node in range(scenario.nodes.count)]
        self.timers: dict[tuple[NodeId, str], int] = {}  # armed timers -> the number of their entry
        self.timers_set = 0
        self.heard: dict[NodeId, int] = {}  # openings of the discussion delivered by each node
        self.now: Time = 0
        self.events = 0
        self.begin()

    def new_recorder(self) -> Recorder:
        return Recorder()

    def begin(self) -> None:
        if not self.scenario.subscriptions.announce:
            self.tell_who_stands(self.plan.standing)
        for number, (at, node, event) in enumerate(self.plan.actions):
            self.calendar.push(at, (node, APPLICATION, 0, number, event, b""))

    def place(self, node: NodeId) -> Place:
        return Place(node, self.scenario.nodes.count, seed=self.scenario.seed, topics=self.about)

    def tell_who_stands(self, standing: Standings) -> None:
        everybody = range(len(self.machines))
        hearers = protocols.hearers(self.scenario.stack.overlay, standing, self.place(0))
        for topic, members in standing.items():
            for node in everybody if hearers is None else sorted(hearers[topic]):
                self.carry_out(node, self.machines[node].step(0, Standing(topic, members)))

    def run(self, progress: Progress | None = None) -> Trace:
        """Work everything off, until nothing is left or the scenario ends."""
        end = self.scenario.end
        collecting = gc.isenabled()
        gc.disable()  # the rows stay and the rest is freed by reference counts: a collector would only search in vain
        try:
            due = PROGRESS_EVERY
            while (at := self.calendar.next_time()) is not None and (end is None or at <= end):
                self.step()
                if progress is not None and self.events >= due:
                    progress(self.now, self.events)
                    due = self.events + PROGRESS_EVERY
        finally:
            if collecting:
                gc.enable()
        return self.recorder.trace()

    def step(self) -> None:
        """One round of one time."""
        self.now, entries = self.calendar.pop()
        self.events += len(entries)
        self.work_off(entries)

    def work_off(self, entries: list[Entry]) -> None:
        now, machines, lines = self.now, self.machines, self.recorder.lines
        for node, kind, _, number, event, line in entries:
            if kind == PACKET:
                lines += line
            elif kind == APPLICATION:
                self.act(node, event)
                continue
            elif kind == TIMER and not self.runs_out(node, event, number):
                continue
            effects = machines[node].step(now, event)
            if effects:
                self.carry_out(node, effects)

    def runs_out(self, node: NodeId, event: Event, number: int) -> bool:
        """Whether the timer still stands: it may have been cancelled or set again."""
        assert isinstance(event, Timeout)
        stands = self.timers.get((node, event.name)) == number
        if stands:
            del self.timers[node, event.name]
        return stands

    def act(self, node: NodeId, event: Event) -> None:
        """An application's call. A refusal is a row of the trace, not the end of the run."""
        assert isinstance(event, Subscribe | Unsubscribe | Publish)
        id = self.application_id(node, event.topic)
        try:
            effects = self.machines[node].step(self.now, event)
        except (NotSubscribed, AlreadySubscribed):
            self.record("refuse", node, id)
            return
        if not isinstance(event, Publish):
            self.record("subscribe" if isinstance(event, Subscribe) else "unsubscribe", node, id)
        self.carry_out(node, effects)

    def carry_out(self, node: NodeId, effects: Iterable[Effect]) -> None:
        """Packets and deliveries are by far the most, so they are dealt with first."""
        now, recorder = self.now, self.recorder
        for effect in effects:
            kind = type(effect)
            if kind is Send:
                to, packet = effect.to, effect.packet  # type: ignore[union-attr]
                departure, arrival, number = self.network.times(now, node, to)
                line = recorder.sent(now, node, packet, to, departure, arrival)
                self.calendar.push(arrival, (to, PACKET, node, number, Receive(node, packet), line))
            elif kind is Deliver:
                message = effect.message  # type: ignore[union-attr]
                recorder.happened("late" if effect.tags else "deliver", now, node, message.id)  # type: ignore[union-attr]
                if self.plan.discussion is not None:
                    self.listen(node, message)
            else:
                self.carry_out_rare(node, effect)

    def carry_out_rare(self, node: NodeId, effect: Effect) -> None:
        match effect:
            case Note():
                self.recorder.happened(effect.kind, self.now, node, effect.id, 0, effect.barrier)
            case Confirm():
                self.record("confirm", node, self.application_id(node, effect.topic))
            case Settle() | Gap():
                kind = "settle" if isinstance(effect, Settle) else "gap"
                self.recorder.happened(kind, self.now, node, effect.id, effect.count)
            case SetTimer():
                self.timers_set += 1
                self.timers[node, effect.name] = self.timers_set
                entry = (node, TIMER, 0, self.timers_set, Timeout(effect.name), b"")
                self.calendar.push(self.now + max(1, effect.delay), entry)
            case CancelTimer():
                self.timers.pop((node, effect.name), None)
            case Keep():
                self.write_down(node, effect)
            case Held():
                pass  # a promise to the application alone: no row
            case _:
                raise UnexpectedEvent(self, effect)

    def write_down(self, node: NodeId, effect: Keep) -> None:
        """Nobody will read it: nothing breaks here."""

    def listen(self, node: NodeId, message: Message) -> None:
        """The application of a discussion: reply once, after all openings and some thought."""
        discussion = self.plan.discussion
        assert discussion is not None
        if message.id.source not in discussion.openers or node not in discussion.thinking:
            return
        self.heard[node] = self.heard.get(node, 0) + 1
        if self.heard[node] == len(discussion.openers):
            reply = Action(self.now + discussion.thinking[node], node, Publish(discussion.topic, REPLY))
            self.calendar.push(reply.at, (node, APPLICATION, 1, 0, reply.event, b""))

    def application_id(self, node: NodeId, topic: Topic) -> MessageId:
        """Names what an application asked of a topic."""
        return MessageId((node, 0), topic, 0)

    def record(self, kind: str, node: NodeId, id: MessageId) -> None:
        self.recorder.happened(kind, self.now, node, id)


def builder(scenario: Scenario) -> BUILD:
    """How the scenario's stack is made at one place."""
    spec = scenario.stack

    def build(place: Place) -> Machine:
        return protocols.build(spec.overlay, spec.ordering, place, spec.options())

    return build
