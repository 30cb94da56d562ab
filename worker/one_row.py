"""A shared library, made in memory, that gives products with one row to the BLAS function for them.

While a model decodes, nearly all of its products have one row. MLX gives all products to `cblas_sgemm`, which OpenBLAS
computes by first copying the matrix into another layout: for one row, that takes longer than the product. Its
`cblas_sgemv` reads the matrix once, at two to three times the speed.

The library defines `cblas_sgemm` and nothing else. If it is loaded before MLX, MLX calls it. Its code is 122 bytes for
x86-64 processors, because a compiler is not at hand where Bough runs. Elsewhere, products go where they went before.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from array import array
from typing import Any

_MIN_SIZE = 1 << 17
"""Matrices with fewer numbers stay with `cblas_sgemm`: `cblas_sgemv` would wake all threads for them."""

_ROW_MAJOR, _NO_TRANS, _TRANS = 101, 111, 112

_PAGE = 0x1000
_SLOTS = ("bough_matrix_product", "bough_row_product")
"""Variables of the library: the addresses of the functions that it calls."""


def route_one_row_products(blas: ctypes.CDLL, prefix: str = "") -> bool:
    """Load the library into the process, in front of `blas`. Return False if that is not possible here.

    `prefix`: what the names of its functions begin with.
    """
    if platform.machine() not in {"x86_64", "AMD64"} or not hasattr(os, "memfd_create"):
        return False
    try:
        addresses = [_address(blas, prefix + name) for name in ("cblas_sgemm", "cblas_sgemv")]
        descriptor = os.memfd_create("bough-one-row")
        try:
            os.write(descriptor, _library())
            path = f"/proc/self/fd/{descriptor}"
            # Try it before MLX can see it.
            library = ctypes.CDLL(path, mode=os.RTLD_LOCAL)
            for slot, address in zip(_SLOTS, addresses, strict=True):
                ctypes.c_void_p.in_dll(library, slot).value = address
            if not _is_right(library.cblas_sgemm, getattr(blas, prefix + "cblas_sgemm")):
                return False
            ctypes.CDLL(path, mode=os.RTLD_GLOBAL)
        finally:
            os.close(descriptor)
    except (OSError, AttributeError, ValueError):
        return False
    return True


def is_routed() -> bool:
    """Return whether the library is loaded in front."""
    return hasattr(ctypes.CDLL(None), _SLOTS[0])


def _address(library: ctypes.CDLL, name: str) -> int:
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    if address is None:
        raise ValueError(name)
    return address


def _is_right(one: Any, other: Any) -> bool:
    """Return whether two functions `cblas_sgemm` give the same for one row, with both layouts of the matrix."""
    size = 400
    row = array("f", (-1.0, 2.0, 0.5, 0.0)) * (size // 4)
    matrix = (array("f", (3.0, -1.0, 0.25, 1.0, -2.0, 5.0, 0.0)) * (size * size // 7 + 1))[: size * size]
    for transposed in (_NO_TRANS, _TRANS):
        results: list[array[float]] = []
        for product in (one, other):
            # Its earlier content must not matter.
            result = array("f", [float("nan")]) * size
            _call(product, (1, size, size), 1.0, (row, _NO_TRANS, size), (matrix, transposed, size), 0.0, result)
            results.append(result)
        if any(not abs(a - b) < 1e-2 for a, b in zip(*results, strict=True)):
            return False
    return True


def _call(
    product: Any,
    sizes: tuple[int, int, int],
    alpha: float,
    left: tuple[array[float], int, int],
    right: tuple[array[float], int, int],
    beta: float,
    result: array[float],
) -> None:
    """Call a `cblas_sgemm` on row-major arrays. `left` and `right`: numbers, whether transposed, length of a row."""
    product.argtypes = _ARGUMENTS
    product.restype = None
    (a, a_layout, a_length), (b, b_layout, b_length) = left, right
    addresses = [each.buffer_info()[0] for each in (a, b, result)]
    product(
        *(_ROW_MAJOR, a_layout, b_layout, *sizes, alpha, addresses[0], a_length),
        *(addresses[1], b_length, beta, addresses[2], sizes[1]),
    )


_INT, _FLOAT, _POINTER = ctypes.c_int, ctypes.c_float, ctypes.c_void_p
_ARGUMENTS = [*(_INT,) * 6, _FLOAT, _POINTER, _INT, _POINTER, _INT, _FLOAT, _POINTER, _INT]


# --- the library -----------------------------------------------------------------------------------------------

# In the calling convention of Linux, `cblas_sgemm(order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c,
# ldc)` has its integers in edi, esi, edx, ecx, r8d, r9d and its floats in xmm0 and xmm1. On the stack lie a (rsp+8),
# lda (+16), b (+24), ldb (+32), c (+40) and ldc (+48). `cblas_sgemv(order, trans, rows, columns, alpha, b, ldb, x,
# incx, beta, y, incy)` has order, trans, rows, columns, b and ldb in the same six registers, and on the stack x
# (rsp+8), incx (+16), y (+24) and incy (+32). Floats and `a`, which is x, are where they must be.
_CODE = (
    "83f901"  # cmp ecx, 1: is there one row?
    "756b"  # jne matrix
    "83ff65"  # cmp edi, 101: are its numbers side by side?
    "7566"  # jne matrix
    "4489c0"  # mov eax, r8d
    "4589ca"  # mov r10d, r9d
    "490fafc2"  # imul rax, r10: n * k
    "483d{min_size}"  # cmp rax, the smallest size
    "7254"  # jb matrix
    "8b442410"  # mov eax, [rsp+16]: the distance of the row's numbers is lda,
    "41ba01000000"  # mov r10d, 1
    "83fe6f"  # cmp esi, 111
    "410f44c2"  # cmove eax, r10d: or 1 if it is not transposed
    "be70000000"  # mov esi, 112: a matrix of k rows is transposed,
    "83fa6f"  # cmp edx, 111
    "4489ca"  # mov edx, r9d
    "4489c1"  # mov ecx, r8d
    "740b"  # je ready
    "be6f000000"  # mov esi, 111: one of n rows is not
    "4489c2"  # mov edx, r8d
    "4489c9"  # mov ecx, r9d
    "4c8b442418"  # ready: mov r8, [rsp+24]: b
    "448b4c2420"  # mov r9d, [rsp+32]: ldb
    "4889442410"  # mov [rsp+16], rax: incx
    "4c8b5c2428"  # mov r11, [rsp+40]
    "4c895c2418"  # mov [rsp+24], r11: y is c
    "4c89542420"  # mov [rsp+32], r10: incy is 1
    "4c8b1d{bough_row_product}"  # mov r11, the function for one row
    "41ffe3"  # jmp r11
    "4c8b1d{bough_matrix_product}"  # matrix: mov r11, the function for all products
    "41ffe3"  # jmp r11
)
_ENDS = {"bough_row_product": 0x6D, "bough_matrix_product": 0x77}
"""Where the instructions end that read the slots. Their distances to the slots count from there."""

_HEADER = struct.Struct("<4sBBBB8xHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551
_EXECUTE, _WRITE, _READ = 1, 2, 4
_FUNCTION, _VARIABLE = 0x12, 0x11  # global ones
_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT = 4, 5, 6, 10, 11


def _library() -> bytes:
    """Return the library as a file in the ELF format: one page that is read and run, and one that is written."""
    num_segments = 4
    names = b"\0cblas_sgemm\0" + b"".join(slot.encode() + b"\0" for slot in _SLOTS)
    symbols_at = _HEADER.size + num_segments * _SEGMENT.size
    names_at = symbols_at + (2 + len(_SLOTS)) * _SYMBOL.size
    hash_at = -(-(names_at + len(names)) // 8) * 8
    # One chain of all symbols: the first is 1, each is followed by the next, and 0 ends it.
    hashes = struct.pack("<7I", 1, 2 + len(_SLOTS), 1, 0, 2, 3, 0)
    code_at = -(-(hash_at + len(hashes)) // 16) * 16
    slots = {slot: _PAGE + 8 * index for index, slot in enumerate(_SLOTS)}
    code = bytes.fromhex(
        _CODE.format(
            min_size=struct.pack("<I", _MIN_SIZE).hex(),
            **{slot: struct.pack("<i", at - code_at - _ENDS[slot]).hex() for slot, at in slots.items()},
        )
    )
    dynamic_at = _PAGE + 8 * len(_SLOTS)
    entries = [(_DT_HASH, hash_at), (_DT_STRTAB, names_at), (_DT_SYMTAB, symbols_at), (_DT_STRSZ, len(names))]
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in (*entries, (_DT_SYMENT, _SYMBOL.size), (0, 0)))
    read_end, written = code_at + len(code), 8 * len(_SLOTS) + len(dynamic)
    symbols = [
        _SYMBOL.pack(0, 0, 0, 0, 0, 0),
        _SYMBOL.pack(names.index(b"cblas_sgemm"), _FUNCTION, 0, 1, code_at, len(code)),
        *(_SYMBOL.pack(names.index(slot.encode()), _VARIABLE, 0, 1, at, 8) for slot, at in slots.items()),
    ]
    parts = {
        # A 64-bit shared library (3) for x86-64 (62), without sections.
        0: _HEADER.pack(b"\x7fELF", 2, 1, 1, 0, 3, 62, 1, 0, 64, 0, 0, 64, _SEGMENT.size, num_segments, 64, 0, 0)
        + _SEGMENT.pack(_LOAD, _READ | _EXECUTE, 0, 0, 0, read_end, read_end, _PAGE)
        + _SEGMENT.pack(_LOAD, _READ | _WRITE, _PAGE, _PAGE, _PAGE, written, written, _PAGE)
        + _SEGMENT.pack(_DYNAMIC, _READ | _WRITE, dynamic_at, dynamic_at, dynamic_at, len(dynamic), len(dynamic), 8)
        # Without this entry, the system would make all stacks executable.
        + _SEGMENT.pack(_STACK, _READ | _WRITE, 0, 0, 0, 0, 0, 16),
        symbols_at: b"".join(symbols),
        names_at: names,
        hash_at: hashes,
        code_at: code,
        dynamic_at: dynamic,
    }
    file = bytearray(_PAGE + written)
    for at, part in parts.items():
        file[at : at + len(part)] = part
    return bytes(file)
