"""Fails unless the compiler says what is wrong with programs that many write, within a screen.

Usage: messages.py COMPILER INCLUDE_DIR
"""
import subprocess
import sys
import tempfile
from pathlib import Path

headers = "reel control compile elementwise minimize optim".split()
screen = 60  # lines
short = 10   # of those that nearly everybody writes once
wrong = {
    "cond(sum(x) > 0, x, x);": "where(condition, x, y) chooses between values",
    "cond(sum(x) > 0, [&] { return x; }, [&] { return std::pair(x, x); });": "both branches of cond return",
    "elementwise([](double a) { return a; })(x);": "takes a Lane, or auto, for each argument",
    "elementwise([](auto a, auto b) { return a * b; })(x);": "as many as there are",
    "elementwise([](auto a) { return a > 0 ? a : -a; })(x);": "use where",
    "elementwise([](auto a) { return std::exp(a); })(x);": "write exp(x), not std::exp(x)",
    "elementwise([](auto a) { return std::pow(a, 2.0); })(x);": "write exp(x), not std::exp(x)",
    "compile([](const Tensor& a, const Tensor& b) { return a * b; })(x);": "does not take these arguments",
    "compile([](const Tensor& a) { return a; })(3);": "a tensor of a number is scalar(x)",
    "compile([](const S& s) { return scalar(s.a); })(S{1});": "takes tensors, trees of them, numbers",
    "compile([](const Tensor&) { return 1.0; })(x);": "returns a tensor, a tree of tensors, or nothing",
    "grad([](double a) { return a * a; })(3.0);": "arrives as a tensor",
    "grad([](const Tensor& a, const Tensor& b) { return sum(a * b); })(x);": "does not take these arguments",
    "grad([](const Tensor& a) { return sum(a).item(); })(x);": "must return a Tensor of size 1",
    "Adam adam; Variable v(x); adam.step(v, Gradient(x));": "the gradients come first",
    "x && x;": "logical_and",
    "for (const Tensor& row : x) sum(row);": "unstack(x)",
    "Variable v(3.0);": "Variable v(scalar(3.0)",
    "Variable v(3, \"v\");": "Variable v(scalar(3.0)",
    "var(x, 0, true);": "keepdims is the fourth argument",
}
wrong_often = {
    "x[0] = 5.;": "write x = slice_update(x, {0}, y)",
    "x[0] = x;": "write x = slice_update(x, {0}, y)",
    "x(0, range(1, 2)) = x;": "write x = slice_update(x, {0}, y)",
    "x[0] += 5.;": "write x = slice_add(x, {0}, y)",
    "x[0] *= x;": "write x = slice_update(x, {0}, x[0] * y)",
    "GradientTape tape; tape.gradient(sum(x), S{1});": "auto leaves() { return std::tie(a, b); }",
    "GradientTape tape; tape.jacobian(x, S{1});": "auto leaves() { return std::tie(a, b); }",
    "GradientTape tape; tape.watch(S{1});": "auto leaves() { return std::tie(a, b); }",
    "grad([](const S& s) { return scalar(s.a); })(S{1});": "auto leaves() { return std::tie(a, b); }",
    "value_and_grad([](const S& s) { return scalar(s.a); })(S{1});": "auto leaves() { return std::tie(a, b); }",
}
for call, right in {"levenberg_marquardt": "residuals, initial", "lbfgs": "f, start", "nonlinear_cg": "f, start",
                    "newton_cg": "f, start", "gauss_newton": "residuals, start"}.items():
    wrong_often[f"{call}(x, [](const Tensor& p) {{ return p; }});"] = f"the function comes first: {call}({right})"
# clang 14 lists the assignments that are not deleted, too.
longer = {"x[0] = 5.;", "x[0] = x;", "x(0, range(1, 2)) = x;"} if "clang" in sys.argv[1] else set()

compiler = [*sys.argv[1].split(), "-std=c++20", "-I", sys.argv[2]]
prelude = "#include <cmath>\n" + "".join(f"#include <reel/{name}.hpp>\n" for name in headers) + """using namespace reel;
struct S { int a; };
"""
failures = 0


def compiled(header, statement):
    program = f"void f(const Tensor& x) {{\n  {statement}\n}}\n"
    return subprocess.run([*compiler, "-fsyntax-only", "-x", "c++", "-include", header, "-"], input=program,
                          capture_output=True, text=True)


with tempfile.TemporaryDirectory() as folder:
    header = Path(folder, "prelude.hpp")
    header.write_text(prelude)
    subprocess.run([*compiler, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)
    for statement, phrase in {**wrong, **wrong_often}.items():
        run = compiled(header, statement)
        lines = run.stderr.splitlines()
        most = short + 3 * (statement in longer) if statement in wrong_often else screen
        if run.returncode == 0 or phrase not in run.stderr or len(lines) > most:
            failures += 1
            print(f"{statement} {len(lines)} lines, without '{phrase}' or too long:\n{run.stderr}")
    right = compiled(header, "cond(sum(x) > 0, [&] { return x; }, [&] { return -x; });")
    if right.returncode:
        failures += 1
        print(right.stderr)
sys.exit(failures)
