"""Bit operations for compiled kernels: counting, scanning and unpacking 64 bits at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from patchwork_env.core.compile import kernel, require_layout

U0, U1, U2, U4 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(4)
_U56 = np.uint64(56)
_M1 = np.uint64(0x5555555555555555)
_M2 = np.uint64(0x3333333333333333)
_M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_H01 = np.uint64(0x0101010101010101)


@kernel
def popcount(word: np.uint64) -> int:
    """The number of ones in a word; LLVM recognizes the pattern and emits one instruction."""
    word = word - ((word >> U1) & _M1)
    word = (word & _M2) + ((word >> U2) & _M2)
    word = (word + (word >> U4)) & _M4
    return int(np.int64((word * _H01) >> _U56))


@kernel
def lowest_bit(word: np.uint64) -> int:
    """The index of the lowest one in a word, which must not be zero."""
    return popcount((word & (U0 - word)) - U1)


@kernel
def nth_bit(word: np.uint64, n: int) -> int:
    """The index of the ``n``-th one in a word, counted from 0; the word must have more than ``n`` ones."""
    for _ in range(n):
        word &= word - U1
    return lowest_bit(word)


def _unpack_in_python(out: Any, start: int, word: np.uint64) -> None:
    out[start : start + 64] = [(int(word) >> bit) & 1 for bit in range(64)]


def _unpack_intrinsic() -> Any:
    """The compiled :func:`unpack_bits`: one vector conversion and one unaligned store."""

    @intrinsic  # type: ignore[untyped-decorator]
    def unpack(typing_context: Any, out: Any, start: Any, word: Any) -> Any:
        require_layout(out, "the array to which bits are written", 1, types.int8, types.float32)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, args[0])
            item = context.get_value_type(signature.args[0].dtype)
            bits = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), 64))
            lanes = ir.VectorType(item, 64)
            is_float = isinstance(signature.args[0].dtype, types.Float)
            values = builder.uitofp(bits, lanes) if is_float else builder.zext(bits, lanes)
            target = builder.gep(array.data, [args[1]])
            builder.store(
                values, builder.bitcast(target, lanes.as_pointer()), align=context.get_abi_sizeof(item)
            )
            return context.get_dummy_value()

        return types.void(out, types.intp, types.uint64), codegen

    return unpack


unpack_bits = _unpack_in_python if config.DISABLE_JIT else _unpack_intrinsic()
"""``unpack_bits(out, start, word)`` writes the 64 bits of ``word`` as 0 or 1 to ``out[start : start + 64]``,
lowest first. ``out`` must be a contiguous one-dimensional array of int8 or float32 with room for them; with
any other array the kernel does not compile."""
