"""How long a packet takes, in a block of memory. Answers to sim/network.py: queue, random, matrix and rounds."""

from __future__ import annotations

import numpy as np

from trellis import draw
from trellis.errors import UnsupportedByEngine
from trellis.scenario.model import Cycles, Matrix, Queue, Random, Scenario
from trellis.sim.fast.jit import go_on, inlined
from trellis.sim.fast.memory import Block, Table, base, counter, table

OUTGOING = Table(6, 2)  # per node
UNTIL, SENT = 0, 1  # when its queue will be empty; packets so far
LINKS = Table(7, 1)  # per pair: when the last packet arrives, or how long one takes
PARTS = [OUTGOING, LINKS]
AT_OUTGOING, AT_LINKS = (base(part.number) for part in PARTS)
QUEUE = OUTGOING.width
KIND, SERVICE, LOW, SPAN, FIFO, LUCK, NODES = (counter(n) for n in range(6, 13))
CONSTANT, DRAWN, MEASURED = 0, 1, 2


def rooms(scenario: Scenario) -> dict[Table, int]:
    """Refuses what there is no twin for."""
    nodes, spec = scenario.nodes.count, scenario.network
    if not isinstance(spec, Queue | Random | Matrix | Cycles):
        kind = type(spec).__struct_config__.tag
        raise UnsupportedByEngine(f"network {kind!r} has no compiled twin; use engine='reference'")
    paired = isinstance(spec, Matrix) or (isinstance(spec, Random) and spec.fifo)
    return {OUTGOING: nodes, LINKS: nodes * nodes if paired else 1}


def begin(m: Block, scenario: Scenario) -> None:
    spec = scenario.network
    m[NODES] = scenario.nodes.count
    m[LUCK] = np.uint64(draw.draw(scenario.seed, draw.LATENCY)).astype(np.int64)
    match spec:
        case Queue():
            m[KIND], m[SERVICE], m[LOW] = CONSTANT, spec.service, spec.propagation
        case Cycles():
            m[KIND], m[SERVICE], m[LOW] = CONSTANT, 0, 1
        case Random():
            m[KIND], m[SERVICE], m[LOW] = DRAWN, spec.service, spec.low
            m[SPAN], m[FIFO] = spec.high - spec.low + 1, spec.fifo
        case Matrix():
            m[KIND], m[SERVICE] = MEASURED, spec.service
            table(m, LINKS)[:, 0] = np.array(spec.rows, np.int64).ravel()


@inlined
def leaves(m: Block, now: int, sender: int) -> int:
    """When a packet that is put into the queue now has left it."""
    q = m[AT_OUTGOING] + sender * QUEUE
    found = max(m[q + UNTIL], now) + m[SERVICE]
    m[q + UNTIL] = found
    m[q + SENT] += 1
    return found


@inlined
def arrives(m: Block, departure: int, sender: int, to: int) -> int:
    """When the packet that has just left arrives."""
    if m[KIND] == CONSTANT:
        return departure + m[LOW]
    link = m[AT_LINKS] + sender * m[NODES] + to
    if m[KIND] == MEASURED:
        return departure + m[link]
    word = go_on(go_on(go_on(np.uint64(m[LUCK]), sender), to), m[m[AT_OUTGOING] + sender * QUEUE + SENT])
    found = departure + m[LOW] + np.int64(word % np.uint64(m[SPAN]))
    if m[FIFO]:
        found = max(found, m[link])
        m[link] = found
    return found
