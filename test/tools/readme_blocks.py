"""Turns the README's C++ blocks into sources that a test compiles and runs.

Usage: readme_blocks.py README FRAGMENTS PROGRAM. A block with its own main goes to PROGRAM; the others become functions
of FRAGMENTS, called one after another, in which assert is a check that counts in every build.
"""
import pathlib
import re
import sys

readme, fragments, program = (pathlib.Path(p) for p in sys.argv[1:])
blocks = re.findall(r"^```cpp\n(.*?)^```$", readme.read_text(), re.MULTILINE | re.DOTALL)
programs = [b for b in blocks if "int main()" in b]
assert len(programs) == 1, f"{len(programs)} complete programs in the README, 1 expected"
program.write_text(programs[0])
parts = [b for b in blocks if b not in programs]
assert parts, "the README has no fragments"
text = ['#include <cstdio>\n#include <cstdlib>\n#include <reel/elementwise.hpp>\n#include <reel/optim.hpp>\n#include <reel/reel.hpp>\n'
        '#include <reel/testing.hpp>\nusing namespace reel;\n'
        '#define assert(...) ((__VA_ARGS__) ? void() : (std::puts(#__VA_ARGS__), std::exit(1)))\n']
for i, block in enumerate(parts):
    text.append(f"static void block_{i}() {{\n{block}}}\n")
text.append("int main() {\n" + "".join(f"  block_{i}();\n" for i in range(len(parts))) + "}\n")
fragments.write_text("".join(text))
