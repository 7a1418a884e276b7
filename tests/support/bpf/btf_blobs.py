"""BTF of any shape for tests, also such as BtfBuilder does not write: bit-fields, 64-bit enumerations, declarations."""

import struct


class Blob:
    """Types are numbered from 1 in the order they are added."""

    def __init__(self):
        self.types, self.strings, self.count = bytearray(), bytearray(1), 0

    def add(self, name, kind, count=0, size_or_type=0, tail=b"", flag=False):
        at = len(self.strings) if name else 0
        if name:
            self.strings += name.encode() + b"\0"
        self.types += struct.pack("<III", at, int(flag) << 31 | kind << 24 | count, size_or_type) + tail
        self.count += 1
        return self.count

    def string(self, text):
        self.strings += text.encode() + b"\0"
        return len(self.strings) - len(text) - 1

    def integer(self, name, size, signed=False):
        return self.add(name, 1, 0, size, struct.pack("<I", (1 << 24 if signed else 0) | size * 8))

    def pointer(self, target=0):
        return self.add("", 2, 0, target)

    def array(self, element, length, index):
        return self.add("", 3, 0, 0, struct.pack("<III", element, index, length))

    def structure(self, name, size, members, kind=4):
        """`members` are (name, type, offset in bits, bits)."""
        flag = any(bits for *_, bits in members)
        tail = b"".join(
            struct.pack("<III", self.string(each) if each else 0, type_, offset | (bits << 24 if flag else 0))
            for each, type_, offset, bits in members
        )
        return self.add(name, kind, len(members), size, tail, flag)

    def enumeration(self, name, values, wide=False, signed=False):
        tail = b""
        for each, value in values:
            tail += struct.pack("<I", self.string(each))
            tail += (value & (1 << (64 if wide else 32)) - 1).to_bytes(8 if wide else 4, "little")
        return self.add(name, 19 if wide else 6, len(values), 8 if wide else 4, tail, signed)

    def typedef(self, name, target):
        return self.add(name, 8, 0, target)

    def forward(self, name):
        return self.add(name, 7)

    def build(self):
        header = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(self.types), len(self.types), len(self.strings))
        return header + bytes(self.types) + bytes(self.strings)
