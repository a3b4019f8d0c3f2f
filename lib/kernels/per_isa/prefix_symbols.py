"""One COFF object of those in an archive, with a prefix before every name that they define, but for one.

Usage: prefix_symbols.py PREFIX ENTRY ARCHIVE OBJECT

Of an inline function the linker keeps one copy for the whole program, chosen by its name. In ELF objects localize_symbols.sh makes
the copies of a set of kernels local. In COFF objects ld -r and objcopy cannot: they lose which symbol a COMDAT section is chosen by.
The format is that of Microsoft's "PE Format", written with 32-bit section numbers (/bigobj).
"""
import pathlib
import struct
import sys

EXTERNAL, STATIC, WEAK = 2, 3, 105  # storage classes
UNINITIALIZED = 0x80                # of a section's flags: it has no bytes
MANY_RELOCATIONS = 0x01000000       # their number stands in the first one
REFERENCE = ".refptr."              # a pointer to what may be in another DLL
BIG = bytes.fromhex("c7a1bad1eebaa94baf20faf66aa4dcb8")


def members(archive):
    """The objects of an archive, which may be thin: then it names files beside itself."""
    data = archive.read_bytes()
    thin, at, names = data.startswith(b"!<thin>\n"), 8, b""
    while at < len(data):
        name, size = data[at:at + 16].rstrip().decode(), int(data[at + 48:at + 58])
        begin, special = at + 60, name in ("/", "//", "/SYM64/")
        held = special or not thin
        if name == "//":
            names = data[begin:begin + size]
        elif not special:
            if name[1:].isdigit():
                name = names[int(name[1:]):].split(b"\n")[0].decode()
            yield (archive.parent / name.rstrip("/")).read_bytes() if thin else data[begin:begin + size]
        at = begin + (size + size % 2 if held else 0)


class Object:
    def __init__(self, data):
        self.data = data
        if struct.unpack_from("<HH", data) == (0, 0xffff):
            section_count, self.symbols_at, self.symbol_count = struct.unpack_from("<III", data, 44)
            self.sections_at, self.record, self.section_of = 56, 20, "<i"
        else:
            section_count, _, self.symbols_at, self.symbol_count, optional = struct.unpack_from("<HIIIH", data, 2)
            self.sections_at, self.record, self.section_of = 20 + optional, 18, "<h"
        self.strings_at = self.symbols_at + self.symbol_count * self.record
        self.headers = [data[at:at + 40] for at in range(self.sections_at, self.sections_at + 40 * section_count, 40)]

    def text(self, offset):
        begin = self.strings_at + offset
        return self.data[begin:self.data.index(b"\0", begin)].decode()

    def section_name(self, header):
        name = header[:8].rstrip(b"\0").decode()
        return self.text(int(name[1:])) if name.startswith("/") else name

    def symbols(self):
        """Name, the fields behind it, section, storage class and auxiliary records of each symbol."""
        index = 0
        while index < self.symbol_count:
            at = self.symbols_at + index * self.record
            zero, offset = struct.unpack_from("<II", self.data, at)
            name = self.text(offset) if zero == 0 else self.data[at:at + 8].rstrip(b"\0").decode()
            section = struct.unpack_from(self.section_of, self.data, at + 12)[0]
            kind, storage, more = struct.unpack_from("<HBB", self.data, at + self.record - 4)
            yield name, self.data[at + 8:at + 12], section, kind, storage, [
                self.data[a:a + 18] for a in range(at + self.record, at + (1 + more) * self.record, self.record)]
            index += 1 + more

    def relocations(self, header):
        at, count = struct.unpack_from("<I", header, 24)[0], struct.unpack_from("<H", header, 32)[0]
        if struct.unpack_from("<I", header, 36)[0] & MANY_RELOCATIONS:
            count, at = struct.unpack_from("<I", self.data, at)[0] - 1, at + 10
        return struct.iter_unpack("<IIH", self.data[at:at + 10 * count])


class Merged:
    def __init__(self, rename):
        self.rename, self.strings = rename, bytearray(4)
        self.headers, self.bodies, self.symbols, self.symbol_count = [], [], bytearray(), 0

    def string(self, name):
        self.strings += name.encode() + b"\0"
        return len(self.strings) - len(name.encode()) - 1

    def section_name(self, name):
        field = name if len(name) <= 8 else f"/{self.string(name)}"
        if len(field) > 8:
            sys.exit("prefix_symbols: more than 10 MB of names")
        return field.encode().ljust(8, b"\0")

    def add(self, one):
        first_section, first_symbol = len(self.headers), self.symbol_count
        for header in one.headers:
            size, at = struct.unpack_from("<II", header, 16)
            flags = struct.unpack_from("<I", header, 36)[0]
            body = b"" if flags & UNINITIALIZED or not at else one.data[at:at + size]
            relocations = [struct.pack("<IIH", where, symbol + first_symbol, kind) for where, symbol, kind in one.relocations(header)]
            self.headers.append((self.section_name(self.rename(one.section_name(header))), size, flags & ~MANY_RELOCATIONS))
            self.bodies.append((body, relocations))
        for name, value, section, kind, storage, more in one.symbols():
            new = self.rename(name).encode()
            self.symbols += new.ljust(8, b"\0") if len(new) <= 8 else struct.pack("<II", 0, self.string(new.decode()))
            self.symbols += value + struct.pack("<iHBB", section + first_section if section > 0 else section, kind, storage, len(more))
            for record in more:
                if storage == WEAK:  # the symbol that stands in
                    record = struct.pack("<I", struct.unpack_from("<I", record)[0] + first_symbol) + record[4:]
                elif storage == STATIC and section > 0 and record[14] == 5:  # associative: the section it goes with
                    other = struct.unpack_from("<H", record, 12)[0] + (struct.unpack_from("<H", record, 16)[0] << 16) + first_section
                    record = record[:12] + struct.pack("<HBBH", other & 0xffff, 5, 0, other >> 16)
                self.symbols += record.ljust(20, b"\0")
            self.symbol_count += 1 + len(more)

    def written(self):
        at, headers, bodies = 56 + 40 * len(self.headers), bytearray(), bytearray()
        for (name, size, flags), (body, relocations) in zip(self.headers, self.bodies):
            many = len(relocations) >= 0xffff
            if many:
                relocations = [struct.pack("<IIH", len(relocations) + 1, 0, 0), *relocations]
            begin = at + len(bodies)
            bodies += body + b"".join(relocations)
            headers += name + struct.pack("<IIIIIIHHI", 0, 0, size, begin if body else 0, begin + len(body) if relocations else 0, 0,
                                          min(len(relocations), 0xffff), 0, flags | (MANY_RELOCATIONS if many else 0))
        struct.pack_into("<I", self.strings, 0, len(self.strings))
        header = struct.pack("<HHHHI16s4I3I", 0, 0xffff, 2, 0x8664, 0, BIG, 0, 0, 0, 0, len(self.headers), at + len(bodies), self.symbol_count)
        return bytes(header + headers + bodies + self.symbols + self.strings)


def main():
    prefix, entry, archive, target = sys.argv[1:]
    objects = [Object(data) for data in members(pathlib.Path(archive))]
    ours = {name for each in objects for name, _, section, _, storage, _ in each.symbols()
            if storage == EXTERNAL and section > 0 and not name.startswith(REFERENCE)} - {entry}
    if not ours:
        sys.exit(f"prefix_symbols: {archive} defines nothing")

    def rename(name):
        head, dollar, tail = name.partition("$")  # a section: .text$function
        if dollar and head.startswith("."):
            return head + dollar + rename(tail)
        if name.startswith(REFERENCE):
            return REFERENCE + rename(name[len(REFERENCE):])
        return f"{prefix}.{name}" if name in ours else name

    merged = Merged(rename)
    for each in objects:
        merged.add(each)
    pathlib.Path(target).write_bytes(merged.written())


if __name__ == "__main__":
    main()
