"""What the host of a live node owes its machines and its application."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from links import run

import trellis
from trellis.effects import Effect
from trellis.errors import BarrierTooLong, LocalProtocolError
from trellis.events import Event
from trellis.live import node as host
from trellis.live.codec import OutOfPlace
from trellis.live.memory import Memory
from trellis.live.node import DETECTOR
from trellis.protocols import LIVE_ORDERS, ORDERINGS, live_stack
from trellis.protocols.overlays.vcube_packets import Ack
from trellis.words import MessageId


def test_a_wall_clock_that_stands_still_does_not_stop_the_time_of_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with trellis.Node(listen="a:1", plaintext=True, net=Memory()) as node:
            stood = node.host.clock.read()
            node.host.clock.wall = lambda: stood - 3_600_000_000
            detector, told = node.host.machines[DETECTOR], []
            step = detector.step

            def watched(now: int, event: Event) -> Sequence[Effect]:
                told.append(now)
                return step(now, event)

            monkeypatch.setattr(detector, "step", watched)
            for _ in range(2):
                node.host.tell_all("restore", trellis.events.Restore(7, 1), node.host.life("t"))
                await asyncio.sleep(0.02)
            assert node.host.clock.read() == stood
            assert told[1] - told[0] >= 20_000

    run("asyncio", story())


def test_whoever_publishes_what_no_packet_can_name_the_predecessors_of_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "BARRIER_MAX", 1)

    async def story() -> None:
        net = Memory()
        async with (
            trellis.Node(listen="a:1", plaintext=True, net=net) as a,
            trellis.Node(listen="b:1", join="a:1", plaintext=True, net=net) as b,
            trellis.Node(listen="c:1", join="a:1", plaintext=True, net=net) as c,
        ):
            heard = await c.subscribe("t")
            for node in (a, b):
                await node.subscribe("t")
            await asyncio.gather(a.publish("t", b"a"), b.publish("t", b"b"))
            assert {(await heard.next()).source for _ in range(2)} == {a.place, b.place}
            with pytest.raises(BarrierTooLong, match="would directly follow 2 others: the limit is 1"):
                await c.publish("t", b"c", confirm=True)
            with pytest.raises(BarrierTooLong):
                await heard.next()

    run("asyncio", story())


def test_a_live_node_has_the_orders_that_a_program_may_ask_for_and_no_others() -> None:
    assert {live_stack(order)[1] for order in LIVE_ORDERS} < set(ORDERINGS)

    async def story() -> None:
        async with trellis.Node(listen="a:1", plaintext=True, net=Memory()) as node:
            for order in set(ORDERINGS) - set(LIVE_ORDERS):
                with pytest.raises(LocalProtocolError, match="there are unordered, fifo, causal, total"):
                    await node.subscribe("t", order=order)
                with pytest.raises(OutOfPlace, match="this node has no such machine"):
                    node.host.receive(1, f"vcube/{order}", 0, Ack(MessageId((1, 0), "t", 1), 1))
            assert list(node.host.machines) == [DETECTOR]

    run("asyncio", story())
