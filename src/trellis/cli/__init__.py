"""The command line: thin calls. Errors are one line and exit code 2; a violated promise is exit code 1."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from trellis import __version__
from trellis.cli import (
    audit,
    cluster,
    compose,
    demo,
    forget,
    ingest,
    keys,
    node,
    page,
    protocols,
    pub,
    rehearse,
    reproduce,
    run,
    status,
    story,
    sub,
    swarm,
    sweep,
    tune,
    twins,
)
from trellis.cli.command import example
from trellis.errors import TrellisError

INTERRUPTED = 130  # exit code
LINE_MAX = 1000  # characters of a complaint

PANELS = {
    "Begin here": (demo,),
    "Run it: a live cluster": (cluster, keys, node, pub, sub, status, forget),
    "Rehearse it: the same protocols in a simulator": (run, protocols, compose, rehearse, tune, swarm, sweep, twins),
    "Prove it: what a run did, live or rehearsed": (audit, story, page, ingest, reproduce),
}

app = typer.Typer(
    name="trellis",
    epilog=example(
        "trellis cluster up --dir out/cluster",
        "trellis sub news --dir out/cluster --at node-02",
        "echo hello | trellis pub news --dir out/cluster",
        "trellis run examples/all-publish.toml --out out/run",
        "trellis audit out/run",
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for panel, commands in PANELS.items():
    for each in commands:
        name = each.__name__.rpartition(".")[2]
        if hasattr(each, "app"):
            app.add_typer(each.app, name=name, rich_help_panel=panel)
        else:
            app.command(name, epilog=each.EPILOG, rich_help_panel=panel)(each.command)


def say_version(wanted: bool) -> None:
    if wanted:
        print(f"trellis {__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", callback=say_version, is_eager=True)
    ] = False,
) -> None:
    """Topic-based publish/subscribe with a chosen order: run it, rehearse it, prove it.

    `trellis COMMAND --help` says more of each.
    """


def main() -> None:
    """Run the command line. Whatever the input, the user sees one clear line, never a traceback."""
    if "stdout" in open_closed_streams():
        sys.exit(complain("standard output is closed; send it somewhere, if only to /dev/null", 2))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to stop
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # typer makes a silent exit of an interrupt
            complain("interrupted", INTERRUPTED)
    except TrellisError as error:
        code = complain(str(error), 2)
    except TyperException as error:
        code = complain(error.format_message() or "no command was given; choose one of those above", 2)
    except (KeyboardInterrupt, Abort):
        code = complain("interrupted", INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # typer and rich leave with SystemExit when the reader has gone
        say_no_more()
        code = 0
    except OSError as error:
        code = complain(f"{error.filename or 'output'}: {error.strerror}; nothing more was written", 2)
        if error.filename is None:
            say_no_more()
    except MemoryError:
        code = complain("out of memory: use fewer nodes or messages", 2)
    sys.exit(code if isinstance(code, int) else 0)


def open_closed_streams() -> list[str]:
    """A closed descriptor would be given to the next socket: what is printed would go there, and uvloop gives up."""
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:  # in the order of their numbers: each gets the lowest that is free, which is its own
        setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
    return closed


def complain(text: str, code: int) -> int:
    """One line, whatever the text holds: a name of a file may have line ends in it, and a value may be a page long."""
    line = "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
    if len(line) > LINE_MAX:
        line = f"{line[: LINE_MAX // 2]} ... {line[-LINE_MAX // 2 :]}"
    print(f"trellis: {line}", file=sys.stderr)
    return code


def say_no_more() -> None:
    """What is still buffered has nowhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
