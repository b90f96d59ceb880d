"""A node's own messages become waves, and are settled, in the compiled `vcube`. Answers to overlays/vcube.py."""

from __future__ import annotations

from trellis.protocols.overlays.vcube_packets import WAVE_BYTES_MAX
from trellis.sim.fast import lines as out
from trellis.sim.fast import network as net
from trellis.sim.fast import tally as tal
from trellis.sim.fast.barriers import AT_WAVES, QUEUE, WAVE
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import NONE, Block
from trellis.sim.fast.trees import vcube_waves as wvs
from trellis.sim.fast.trees import views as vws
from trellis.sim.fast.trees.vcube_records import (
    BATCH,
    COUNT,
    FIRST_QUEUED,
    FIRST_UNSETTLED,
    LAST_SAID,
    OUTSTANDING,
    RETURNED,
    UNSETTLED,
    VIEW,
    WEIGHT,
    WINDOW,
)


@compiled
def spread(m: Block, rows: Block, now: int, me: int, p: int, wave: int) -> None:
    """Behind my others, and as much of them into waves as the window allows."""
    if m[p + FIRST_QUEUED] == NONE:
        m[p + FIRST_QUEUED] = wave
    if m[p + FIRST_UNSETTLED] == NONE:
        m[p + FIRST_UNSETTLED] = wave
    if m[p + LAST_SAID] != NONE:
        m[m[AT_WAVES] + m[p + LAST_SAID] * WAVE + QUEUE] = wave
    m[p + LAST_SAID] = wave
    pump(m, rows, now, me, p)


@compiled
def pump(m: Block, rows: Block, now: int, me: int, p: int) -> None:
    """Task START_MSG_PROPAGATION: as many waves as the window allows, as many messages as a wave allows."""
    while m[p + FIRST_QUEUED] != NONE and m[p + OUTSTANDING] < m[WINDOW]:
        wave = m[p + FIRST_QUEUED]
        m[m[AT_WAVES] + wave * WAVE + COUNT] = portion(m, p)
        m[p + FIRST_QUEUED] = after(m, wave)
        m[p + OUTSTANDING] += 1
        if not wvs.launch(m, rows, now, me, p, wave, NONE, m[vws.DIMENSION]):
            upon_pub_returned(m, rows, now, me, p, wave, 0)
            tal.over(m, wave, m[m[AT_WAVES] + wave * WAVE + COUNT])


@inlined
def portion(m: Block, p: int) -> int:
    """How many messages go out as one wave: at least one, else not above the bounds."""
    one, count, size = m[p + FIRST_QUEUED], 0, 0
    while one != NONE:
        size += m[m[AT_WAVES] + one * WAVE + WEIGHT]
        if count and (count == m[BATCH] or size > WAVE_BYTES_MAX):
            break
        count += 1
        one = m[m[AT_WAVES] + one * WAVE + QUEUE]
    return count


@inlined
def after(m: Block, wave: int) -> int:
    """The message behind those of a wave, or NONE."""
    one = wave
    for _ in range(m[m[AT_WAVES] + wave * WAVE + COUNT]):
        one = m[m[AT_WAVES] + one * WAVE + QUEUE]
    return one


@compiled
def upon_pub_returned(m: Block, rows: Block, now: int, me: int, p: int, wave: int, served: int) -> None:
    """Line 31, without what comes of a free place in the window; and `settle_in_order`. What nobody else has, though
    there are others, is never settled.
    """
    m[p + OUTSTANDING] -= 1
    v, nodes = vws.row_of(m, m[p + VIEW]), m[net.NODES]
    if not served and m[v + nodes] > vws.subscribes(m, v, nodes, me):
        return
    m[p + UNSETTLED] += 1
    m[m[AT_WAVES] + wave * WAVE + RETURNED] = 1
    one = m[p + FIRST_UNSETTLED]
    while one != NONE and m[m[AT_WAVES] + one * WAVE + RETURNED]:
        tal.tell(m, rows, now, 0, out.SETTLE, me, one, 0, -1, m[m[AT_WAVES] + one * WAVE + COUNT], 0)
        m[p + UNSETTLED] -= 1
        one = after(m, one)
    m[p + FIRST_UNSETTLED] = one
