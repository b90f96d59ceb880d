"""A stage for stories: machines, links that the story controls, and a transcript of what they do.

A story file is a list of scenes. A scene is one or more commands, a line of dashes, and what they caused:

    nodes 4 overlay=vcube ordering=causal
    standing news 0 1 2 3
    publish 0 news a
    ----
    0 -> 1 PUB 0:1@news
    0 deliver 0:1@news "a"

Commands: `nodes N overlay=O ordering=R`, `standing TOPIC NODE...`, `subscribe NODE TOPIC`, `unsubscribe NODE TOPIC`,
`publish NODE TOPIC TEXT`, `carry A -> B` (the oldest packet of that link), `again A -> B` (deliver it and keep it: a
duplicate), `lose A -> B`, `settle` (carry everything, round by round, until nothing is left), `restart NODE` (it comes
back with a new incarnation and no memory), `cut A B` (their link breaks, with all that is on it, and both notice),
`mend A B` (it stands again, and both are told), `crash NODE` (all its links break; nothing is told to it), `wake NODE`
(its timer runs out: the one that was set last, or `wake NODE NAME`), `later TIME` (nothing happens for so long),
`# a remark`. After `overlay=O ordering=R` may follow options of the overlay, as `repair=10`.
"""

from __future__ import annotations

from trellis import protocols
from trellis.effects import Confirm, Deliver, Effect, Gap, Note, Send, SetTimer, Settle
from trellis.errors import LocalProtocolError
from trellis.events import Event, Publish, Receive, Restore, Standing, Subscribe, Suspect, Timeout, Unsubscribe
from trellis.machine import Machine, Place
from trellis.words import Packet

DASHES = "----"


class Theatre:
    """The nodes of one story."""

    def __init__(self) -> None:
        self.machines: list[Machine] = []
        self.links: dict[tuple[int, int], list[Packet]] = {}
        self.incarnations: dict[int, int] = {}
        self.overlay = self.ordering = ""
        self.options: dict[str, int] = {}
        self.dead: set[int] = set()
        self.timers: dict[int, list[str]] = {}  # the one that was set last at the end
        self.said: list[str] = []
        self.now = 0

    def play(self, command: str) -> None:
        words = command.split()
        match words:
            case ["nodes", count, overlay, ordering, *options]:
                self.overlay, self.ordering = overlay.partition("=")[2], ordering.partition("=")[2]
                self.options = {name: int(value) for name, _, value in (each.partition("=") for each in options)}
                self.machines = [self.build(me, int(count)) for me in range(int(count))]
            case ["standing", topic, *members]:
                event = Standing(topic, tuple(sorted(map(int, members))))
                for node in range(len(self.machines)):
                    self.machines[node].step(self.now, event)
            case ["subscribe", node, topic]:
                self.feed(int(node), Subscribe(topic))
            case ["unsubscribe", node, topic]:
                self.feed(int(node), Unsubscribe(topic))
            case ["publish", node, topic, *text]:
                self.feed(int(node), Publish(topic, " ".join(text).encode()))
            case ["carry", a, "->", b]:
                self.carry(int(a), int(b))
            case ["again", a, "->", b]:
                self.feed(int(b), Receive(int(a), self.links[int(a), int(b)][0]))
            case ["lose", a, "->", b]:
                self.links[int(a), int(b)].pop(0)
            case ["restart", node]:
                self.incarnations[int(node)] = self.incarnations.get(int(node), 0) + 1
                self.dead.discard(int(node))
                self.machines[int(node)] = self.build(int(node), len(self.machines))
            case ["cut", a, b]:
                self.cut(int(a), int(b))
            case ["mend", a, b]:
                for node, other in ((int(a), int(b)), (int(b), int(a))):
                    self.feed(node, Restore(other, self.incarnations.get(other, 0)))
            case ["crash", node]:
                self.dead.add(int(node))
                for other in range(len(self.machines)):
                    if other != int(node) and other not in self.dead:
                        self.cut(int(node), other)
            case ["wake", node]:
                self.feed(int(node), Timeout(self.timers[int(node)].pop()))
            case ["wake", node, name]:
                self.timers[int(node)].remove(name)
                self.feed(int(node), Timeout(name))
            case ["later", time]:
                self.now += int(time)
            case ["settle"]:
                while any(self.links.values()):
                    for a, b in sorted(
                        (link for link, packets in self.links.items() if packets), key=lambda x: x[::-1]
                    ):
                        self.carry(a, b)
            case ["#", *_] | []:
                pass
            case _:
                raise ValueError(f"no such command: {command}")

    def build(self, me: int, size: int) -> Machine:
        return protocols.build(self.overlay, self.ordering, Place(me, size, self.incarnations.get(me, 0)), self.options)

    def cut(self, a: int, b: int) -> None:
        for link in ((a, b), (b, a)):
            self.links.pop(link, None)
        for node, other in ((a, b), (b, a)):
            if node not in self.dead:
                self.feed(node, Suspect(other))

    def carry(self, a: int, b: int) -> None:
        self.feed(b, Receive(a, self.links[a, b].pop(0)))

    def feed(self, node: int, event: Event) -> None:
        self.now += 1
        try:
            effects = self.machines[node].step(self.now, event)
        except LocalProtocolError as error:
            self.said.append(f"{node} refuses: {error}")
            return
        for effect in effects:
            self.note(node, effect)

    def note(self, node: int, effect: Effect) -> None:
        match effect:
            case Send() if effect.to in self.dead:
                self.said.append(f"{node} -> {effect.to} {effect.packet.kind} {effect.packet.id}, who is dead")
            case Send():
                self.links.setdefault((node, effect.to), []).append(effect.packet)
                several = f" x{len(effect.packet.messages)}" if len(effect.packet.messages) > 1 else ""
                stamp = stamp_in(effect.packet)
                self.said.append(f"{node} -> {effect.to} {effect.packet.kind} {effect.packet.id}{several}{stamp}")
            case Deliver():
                tags = "".join(f" {tag}" for tag in effect.tags)
                self.said.append(f'{node} deliver {effect.message.id} "{effect.message.payload.decode()}"{tags}')
            case Confirm():
                self.said.append(f"{node} confirm {effect.topic}")
            case Settle():
                self.said.append(f"{node} settle {effect.id}" + (f" x{effect.count}" if effect.count > 1 else ""))
            case Gap():
                self.said.append(f"{node} gap {effect.id}" + (f" x{effect.count}" if effect.count > 1 else ""))
            case SetTimer():
                timers = self.timers.setdefault(node, [])
                timers[:] = [*(name for name in timers if name != effect.name), effect.name]
            case Note(kind="skip"):
                self.said.append(f"{node} skip {effect.id}")
            case Note(kind="spread") if effect.barrier:
                self.said.append(f"{node} spread {effect.id} following {effect.barrier}")


def stamp_in(packet: Packet) -> str:
    """The timestamp that a packet of an ordering carries, as far as it is filled in."""
    entries = dict(getattr(packet, "entries", ()))
    for numbered in (packet, getattr(packet, "about", None)):
        if hasattr(numbered, "number"):
            entries[packet.id.topic] = numbered.number
    return f" {{{', '.join(f'{topic}:{number}' for topic, number in sorted(entries.items()))}}}" if entries else ""


def perform(text: str) -> str:
    """The same story with what happens now in place of what is written."""
    theatre, out, scene = Theatre(), [], []
    for block in text.strip("\n").split("\n\n"):
        commands = block.split(f"\n{DASHES}")[0].split("\n")
        scene = [line for line in commands if line != DASHES]
        theatre.said = []
        for command in scene:
            theatre.play(command)
        out.append("\n".join([*scene, DASHES, *theatre.said] if theatre.said else scene))
    return "\n\n".join(out) + "\n"
