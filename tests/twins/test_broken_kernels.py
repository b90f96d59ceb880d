"""Kernels in which one rule is another, on purpose: the comparison of both engines notices."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from trellis.sim.fast import TWINS

BROKEN = {
    "a leaver stays in everybody's view": (
        "vcube-printed",
        "import trellis.sim.fast.trees.printed_waves as kernel\n"
        "plain = kernel.update\n"
        "kernel.update = lambda m, p, node, inside, rc: plain(m, p, node, 1, rc)\n",
    ),
    "what an ACK says of its subtree is not heard": (
        "vcube-printed",
        "import trellis.sim.fast.trees.printed_acks as kernel\nkernel.take_in = lambda *_: None\n",
    ),
    "what came before I joined again is not taken in again": (
        "vcube-printed",
        "import trellis.sim.fast.trees.printed_acks as kernel\n"
        "kernel.take_in_acks = lambda m, p, me, wave, s, answered: kernel.take_in(m, p, me, wave, s)\n",
    ),
    "nobody leaves the tree": (
        "single-root",
        "import trellis.sim.fast.trees.rooted as kernel\nkernel.prune = lambda *_: None\n",
    ),
    "a child that goes is still fed": (
        "brokers",
        "import trellis.sim.fast.trees.rooted as kernel\nkernel.feed_no_more = lambda *_: None\n",
    ),
    "an answer does not free a place in the window": (
        "vcube",
        "import trellis.sim.fast.trees.vcube_publishing as kernel\n"
        "plain = kernel.upon_pub_returned\n"
        "def returned(m, rows, now, me, p, wave, served):\n"
        "    plain(m, rows, now, me, p, wave, served)\n"
        "    m[p + kernel.OUTSTANDING] += 1\n"
        "kernel.upon_pub_returned = returned\n",
    ),
    "what came before comes again": (
        "vcube",
        "import trellis.sim.fast.trees.vcube_arrivals as kernel\nkernel.see = lambda *_: True\n",
    ),
    "whoever joins is not told what others have delivered": (
        "vcube",
        "import trellis.sim.fast.trees.vcube_words as kernel\nkernel.merge = lambda *_: None\n",
    ),
    "a leaver serves others until all know that it left": (
        "vcube",
        "import trellis.sim.fast.trees.vcube_arrivals as kernel\n"
        "kernel.cannot_serve = lambda m, p, height: m[p + kernel.PHASE] == kernel.OUT\n",
    ),
    "nothing is ever missing": (
        "vcube",
        "import trellis.sim.fast.trees.vcube_ordering as kernel\nkernel.missing = lambda *_: kernel.NONE\n",
    ),
    "what was parked waits for the last predecessor, not for the first": (
        "vcube",
        "import trellis.sim.fast.trees.vcube_ordering as kernel\n"
        "def last(m, p, me, wave):\n"
        "    w = m[kernel.AT_WAVES] + wave * kernel.WAVE\n"
        "    first = m[kernel.AT_NAMES] + m[w + kernel.FOLLOWS]\n"
        "    found = [(m[d + kernel.SOURCE], m[k]) for k in range(first, first + m[w + kernel.BARRIER])\n"
        "             if m[(d := m[kernel.AT_WAVES] + m[k] * kernel.WAVE) + kernel.SOURCE] != me\n"
        "             and m[kernel.known(m, p, m[d + kernel.FROM])] & kernel.LOW < m[d + kernel.SEQ]]\n"
        "    return max(found)[1] if found else kernel.NONE\n"
        "kernel.missing = last\n",
    ),
    "nobody is told that there is no room": (
        "vitis",
        "import trellis.sim.fast.vine.neighbours as kernel\nkernel.make_room = lambda *_: None\n",
    ),
    "every gateway is as near": (
        "vitis",
        "import trellis.sim.fast.vine.ring as kernel\nkernel.near_topic = lambda *_: 0\n",
    ),
    "a path that was given up is no way any more": (
        "rendezvous",
        "import trellis.sim.fast.vine.parted as kernel\nkernel.add = lambda *_: None\n",
    ),
    "what is covered counts again": (
        "topic-overlay",
        "import trellis.sim.fast.vine.covering as kernel\nkernel.gain_of = lambda *_: 1\n",
    ),
    "what was delivered is not followed": (
        "single-root",
        "import trellis.sim.fast.barriers as barriers\nbarriers.log = lambda *_: None\n",
    ),
    "who was drawn for another is taken for drawn": (
        "gossip-broadcast",
        "import trellis.sim.fast.gossips.gossip as kernel\n"
        "plain = kernel.few\n"
        "def forgetful(m, *more):\n"
        "    found = plain(m, *more)\n"
        "    m[kernel.STAMP] -= 1\n"
        "    return found\n"
        "kernel.few = forgetful\n",
    ),
    "everybody tells the group above": (
        "damulticast-printed",
        "import trellis.sim.fast.gossips.gossiping as whole\nwhole.first_without = lambda size, few: whole.NUMBERS\n",
    ),
    "a packet that is not lost has the number by which that was drawn": (
        "gossip-multicast",
        "import trellis.sim.fast.gossips.gossip as kernel\n"
        "plain = kernel.is_lost\n"
        "def lost(m, me, to):\n"
        "    found = plain(m, me, to)\n"
        "    m[m[kernel.net.AT_OUTGOING] + me * kernel.net.QUEUE + kernel.net.SENT] -= not found\n"
        "    return found\n"
        "kernel.is_lost = lost\n",
    ),
    "nobody speaks for its group": (
        "gossip-hierarchical",
        "import trellis.sim.fast.gossips.gossip as kernel\nkernel.tell_others = lambda *_: None\n",
    ),
    "what has just come is given at once": (
        "damulticast",
        "import trellis.sim.fast.gossips.damulticast as kernel\n"
        "plain = kernel.add\n"
        "def add(m, me, bit):\n"
        "    plain(m, me, bit)\n"
        "    m[kernel.com.home(m, me) + kernel.com.YOUNG] = 0\n"
        "kernel.add = add\n",
    ),
    "everybody that a process hears of is kept": (
        "damulticast",
        "import trellis.sim.fast.gossips.company as company\ncompany.trim = lambda m, me: company.measure(m, me)\n",
    ),
    "nobody is listed again": (
        "damulticast",
        "import trellis.sim.fast.gossips.damulticast_search as search\n"
        "plain = search.enrol\n"
        "search.enrol = lambda m, s, node, now: plain(m, s, node, now) if now == 0 else None\n",
    ),
}

# Scenarios from which on one is noticed soon, where the first that notices it comes late.
SEARCHED_FROM = {
    "what was parked waits for the last predecessor, not for the first": 47,
    "nobody is told that there is no room": 11,
    "a path that was given up is no way any more": 8,
    "what has just come is given at once": 10,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_kernel_that_forgets_a_rule_is_noticed(name: str) -> None:
    """A copy of the kernels in which one rule is another, in plain Python: one of so many scenarios differs."""
    overlay, breaks = BROKEN[name]
    first = SEARCHED_FROM.get(name, 0)
    program = (
        f"{breaks}"
        "from trellis.swarm.twins import of_stack\n"
        f"tried = of_stack('{overlay}', '{TWINS[overlay].orders[0]}')\n"
        "while tried.scenarios < 60 and not tried.differences:\n"
        f"    tried.go({first} + tried.scenarios, 1)\n"
        "print(len(tried.differences), *(found.says for found in tried.differences))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    count, says = told.stdout.split(" ", 1)
    assert int(count) > 0
    assert says.startswith("row ")
