"""Fails when a configuration that is asked of Meson gives kernels it must not give: one `meson setup` each, and no build. One
source is checked by the compiler.

Usage: configurations.py SOURCE_ROOT NATIVE_FAMILY COMPILER
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

source, family, compiler = sys.argv[1:]
meson = shutil.which("meson")
if not meson:
    print("meson is not in PATH")
    sys.exit(77)
environment = {name: value for name, value in os.environ.items() if name not in ("CXXFLAGS", "CPPFLAGS", "LDFLAGS")}
bad = []


def setup(name, *arguments, **variables):
    """(exit status, output) of meson setup in the folder work/name."""
    command = [meson, "setup", work / name, source, "--wrap-mode=nofallback", "-Dtests=disabled", "-Dsamples=false", *arguments]
    run = subprocess.run(command, env={**environment, "CXX": compiler, **variables}, capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


def refuses(name, message, *arguments):
    status, output = setup(name, *arguments)
    if status == 0 or message not in output:
        bad.append(f"{name}: status {status}, expected an error with '{message}' in\n{output}")


def user_flags():
    """What distributions put into CXXFLAGS must neither slow kernels down nor make LTO objects of them. Flags of a better
    instruction set, as -march=native is on many machines, compile in the lesser ones."""
    better = " -march=x86-64-v4" if family == "x86_64" else ""
    status, output = setup("flags", CXXFLAGS="-O2 -flto=auto" + better)
    if status:
        bad.append(f"flags: {output}")
        return
    text = subprocess.run([meson, "introspect", "--targets", work / "flags"], capture_output=True, text=True, check=True).stdout
    kernels = [target for target in json.loads(text) if target["name"].startswith("reel_kernels_") and target["type"] == "static library"]
    if len(kernels) < 2:
        bad.append(f"flags: {len(kernels)} instruction sets")
    for target in kernels:
        flags = next(group["parameters"] for group in target["target_sources"] if group.get("language") == "cpp")
        scalar = target["name"].startswith("reel_kernels_scalar")
        own = "-Os" if scalar else "-O2" if target["name"] == "reel_kernels_sse2" else "-O3"
        for what, wanted in (("-O", ["-O2", own]), ("lto", ["-flto=auto", "-fno-lto"])):
            found = [flag for flag in flags if what in flag]
            if not set(wanted) <= set(found) or found[-1] != wanted[1]:
                bad.append(f"flags: {target['name']} has {found}, expected {wanted}")
    for command in json.loads((work / "flags/compile_commands.json").read_text()):
        if re.search(r"reel_kernels_(?:sse2|scalar).*/powers\.cpp\.o$", command["output"]):
            run = subprocess.run(command["command"] + " -fsyntax-only -MF /dev/null", shell=True, cwd=command["directory"],
                                 capture_output=True, text=True)
            if run.returncode:
                bad.append(f"flags: {command['output']}: {run.stderr}")


foreign, isa = ("x86_64", "avx2") if family == "aarch64" else ("aarch64", "neon64")
with tempfile.TemporaryDirectory() as folder:
    work = pathlib.Path(folder)
    user_flags()
    refuses("foreign kernels", f"{isa} is not an instruction set of {family}", f"-Dinstruction_sets={isa}")
    # A compiler for this machine stands in for a cross compiler that comes without binutils.
    cross = work / "cross.ini"
    cross.write_text(f"[binaries]\ncpp = {compiler.split()!r}\nar = 'ar'\npkgconfig = 'pkg-config'\npkg-config = 'pkg-config'\n"
                     f"[host_machine]\nsystem = 'linux'\ncpu_family = '{foreign}'\ncpu = '{foreign}'\nendian = 'little'\n")
    refuses("foreign tools", f"no ld for {foreign}", f"--cross-file={cross}")
print("\n".join(bad) or "all as they should be")
sys.exit(bool(bad))
