"""Which scenarios of timestamps alone the compiled engine knows (sequencing.py), and which are worth it."""

from __future__ import annotations

import importlib.util

from trellis.errors import UnsupportedByEngine
from trellis.protocols.orderings.total import Total
from trellis.protocols.parts.groups import ALONE, SHARED
from trellis.scenario.model import Faults, Popular, Requests, Scenario, Sites
from trellis.sim.fast import CELLS_MAX, INSTEAD, LARGE

RULES = (SHARED, ALONE)
PLAIN = ("across", "copies", "grows", "retry", "lease")  # options that must be as they are by themselves


def option(scenario: Scenario, name: str) -> int:
    return scenario.stack.options().get(name, Total.options[name])


def covers(scenario: Scenario, rule: str) -> None:
    """Refuses by name what has no twin."""
    if unknown := unknown_of(scenario, rule):
        raise UnsupportedByEngine(f"timestamps: {unknown} has no compiled twin; {INSTEAD}")
    topics = len(scenario.topic_names())
    desks = option(scenario, "desks")
    if topics * (topics + 2 * desks) + 2 * desks * scenario.nodes.count > CELLS_MAX:
        raise UnsupportedByEngine(f"{topics} topics take more than 4 GiB; {INSTEAD} or fewer of them")
    if importlib.util.find_spec("numba") is None:
        raise UnsupportedByEngine(f"Numba is not installed: pip install 'trellis[fast]', or {INSTEAD}")


def unknown_of(scenario: Scenario, rule: str) -> str:
    """What of a scenario it does not know; empty if all is known."""
    told, network = scenario.subscriptions, scenario.network
    if scenario.stack.ordering != "total":
        return f"ordering {scenario.stack.ordering!r}"
    if rule not in RULES:
        return f"rule {rule!r}"
    for name in PLAIN:
        if option(scenario, name) != Total.options[name]:
            return f"stack.{name} = {option(scenario, name)}"
    if not isinstance(told, Popular) or told.announce:
        return "who joins or leaves"
    if not isinstance(scenario.workload, Requests):
        return f"workload {type(scenario.workload).__struct_config__.tag!r}"
    if not isinstance(network, Sites):
        return f"network {type(network).__struct_config__.tag!r}"
    if isinstance(scenario.faults, Faults):
        return "what breaks"
    if told.clients < max(option(scenario, "desks"), network.servers if network.service else 0):
        return f"a client that hosts a desk or is a server (subscriptions.clients = {told.clients})"
    return ""


def is_worth_it(scenario: Scenario) -> bool:
    """Whether so many requests are expected that loading the compiler pays."""
    workload, nodes = scenario.workload, scenario.nodes.count
    return isinstance(workload, Requests) and workload.until * nodes // workload.interval * nodes >= LARGE
