"""Reach and parasites on Spark beside their plain twins, run by run."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
import pytest
from comings import comings

from trellis.metrics.reach import parasites, reach
from trellis.pipeline import reach as on_spark
from trellis.scenario.model import Publication, Scenario, Script
from trellis.scenario.path import members_of, one_event
from trellis.sim import Run, run
from trellis.swarm import schedule

SIZES = (30, 12, 5)


def several(overlay: str, seed: int) -> Scenario:
    """An event on each topic, and a second one on the lowest: by then those above are confirmed for it."""
    one = one_event(SIZES, seed, {"overlay": overlay, "c": 1}, loss=0.2, stillborn=0.1)
    assert isinstance(one.workload, Script)
    said = [
        Publication(at=9 * n, node=nodes[0], topic=topic) for n, (topic, nodes) in enumerate(members_of(SIZES).items())
    ]
    return msgspec.structs.replace(one, workload=Script(messages=[*one.workload.messages, *said]))


@pytest.fixture(scope="module")
def finished() -> dict[str, Run]:
    gossip = ("damulticast-printed", "gossip-broadcast", "gossip-multicast", "gossip-hierarchical")
    paths = {f"{overlay} {seed}": run(several(overlay, seed)) for overlay in gossip for seed in range(3)}
    moving = {
        f"{overlay} {seed}": run(schedule(seed, overlay, "causal"))
        for overlay in ("vcube", "single-root")
        for seed in range(6)
    }
    return paths | moving | {f"coming {seed}": run(comings(seed, upkeep=False)) for seed in range(2)}


@pytest.fixture(scope="module")
def traces(spark, finished: dict[str, Run]) -> Any:
    tables = [
        result.trace.table.append_column("run", pa.array([name] * len(result.trace))).unify_dictionaries()
        for name, result in finished.items()
    ]
    plain = pa.schema(
        [pa.field(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in tables[0].schema]
    )
    return spark.createDataFrame(pa.concat_tables([table.cast(plain) for table in tables])).cache()


def test_reach_is_that_of_the_plain_twin(traces, finished: dict[str, Run]) -> None:
    told: dict[str, set[tuple[Any, ...]]] = {name: set() for name in finished}
    for row in on_spark.reach(traces).toArrow().to_pylist():
        id = ((row["source"], row["incarnation"]), row["topic"], row["seq"])
        told[row["run"]].add((id, row["group"], row["wanted"], row["reached"], row["first"], row["last"]))
    for name, result in finished.items():
        plain = [
            ((each.message.origin, each.message.topic, each.message.seq), *each[1:]) for each in reach(result.trace)
        ]
        assert told[name] == set(plain), name
        assert len(told[name]) == len(plain)
    assert any(each.reached < each.wanted for each in reach(finished["damulticast-printed 0"].trace))


def test_parasites_are_those_of_the_plain_twin(traces, finished: dict[str, Run]) -> None:
    told = {row["run"]: row["parasites"] for row in on_spark.parasites(traces).toArrow().to_pylist()}
    assert told == {name: parasites(result.trace) for name, result in finished.items()}
    assert told["gossip-broadcast 0"] > 0 == told["damulticast-printed 0"]
