"""Files of compiled functions: where they lie, of which sources they are, and how they are read back.

Read back, a function needs none of numba's registries, in which it says how each part of Python is compiled. They take
half a second to fill, so that is left to who compiles.
"""

import os
from collections.abc import Callable
from typing import Any

from llvmlite.binding import parse_bitcode
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator, _SourceFileBackedLocatorMixin
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import compile_result
from numba.core.runtime.nrt import rtsys

from firmware_interface.kernel_folder import kernel_folder, sources_fingerprint


class BareCode(JITCodeLibrary):
    """Code of a bare function and of those it calls; whoever calls it optimises all of it and makes machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Place(_SourceFileBackedLocatorMixin, _CacheLocator):
    """Folder of a function's files, and the state of all sources that they are of: they hold what it calls too."""

    def __init__(self, function: Callable, file: str) -> None:
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self._folder = os.path.join(kernel_folder(), self.get_suitable_cache_subpath(file))

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> Any:
        return super().get_source_stamp(), sources_fingerprint()


class _Form(CompileResultCacheImpl):
    """Form of a compiled function in a file: a bare one is the code that its callers take in."""

    def __init__(self, function: Callable) -> None:
        self._locator_classes = [_Place, *self._locator_classes]  # the others for what stands in no file
        super().__init__(function)

    def reduce(self, cres: Any) -> Any:
        if not isinstance(cres.library, BareCode):
            return super().reduce(cres)
        cres.fndesc.typemap = cres.fndesc.calltypes = None  # large, and no caller asks for them
        library = cres.library
        code = library._get_module_for_linking().as_bitcode()
        reload_init = getattr(library, "_reload_init", ())  # numba 0.61 has none
        return library.name, code, cres.fndesc, cres.signature, tuple(reload_init)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        if len(payload) > 5:
            return super().rebuild(target_context, payload)
        name, code, fndesc, signature, reload_init = payload
        for each in reload_init:
            each()
        library = BareCode(target_context.codegen(), name)
        library._final_module = parse_bitcode(code)
        if reload_init:
            library._reload_init.update(reload_init)
        library._finalized = True
        return compile_result(
            typing_context=target_context.typing_context,
            target_context=target_context,
            entry_point=object(),
            library=library,
            fndesc=fndesc,
            signature=signature,
            objectmode=False,
            lifted=(),
            reload_init=[],
        )


class KernelFiles(FunctionCache):
    """Files of a function, in which a bare one is not taken for one that Python can call."""

    _impl_class = _Form
    bare = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load a compiled form; None where there is none. Where a bare one is wanted, one with a wrapper will do."""
        rtsys.initialize(target_context)  # all that machine code asks of numba: the counting of its arrays
        found = self._read(sig, target_context)
        if found is None and self.bare:
            self.bare = False
            try:
                found = self._read(sig, target_context)
            finally:
                self.bare = True
        return found

    def _read(self, sig: Any, target_context: Any) -> Any:
        """As `load_overload` of numba, without its registries."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        key = super()._index_key(sig, codegen)
        return (*key, "code for callers") if self.bare else key
