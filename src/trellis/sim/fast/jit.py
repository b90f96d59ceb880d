"""How the compiled engine compiles: each kernel once for a machine, kept on disk beside its source.

Promises: with `NUMBA_DISABLE_JIT=1` the same functions run as plain Python, so that a wrong answer is known to be ours
          or the compiler's. The arithmetic of `draw` in words of 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import njit, types

from trellis import draw
from trellis.sim.fast.addresses import Compiler
from trellis.sim.fast.code import kernels_of

F = TypeVar("F", bound=Callable[..., Any])

# What Numba keeps it takes for good as long as one file is unchanged, though a kernel may call others. So each state of
# all kernels has a place of its own; NUMBA_CACHE_DIR says where those are.
numba.config.CACHE_DIR = kernels_of(numba.config.CACHE_DIR)  # type: ignore[attr-defined]


# No counting of references: kernels make no arrays, they only fill what they are given (it would take half the time).
FLAGS: Any = {"cache": True, "_nrt": False, "error_model": "numpy", "pipeline_class": Compiler}


def compiled(function: F) -> F:
    """Compiled at the first call; the machine code is kept for the next process."""
    return once(njit(**FLAGS)(function))


def inlined(function: F) -> F:
    """The same, for what is small and called for every packet: it becomes part of its callers, not kept apart."""
    return once(njit(**FLAGS | {"cache": False}, forceinline=True)(function))


def merged(function: F) -> F:
    """Part of its only caller before anything is compiled: a step of a main loop. Else it would be compiled by itself
    with all that it calls, and all of that once more in its caller: half of the time went there.
    """
    return cast(F, njit(**FLAGS | {"cache": False}, inline="always")(function))


def once(kernel: Any) -> Any:
    """Not again for each constant that some caller gives it: a quarter of all that was compiled was that."""
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        plain = kernel.get_call_template
        kernel.get_call_template = lambda args, kws: plain(tuple(map(types.unliteral, args)), kws)
    return kernel


GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
THIRTY, TWENTY_SEVEN, THIRTY_ONE = np.uint64(30), np.uint64(27), np.uint64(31)


@inlined
def mix(x: np.uint64) -> np.uint64:
    """`draw.mix`; unsigned words overflow as they should."""
    x = (x ^ (x >> THIRTY)) * FIRST
    x = (x ^ (x >> TWENTY_SEVEN)) * SECOND
    return x ^ (x >> THIRTY_ONE)


@inlined
def go_on(word: np.uint64, part: int) -> np.uint64:
    """One more part of the key of a `draw.draw`."""
    return mix((word ^ np.uint64(part)) + GOLDEN)


ln, exp = inlined(draw.ln), inlined(draw.exp)
