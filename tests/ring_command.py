"""`trellis`, with the overlay of ring.py besides: run as a process. The first argument is the size of the ring."""

from __future__ import annotations

import sys

import ring

from trellis.cli import main

if __name__ == "__main__":
    ring.register(int(sys.argv.pop(1)), 200_000)
    main()
