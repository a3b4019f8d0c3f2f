"""The mutated sources and a test program with them. Objects of what no mutant touches are those of an ordinary build folder.
Mutants that do not compile are dropped: the errors say which.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess

import sites

HEADER = """// Which mutant runs: REEL_MUTANT=n. With -1 none does, and the sites that were reached are appended to a file.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>

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
template <class T, class X>
decltype(auto) like(X&& x) {
  using To = std::remove_cvref_t<T>;
  if constexpr (std::is_arithmetic_v<To> && std::is_arithmetic_v<std::remove_cvref_t<X>>)
    return static_cast<To>(x);
  else
    return std::forward<X>(x);
}
}  // namespace reel_mutants
"""
READ = ["-fmax-errors=0", "-fno-diagnostics-show-caret", "-fdiagnostics-color=never"]
LOCATION = re.compile(r"^(.*?):(\d+):(\d+): +(.*)")
QUOTED = re.compile(r'#include "([^"]+)"')
INCLUDE = re.compile(r"^#include .*$", re.M)
SITE = re.compile(r"(if \(!)?reel_mutants::on\((\d+)\)")
MOST_ROUNDS = 12
JOBS = 2
KERNELS = "lib/kernels/per_isa/reel_kernels_scalar"  # the instruction set whose kernels have the mutants of the table


def write(path, text):
    """Only what changed is written, so that only that is compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != text:
        path.write_bytes(text)
        return True
    return False


def end_of(text, at):
    """Where the bracket that is open at this place is closed, or the end of the line."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth < 0:
            return i
    return len(text)


class Build:
    def __init__(self, root, folder, mutants, left_out=(), base=None):
        self.root, self.folder, self.copy = root, folder, folder / "src"
        self.base = base or root / "build"
        self.left_out = left_out  # keys of mutants that are not made
        self.dropped_file = folder / "dropped.json"
        self.dropped = set(json.loads(self.dropped_file.read_text())) if self.dropped_file.exists() else set()
        self.every = mutants
        self.number = {m.key: n for n, m in enumerate(self.every, 1)}

    @property
    def mutants(self):
        return [m for m in self.every if m.key not in self.dropped and m.key not in self.left_out]

    def save(self):
        self.dropped_file.write_text(json.dumps(sorted(self.dropped), indent=0))
        numbers = {str(self.number[m.key]): m.key for m in self.mutants}
        (self.folder / "mutants.json").write_text(json.dumps(numbers, indent=0))

    def render(self):
        """The mutated files; numbers do not depend on what is dropped."""
        write(self.copy / "lib/reel_mutant.hpp", HEADER.replace("SITES", str(len(self.every) + 1)).encode())
        by_file = {m.file: [] for m in self.every if m.key not in self.left_out}
        for m in self.mutants:
            by_file[m.file].append(m)
        changed = set()
        for file, mutants in by_file.items():
            text = sites.rendered((self.root / file).read_text(), mutants, lambda m: self.number[m.key])
            if write(self.copy / file, f'#include "reel_mutant.hpp"\n#line 1\n{text}'.encode()):
                changed.add(file)
        return changed

    def source(self, file):
        return self.copy / file if (self.copy / file).exists() else self.root / file

    def touched(self):
        """Files of lib that have mutants or include, at any depth, one that has."""
        found = {m.file for m in self.every if m.key not in self.left_out}
        includes = {}
        for path in (self.root / "lib").rglob("*.?pp"):
            includes[str(path.relative_to(self.root))] = QUOTED.findall(path.read_text())
        while more := {f for f, names in includes.items() if f not in found and any("lib/" + n in found for n in names)}:
            found |= more
        return found

    # ---- compile commands

    def commands(self):
        """(object, source, options) of each touched source, as the build folder compiles it."""
        touched = self.touched()
        listed = (self.base / "compile_commands.json").read_text()
        for entry in json.JSONDecoder().raw_decode(listed)[0]:
            file = os.path.normpath(os.path.join("build", entry["file"]))
            output = entry["output"]
            if file in touched and ("libreel_internal" in output or "reel_kernels_scalar" in output):
                words = shlex.split(entry["command"])
                first = next(i for i, w in enumerate(words) if w.startswith("-"))
                self.compiler = words[first - 1]  # without a cache before it
                words = words[first:words.index("-c")]
                for option in ("-MQ", "-MF", "-o", "-include"):  # the precompiled header is one of its own
                    if option in words:
                        at = words.index(option)
                        del words[at:at + 2]
                yield output, file, [w for w in words if w not in ("-MD", "-Werror", "-O3", "-fpch-preprocess")]

    def quick(self, options):
        """The mutated headers come first; time to compile matters more than time to run."""
        return [self.compiler, f"-I{self.copy / 'lib'}", *options, "-w", "-O0", *READ]

    def precompile(self, commands):
        """One header of all that the touched files include and that is not touched itself, compiled once."""
        touched = self.touched()
        lines = {line for _, file, _ in commands if not file.startswith("lib/kernels/")
                 for line in INCLUDE.findall((self.root / file).read_text())}
        lines -= {f'#include "{f.removeprefix("lib/")}"' for f in touched}
        common = self.folder / "common.hpp"
        if not write(common, "".join(f"{line}\n" for line in sorted(lines, reverse=True)).encode()) and \
                common.with_suffix(".hpp.gch").exists():
            return
        options = next(o for _, f, o in commands if not f.startswith("lib/kernels/"))
        subprocess.run([*self.quick(options), "-x", "c++-header", common, "-o", f"{common}.gch"], cwd=self.base, check=True)

    # ---- what does not compile

    def errors(self, output):
        """Each error's locations (where it is, then what required it) and its text."""
        found, required = [], []
        for line in output.splitlines():
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
        path = (self.base / file).resolve()
        original = self.root / path.relative_to(self.copy) if path.is_relative_to(self.copy) else path
        lines = original.read_text().split("\n")
        return name[1] in lines[line - 1]

    def culprits(self, places, whole_line):
        """Numbers of the mutants that an error at these places comes from."""
        for file, line, column in places:
            path = (self.base / file).resolve()
            if not path.is_relative_to(self.copy):
                continue
            lines = path.read_text().split("\n")
            if not lines or "reel_mutant.hpp" not in lines[0]:
                continue
            text = lines[line + 1]
            chosen = [(f.start(), int(f[2])) for f in SITE.finditer(text) if not f[1]]
            chosen = chosen or [(f.start(), int(f[2])) for f in SITE.finditer(text)]  # statements hardly ever fail
            if not chosen:
                continue
            if whole_line:
                return {n for _, n in chosen}
            around = [n for at, n in chosen if at < column <= end_of(text, at)]
            behind = [n for at, n in chosen if at >= column]
            return {around[-1] if around else behind[0] if behind else chosen[-1][1]}
        return set()

    def of_function(self, places):
        """Numbers of all mutants of the functions that an error is in: one in a lambda breaks what the lambda is given to."""
        numbers = set()
        for file, line, _ in places:
            path = (self.base / file).resolve()
            if not path.is_relative_to(self.copy):
                continue
            before = [m for m in self.mutants if m.file == str(path.relative_to(self.copy)) and m.line <= line]
            if before:
                last = max(before, key=lambda m: m.line)
                near = [m for m in self.mutants if (m.file, m.function) == (last.file, last.function)]
                numbers |= {self.number[m.key] for m in near}
        return numbers

    def compile_one(self, command):
        output, file, options = command
        object_ = self.folder / "objects" / output
        object_.parent.mkdir(parents=True, exist_ok=True)
        words = self.quick(options)
        if file.startswith("lib/kernels/"):
            words.append("-O1")
        else:
            words += ["-include", str(self.folder / "common.hpp")]
        run = subprocess.run([*words, "-c", self.source(file), "-o", object_], cwd=self.base, text=True,
                             capture_output=True, env=os.environ | {"LC_ALL": "C"})
        return None if run.returncode == 0 else run.stderr

    def compile(self):
        """Compiles, drops what does not, and so on until all does."""
        keys = {n: k for k, n in self.number.items()}
        commands = list(self.commands())
        self.precompile(commands)
        settled = self.folder / "settled.json"  # sources whose object is up to date, by the text they were made of
        done = json.loads(settled.read_text()) if settled.exists() else {}
        state = lambda: {output: str(max(self.source(f).stat().st_mtime_ns for f in self.depends(file)))
                         for output, file, _ in commands}
        for round_ in range(MOST_ROUNDS):
            now = state()
            pending = [c for c in commands if done.get(c[0]) != now[c[0]]]
            dropped, failed = set(), 0
            with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
                for command, text in zip(pending, pool.map(self.compile_one, pending)):
                    if text is None:
                        done[command[0]] = now[command[0]]
                        settled.write_text(json.dumps(done))
                        continue
                    failed += 1
                    errors = self.errors(text)
                    errors = [e for e in errors if not self.follows(*e)] or errors
                    found = set().union(*(self.culprits(places, round_ >= MOST_ROUNDS - 4) for places, _ in errors))
                    found = found or set().union(*(self.of_function(places) for places, _ in errors))
                    if not found:
                        (self.folder / "compile.log").write_text(text)
                        raise SystemExit(f"{command[1]}: errors that come from no mutant: {self.folder / 'compile.log'}")
                    dropped |= found
            if not failed:
                return
            print(f"round {round_}: {len(dropped)} mutants do not compile, in {failed} of {len(pending)} files", flush=True)
            self.dropped |= {keys[n] for n in dropped}
            self.save()
            self.render()
        raise SystemExit("too many rounds")

    def depends(self, file):
        """The mutated files that a source is made of, itself among them."""
        seen, new = set(), {file}
        while new:
            seen |= new
            new = {"lib/" + n for f in new for n in QUOTED.findall((self.root / f).read_text())
                   if (self.root / "lib" / n).exists()} - seen
        return [file] + [f for f in seen if (self.copy / f).exists()]

    def link(self):
        """The link command of the test program, with archives of its own: mutated objects, no stale tests."""
        listed = subprocess.run(["ninja", "-C", self.base, "-t", "commands", "test/reel_test"], check=True, text=True,
                                capture_output=True).stdout
        words = shlex.split(next(line for line in listed.splitlines() if " -o test/reel_test " in line))
        mutated = {p.name: p for p in (self.folder / "objects/lib").glob("libreel_internal*.a.p/*.o")}
        if kernels := self.localized():
            mutated[kernels.name] = kernels
        words[words.index("test/reel_test")] = str(self.folder / "reel_test")
        for archive, put, drop in ("lib/libreel_internal.a", mutated, ()), ("test/libtest_files.a", {}, self.stale()):
            words[words.index(archive)] = str(self.archive(archive, put, drop))
        subprocess.run(words, cwd=self.base, check=True)

    def archive(self, name, put, drop):
        """A copy of an archive of the base, with objects of `put` in place of those with their names, and none of `drop`."""
        listed = subprocess.run(["ar", "t", name], cwd=self.base, check=True, text=True, capture_output=True).stdout
        members = [put.get(pathlib.Path(m).name, m) for m in listed.splitlines() if m not in drop and (self.base / m).exists()]
        made = self.folder / pathlib.Path(name).name
        made.unlink(missing_ok=True)
        subprocess.run(["ar", "rcs", made, *members], cwd=self.base, check=True)
        return made

    def stale(self):
        """Objects of tests that are older than their sources: they may test what the library does not do any more."""
        planned = subprocess.run(["ninja", "-C", self.base, "-n", "-v", "test/reel_test"], check=True, text=True,
                                 capture_output=True).stdout
        found = set(re.findall(r" -o (test/\S+\.o) ", planned))
        if found:
            print(f"{len(found)} objects of tests are missing or older than their sources, and left out", flush=True)
        return found

    def localized(self):
        """The object of one instruction set, of mutated kernels."""
        made = self.folder / "objects" / f"{KERNELS.replace('reel_k', 'libreel_k')}.a.p"
        if not made.exists():
            return None
        whole = {p.name: p for p in (self.base / made.relative_to(self.folder / "objects")).glob("*.o")}
        whole |= {p.name: p for p in made.glob("*.o")}
        archive, object_ = self.folder / "kernels.a", self.folder / f"{pathlib.Path(KERNELS).name}.o"
        archive.unlink(missing_ok=True)
        subprocess.run(["ar", "rcs", archive, *whole.values()], check=True)
        subprocess.run([self.root / "lib/kernels/per_isa/localize_symbols.sh", "ld", "objcopy", "reel_kernels_scalar", archive, object_], check=True)
        return object_

    def make(self, as_is=False):
        self.folder.mkdir(parents=True, exist_ok=True)
        if not as_is:
            subprocess.run(["ninja", "-C", self.base, "test/reel_test"], check=True)
        self.render()
        self.save()
        self.compile()
        self.link()
