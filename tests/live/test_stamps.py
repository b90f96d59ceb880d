"""Timestamps on a link: they arrive as they were, in far fewer bytes, and a peer that sends others is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from wire import packed, plain

from trellis.errors import LocalProtocolError, RemoteProtocolError
from trellis.live import stamps
from trellis.live.codec import PREFIX, Bundle, Decoder, Malformed, encode
from trellis.live.frames import FRAME_MAX, Carry, Done, Frame
from trellis.protocols.overlays.vcube import portion
from trellis.protocols.overlays.vcube_packets import Fill, Pub
from trellis.protocols.parts.deltas import Shortener
from trellis.protocols.parts.desk_packets import (
    Admitted,
    Append,
    Ask,
    Change,
    Climb,
    Climbed,
    Entry,
    Stamped,
    with_entries,
)
from trellis.words import EXACT, GROUP_MAX, Message, MessageId, Packet, Stamp

some = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
TOPICS = [f"t{n:02}" for n in range(30)]
BUNDLE = Bundle.of([b"x"])


@dataclass
class Session:
    """Both ends of a link, and the bytes between them."""

    shortener: Shortener = field(default_factory=Shortener)
    decoder: Decoder = field(default_factory=Decoder)

    def __post_init__(self) -> None:
        self.decoder.accept()

    def carry(self, frame: Frame) -> bytes:
        """It must arrive."""
        sent = b"".join(encode(frame, self.shortener))
        assert self.decoder.feed(sent) == [frame]
        return sent


def block_size(sent: bytes) -> int:
    """Of the body of a frame."""
    return PREFIX.unpack_from(sent)[1]


def id_of(topic: str, seq: int = 1) -> MessageId:
    return MessageId((3, 0), topic, seq)


def message(topic: str, stamp: Stamp, seq: int = 1) -> Message:
    return Message(id_of(topic, seq), BUNDLE, stamp=stamp)


def pub(topic: str, *timestamps: Stamp) -> Carry:
    messages = tuple(message(topic, stamp, n + 1) for n, stamp in enumerate(timestamps))
    return Carry("vcube/total", 5, Pub(messages[0].id, 2, messages))


def drawn_stamps(ascending: bool) -> st.SearchStrategy[Stamp]:
    numbers = st.integers(0, 9) | st.integers(0, EXACT - 1)
    entries = st.dictionaries(st.sampled_from("abcdef"), numbers, max_size=6).map(dict.items)
    return entries.map(lambda items: tuple(sorted(items) if ascending else items))


topics = st.sampled_from("abc")
of_messages = drawn_stamps(True)
of_desks = drawn_stamps(False)
messages = st.lists(st.builds(message, topics, of_messages, st.integers(1, 9)), max_size=3).map(tuple)
given_stamps = st.builds(lambda topic, n, stamp: Stamped(id_of(topic), 1, 1, n, stamp), topics, st.just(7), of_desks)
admissions = st.builds(lambda topic, stamp: Admitted(id_of(topic), 1, stamp), topics, of_desks)
answers = given_stamps | admissions
abouts = st.builds(
    lambda topic, change: Change(id_of(topic), 1, ("a",)) if change else Stamped(id_of(topic), 1, 1, 1, ()),
    topics,
    st.booleans(),
)
climbs = st.builds(
    lambda about, to, stamp: Climb(about.id, to, 1, 0, 2, 1, 0, stamp, about), abouts, st.integers(0, 1), of_desks
)
tops = answers.map(lambda answer: Climbed(answer.id, 2, 1, answer))
lines = st.builds(Entry, st.just(1), st.none() | climbs | tops | st.just(Ask(id_of("a"), 1, 1)))
packets: st.SearchStrategy[Packet] = st.one_of(
    messages.filter(bool).map(lambda told: Pub(told[0].id, 1, told)),
    messages.map(lambda told: Fill(id_of("a", 0), told, {}, {}, False)),
    answers,
    climbs,
    tops,
    st.lists(lines, max_size=3).map(lambda told: Append(id_of("desk", 0), 1, 1, 1, 1, tuple(told), 1)),
)
traffic = st.lists(st.none() | packets, max_size=25)  # None: the link breaks, and a new one stands


# What was sent arrives.


@settings(some, max_examples=300)
@given(traffic)
def test_packets_arrive_as_they_were_sent_whatever_went_before_and_after_a_new_session(
    told: list[Packet | None],
) -> None:
    session = Session()
    for packet in told:
        if packet is None:
            session = Session()
        else:
            session.carry(Carry("vcube/total", 1, packet))
    memories = session.shortener, session.decoder.restorer
    assert memories[0].groups == memories[1].groups
    assert memories[0].entries == memories[1].entries


@some
@given(traffic, st.data())
def test_packets_arrive_however_the_stream_was_cut(told: list[Packet | None], data: st.DataObject) -> None:
    session, wanted = Session(), [Carry("vcube/total", 1, packet) for packet in told if packet is not None]
    stream = b"".join(b"".join(encode(frame, session.shortener)) for frame in wanted)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=12)))
    got: list[Frame] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        got += session.decoder.feed(stream[start:end])
    assert got == wanted


def test_thirty_busy_topics_take_a_twentieth_of_the_bytes_in_every_packet_that_has_timestamps() -> None:
    session, numbers, blocks = Session(), dict.fromkeys(TOPICS, 1000), 0
    for turn in range(100 * len(TOPICS)):
        topic = TOPICS[turn % len(TOPICS)]
        numbers[topic] += 1
        stamp = tuple(numbers.items())
        about = Stamped(id_of(topic), 1, 1, numbers[topic], ())
        climb = Climb(about.id, 0, 1, 0, 2, 1, 0, stamp, about)
        for packet in (climb, Append(id_of("desk", 0), 1, 1, 1, 1, (Entry(1, climb),), 1), with_entries(about, stamp)):
            blocks += block_size(session.carry(Carry("vcube/total", 1, packet)))
        blocks += block_size(session.carry(pub(topic, stamp))) - len(BUNDLE)
    spent = session.shortener.spent
    assert spent.sent == blocks
    assert spent.plain == 4 * 3000 * len(msgspec.msgpack.encode(stamp))
    assert spent.plain > 20 * spent.sent


def test_one_message_goes_over_two_links_as_each_of_them_needs_it() -> None:
    old, new = Session(), Session()
    stamp = tuple((topic, 1000) for topic in TOPICS)
    old.carry(pub("t00", stamp))
    again = pub("t00", tuple((topic, 1000 + (topic == "t07")) for topic in TOPICS))
    assert len(old.carry(again)) < 70
    assert len(new.carry(again)) > 200
    assert len(old.carry(pub("t00", stamp))) < 70  # the first one once more: numbers step back
    assert again.packet.messages[0].stamp[7] == ("t07", 1001)


def test_a_packet_without_timestamps_is_encoded_as_if_there_were_none_in_the_world() -> None:
    causal = Carry("vcube/causal", 5, Pub(id_of("a"), 2, (Message(id_of("a"), BUNDLE, (id_of("a", 9),)),)))
    for frame in (causal, Done(7), Carry("vcube/total", 5, Ask(id_of("a"), 1, 1))):
        assert encode(frame, Shortener()) == encode(frame)


def test_what_is_not_shortened_arrives_too() -> None:
    """Its first message has no timestamp: the others travel whole."""
    mixed = Carry("vcube/total", 1, Fill(id_of("a", 0), (message("a", ()), message("a", (("a", 1),))), {}, {}, False))
    assert b"".join(encode(mixed, Shortener())) == Session().carry(mixed) == b"".join(encode(mixed))


# What cannot be sent.


def test_a_frame_that_is_too_large_is_refused_where_it_is_made_and_the_link_goes_on() -> None:
    """Also if it would have fitted today: whether it does must not depend on what went before."""
    wide = tuple((f"{n:04}" + "x" * 200, 1) for n in range(GROUP_MAX))
    session = Session()
    session.carry(pub("a", wide))
    session.carry(pub("a", wide))
    before = dict(session.shortener.groups), dict(session.shortener.entries)
    for frame in (pub("a", wide, wide), pub("b", wide, wide)):
        with pytest.raises(LocalProtocolError, match="send fewer things at once"):
            encode(frame, session.shortener)
    with pytest.raises(LocalProtocolError, match="only a bundle travels"):
        encode(
            Carry("vcube/total", 1, Pub(id_of("b"), 1, (Message(id_of("b"), object(), stamp=wide),))), session.shortener
        )
    assert (session.shortener.groups, session.shortener.entries) == before
    session.carry(pub("a", wide))


def test_messages_with_large_timestamps_go_in_waves_that_fit_a_frame() -> None:
    wide = tuple((f"{n:04}" + "x" * 100, EXACT - 1) for n in range(300))
    queue = [message("a", wide, n + 1) for n in range(50)]
    wave = portion(queue, 4096)
    assert 1 < len(wave) < 50
    Session().carry(Carry("vcube/total", 1, Pub(queue[0].id, 1, wave)))


# What a peer may say.


def block_of(frame: Carry, shortener: Shortener) -> tuple[Any, bytes, list[bytes]]:
    """A frame's header, the payloads, and its timestamps as they travel."""
    chunks = encode(frame, shortener)
    return msgspec.msgpack.decode(chunks[0][8:]), b"".join(chunks[1:-1]), msgspec.msgpack.decode(chunks[-1])


@some
@given(traffic, packets)
def test_changes_are_refused_by_whoever_knows_of_nothing_before(told: list[Packet | None], packet: Packet) -> None:
    session = Session()
    for before in filter(None, told):
        session.carry(Carry("vcube/total", 1, before))
    frame = Carry("vcube/total", 1, packet)
    sent = b"".join(encode(frame, session.shortener))
    fresh = Session().decoder
    if sent == b"".join(encode(frame, Shortener())):
        assert fresh.feed(sent) == [frame]
    else:
        with pytest.raises(Malformed, match="none before"):
            fresh.feed(sent)


@settings(some, max_examples=400)
@given(traffic, packets, st.data())
def test_a_frame_with_bytes_changed_is_accepted_or_refused(
    told: list[Packet | None], packet: Packet, data: st.DataObject
) -> None:
    session = Session()
    for before in filter(None, told):
        session.carry(Carry("vcube/total", 1, before))
    spoilt = bytearray(b"".join(encode(Carry("vcube/total", 1, packet), session.shortener)))
    for _ in range(data.draw(st.integers(1, 3))):
        spoilt[data.draw(st.integers(8, len(spoilt) - 1))] = data.draw(st.integers(0, 255))
    got, reason = [], ""
    try:
        got = session.decoder.feed(bytes(spoilt))
    except RemoteProtocolError as error:
        reason = str(error)
    assert reason == "" or (reason.isprintable() and len(reason) < 1000)
    for frame in got:  # what is accepted can be sent on
        Session().carry(frame)


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (b"x", "1 bytes of body belong to nothing"),
        ([], "'a': a timestamp is missing"),
        ([b"", b""], "a timestamp that belongs to nothing"),
        ([b"\xc1"], "'a': a timestamp that cannot be read"),
        ([msgspec.msgpack.encode([1, []])], "'a': changes of a timestamp, and there was none before"),
        ([msgspec.msgpack.encode([0, [["b", 1], ["a", 1]]])], "not in ascending order"),
    ],
)
def test_a_block_of_timestamps_that_makes_no_sense_is_refused(block: Any, why: str) -> None:
    header, payloads, _ = block_of(pub("a", (("a", 1),)), Shortener())
    told = block if isinstance(block, bytes) else msgspec.msgpack.encode(block)
    with pytest.raises(Malformed, match=why):
        Session().decoder.feed(packed(header, payloads + told))


def test_a_timestamp_in_two_places_or_out_of_order_is_refused() -> None:
    frame = pub("a", (("a", 1), ("b", 1)))
    header, payloads = plain(frame)
    _, _, block = block_of(frame, Shortener())
    with pytest.raises(Malformed, match="'a': a timestamp twice"):
        Session().decoder.feed(packed(header, payloads + msgspec.msgpack.encode(block)))
    with pytest.raises(Malformed, match="not in ascending order"):
        Session().decoder.feed(b"".join(encode(pub("a", (("b", 1), ("a", 1))))))


def test_a_small_frame_cannot_become_a_large_one() -> None:
    """Each message of a few bytes stands for thousands of entries."""
    wide = tuple((f"{n:04}", 1) for n in range(GROUP_MAX))
    session = Session()
    session.carry(pub("a", wide))
    many = stamps.ENTRIES_MAX // GROUP_MAX
    header, payloads, [step] = block_of(pub("a", replace_first(wide, 2)), session.shortener)
    told = header[3][3][0]
    for count in (many, many + 1):
        header[3][3] = [[[[3, 0], "a", n + 1], *told[1:]] for n in range(count)]
        data = packed(header, payloads * count + msgspec.msgpack.encode([step] * count))
        assert len(data) < FRAME_MAX // 50
        if count == many:
            [frame] = session.decoder.feed(data)
            assert isinstance(frame, Carry)
            assert sum(len(m.stamp) for m in frame.packet.messages) == stamps.ENTRIES_MAX
        else:
            with pytest.raises(Malformed, match="would not fit a frame"):
                session.decoder.feed(data)


def replace_first(stamp: Stamp, number: int) -> Stamp:
    return ((stamp[0][0], number), *stamp[1:])


def test_every_packet_with_a_timestamp_is_known_here() -> None:
    """A new one travels whole until it has its place in `restamped`: is that meant?"""
    known = {Pub, Fill, *stamps.OF_DESKS}
    for packet in (climb_of("a"), Append(id_of("desk", 0), 1, 1, 1, 1, (Entry(1, climb_of("a")),), 1)):
        assert stamps.stamped(packet)
        bare, taken = stamps.bare(packet)
        assert [stamp for _, stamp in taken] == [(("a", 5),)]
        assert b"\x92\xa1a\x05" not in msgspec.msgpack.encode(bare)
    assert known == {Pub, Fill, Stamped, Admitted, Climb, Climbed, Append}


def climb_of(topic: str) -> Climb:
    about = Stamped(id_of(topic), 1, 1, 1, ())
    return replace(Climb(about.id, 0, 1, 0, 2, 1, 0, (), about), entries=((topic, 5),))
