"""Kernels as other kernels call them: optimised LLVM code to link in, of which no machine code is made.

Numba gives every function an entry for the interpreter and machine code of its own, also where only other
compiled functions call it and have it inlined. Most kernels are never called from elsewhere, and compiling
them took a third longer.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm
from numba import types
from numba.core import event
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder, compile_result
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

from patchwork_env.core.progress import Compilation


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A compiled function.

    Args:
        function: The function to compile.
        options: The options of ``numba.njit``.
    """

    def __init__(self, function: Any, options: dict[str, Any], **compiler: Any) -> None:
        super().__init__(function, targetoptions=options, **compiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What Numba asks for a call; constants use the code for any value of their type.

        Numba would compile the function anew for every constant that it is called with. Where a constant
        makes a difference, LLVM knows it anyhow once the function is inlined.
        """
        arguments = tuple(map(types.unliteral, args))
        return super().get_call_template(arguments, {k: types.unliteral(kind) for k, kind in kws.items()})


class LinkedKernel(Kernel):
    """A compiled function that has a second form for its callers among compiled functions."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.callee = Callee(function, options)

    @property
    def _numba_type_(self) -> types.Type:
        """What the function's name means in compiled code."""
        return types.Dispatcher(self.callee)

    def add_overload(self, cres: CompileResult) -> None:
        """Takes in what was compiled, with the environments of the callees in it, which nobody else sets."""
        for environment in cres._find_referenced_environments():
            cres.library.codegen.set_env(environment.env_name, environment)
        super().add_overload(cres)


class Callee(Kernel):
    """The form for callers; it cannot be called from the interpreter."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, {**options, "no_cpython_wrapper": True}, pipeline_class=_Compiler)

    def add_overload(self, cres: CompileResult) -> None:
        """Takes in what was compiled; the interpreter is not told of it."""
        self.overloads[tuple(cres.signature.args)] = cres


class CalleeOnDisk(CompileResultCacheImpl):  # type: ignore[misc]
    """How a callee is kept on disk: as LLVM code."""

    @property
    def filename_base(self) -> str:
        """The beginning of the names of its files."""
        function, _, version = super().filename_base.rpartition(".")
        return f"{function}.callee.{version}"

    def reduce(self, data: CompileResult) -> tuple[Any, ...]:
        """What :meth:`rebuild` needs of a callee; it can be pickled."""
        library, descriptor = data.library, data.fndesc
        descriptor.typemap = descriptor.calltypes = None
        code = library._get_module_for_linking().as_bitcode()
        return library.name, code, descriptor, data.environment, data.signature, data.reload_init

    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> CompileResult:
        """The callee, as before."""
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
    """What stands for a callee in Numba's tables, where others have their entry."""


class _Library(JITCodeLibrary):  # type: ignore[misc]
    """The code of a callee, which is not handed on to the engine that makes machine code."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    """Numba's translation to LLVM, without what follows it for a function that is called from elsewhere."""

    _name = "callee_lowering"

    def run_pass(self, state: Any) -> bool:
        codegen = state.targetctx.codegen()
        state.library = _Library(codegen, state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.cr = state.cr._replace(cfunc=_Key())
        state.targetctx.insert_user_function(state.cr.cfunc, state.cr.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        return True


class _Compiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[PassManager]:
        """Numba's pipeline for compiled functions with another last step."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_Lowering if p is NativeLowering else p, text) for p, text in passes.passes]
        passes.finalize()
        return [passes]


# --- progress -----------------------------------------------------------------------------------------------


class _Events(event.Listener):  # type: ignore[misc]
    """Numba's events, which tell when the compilation of a function begins and ends."""

    def __init__(self) -> None:
        self._compilation = Compilation()

    def on_start(self, begun: event.Event) -> None:
        """Notes the beginning, if the function is a kernel."""
        kernel = begun.data["dispatcher"]
        if isinstance(kernel, Kernel):
            function = kernel.py_func
            name = f"{function.__module__}.{function.__qualname__}"
            self._compilation.begin(name, lambda: len(_pending(kernel, set())))

    def on_end(self, ended: event.Event) -> None:
        """Notes the end, if the function is a kernel."""
        if isinstance(ended.data["dispatcher"], Kernel):
            self._compilation.end()


event.register("numba:compile", _Events())


def _pending(kernel: Kernel, found: set[Kernel]) -> set[Kernel]:
    """A kernel and all that it calls, directly or not, as far as they are not compiled yet for any types."""
    found.add(kernel)
    for called in _called(kernel):
        form = called.callee if isinstance(called, LinkedKernel) else called
        if form not in found and not form.overloads:
            _pending(form, found)
    return found


def _called(kernel: Kernel) -> Iterator[Kernel]:
    """The kernels that a kernel names; templates name those of a game as attributes of a module object."""
    variables = inspect.getclosurevars(kernel.py_func)
    for value in (*variables.globals.values(), *variables.nonlocals.values()):
        if isinstance(value, Kernel):
            yield value
        elif isinstance(value, ModuleType):
            yield from (v for v in map(vars(value).get, variables.unbound) if isinstance(v, Kernel))
