"""What compiled runs had before, and the names and numbers that kernels are made with."""

from __future__ import annotations

import pytest

from trellis import draw
from trellis.protocols.parts.company import fanout_of
from trellis.sim import run
from trellis.sim.fast.gossips import damulticast_packets as said_by
from trellis.sim.fast.gossips import gossip
from trellis.sim.fast.gossips.gossiping import NUMBERS, fanouts, first_without
from trellis.sim.fast.trees import printed_records as kernel
from trellis.sim.fast.trees import rooted
from trellis.sim.fast.trees import vcube_records as vcube
from trellis.swarm.twins import scenario_of

GOLDEN = {
    0: "76f65f19f79d0c6d17cda47adfa0d89228ce9e4604cdf5e9d200a4a3ef8f99d6",
    1: "a1d3b7c1246ed2d1f5b22d1ccd3640f5a4eae0052e3c61196a6671702640aa3c",
    2: "999d57a8215a754b3649389671e1c402d0f61e169b5a1337e55a0469b2c6a250",
    3: "4f3051367452245fddc214345f54748c8e905964319b13330ef353a8c348cc28",
    4: "9dc97a65d82923c0403009a6cde3a9e39f5bfbd2e77ceb050ee5b8e919b166ed",
    5: "89f35ca3744186baaa8de2fa9e74ce060a7e0346962f6304f7c4b5fda9bf3d24",
    6: "dcbea5604f0110f6b7608c773a821a3c92b846dffae0853f52c6b92f1edf57b3",
    7: "f4f55fc59fec1c0ed42b19d38ed178b364e2302a7be3bbea3f9b1265c80ea96f",
    8: "b85950925b07bae3998ca78b3f2a18381156791753c1e1a58baef5c203a29ef0",
    9: "eeae1fe1ff8a151d6dbfe9d1de6a41d0a6bcc69af58d40dbb4a2a0094f2f68c2",
    10: "ef81c08a11be44e48c6319553be8371d7367ea9660ef0f15a04aec91eb03607a",
    11: "457db60ea8c3db4bc8153afd0b0f5989f5da3863bacaca337bc828de0366651d",
}


LAYERED = {  # the first digits
    ("single-root", "causal", 0): "8bc756ec55698fbc",
    ("single-root", "causal", 1): "e54cb8a8df19b483",
    ("single-root", "causal", 2): "03efb693dc914bdd",
    ("single-root", "causal", 5): "01d8ccd6fbb6ddaa",
    ("single-root", "unordered", 0): "c1d3cb7040da3032",
    ("single-root", "unordered", 1): "e54cb8a8df19b483",
    ("single-root", "unordered", 2): "62eeb3c00a015414",
    ("single-root", "unordered", 5): "a4ae4eae6e2f855c",
    ("brokers", "causal", 0): "4071752c2024892b",
    ("brokers", "causal", 1): "2b2016cc83c11739",
    ("brokers", "causal", 2): "cc6d72f03b1c737b",
    ("brokers", "causal", 5): "6c7f2a17305a78fd",
    ("brokers", "unordered", 0): "402caac0cb2fece8",
    ("brokers", "unordered", 1): "2b2016cc83c11739",
    ("brokers", "unordered", 2): "d0fcddab71c0325b",
    ("brokers", "unordered", 5): "6ecc9292803b2016",
    ("vcube", "causal", 0): "5a1e831abd014593",
    ("vcube", "causal", 1): "9e4e6555973ee338",
    ("vcube", "causal", 2): "f9494dd17e98d0a8",
    ("vcube", "causal", 3): "d9306f77bbe8a37f",
    ("vcube", "causal", 4): "e65e015df0514e76",
    ("vcube", "causal", 5): "42e53a9646b89b6f",
    ("vcube", "unordered", 0): "d4f19cbff21026de",
    ("vcube", "unordered", 1): "9e4e6555973ee338",
    ("vcube", "unordered", 2): "614d3e6dd057866f",
    ("vcube", "unordered", 3): "178bd192c1d8ccd7",
    ("vcube", "unordered", 4): "e19191e95918743c",
    ("vcube", "unordered", 5): "6aa0644274699336",
    ("damulticast", "unordered", 15): "1f7e55739004ec6c",
    ("damulticast", "unordered", 21): "6081ef2dfa96e896",
    ("damulticast", "unordered", 27): "68148d1af2a11d42",
    ("damulticast-printed", "unordered", 0): "6304a86d1f74fc50",
    ("damulticast-printed", "unordered", 2): "3b3cc139f8787a58",
    ("damulticast-printed", "unordered", 3): "5c2d4abae0766438",
    ("gossip-broadcast", "unordered", 2): "f0700c7703779e17",
    ("gossip-broadcast", "unordered", 5): "35e957b48986ffe9",
    ("gossip-multicast", "unordered", 2): "75fe29165e8f07d2",
    ("gossip-multicast", "unordered", 5): "70adb4f3a7494ef6",
    ("gossip-hierarchical", "unordered", 0): "b4f844ab8238dea1",
    ("gossip-hierarchical", "unordered", 5): "cbcec4509d6a7a28",
    ("vitis", "unordered", 0): "d0c561e6ef53080a",
    ("vitis", "unordered", 1): "218a721f328f8a90",
    ("vitis", "unordered", 8): "7a8307b51bfbcaf3",
    ("vitis", "unordered", 10): "9dc4507c2ccfd809",
    ("rendezvous", "unordered", 0): "28c4af6f4b3cfc3e",
    ("rendezvous", "unordered", 1): "bd12e906ca02264b",
    ("rendezvous", "unordered", 3): "11e174cd0e6d242c",
    ("rendezvous", "unordered", 8): "8b9bf82a4bc5eb7d",
    ("topic-overlay", "unordered", 0): "0769c5714117ca2a",
    ("topic-overlay", "unordered", 1): "36957239b879e45a",
    ("topic-overlay", "unordered", 8): "724dbc8340203a8c",
    ("topic-overlay", "unordered", 9): "de13c3a5e5541885",
}


@pytest.mark.parametrize(("seed", "digest"), GOLDEN.items())
def test_digests_are_what_they_were(seed: int, digest: str) -> None:
    """The same on any machine, and with every later version of a kernel."""
    ordering = ("causal", "unordered")[seed % 2]
    assert run(scenario_of(seed, "vcube-printed", ordering), "fast").trace.digest() == digest


@pytest.mark.parametrize(("overlay", "ordering", "seed"), LAYERED)
def test_digests_of_overlays_below_an_order_are_what_they_were(overlay: str, ordering: str, seed: int) -> None:
    digest = run(scenario_of(seed, overlay, ordering), "fast").trace.digest()
    assert digest.startswith(LAYERED[overlay, ordering, seed])


def test_names_of_packets_are_those_of_the_machine() -> None:
    from trellis.protocols.overlays import damulticast_packets, vcube_packets
    from trellis.protocols.overlays import vcube_printed as machine
    from trellis.protocols.overlays.gossip import Gossip
    from trellis.protocols.parts import relay

    assert kernel.PACKETS[1:] == [machine.SUB, machine.UNS, machine.PUB, machine.ACK]
    packets = (relay.Root, relay.Pub, relay.Sub, relay.Welcome, relay.Uns)
    assert rooted.PACKETS[1:] == [packet.kind for packet in packets]
    assert gossip.PACKETS[1:] == [Gossip.kind]
    of = damulticast_packets
    packets = (Gossip, of.Digest, of.Holdings, of.Refill, of.Search, of.Found)
    assert said_by.PACKETS[1:] == [packet.kind for packet in packets]
    of = vcube_packets
    assert vcube.PACKETS[1:] == [packet.kind for packet in (of.Sub, of.Cut, of.Uns, of.Pub, of.Ack, of.Refuse)]


def near(number: int) -> list[int]:
    return [n for n in (0, 1, *range(number - 3, number + 3), NUMBERS - 1) if 0 <= n < NUMBERS]


@pytest.mark.parametrize(
    ("size", "c"), [(1, 0), (1, 7), (2, 0), (3, 1), (10, 5), (1000, 5), (100, 10_000), (7, 1 << 40)]
)
def test_how_many_a_process_knows_goes_up_at_the_number_that_was_found(size: int, c: int) -> None:
    """The kernel compares whole numbers where the machine adds floats."""
    least, more_from = fanouts(size, c)
    for number in near(more_from):
        assert fanout_of(size, c, draw.unit(number << 11)) == least + (number >= more_from)


@pytest.mark.parametrize(("size", "few"), [(1, 1), (3, 1), (10, 5), (1000, 5), (999, 7), (5, 9)])
def test_who_is_one_of_the_few_ends_at_the_number_that_was_found(size: int, few: int) -> None:
    after = first_without(size, few)
    for number in near(after):
        assert (draw.unit(number << 11) * size < few) == (number < after)
