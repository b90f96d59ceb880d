"""True causal pasts over arrays: what the tasks of the causal audit on Spark do with their rows.

Promises: a past is one number per stream, as in audit/causal.py, kept one higher so that 0 is nothing and a fresh file
          holds empty pasts. Messages are numbered by (part, source, incarnation, seq), and so are the rows of the file.
Assumes:  rows come in slices of one circle, in order of position, each slice after the one before it. A `part` is the
          number of a topic in it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.format import open_memmap

Numbers = npt.NDArray[np.int64]
Past = npt.NDArray[np.signedinteger[Any]]
Slice = Mapping[str, Numbers]
NEVER = np.iinfo(np.int64).max  # the position of a publication that is not in the trace


def origin_keys(source: Numbers, incarnation: Numbers) -> Numbers:
    return (source << 32) + incarnation


class Catalogue:
    """The messages of one circle, numbered."""

    def __init__(self, path: Path) -> None:
        *self.cells, self.published = np.ascontiguousarray(np.load(path).T)
        part, source, incarnation, self.seq = self.cells
        self.origins = np.unique(origin_keys(source, incarnation))
        keys = self.stream_keys(part, source, incarnation)
        self.streams, self.first, counts = np.unique(keys, return_index=True, return_counts=True)
        self.column = np.repeat(np.arange(len(self.streams)), counts)
        self.low = self.seq[self.first]
        self.dense = bool((self.seq[self.first + counts - 1] - self.low + 1 == counts).all())
        self.seqs = np.unique(self.seq)
        self.keys = self.column * len(self.seqs) + np.searchsorted(self.seqs, self.seq)

    def __len__(self) -> int:
        return len(self.seq)

    def stream_keys(self, part: Numbers, source: Numbers, incarnation: Numbers) -> Numbers:
        return np.asarray(part * len(self.origins) + np.searchsorted(self.origins, origin_keys(source, incarnation)))

    def numbers(self, rows: Slice) -> Numbers:
        """Which messages these rows are about."""
        column = np.searchsorted(self.streams, self.stream_keys(rows["part"], rows["source"], rows["incarnation"]))
        if self.dense:
            return np.asarray(self.first[column] + rows["seq"] - self.low[column])
        key = column * len(self.seqs) + np.searchsorted(self.seqs, rows["seq"])
        return np.asarray(np.searchsorted(self.keys, key))


def write_catalogue(path: Path, slices: Iterable[Slice]) -> None:
    """Messages sorted by (part, source, incarnation, seq)."""
    names = ("part", "source", "incarnation", "seq", "published")
    cells = [np.stack([s[cell] for cell in names], axis=1) for s in slices]
    np.save(path, np.concatenate(cells))


def write_pasts(path: Path, catalogue: Catalogue, slices: Iterable[Slice]) -> None:
    """The past of every message of one circle, from the lives of those who publish in it."""
    small = catalogue.seq.max(initial=0) < np.iinfo(np.int32).max
    shape = (len(catalogue), len(catalogue.streams))
    pasts = open_memmap(path, mode="w+", dtype=np.int32 if small else np.int64, shape=shape)
    known: dict[int, Past] = {}  # of each life of a node: what it has published and delivered, and the pasts of that
    for rows in slices:
        numbers = catalogue.numbers(rows)
        for who, learnt, said in stretches(rows["who"], rows["publishes"]):
            mine = known.setdefault(who, np.zeros(shape[1], pasts.dtype))
            learn(mine, pasts, catalogue, numbers[learnt], rows["position"][learnt])
            if said is not None:
                number = numbers[said]
                if catalogue.published[number] == rows["position"][said]:  # a second publication has no past of its own
                    pasts[number] = mine
                column = catalogue.column[number]
                mine[column] = max(mine[column], catalogue.seq[number] + 1)
    pasts.flush()


def stretches(who: Numbers, publishes: Numbers) -> Iterator[tuple[int, Numbers, int | None]]:
    """A slice as (one life of a node, the rows that it delivered, the row at which it then published).

    In the order of the publications; what lives delivered after their last one comes at the end.
    """
    order = np.argsort(who, kind="stable")
    in_lives = who[order]
    said = np.flatnonzero(publishes[order])
    begin = np.searchsorted(in_lives, in_lives[said])
    begin = np.maximum(begin, np.concatenate([[0], said[:-1] + 1])) if len(said) else begin
    for k in np.argsort(order[said]).tolist():
        row = int(order[said[k]])
        yield int(who[row]), order[begin[k] : said[k]], row
    lives, starts = np.unique(in_lives, return_index=True)
    ends = np.append(starts[1:], len(order))
    last = np.searchsorted(said, ends) - 1
    for k, life in enumerate(lives.tolist()):
        start = starts[k] if last[k] < 0 else max(starts[k], said[last[k]] + 1)
        if start < ends[k]:
            yield life, order[start : ends[k]], None


def learn(mine: Past, pasts: Past, catalogue: Catalogue, numbers: Numbers, positions: Numbers) -> None:
    """A node delivers messages: it knows them and their pasts."""
    if not len(numbers):
        return
    born = catalogue.published[numbers] < positions  # what nobody has published yet has no past
    if born.any():
        np.maximum(mine, pasts[numbers[born]].max(axis=0), out=mine)
    np.maximum.at(mine, catalogue.column[numbers], (catalogue.seq[numbers] + 1).astype(mine.dtype))


class Debts:
    """What one life of a node owes its application: the union of the pasts of all that it has delivered in a circle.

    Memory: one number per message and one per delivery of this node.
    """

    def __init__(self, catalogue: Catalogue, pasts: Past) -> None:
        self.catalogue = catalogue
        self.pasts = pasts
        self.owed = np.zeros(pasts.shape[1], pasts.dtype)
        self.seen = 0  # deliveries so far
        self.first = np.full(len(catalogue), NEVER)  # which delivery was the first of a message
        self.chunks: list[tuple[Numbers, npt.NDArray[np.bool_]]] = []  # the messages delivered, and which had a past
        self.after: list[Past] = []  # what was owed after each chunk

    def deliver(self, numbers: Numbers, positions: Numbers) -> tuple[Numbers, Numbers]:
        """Which of these deliveries come too late, and after which message each."""
        column = self.catalogue.column[numbers]
        born = self.catalogue.published[numbers] < positions
        owed = self.pasts[numbers]
        owed[~born] = 0
        np.maximum(owed[0], self.owed, out=owed[0])
        np.maximum.accumulate(owed, axis=0, out=owed)
        before = np.concatenate([self.owed[column[:1]], owed[np.arange(len(numbers) - 1), column[1:]]])
        places = np.arange(self.seen, self.seen + len(numbers))
        np.minimum.at(self.first, numbers, places)
        late = np.flatnonzero((self.catalogue.seq[numbers] < before) & (self.first[numbers] == places))
        self.chunks.append((numbers, born))
        self.after.append(owed[-1].copy())
        self.owed = self.after[-1]
        self.seen += len(numbers)
        return late, np.array([self.cause(int(number)) for number in numbers[late]], np.int64)

    def cause(self, number: int) -> int:
        """The first message delivered here that this one happened before."""
        column, seq = self.catalogue.column[number], self.catalogue.seq[number]
        chunk = bisect_left(self.after, seq + 1, key=lambda owed: owed[column])  # what is owed only grows
        numbers, born = self.chunks[chunk]
        return int(numbers[np.argmax((self.pasts[numbers, column] > seq) & born)])
