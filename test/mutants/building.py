"""The mutated copy of the sources and its test program. Mutants that do not compile are dropped: the errors say which."""
import json
import os
import re
import subprocess

import sites

HEADER = """// Which mutant runs: REEL_MUTANT=n. With -1 none does, and the sites that were reached are appended to a file.
#pragma once
#include <cstdio>
#include <cstdlib>

namespace reel_mutants {
inline const int chosen = [] {
  const char* n = std::getenv("REEL_MUTANT");
  return n ? std::atoi(n) : 0;
}();
struct Reached {
  bool site[SITES];
  ~Reached() {
    const char* path = chosen < 0 ? std::getenv("REEL_MUTANT_REACHED") : nullptr;
    std::FILE* file = path ? std::fopen(path, "a") : nullptr;
    if (!file) return;
    for (int n = 0; n < SITES; ++n)
      if (site[n]) std::fprintf(file, "%d\\n", n);
    std::fclose(file);
  }
};
inline Reached reached;
inline bool on(int n) {
  if (chosen >= 0) [[likely]]
    return n == chosen;
  return reached.site[n] = true, false;
}
}  // namespace reel_mutants
"""
# The compiler of the copy. What no mutant touches is compiled as everywhere, so that a cache has it; the rest quickly.
COMPILER = """#!/bin/sh
cache=$(command -v ccache)
for file in "$@"; do
  case $file in
    *.cpp) grep -qx "${file##*../}" TOUCHED && exec c++ "$@" -w -O1 -fmax-errors=0 -fno-diagnostics-show-caret -fdiagnostics-color=never ;;
  esac
done
exec $cache c++ "$@"
"""
COPIED = ["lib", "include", "test", "bench", "subprojects", "meson.build", "meson_options.txt", "README.md", "LICENSE"]
LOCATION = re.compile(r"^(.*?):(\d+):(\d+): +(.*)")
MOST_ROUNDS = 12
JOBS = 3


def write(path, text):
    """Only what changed is written, so that only that is compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != text:
        path.write_bytes(text)
        return True
    return False


class Build:
    def __init__(self, root, folder, mutants, tests=None, left_out=()):
        self.left_out = left_out  # files that stay as they are
        self.tests = tests  # a regular expression of test files; None: all
        self.root, self.folder, self.source = root, folder, folder / "src"
        self.build = self.source / "build"
        self.dropped_file = folder / "dropped.json"
        self.dropped = set(json.loads(self.dropped_file.read_text())) if self.dropped_file.exists() else set()
        self.every = mutants

    @property
    def mutants(self):
        return [m for m in self.every if m.key not in self.dropped and m.file not in self.left_out]

    def save(self):
        self.dropped_file.write_text(json.dumps(sorted(self.dropped), indent=0))
        numbers = {str(self.number[m.key]): m.key for m in self.mutants}
        (self.folder / "mutants.json").write_text(json.dumps(numbers, indent=0))

    def copy(self):
        names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *COPIED], cwd=self.root, check=True,
                               text=True, capture_output=True)
        mutated = {m.file for m in self.every}
        for name in names.stdout.split():
            if name in mutated or not (self.root / name).is_file():
                continue
            data = (self.root / name).read_bytes()
            if name == "test/meson.build" and self.tests:
                listed, rest = data.decode().split("test_parts = [")
                listed = "".join(line for line in listed.splitlines(True)
                                 if not line.startswith("  '") or re.search(self.tests, line))
                data = f"{listed}test_parts = [{rest}".encode()
            if write(self.source / name, data) and (self.root / name).stat().st_mode & 0o100:
                (self.source / name).chmod(0o755)
        write(self.source / "lib/reel_mutant.hpp", HEADER.replace("SITES", str(len(self.every) + 1)).encode())

    def touched(self):
        """Files of lib that have mutants or include, at any depth, one that has."""
        found = {m.file for m in self.every if m.file not in self.left_out}
        includes = {}
        for path in (self.source / "lib").rglob("*.?pp"):
            includes[str(path.relative_to(self.source))] = re.findall(r'#include "([^"]+)"', path.read_text())
        while more := {f for f, names in includes.items() if f not in found and any("lib/" + n in found for n in names)}:
            found |= more
        return sorted(found)

    def render(self):
        """The mutated files; numbers do not depend on what is dropped."""
        self.number = {m.key: n for n, m in enumerate(self.every, 1)}
        by_file = {m.file: [] for m in self.every}
        for m in self.mutants:
            by_file[m.file].append(m)
        changed = set()
        for file, mutants in by_file.items():
            text = sites.rendered((self.root / file).read_text(), mutants, lambda m: self.number[m.key])
            if write(self.source / file, f'#include "reel_mutant.hpp"\n#line 1\n{text}'.encode()):
                changed.add(file)
        return changed

    def errors(self, output):
        """Of the output of ninja, each error's locations (where it is, then what required it) and its text."""
        found, required = [], []
        for line in output.splitlines():
            if line.startswith(("FAILED:", "[")):
                required = []
            if at := LOCATION.match(line):
                place = (at[1], int(at[2]), int(at[3]))
                if "required from" in at[4] or "in 'constexpr' expansion" in at[4]:
                    required.append(place)
                elif at[4].startswith(("error", "fatal error")):
                    found.append(([place] + required, at[4]))
                    required = []
        return found

    def follows(self, places, message):
        """Whether an error only follows from another: a name that the original has is not declared any more."""
        name = re.search(r"'(\w+)' was not declared", message)
        if not name or not places:
            return False
        file, line, _ = places[0]
        path = (self.build / file).resolve()
        original = self.root / path.relative_to(self.source.resolve()) if path.is_relative_to(self.source.resolve()) else path
        lines = original.read_text().split("\n")
        return name[1] in lines[line - 1]

    def culprits(self, places, whole_line):
        """Numbers of the mutants that an error at these places comes from."""
        for file, line, column in places:
            path = (self.build / file).resolve()
            if not path.is_relative_to(self.source.resolve()):
                continue
            lines = path.read_text().split("\n")
            if not lines or "reel_mutant.hpp" not in lines[0]:
                continue
            text = lines[line + 1]
            sites = [(f.start() + 1, int(f[1])) for f in re.finditer(r"reel_mutants::on\((\d+)\)", text)]
            if not sites:
                continue
            if whole_line:
                return {n for _, n in sites}
            before = [n for at, n in sites if at <= column]
            return {before[-1] if before else sites[0][1]}
        return set()

    def compile(self):
        """Compiles, drops what does not, and so on until all does."""
        keys = {n: k for k, n in self.number.items()}
        command = ["nice", "ninja", "-C", self.build, "-k", "0", "-j", str(JOBS), "test/reel_test"]
        for round_ in range(MOST_ROUNDS):
            run = subprocess.run(command, text=True, capture_output=True, env=os.environ | {"LC_ALL": "C"})
            if run.returncode == 0:
                return
            (self.folder / "compile.log").write_text(run.stdout + run.stderr)
            errors = self.errors(run.stdout)
            errors = [e for e in errors if not self.follows(*e)] or errors
            dropped = set()
            for places, _ in errors:
                dropped |= self.culprits(places, round_ >= MOST_ROUNDS - 3)
            failed = re.findall(r"^FAILED: (\S+)", run.stdout, re.M)
            print(f"round {round_}: {len(dropped)} mutants do not compile, in {len(failed)} objects", flush=True)
            if not dropped:
                raise SystemExit(f"errors that come from no mutant: {self.folder / 'compile.log'}")
            self.dropped |= {keys[n] for n in dropped}
            self.save()
            self.render()
        raise SystemExit("too many rounds")

    def make(self):
        self.copy()
        self.render()
        self.save()
        write(self.folder / "touched.txt", "".join(f"{f}\n" for f in self.touched()).encode())
        compiler = self.folder / "compiler"
        write(compiler, COMPILER.replace("TOUCHED", str(self.folder / "touched.txt")).encode())
        compiler.chmod(0o755)
        if not (self.build / "build.ninja").exists():
            subprocess.run(["meson", "setup", self.build, self.source, "-Dtests=enabled", "-Dsamples=false",
                            "-Dwerror=true", "-Dinstruction_sets=scalar"], check=True, stdout=subprocess.DEVNULL,
                           env=os.environ | {"CXX": str(compiler), "CXXFLAGS": "-fpch-preprocess"})
        self.compile()
