"""A scenario from a file or a mapping, or one line that says what is wrong with it.

Promises: whatever the bytes, either a scenario that can be run or a ScenarioError that names the key, its value, the
          rule and the way out. Nothing of the file is run or guessed.
"""

from __future__ import annotations

import csv
import difflib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from trellis import draw, protocols
from trellis.errors import LocalProtocolError, ScenarioError
from trellis.protocols.parts.hierarchy import Hierarchy, in_tree
from trellis.scenario.model import (
    NAME_BYTES_MAX,
    TIME_MAX,
    TOPICS_MAX,
    Buckets,
    Crash,
    Cycles,
    Explicit,
    Faults,
    Fraction,
    Matrix,
    Node,
    Popular,
    Scenario,
    Script,
    Section,
    Sever,
    Sites,
    Subscriptions,
    TopicSpec,
)

FILE_BYTES_MAX = 64 << 20
SHOWN_MAX = 80  # characters of a value in a message


def load(path: Path | str) -> Scenario:
    """Read a scenario file: TOML, or JSON as a run writes it beside its trace."""
    path = Path(path)
    try:
        return complete(from_mapping(read(path)), path.parent)
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from None


def complete(scenario: Scenario, beside: Path) -> Scenario:
    """With the times of the file that it names, if any, and checked as a whole."""
    if isinstance(scenario.network, Matrix) and scenario.network.file:
        if scenario.network.rows:
            raise ScenarioError("network.file and network.rows: both give the times; leave one of them out")
        rows = read_matrix(beside / scenario.network.file)
        network = msgspec.structs.replace(scenario.network, rows=rows, file="")
        scenario = msgspec.structs.replace(scenario, network=network)
    check(scenario)
    return scenario


def from_mapping(raw: Mapping[str, Any]) -> Scenario:
    """The same from Python objects; the cross-checks of `check` are the caller's."""
    try:
        return msgspec.convert(raw, Scenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(explain(str(error), raw)) from None


def read(path: Path) -> dict[str, Any]:
    kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
    try:
        text = read_bytes(path).decode("utf-8-sig")
        raw = read_json(text) if kind == "JSON" else tomllib.loads(text)
    except OSError as error:
        raise ScenarioError(f"cannot be read ({error.strerror}); give the path of a scenario file") from None
    except UnicodeError:
        raise ScenarioError(f"not UTF-8 text; a scenario file is {kind}") from None
    except RecursionError:
        raise ScenarioError(f"not a scenario: this {kind} is nested too deeply; a scenario has three levels") from None
    except ValueError as error:
        known = isinstance(error, tomllib.TOMLDecodeError | json.JSONDecodeError)
        reason = error if known else "a number has too many digits"
        raise ScenarioError(f"not valid {kind} ({reason}); correct that place") from None
    if not isinstance(raw, dict):
        raise ScenarioError(f"holds {shown(raw)}; a scenario is a table of keys")
    return raw


def read_bytes(path: Path) -> bytes:
    """A file that is longer than any scenario, perhaps endless, is not read to its end."""
    with path.open("rb") as file:
        found = file.read(FILE_BYTES_MAX + 1)
    if len(found) > FILE_BYTES_MAX:
        raise ScenarioError(f"{path.name} is larger than {FILE_BYTES_MAX >> 20} MiB; give the path of a smaller file")
    return found


def read_json(text: str) -> Any:
    raw = json.loads(text, object_pairs_hook=each_once)
    json.dumps(raw, ensure_ascii=False).encode()  # half a surrogate pair can be written in JSON, but it is not text
    return raw


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """TOML refuses a key that is given twice; so do we in JSON."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for n, (key, _) in enumerate(pairs) if key in dict(pairs[:n]))
        raise ScenarioError(f"{twice}: the key is given twice; leave one out")
    return found


def read_matrix(path: Path) -> list[list[int]]:
    thing = f"network.file = {str(path)!r}"
    try:
        text = read_bytes(path).decode("utf-8-sig")
        cells = [row for row in csv.reader(text.splitlines()) if row]
    except OSError as error:
        raise ScenarioError(f"{thing}: cannot be read ({error.strerror}); give the path of a CSV file") from None
    except (ValueError, csv.Error) as error:
        raise ScenarioError(f"{thing}: not a CSV file ({error}); give rows of whole numbers") from None
    return [[cell_time(thing, r, c, cell) for c, cell in enumerate(row, 1)] for r, row in enumerate(cells, 1)]


def cell_time(thing: str, row: int, column: int, cell: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,18}\s*", cell) or not (row != column) <= int(cell) <= TIME_MAX:
        raise ScenarioError(
            f"{thing}: row {row}, cell {column} is {shown(cell)}: a time is a whole number from 1 to {TIME_MAX} "
            f"(0 only on the diagonal); change the cell"
        )
    return int(cell)


def check(scenario: Scenario) -> None:
    """What no single key can show."""
    protocols.check(scenario.stack.overlay, scenario.stack.ordering, scenario.stack.options())
    check_names(scenario)
    count = scenario.nodes.count
    if scenario.stack.brokers is not None and scenario.stack.brokers > count:
        raise ScenarioError(
            f"stack.brokers = {scenario.stack.brokers}: there are only {count} nodes; use at most {count}"
        )
    if isinstance(scenario.subscriptions, Buckets):
        check_buckets(scenario.subscriptions)
    check_topics(scenario)
    check_rounds(scenario)
    check_loss(scenario)
    check_faults(scenario)
    if somebody_moves(scenario.subscriptions):
        protocols.check_joins(scenario.stack.overlay, "subscriptions: somebody joins or leaves")
    network = scenario.network
    if isinstance(network, Matrix):
        rows = network.rows
        if len(rows) < count or any(len(row) != len(rows) for row in rows):
            widths = sorted({len(row) for row in rows})
            raise ScenarioError(
                f"network.rows: {len(rows)} rows of {shown(widths)} cells for {count} nodes; "
                f"give a square matrix with at least {count} rows"
            )
        for r, row in enumerate(rows):
            if 0 in row[:r] or 0 in row[r + 1 :]:
                c = next(c for c, cell in enumerate(row) if cell == 0 and c != r)
                raise ScenarioError(f"network.rows.{r}.{c} = 0: a packet takes time; only the diagonal may be 0")
    if isinstance(network, Sites):
        check_sites(scenario, network)
    low, high = getattr(network, "low", 0), getattr(network, "high", 0)
    if low > high:
        raise ScenarioError(f"network.low = {low}: above network.high = {high}; low must not exceed high")
    layer = protocols.needs_fifo_links(scenario.stack.overlay, scenario.stack.ordering)
    if layer and not getattr(network, "fifo", True):
        way_out = "overlay 'vcube'" if layer.startswith("overlay") else "ordering 'total'"
        raise ScenarioError(
            f"network.fifo = False: {layer} relies on links on which no packet overtakes another; "
            f"leave it true, or use {way_out}"
        )


def check_sites(scenario: Scenario, network: Sites) -> None:
    for name in ("short", "long"):
        mean, spread = getattr(network, name), getattr(network, f"{name}_spread")
        if draw.bell(0, mean, spread) < 1:
            raise ScenarioError(
                f"network.{name}_spread = {spread}: with network.{name} = {mean} a packet could take no time; "
                f"use at most {(mean - 1) * 37_837 // 131_070}"
            )
    if network.servers > scenario.nodes.count:
        raise ScenarioError(
            f"network.servers = {network.servers}: there are {scenario.nodes.count} nodes; use at most that"
        )


def somebody_moves(told: Subscriptions) -> bool:
    """Whether anybody joins or leaves after the beginning."""
    if isinstance(told, Explicit):
        return told.announce or bool(told.changes)
    return told.announce or not isinstance(told, Fraction | Popular | Buckets)


def check_buckets(told: Buckets) -> None:
    """Every bucket that a node may choose has as many topics as it wants of it."""
    if told.each > told.topics:
        raise ScenarioError(f"subscriptions.each = {told.each}: there are only {told.topics} topics; use at most that")
    if not told.of:
        return
    if told.of > told.buckets:
        raise ScenarioError(f"subscriptions.of = {told.of}: there are only {told.buckets} buckets; use at most that")
    if told.each % told.of:
        raise ScenarioError(
            f"subscriptions.each = {told.each}: not the same number from each of {told.of} buckets; "
            f"use a multiple of {told.of}"
        )
    share, smallest = told.each // told.of, told.topics // told.buckets
    if share > smallest:
        raise ScenarioError(
            f"subscriptions.each = {told.each}: {share} from each of {told.of} buckets, but with {told.topics} topics "
            f"in {told.buckets} buckets the smallest has {smallest}; use at most {smallest * told.of}"
        )


def check_topics(scenario: Scenario) -> None:
    """What is special about topics must make one hierarchy, and be of this overlay."""
    for topic, about in scenario.special_topics().items():
        for name in about.options:
            protocols.check(scenario.stack.overlay, scenario.stack.ordering, {name: about.options[name]})
        if not in_tree(topic):
            raise ScenarioError(f"topics.{shown(topic)}: only a topic of a tree is special; write .{topic}")
        protocols.check_tree(scenario.stack.overlay, scenario.stack.ordering, topic)
    try:
        Hierarchy({topic: about.supers for topic, about in scenario.special_topics().items() if about.supers})
    except LocalProtocolError as error:
        raise ScenarioError(f"topics: {error}") from None


def check_rounds(scenario: Scenario) -> None:
    """An overlay that acts in rounds for ever needs to know when they begin, and the run an end."""
    if not protocols.never_rests(scenario.stack.overlay):
        return
    thing, period = f"overlay {scenario.stack.overlay!r}", scenario.stack.options().get("period", 0)
    if isinstance(scenario.network, Cycles):
        if period:
            raise ScenarioError(f"stack.period = {period}: network.kind = 'cycles' has rounds of its own; leave it out")
    elif not period:
        raise ScenarioError(f"stack.period is missing: {thing} acts in rounds; set the time between two, say 100")
    if scenario.end is None:
        raise ScenarioError(f"end is missing: {thing} acts in every round for ever; add `end`, a time")


def check_loss(scenario: Scenario) -> None:
    network = scenario.network
    if isinstance(network, Cycles) and network.loss:
        protocols.check_lossy(scenario.stack.overlay, f"network.loss = {network.loss}")


def check_faults(scenario: Scenario) -> None:
    faults = scenario.faults
    if not isinstance(faults, Faults):
        return
    if isinstance(scenario.network, Cycles):
        check_faults_in_rounds(scenario, faults)
    elif faults.stillborn:
        raise ScenarioError("faults.stillborn: only rounds know it; use network.kind = 'cycles', or a crash at 0")
    else:
        check_losses(scenario, faults)
    if not faults.events:
        return
    protocols.check_survives(scenario.stack.overlay)
    mends = scenario.stack.options().get("repair", protocols.never_rests(scenario.stack.overlay))
    if not mends and not isinstance(scenario.network, Cycles):  # a printed form in rounds misses what it misses
        raise ScenarioError("faults without stack.repair: what breaks is made up for after that time; set it, say 100")
    if waits := scenario.waits():
        raise ScenarioError(f"faults with {waits}: what waits there knows no faults yet; leave it out")
    count = scenario.nodes.count
    for n, fault in enumerate(faults.events):
        for key in ("node", "other"):
            node = getattr(fault, key, 0)
            if node >= count:
                raise ScenarioError(f"faults.events[{n}].{key} = {node}: there are {count} nodes; they count from 0")
        if isinstance(fault, Crash) and fault.restart is not None and fault.restart <= fault.at:
            raise ScenarioError(
                f"faults.events[{n}].restart = {fault.restart}: not after the crash at {fault.at}; choose a later time"
            )
        if isinstance(fault, Sever) and fault.node == fault.other:
            raise ScenarioError(f"faults.events[{n}].other = {fault.other}: a node has no link to itself")


def check_faults_in_rounds(scenario: Scenario, faults: Faults) -> None:
    """There are no links to break: only whole nodes come and go, and a machine that acts in rounds must notice that."""
    overlay = scenario.stack.overlay
    if faults.lose:
        raise ScenarioError(
            "faults.lose with network.kind = 'cycles': rounds know `network.loss`; use that, or another network"
        )
    if faults.stillborn or not faults.events:
        protocols.check_lossy(overlay, f"faults.stillborn = {faults.stillborn or 0}")
    if not faults.events:
        return
    if faults.stillborn:
        raise ScenarioError("faults.stillborn with faults.events: a crash at 0 is the same; leave one of them out")
    if not protocols.never_rests(overlay):
        raise ScenarioError(
            f"faults.events with network.kind = 'cycles': overlay {overlay!r} must be told who has crashed, and in "
            f"rounds nobody is; use another network"
        )
    down: dict[int, int | None] = {}  # node -> until when, the last time
    by_time = sorted(range(len(faults.events)), key=lambda n: (faults.events[n].at, n))
    for n in by_time:
        fault = faults.events[n]
        if not isinstance(fault, Crash):
            raise ScenarioError(
                f"faults.events[{n}].kind = {tag_of(fault)!r}: in rounds there is only 'crash'; use another network"
            )
        until = down.get(fault.node, -1)
        if until is None or until >= fault.at:
            when = "for good" if until is None else f"until {until}"
            raise ScenarioError(f"faults.events[{n}].at = {fault.at}: node {fault.node} is down {when}; choose another")
        down[fault.node] = fault.restart


def check_losses(scenario: Scenario, faults: Faults) -> None:
    """Only an ordering that asks again can do without what is lost; an overlay's packets are lost with their link."""
    kinds = [lose.packet for lose in faults.lose or []]
    for n, kind in enumerate(kinds):
        thing = f"faults.lose[{n}].packet = {shown(kind)}"
        protocols.check_losable(scenario.stack.ordering, kind, thing)
        if kind in kinds[:n]:
            raise ScenarioError(f"{thing}: it is given twice; leave one out")
    if kinds and not scenario.stack.options().get("retry"):
        raise ScenarioError(
            "faults.lose without stack.retry: what is lost is asked for again after that time; set it, say 1000"
        )


def check_names(scenario: Scenario) -> None:
    """Names stand in messages, tables and the arguments of `trellis story`: they are short and printable."""
    topics = scenario.topic_names()
    if not topics:
        raise ScenarioError("subscriptions.members = {}: there is no topic; name at least one")
    if len(topics) > TOPICS_MAX:
        raise ScenarioError(f"subscriptions: there are {len(topics)} topics; use at most {TOPICS_MAX}")
    named = [("name", scenario.name)]
    if isinstance(scenario.subscriptions, Explicit):
        named += [("subscriptions: topic", topic) for topic in topics]
    if isinstance(scenario.workload, Script):
        named += [("workload.messages: topic", said.topic) for said in scenario.workload.messages]
    for topic, about in scenario.special_topics().items():
        named += [("topics: topic", topic), *(("topics: supers", above) for above in about.supers)]
    for thing, name in named:
        if not name.isprintable() or not 1 <= len(name.encode()) <= NAME_BYTES_MAX:
            raise ScenarioError(
                f"{thing} = {shown(name)}: a name has 1 to {NAME_BYTES_MAX} bytes, all printable; choose another name"
            )


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
