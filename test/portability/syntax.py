"""All sources of the library through another compiler's front end (-fsyntax-only), for a system that this machine does not build for.

Usage: syntax.py ROOT FOLDER [--sets SET,...] COMPILER FLAG...

FOLDER gets what Meson would generate, and links to the headers of third parties, which are the same on every system. Sources without
vectors are read 80 at a time, as parts of a unity build; the kernels, as one source, for each of the instruction sets, scalar by
default. OpenBLAS is left out.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

AT_A_TIME = 80
HEADERS = ["fmt", "oneapi", "tbb", "xsimd", "nlohmann", "sleef.h", "zlib.h", "zconf.h"]
FOLDERS = ["/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu"]
FLAGS = {"avx512": ["-mavx512f", "-mavx512cd", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx2", "-mfma"], "avx2": ["-mavx2", "-mfma"]}
LEFT_OUT = ["mpi/", "kernels/blas.cpp", "kernels/openblas.cpp",                # need MPI and OpenBLAS
            "io/npz/npz_unavailable.cpp", "io/safetensors_unavailable.cpp"]  # instead of what needs zlib and nlohmann-json


def kernel_families(lib):
    """The sources of each family of kernels, by their paths in lib, from the meson.build of their folders."""
    families = {}
    for build in sorted(lib.rglob("meson.build")):
        for each in re.findall(r"^kernel_families \+?= \{(.*?)\}", build.read_text(), re.MULTILINE | re.DOTALL):
            for name, files in re.findall(r"'(\w+)': files\((.*?)\)", each, re.DOTALL):
                families[name] = [str((build.parent / file).relative_to(lib)) for file in re.findall(r"'(.+?)'", files)]
    return families


def generate(root, folder, sets, families):
    """What lib/meson.build would, and links to third parties' headers."""
    for name in HEADERS:
        found = [pathlib.Path(place) / name for place in FOLDERS if (pathlib.Path(place) / name).exists()]
        if found and not (folder / name).is_symlink():
            (folder / name).symlink_to(found[0])
    values = {"known": "avx512, avx2, sse2, neon64, scalar", "built": " ".join(f"f({each})" for each in sets), "version": "0",
              "enumerators": ", ".join(families), "count": str(len(families)), "each": " ".join(f"f({each})" for each in families)}
    for template in (root / "lib").rglob("*.hpp.in"):
        target = folder / template.relative_to(root / "lib").with_suffix("")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(re.sub(r"@(\w+)@", lambda match: values[match[1]], template.read_text()))


def main():
    arguments = sys.argv[1:]
    root, folder = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve()
    sets, command = ["scalar"], arguments[2:]
    if command[0] == "--sets":
        sets, command = command[1].split(","), command[2:]
    folder.mkdir(parents=True, exist_ok=True)
    families = kernel_families(root / "lib")
    generate(root, folder, sets, families)
    windows = "mingw" in command[0] or any("windows" in flag for flag in command)
    lib = root / "lib"
    names = sorted(str(path.relative_to(lib)) for path in lib.rglob("*.cpp"))
    names = [name for name in names if not any(name.startswith(each) for each in LEFT_OUT)]
    names = [name for name in names if not name.startswith(f"core/system/{'posix' if windows else 'windows'}")]
    common = [*command, "-std=c++20", "-O1", "-fsyntax-only", "-w", "-DREEL_WITHOUT_LAPACK", f"-I{root / 'include'}", f"-I{lib}", f"-isystem{folder}"]
    jobs = []
    system = [name for name in names if name.startswith("core/system/")]  # alone: the system's headers define macros
    jobs += [(name, common, f'#include "{lib / name}"\n') for name in system]
    kernel_sources = ["kernels/per_isa/entry.cpp", *(name for sources in families.values() for name in sources)]
    plain = [name for name in names if name not in kernel_sources and name not in system]
    for at in range(0, len(plain), AT_A_TIME):
        group = plain[at:at + AT_A_TIME]
        jobs.append((" ".join(group), common, "".join(f'#include "{lib / name}"\n' for name in group)))
    kernels = "".join(f'#include "{lib / name}"\n' for name in kernel_sources)
    jobs += [(f"kernels for {isa}", [*common, f"-DREEL_KERNEL_ISA={isa}", *FLAGS.get(isa, [])], kernels) for isa in sets]

    def run(job):
        what, flags, text = job
        done = subprocess.run([*flags, "-x", "c++", "-"], input=text, capture_output=True, text=True)
        return what, done.returncode, done.stderr

    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for what, status, text in pool.map(run, jobs):
            if status:
                bad += 1
                print(f"== {what}\n" + "\n".join(line for line in text.splitlines() if "error" in line or "required from here" in line)[:6000], flush=True)
    print(f"{len(names)} sources, {len(jobs)} runs of {command[0]}, {bad} failed")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
