"""A shared library, made in memory, for products with one row and with a few rows.

While a model decodes, nearly all of its products have as many rows as there are answers. MLX gives all products to
`cblas_sgemm`, which OpenBLAS computes by first copying the matrix into another layout: for few rows, that takes longer
than the product. The library defines `cblas_sgemm` and nothing else. If it is loaded before MLX, MLX calls it:

- One row goes to OpenBLAS's `cblas_sgemv`, which reads the matrix once, at two to three times the speed.
- For two to eight rows, the library multiplies itself. It reads the matrix once, too, on one core. With more than a few
  cores, OpenBLAS's threads are faster together, so `worker.blas` decides whether to use this.

The code is 507 bytes for x86-64 processors, because the user's machine may have no compiler. On other processors, this
module changes nothing.
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

MOST_ROWS = 8
"""With more rows, arithmetic takes longer than reading the matrix."""

_ROW_MAJOR, _NO_TRANS, _TRANS = 101, 111, 112

_PAGE = 0x1000
_SLOTS = ("bough_matrix_product", "bough_row_product", "bough_most_rows")
"""Variables of the library: the addresses of the functions that it calls, and up to how many rows it multiplies."""


def route_few_rows(blas: ctypes.CDLL, most_rows: int = 1, prefix: str = "") -> int:
    """Load the library into the process, in front of `blas`. Return the most rows that it handles; 0 if it is not used.

    `most_rows`: more than 1 needs a processor with AVX2 and FMA. `prefix`: what the names of `blas`'s functions begin
    with.
    """
    if platform.machine() not in {"x86_64", "AMD64"} or not hasattr(os, "memfd_create"):
        return 0
    try:
        addresses = [_address(blas, prefix + name) for name in ("cblas_sgemm", "cblas_sgemv")]
        descriptor = os.memfd_create("bough-one-row")
        try:
            os.write(descriptor, _library())
            path = f"/proc/self/fd/{descriptor}"
            # Try it before MLX can see it.
            library = ctypes.CDLL(path, mode=os.RTLD_LOCAL)
            for slot, address in zip(_SLOTS, addresses, strict=False):
                ctypes.c_void_p.in_dll(library, slot).value = address
            limit = ctypes.c_int.in_dll(library, _SLOTS[-1])
            products = library.cblas_sgemm, getattr(blas, prefix + "cblas_sgemm")
            limit.value = 1
            if not _agree(*products, 1):
                return 0
            limit.value = most_rows
            if not all(_agree(*products, rows) for rows in {2, 5, most_rows} if 1 < rows <= most_rows):
                limit.value = 1
            ctypes.CDLL(path, mode=os.RTLD_GLOBAL)
            return limit.value
        finally:
            os.close(descriptor)
    except (OSError, AttributeError, ValueError):
        return 0


def most_routed_rows() -> int:
    """Return the most rows that the loaded library handles; 0 if it is not loaded."""
    try:
        return ctypes.c_int.in_dll(ctypes.CDLL(None), _SLOTS[-1]).value
    except ValueError:
        return 0


def _address(library: ctypes.CDLL, name: str) -> int:
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    if address is None:
        raise ValueError(name)
    return address


def _agree(one: Any, other: Any, num_rows: int) -> bool:
    """Return whether two functions `cblas_sgemm` agree for this many rows, with both layouts of the matrix."""
    size = 400
    rows = (array("f", (-1.0, 2.0, 0.5, 0.0, 1.0, -3.0, 4.0)) * (size * num_rows // 7 + 1))[: size * num_rows]
    matrix = (array("f", (3.0, -1.0, 0.25, 1.0, -2.0, 5.0, 0.0)) * (size * size // 7 + 1))[: size * size]
    for transposed in (_NO_TRANS, _TRANS):
        results: list[array[float]] = []
        for product in (one, other):
            # Its earlier content must not matter.
            result = array("f", [float("nan")]) * (size * num_rows)
            _call(
                product, (num_rows, size, size), 1.0, (rows, _NO_TRANS, size), (matrix, transposed, size), 0.0, result
            )
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
_CHOICE = (
    "83ff65"  # cmp edi, 101: are the numbers of a row side by side?
    "754e"  # jne matrix
    "4489c0"  # mov eax, r8d
    "4589ca"  # mov r10d, r9d
    "490fafc2"  # imul rax, r10: n * k
    "483d{min_size}"  # cmp rax, the smallest size
    "723c"  # jb matrix
    "83f901"  # cmp ecx, 1: how many rows are there?
    "743d"  # je one
    "7c35"  # jl matrix
    "3b0d{bough_most_rows}"  # cmp ecx, the most rows
    "7f2d"  # jg matrix
    "83fe6f"  # cmp esi, 111
    "7528"  # jne matrix: `a` is transposed
    "83fa70"  # cmp edx, 112
    "7523"  # jne matrix: the matrix is not stored row by row, as weights are
    "41f7c10f000000"  # test r9d, 15
    "751a"  # jnz matrix: k is no multiple of 16
    "660f7ec0"  # movd eax, xmm0
    "3d0000803f"  # cmp eax, 1.0
    "750f"  # jne matrix: alpha is not 1
    "660f7ec8"  # movd eax, xmm1
    "85c0"  # test eax, eax
    "745d"  # je few: beta is 0
    "3d0000803f"  # cmp eax, 1.0
    "7456"  # je few: beta is 1
    "ff25{bough_matrix_product}"  # matrix: jmp to the function for all products
)
_ONE_ROW = (
    "8b442410"  # one: mov eax, [rsp+16]: the distance of the row's numbers is lda,
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
    "ff25{bough_row_product}"  # jmp to the function for one row
)
# Each row of the matrix is multiplied with up to four rows of `a`, then with the next four. It comes from memory once.
# In registers: rdi is a row of the matrix and rsi the distance to the next; r10 is `a` and r11 the distance of its
# rows; rdx is a place in `c` and rbx the distance of its rows; r9 is the length of a row; all distances are in bytes.
# ecx counts the rows of `a` that are left, r8d those of the matrix.
_FEW_ROWS = (
    "f7d8"  # few: neg eax
    "19c0"  # sbb eax, eax: all bits are set if beta is 1, none if it is 0
    "c5796ed0"  # vmovd xmm10, eax
    "4c8b542408"  # mov r10, [rsp+8]: a
    "4c635c2410"  # movsxd r11, [rsp+16]: lda
    "488b7c2418"  # mov rdi, [rsp+24]: b
    "4863742420"  # movsxd rsi, [rsp+32]: ldb
    "488b542428"  # mov rdx, [rsp+40]: c
    "4863442430"  # movsxd rax, [rsp+48]: ldc
    "53"  # push rbx: registers that belong to the caller
    "4154"  # push r12
    "4155"  # push r13
    "4156"  # push r14
    "4157"  # push r15
    "488d1c8500000000"  # lea rbx, [rax*4]: a number has 4 bytes
    "49c1e302"  # shl r11, 2
    "48c1e602"  # shl rsi, 2
    "49c1e102"  # shl r9, 2
    "51"  # column: push rcx: with each row of the matrix a column of `c` begins
    "52"  # push rdx
    "4d89d4"  # mov r12, r10: r12, r13, r14 and r15 are four rows of `a`
    "4f8d2c1c"  # group: lea r13, [r12+r11]
    "83f902"  # cmp ecx, 2
    "4d0f4cec"  # cmovl r13, r12: the last row is repeated if fewer are left
    "4f8d741d00"  # lea r14, [r13+r11]
    "83f903"  # cmp ecx, 3
    "4d0f4cf5"  # cmovl r14, r13
    "4f8d3c1e"  # lea r15, [r14+r11]
    "83f904"  # cmp ecx, 4
    "4d0f4cfe"  # cmovl r15, r14
    "c5f857c0"  # vxorps xmm0, xmm0, xmm0: two sums of eight for each of the four rows
    "c5f057c9"  # vxorps xmm1, xmm1, xmm1
    "c5e857d2"  # vxorps xmm2, xmm2, xmm2
    "c5e057db"  # vxorps xmm3, xmm3, xmm3
    "c5d857e4"  # vxorps xmm4, xmm4, xmm4
    "c5d057ed"  # vxorps xmm5, xmm5, xmm5
    "c5c857f6"  # vxorps xmm6, xmm6, xmm6
    "c5c057ff"  # vxorps xmm7, xmm7, xmm7
    "31c0"  # xor eax, eax
    "0f18940700200000"  # dot: prefetcht1 [rdi+rax+8192]: memory sends what is read soon, to the second cache: in the
    # first, it would take the place of `a`, and 4 rows would take 27 ms of SmolLM2's step instead of 21
    "c57c100407"  # vmovups ymm8, [rdi+rax]: sixteen numbers of the matrix
    "c57c104c0720"  # vmovups ymm9, [rdi+rax+32]
    "c4c23db80404"  # vfmadd231ps ymm0, ymm8, [r12+rax]
    "c4c23db84c0500"  # vfmadd231ps ymm1, ymm8, [r13+rax]
    "c4c23db81406"  # vfmadd231ps ymm2, ymm8, [r14+rax]
    "c4c23db81c07"  # vfmadd231ps ymm3, ymm8, [r15+rax]
    "c4c235b8640420"  # vfmadd231ps ymm4, ymm9, [r12+rax+32]
    "c4c235b86c0520"  # vfmadd231ps ymm5, ymm9, [r13+rax+32]
    "c4c235b8740620"  # vfmadd231ps ymm6, ymm9, [r14+rax+32]
    "c4c235b87c0720"  # vfmadd231ps ymm7, ymm9, [r15+rax+32]
    "4883c040"  # add rax, 64
    "4c39c8"  # cmp rax, r9
    "72af"  # jb dot
    "c5fc58c4"  # vaddps ymm0, ymm0, ymm4: one sum of eight for each row
    "c5f458cd"  # vaddps ymm1, ymm1, ymm5
    "c5ec58d6"  # vaddps ymm2, ymm2, ymm6
    "c5e458df"  # vaddps ymm3, ymm3, ymm7
    "c5ff7cc1"  # vhaddps ymm0, ymm0, ymm1: neighbours are added
    "c5ef7cd3"  # vhaddps ymm2, ymm2, ymm3
    "c5ff7cc2"  # vhaddps ymm0, ymm0, ymm2: each half has a sum for each row
    "c4e37d19c101"  # vextractf128 xmm1, ymm0, 1
    "c5f858c1"  # vaddps xmm0, xmm0, xmm1: xmm0 has the four results
    "4f8d241f"  # lea r12, [r15+r11]
    "b804000000"  # mov eax, 4
    "c5fa100a"  # store: vmovss xmm1, [rdx]
    "c4c17054ca"  # vandps xmm1, xmm1, xmm10: 0 if beta is 0
    "c5f258c8"  # vaddss xmm1, xmm1, xmm0
    "c5fa110a"  # vmovss [rdx], xmm1
    "c4e37904c039"  # vpermilps xmm0, xmm0, 0x39: the next result comes to the front
    "4801da"  # add rdx, rbx
    "ffc9"  # dec ecx
    "7409"  # jz stored
    "ffc8"  # dec eax
    "75de"  # jnz store
    "e915ffffff"  # jmp group
    "5a"  # stored: pop rdx
    "59"  # pop rcx
    "4883c204"  # add rdx, 4
    "4801f7"  # add rdi, rsi
    "41ffc8"  # dec r8d
    "0f85fefeffff"  # jnz column
    "c5f877"  # vzeroupper
    "415f"  # pop r15
    "415e"  # pop r14
    "415d"  # pop r13
    "415c"  # pop r12
    "5b"  # pop rbx
    "c3"  # ret
)
_CODE = _CHOICE + _ONE_ROW + _FEW_ROWS
_ENDS = {"bough_most_rows": 0x24, "bough_matrix_product": 0x59, "bough_row_product": 0xA9}
"""The ends of the instructions that read the slots. Their distances to the slots are counted from these ends."""

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
    hashes = struct.pack("<8I", 1, 2 + len(_SLOTS), 1, 0, 2, 3, 4, 0)
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
