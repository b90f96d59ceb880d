"""What the tests of the wire share: values of any frame, made from its types, so that a new field is tested too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from trellis.live.codec import Bundle, Decoder, encode
from trellis.live.frames import FRAMES, Frame
from trellis.words import Message, MessageId

TOPICS = st.sampled_from(["t", "news", "a.b.c", "." * 31, "x" * 256, "é" * 128, "𝄞" * 64])
WORDS = {
    r"\A[!-~]{0,262}\Z": st.sampled_from(["", "127.0.0.1:7000", "[::1]:1", "h" * 262]),
    r"\A[!-~]{0,128}\Z": st.sampled_from(["", "c", "f" * 128]),
    r"\A[a-z0-9-]{0,63}\Z": st.sampled_from(["", "node-1", "a" * 63]),
    r"\A[0-9a-f]{16}\Z": st.sampled_from(["0" * 16, "0123456789abcdef"]),
    r"\A[a-z0-9/_-]{0,64}\Z": st.sampled_from(["", "fifo"]),
    r"\A[a-z0-9/_-]{1,64}\Z": st.sampled_from(["vcube/causal", "detector", "z" * 64]),
}


def bounds(kind: inspect.IntType) -> tuple[int, int]:
    lowest = kind.ge if kind.ge is not None else -(1 << 63) if kind.gt is None else kind.gt + 1
    highest = kind.le if kind.le is not None else (1 << 64) - 1 if kind.lt is None else kind.lt - 1
    return lowest, highest


def values(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Any value of a type, also at the ends of its ranges."""
    match kind:
        case inspect.Metadata():
            return values(kind.type)
        case inspect.IntType():
            low, high = bounds(kind)
            return st.sampled_from([low, high]) | st.integers(low, high)
        case inspect.NoneType():
            return st.none()
        case inspect.BoolType():
            return st.booleans()
        case inspect.LiteralType():
            return st.sampled_from(kind.values)
        case inspect.BytesType():
            return st.binary(max_size=40)
        case inspect.StrType(pattern=pattern) if pattern in WORDS:
            return WORDS[pattern]
        case inspect.StrType(pattern=None):
            return st.text(max_size=min(40, kind.max_length or 40))
        case inspect.StrType():
            return TOPICS
        case inspect.TupleType():
            return st.tuples(*map(values, kind.item_types))
        case inspect.VarTupleType():
            return st.lists(values(kind.item_type), min_size=kind.min_length or 0, max_size=3).map(tuple)
        case inspect.FrozenSetType():
            return st.frozensets(values(kind.item_type), max_size=3)
        case inspect.DictType():
            return st.dictionaries(values(kind.key_type), values(kind.value_type), max_size=3)
        case inspect.UnionType():
            return st.one_of(*map(values, kind.types))
        case inspect.StructType():
            fields = {field.name: values(field.type) for field in kind.fields}
            return st.builds(made, st.just(kind.cls), st.fixed_dictionaries(fields), bundles())
    raise NotImplementedError(kind)


def bundles() -> st.SearchStrategy[Bundle]:
    return st.lists(st.binary(max_size=20), min_size=1, max_size=4).map(Bundle.of)


def made(cls: type, fields: dict[str, Any], bundle: Bundle) -> Any:
    """A struct whose bundle has as many payloads as it says, which follows only what is on its topic, and whose
    timestamp ascends.
    """
    if "payload" in fields:
        fields |= {"payload": bundle, "count": len(bundle.items)}
    if cls is Message:
        topic = fields["id"].topic
        fields["follows"] = tuple(MessageId(id.origin, topic, id.seq) for id in fields["follows"])
        fields["stamp"] = tuple(sorted(fields["stamp"]))
    return cls(**fields)


def frames_of(cls: type[Frame]) -> st.SearchStrategy[Any]:
    return values(inspect.type_info(cls))


def frames() -> st.SearchStrategy[Any]:
    return st.one_of(*map(frames_of, FRAMES))


def decode(data: bytes, accepted: bool = True) -> list[Frame]:
    """All frames in these bytes."""
    decoder = Decoder()
    if accepted:
        decoder.accept()
    found = decoder.feed(data)
    while not accepted and (more := decoder.feed(b"")):
        found += more
    return found


def sent(frame: Frame) -> bytes:
    return b"".join(encode(frame))


def packed(header: Any, body: bytes = b"") -> bytes:
    """A frame with any header."""
    told = header if isinstance(header, bytes) else msgspec.msgpack.encode(header)
    return len(told).to_bytes(4, "big") + len(body).to_bytes(4, "big") + told + body


def plain(frame: Frame) -> tuple[list[Any], bytes]:
    """A frame's header as lists to spoil, and its body."""
    chunks = encode(frame)
    return msgspec.msgpack.decode(chunks[0][8:], strict=False), b"".join(chunks[1:])


def integers(kind: inspect.Type, value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], int, int]]:
    """Where the integers are in a header as lists, each with its range. Keys of a vector apart."""
    match kind:
        case inspect.Metadata():
            yield from integers(kind.type, value, path)
        case inspect.IntType():
            yield path, *bounds(kind)
        case inspect.TupleType():
            for n, item in enumerate(kind.item_types):
                yield from integers(item, value[n], (*path, n))
        case inspect.VarTupleType() | inspect.FrozenSetType():
            for n in range(len(value)):
                yield from integers(kind.item_type, value[n], (*path, n))
        case inspect.DictType():
            for key in value:
                yield from integers(kind.value_type, value[key], (*path, key))
        case inspect.UnionType() if isinstance(value, list):
            [chosen] = [one for one in kind.types if isinstance(one, inspect.StructType) and one.tag == value[0]]
            yield from integers(chosen, value, path)
        case inspect.UnionType() if value is not None:
            [chosen] = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
            yield from integers(chosen, value, path)
        case inspect.StructType():
            shift = 0 if kind.tag is None else 1
            for n, field in enumerate(kind.fields):
                yield from integers(field.type, value[n + shift], (*path, n + shift))


def with_value(header: list[Any], path: tuple[Any, ...], value: int) -> list[Any]:
    """A copy with one integer replaced."""
    copy = msgspec.msgpack.decode(msgspec.msgpack.encode(header))
    here = copy
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = value
    return copy
