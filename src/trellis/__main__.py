"""The command line, as `trellis` and `python -m trellis`.

Promises: Ctrl-C at any time is one line and exit code 130, also while the command line itself is still being loaded.
"""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from trellis import cli

        cli.main()
    except KeyboardInterrupt:
        print("trellis: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
