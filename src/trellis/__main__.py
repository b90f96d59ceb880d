"""The program: `trellis`, or `python -m trellis`."""

from __future__ import annotations

import sys


def main() -> None:
    """The command line takes a moment to load, and Ctrl-C may come within it."""
    try:
        from trellis import cli

        cli.main()
    except KeyboardInterrupt:
        print("trellis: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
