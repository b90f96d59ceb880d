"""Whatever the bytes: frames, or a reason to close the connection."""

from __future__ import annotations

import tracemalloc
from functools import reduce
from operator import getitem
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import inspect
from wire import decode, frames, frames_of, integers, packed, plain, sent, values, with_value

from trellis.effects import Send
from trellis.errors import LocalProtocolError, RemoteProtocolError
from trellis.events import Join, Receive, Restore
from trellis.live.codec import PREFIX, Bundle, Decoder, Malformed, TooLarge, encode
from trellis.live.frames import (
    BUNDLE_MAX,
    FRAME_MAX,
    FRAMES,
    STRANGER_MAX,
    Bye,
    Carry,
    Done,
    Frame,
    Publish,
    Status,
    Unsubscribe,
    said,
)
from trellis.live.node import OPTIONS
from trellis.machine import Place
from trellis.protocols.overlays import damulticast_packets
from trellis.protocols.overlays.vcube import VCube, portion
from trellis.protocols.overlays.vcube_packets import WIRE, Ack, Fill, Pub, State, Uns
from trellis.protocols.parts.view import Rank
from trellis.words import EXACT, Message, MessageId, Packet

some = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
ID = MessageId((3, 1), "news", 7)
EDGES = (0, -1, 1 << 31, 1 << 53, 1 << 63, (1 << 64) - 1)


def pub(*items: bytes, id: MessageId = ID) -> Carry:
    bundle = Bundle.of(items)
    return Carry("vcube/causal", 5, Pub(id, 3, (Message(id, bundle, count=len(items)),)))


# What was sent arrives.


@pytest.mark.parametrize("kind", FRAMES, ids=lambda kind: kind.__name__)
def test_every_frame_arrives_as_it_was_sent(kind: type[Frame]) -> None:
    @some
    @given(frames_of(kind))
    def arrives(frame: Frame) -> None:
        assert decode(sent(frame)) == [frame]

    arrives()


@pytest.mark.parametrize("kind", [*WIRE, *damulticast_packets.WIRE], ids=lambda kind: kind.__name__)
def test_every_packet_that_travels_arrives_as_it_was_sent(kind: type[Packet]) -> None:
    @some
    @given(values(inspect.type_info(kind)))
    def arrives(packet: Packet) -> None:
        [frame] = decode(sent(Carry("vcube/causal", 1, packet)))
        assert frame == Carry("vcube/causal", 1, packet)
        assert [m.payload.items for m in frame.packet.messages] == [m.payload.items for m in packet.messages]

    arrives()


@some
@given(st.lists(frames(), min_size=1, max_size=5), st.data())
def test_frames_arrive_however_the_stream_was_cut(told: list[Frame], data: st.DataObject) -> None:
    stream = b"".join(map(sent, told))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=12)))
    decoder, got = Decoder(), []
    decoder.accept()
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        got += decoder.feed(stream[start:end])
    assert got == told


@some
@given(frames())
def test_a_frame_that_was_cut_off_at_any_byte_is_waited_for(frame: Frame) -> None:
    data = sent(frame)
    for cut in range(len(data)):
        decoder = Decoder()
        decoder.accept()
        assert decoder.feed(data[:cut]) == []
        assert decoder.feed(data[cut:]) == [frame]


def test_a_block_goes_out_as_it_is() -> None:
    frame = pub(b"a", b"b")
    header, block = encode(frame)
    assert block is frame.packet.messages[0].payload.raw
    assert PREFIX.unpack(header[:8]) == (len(header) - 8, len(block))


# A bundle.


def test_a_bundle_weighs_what_its_block_weighs_and_is_read_once() -> None:
    bundle = Bundle.of([b"a", b"", b"c" * 300])
    again = Bundle.read(bundle.raw, 3)
    assert again == bundle
    assert again.items == [b"a", b"", b"c" * 300]
    assert len(again) == len(bundle.raw) == len(msgspec.msgpack.encode(bundle.items))


@pytest.mark.parametrize("count", [1, 3])
def test_a_bundle_of_another_count_is_refused(count: int) -> None:
    with pytest.raises(Malformed, match=f"a bundle of 2 payloads: {count} were announced"):
        Bundle.read(Bundle.of([b"a", b"b"]).raw, count)


@pytest.mark.parametrize(
    "raw", [b"", b"\xc0", b"\x91\xa1a", b"\x91\x01", b"\x91\xc4", b"\x91" * 90_000, b"\xdd\x7f\xff\xff\xff", b"\x90x"]
)
def test_a_block_that_is_no_list_of_bytes_is_refused(raw: bytes) -> None:
    with pytest.raises(Malformed):
        Bundle.read(raw, 1)


def test_what_cannot_travel_is_refused_where_it_is_made() -> None:
    with pytest.raises(LocalProtocolError, match="publish them in several calls"):
        Bundle.of([])
    with pytest.raises(LocalProtocolError, match=f"at most {BUNDLE_MAX} bytes"):
        Bundle.of([bytes(BUNDLE_MAX)])
    with pytest.raises(LocalProtocolError, match="only a bundle travels"):
        encode(Publish(1, "t", object(), 1, False))
    half = Bundle.of([bytes(BUNDLE_MAX - 9)])
    messages = tuple(Message(MessageId((3, 1), "news", n), half) for n in (1, 2, 3))
    with pytest.raises(LocalProtocolError, match="send fewer things at once"):
        encode(Carry("vcube/causal", 5, Pub(ID, 3, messages)))


def test_words_for_people_are_cut_to_what_a_frame_takes() -> None:
    assert decode(sent(Bye(said("é" * 5000)))) == [Bye("é" * 1021 + "...")]


# Limits.


def test_a_length_announcing_two_gigabytes_is_refused_and_takes_no_memory() -> None:
    tracemalloc.start()
    for lengths in ((1 << 31, 0), (0, 1 << 31), (10, (1 << 32) - 1), ((1 << 32) - 1, (1 << 32) - 1)):
        with pytest.raises(TooLarge):
            decode(PREFIX.pack(*lengths) + b"\x93")
    assert tracemalloc.get_traced_memory()[1] < 1 << 17
    tracemalloc.stop()


def test_a_stranger_gets_four_kilobytes_and_one_frame_at_a_time() -> None:
    small, large = sent(Bye("x" * 1000)), sent(Status(1, bytes(STRANGER_MAX)))
    with pytest.raises(TooLarge, match=f"the limit is {STRANGER_MAX}"):
        decode(large, accepted=False)
    decoder = Decoder()
    assert decoder.feed(small + large) == [Bye("x" * 1000)]  # not yet looked at: this one may be what lets it in
    decoder.accept()
    assert decoder.feed(b"") == [Status(1, bytes(STRANGER_MAX))]
    with pytest.raises(TooLarge, match=f"the limit is {FRAME_MAX}"):
        decoder.feed(PREFIX.pack(9, FRAME_MAX))


@pytest.mark.parametrize("topic", ["", "x" * 257, "é" * 129, "a\nb", "a\0b", "a\x7fb", "\u202eb", "." * 32])
@pytest.mark.parametrize("place", ["client", "packet", "message"])
def test_a_topic_that_is_empty_long_deep_or_unprintable_is_refused(topic: str, place: str) -> None:
    bad = MessageId((3, 1), topic, 7)
    frame = {
        "client": Unsubscribe(1, topic),
        "packet": Carry("vcube/causal", 1, Ack(bad, 1)),
        "message": Carry("vcube/causal", 1, Pub(ID, 1, (Message(bad, Bundle.of([b""])),))),
    }[place]
    with pytest.raises(Malformed):
        decode(sent(frame))


def test_a_topic_that_is_not_unicode_is_refused() -> None:
    data = sent(Unsubscribe(1, "ABC"))
    for bad in (b"\xff\xfe\xfd", b"\xed\xa0\x80"):
        with pytest.raises(Malformed):
            decode(data.replace(b"ABC", bad))


def test_a_barrier_or_a_vector_over_its_limit_is_refused() -> None:
    follows = tuple(MessageId((n, 0), "news", 1) for n in range(1025))
    with pytest.raises(Malformed, match="length <= 1024"):
        decode(sent(Carry("s", 1, Pub(ID, 1, (Message(ID, Bundle.of([b""]), follows),)))))
    with pytest.raises(Malformed, match="length <= 65536"):
        decode(sent(Carry("s", 1, Uns(ID, 1, Rank(1, 0, 1, 2), {(n, 0): 1 for n in range(65_537)}))))


def test_a_message_that_follows_one_on_another_topic_is_refused() -> None:
    other = Message(ID, Bundle.of([b""]), (MessageId((1, 0), "other", 1),))
    with pytest.raises(Malformed, match="another topic"):
        decode(sent(Carry("s", 1, Pub(ID, 1, (other,)))))


# Bytes of any kind.


def accepted_or_refused(data: bytes) -> None:
    """And what is accepted is a frame that we could send."""
    got, reason = [], ""
    try:
        got = decode(data)
    except RemoteProtocolError as error:
        reason = str(error)
    assert reason == "" or (reason.isprintable() and len(reason) < 1000)
    assert [decode(sent(frame)) for frame in got] == [[frame] for frame in got]


@settings(some, max_examples=300)
@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_accepted_or_refused(data: bytes) -> None:
    accepted_or_refused(data)
    accepted_or_refused(packed(data))
    accepted_or_refused(packed(data, data))


@settings(some, max_examples=400)
@given(frames(), st.data())
def test_a_frame_with_bytes_changed_is_accepted_or_refused(frame: Frame, data: st.DataObject) -> None:
    spoilt = bytearray(sent(frame))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(spoilt) - 1))
        match data.draw(st.sampled_from(["change", "remove", "insert"])):
            case "change":
                spoilt[at] = data.draw(st.integers(0, 255))
            case "remove" if len(spoilt) > 1:
                del spoilt[at]
            case _:
                spoilt[at:at] = data.draw(st.binary(max_size=6))
    accepted_or_refused(bytes(spoilt))


junk: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text() | st.integers(0, 9), inner, max_size=5),
    max_leaves=20,
)


@settings(some, max_examples=300)
@given(st.sampled_from([kind.__struct_config__.tag for kind in FRAMES]), st.lists(junk, max_size=7))
def test_a_known_frame_with_fields_of_any_kind_is_accepted_or_refused(tag: str, fields: list[Any]) -> None:
    accepted_or_refused(packed([tag, *fields]))


def numbers(frame: Frame) -> list[int]:
    header, _ = plain(frame)
    return [reduce(getitem, path, header) for path, _, _ in integers(inspect.type_info(type(frame)), header)]


@some
@given(frames())
def test_every_integer_has_a_range_in_which_doubles_are_exact(frame: Frame) -> None:
    for path, low, high in integers(inspect.type_info(type(frame)), plain(frame)[0]):
        assert -EXACT < low <= high < EXACT, path


@pytest.mark.parametrize("kind", FRAMES, ids=lambda kind: kind.__name__)
def test_an_integer_is_taken_only_within_its_range(kind: type[Frame]) -> None:
    """Every integer field of the frame and of all that is in it, at the values that broke others."""

    @settings(some, max_examples=25)
    @given(frames_of(kind))
    def held(frame: Frame) -> None:
        header, body = plain(frame)
        blocks = {path for path, _, high in integers(inspect.type_info(kind), header) if high == 1 << 20}
        for path, low, high in integers(inspect.type_info(kind), header):
            for value in EDGES:
                data = packed(with_value(header, path, value), body)
                if not low <= value <= high:
                    with pytest.raises(Malformed):
                        decode(data)
                elif path in blocks:  # a length or a count, which the block must bear out
                    accepted_or_refused(data)
                else:
                    [got] = decode(data)
                    assert value in numbers(got)

    held()


@pytest.mark.parametrize("value", EDGES)
def test_an_integer_in_the_keys_of_a_vector_is_taken_only_within_its_range(value: int) -> None:
    data = packed(["c", "s", 1, ["U", [[3, 1], "news", 7], 1, [1, 0, 1, 2], {(value, 0): 1}]])
    if value == 0:
        assert decode(data)[0].packet.vector == {(0, 0): 1}
    else:
        with pytest.raises(Malformed):
            decode(data)


def test_deep_nesting_is_refused() -> None:
    """Arrays in arrays, maps in maps, and both in every field of a frame."""
    beginnings = (
        b"",
        b"\x91",
        b"\x92\xa3bye",
        b"\x94\xa1c\xa1s\x01",
        b"\x94\xa1c\xa1s\x01\x94\xa1P",
        b"\x93\xa6status",
    )
    for depth in (100, 5000, 500_000):
        for nest in (b"\x91" * depth, b"\x81\x01" * (depth // 2), b"\xdd\x00\x00\x00\x01" * (depth // 5)):
            for before in beginnings:
                with pytest.raises(RemoteProtocolError):
                    decode(packed(before + nest))


def test_a_body_that_belongs_to_nothing_or_is_too_short_is_refused() -> None:
    header, body = plain(pub(b"a"))
    with pytest.raises(Malformed, match="1 bytes of body belong to nothing"):
        decode(packed(header, body + b"x"))
    with pytest.raises(Malformed, match="a bundle of 4 bytes: 3 are there"):
        decode(packed(header, body[:-1]))
    with pytest.raises(Malformed, match="Done: 4 bytes of body"):
        decode(packed(["done", 1], body))


def test_an_unknown_frame_or_an_unknown_field_is_refused() -> None:
    for header in (["zzz", 1], ["done", 1, 2], ["done"], [], {}, 7, None, ["c", "s", 1, ["Z", [[1, 0], "t", 1]]]):
        with pytest.raises(Malformed):
            decode(packed(header))


def test_a_reason_is_one_printable_line_whatever_the_peer_wrote() -> None:
    with pytest.raises(Malformed) as caught:
        decode(packed(["evil\n\x1b[31m" * 100]))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


def test_the_tags_are_what_they_were() -> None:
    """Golden: another tag is another protocol."""
    tags = (
        "hello roster c bye pulse part order join welcome elsewhere refused hand "
        "attach attached subscribe unsubscribe p done settled failed"
    )
    assert " ".join(str(kind.__struct_config__.tag) for kind in FRAMES) == f"{tags} e gap ask status forget"
    assert {kind.__struct_config__.tag for kind in WIRE} >= set("PSCUAWR")
    assert sent(Done(7)) == b"\x00\x00\x00\x07\x00\x00\x00\x00\x92\xa4done\x07"


@pytest.mark.parametrize("topic", ["news", "x" * 256, "𝄞" * 64], ids=["short", "long", "wide"])
def test_the_largest_wave_and_the_largest_fill_fit_a_frame(topic: str) -> None:
    """Many small messages whose ids weigh more than they do, with a long barrier each."""
    follows = tuple(MessageId((2**31 - 1 - n, 2**31 - 1), topic, 2**53 - 1) for n in range(20))
    made = [Message(MessageId((1, 0), topic, n), Bundle.of([b""]), follows) for n in range(1, 5000)]
    overlay = VCube(Place(1, 8, alone=True), **OPTIONS["vcube"])
    overlay.step(0, Join(topic))
    for message in made:
        overlay.repair.keep(message)
    overlay.repair.log.age()
    overlay.step(1, Restore(2, 0))
    [fill] = [
        effect.packet
        for effect in overlay.step(2, Receive(2, State(MessageId((2, 0), topic, 0), Rank(2, 0, 1, 2), {}, True, False)))
        if isinstance(effect, Send) and isinstance(effect.packet, Fill)
    ]
    assert fill.more
    for packet in (fill, Pub(made[0].id, 1, portion(made, OPTIONS["vcube"]["batch"]))):
        assert len(packet.messages) > 20
        sent(Carry("vcube/causal", 1, packet))
