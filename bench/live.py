"""One publisher and eight subscribers, at most ten processes on this machine: Trellis beside other publish/subscribe.

    python bench/live.py [--seconds 2] [--payload 128 --payload 1024] [--only trellis_nodes,tcp] [--runs 3] [--json]
    python bench/live.py --check [--only trellis_nodes,zenoh_peers,nats_server]
    python bench/live.py --profile [--only tcp]

Deliveries per second are summed over the subscribers, from the first payload sent to the last one received; each
subscriber checks every payload (race/load.py), and a run in which one is lost, repeated or swapped has no figures but
the word "lost", also beside the name if other runs went well. CPU seconds are those of all processes, a server's
included, per million deliveries. Latency is from the publisher's turn to publish a payload to when it is in the
subscriber's hands, at 1,000 payloads a second (race/load.py): a publisher that stands still is late, and that counts.

`--check` holds the figures to the bars (race/bars.py): each is held or NOT held, with the ratio, or not checked where
its contestant is missing; the exit code is 1 if one is not held. Where the time goes is shown by `--profile`.

The contestants take turns within each run, and every figure is the median of the runs, so that a noisy machine disturbs
all alike. Each uses the fastest form that its documentation offers, named at the top of its module; those on asyncio
all run on uvloop where it is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from dataclasses import asdict, dataclass, fields

from contestants import NAMES, contestant
from race.bars import PAYLOAD as BARS_PAYLOAD
from race.bars import Finding, check
from race.heat import Broken, Figures, run_heat
from race.load import HEAD, Load
from race.servers import Missing
from rich.console import Console
from rich.table import Table

OURS = "trellis_nodes"
PAYLOADS = (128, 1024)


@dataclass(frozen=True, slots=True)
class Row:
    contestant: str
    payload: int
    median: Figures | None  # None: no run, or not one without loss
    runs: list[Figures]
    trouble: list[str]  # one line for each run that has no figures


def main() -> int:
    options = read_options()
    out = Console(stderr=True)
    versions, absent = roll_call(options.only)
    findings: list[Finding] = []
    if options.profile:
        show_profiles(list(versions), options.payload, options.seconds, options.subscribers)
    else:
        rows = run_race(list(versions), options, out)
        findings = held_to_bars(rows) if options.check else []
        machine = f"{os.cpu_count()} cores, Linux {platform.release()}, Python {platform.python_version()}"
        settings = {key: getattr(options, key) for key in ("subscribers", "seconds", "runs")}
        if options.json:
            told = {"machine": machine, **settings, "versions": versions, "not available": absent}
            checked = {"bars": [asdict(finding) for finding in findings]} if options.check else {}
            print(json.dumps({**told, "rows": [asdict(row) for row in rows], **checked}, indent=2))
        else:
            show(rows, options.payload, f"{machine}; " + ", ".join(f"{key} {value}" for key, value in settings.items()))
            for name, version in versions.items():
                print(f"{contestant(name).title}: {version}")
    if not options.json:
        for name, reason in absent.items():
            print(f"{contestant(name).title}: not available: {reason}")
        for finding in findings:
            print(finding.says)
    return 1 if any(finding.held is False for finding in findings) else 0


def held_to_bars(rows: list[Row]) -> list[Finding]:
    medians = {row.contestant: row.median for row in rows if row.payload == BARS_PAYLOAD}
    return check(medians.pop(OURS, None), medians)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="live publish/subscribe, side by side")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each of the two phases of a heat")
    parser.add_argument("--payload", type=int, action="append", help="bytes; may be given more than once")
    parser.add_argument("--subscribers", type=int, default=8)
    parser.add_argument("--only", help=f"some of {','.join(NAMES)}")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="hold the figures to the bars; exit code 1 if one is not")
    parser.add_argument(
        "--profile", action="store_true", help="where the CPU time goes; of Trellis if --only is absent"
    )
    options = parser.parse_args()
    options.only = options.only.split(",") if options.only else [OURS] if options.profile else list(NAMES)
    options.payload = options.payload or list(PAYLOADS)
    if unknown := [name for name in options.only if name not in NAMES]:
        parser.error(f"--only {','.join(unknown)}: not a contestant; they are {','.join(NAMES)}")
    if options.check and (options.profile or OURS not in options.only or BARS_PAYLOAD not in options.payload):
        parser.error(f"--check: the bars are for {OURS} at {BARS_PAYLOAD} bytes, without --profile")
    if min(options.payload) < HEAD.size:
        parser.error(f"--payload {min(options.payload)}: at least {HEAD.size} bytes, for the number and the time")
    if min(options.seconds, options.runs, options.subscribers) <= 0:
        parser.error("--seconds, --runs and --subscribers must be above 0")
    return options


def roll_call(names: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The versions of those that can run; the reason of those that cannot."""
    versions, absent = {}, {}
    for name in names:
        try:
            versions[name] = contestant(name).versions()
        except (ImportError, Missing) as reason:
            absent[name] = str(reason)
    return versions, absent


def run_race(names: list[str], options: argparse.Namespace, out: Console) -> list[Row]:
    pairs = [(name, payload) for payload in options.payload for name in names]
    kept: dict[tuple[str, int], list[Figures]] = {pair: [] for pair in pairs}
    trouble: dict[tuple[str, int], list[str]] = {pair: [] for pair in pairs}
    for run in range(options.runs):
        for name, payload in pairs:
            if not options.json:
                out.print(f"run {run + 1} of {options.runs}: {contestant(name).title}, {payload} bytes", style="dim")
            try:
                heat, _ = run_heat(name, Load(payload, options.seconds, options.subscribers))
                kept[name, payload].append(heat)
            except (Broken, Missing) as reason:
                trouble[name, payload].append(str(reason))
    return [Row(name, size, median(kept[name, size]), kept[name, size], trouble[name, size]) for name, size in pairs]


def median(runs: list[Figures]) -> Figures | None:
    if not runs:
        return None
    return Figures(*(statistics.median(getattr(run, one.name) for run in runs) for one in fields(Figures)))


def show(rows: list[Row], payloads: list[int], caption: str) -> None:
    console = Console(width=None if sys.stdout.isatty() else 130)
    for payload in payloads:
        of_payload = [row for row in rows if row.payload == payload]
        if not of_payload:
            continue
        table = Table(title=f"{payload} bytes", caption=caption)
        table.add_column("")
        for head in ("deliveries/s", "of trellis", "CPU s / million", "of trellis", "p50 us", "p99 us", "of trellis"):
            table.add_column(head, justify="right")
        ours = next((row.median for row in of_payload if row.contestant == OURS), None)
        for row in of_payload:
            verdict = (
                ["lost" if row.trouble[0].startswith("lost") else "failed"]
                if row.median is None
                else cells(row.median, ours)
            )
            clean = f" ({len(row.runs)} runs, {len(row.trouble)} lost or failed)" if row.trouble else ""
            table.add_row(contestant(row.contestant).title + clean, *verdict)
        console.print(table)
        for row in of_payload:
            for line in row.trouble:
                print(f"{contestant(row.contestant).title}: a run without figures: {line}")


def cells(heat: Figures, ours: Figures | None) -> list[str]:
    speed, cpu, p99 = (
        f"{getattr(heat, name) / getattr(ours, name):.2f}" if ours else "-"
        for name in ("deliveries_per_second", "cpu_seconds_per_million", "latency_us_p99")
    )
    return [
        f"{heat.deliveries_per_second:,.0f}",
        speed,
        f"{heat.cpu_seconds_per_million:.2f}",
        cpu,
        f"{heat.latency_us_p50:,.0f}",
        f"{heat.latency_us_p99:,.0f}",
        p99,
    ]


def show_profiles(names: list[str], payloads: list[int], seconds: float, subscribers: int) -> None:
    """Profiled code is slower, the more so the more calls it makes: the order of the lines counts, not the figures."""
    for payload in payloads:
        for name in names:
            try:
                _, (publisher, subscriber) = run_heat(name, Load(payload, seconds, subscribers), profile=True)
            except (Broken, Missing) as reason:
                print(f"{contestant(name).title}, {payload} bytes: {reason}\n")
                continue
            for who, text in (("the publisher", publisher), ("one subscriber", subscriber)):
                print(f"{contestant(name).title}, {payload} bytes, CPU time of {who}\n{text}\n")


if __name__ == "__main__":
    sys.exit(main())
