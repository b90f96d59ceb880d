"""The public traces, held to the figures that came with them.

Where a figure differs from what was written beside the data, the difference is said in docs/ingest.md.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from public_traces import public

from trellis.pipeline.ingest import KINDS, chosen, source
from trellis.pipeline.ingest.sieve import Sieve


@pytest.fixture
def figures(compiled):
    """The figures of a public trace, and how many were dropped for which reason. Nothing is written."""

    def call(kind: str, path: Path, **options):
        sieve = Sieve(compiled, source.found(path))
        clean = KINDS[kind].take(sieve, chosen(kind, options))
        return clean.statistics, Counter({drop.reason: drop.count for drop in sieve.dropped})

    return call


def near(value: float, places: int):
    """Equal as far as the figure was printed."""
    return pytest.approx(value, abs=0.51 * 10**-places)


def test_the_higgs_follow_graph(figures):
    found, dropped = figures("follows", public("twitter-higgs-10k/follows.tsv.gz"), xmin=200)
    whole = found["whole"]
    assert not dropped
    assert (whole["nodes"], whole["follows"]) == (9_989, 328_560)
    assert whole["reciprocity"] == near(0.214, 3)
    assert whole["top_percent_share"] == near(0.37, 2)
    mine, topic = whole["subscriptions_per_node"], whole["subscribers_per_topic"]
    assert (mine["count"], mine["median"], mine["p99"], mine["max"]) == (9_982, 24, 149, 353)
    assert (topic["count"], topic["median"], topic["p90"], topic["max"]) == (7_795, 6, 65, 5_160)
    assert (mine["mean"], topic["mean"]) == (near(32.9, 1), near(42.2, 1))
    assert topic["power_law"]["exponent"] == near(2.052, 3)
    into, out = whole["in_degree"], whole["out_degree"]
    assert (into["none"], out["none"]) == (9_989 - 7_795, 9_989 - 9_982)
    assert (into["mean"], out["mean"]) == (near(32.892, 3), near(32.892, 3))
    assert (into["max"], out["max"]) == (5_160, 353)
    assert into["exponent_tail"]["exponent"] == near(2.052, 3)
    assert into["exponent_whole"] == {"line": near(0.936, 3), "likelihood": near(1.391, 3)}
    assert out["exponent_whole"] == {"line": near(1.643, 3), "likelihood": near(1.274, 3)}


def test_the_skype_trace(figures):
    path = public("churn-skype/SKYPE.avt.gz")
    found, dropped = figures("avt", path, edge=0.0)
    assert not dropped
    assert (found["nodes"], found["sessions"], found["last_s"], found["online_peak"]) == (2_081, 29_217, 2_478_200, 935)
    assert found["online_mean"] == near(690.5, 1)
    session = found["session_s"]
    assert [session[k] / 3600 for k in ("median", "mean", "p90")] == [near(5.1, 1), near(16.3, 1), near(41.3, 1)]
    assert found["gap_s"]["median"] / 3600 == near(6.2, 1)
    assert found["censored"]["end"] == 682
    found, dropped = figures("avt", path, **{"merge_gaps": 1900.0, "from": 14_000.0})
    assert found["sessions"] + dropped["ended by 14000 s"] == 22_000
    assert dropped["merged over a gap of at most 1900 s"] == 29_217 - 22_000
    assert found["cut_at_from"] == 805  # those who are up when the ramp is over


def test_the_gnutella_trace(figures):
    path = public("churn-gnutella/intervals_ip.gz")
    found, dropped = figures("avt", path)
    assert not dropped
    assert (found["nodes"], found["nodes_with_sessions"], found["sessions"]) == (17_125, 14_692, 166_071)
    assert (found["online_peak"], found["online_mean"]) == (9_220, near(8_037, 0))
    session = found["session_s"]
    assert [session[k] / 3600 for k in ("median", "mean", "p90")] == [near(0.79, 2), near(2.9, 1), near(7.7, 1)]
    assert found["gap_s"]["median"] / 3600 == near(0.22, 2)
    assert found["censored"] == {"edge_s": 400, "start": 8_470, "end": 7_882}
    found, _ = figures("avt", path, merge_gaps=450.0)
    assert found["sessions"] == 94_678


def test_the_chat(figures):
    found, dropped = figures("irc", public("irc-replies/irc_events.tsv.gz"))
    read = found["as_read"]
    assert (read["links"], read["between_users"], read["messages_with_several_parents"]) == (63_025, 45_421, 2_022)
    assert read["backwards_in_time"] == dropped["backwards in time"] == 16
    assert found["links"] == 63_025 - 16 - dropped["of a message that was dropped"]
    assert found["messages"] + dropped["system line"] == 264_964
    assert found["depth"]["deepest"] == 103
    assert found["lag_s"]["p90"] == 120
    per_topic = found["sources_per_topic"]
    assert (per_topic["count"], per_topic["min"], per_topic["median"], per_topic["max"]) == (186, 34, 128, 237)


def test_the_mailing_lists(figures):
    found, dropped = figures("mail", public("mail-threads/ham_threads.tsv.gz"))
    read = found["as_read"]
    assert found["messages"] + dropped["dated after 2005"] == 4_150
    assert dropped["dated after 2005"] == 1
    assert (read["replies"], read["links"], read["named_lists"], found["sources"]) == (2_178, 1_620, 39, 886)
    assert read["backwards_in_time"] == dropped["backwards in time"] == 17
    assert found["depth"]["deepest"] == 16
    assert found["lag_s"]["median"] / 3600 == near(1.7, 1)


def test_the_enron_deliveries(figures):
    found, dropped = figures("deliveries", public("enron-events/events.tsv.gz"))
    assert (found["deliveries"], found["messages"], found["senders"]) == (34_427, 20_112, 175)
    assert dropped["dated before 1998"] == 174
    assert sum(dropped.values()) + found["deliveries"] == 125_409


def test_the_newsgroups(figures):
    created, removed = public("usenet-hierarchy/Date-Create.txt.gz"), public("usenet-hierarchy/Date-Delete.txt.gz")
    path = public("usenet-hierarchy/newsgroups.utf8.txt.gz")
    found, dropped = figures("newsgroups", path, created=created, removed=removed)
    assert (found["groups"], found["hierarchies"], found["inner"]) == (45_066, 479, 17_313)
    assert found["inner_that_are_groups"] == 3_791
    assert found["largest"]["alt"] == 20_466
    assert max(map(int, found["depth"])) == 21
    assert (found["depth"]["3"], found["depth"]["4"], found["depth"]["2"]) == (19_983, 12_805, 5_318)
    assert (found["branching"]["mean"], found["branching"]["max"]) == (near(3.4, 1), 3_208)
    assert found["with_creation_date"] + sum(dropped.values()) == 5_019
    assert found["with_removal_date"] == 2_893


def test_the_planetlab_matrix(figures):
    found, dropped = figures("matrix", public("latency-planetlab490/rtt_median_over_18_slices.txt.gz"))
    rtt = found["rtt_ms"]
    assert not dropped
    assert (found["nodes"], found["complete"]) == (490, True)
    assert [rtt[k] for k in ("min", "median", "mean", "p99", "max")] == [
        near(0.087, 3),
        near(133.9, 1),
        near(145.1, 1),
        near(403.9, 1),
        near(675, 0),
    ]


def test_the_seattle_matrix_is_in_seconds(figures):
    found, _ = figures("matrix", public("latency-planetlab490/seattle99_median_over_688_slices.txt.gz"), unit="s")
    assert (found["nodes"], found["rtt_ms"]["median"]) == (99, 170)


def test_the_city_pairs(figures):
    found, _ = figures("pairs", public("latency-wondernetwork/city_rtt_2018-11.tsv.gz"), complete=True)
    read = found["as_read"]
    assert (read["places"], read["pairs"], read["places_with_every_pair"]) == (242, 57_807, 12)
    assert (found["complete"], found["nodes"]) == (True, 242 - read["places_given_up"])
    found, dropped = figures("pairs", public("latency-wondernetwork/city_rtt_2018-11.tsv.gz"))
    assert not dropped
    rtt = found["rtt_ms"]
    assert [rtt[k] for k in ("min", "median", "mean", "p99", "max")] == [
        near(0.06, 2),
        near(142.9, 1),
        near(156.2, 1),
        near(442, 0),
        near(1_554, 0),
    ]
