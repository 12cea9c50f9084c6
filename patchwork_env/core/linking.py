"""Kernels that other kernels link in as LLVM code, without machine code of their own.

Numba compiles every function to machine code together with everything that it calls. Most kernels are called
by other kernels alone. Here these stay LLVM code, which is optimised once, as a part of the kernel that the
interpreter calls. The result is as fast, and compiling takes less time. This module uses parts of Numba that
may change with any version.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import types
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, CompileResult, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.sigutils import normalize_signature
from numba.core.typed_passes import NativeLowering

from patchwork_env.core.cache import DiskCache
from patchwork_env.core.progress import Compilation

OLDEST, NEWEST = (0, 63), (0, 68)
"""The range of Numba's versions that this module was tested with."""

if not OLDEST <= tuple(map(int, numba.__version__.split(".")[:2])) <= NEWEST:
    oldest, newest = (".".join(map(str, version)) for version in (OLDEST, NEWEST))
    raise ImportError(f"Numba {numba.__version__} is not in the tested range, {oldest} to {newest}")


class _Dispatcher(CPUDispatcher):  # type: ignore[misc]
    def __init__(self, function: Any, options: dict[str, Any], pipeline: type[CompilerBase]) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=pipeline)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return Numba's template of a call, for the types of :func:`_canonical_type`."""
        canonical = {name: _canonical_type(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(_canonical_type, args)), canonical)

    def compile(self, sig: Any) -> Any:
        """Load or compile the function for some types of arguments.

        Numba's method starts timers as well, which slow down nested compilations, and leaves Python's garbage
        collector on, though a compilation makes many objects and little garbage.
        """
        args, return_type = normalize_signature(sig)
        with global_compiler_lock, self._compiling_counter, _without_garbage_collection():
            if args in self.overloads:
                return self.overloads[args].entry_point
            result = self._cache.load_overload(args, self.targetctx)
            if result is not None:
                self._cache_hits[args] += 1
                self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
            else:
                self._cache_misses[args] += 1
                data = {"dispatcher": self, "args": args, "return_type": return_type}
                with event.trigger_event("numba:compile", data):
                    result = self._compiler.compile(args, return_type)
                self._cache.save_overload(args, result)
            self.add_overload(result)
            return result.entry_point


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _canonical_type(kind: types.Type) -> types.Type:
    """Return the type for which a function is compiled when it is called with an argument of a type.

    Numba would compile a function for every constant among its arguments, which LLVM knows anyway after
    inlining. Integers become int64, as in the interpreter, except uint64.
    """
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind != types.uint64 else kind


class Kernel(_Dispatcher):
    """A compiled function for the interpreter; :attr:`linked` is its form for other kernels."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, options, Compiler)
        self.linked = LinkedKernel(function, options)
        self._cache, self.linked._cache = DiskCache(self), DiskCache(self.linked, _OnDisk)
        # Numba recognizes recursion by this counter.
        self.linked._compiling_counter = self._compiling_counter

    @property
    def _numba_type_(self) -> types.Type:
        return types.Dispatcher(self.linked)

    def add_overload(self, cres: CompileResult) -> None:
        """Register compiled code, and set the environments of the functions that are linked in."""
        for environment in cres._find_referenced_environments():
            cres.library.codegen.set_env(environment.env_name, environment)
        super().add_overload(cres)


class LinkedKernel(_Dispatcher):
    """The form of a kernel that other kernels call; the interpreter cannot call it."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, {**options, "no_cpython_wrapper": True}, _LinkedCompiler)

    def add_overload(self, cres: CompileResult) -> None:
        """Register compiled code, for other kernels only."""
        self.overloads[tuple(cres.signature.args)] = cres


class _OnDisk:
    """The form of a linked kernel on disk: LLVM bitcode, and Numba's description of the function."""

    @staticmethod
    def _reduce(data: CompileResult) -> tuple[Any, ...]:
        """Return the arguments of :meth:`_rebuild`, which can be pickled."""
        library, descriptor = data.library, data.fndesc
        descriptor.typemap = descriptor.calltypes = None
        code = library._get_module_for_linking().as_bitcode()
        return library.name, code, descriptor, data.environment, data.signature, data.reload_init

    @staticmethod
    def _rebuild(target_context: Any, *payload: Any) -> CompileResult:
        """Return the compiled function of which :meth:`_reduce` made the ``payload``."""
        name, code, descriptor, environment, signature, reload_init = payload
        for initialize in reload_init:
            initialize()
        library = _Library(target_context.codegen(), name)
        library._shared_module = llvm.parse_bitcode(code)
        library._finalized = True
        return compile_result(
            typing_context=target_context.typing_context,
            target_context=target_context,
            entry_point=_Key(),
            signature=signature,
            objectmode=False,
            lifted=(),
            fndesc=descriptor,
            library=library,
            environment=environment,
            reload_init=reload_init,
        )


class _Key:
    """The key of a linked kernel in Numba's tables; other functions have an entry point there."""


class _Library(JITCodeLibrary):  # type: ignore[misc]
    """The LLVM code of a linked kernel and of everything that it calls.

    Its functions are only simplified; the optimisation is that of the kernel that the interpreter calls.
    """

    def add_linking_library(self, library: Any) -> None:
        """Link the code of a callee. The kernel that the interpreter calls links the reference counting."""
        if library is not rtsys.library:
            super().add_linking_library(library)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        # No pass at all with OPT=0: then the code is for another machine, with addresses of another size.
        passes, builder = self._codegen._function_pass_manager(opt=min(1, int(numba.config.OPT)))
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _LinkedCompiler(Compiler):  # type: ignore[misc]
    def define_pipelines(self) -> list[PassManager]:
        """Return Numba's pipeline with another last step."""
        (passes,) = super().define_pipelines()
        passes.passes = [(_Lowering if p is NativeLowering else p, text) for p, text in passes.passes]
        passes.finalize()
        return [passes]


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    """Numba's translation to LLVM code, without the steps to machine code."""

    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        codegen = state.targetctx.codegen()
        state.library = _Library(codegen, state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.cr = state.cr._replace(cfunc=_Key())
        state.targetctx.insert_user_function(state.cr.cfunc, state.cr.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        return True


class _Progress(event.Listener):  # type: ignore[misc]
    """Reports the beginning and the end of each kernel's compilation, which Numba's events announce."""

    def __init__(self) -> None:
        self._compilation = Compilation()

    def on_start(self, begun: event.Event) -> None:
        """Report the beginning, if the function is a kernel."""
        kernel = begun.data["dispatcher"]
        if isinstance(kernel, _Dispatcher):
            function = kernel.py_func
            self._compilation.begin(f"{function.__module__}.{function.__qualname__}")

    def on_end(self, ended: event.Event) -> None:
        """Report the end, if the function is a kernel."""
        if isinstance(ended.data["dispatcher"], _Dispatcher):
            self._compilation.end()


event.register("numba:compile", _Progress())
