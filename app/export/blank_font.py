"""A font all of whose characters are blank, so that a PDF can hold text that it does not show; it knows no Qt.

Qt names no character beyond 16 bits in a PDF. What is drawn as lines there has a blank of this font under it: one of
the private characters, to which the PDF then gives the meaning that it has at this place.
"""

from __future__ import annotations

import struct

FAMILY = "BoughBlank"
FIRST, NUM = 0xE000, 6400
"""Its characters: those of the private use area."""

_EM = 1000
_ASCENT = 800


def blank_font() -> bytes:
    """Return the font as a TrueType file: each character is an em wide."""
    num_glyphs = NUM + 1
    head = struct.pack(
        ">IIIIHHqqhhhhHHhhh", 0x10000, 0x10000, 0, 0x5F0F3CF5, 0b11, _EM, 0, 0, 0, 0, _EM, _ASCENT, 0, 8, 2, 0, 0
    )
    hhea = struct.pack(">IhhhHhhhhhhhhhhhH", 0x10000, _ASCENT, _ASCENT - _EM, 0, _EM, 0, 0, _EM, 1, *[0] * 7, 1)
    maxp = struct.pack(">IH13H", 0x10000, num_glyphs, *[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    os2 = struct.pack(
        ">HhHHHhhhhhhhhhhh10sIIII4sHHHhhhHHIIhhHHH",
        *(4, _EM, 400, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        *(bytes(10), 0, 1 << 28, 0, 0, b"BOUG", 64, FIRST, FIRST + NUM - 1),
        *(_ASCENT, _ASCENT - _EM, 0, _ASCENT, _EM - _ASCENT, 1, 0, 500, 700, 0, 32, 1),
    )
    tables = {
        b"OS/2": os2,
        b"cmap": _cmap(),
        b"glyf": bytes(4),
        b"head": head,
        b"hhea": hhea,
        b"hmtx": struct.pack(">Hh", _EM, 0) + bytes(2 * (num_glyphs - 1)),
        b"loca": bytes(2 * (num_glyphs + 1)),
        b"maxp": maxp,
        b"name": _name(),
        b"post": struct.pack(">IIhhIIIII", 0x30000, 0, 0, 0, 0, 0, 0, 0, 0),
    }
    return _file(tables)


def _cmap() -> bytes:
    """One run of characters to one run of glyphs, from 1 (format 4)."""
    last = FIRST + NUM - 1
    body = struct.pack(">HHHH", 4, 4, 1, 0)
    body += struct.pack(">HHH", last, 0xFFFF, 0)
    body += struct.pack(">HHHHHH", FIRST, 0xFFFF, (1 - FIRST) & 0xFFFF, 1, 0, 0)
    subtable = struct.pack(">HHH", 4, len(body) + 6, 0) + body
    return struct.pack(">HHHHI", 0, 1, 3, 1, 12) + subtable


def _name() -> bytes:
    texts = {1: FAMILY, 2: "Regular", 3: FAMILY, 4: FAMILY, 5: "Version 1.0", 6: FAMILY}
    records, data = b"", b""
    for number, text in texts.items():
        encoded = text.encode("utf-16-be")
        records += struct.pack(">HHHHHH", 3, 1, 0x409, number, len(encoded), len(data))
        data += encoded
    return struct.pack(">HHH", 0, len(texts), 6 + len(records)) + records + data


def _file(tables: dict[bytes, bytes]) -> bytes:
    """Put tables into one file, each with its checksum."""
    power = 1 << (len(tables).bit_length() - 1)
    head = struct.pack(">IHHHH", 0x10000, len(tables), 16 * power, power.bit_length() - 1, 16 * (len(tables) - power))
    start = len(head) + 16 * len(tables)
    records, data, head_at = b"", b"", 0
    for tag, table in sorted(tables.items()):
        if tag == b"head":
            head_at = start + len(data)
        records += struct.pack(">4sIII", tag, _checksum(table), start + len(data), len(table))
        data += table + bytes(-len(table) % 4)
    whole = bytearray(head + records + data)
    struct.pack_into(">I", whole, head_at + 8, (0xB1B0AFBA - _checksum(bytes(whole))) & 0xFFFFFFFF)
    return bytes(whole)


def _checksum(data: bytes) -> int:
    data += bytes(-len(data) % 4)
    return sum(struct.unpack(f">{len(data) // 4}I", data)) & 0xFFFFFFFF
