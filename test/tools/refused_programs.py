"""What compile() refuses does not compile, and is told what a compiled function takes and returns.

Usage: refused_programs.py COMPILER INCLUDE_DIRECTORY
"""
import subprocess
import sys

compiler, include = sys.argv[1].split(), sys.argv[2]

TAKES = "a compiled function takes tensors, trees of them, numbers, enumerations and Generator&"
RETURNS = "a compiled function returns a tensor, a tree of tensors, or nothing"
GRADIENTS = "a compiled function returns tensors, not gradients: *g is the tensor of a gradient g"
SIGNATURE = "the value of a number is part of the signature: pass a double"
BESIDE = "an argument of a compiled function has members beside its leaves()"
IN_STRUCT = "a struct that is an argument of a compiled function holds tensors and variables, not gradients"
KEYS = "signature() of a struct and the keys of a map are numbers, enumerations, strings, shapes, tensors"
X = "const Tensor& x"
# Parameters and body of the function, arguments of the call, and the message; None where it compiles.
PROGRAMS = [
    (f"{X}, double rate", "return std::vector<Tensor>{x * rate};", "x, 2", None),
    (X, "static_cast<void>(x); return 1.0;", "x", RETURNS),
    (X, "return std::pair(x, std::string());", "x", RETURNS),
    (X, "return Gradient(x);", "x", GRADIENTS),
    (X, "return std::pair(x, std::vector<Gradient>());", "x", GRADIENTS),
    (X, "return std::array<std::tuple<Tensor, Gradient>, 1>();", "x", GRADIENTS),
    (X, "static_cast<void>(x); return std::vector<IndexedSlices>();", "x", GRADIENTS),
    (X, "return std::tuple(x, Variable(x), std::array<Tensor, 2>{x, x});", "x", None),
    (X, "return Parts<Gradient>{x, {}};", "x", GRADIENTS),
    (X, "return Parts<Tensor>{x, x};", "x", None),
    (f"{X}, const std::string&", "return x;", 'x, std::string("name")', TAKES),
    (f"{X}, const std::vector<int>&", "return x;", "x, std::vector<int>{1}", TAKES),
    ("const Parts<Tensor>& p", "return p.a;", "Parts<Tensor>{x, x}", None),
    ("const Parts<Gradient>& p", "return p.a;", "Parts<Gradient>{x, {}}", IN_STRUCT),
    ("const Layer<int>& p", "return p.a;", "Layer<int>{x, 1}", BESIDE),
    ("const Layer<bool>& p", "return p.a;", "Layer<bool>{x, true}", BESIDE),
    ("const Layer<Tensor>& p", "return p.a;", "Layer<Tensor>{x, x}", BESIDE),
    ("const std::vector<Layer<char>>& p", "return p[0].a;", "std::vector<Layer<char>>{{x, 1}}", BESIDE),
    ("const Described<int>& p", "return p.a;", "Described<int>{{x, 1}}", None),
    ("const Described<std::vector<Shape>>& p", "return p.a;", "Described<std::vector<Shape>>{{x, {}}}", None),
    ("const Described<void*>& p", "return p.a;", "Described<void*>{{x, {}}}", KEYS),
    ("const std::map<void*, Tensor>&", "", "std::map<void*, Tensor>{}", KEYS),
    ("const Variable& v", "return v * 2;", "Variable(x)", None),
    (f"const std::vector<Variable>& v, {X}", "return v[0] * x;", "std::vector<Variable>{Variable(x)}, x", None),
    ("Variable& v", "return v * 2;", "Variable(x)", "the compiled function does not take these arguments"),
    (f"{X}, long double rate", "return x * static_cast<double>(rate);", "x, 2.0L", SIGNATURE),
]


def run(parameters, body, arguments):
    """What the compiler says of a program that calls the compiled function; None if it compiles."""
    text = f"""#include <reel/compile.hpp>
#include <reel/reel.hpp>
#include <string>
#include <utility>
#include <vector>
using namespace reel;
template <class T>
struct Parts {{
  Tensor a;
  T b;
  auto leaves() {{ return std::tie(a, b); }}
}};
template <class T>
struct Layer {{
  Tensor a;
  T b;
  auto leaves() {{ return std::tie(a); }}
}};
template <class T>
struct Described : Layer<T> {{
  auto signature() const {{ return std::tie(this->b); }}
}};
void f({X}) {{
  const auto step = compile([]({parameters}) {{ {body} }});
  static_cast<void>(x);
  step({arguments});
}}
"""
    done = subprocess.run(compiler + ["-std=c++20", "-x", "c++", "-I", include, "-fsyntax-only", "-"], input=text,
                          capture_output=True, text=True)
    return done.stderr or "failed" if done.returncode else None


wrong = []
for parameters, body, arguments, message in PROGRAMS:
    said = run(parameters, body, arguments)
    if message is None and said or message is not None and message not in (said or ""):
        wrong.append(f"[]({parameters}) {{ {body} }} with {arguments}: {said or 'compiles'}; expected: {message}")
print("\n".join(wrong) or "as it should be")
sys.exit(bool(wrong))
