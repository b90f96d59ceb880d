"""What the window and the batches of `vcube` bring: 1,000 messages of one source at once, to 256 subscribers.

    python bench/window.py [--messages 1000] [--json]

The figure is simulated time until the last delivery, `vcube-printed` over `vcube`, under the papers' queue model.
"""

from __future__ import annotations

import argparse
import json

from trellis.scenario import from_mapping
from trellis.sim import run


def finished_at(overlay: str, messages: int, nodes: int = 256) -> int:
    scenario = from_mapping(
        {
            "name": "at once",
            "seed": 1,
            "stack": {"overlay": overlay, "ordering": "causal"},
            "nodes": {"count": nodes},
            "subscriptions": {"kind": "fraction", "fraction": 1.0},
            "workload": {"kind": "at-once", "messages": messages},
            "network": {"kind": "queue", "service": 1, "propagation": 100},
        }
    )
    delivered = run(scenario).trace.of_kind("deliver")
    assert len(delivered) == messages * nodes, "something was not delivered"
    return int(delivered.numbers("at").max())


def main() -> None:
    parser = argparse.ArgumentParser(description="one source, many messages at once")
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    times = {overlay: finished_at(overlay, options.messages) for overlay in ("vcube", "vcube-printed")}
    ratio = times["vcube-printed"] / times["vcube"]
    if options.json:
        print(json.dumps({**times, "ratio": ratio}))
        return
    for overlay, at in times.items():
        print(f"{overlay:14} last delivery at {at:10,} u.t.")
    print(f"{ratio:.1f} times earlier (at least 20 is wanted)")


if __name__ == "__main__":
    main()
