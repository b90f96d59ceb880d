"""Ten lines: rehearse two overlays under the same load, and let the audits judge both."""

from trellis.audit import PROMISES, judge
from trellis.metrics.latency import latencies
from trellis.scenario import from_mapping
from trellis.sim import run

for overlay in ("vcube", "single-root"):
    scenario = from_mapping(
        {
            "name": "rehearsal",
            "seed": 1,
            "stack": {"overlay": overlay, "ordering": "causal"},
            "nodes": {"count": 64},
            "subscriptions": {"kind": "fraction", "fraction": 0.5},
            "workload": {"kind": "once-each", "publishers": 0.5, "window": 200},
            "network": {"kind": "queue", "service": 1, "propagation": 100},
        }
    )
    trace = run(scenario).trace
    violations = sum(len(found) for found in judge(trace, PROMISES["causal"]).values())
    mean = latencies(trace).delivery.mean()
    print(f"{overlay:12} mean latency {mean:6.1f} u.t., {violations} violations, digest {trace.digest()[:12]}")
