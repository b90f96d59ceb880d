"""What share of a server's timestamps goes to other servers: Figures 11 and 12.

Source:   TNO sections 5.2 and 5.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trellis.experiments.chart import Chart, Series
from trellis.experiments.claim import Claim
from trellis.experiments.experiment import Experiment, Scale, Table
from trellis.experiments.rows import Rows, average, pick
from trellis.experiments.tno.stamping import SHAPE, SHAPES, SITES, on_spark, point
from trellis.metrics.summary import Interval
from trellis.sim import AUTO

if TYPE_CHECKING:
    from trellis.experiments.tasks import Workshop


def rows(shop: Workshop, scale: Scale, engine: str = AUTO) -> Rows:
    """At a rate at which no server is busy: shares do not depend on it, but on who subscribes to what."""
    points = [point(shape, 1000) for shape in SHAPES]
    return on_spark(shop, points, *((4.0, range(40)) if scale == "paper" else (1.0, range(8))), engine)


def share(rows: Rows, shape: float, site: int) -> Interval | None:
    return average(pick(rows, {SHAPE: shape}), lambda row: row["outgoing"][site - 1])


def more(rows: Rows, site: int) -> Interval | None:
    """By how many points 0.349 is above 0.901."""
    high, low = share(rows, 0.349, site), share(rows, 0.901, site)
    return None if high is None or low is None else Interval(high.mean - low.mean, 0.0, None, high.count)


def charts(rows: Rows) -> list[Chart]:
    found = []
    for number, shape, name in ((11, 0.901, "geographic"), (12, 0.349, "spray and diffuse")):
        bars = {f"site {site}": share(rows, shape, site) for site in range(1, SITES + 1)}
        series = [Series(f"{shape}", {site: bar for site, bar in bars.items() if bar is not None}, False, number - 11)]
        title = f"Figure {number}: outgoing bandwidth, {name} ({shape})"
        found.append(Chart(title, "bars", "", "% of the bytes of timestamps", series))
    return found


RING = (
    "which topics of other sites two clients share depends on how a site ranks them, which the paper does not say; "
    "here it goes on around the ring of topics, so that site 5 comes to those of site 1 first, and its timestamps pass "
    "all servers between (decision 0015)"
)

EXPERIMENT = Experiment(
    id="fig11",
    title="Figures 11 and 12: outgoing bandwidth per site",
    source="TNO Fig. 11-12, sections 5.2 and 5.4",
    about="Bytes of timestamps that a server forwards to other servers, of all that it forwards or gives to clients; "
    "1,000 requests a second, so that no queue cuts the run short. The copies that our desks send home are left out.",
    grids=lambda scale: [],
    claims=[
        Claim("0.901: site 1 forwards nothing", 0.0, lambda rows: share(rows, 0.901, 1), "%", rule="at most"),
        Claim("0.901: site 2 forwards nothing", 0.0, lambda rows: share(rows, 0.901, 2), "%", rule="at most", why=RING),
        Claim(
            "0.901: site 3 forwards a negligible share",
            1.0,
            lambda rows: share(rows, 0.901, 3),
            "%",
            rule="at most",
            why=RING,
        ),
        Claim("0.901: site 4 forwards", 1.0, lambda rows: share(rows, 0.901, 4), "%", rule="at least", why=RING),
        Claim("0.901: site 5 forwards", 1.0, lambda rows: share(rows, 0.901, 5), "%", rule="at least", why=RING),
        Claim("0.349: site 1 forwards nothing", 0.0, lambda rows: share(rows, 0.349, 1), "%", rule="at most"),
        *(
            Claim(
                f"site {site}: 0.349 considerably above 0.901 (ten points)",
                10.0,
                lambda rows, site=site: more(rows, site),  # type: ignore[misc]
                " points",
                rule="at least",
                why="with 0.901 nearly all of what site 5 makes goes to site 1 already",
            )
            for site in range(2, SITES + 1)
        ),
    ],
    charts=charts,
    tables=(Table("by-site", rows, engines=True),),
)
