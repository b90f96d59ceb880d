"""What msgspec finds wrong with a scenario, in words that help whoever wrote it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from trellis.scenario.model import Scenario, Section, TopicSpec
from trellis.scenario.section import Node

SHOWN_MAX = 80  # characters of a value in a message


def explain(error: str, raw: Mapping[str, Any]) -> str:
    """msgspec's finding as: the thing, the value, the rule, the way out."""
    what, _, where = error.rpartition(" - at `") if " - at `" in error else (error, "", "")
    keys: list[str] = re.findall(r"[A-Za-z_][A-Za-z0-9_-]*|\[\d+\]|\[\.\.\.\]", where.rstrip("`").removeprefix("$"))
    if "[...]" in keys:
        at = keys.index("[...]")
        keys[at] = wrong_topic(dig(raw, keys[:at]), TopicSpec if keys[0] == "topics" else list[Node])
    if missing := re.search(r"missing required field `(.+)`", what):
        return f"{dotted([*keys, missing[1]])} is missing: it has no default; add it to {table(keys)}"
    if unknown := re.search(r"contains unknown field `(.*)`", what, re.DOTALL):
        known = known_keys(keys, raw)
        near = difflib.get_close_matches(unknown[1][:SHOWN_MAX], known, 1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        name = unknown[1] if re.fullmatch(r"[\w-]{1,80}", unknown[1]) else shown(unknown[1])
        return f"{dotted([*keys, name])}: no such key; {guess}{table(keys)} has {', '.join(known)}"
    thing, value = dotted(keys) or "the file", shown(dig(raw, keys))
    if what.startswith("Invalid value"):
        return f"{thing} = {value}: no such kind; there are {', '.join(kinds(keys, raw))}"
    if what.startswith("Invalid enum value"):
        return f"{thing} = {value}: no such value; there are {', '.join(choices(keys, raw))}"
    rule = what[0].lower() + what[1:]
    return f"{thing} = {value}: {rule}; change the value"


def shown(value: object) -> str:
    """A value as a message quotes it: not the whole of a long one."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"{type(value).__name__} that is too long to show"
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}..."


def dotted(keys: list[str]) -> str:
    """As one writes it in TOML: a topic with dots in it is quoted."""
    plain = [key if re.fullmatch(r"[\w-]+|\[.*\]", key) else shown(key) for key in keys]
    return ".".join(plain).replace(".[", "[")


def table(keys: list[str]) -> str:
    return f"[{dotted(keys)}]" if keys else "the top of the file"


def dig(raw: Any, keys: list[str]) -> Any:
    for key in keys:
        try:
            raw = raw[int(key[1:-1])] if key.startswith("[") and isinstance(raw, list) else raw[key]
        except (KeyError, IndexError, TypeError):
            return None
    return raw


def wrong_topic(told: Mapping[str, Any], kind: Any) -> str:
    """msgspec does not say in which entry of a table it found something; `members` and `topics` have free keys."""
    for topic, about in told.items():
        try:
            msgspec.convert(about, kind)
        except msgspec.ValidationError:
            return str(topic)
    return "[...]"


def types_at(keys: list[str], raw: Any) -> list[Any]:
    """What may stand at this place of the file. A table that names its kind is of that kind only."""
    found: list[Any] = [Scenario]
    for key in keys:
        inner: list[Any] = []
        for outer in found:
            if isinstance(outer, type) and issubclass(outer, Section):
                inner += [f.type for f in msgspec.structs.fields(outer) if f.encode_name == key]
            else:
                inner += get_args(outer)[-1:]
        found = [alternative for type in inner for alternative in alternatives(type)]
        raw = dig(raw, [key])
        kind = raw.get("kind") if isinstance(raw, dict) else None
        found = [each for each in found if tag_of(each) == kind] or found
    return found


def alternatives(type: Any) -> list[Any]:
    if get_origin(type) is Annotated:
        return alternatives(get_args(type)[0])
    if get_origin(type) in (Union, UnionType):
        return [each for option in get_args(type) for each in alternatives(option)]
    return [type]


def tag_of(section: Any) -> str | None:
    config = getattr(section, "__struct_config__", None)
    return None if config is None else config.tag


def kinds(keys: list[str], raw: Any) -> list[str]:
    return [tag for section in types_at(keys[:-1], raw) if (tag := tag_of(section)) is not None]


def choices(keys: list[str], raw: Any) -> list[str]:
    return [word for type in types_at(keys, raw) if get_origin(type) is Literal for word in get_args(type)]


def known_keys(keys: list[str], raw: Mapping[str, Any]) -> list[str]:
    sections = [type for type in types_at(keys, raw) if hasattr(type, "__struct_fields__")]
    return [f.encode_name for section in sections for f in msgspec.structs.fields(section)]
