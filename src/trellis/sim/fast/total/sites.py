"""Sites with servers, in a block of memory. Answers to `Apart` of sim/network.py and to the queues of sim/waiting.py.

What is kept otherwise: nobody writes to another node unless one of both hosts a desk, so there is a record of the last
arrival for these links alone. A packet that has been handled comes as an application's entry would: servers are no
clients, and handle one packet at a time, so nothing else stands beside it.
"""

from __future__ import annotations

import numpy as np

from trellis import draw
from trellis.scenario.model import Scenario, Sites
from trellis.sim.fast import calendar as cal
from trellis.sim.fast.jit import go_on, inlined
from trellis.sim.fast.memory import Block, Table, base, counter, table
from trellis.sim.fast.total.audience import word_of

STATIONS = Table(6, 3)  # per node
SENT, SITE, BUSY = 0, 1, 2  # packets so far; where it is; until when it handles what came
LINKS = Table(7, 2)  # per desk and node: when the last packet to that node arrives, and from it
AT_STATIONS, AT_LINKS = base(STATIONS.number), base(LINKS.number)
STATION, LINK = STATIONS.width, LINKS.width
LUCK, NODES, SERVERS, SERVICE, SHORT, SHORT_SPREAD, LONG, LONG_SPREAD = (counter(n) for n in range(6, 14))
QUARTER, LOW = np.uint64(16), np.uint64(0xFFFF)


def begin(m: Block, scenario: Scenario) -> None:
    spec, nodes = scenario.network, scenario.nodes.count
    assert isinstance(spec, Sites)
    m[LUCK], m[NODES] = word_of(draw.draw(scenario.seed, draw.LATENCY)), nodes
    m[SERVERS] = spec.servers if spec.service else 0
    m[SERVICE] = spec.service
    m[SHORT], m[SHORT_SPREAD], m[LONG], m[LONG_SPREAD] = spec.short, spec.short_spread, spec.long, spec.long_spread
    table(m, STATIONS)[:, SITE] = [spec.site(node) for node in range(nodes)]


@inlined
def bell(word: np.uint64, mean: int, spread: int) -> np.int64:
    """`draw.bell`."""
    total = np.int64(0)
    for _ in range(4):
        total += np.int64(word & LOW)
        word = word >> QUARTER
    return mean + ((total - 131_070) * spread + 18_918) // 37_837


@inlined
def arrives(m: Block, now: int, sender: int, to: int) -> int:
    """When a packet that is sent now arrives: none overtakes another one of its link."""
    s, r = m[AT_STATIONS] + sender * STATION, m[AT_STATIONS] + to * STATION
    m[s + SENT] += 1
    word = go_on(go_on(go_on(np.uint64(m[LUCK]), sender), to), m[s + SENT])
    if m[s + SITE] == m[r + SITE]:
        found = now + bell(word, m[SHORT], m[SHORT_SPREAD])
    else:
        found = now + bell(word, m[LONG], m[LONG_SPREAD])
    link = m[AT_LINKS] + (min(sender, to) * m[NODES] + max(sender, to)) * LINK + (sender > to)
    m[link] = max(found, m[link])
    return m[link]


@inlined
def waits(m: Block, now: int, me: int, what: int) -> bool:
    """Whether a packet that came has to be handled first; then it is an entry of the calendar again."""
    if me >= m[SERVERS]:
        return False
    s = m[AT_STATIONS] + me * STATION
    m[s + BUSY] = max(m[s + BUSY], now) + m[SERVICE]
    cal.push(m, m[s + BUSY], me, -1, what)
    return True
