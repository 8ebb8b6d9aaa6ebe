"""Reads BERTH notes the way a host has to: through the program headers, every length checked."""

import struct

PT_NOTE = 4


def notes(path):
    """{type: payload} of the notes whose owner is BERTH; of several of one type, a list."""
    data = open(path, "rb").read()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{path} is not a little-endian 64-bit ELF file")
    phoff, = struct.unpack_from("<Q", data, 32)
    phentsize, phnum = struct.unpack_from("<HH", data, 54)
    found = {}
    for index in range(phnum):
        kind, _, offset, _, _, size, _, align = struct.unpack_from("<IIQQQQQQ", data, phoff + index * phentsize)
        if kind != PT_NOTE:
            continue
        step = 8 if align == 8 else 4
        at, end = offset, offset + size
        while at + 12 <= min(end, len(data)):
            namesz, descsz, note_type = struct.unpack_from("<III", data, at)
            name = at + 12
            payload = name + (namesz + step - 1) // step * step
            if payload + descsz > end:
                raise ValueError(f"{path}: a note reaches beyond its segment")
            if data[name:name + namesz] == b"BERTH\0":
                found.setdefault(note_type, []).append(data[payload:payload + descsz])
            at = payload + (descsz + step - 1) // step * step
    return found
