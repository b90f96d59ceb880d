"""Topics that include each other: whoever subscribes to .news gets what is published on .news.science.space.

Source:   daMulticast (Baehni, Eugster, Guerraoui), section 3.1; several supertopics as in its concluding remark.
Promises: every topic but the root has a supertopic, one more part of its name being its own. A tree grows as names
          come up: nothing is announced, and no name is known before it is used.
          What a topic includes is decided by names and by the joints alone, so everybody sees it alike.
Assumes:  a topic whose name begins with a dot is in the tree; any other one stands for itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from trellis.errors import LocalProtocolError
from trellis.machine import Place
from trellis.words import LEVELS_MAX, TOPIC_MAX, Topic

ROOT: Topic = "."
SUPERS_MAX = 8  # direct supertopics of one topic


def in_tree(topic: Topic) -> bool:
    return topic.startswith(ROOT)


def super_of(topic: Topic) -> Topic | None:
    """super(T), by its name. The root has none, nor has a topic outside the tree."""
    if not in_tree(topic) or topic == ROOT:
        return None
    return topic[: topic.rindex(".")] or ROOT


def supers(topic: Topic) -> Iterator[Topic]:
    """All that include it by name, the nearest first."""
    above = super_of(topic)
    while above is not None:
        yield above
        above = super_of(above)


def around(topic: Topic, others: Collection[Topic]) -> list[Topic]:
    """Those of the others that are it, or include it by name, or that it includes."""
    if not in_tree(topic):
        return [topic] if topic in others else []
    above = {topic, *supers(topic)}
    below = ROOT if topic == ROOT else f"{topic}."
    return [other for other in others if other in above or other.startswith(below)]


def depth(topic: Topic) -> int:
    """Parts of its name; of the root none."""
    return 0 if topic == ROOT else topic.count(".")


def check(topic: Topic) -> None:
    """Refuse a name that is in no tree: an empty part, or too much of anything."""
    if not in_tree(topic) or topic == ROOT:
        return
    size = len(topic.encode("utf-8", "surrogatepass"))
    if size > TOPIC_MAX:
        raise LocalProtocolError(f"topic {topic[:32]!r}...: {size} bytes; at most {TOPIC_MAX}")
    if depth(topic) > LEVELS_MAX:
        raise LocalProtocolError(f"topic {topic!r}: {depth(topic)} levels; at most {LEVELS_MAX}")
    if "" in topic[1:].split("."):
        raise LocalProtocolError(f"topic {topic!r}: a part of it is empty; write .news.science, or . for the root")


class Hierarchy:
    """Which topics include which: by their names, and by joints, that give a topic supertopics beside that of its
    name.
    """

    def __init__(self, joints: Mapping[Topic, tuple[Topic, ...]] | None = None) -> None:
        self.joints: dict[Topic, tuple[Topic, ...]] = {}
        for topic, others in sorted((joints or {}).items()):
            self.join(topic, others)

    @classmethod
    def at(cls, place: Place) -> Hierarchy:
        """As everybody knows it."""
        return cls({topic: about.supers for topic, about in place.topics.items() if about.supers})

    def join(self, topic: Topic, others: tuple[Topic, ...]) -> None:
        """From now on these include it, too."""
        for name in (topic, *others):
            check(name)
            if not in_tree(name):
                raise LocalProtocolError(f"topic {name!r}: only a topic of the tree has supertopics; write .{name}")
        below = [other for other in others if topic == other or self.includes(topic, other)]
        if below:
            raise LocalProtocolError(f"topic {topic!r}: it includes {below[0]!r}, which cannot include it")
        new = tuple(other for other in others if other not in self.direct(topic))
        if 1 + len(self.joints.get(topic, ())) + len(new) > SUPERS_MAX:
            raise LocalProtocolError(f"topic {topic!r}: more than {SUPERS_MAX} direct supertopics")
        if new:
            self.joints[topic] = (*self.joints.get(topic, ()), *new)

    def direct(self, topic: Topic) -> tuple[Topic, ...]:
        """Its direct supertopics, that of its name first."""
        above = super_of(topic)
        return ((above,) if above is not None else ()) + self.joints.get(topic, ())

    def above(self, topic: Topic) -> list[Topic]:
        """All that include it, direct ones first, each once."""
        if not self.joints:
            return list(supers(topic))
        found: dict[Topic, None] = {}
        level = [topic]
        while level:
            level = [other for one in level for other in self.direct(one) if other not in found]
            found |= dict.fromkeys(level)
        return list(found)

    def includes(self, topic: Topic, other: Topic) -> bool:
        """Whether what is published on the other one is for those who subscribe to this one, too."""
        if not self.joints:
            return topic != other and in_tree(other) and (topic == ROOT or other.startswith(f"{topic}."))
        return topic in self.above(other)

    def reaches(self, topic: Topic, other: Topic) -> bool:
        """The same, or it is that topic itself."""
        return topic == other or self.includes(topic, other)
