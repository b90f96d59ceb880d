"""Section 2 of VCube-PS and the functions of section 3.3."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis.protocols.parts.hypercube import any_in, block, c, children, cluster, dimension, first, first_of, path
from trellis.protocols.parts.view import View

# Figure 1: the c(i, s) table for 8 nodes, a row per cluster, a column per node.
FIGURE_1 = {
    1: [[1], [0], [3], [2], [5], [4], [7], [6]],
    2: [[2, 3], [3, 2], [0, 1], [1, 0], [6, 7], [7, 6], [4, 5], [5, 4]],
    3: [
        [4, 5, 6, 7],
        [5, 4, 7, 6],
        [6, 7, 4, 5],
        [7, 6, 5, 4],
        [0, 1, 2, 3],
        [1, 0, 3, 2],
        [2, 3, 0, 1],
        [3, 2, 1, 0],
    ],
}


@pytest.mark.parametrize("s", [1, 2, 3])
def test_figure_1_the_clusters_of_8_nodes(s: int) -> None:
    assert [c(i, s) for i in range(8)] == FIGURE_1[s]


def recursive_c(i: int, s: int) -> list[int]:
    """c(i, s) as section 2 defines it."""
    neighbour = i ^ (1 << (s - 1))
    return [neighbour] + [node for k in range(1, s) for node in recursive_c(neighbour, k)]


@given(st.integers(0, 255), st.integers(1, 8))
def test_the_closed_form_is_the_recursive_definition(i: int, s: int) -> None:
    assert c(i, s) == recursive_c(i, s)
    assert sorted(c(i, s)) == list(block(i, s))


def test_section_3_3_cluster() -> None:
    """ "Cluster(0,1) = 1, Cluster(0,2) = Cluster(0,3) = 2, Cluster(0,4) = ... = Cluster(0,7) = 3"."""
    assert [cluster(0, j) for j in range(1, 8)] == [1, 2, 2, 3, 3, 3, 3]


@given(st.integers(0, 1023), st.integers(0, 1023))
def test_cluster_is_where_the_other_node_stands(i: int, j: int) -> None:
    if i != j:
        assert j in c(i, cluster(i, j))
        assert cluster(i, j) == cluster(j, i)


def test_section_3_3_children() -> None:
    """The examples for all nodes and for a topic that 0, 3 and 4 have joined."""
    everybody = range(8)
    assert children(0, everybody, 3) == [1, 2, 4]
    assert children(0, everybody, 2) == [1, 2]
    assert children(4, everybody, 2) == [5, 6]
    assert children(0, {0, 3, 4}, 3) == [3, 4]
    assert children(4, {0, 3, 4}, 2) == []


@given(st.integers(2, 70), st.data())
def test_a_tree_reaches_every_member_once_whatever_the_size(size: int, data: st.DataObject) -> None:
    """Also when the ids do not fill the cube: an absent id is never first."""
    members = data.draw(st.sets(st.integers(0, size - 1), min_size=1))
    root = data.draw(st.sampled_from(sorted(members)))
    reached = []

    def spread(i: int, height: int) -> None:
        reached.append(i)
        for j in children(i, members, height):
            spread(j, cluster(i, j) - 1)

    spread(root, dimension(size))
    assert sorted(reached) == sorted(members)


@given(st.integers(1, 70), st.data())
def test_the_view_gives_the_same_children_as_the_formula(size: int, data: st.DataObject) -> None:
    members = data.draw(st.sets(st.integers(0, size - 1), min_size=1))
    i = data.draw(st.integers(0, size - 1))
    height = data.draw(st.integers(0, dimension(size)))
    tree = dict(View.standing(i, tuple(sorted(members)), range(size)).tree(height))
    assert list(tree) == children(i, members, height)
    assert all(tree[j] == cluster(i, j) - 1 for j in tree)


@given(st.integers(1, 70), st.data())
def test_the_path_from_a_root_ends_at_its_leaf_in_at_most_log2_hops(size: int, data: st.DataObject) -> None:
    root, leaf = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size - 1))
    hops = list(path(root, leaf, range(size)))
    assert hops[0] == root
    assert hops[-1] == leaf
    assert len(hops) <= dimension(size) + 1
    assert len(set(hops)) == len(hops)


def test_first_of_an_empty_cluster_is_nobody() -> None:
    assert first(0, 3, {0, 1}) is None
    assert not any_in(block(0, 3), [0, 1, 3])
    assert any_in(block(0, 3), [1, 6])


@given(st.sets(st.integers(0, 255)), st.integers(0, 255), st.integers(1, 8))
def test_the_first_of_sparse_places_is_the_first_by_scanning(places: set[int], i: int, s: int) -> None:
    assert first_of(i, s, sorted(places)) == first(i, s, places)


@given(st.sets(st.integers(0, (1 << 30) - 1), min_size=1, max_size=40), st.integers(0, (1 << 30) - 1))
def test_the_first_of_a_huge_cluster_is_the_nearest_by_xor(places: set[int], i: int) -> None:
    for s in range(1, 31):
        inside = [i ^ j for j in places if cluster(i, j) == s]
        assert first_of(i, s, sorted(places)) == (i ^ min(inside) if inside else None)
