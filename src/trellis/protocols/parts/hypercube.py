"""VCube: the virtual hypercube, without tables.

Source:   Duarte, Bona, Ruoso 2014, as used by VCube-PS section 2 (Figure 1).
Promises: the clusters of a node partition all other ids; a tree by clusters reaches every member once.
Departs:  the size need not be a power of two. An absent id is treated as a faulty one: it is never first.

The recursive c(i, s) of the paper in closed form: its x-th node is `i xor x` for x in [2**(s-1), 2**s). So the order
of a cluster is the order of x, a cluster is an aligned block of ids, and "the first member" is a scan upward.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence

from trellis.words import NodeId


def dimension(size: int) -> int:
    """How many clusters a node of a system of this size has: log2 of the next power of two."""
    return (size - 1).bit_length()


def c(i: NodeId, s: int) -> list[NodeId]:
    """The nodes of cluster s of node i, in the order of the paper's c(i, s)."""
    return [i ^ x for x in range(1 << (s - 1), 1 << s)]


def cluster(i: NodeId, j: NodeId) -> int:
    """The s for which j stands in c(i, s)."""
    return (i ^ j).bit_length()


def first(i: NodeId, s: int, members: Collection[NodeId]) -> NodeId | None:
    """The first member of c(i, s), if it has one. Few members on a large cube are looked at one by one."""
    if len(members) < 1 << (s - 1):
        return min((j for j in members if cluster(i, j) == s), key=lambda j: i ^ j, default=None)
    for x in range(1 << (s - 1), 1 << s):
        if i ^ x in members:
            return i ^ x
    return None


def first_of(i: NodeId, s: int, places: Sequence[NodeId]) -> NodeId | None:
    """`first` among places (ascending) that may lie far apart: in s steps of bisection, however large the cluster."""
    ids = block(i, s)
    low, high = bisect_left(places, ids.start), bisect_left(places, ids.stop)
    if low == high:
        return None
    start = ids.start
    for bit in range(s - 2, -1, -1):  # the least x has i's own bit wherever a member has it
        middle = bisect_left(places, start + (1 << bit), low, high)
        if (middle < high) if (i >> bit) & 1 else (middle == low):
            low, start = middle, start + (1 << bit)
        else:
            high = middle
    return places[low]


def children(i: NodeId, members: Collection[NodeId], h: int) -> list[NodeId]:
    """CHILDREN(i, t, h): the first member of each of the clusters 1..h."""
    found = (first(i, s, members) for s in range(1, h + 1))
    return [j for j in found if j is not None]


def block(i: NodeId, s: int) -> range:
    """The ids of c(i, s), ascending: a cluster is an aligned block of 2**(s-1) ids."""
    width = 1 << (s - 1)
    start = (i ^ width) & -width
    return range(start, start + width)


def any_in(block: range, members: Sequence[NodeId]) -> bool:
    """Whether the block holds one of these members (ascending)."""
    at = bisect_left(members, block.start)
    return at < len(members) and members[at] < block.stop


def path(root: NodeId, leaf: NodeId, present: Collection[NodeId]) -> Iterator[NodeId]:
    """The nodes from root to leaf in the tree over all present ids, both ends included."""
    at = root
    yield at
    while at != leaf:
        hop = first(at, cluster(at, leaf), present)
        assert hop is not None, f"node {leaf} is not present"
        at = hop
        yield at
