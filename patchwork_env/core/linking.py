"""Kernels as other kernels call them: LLVM code to link in, of which no machine code is made.

Numba gives every function an entry for the interpreter and machine code of its own, and optimises it together
with all that it calls, before its callers are optimised together with it. Most kernels are called by other
kernels alone. They are optimised once, as a part of what the interpreter calls; compiling all of them takes
half the time, and they are as fast. This needs means that Numba does not promise.
"""

from __future__ import annotations

import functools
import gc
import operator
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import CodeType
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import types
from numba.core import base, event, ir
from numba.core.base import BaseContext, _has_loc
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder, Flags, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.ir_utils import get_definition, guard
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.sigutils import normalize_signature
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, TranslateByteCode
from numba.cpython.builtins import do_minmax
from numba.extending import intrinsic

from patchwork_env.core.cache import DiskCache
from patchwork_env.core.progress import Compilation

OLDEST, NEWEST = (0, 63), (0, 68)
"""The versions of Numba that were tried; others may mean something else by the same names."""

if not OLDEST <= tuple(map(int, numba.__version__.split(".")[:2])) <= NEWEST:
    oldest, newest = (".".join(map(str, version)) for version in (OLDEST, NEWEST))
    raise ImportError(f"Numba {numba.__version__} is none of {oldest} to {newest}, which were tried")


class _Dispatcher(CPUDispatcher):  # type: ignore[misc]
    def __init__(self, function: Any, options: dict[str, Any], pipeline: type[CompilerBase]) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=pipeline)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What Numba asks for a call; see :func:`_canonical_type`."""
        canonical = {name: _canonical_type(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(_canonical_type, args)), canonical)


def _canonical_type(kind: types.Type) -> types.Type:
    """The type whose code a function uses for an argument of some type.

    Numba would compile the function anew for every constant that it is called with; where a constant makes a
    difference, LLVM knows it anyhow once the function is inlined. Integers share the code of the longest
    signed one, as which the interpreter would compute with them; it has no room for uint64 alone.
    """
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind != types.uint64 else kind


class Kernel(_Dispatcher):
    """A compiled function as the interpreter calls it; :attr:`linked` is its form for other functions."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, options, _Compiler)
        self.linked = LinkedKernel(function, options)
        self._cache, self.linked._cache = DiskCache(self), DiskCache(self.linked, _OnDisk)
        # Functions may call themselves, which Numba notices by this.
        self.linked._compiling_counter = self._compiling_counter

    @property
    def _numba_type_(self) -> types.Type:
        return types.Dispatcher(self.linked)

    def compile(self, sig: Any) -> Any:
        """Loads or compiles the function for some types of arguments."""
        with global_compiler_lock, _haste():
            return super().compile(sig)

    def add_overload(self, cres: CompileResult) -> None:
        """Takes in what was compiled, with the environments of what is linked, which nobody else sets."""
        for environment in cres._find_referenced_environments():
            cres.library.codegen.set_env(environment.env_name, environment)
        super().add_overload(cres)


@contextmanager
def _haste() -> Iterator[None]:
    """Spares a compilation what Numba and Python do again and again to no end, a fifth of it.

    Python looks for garbage, of which a compilation makes little. Numba searches the types of its functions
    anew for every call, loads registries anew for whatever array is no subclass, finds out after five steps
    which variables live on where only the last one asks, looks at the parameters of its own functions, and
    tells everybody of every call of LLVM.
    """
    with ExitStack() as stack:
        if gc.isenabled():
            gc.disable()
            stack.callback(gc.enable)
        stack.enter_context(_replaced(types.Function, "get_call_type", _remembered_call_type))
        stack.enter_context(_replaced(BaseContext, "get_function", _known_function))
        stack.enter_context(_replaced(PostProcessor, "run", _analyse_if_asked))
        stack.enter_context(_replaced(base, "_has_loc", _remembered_has_loc))
        stack.enter_context(_replaced(llvm.ffi.lib._lock, "_cblist", []))
        yield


@contextmanager
def _replaced(owner: Any, name: str, value: object) -> Iterator[None]:
    usual = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, usual)


_call_type, _function, _analyse, _remembered_has_loc = (
    types.Function.get_call_type,
    BaseContext.get_function,
    PostProcessor.run,
    functools.cache(_has_loc),
)
_CALL_TYPES: dict[tuple[int, ...], tuple[object, ...]] = {}
"""The signatures of calls of Numba's own functions, by the identity of all that they follow from."""


def _remembered_call_type(function: Any, context: Any, arguments: Any, named: Any) -> Any:
    if named:
        return _call_type(function, context, arguments, named)
    key = (id(function), id(context), *map(id, arguments))
    if key not in _CALL_TYPES:
        found = _call_type(function, context, arguments, named)
        _CALL_TYPES[key] = found, function, context, arguments  # which keep their identity
    return _CALL_TYPES[key][0]


def _known_function(context: Any, key: Any, signature: Any, _firstcall: bool = True) -> Any:
    """An implementation, which loads no registries for what has only a name and often none."""
    return _function(context, key, signature, _firstcall and not isinstance(key, str))


def _analyse_if_asked(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """The analysis of variables, put off until something asks for it; kernels are no generators."""
    function = processor.func_ir
    if emit_dels or function.is_generator:
        _analyse(processor, emit_dels, extend_lifetimes)
    else:
        function.blocks = canonicalize_cfg(function.blocks)
        function.variable_lifetime = VariableLifetime(function.blocks)


class LinkedKernel(_Dispatcher):
    """The form for callers, for the same arguments; it cannot be called from the interpreter."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        super().__init__(function, {**options, "no_cpython_wrapper": True}, _LinkedCompiler)

    def compile(self, sig: Any) -> Any:
        """Loads or compiles the function for some types of arguments, while a caller is being compiled.

        As Numba does it, but that it sets no clocks, which slow down all that is compiled within each other.
        """
        args, return_type = normalize_signature(sig)
        with self._compiling_counter:
            result = self.overloads.get(args) or self._cache.load_overload(args, self.targetctx)
            if result is None:
                data = {"dispatcher": self, "args": args, "return_type": return_type}
                with event.trigger_event("numba:compile", data):
                    result = self._compiler.compile(args, return_type)
                self._cache.save_overload(args, result)
            elif args not in self.overloads:
                self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
            self.add_overload(result)
        return result.entry_point

    def add_overload(self, cres: CompileResult) -> None:
        """Takes in what was compiled; the interpreter is not told of it."""
        self.overloads[tuple(cres.signature.args)] = cres


class _OnDisk(CompileResultCacheImpl):  # type: ignore[misc]
    """How a linked kernel is kept on disk: as LLVM code."""

    def reduce(self, data: CompileResult) -> tuple[Any, ...]:
        """What :meth:`rebuild` needs; it can be pickled."""
        library, descriptor = data.library, data.fndesc
        descriptor.typemap = descriptor.calltypes = None
        code = library._get_module_for_linking().as_bitcode()
        return library.name, code, descriptor, data.environment, data.signature, data.reload_init

    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> CompileResult:
        """What was compiled, as before."""
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
    """What stands for a linked kernel in Numba's tables, where others have their entry."""


class _Library(JITCodeLibrary):  # type: ignore[misc]
    """The code of a linked kernel with what it calls, of which no machine code is made.

    It is optimised once, in what the interpreter calls; before, its functions are only simplified.
    """

    def add_linking_library(self, library: Any) -> None:
        """Takes in what the function calls; what counts references comes with what the interpreter calls."""
        if library is not rtsys.library:
            super().add_linking_library(library)

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        # Not at all where the code is meant for another machine, whose addresses have another size.
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


class _Flags(Flags):  # type: ignore[misc]
    """Numba's flags of a compilation, which it compares tens of thousands of times; this takes a tenth."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flags) and self._values == other._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values))


def _choice(compare: Callable[..., Any]) -> Any:
    """The one of two numbers that compares so, as the interpreter finds it."""

    @intrinsic  # type: ignore[untyped-decorator]
    def choose(typing_context: Any, first: types.Type, second: types.Type) -> Any:
        kind = typing_context.unify_types(first, second)
        if isinstance(kind, types.Number | types.Boolean):

            def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                return do_minmax(context, builder, signature.args, arguments, compare)

            return kind(first, second), codegen
        return None

    return choose


@intrinsic  # type: ignore[untyped-decorator]
def _integer(typing_context: Any, number: types.Type) -> Any:
    if isinstance(number, types.Integer | types.Boolean | types.Float):

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.cast(builder, arguments[0], number, signature.return_type)

        return (number if isinstance(number, types.Integer) else types.intp)(number), codegen
    return None


_INSTRUCTIONS = {(int, 1): _integer, (min, 2): _choice(operator.lt), (max, 2): _choice(operator.gt)}
"""Functions with a number of arguments that are few instructions; Numba compiles one for each type."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _Translation(TranslateByteCode):  # type: ignore[misc]
    """Numba's translation of bytecode, with these instructions."""

    _name = "translation_with_instructions"

    def run_pass(self, state: Any) -> bool:
        super().run_pass(state)
        for block in state.func_ir.blocks.values():
            for call in block.find_exprs("call"):
                function = guard(get_definition, state.func_ir, call.func)
                if isinstance(function, ir.Global) and not call.kws:
                    key = function.value, len(call.args)
                    function.value = _INSTRUCTIONS.get(key, function.value)
        return True


_ELABORATE = {InlineClosureLikes, NopythonRewrites}
"""The steps that change only what has inner functions or computes with whole arrays."""


class _Passes(PassManager):  # type: ignore[misc]
    """Numba's steps, without what it analyses anew after each of them and what it tells of each."""

    @global_compiler_lock  # type: ignore[untyped-decorator]
    def _runPass(self, index: int, step: Any, state: Any) -> None:  # noqa: N802
        step.analysis = self._analysis
        step.run_initialization(state)
        step.run_pass(state)
        step.run_finalizer(state)


class _Compiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler of functions with other flags."""

    def __init__(self, *arguments: Any) -> None:
        *before, flags, variables = arguments
        super().__init__(*before, _Flags(flags), variables)

    def define_pipelines(self) -> list[PassManager]:
        """Numba's pipeline for compiled functions, or a short one for plain functions, as most are."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        constants = self.state.func_id.code.co_consts
        if self.state.flags.nrt or any(isinstance(constant, CodeType) for constant in constants):
            return [usual]
        passes = _Passes(usual.pipeline_name)
        steps = [each for each in usual.passes if each[0] not in _ELABORATE]
        passes.passes = [(_Translation if p is TranslateByteCode else p, text) for p, text in steps]
        passes.finalize()
        return [passes]


class _LinkedCompiler(_Compiler):
    def define_pipelines(self) -> list[PassManager]:
        """The same pipeline with another last step."""
        (passes,) = super().define_pipelines()
        passes.passes = [(_Lowering if p is NativeLowering else p, text) for p, text in passes.passes]
        passes.finalize()
        return [passes]


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    """Numba's translation to LLVM, without what follows it for a function that is called from elsewhere."""

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


# --- progress -----------------------------------------------------------------------------------------------


class _Events(event.Listener):  # type: ignore[misc]
    """Numba's events, which tell when the compilation of a function begins and ends."""

    def __init__(self) -> None:
        self._compilation = Compilation()

    def on_start(self, begun: event.Event) -> None:
        """Notes the beginning, if the function is a kernel."""
        kernel = begun.data["dispatcher"]
        if isinstance(kernel, _Dispatcher):
            function = kernel.py_func
            name = f"{function.__module__}.{function.__qualname__}"
            self._compilation.begin(name)

    def on_end(self, ended: event.Event) -> None:
        """Notes the end, if the function is a kernel."""
        if isinstance(ended.data["dispatcher"], _Dispatcher):
            self._compilation.end()


event.register("numba:compile", _Events())
