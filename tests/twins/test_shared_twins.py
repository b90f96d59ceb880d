"""Subscriptions and what they share, on Spark, beside `draw.interests` and `sequencing_groups`, row by row."""

from __future__ import annotations

from trellis import draw
from trellis.pipeline import shared
from trellis.pipeline.shared import Law
from trellis.protocols.parts.groups import SHARED, WIDE, sequencing_groups

LAWS = [Law(1.901, 30, 60, (1, 3, 4, 10), 5), Law(1.349, 20, 25, (2, 20), 6)]


def test_groups_on_spark_are_those_of_the_plain_twin(spark, monkeypatch) -> None:
    monkeypatch.setattr(shared, "CLIENTS_AT_ONCE", 7)
    clients = shared.subscriptions(spark, LAWS).repartition(3).cache()
    drawn = {(row.law, row.client): row.topics for row in clients.collect()}
    assert drawn == {
        (n, client): draw.interests(law.seed, client, law.weights(), law.sizes[-1])
        for n, law in enumerate(LAWS)
        for client in range(law.clients)
    }
    found = shared.group_sizes(shared.shared(clients, LAWS)).collect()
    rules = (SHARED, WIDE)
    ours = {(row.law, row.size, row.topic): tuple(row[rule] for rule in rules) for row in found}
    theirs = {}
    for n, law in enumerate(LAWS):
        for size in law.sizes:
            subscribed = [frozenset(str(t) for t in drawn[n, client][:size]) for client in range(law.clients)]
            groups = [sequencing_groups(subscribed, rule) for rule in rules]
            for topic in groups[0]:
                theirs[n, size, int(topic)] = tuple(len(group[topic]) for group in groups)
    alone = {key for key, sizes in theirs.items() if sizes == (1, 1)}
    assert ours == {key: sizes for key, sizes in theirs.items() if key not in alone}
    assert {key for key in ours if ours[key][0] < ours[key][1]}, "the rules differ somewhere"
