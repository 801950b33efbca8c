"""Compiled functions of all rooms, which become machine code only where somebody calls them from outside.

Numba optimises every function, makes machine code of it, and a wrapper by which Python calls it; and it does so again
in each function that calls it, with the code below it written in. A loop is a hundred functions, of which Python calls
two. So a function that compiled code calls stays bare: code for its callers, which becomes machine code once, in what
is called from outside. Where Python calls it later, it is compiled once more, with its wrapper. Nor is a function
compiled anew for each constant that it is called with.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import config
from numba.core import sigutils
from numba.core.ccallback import CFunc
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.types import BooleanLiteral, IntegerLiteral, unliteral

from firmware_interface.kernel_files import BareCode, KernelFiles


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
        targetoptions = {"nopython": True, "boundscheck": None, **options}
        kernel = _Kernel(function, targetoptions=targetoptions, pipeline_class=_Pipeline)
        if cache:
            kernel.enable_caching()
        return kernel

    return decorated if function is None else decorated(function)


def cfunc(signature: Any, *, cache: bool = False) -> Callable[[Callable], CFunc]:
    """Compile a function for calls at its address, as numba's decorator of this name does.

    Parameters
    ----------
    signature : signature of numba
    cache : bool
        Keep compiled code in files.
    """

    def decorated(function: Callable) -> CFunc:
        entry = _Entry(function, sigutils.normalize_signature(signature), locals={}, options={})
        if cache:
            entry.enable_caching()
        entry.compile()
        return entry

    return decorated


def _plain(kind: Any) -> Any:
    """Type of an argument, whatever constant it is: numba would compile a function once for each."""
    return unliteral(kind) if isinstance(kind, IntegerLiteral | BooleanLiteral) else kind


class _Flags(Flags):
    """Flags of numba, which it compares at each call that it types: here only those that were set."""

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def __eq__(self, other: object) -> bool:
        return self._values == other._values if isinstance(other, _Flags) else bool(super().__eq__(other))


class _Pipeline(Compiler):
    """Way from Python to machine code, which for a bare function ends before the last step."""

    def define_pipelines(self) -> Any:
        if self.state.flags.no_compile:
            self.state.library = BareCode(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


class _Entry(CFunc):
    """Function that is called at its address."""

    def enable_caching(self) -> None:
        """Keep compiled code in files."""
        self._cache = KernelFiles(self._pyfunc)  # type: ignore[attr-defined]


class _Kernel(CPUDispatcher):
    """Function with its compiled forms; those that only compiled code calls are bare."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._makes_bare = False
        self._bare: set[tuple] = set()
        self._compiler._customize_flags = self._flags  # type: ignore[attr-defined]

    def enable_caching(self) -> None:
        """Keep compiled code in files."""
        self._cache = KernelFiles(self.py_func)

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
            if cres.entry_point is None:  # just compiled: numba knows a function by its entry, here a mere name
                cres = cres._replace(entry_point=object())
                self.targetctx.insert_user_function(cres.entry_point, cres.fndesc, [cres.library])
            self.overloads[args] = cres
            self._bare.add(args)
        else:
            super().add_overload(cres)

    def _flags(self, flags: Any) -> Any:
        flags.no_cpython_wrapper = flags.no_compile = self._makes_bare
        flags.no_cfunc_wrapper = True
        return _Flags(flags)

    @contextmanager
    def _making_bare(self) -> Iterator[None]:
        before, self._makes_bare = self._makes_bare, True
        if isinstance(self._cache, KernelFiles):
            self._cache.bare = True
        try:
            yield
        finally:
            self._makes_bare = before
            if isinstance(self._cache, KernelFiles):
                self._cache.bare = before
