"""The bars that Trellis is held to beside others, at one size of payload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from race.heat import Figures

PAYLOAD = 128  # bytes


@dataclass(frozen=True, slots=True)
class Bar:
    """Our figure divided by another's: at least, or at most, so much."""

    figure: str  # of Figures
    beside: str  # a contestant
    least: float | None = None
    most: float | None = None

    def __str__(self) -> str:
        limit = f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"
        return f"{self.figure} at {PAYLOAD} bytes, {limit} times that of {self.beside}"

    def held(self, ratio: float) -> bool:
        return (self.least is None or ratio >= self.least) and (self.most is None or ratio <= self.most)


BARS = (
    Bar("deliveries_per_second", "nats_server", least=3.0),
    Bar("deliveries_per_second", "zenoh_peers", least=1.0),
    Bar("latency_us_p99", "zenoh_peers", most=2.0),
    Bar("latency_us_p99", "nats_server", most=2.0),
)


@dataclass(frozen=True, slots=True)
class Finding:
    bar: str
    held: bool | None  # None: not checked
    ratio: float | None
    says: str


def check(ours: Figures | None, others: Mapping[str, Figures | None]) -> list[Finding]:
    """One finding for each bar. Without figures of our own, or with worse ones, a bar is not held."""
    found = []
    for bar in BARS:
        other = others.get(bar.beside)
        if other is None:
            why = "it has no run without loss" if bar.beside in others else "it did not take part"
            found.append(Finding(str(bar), None, None, f"not checked: {bar}: {why}"))
        elif ours is None:
            found.append(Finding(str(bar), False, None, f"NOT held: {bar}: trellis has no run without loss"))
        else:
            ratio = getattr(ours, bar.figure) / getattr(other, bar.figure)
            held = bar.held(ratio)
            found.append(Finding(str(bar), held, ratio, f"{'held' if held else 'NOT held'}: {bar}: {ratio:.2f}"))
    return found
