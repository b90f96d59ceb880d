"""Addresses without a sign: what a kernel may not do, and how it would be noticed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numba import njit

from trellis.sim.fast.jit import inlined

WRITES = """
import numpy as np
from trellis.sim.fast.jit import inlined
@inlined
def raised(m, at):
    m[at] += 1
    return m[at]
print(raised(np.arange(4), {at}))
"""


def of_address(m, at: int) -> int:
    return m[at]


def machine_code(kernel: Any) -> str:
    assert kernel(np.arange(4), 3) == 3
    (signature,) = kernel.signatures
    return str(kernel.inspect_llvm(signature))


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_nothing_looks_whether_an_address_is_negative() -> None:
    assert "select" in machine_code(njit(_nrt=False)(of_address))  # Numba alone does
    assert "select" not in machine_code(inlined(of_address))


@pytest.mark.parametrize(("at", "fine"), [(3, True), (4, False), (-1, False)])
def test_with_bounds_checked_an_address_that_is_not_in_its_array_is_refused(at: int, fine: bool) -> None:
    told = subprocess.run(
        [sys.executable, "-c", WRITES.format(at=at)],
        env=os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_DISABLE_JIT": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode == 0) is fine
    assert told.stdout.strip() == ("4" if fine else "")
    assert ("IndexError" in told.stderr) is not fine
