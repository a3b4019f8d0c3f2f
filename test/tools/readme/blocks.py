"""Turns the C++ blocks of the README and of the pages of samples into sources that a test compiles and runs.

Usage: blocks.py ROOT FRAGMENTS PROGRAM PAGE... The one block with its own main goes to PROGRAM; the others become functions
of FRAGMENTS, called one after another, in which assert is a check that counts in every build. A failed one prints its page
and line. A block of output (```text) must follow the program, whose output output.py compares with it. A comment before a
block says what is special: <!-- needs HEADER FOREIGN --> that it takes a header, and is left out where the foreign header
is not installed; <!-- from FILE --> that it is a part of a file of the tree, with that file's lines. Functions that a
fragment differentiates are checked in every mode (modes.hpp); <!-- modes without MODE, MODE: REASON --> in front of a block
lists the modes that do not apply to it.
"""
import pathlib
import re
import sys

root, fragments, program, *pages = (pathlib.Path(p) for p in sys.argv[1:])
BLOCK = re.compile(r"^(?:<!-- (needs|from) ([^\n]*) -->\n)?(?:<!-- modes without ([^\n:]*): [^\n]+ -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
programs, functions, optional = [], [], set()
for page in pages:
    text, before, found = page.read_text(), "", 0
    for match in BLOCK.finditer(text):
        kind, names, modes, language, block = match.groups()
        if language == "text":
            assert "int main()" in before, f"{page}: nothing compares this output: {block}"
        elif language == "cpp" and "int main()" in block:
            programs.append(block)
        elif kind == "from":
            assert block in (root / names).read_text(), f"{page}: {names} does not have these lines: {block}"
        elif language == "cpp":
            line = text.count("\n", 0, match.start(5)) + 1
            function = f'#line {line} "{page.resolve()}"\n{block}'
            if kind == "needs":
                header, foreign = names.split()
                optional.add(f"#if __has_include(<{foreign}>)\n#include <{header}>\n#endif\n")
                function = f"#if __has_include(<{foreign}>)\n{function}#endif\n"
            functions.append((function, f"{page.resolve().relative_to(root.resolve())}:{line}", [mode.strip() for mode in (modes or "").split(",") if mode]))
            found += 1
        before = block
    assert found, f"{page}: no fragments"
assert len(programs) == 1, f"{len(programs)} complete programs in the pages, 1 expected"
program.write_text(programs[0])
parts = ['#include <cmath>\n#include <cstdio>\n#include <cstdlib>\n#include <fstream>\n#include <numbers>\n#include <reel/codegen.hpp>\n#include <reel/compile.hpp>\n#include <reel/fft.hpp>\n#include <reel/geometry.hpp>\n#include <reel/elementwise.hpp>\n#include <reel/solve/equations.hpp>\n#include <reel/solve/integrate.hpp>\n#include <reel/interpolate.hpp>\n#include <reel/io.hpp>\n#include <reel/linalg.hpp>\n#include <reel/optim/minimize.hpp>\n#include <reel/ode.hpp>\n#include <reel/optim.hpp>\n#include <reel/reel.hpp>\n#include <reel/sparse.hpp>\n'
         '#include <reel/testing.hpp>\n' + "".join(sorted(optional)) + 'using namespace reel;\n'
         '#undef assert\n#define assert(...) ((__VA_ARGS__) ? void() : (std::printf("%s:%d: %s\\n", __FILE__, __LINE__, #__VA_ARGS__), std::exit(1)))\n']
parts.append('#include "readme/modes.hpp"\nnamespace pages {\n')
parts += [f"static void block_{i}() {{\n{function}}}\n" for i, (function, _, _) in enumerate(functions)]
parts.append("}  // namespace pages\nint main() {\n")
for i, (_, place, modes) in enumerate(functions):
    parts.append(f'  pages::run("{place}", {{{", ".join(chr(34) + mode + chr(34) for mode in modes)}}}, pages::block_{i});\n')
parts.append('  std::printf("%d functions in every mode\\n", pages::functions);\n  return pages::failures != 0;\n}\n')
fragments.write_text("".join(parts))
