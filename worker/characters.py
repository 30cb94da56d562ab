"""UTF-8 that arrives in pieces, as whole characters; it knows neither tokens nor stop strings.

Python's incremental decoder is not used: it withholds `ED A0` … `ED BF`, though nothing can follow them.
"""

from __future__ import annotations

# Second bytes that may follow a lead byte (Unicode 15, table 3-7); all others take 80…BF.
_SECOND_BYTES = {
    0xE0: range(0xA0, 0xC0),
    0xED: range(0x80, 0xA0),
    0xF0: range(0x90, 0xC0),
    0xF4: range(0x80, 0x90),
}
_CONTINUATION = range(0x80, 0xC0)


def split_characters(data: bytes) -> tuple[str, bytes]:
    """Return the characters of `data` and the bytes at its end that may yet become one (at most 3).

    Bytes that no following byte could make a character are U+FFFD, one for each maximal subpart, as
    `bytes.decode("utf-8", "replace")` counts them.
    """
    try:
        return data.decode(), b""
    except UnicodeDecodeError:
        length = _unfinished_length(data)
        if not length:
            return data.decode("utf-8", "replace"), b""
        return data[:-length].decode("utf-8", "replace"), data[-length:]


def num_bytes_of(data: bytes, num_chars: int) -> int:
    """Return how many bytes of `data` its first `num_chars` characters take, each U+FFFD its maximal subpart."""
    offset = 0
    while True:
        try:
            valid, invalid_end = data[offset:].decode(), None
        except UnicodeDecodeError as error:
            valid, invalid_end = data[offset : offset + error.start].decode(), error.end
        if len(valid) >= num_chars or invalid_end is None:
            return offset + len(valid[:num_chars].encode())
        num_chars -= len(valid) + 1
        offset += invalid_end


def _unfinished_length(data: bytes) -> int:
    for length in range(1, min(3, len(data)) + 1):
        lead = data[-length]
        if lead in _CONTINUATION:
            continue
        if length < _sequence_length(lead):
            seconds = _SECOND_BYTES.get(lead, _CONTINUATION)
            return length if length == 1 or data[1 - length] in seconds else 0
        return 0
    return 0


def _sequence_length(lead: int) -> int:
    if 0xC2 <= lead <= 0xDF:
        return 2
    if 0xE0 <= lead <= 0xEF:
        return 3
    if 0xF0 <= lead <= 0xF4:
        return 4
    return 1
