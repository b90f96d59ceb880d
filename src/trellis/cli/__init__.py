"""The command line: thin calls. Errors are one line and exit code 2; a violated promise is exit code 1."""

from __future__ import annotations

import os
import sys

import typer
from typer.exceptions import Abort, TyperException

from trellis.cli import audit, demo, protocols, run, story, swarm
from trellis.errors import TrellisError

app = typer.Typer(
    name="trellis",
    help="Topic-based publish/subscribe with a chosen order: rehearse it, audit it, read its story.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (run, audit, story, protocols, swarm, demo):
    app.command(command.__name__.rpartition(".")[2], epilog=command.EPILOG)(command.command)


@app.callback()
def top() -> None:
    """Topic-based publish/subscribe with a chosen order: rehearse it, audit it, read its story."""


def main() -> None:
    """Run the command line. Whatever the input, the user sees one clear line, never a traceback."""
    try:
        code = app(standalone_mode=False)
    except TrellisError as error:
        code = complain(str(error), 2)
    except TyperException as error:
        code = complain(error.format_message().replace("\n", " "), 2)
    except (KeyboardInterrupt, Abort):
        code = complain("interrupted", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone: say no more
        code = 0
    except MemoryError:
        code = complain("out of memory: use fewer nodes or messages", 2)
    sys.exit(code if isinstance(code, int) else 0)


def complain(text: str, code: int) -> int:
    print(f"trellis: {text}", file=sys.stderr)
    return code
