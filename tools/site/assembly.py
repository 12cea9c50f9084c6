"""From LLVM IR to a WebAssembly module: code for this machine gets another target."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import llvmlite.binding as llvm

from tools.site.lowering import Lowered
from tools.site.memory import Block

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals"
"""The features that every browser has had since 2023."""
IMPORTS = {"exp", "expf", "pow"}
"""The functions that JavaScript has to supply: wasm has no instruction for them."""
_STACK = 1 << 20

_RUNTIME = Path(__file__).with_name("runtime.ll")
"""The allocator of the arrays of kernels."""


def to_wasm(
    lowered: Sequence[Lowered], block: Block, linker: str, folder: Path, *, exact: bool = False
) -> Path:
    """Compiles, optimises and links the exports of a module.

    Args:
        lowered: The exports.
        block: The memory of the module; its symbol is the name of the file.
        linker: The command of LLVM's linker for WebAssembly.
        folder: The folder for the module.
        exact: Whether fused multiplications of float32 are done in float64, which takes longer and differs
            from fused ones once in hundreds of millions; otherwise they are rounded twice.

    Returns:
        The path of the module.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu="generic", features=FEATURES, opt=3, reloc="static", codemodel="default"
    )
    whole = llvm.parse_assembly(_retargeted(_RUNTIME.read_text() + block.definition(), machine))
    for export in lowered:
        code = _without_fma(_retargeted(export.code, machine), exact=exact)
        whole.link_in(llvm.parse_assembly(code + _wrapper(export)))
    names = [export.name for export in lowered]
    _hide(whole, {*names, block.symbol})
    whole.verify()
    _optimise(whole, machine)
    _check(whole)
    target = folder / f"{block.symbol}.o"
    target.write_bytes(machine.emit_object(whole))
    module = _link(target, [*names, block.symbol], linker)
    _require_no_paths(module)
    target.unlink()
    return module


def _retargeted(code: str, machine: llvm.TargetMachine) -> str:
    """The code for another target, without attributes that WebAssembly lacks and without file names."""
    code = re.sub(r"^target (?:datalayout|triple) = .*$", "", code, flags=re.MULTILINE)
    code = re.sub(r'"(?:target-cpu|target-features|tune-cpu|probe-stack)"="[^"]*"', "", code)
    code = re.sub(r"^source_filename = .*$", "", code, flags=re.MULTILINE)
    code = re.sub(r' c"[^"]*"', _without_paths, code)
    code = re.sub(
        r"^declare double @sqrt\(double\)", "declare double @llvm.sqrt.f64(double)", code, flags=re.M
    )
    code = code.replace("@sqrt(", "@llvm.sqrt.f64(")
    return f'target datalayout = "{machine.target_data}"\ntarget triple = "{TRIPLE}"\n{code}'


def _without_paths(constant: re.Match[str]) -> str:
    """The constant with its length, but without the paths of files in error messages."""
    return re.sub(r"/[^\\]*\.py", lambda path: "-" * len(path[0]), constant[0])


def _without_fma(code: str, *, exact: bool) -> str:
    """The code with separate multiplications and additions, because WebAssembly has no fused ones."""
    kinds = set(re.findall(r"@llvm\.fmuladd\.(v\d+f32|f32|f64)\(", code))
    code = re.sub(r"^declare .*@llvm\.fmuladd\.\w+\(.*$", "", code, flags=re.MULTILINE)
    for kind in sorted(kinds):
        code = code.replace(f"@llvm.fmuladd.{kind}(", f"@multiply_add.{kind}(")
        scalar = {"f32": "float", "f64": "double"}[kind[-3:]]
        vector = f"<{kind[1:-3]} x {scalar}>" if kind[0] == "v" else scalar
        code += _multiply_add(kind, vector, vector.replace("float", "double") if exact else vector)
    return code


def _multiply_add(kind: str, vector: str, wide: str) -> str:
    """A function that multiplies and adds in numbers of the type ``wide``."""
    if wide == vector:
        numbers, widened, narrowed = ("%a", "%b", "%c"), "", f"  ret {vector} %sum"
    else:
        numbers = ("%wide_a", "%wide_b", "%wide_c")
        widened = "".join(f"  %wide_{n} = fpext {vector} %{n} to {wide}\n" for n in "abc")
        narrowed = f"  %result = fptrunc {wide} %sum to {vector}\n  ret {vector} %result"
    return f"""
define linkonce_odr {vector} @multiply_add.{kind}({vector} %a, {vector} %b, {vector} %c) alwaysinline {{
{widened}  %product = fmul {wide} {numbers[0]}, {numbers[1]}
  %sum = fadd {wide} %product, {numbers[2]}
{narrowed}
}}
"""


def _wrapper(export: Lowered) -> str:
    """The function that is exported: it takes and returns float64, which JavaScript has; errors trap."""
    numbers = range(export.arguments)
    parameters = ", ".join(f"double %a{k}" for k in numbers)
    arguments = "".join(f", i64 %i{k}" for k in numbers)
    casts = "".join(f"  %i{k} = fptosi double %a{k} to i64\n" for k in numbers)
    return f"""
declare void @free_all()
declare void @llvm.trap()
define double @{export.name}({parameters}) noinline {{
  %result = alloca double
  %error = alloca ptr
  call void @free_all()
{casts}  %status = call i32 @"{export.symbol}"(ptr %result, ptr %error{arguments})
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %stop, label %done
stop:
  call void @llvm.trap()
  unreachable
done:
  %value = load double, ptr %result
  ret double %value
}}
"""


def _hide(module: llvm.ModuleRef, exported: set[str]) -> None:
    """Lets the optimiser remove or change everything that is not exported."""
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in exported and not value.name.startswith("llvm."):
            value.linkage = "internal"


def _optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def _check(module: llvm.ModuleRef) -> None:
    """Refuses code that needs more than JavaScript supplies, or holds addresses of this machine."""
    declared = {f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")}
    missing = sorted(declared - IMPORTS)
    if missing:
        raise RuntimeError(f"the module needs {', '.join(missing)}, which WebAssembly does not have")
    addresses = [v.name for v in module.global_variables if v.name.startswith("numba.dynamic.globals")]
    if addresses:
        raise RuntimeError(f"the code holds addresses of this process: {addresses[0]}")


def _require_no_paths(module: Path) -> None:
    """Refuses a module that names a folder of this machine."""
    code = module.read_bytes()
    for folder in {sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])}:
        if len(Path(folder).parts) > 2 and folder.encode() in code:
            raise RuntimeError(f"{module.name} names a folder of this machine: {folder}")


def _link(target: Path, names: Sequence[str], linker: str) -> Path:
    module = target.with_suffix(".wasm")
    exports = [f"--export={name}" for name in names]
    options = ["--no-entry", "--allow-undefined", "--strip-all", "--gc-sections", "--stack-first"]
    command = [linker, *options, "-z", f"stack-size={_STACK}", *exports, str(target), "-o", str(module)]
    subprocess.run(command, check=True)
    return module
