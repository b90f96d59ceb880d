"""A scenario in part from public traces: who follows whom, and when nodes were up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from trellis.errors import ScenarioError
from trellis.experiments.traces import Graph
from trellis.scenario.availability import Comings, with_comings
from trellis.scenario.load import complete, from_mapping, read
from trellis.scenario.model import Nodes, Scenario


def composed(path: Path, graph: Graph | None = None, comings: Comings | None = None) -> Scenario:
    """The scenario of a file, with the subscriptions of a graph and the comings of a trace.

    What is taken from a trace may be left out of the file; if `nodes.count` stands there, it must be that of the trace.
    """
    try:
        raw: dict[str, Any] = read(path)
        if graph is not None:
            if "subscriptions" in raw:
                raise ScenarioError("subscriptions: they come from the follow graph; leave them out")
            if comings is not None and comings.nodes != graph.users:
                raise ScenarioError(
                    f"the follow graph has {graph.users} users, the trace of who is up {comings.nodes} nodes; "
                    f"sample the one, or ask for fewer of the other"
                )
            raw["subscriptions"] = {"kind": "explicit", "members": {}}
        known = graph.users if graph is not None else comings.nodes if comings is not None else 0
        if known:
            raw.setdefault("nodes", {"count": known})
        scenario = from_mapping(raw)
        if graph is not None:
            if scenario.nodes != Nodes(count=graph.users):
                raise ScenarioError(
                    f"nodes.count = {scenario.nodes.count}: the follow graph has {graph.users} users; leave it out"
                )
            scenario = msgspec.structs.replace(scenario, subscriptions=graph.subscriptions)
        return complete(scenario if comings is None else with_comings(scenario, comings), path.parent)
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from None
