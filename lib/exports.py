"""The module definition file of the DLL: what the recorded ABI lists, by this system's names.

Usage: exports.py NM CXXFILT RECORDED ARCHIVE DEFINITION

An ELF library exports the functions that public headers declare, by their visibility, which COFF objects do not have. The
record's names are those of a system whose std::size_t is unsigned long; here it is unsigned long long.
"""
import pathlib
import re
import subprocess
import sys


def demangled(cxxfilt, names):
    done = subprocess.run([cxxfilt], input="\n".join(names), check=True, capture_output=True, text=True)
    return dict(zip(names, done.stdout.splitlines()))


def by_this_system(signature):
    """long is 32 bits: what is long on the other system is long long here."""
    signature = re.sub(r"\blong\b(?! (?:double|long))(?<!long long)", "long long", signature)
    return re.sub(r"(\d)ul\b", r"\1ull", re.sub(r"(\d)l\b", r"\1ll", signature))


def main():
    nm, cxxfilt, recorded, archive, definition = sys.argv[1:]
    wanted = [line.split()[1] for line in pathlib.Path(recorded).read_text().splitlines() if line.startswith("symbol ")]
    signatures = {by_this_system(name) for name in demangled(cxxfilt, wanted).values()}
    # Classes with virtual functions: exceptions that a program catches.
    classes = {name.rsplit("::~", 1)[0] for name in signatures if "::~" in name}
    signatures |= {f"{kind} for {name}" for kind in ("typeinfo", "typeinfo name", "vtable") for name in classes}
    listed = subprocess.run([nm, "-P", "--defined-only", "--extern-only", archive], check=True, capture_output=True, text=True)
    kinds = {}
    for line in listed.stdout.splitlines():
        name, kind, *_ = [*line.split(), "", ""]
        if name.startswith("_Z"):
            kinds[name] = kind
    found = {name: text for name, text in demangled(cxxfilt, list(kinds)).items() if text in signatures}
    missing = sorted(name for name in signatures - set(found.values()) if not name.startswith(("typeinfo", "vtable")))
    if missing:
        sys.exit("exports: recorded, but not defined:\n  " + "\n  ".join(missing))
    lines = [name if kinds[name] == "T" else f"{name} DATA" for name in sorted(found)]
    pathlib.Path(definition).write_text("EXPORTS\n" + "".join(f"  {line}\n" for line in lines))


if __name__ == "__main__":
    main()
