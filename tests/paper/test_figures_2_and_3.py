"""Figures 2 and 3 of VCube-PS: causal barriers, and the trees of two topics."""

from __future__ import annotations

import pytest
from theatre import Theatre

from trellis.protocols.overlays.vcube_packets import Pub
from trellis.protocols.overlays.vcube_printed import Pub as PrintedPub

# Figure 3: (members, publisher) -> who sends to whom.
FIGURE_3 = {
    "left: all subscribe to t1, p0 publishes": (
        range(8),
        0,
        {(0, 1), (0, 2), (0, 4), (2, 3), (4, 5), (4, 6), (6, 7)},
    ),
    "right: 0, 2, 3, 5, 7 subscribe to t2, p2 publishes": ([0, 2, 3, 5, 7], 2, {(2, 3), (2, 0), (2, 7), (7, 5)}),
}


@pytest.mark.parametrize("overlay", ["vcube", "vcube-printed"])
@pytest.mark.parametrize("figure", FIGURE_3)
def test_figure_3_the_tree_is_rooted_at_the_publisher_and_holds_only_subscribers(figure: str, overlay: str) -> None:
    members, publisher, edges = FIGURE_3[figure]
    stage = Theatre()
    stage.play(f"nodes 8 overlay={overlay} ordering=causal")
    stage.play(f"standing t {' '.join(map(str, members))}")
    stage.play(f"publish {publisher} t m")
    stage.play("settle")
    sent = {tuple(map(int, (line.split()[0], line.split()[2]))) for line in stage.said if " PUB " in line}
    assert sent == edges


class Figure2:
    """p0, p1 and p2 have subscribed; who hears what when is the figure's left side."""

    def __init__(self, overlay: str, latecomer: bool) -> None:
        self.stage = Theatre()
        self.stage.play(f"nodes 4 overlay={overlay} ordering=causal")
        self.stage.play("standing t 0 1 2")
        self.barriers: dict[str, set[str]] = {}
        if latecomer:  # m(2,1) is published before p3 comes, and only then m(0,1) and m(1,1)
            self.publish(2, "m21")
            self.stage.play("settle")
            self.stage.play("subscribe 3 t")
            self.stage.play("settle")
            self.publish(0, "m01")
            self.stage.play("settle")
            self.publish(1, "m11")
        else:
            self.publish(0, "m01")
            self.stage.play("carry 0 -> 1")  # p1 has delivered m(0,1); p2 has heard nothing yet
            self.publish(1, "m11")
            self.publish(2, "m21")
        self.stage.play("settle")
        self.publish(1, "m12")
        self.stage.play("settle")

    def publish(self, node: int, name: str) -> None:
        self.stage.play(f"publish {node} t {name}")
        for packets in self.stage.links.values():
            for packet in packets:
                if isinstance(packet, Pub | PrintedPub) and packet.messages[0].payload == name.encode():
                    message = packet.messages[0]
                    self.barriers[name] = {f"{d.source}:{d.seq}" for d in message.follows}

    def delivered(self, node: int) -> list[str]:
        return [line.split('"')[1] for line in self.stage.said if line.startswith(f"{node} deliver")]


def test_figure_2_a_barrier_names_direct_predecessors_only() -> None:
    """cb(m11) = {m01}; cb(m12) = {m21, m11}, without m01, which m11 follows."""
    figure = Figure2("vcube", latecomer=False)
    assert figure.barriers["m01"] == set()
    assert figure.barriers["m11"] == {"0:1"}
    assert figure.barriers["m21"] == set()
    assert figure.barriers["m12"] == {"2:1", "1:1"}
    for node in (0, 1, 2):
        heard = figure.delivered(node)
        assert heard.index("m01") < heard.index("m11") < heard.index("m12")
        assert heard.index("m21") < heard.index("m12")


def test_figure_2_the_printed_form_stamps_the_same_barriers() -> None:
    figure = Figure2("vcube-printed", latecomer=False)
    assert figure.barriers["m11"] == {"0:0"}
    assert figure.barriers["m12"] == {"2:0", "1:0"}


def test_figure_2_p3_came_late_and_does_not_wait_for_what_was_before_it() -> None:
    """p3 "can deliver m12 after having delivered m11", though it never gets m21."""
    figure = Figure2("vcube", latecomer=True)
    assert figure.delivered(3) == ["m01", "m11", "m12"]


def test_figure_2_p3_waits_for_ever_in_the_printed_form() -> None:
    """Hole V2: p3 got nothing from p2, so CheckCB never drops the dependency on m21."""
    figure = Figure2("vcube-printed", latecomer=True)
    assert "m21" not in figure.delivered(3)
    assert figure.delivered(3) == []
    assert figure.delivered(2) == ["m21", "m01", "m11", "m12"]
