"""Whatever a client asks, in whatever order and without waiting: one answer each, and nothing stays behind."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from links import Ear, run

import trellis
from trellis.live.codec import Bundle
from trellis.live.frames import VERSION, Attach, Done, Event, Failed, Publish, Settled, Subscribe, Unsubscribe
from trellis.live.transport import dial

TOPICS = st.sampled_from(["a", "b"])
ORDERS = st.sampled_from(["fifo", "fifo", "causal", "best"])
REQUESTS = st.lists(
    st.one_of(
        st.builds(lambda topic, order: (Subscribe, topic, order), TOPICS, ORDERS),
        st.builds(lambda topic, writes: (Unsubscribe, topic, writes), TOPICS, st.booleans()),
        st.builds(
            lambda topic, confirm, order: (Publish, topic, Bundle.of([b"x", b"y"]), 2, confirm, order),
            TOPICS,
            st.booleans(),
            st.sampled_from(["", "", "fifo", "causal"]),
        ),
        st.just("pause"),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(REQUESTS, st.booleans())
def test_every_request_gets_one_answer_and_when_the_client_goes_nothing_is_left(asked: list[Any], waits: bool) -> None:
    async def story() -> None:
        async with trellis.Node(plaintext=True) as one, trellis.Node(plaintext=True, join=one.address) as node:
            other = await one.subscribe("a", "fifo")
            ear = Ear()
            link = await dial(node.address, ear, None, 5)
            link.send(Attach(VERSION))
            await ear.until(lambda e: e.frames)
            sent, confirms = [], []
            for ref, request in enumerate(asked):
                if request == "pause":
                    await asyncio.sleep(0.001)
                    continue
                kind, *fields = request
                frame = kind(ref, *fields)
                link.send(frame)
                sent.append(ref)
                if kind is Publish and frame.confirm:
                    confirms.append(ref)
            if waits:
                done = await ear.until(lambda e: answered(e, sent, confirms))
                assert Counter(f.ref for f in ear.frames if isinstance(f, Done | Failed)) == Counter(sent)
                assert done
                assert link.reason is None
            link.close("enough")
            async with asyncio.timeout(5):
                while node.courses or node.sessions.open or node.busy():
                    await asyncio.sleep(0.002)
            numbers = [f.seq for f in ear.frames if isinstance(f, Event) and f.topic == "a"]
            assert numbers == sorted(set(numbers))
            await one.publish("a", b"last", confirm=True)
            assert other.over is None

    run("asyncio", story())


def answered(ear: Ear, sent: list[int], confirms: list[int]) -> bool:
    """All requests, and those confirmations whose publishing was accepted."""
    done = {f.ref for f in ear.frames if isinstance(f, Done)}
    failed = {f.ref for f in ear.frames if isinstance(f, Failed)}
    settled = {f.ref for f in ear.frames if isinstance(f, Settled)}
    return done | failed >= set(sent) and settled >= set(confirms) & done
