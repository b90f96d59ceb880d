"""Addresses have no sign: what Numba compiles for `m[a]` does not ask whether to count from the end of the array.

No kernel does so, but Numba asks at every access, which took a fifth of the time. It does not ask where an index has an
unsigned type; so one more pass, once all types are known, says so of every index of an array. It is the way that
Numba's documentation gives for passes of one's own ("Customizing the compiler").

Assumes:  no kernel has a negative address, which plain Python would forgive. `make bounds` runs random scenarios with
          NUMBA_BOUNDSCHECK=1: then an address without a sign is refused if it is not in its array.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.ir_utils import mk_unique_var
from numba.core.typed_passes import NoPythonSupportedFeatureValidation


@register_pass(mutates_CFG=False, analysis_only=False)
class Unsigned(FunctionPass):
    """The index of each access to an array, taken without its sign."""

    _name = "trellis_unsigned_addresses"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        changed = False
        for block in state.func_ir.blocks.values():
            body = []
            for statement in block.body:
                access = statement.value if isinstance(statement, ir.Assign) else statement
                if is_access(access) and is_signed(state, access):
                    body.append(without_sign(state, access, block.scope))
                    changed = True
                body.append(statement)
            block.body = body
        return changed


def is_access(access: Any) -> bool:
    return isinstance(access, ir.SetItem) or (isinstance(access, ir.Expr) and access.op == "getitem")


def is_signed(state: Any, access: Any) -> bool:
    """Whether it is an array's, by a whole number that could be negative."""
    array, index, *_ = state.calltypes[access].args
    whole = isinstance(index, types.Integer)
    return isinstance(array, types.Array) and whole and bool(index.signed)


def without_sign(state: Any, access: Any, scope: Any) -> Any:
    """Its index as one of a type without a sign, from now on."""
    address = ir.Var(scope, mk_unique_var("address"), access.loc)
    state.typemap[address.name] = types.uintp
    taken = ir.Assign(ir.Expr.cast(access.index, access.loc), address, access.loc)
    before = state.calltypes.pop(access)  # it takes each key once
    array, _, *rest = before.args
    state.calltypes[access] = before.replace(args=(array, types.uintp, *rest))
    access.index = address
    return taken


class Compiler(CompilerBase):
    """Numba's own, with that pass where all types are known."""

    def define_pipelines(self) -> list[PassManager]:
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.add_pass_after(Unsigned, NoPythonSupportedFeatureValidation)
        pipeline.finalize()
        return [pipeline]
