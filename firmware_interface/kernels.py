"""Compiled functions of all rooms, which get a way in from Python only when Python calls them.

Beside each function numba compiles a wrapper by which Python calls it. A loop is a hundred functions, of which Python
calls two; the wrappers of the others are a quarter of the time before a first tick. So a function that compiled code
calls is compiled without one. Where Python calls it later, it is compiled once more, with its wrapper. Nor is a
function compiled anew for each constant that it is called with.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import config
from numba.core import sigutils
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.types import BooleanLiteral, IntegerLiteral, unliteral


def njit(function: Callable | None = None, *, cache: bool = False, **options: Any) -> Any:
    """Compile a function as numba's decorator of this name does, its wrapper for Python only when Python calls it.

    Parameters
    ----------
    function : callable
    cache : bool
        Keep compiled code in files.
    options
        As of numba's decorator.
    """

    def decorated(function: Callable) -> Any:
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            return function
        kernel = _Kernel(function, targetoptions={"nopython": True, "boundscheck": None, **options})
        if cache:
            kernel.enable_caching()
        return kernel

    return decorated if function is None else decorated(function)


def _plain(kind: Any) -> Any:
    """Type of an argument, whatever constant it is: numba would compile a function once for each."""
    return unliteral(kind) if isinstance(kind, IntegerLiteral | BooleanLiteral) else kind


class _Files(FunctionCache):
    """Files of a function, in which one without a wrapper is not taken for one with it."""

    bare = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load a compiled form; None where there is none. Where a bare one is wanted, one with a wrapper will do."""
        found = super().load_overload(sig, target_context)
        if found is None and self.bare:
            self.bare = False
            try:
                found = super().load_overload(sig, target_context)
            finally:
                self.bare = True
        return found

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        key = super()._index_key(sig, codegen)
        return (*key, "bare") if self.bare else key


class _Kernel(CPUDispatcher):
    """Function with its compiled forms; those that only compiled code calls are bare."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._makes_bare = False
        self._bare: set[tuple] = set()
        self._compiler._customize_flags = self._flags  # type: ignore[attr-defined]

    def enable_caching(self) -> None:
        """Keep compiled code in files."""
        self._cache = _Files(self.py_func)

    def compile_bare(self, sig: Any) -> None:
        """Compile for calls from compiled code."""
        with global_compiler_lock, self._making_bare():
            self.compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Answer compiled code that asks for this function; one form for all whole numbers that a call writes out."""
        with self._making_bare():
            return super().get_call_template(tuple(map(_plain, args)), {k: _plain(kind) for k, kind in kws.items()})

    def compile(self, sig: Any) -> Any:
        """Compile for calls from Python, or bare; returns the way in from Python."""
        with global_compiler_lock:
            args = tuple(sigutils.normalize_signature(sig)[0])
            if not self._makes_bare and args in self._bare:
                self._bare.remove(args)
                del self.overloads[args]
            return super().compile(sig)

    def add_overload(self, cres: Any) -> None:
        """Take a compiled form; Python hears nothing of a bare one, and asks for its own when it calls."""
        if self._makes_bare:
            args = tuple(cres.signature.args)
            self.overloads[args] = cres
            self._bare.add(args)
        else:
            super().add_overload(cres)

    def _flags(self, flags: Any) -> Any:
        flags.no_cpython_wrapper = self._makes_bare
        flags.no_cfunc_wrapper = True
        return flags

    @contextmanager
    def _making_bare(self) -> Iterator[None]:
        before, self._makes_bare = self._makes_bare, True
        if isinstance(self._cache, _Files):
            self._cache.bare = True
        try:
            yield
        finally:
            self._makes_bare = before
            if isinstance(self._cache, _Files):
                self._cache.bare = before
