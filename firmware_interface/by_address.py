"""Calls from compiled code through function pointers.

The functions called are drivers, twins, laws and trackers. They go through function pointers, so that a machine
compiles only what it has, and adding one touches nothing but its own file and a line of the registry.
"""

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba import carray, types

from riderless.firmware_interface.kernels import cfunc

_BYTE, _WHOLE = ir.IntType(8).as_pointer(), ir.IntType(64)


def entry_of(function: Any, entry: Callable, signature: Any, names: Mapping[str, Any], cache: bool = True) -> Any:
    """Compile an entry point that calls ``function``, for calls by address; returns numba's CFunc.

    Numba keeps compiled code by the file, name and line of a function, whatever the names in it stand for. So the entry
    is compiled as if it stood where the function stands, under a name of its own: two that share one would be one.

    Parameters
    ----------
    function : compiled function
    entry : callable
        Takes pointers and numbers, returns a whole number.
    signature : signature of numba
        Of the entry.
    names : mapping
        What the names in the entry stand for, the function among them; ``carray`` is there.
    cache : bool
        Keep compiled code in files.
    """
    code, name = function.py_func.__code__, f"{function.__name__}_entry"
    here = {"co_filename": code.co_filename, "co_firstlineno": code.co_firstlineno}
    placed = entry.__code__.replace(co_name=name, co_qualname=name, **here)
    known = {"carray": carray, "__name__": function.__module__, **names}
    return cfunc(signature, cache=cache)(FunctionType(placed, known))


def address_of(compiled: Any) -> int:
    """Address of a CFunc of numba."""
    return int(compiled.address or 0)


def call_at_address(context, builder, signature, values):
    """Call the function at the address ``values[0]``; records and arrays go as the address of their data.

    Parameters
    ----------
    context, builder, signature, values
        As numba gives them to the code generator of an intrinsic; of the values, numbers go as they are.
    """
    given = []
    for kind, value in zip(signature.args[1:], values[1:], strict=True):
        if isinstance(kind, types.Array):
            value = context.make_array(kind)(context, builder, value).data
        given.append(value if isinstance(kind, types.Number) else builder.bitcast(value, _BYTE))
    function = ir.FunctionType(_WHOLE, [value.type for value in given])
    return builder.call(builder.inttoptr(values[0], function.as_pointer()), given)
