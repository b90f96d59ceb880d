"""trellis tune: c, g, a and z for gossip along a path of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from trellis.cli.command import example, out, print_columns, print_json, progress

if TYPE_CHECKING:
    from trellis.metrics.tuning import Plan

EPILOG = example(
    "trellis tune --sizes 1000,100,10 --loss 0.15 --wanted 0.99",
    "trellis tune --sizes 1000,100,10 --loss 0.15 --wanted 0.99 --check 200",
)
PROCESSES_MAX = 100_000  # of a check
PAPER = (5, 5, 1, 3)
ONE_SET = "the overlay has one set of options for all topics"


def command(
    sizes: Annotated[
        str, typer.Option(metavar="S,S,...", help="Processes of each group, from the lowest to the root.")
    ],
    wanted: Annotated[
        float, typer.Option(metavar="P", help="Chance that everybody gets an event of the lowest topic.")
    ],
    loss: Annotated[float, typer.Option(metavar="SHARE", help="Share of the packets that never arrive.")] = 0.0,
    c_max: Annotated[int, typer.Option(help="Largest c.", min=0, max=1000)] = 30,
    g_max: Annotated[int, typer.Option(help="Largest g.", min=1, max=1000)] = 100,
    a_max: Annotated[int, typer.Option(help="Largest a.", min=1, max=20)] = 10,
    z_min: Annotated[int, typer.Option(help="Smallest z: what is left when superprocesses leave.", min=1, max=20)] = 3,
    z_max: Annotated[int, typer.Option(help="Largest z.", min=1, max=20)] = 10,
    check: Annotated[int, typer.Option(metavar="N", help="Simulate N runs of it, too.", min=0, max=1_000_000)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the choice as one JSON object.")] = False,
) -> int:
    """Choose c, g, a and z of daMulticast for each group of a path: the fewest messages that give the wanted chance.

    A process sends an event to ln(S) + c others of its group of S; g of a group send it on to a of their z
    superprocesses each. The chances count with links and losses as they are drawn (docs/tune.md).
    """
    from trellis.errors import ScenarioError
    from trellis.metrics.tuning import Bounds, evaluate, tune

    groups = numbers(sizes)
    if check and sum(groups) > PROCESSES_MAX:
        raise ScenarioError(f"--check with {sum(groups):,} processes: at most {PROCESSES_MAX:,}; scale the sizes down")
    plan = tune(groups, loss, wanted, Bounds(c_max, g_max, a_max, z_min, z_max))
    paper = evaluate(groups, 1.0 - loss, [PAPER] * len(groups))
    found = {"sizes": groups, "loss": loss, "wanted": wanted, "chosen": told(plan), "paper": told(paper)}
    if check:
        found["check"] = checked(groups, loss, plan, check, quiet=as_json)
    if as_json:
        print_json(found)
    else:
        show(found)
    return 0


def numbers(text: str) -> list[int]:
    from trellis.errors import ScenarioError
    from trellis.scenario.section import NODES_MAX
    from trellis.words import LEVELS_MAX

    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if not (part.isascii() and part.isdigit() and len(part) <= 9 and 1 <= int(part) <= NODES_MAX):
            raise ScenarioError(f"--sizes: {part[:40]!r} is no size of a group; give numbers as 1000,100,10")
    if len(parts) > LEVELS_MAX:
        raise ScenarioError(f"--sizes: {len(parts)} groups; a path has at most {LEVELS_MAX}")
    return [int(part) for part in parts]


def told(plan: Plan) -> dict[str, Any]:
    return {
        "levels": [choice._asdict() for choice in plan.choices],
        "messages": plan.messages,
        "everybody": plan.everybody,
    }


def checked(groups: list[int], loss: float, plan: Plan, runs: int, quiet: bool) -> dict[str, Any]:
    """With the largest of each: predicted for those, and in how many runs everybody got it."""
    from trellis.metrics.rehearsal import rehearse
    from trellis.metrics.summary import proportion
    from trellis.metrics.tuning import evaluate

    options = {name: value for name, value in plan.largest().items() if value or name == "c"}
    values = (options["c"], options.get("g", 1), options.get("a", 1), options.get("z", 1))
    predicted = evaluate(groups, 1.0 - loss, [values] * len(groups)).everybody
    hits = 0
    with progress("runs", runs, quiet=quiet) as bar:
        for done, hit in enumerate(rehearse(groups, loss, options, runs), 1):
            hits += hit
            bar(done, f"{hits} of {done}")
    told = {"runs": runs, "options": options, "note": ONE_SET, "predicted": predicted}
    return told | {"measured": hits / runs, "interval": proportion(hits, runs)}


def show(found: dict[str, Any]) -> None:
    chosen, paper = found["chosen"], found["paper"]
    names = ("group", "processes", "c", "g", "a", "z", "messages", "entries", "all inside", "gets up")
    last = len(chosen["levels"]) - 1
    rows = []
    for n, level in enumerate(chosen["levels"]):
        up = ["-"] * 3 if n == last else [level["g"], level["a"], level["z"]]
        place = "root" if n == last else "lowest" if n == 0 else f"{n} above"
        chances = (f"{level['inside']:.5f}", "-" if n == last else f"{level['link']:.5f}")
        costs = (f"{level['messages']:,.0f}", f"{level['entries']:.1f}")
        rows.append((place, f"{level['size']:,}", level["c"], *up, *costs, *chances))
    print_columns(names, rows)
    for name, plan in (("chosen", chosen), ("the paper's c=5 g=5 a=1 z=3", paper)):
        line = f"{name}: everybody gets an event with {plan['everybody']:.4f}, by {plan['messages']:,.0f} messages"
        out.print(line, markup=False)
    if "check" in found:
        check = found["check"]
        options = " ".join(f"{name}={value}" for name, value in check["options"].items())
        low, high = check["interval"]
        share = f"{check['measured']:.4f} of them ({low:.4f} to {high:.4f})"
        out.print(f"{check['runs']:,} runs with {options}, the largest of each ({check['note']}):", markup=False)
        out.print(f"  everybody got it in {share}; predicted {check['predicted']:.4f}", markup=False)
