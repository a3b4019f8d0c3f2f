// generate_c: names, files, errors, the smoke test, compilers, symbols, sanitizers.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <reel/codegen.hpp>
#include <reel/control.hpp>
#include <reel/interpolate.hpp>
#include <reel/linalg.hpp>
#include <reel/nn.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/losses.hpp>
#include <reel/ops/neural.hpp>
#include <reel/ops/normal.hpp>
#include <reel/ops/scans.hpp>
#include <reel/ops/sorting.hpp>
#include <reel/reel.hpp>
#include <reel/sparse.hpp>
#include <sstream>

#include "catch.hpp"
#include "support/generated_c.hpp"

using namespace reel;
using support::Tensors;

namespace {

std::string message_of(const auto& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

Tensor square_sum(const Tensor& x) { return sum(square(x)); }

// A planar quadrotor: 50 steps, scalar by scalar.
Tensor rollout(const Tensor& thrusts) {
  Tensor x = scalar(0.), z = x, angle = x, vx = x, vz = x, spin = x, cost = x;
  for (std::int64_t k = 0; k < 50; ++k) {
    const Tensor left = thrusts(k, 0), right = thrusts(k, 1), thrust = left + right;
    vx = vx - 0.02 * (thrust * sin(angle));
    vz = vz + 0.02 * (thrust * cos(angle) - 9.81);
    spin = spin + 0.02 * (4. * (left - right));
    x = x + 0.02 * vx;
    z = z + 0.02 * vz;
    angle = angle + 0.02 * spin;
    cost = cost + square(x - 1.) + square(z - 1.) + 0.1 * square(angle);
  }
  return cost;
}

Tensor thrusts() { return 5. + 0.1 * reshape(sin(arange(100)), {50, 2}); }

// Layers, reductions, choices, integers and booleans, in float32 and float64.
Tensors mixture(const Tensors& x) {
  const Tensor h = tanh(matmul(x[0], x[1]) + x[2]), order = argmax(h, -1);
  const Tensor chosen = where(h > 0.25, softplus(h), erfinv(0.5 * h)), one = cast(x[2], DType::float32);
  return {logsumexp(chosen, 1),
          order,
          mod(order, 3),
          any(isnan(h), 0),
          digamma(abs(one) + 1),
          cumsum(chosen, 0),
          pad(chosen, {1, 0}, {0, 2}, 0.5),
          scatter_add(h, cast(tensor({0., 2., 0.}), DType::int64), 2. * h),
          reel::std(h, 1),
          norm(h, 3, 0)};
}
Tensors mixture_at() {
  const auto wave = [](const Shape& s) { return reshape(sin(1.7 * arange(s.elements())), s); };
  return {wave({3, 4}), wave({4, 5}), wave({5})};
}

constexpr const char* strict = " -pedantic -Wall -Wextra -Wconversion -Werror";

bool has(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

void check_close(const Tensors& got, const Tensors& right) {
  for (std::size_t k = 0; k < right.size(); ++k) {
    INFO("result " << k << ": " << got[k] << "\nright: " << right[k]);
    const double tolerance = right[k].dtype() == DType::float32 ? 1e-5 : 1e-12;
    CHECK(allclose(got[k], right[k], {.rtol = tolerance, .atol = tolerance}));
  }
}

}  // namespace

TEST_CASE("generate_c: names of functions and parameters") {
  const Tensor x = tensor({1.0, 2.0});
  const CSource c = generate_c(square_sum, {.name = "cost", .inputs = {"thrust"}, .outputs = {"value"}}, x);
  CHECK(c.header().find("int cost(const double *thrust, double *value, void *workspace);") != std::string::npos);
  CHECK(c.header().find("Inputs: thrust double [2].") != std::string::npos);
  CHECK(c.text().find("#include \"cost.h\"") != std::string::npos);
  for (const std::string name : {"", "2x", "int", "template", "a-b", "_x", "a__b"}) {
    INFO(name);
    CHECK(message_of([&] { generate_c(square_sum, {.name = name}, x); }).starts_with("generate_c: name is '"));
    CHECK_THROWS_AS(generate_c(square_sum, {.name = "f", .inputs = {name}}, x), ValueError);
  }
  for (const std::string name : {"f", "f_error", "work", "workspace", "y"})
    CHECK_THROWS_AS(generate_c(square_sum, {.name = "f", .inputs = {name}, .outputs = {"y"}}, x), ValueError);
  CHECK_THROWS_AS(generate_c(square_sum, {.name = "f", .inputs = {"a", "b"}}, x), ValueError);
}

TEST_CASE("generate_c: what has no form in C is named with its line before anything is written") {
  const Tensor x = tensor({{2.0, 1.0}, {1.0, 3.0}});
  const auto spectrum = [](const Tensor& a) { return eigvalsh(a); };
  const std::string text = message_of([&] { generate_c(spectrum, {.name = "f"}, x); });
  CHECK(text.starts_with("generate_c: eigvalsh ("));
  CHECK(text.find("generate_c.cpp:") != std::string::npos);
  CHECK(text.find("pass the result as an argument") != std::string::npos);
  const Tensor captured = cast(x, DType::bfloat16);
  CHECK_NOTHROW(generate_c([&](const Tensor& a) { return a * cast(captured * 2., DType::float64); }, {.name = "f"}, x));
  const auto half = [](const Tensor& a) { return sum(a); };
  CHECK(message_of([&] { generate_c(half, {.name = "f"}, cast(x, DType::float16)); }) ==
        "generate_c: x0 is float16, which has no type in C; cast it to float32 or float64");
  CHECK(message_of([&] {
          generate_c([](const Tensor& a) { return matmul(a, tanh(a)); }, {.name = "f", .max_workspace = 8}, x);
        }).find("max_workspace is 8") != std::string::npos);
}

TEST_CASE("generate_c: loops over many elements compute functions of libm apart from arithmetic") {
  const auto f = [](const Tensors& x) {
    const Tensor a = cumsum(x[0], -1);  // its place becomes that of b
    const Tensor b = where(a > 0.5, sin(a) * exp(-a * a), 1. - 2. * a) + x[1] * (a + 3. * tanh(x[1]));
    return Tensors{cumsum(b, -1), floor(3. * b) + log(1. + b * b)};
  };
  const auto loops = [](const CSource& c) {
    const std::string text = c.text();
    std::size_t count = 0;
    for (std::size_t at = text.find("for ("); at != text.npos; at = text.find("for (", at + 1)) ++count;
    return count;
  };
  support::GeneratedC file;
  std::vector<std::pair<Tensors, Tensors>> cases;
  std::size_t few = 0;
  for (const std::int64_t n : {16, 33, 100, 1000, 4097})
    for (const DType d : {DType::float64, DType::float32}) {
      const auto wave = [&](const Shape& s) { return cast(0.1 * reshape(sin(1.7 * arange(s.elements())), s), d); };
      const Tensors x{n == 100 ? wave({3, n}) : wave({n}), wave({n})};
      const CSource c = generate_c([&](const std::vector<Tensor>& t) { return f(t); }, {.name = file.next_name()}, x);
      if (n == 16) few = loops(c);
      CHECK((n == 16 || loops(c) > few + 3));
      cases.emplace_back(x, f(x));
      file.add(c, x, cases.back().second);
    }
  REQUIRE(file.load("gcc -O1 -std=c99" + std::string(strict)).empty());
  for (std::size_t k = 0; k < cases.size(); ++k) {
    INFO(k);
    int status = 0;
    const Tensors got = file.call(k, cases[k].first, status);
    CHECK(status == 0);
    check_close(got, cases[k].second);
  }
}

// Runs the smoke test that {.check = true} adds, compiled from its own files, or `main` in its place.
static int checked(const CSource& c, const std::string& name, const std::string& main = {}) {
  support::GeneratedC files;
  const std::string program = files.folder() + "/" + name;
  c.write(files.folder());
  if (!main.empty()) std::ofstream(program + "_main.c") << "#include \"" << name << ".h\"\n" << main;
  const std::string second = main.empty() ? "" : " " + program + "_main.c";
  if (std::system(
          ("gcc -O0 -std=c99" + std::string(strict) + " " + program + ".c" + second + " -lm -o " + program).c_str()) !=
      0)
    return -1;
  return std::system(program.c_str());
}

namespace {

struct Layer {
  Variable weight, bias;
  auto leaves() { return std::tie(weight, bias); }
  auto names() const { return std::array{"weight", "bias"}; }
};

}  // namespace

TEST_CASE("generate_c: variables are members of a state, with their names") {
  const Variable steps(cast(scalar(3.), DType::int64), "number of steps"), unnamed(scalar(0.5));
  const Layer layer{Variable(reshape(arange(6.), {2, 3})), Variable(zeros({3}, DType::float64))};
  const auto train = [steps, unnamed](const Layer& model, const std::map<std::string, Tensor>& batch) {
    GradientTape tape;
    const Tensor cost = mean(square(matmul(batch.at("x"), model.weight) + model.bias - batch.at("y"))) * unnamed;
    const auto gradient = tape.gradient(cost, model);
    model.weight.assign_sub(0.1 * *std::get<0>(gradient));
    model.bias.assign_sub(0.1 * *std::get<1>(gradient));
    steps.assign_add(cast(scalar(1.), DType::int64));
    return std::map<std::string, Tensor>{{"cost", cost}, {"x", batch.at("x") * 2.}};
  };
  const std::map<std::string, Tensor> batch{{"x", reshape(sin(arange(8.)), {4, 2})},
                                            {"y", ones({4, 3}, DType::float64)}};
  const CSource c = generate_c(train, {.name = "train", .check = true}, layer, batch);
  CHECK(c.header().find("int train(const double *x, const double *y, double *cost, double *y_x, "
                        "struct train_state *state, void *workspace);") != std::string::npos);
  for (const char* member : {"double weight[6]; /* [2, 3], assigned */", "double bias[3]; /* [3], assigned */",
                             "int64_t number_of_steps[1]; /* [], assigned */", "double variable[1]; /* [] */"})
    CHECK(c.header().find(member) != std::string::npos);
  CHECK(checked(c, "train") == 0);
}

TEST_CASE("generate_c: variables change places, at the end, unless an operation refuses") {
  const Variable a(tensor({1., 2.}), "a"), b(tensor({3., 4.}), "b");
  const auto swap = [a, b](const Tensor& i) {
    const Tensor old = a;
    a.assign(b);
    b.assign(old);
    return gather(old, i) + gather(a, i);
  };
  const CSource c = generate_c(swap, {.name = "swap", .check = true}, cast(tensor({1.}), DType::int64));
  CHECK(checked(c, "swap") == 0);
  CHECK(checked(generate_c(swap, {.name = "swap"}, cast(tensor({1.}), DType::int64)), "swap",
                "int main(void) {\n"
                "  struct swap_state s = swap_initial;\n  const int64_t good = 0, bad = 2;\n  double y, work[100];\n"
                "  if (swap(&bad, &y, &s, work) == 0 || s.a[0] != 1.0 || s.b[0] != 3.0) return 1;\n"
                "  if (swap(&good, &y, &s, work) != 0 || y != 4.0 || s.a[1] != 4.0 || s.b[1] != 2.0) return 2;\n"
                "  return swap(&good, &y, &s, work) != 0 || s.a[1] != 2.0;\n}\n") == 0);
  const auto reads = [a](const Tensor& x) { return a * x; };
  const CSource constant = generate_c(reads, {.name = "scale", .check = true}, tensor({1., 3.}));
  CHECK(constant.header().find("const struct scale_state *state, void *workspace") != std::string::npos);
  CHECK(checked(constant, "scale") == 0);
}

TEST_CASE("generate_c: files are written whole, in a new folder, and check themselves") {
  support::GeneratedC files;
  const std::string folder = files.folder() + "/a/b";
  const CSource c = generate_c(value_and_grad(rollout), {.name = "rollout", .check = true}, thrusts());
  c.write(folder);
  c.write(folder);  // replaces them
  std::ostringstream text;
  text << std::ifstream(folder + "/rollout.c").rdbuf();
  CHECK(text.str() == c.text());
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 2);
  CHECK_THROWS_AS(c.write("/dev/null/x"), IoError);
  const std::string program = folder + "/rollout";
  REQUIRE(std::system(("gcc -O1 -std=c99" + std::string(strict) + " " + program + ".c -lm -o " + program).c_str()) ==
          0);
  CHECK(std::system(program.c_str()) == 0);
  // Long code is several functions. No symbol is foreign but those of libm and memcpy.
  CHECK(c.text().find("static void rollout_2(") != std::string::npos);
  CHECK(c.stats().statements > 2000);
  CHECK(c.stats().flops > 2000);
  CHECK(std::system(("nm -u " + program +
                     " | grep -vE ' (sin|cos|sincos|memcpy|fabs|__libc_start_main|__gmon_start__|_ITM_\\w+|"
                     "__cxa_finalize)(@|$)'")
                        .c_str()) != 0);
}

TEST_CASE("generate_c: infinities and NaN in tables are constants for every compiler", "[once]") {
  support::GeneratedC files;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor table = tensor({1., inf, -inf, nan});
  const auto f = [table, inf](const std::vector<Tensor>& x) {
    return std::vector<Tensor>{x[0] * table, x[1] + cast(table, DType::float32), where(greater(x[0], 0.1), x[0], -inf)};
  };
  const Tensors x{tensor({0.5, 2., 3., 4.}), cast(tensor({0.5, 2., 3., 4.}), DType::float32)}, right = f(x);
  files.add(generate_c(f, {.name = files.next_name()}, x), x, right);
  for (const std::string compiler : {"clang -std=c99", "g++ -std=c++17 -x c++", "gcc -std=c99", "tcc -std=c99"}) {
    INFO(compiler);
    if (!has(compiler.substr(0, compiler.find(' ')))) continue;
    const bool plain = compiler.starts_with("tcc");
    CHECK(files.compile(compiler + (plain ? " -Wall -Werror" : strict) + " -c -o " + files.folder() + "/x.o") == "");
  }
  REQUIRE(files.load("gcc -std=c99" + std::string(strict)) == "");
  int status = 0;
  const Tensors got = files.call(0, x, status);
  for (std::size_t k = 0; k < right.size(); ++k)
    CHECK(allclose(got[k], right[k], {.rtol = 0, .atol = 0, .equal_nan = true}));
}

TEST_CASE("generate_c: every compiler at hand takes the code without a warning", "[once]") {
  support::GeneratedC files;
  const Tensors x = mixture_at(), right = mixture(x);
  const auto f = [](const std::vector<Tensor>& list) { return mixture(list); };
  files.add(generate_c(f, {.name = files.next_name()}, x), x, right);
  for (const std::string compiler :
       {"gcc -std=c99 -O2", "clang -std=c99 -O1", "g++ -std=c++17 -x c++ -O0", "clang++ -std=c++17 -x c++ -O0"}) {
    INFO(compiler);
    if (!has(compiler.substr(0, compiler.find(' ')))) continue;
    CHECK(files.compile(compiler + strict + " -c -o " + files.folder() + "/x.o") == "");
  }
  if (has("tcc")) CHECK(files.compile("tcc -std=c99 -Wall -Werror -c -o " + files.folder() + "/x.o") == "");
  REQUIRE(files.load("gcc -std=c99 -O2" + std::string(strict)) == "");
  int status = 0;
  check_close(files.call(0, x, status), right);
  CHECK(status == 0);
}

TEST_CASE("generate_c: captured views are constants with the elements of the view") {
  const Tensor w = 1. + reshape(arange(24), {4, 6}), x = scalar(0.5);
  const Tensor views[] = {slice(w, {all, range(0, 6, 2)}), transpose(slice(w, {range(1, 3), all})), flip(w, {1}),
                          broadcast_to(slice(w, {all, range(2, 3)}), {4, 3})};
  support::GeneratedC file;
  for (const Tensor& view : views) {
    const auto f = [view](const Tensors& all_x) { return Tensors{all_x[0] * view, cumsum(view * all_x[0], 0)}; };
    file.add(generate_c(f, {.name = file.next_name()}, Tensors{x}), {x}, f({x}));
  }
  REQUIRE(file.load("gcc -O1 -std=c99 -pedantic -Wall -Wextra -Werror") == "");
  for (std::size_t k = 0; k < file.size(); ++k) {
    int status = 0;
    const Tensors got = file.call(k, {x}, status);
    INFO(k);
    CHECK(allclose(got[0], x * views[k]));
    CHECK(allclose(got[1], cumsum(views[k] * x, 0)));
  }
}

TEST_CASE("generate_c: terms are scattered at positions of any rank") {
  const Tensor x = 1. + reshape(arange(15), {5, 3});
  const Tensor places[] = {cast(scalar(3.), DType::int64), cast(tensor({4., 0., 4.}), DType::int64),
                           cast(reshape(tensor({4., 0., 4., 1.}), {2, 2}), DType::int64)};
  support::GeneratedC file;
  std::vector<Tensors> right;
  for (const Tensor& at : places) {
    const Tensor terms = 2. + sin(gather(x, at));
    const auto f = [at](const Tensors& p) {
      GradientTape tape;
      tape.watch(p);
      Tensors all{scatter_add(p[0], at, p[1]), index_add(p[0], {at}, p[1]), index_update(p[0], {at}, p[1])};
      if (at.rank() != 0) {
        all.push_back(index_multiply(p[0], {at}, p[1]));
        all.push_back(index_max(p[0], {at}, 3. * p[1]));
      }
      Tensor total = scalar(0.);
      for (const Tensor& y : all) total = total + sum(y * cos(y));
      for (const Gradient& g : tape.gradient(total, p)) all.push_back(g.dense());
      return all;
    };
    right.push_back(f({x, terms}));
    file.add(generate_c(f, {.name = file.next_name()}, Tensors{x, terms}), {x, terms}, right.back());
  }
  REQUIRE(file.load("gcc -O0 -std=c99" + std::string(strict)) == "");
  for (std::size_t k = 0; k < file.size(); ++k) {
    int status = 0;
    const Tensors got = file.call(k, {x, 2. + sin(gather(x, places[k]))}, status);
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO("positions " << k << ", result " << i);
      CHECK(allclose(got[i], right[k][i], {.rtol = 1e-12, .atol = 1e-12}));
    }
  }
}

TEST_CASE("generate_c: integers wrap, booleans are combined by and and or") {
  const auto ops = [](const Tensors& x) {
    const Tensor &a = x[0], &b = x[1], m = reshape(a, {2, 3}), n = reshape(b, {3, 2});
    Tensors y = {matmul(m, n),  matmul(m, reshape(b, {6})(range(0, 3))),
                 maximum(a, b), minimum(a, b),
                 argmax(a, 0),  argmin(m, 1),
                 max(m, {0}),   a + b,
                 a * b,         all(a > b, {}),
                 sum(a),        cumsum(a, 0)};
    if (a.dtype() == DType::boolean) return y;
    for (const Tensor& z : {abs(a), sign(a), a - b, -a, square(a), relu(a), floor(a), power(a, 3), mod(a, 3),
                            floor_divide(a, 2), clip(a, 1, 4), squared_difference(a, b), where(a > 2, a, b)})
      y.push_back(z);
    return y;
  };
  support::GeneratedC file;
  std::vector<Tensors> inputs;
  for (const DType d : {DType::int32, DType::int64, DType::uint8, DType::boolean}) {
    const Tensor a = tensor({7., 100000., 3., 0., 90000., 5.}), b = tensor({1., 80000., 2., 1., 70000., 255.});
    const Tensor sign_of = d == DType::int32 || d == DType::int64 ? tensor({1., 1., -1., 1., -1., 1.}) : tensor({1.});
    inputs.push_back({cast(cast(a * sign_of, DType::int64), d), cast(cast(b, DType::int64), d)});
    file.add(generate_c(ops, {.name = file.next_name()}, inputs.back()), inputs.back(), ops(inputs.back()));
  }
  REQUIRE(file.load("gcc -O1 -std=c99 -pedantic -Wall -Wextra -Wconversion -Werror -fsanitize=undefined "
                    "-fno-sanitize-recover=all") == "");
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    int status = 0;
    const Tensors got = file.call(k, inputs[k], status), right = ops(inputs[k]);
    INFO(inputs[k][0].dtype());
    for (std::size_t r = 0; r < got.size(); ++r) {
      CAPTURE(r);
      CHECK(array_equal(got[r], right[r]));
    }
  }
}

TEST_CASE("generate_c: indices and casts that are out of range are refused with a text") {
  support::GeneratedC files;
  const Tensor x = tensor({1.0, 2.0, 3.0}), at = cast(tensor({2.0, -1.0}), DType::int64);
  const auto f = [](const std::vector<Tensor>& p) {
    return gather(p[0], p[1]) + cast(cast(p[0], DType::int32), DType::float64)(0);
  };
  const Tensors inputs{x, at};
  const CSource c = generate_c(f, {.name = files.next_name()}, inputs);
  files.add(c, inputs, {f(inputs)});
  REQUIRE(files.load("gcc -std=c99 -O1") == "");
  int status = 0;
  check_close(files.call(0, inputs, status), {f(inputs)});
  CHECK(status == 0);
  static_cast<void>(files.call(0, {x, at + 1}, status));
  CHECK(status > 0);
  CHECK(c.text().find("an index is out of range") != std::string::npos);
  static_cast<void>(files.call(0, {x * 1e10, at}, status));
  CHECK(status > 0);
}

namespace {

using Function = Tensors (*)(const Tensors&);
struct Case {
  const char* name;
  Function function;
  Tensors inputs;
};

// Compiles the functions together, and compares them with the same run here.
void check_cases(std::span<const Case> cases) {
  support::GeneratedC file;
  std::vector<Tensors> right;
  for (const Case& c : cases) {
    INFO(c.name);
    right.push_back(c.function(c.inputs));
    file.add(generate_c([&c](const Tensors& x) { return c.function(x); }, {.name = file.next_name()}, c.inputs),
             c.inputs, right.back());
  }
  const std::string said =
      file.load("gcc -std=c99 -O0 -fsanitize=undefined -fno-sanitize-recover=all" + std::string(strict));
  INFO(said.substr(0, 4000));
  REQUIRE(said.empty());
  for (std::size_t k = 0; k < cases.size(); ++k) {
    int status = 0;
    INFO(cases[k].name);
    const Tensors got = file.call(k, cases[k].inputs, status);
    CHECK(status == 0);
    check_close(got, right[k]);
  }
}

Tensor regular(const Shape& s) {
  return reshape(sin(0.37 * square(arange(s.elements())) + 1.7 * arange(s.elements()) + 0.3), s) +
         2. * eye(s[-2], s[-1]);
}
Tensor definite(std::int64_t n) { return matmul(regular({n, n}), transpose(regular({n, n}))) + eye(n); }
template <class F>
Tensors along_ones(const F& f, const Tensor& x) {
  const ForwardAccumulator forward(x, ones_like(x));
  return {*forward.jvp(f(x))};
}

}  // namespace

TEST_CASE("generate_c: factorisations, of batches, to second order and forward") {
  const Case cases[] = {
      {"second derivatives",
       [](const Tensors& x) {
         return Tensors{
             hessian([](const Tensor& a) { return det(a); })(x[0]),
             hessian([](const Tensor& a) { return sum(square(cholesky(a))); })(x[1]),
             hessian([](const Tensor& a) { return sum(square(solve(a, a(all, 0)))) + sum(inverse(a)); })(x[1]),
             hessian([](const Tensor& a) { return slogdet(a).logdet; })(x[0])};
       },
       {regular({4, 4}), definite(3)}},
      {"tangents",
       [](const Tensors& x) {
         Tensors y = along_ones([](const Tensor& a) { return cholesky(a); }, x[0]);
         for (const Tensors& more : {along_ones([](const Tensor& a) { return det(a); }, x[0]),
                                     along_ones([](const Tensor& a) { return lu(a).u; }, x[0]),
                                     along_ones([](const Tensor& a) { return qr(a).r; }, x[1])})
           y.push_back(more[0]);
         return y;
       },
       {definite(3), regular({5, 3})}},
      {"batches and wide matrices",
       [](const Tensors& x) {
         const Lu f = lu(x[1]);
         const auto [q, r] = qr(x[1]);
         const auto [all_q, all_r] = qr(transpose(x[1](0)), QrMode::complete);
         return Tensors{f.p,
                        f.l,
                        f.u,
                        q,
                        r,
                        all_q,
                        all_r,
                        grad([](const Tensor& a) { return sum(det(a) * slogdet(a).logdet); })(x[0]),
                        solve(x[0], x[1](0)),
                        triangular_solve(x[0], x[1], {.lower = false, .transpose = true}),
                        lu_solve(lu_factor(x[0]), x[1])};
       },
       {regular({2, 3, 3}), regular({2, 3, 5})}},
      {"the gradient of the determinant of a singular matrix",
       [](const Tensors& x) { return Tensors{grad([](const Tensor& a) { return det(a); })(x[0])}; },
       {matmul(regular({4, 3}), regular({3, 4}))}},
      {"float32",
       [](const Tensors& x) {
         const Tensor a = cast(x[0], DType::float32);
         return Tensors{det(a), solve(a, a), inverse(a), qr(a).q, cholesky(matmul(a, transpose(a)))};
       },
       {regular({4, 4})}},
  };
  check_cases(cases);
}

TEST_CASE("generate_c: matrices that are refused, by the number of the operation") {
  const auto f = [](const Tensor& a) { return sum(cholesky(a)) + sum(inverse(a)) + sum(solve(a, a)); };
  const CSource c = generate_c(f, {.name = "f"}, definite(2));
  CHECK(checked(c, "f",
                "#include <string.h>\nint main(void) {\n  double y, work[100];\n"
                "  const double good[] = {2.0, 1.0, 1.0, 2.0}, indefinite[] = {1.0, 2.0, 2.0, 1.0};\n"
                "  if (f(good, &y, work) != 0) return 1;\n"
                "  return strstr(f_error(f(indefinite, &y, work)), \"cholesky\") == 0 ||\n"
                "         strstr(f_error(f(indefinite, &y, work)), \"a is not positive definite\") == 0;\n}\n") == 0);
}

TEST_CASE("generate_c: draws continue the stream of a generator, which is part of the state") {
  Generator generator(7), same(7), advanced(7);
  const auto draws = [](Generator& g) {
    return Tensors{random_uniform(g, {5}, -2., 3.),
                   random_uniform(g, {6}, 0., 1., DType::float32),
                   random_integers(g, {7}, -3, 1000003),
                   random_bernoulli(g, {9}, 0.3),
                   random_normal(g, {5}, 1., 2.),
                   random_normal(g, {6}, 0., 1., DType::float32),
                   random_permutation(g, 6),
                   random_categorical(g, log(tensor({{1., 2., 0.}, {5., 1., 2.}})), 4),
                   random_truncated_normal(g, {5}),
                   random_truncated_normal(g, {6}, 1., 2., DType::float32)};
  };
  const auto text = [](const Tensors& y) {  // comparisons of bits, of normal numbers to rounding
    std::ostringstream c;
    c << std::hexfloat;
    for (std::size_t k = 0; k < y.size(); ++k)
      for (std::int64_t i = 0; i < y[k].size(); ++i) {
        const double right = cast(reshape(y[k], {-1})(i), DType::float64).item<double>();
        c << "  if (!(fabs((double)y" << k << "[" << i << "] - (" << right << ")) <= "
          << (k == 4 || k == 8   ? 1e-14
              : k == 5 || k == 9 ? 1e-6
                                 : 0.)
          << ")) return " << k + 1 << ";\n";
      }
    return c.str();
  };
  const CSource c = generate_c(draws, {.name = "draws"}, generator);
  const std::string first = text(draws(same)), second = text(draws(same)),
                    call = "(y0, y1, y2, y3, y4, y5, y6, y7, y8, y9, &s, work)";
  CHECK(checked(c, "draws",
                "#include <math.h>\nint main(void) {\n  double y0[5], y4[5], y8[5], work[100];\n  float y1[6], y5[6], "
                "y9[6];\n"
                "  int64_t y2[7], y6[6], y7[8];\n  uint8_t y3[9];\n  struct draws_state s = draws_initial;\n"
                "  if (draws" +
                    call + " != 0) return 100;\n" + first + "  if (draws" + call + " != 0) return 101;\n" + second +
                    "  return 0;\n}\n") == 0);
  const auto in_loop = [](Generator& g, const Tensor& x) {
    const auto step = [&](const Tensor&, const Tensor& s) { return s + random_uniform(g, {3}, 0., 1.); };
    return fori_loop(0, 100, step, x);
  };
  CHECK(checked(generate_c(in_loop, {.name = "walk", .check = true}, advanced, zeros({3}, DType::float64)), "walk") ==
        0);
}

TEST_CASE("generate_c: steps of optimisers change their states as in the library") {
  // Also of float32 variables, and behind other steps.
  std::tuple optimizers{SGD(),
                        SGD({.learning_rate = 0.1, .momentum = 0.9}),
                        SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}),
                        Adam(),
                        AdamW({.weight_decay = 0.1}),
                        RMSProp(),
                        Adagrad(),
                        Lion()};
  std::vector<Variable> weights;
  for (std::size_t k = 0; k < std::tuple_size_v<decltype(optimizers)>; ++k)
    weights.emplace_back(cast(regular({3, 2}), k % 2 ? DType::float32 : DType::float64), "w" + std::to_string(k));
  const auto train = [&](const Tensor& x) {
    Tensors costs{scalar(0.), scalar(0.f)};
    const auto step = [&](auto& optimizer, const Variable& w) {
      GradientTape tape;
      const Tensor cost = mean(square(matmul(cast(x, w.dtype()), tanh(w)) - 1.));
      optimizer.step(tape.gradient(cost, w), w);
      Tensor& all = costs[w.dtype() == DType::float32];
      all = all + cost;
    };
    std::apply(
        [&](auto&... one) {
          std::size_t k = 0;
          (step(one, weights[k++]), ...);
        },
        optimizers);
    return costs;
  };
  const Tensor x = regular({4, 3});
  for (int i = 0; i < 3; ++i) static_cast<void>(train(x));
  const CSource c = generate_c(train, {.name = "fit", .check = true}, x);
  CHECK(c.header().find("double learning_rate[1]") != std::string::npos);
  CHECK(checked(c, "fit") == 0);
}

TEST_CASE("generate_c: rows that slices do not name keep their states, and options out of their domain are refused") {
  std::tuple optimizers{SGD({.learning_rate = 0.1, .momentum = 0.9}), Adam()};
  const Variable table(regular({5, 2}), "table"), narrow(cast(0.1 * arange(4), DType::float32), "narrow");
  const auto train = [&](const Tensor& rows) {
    GradientTape tape({.persistent = true});
    const Tensor cost = sum(square(gather(table, rows) - 1.)), other = sum(square(gather(narrow, rows) - 1.f));
    std::get<0>(optimizers).step(tape.gradient(other, narrow), narrow);
    std::get<1>(optimizers).step(tape.gradient(cost, table), table);
    return cost;
  };
  const auto rows = [](double a, double b, double c) { return cast(tensor({a, b, c}), DType::int64); };
  for (int i = 0; i < 2; ++i) static_cast<void>(train(rows(0, 2, 3)));
  const CSource c = generate_c(train, {.name = "fit", .check = true}, rows(2, 3, 2));
  CHECK(checked(c, "fit") == 0);
  const auto refuses = [&](const std::string& option, const std::string& value, bool right) {
    const CSource one = generate_c(train, {.name = "one"}, rows(2, 3, 2));
    return checked(one, "one",
                   "#include <math.h>\n#include <string.h>\nint main(void) {\n  static double work[1000];\n"
                   "  struct one_state s = one_initial;\n  const struct one_state before = s;\n"
                   "  const int64_t x[3] = {2, 3, 2};\n  double y;\n  (void)before;\n  s." +
                       option + "[0] = " + value + ";\n  return !((one(x, &y, &s, work) != 0) == " +
                       (right ? "0" : "1 && memcmp(s.table, before.table, sizeof s.table) == 0") + ");\n}\n") == 0;
  };
  INFO(c.header());
  CHECK(refuses("beta1", "0.5", true));
  CHECK(refuses("beta1", "1.0", false));
  CHECK(refuses("epsilon", "-1.0", false));
  CHECK(refuses("learning_rate", "(double)INFINITY", false));
  CHECK(refuses("momentum", "(double)NAN", false));
}

TEST_CASE("generate_c: integers beyond doubles are sorted, and parts of rows") {
  const Tensor large = tensor({3., 1., 2., 1., 5.});
  const auto f = [](const Tensor& x) {
    const Tensor y = cast(x, DType::int64) + (std::int64_t{1} << 60);
    const auto s = sort(y);
    return Tensors{s - s[0], argsort(y, -1, true), slice(argpartition(y, 2), {2}), cummax(y - y[0], 0).values};
  };
  support::GeneratedC file;
  file.add(generate_c(f, {.name = file.next_name()}, large), {large}, f(large));
  REQUIRE(file.load("gcc -O0 -std=c99" + std::string(strict)).empty());
  int status = 0;
  const Tensors got = file.call(0, {large}, status), right = f(large);
  for (std::size_t k = 0; k < right.size(); ++k) CHECK(all(equal(got[k], right[k])).item<bool>());
}

TEST_CASE("generate_c: losses, normalisations, convolution and search, with gradients") {
  const auto gradients = [](const auto& f, const Tensors& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    Tensors all{y};
    for (const Gradient& g : tape.gradient(sum(y * cast(reshape(cos(arange(y.size())), y.shape()), y.dtype())), x))
      all.push_back(g.dense());
    return all;
  };
  static const auto with_gradients = gradients;
  const Case cases[] = {
      {"conv2d with groups, stride, dilation",
       [](const Tensors& x) {
         return with_gradients(
             [](const Tensors& p) {
               return conv2d(p[0], p[1], {.stride = {2, 1}, .padding = Padding::same, .dilation = {1, 2}, .groups = 2});
             },
             x);
       },
       {reshape(regular({8, 21}), {2, 4, 3, 7}), reshape(regular({6, 8}), {4, 2, 2, 3})}},
      {"max_pool2d and its Jacobian",
       [](const Tensors& x) {
         const auto pool = [](const Tensor& p) {
           return max_pool2d(p, {2, 3}, {.stride = {1, 2}, .padding = Padding::same});
         };
         return Tensors{pool(x[0]), jacobian(pool)(x[0])};
       },
       {reshape(regular({4, 6}), {1, 2, 3, 4})}},
      {"layer_norm",
       [](const Tensors& x) {
         return with_gradients([](const Tensors& p) { return layer_norm(p[0], p[1], p[2]); }, x);
       },
       {regular({3, 5}), regular({1, 5})(0), regular({2, 5})(1)}},
      {"layers that are composed of others, forward, and to second order",
       [](const Tensors& x) {
         const Tensor scale = x[0](0), offset = x[0](1);
         const auto norms = [=](const Tensor& p) {
           const BatchNorm y = batch_norm(p, scale, offset);
           return y.y + group_norm(p, scale, offset, 3) + layer_norm(p, tanh(p(1)), offset) + y.mean;
         };
         const auto attend = [=](const Tensor& p) {
           return attention(p, p * 2., p + offset, {.mask = tensor({{true, true}, {false, true}}), .causal = true});
         };
         const auto cells = [&x](const Tensor& p) {
           const Tensor steps = reshape(p, {2, 1, 6});
           return lstm(steps, x[1], x[2]).state + gru(steps, x[3], x[4]).state;
         };
         const Tensor f = cast(x[0], DType::float32);
         return Tensors{jacobian(norms)(x[0]), hessian([&](const Tensor& p) { return sum(square(attend(p))); })(x[0]),
                        hessian([&](const Tensor& p) { return sum(cells(p)); })(x[0]), norms(x[0]), attend(f)};
       },
       {regular({2, 6}), regular({4, 6}), regular({4, 1}), regular({3, 6}), regular({3, 1})}},
      {"softmax and its logarithm, along both axes, to second order",
       [](const Tensors& x) {
         const auto f = [](const Tensor& p) { return sum(softmax(p, 0) * log_softmax(p, 1) * p); };
         return Tensors{jacobian([](const Tensor& p) { return softmax(p, 0); })(x[0]), hessian(f)(x[0])};
       },
       {regular({3, 4})}},
      {"numbers that only arrays of no elements read",
       [](const Tensors& x) {
         const Tensor sine = sin(x[0](0, 0));
         return Tensors{sine * zeros({2, 0}, DType::float64), x[0] * 2.};
       },
       {regular({2, 2})}},
      {"sorted integers, and positions of equal elements and NaN",
       [](const Tensors& x) {
         const Tensor n = cast(round(3. * x[0]), DType::int32),
                      r = where(x[0] > 0.5, std::numeric_limits<double>::quiet_NaN(), round(3. * x[0]));
         return Tensors{sort(n, 0),          argsort(n, 1, true), argsort(r, 1),
                        argsort(r, 1, true), top_k(n, 2).indices, where(isnan(sort(r)), 9., sort(r))};
       },
       {regular({3, 9})}},
      {"cross entropies",
       [](const Tensors& x) {
         const Tensor classes = cast(tensor({2., 0., -1.}), DType::int64);
         Tensors y = with_gradients(
             [&](const Tensors& p) { return sparse_softmax_cross_entropy(p[0], classes, {.ignore_index = -1}); },
             {x[0]});
         for (const Tensor& more :
              with_gradients([](const Tensors& p) { return softmax_cross_entropy(p[0], softmax(p[1])); }, x))
           y.push_back(more);
         return y;
       },
       {regular({3, 4}), regular({3, 4})}},
      {"interp",
       [](const Tensors& x) {
         return with_gradients([](const Tensors& p) { return interp(p[0], cumsum(exp(p[1]), 0), p[2]); }, x);
       },
       {5. * regular({1, 7})(0), regular({1, 6})(0), regular({2, 6})(1)}},
  };
  check_cases(cases);
}

TEST_CASE("generate_c: sparse derivatives, with their patterns in the header") {
  const auto chain = [](const Tensor& x) {
    const Tensor a = x(range(0, 5)), b = x(range(1, 6));
    return square(b - a * a) * sin(a);
  };
  const Tensor x = sin(arange(6.));
  const auto by_x = sparse_jacobian(TensorFunction(chain), x);
  const auto curvature = sparse_hessian([chain](const Tensor& y) { return sum(chain(y)); }, x);
  const auto f = [&](const Tensor& y) { return std::pair(by_x(y), curvature(y)); };
  const CSource c = generate_c(f, {.name = "f", .outputs = {"jacobian", "hessian"}, .check = true}, x);
  CHECK(c.header().find("extern const int32_t f_jacobian_row_starts[6];") != std::string::npos);
  CHECK(c.text().find("const int32_t f_jacobian_row_starts[6] = {0, 2, 4, 6, 8, 10};") != std::string::npos);
  CHECK(c.text().find("const int32_t f_hessian_columns[16] = {0, 1, 0, 1, 2,") != std::string::npos);
  CHECK(checked(c, "f") == 0);
}
