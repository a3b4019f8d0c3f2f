// Results have the same bits for every number of threads: more than a hundred programs, values and gradients, with 1,
// 2, 3, 7 and 16 threads, twice, while the host changes OpenBLAS's threads and the floating-point environment in
// between. Arrays are large enough to be split.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <cfenv>
#include <cstring>
#include <functional>
#include <reel/elementwise.hpp>
#include <reel/linalg.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/reel.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "op_cases.hpp"
#include "support/derivatives.hpp"

extern "C" void openblas_set_num_threads(int count);

using namespace reel;
using support::Tensors;

namespace {

struct Program {
  std::string name;
  std::function<Tensors()> run;  // values and gradients
};

// f's result at x and its gradients for a cotangent of ones.
Tensors with_gradients(const std::function<Tensor(const Tensors&)>& f, const Tensors& x) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  Tensors all{y};
  for (const Gradient& g : tape.gradient(std::vector{y}, x, {.unconnected_gradients = UnconnectedGradients::zero}))
    all.push_back(g.dense());
  return all;
}

void add_pointwise(std::vector<Program>& programs, DType dtype) {
  for (const cases::Pointwise& row : cases::pointwise()) {
    if (row.flags & cases::by_complex) continue;
    programs.push_back({row.name, [&row, dtype] {
                          support::Random random(row.name);
                          Tensors x;
                          for (int i = 0; i < row.arity; ++i)
                            x.push_back(cast(random.tensor({40, 1501}, row.domain[i].low, row.domain[i].high), dtype));
                          if (row.flags & cases::boolean_result) return Tensors{row.call(x)};
                          return with_gradients([&](const Tensors& p) { return row.call(p); }, x);
                        }});
  }
}

void add_arrays(std::vector<Program>& programs, DType dtype) {
  using F = std::function<Tensor(const Tensors&)>;
  const auto add = [&](const std::string& name, std::initializer_list<Shape> shapes, F f, double low = 0.2,
                       double high = 1.8) {
    programs.push_back({name, [=, shapes = std::vector<Shape>(shapes)] {
                          support::Random random(name);
                          Tensors x;
                          for (const Shape& s : shapes) x.push_back(cast(random.tensor(s, low, high), dtype));
                          return with_gradients(f, x);
                        }});
  };
  using X = const Tensors&;
  const Shape m{301, 503};
  add("sum", {m}, [](X x) { return sum(x[0] * x[0]); });
  add("sum over rows", {m}, [](X x) { return sum(x[0] * x[0], 1); });
  add("sum over columns", {m}, [](X x) { return sum(x[0] * x[0], 0); });
  add("sum of a transpose", {m}, [](X x) { return sum(transpose(x[0]) * 2, 0); });
  add("mean", {m}, [](X x) { return mean(x[0]); });
  add(
      "prod", {m}, [](X x) { return prod(x[0]); }, 0.9999, 1.0001);
  add(
      "prod over columns", {m}, [](X x) { return prod(x[0], 0); }, 0.99, 1.01);
  add("max", {m}, [](X x) { return max(x[0], 1); });
  add("min", {m}, [](X x) { return min(x[0]); });
  add("var", {m}, [](X x) { return var(x[0]); });
  add("std over columns", {m}, [](X x) { return reel::std(x[0], 0); });
  add("norm", {m}, [](X x) { return norm(x[0]); });
  add("norm 3", {m}, [](X x) { return norm(x[0], 3, 1); });
  add("logsumexp", {m}, [](X x) { return logsumexp(x[0], 1); });
  add("logsumexp of all", {m}, [](X x) { return logsumexp(x[0]); });
  add("softmax", {m}, [](X x) { return softmax(x[0]) * x[0]; });
  add("softmax down", {m}, [](X x) { return softmax(x[0], 0) * x[0]; });
  add("log_softmax", {m}, [](X x) { return log_softmax(x[0]) * x[0]; });
  add("cumsum", {m}, [](X x) { return cumsum(x[0], 1); });
  add(
      "cumprod", {m}, [](X x) { return cumprod(x[0], 0); }, 0.99, 1.01);
  add("broadcast row", {m, {503}}, [](X x) { return square(x[0] + x[1]); });
  add("broadcast column", {m, {301, 1}}, [](X x) { return x[0] * x[1]; });
  add("matmul", {{257, 301}, {301, 129}}, [](X x) { return matmul(x[0], x[1]); });
  add("matmul of transposes", {{301, 257}, {129, 301}},
      [](X x) { return matmul(x[0], x[1], {.transpose_a = true, .transpose_b = true}); });
  add("batched matmul", {{40, 33, 17}, {40, 17, 9}}, [](X x) { return matmul(x[0], x[1]); });
  add("matrix times vector", {{700, 500}, {500}}, [](X x) { return matmul(x[0], x[1]); });
  add("einsum", {{60, 40, 30}, {30, 50}}, [](X x) { return einsum("abc,cd->abd", {x[0], x[1]}); });
  add("tensordot", {{60, 40, 30}, {40, 30, 20}}, [](X x) { return tensordot(x[0], x[1], 2); });
  add("outer", {{600}, {700}}, [](X x) { return outer(x[0], x[1]); });
  add("dot", {{100000}, {100000}}, [](X x) { return dot(x[0], x[1]); });
  add("cholesky", {{150, 150}}, [](X x) { return cholesky(matmul(x[0], transpose(x[0])) + 10 * eye(150)); });
  add("solve", {{150, 150}, {150, 20}}, [](X x) { return solve(x[0] + 100 * eye(150), x[1]); });
  add("batched solve", {{50, 8, 8}, {50, 8, 3}}, [](X x) { return solve(x[0] + 10 * eye(8), x[1]); });
  add("expm", {{150, 150}}, [](X x) { return expm(x[0] * 0.1); });
  add("batched expm", {{50, 8, 8}}, [](X x) { return expm(x[0]); });
  add("batched expm of complex matrices", {{300, 3, 3}}, [](X x) { return real(expm(make_complex(x[0], 2 * x[0]))); });
  add("batched sqrtm, logm", {{60, 5, 5}}, [](X x) { return sqrtm(x[0] + 9 * eye(5)) + logm(x[0] + 9 * eye(5)); });
  add("batched sylvester", {{60, 6, 6}, {5, 5}, {60, 6, 5}},
      [](X x) { return sylvester(x[0] + 9 * eye(6), x[1] + 9 * eye(5), x[2]); });
  add("sqrtm, logm", {{40, 40}}, [](X x) { return sqrtm(x[0] + 60 * eye(40)) + logm(x[0] + 60 * eye(40)); });
  add("sylvester", {{40, 40}, {30, 30}, {40, 30}},
      [](X x) { return sylvester(x[0] + 60 * eye(40), x[1] + 60 * eye(30), x[2]); });
  add("banded_solve", {{500, 4, 60}, {500, 60, 1}},
      [](X x) { return banded_solve(x[0] + 2 * one_hot(3, 60), 1, 2, x[1]); });
  add("banded_cholesky", {{500, 4, 60}}, [](X x) {
    return banded_cholesky(x[0] + 9 * reshape(one_hot(0, 4), {4, 1}));
  });
  add("tridiagonal_solve", {{2000, 39}, {2000, 40}, {2000, 39}, {2000, 40, 1}},
      [](X x) { return tridiagonal_solve(x[0], x[1] + 4, x[2], x[3]); });
  add("toeplitz_solve", {{90, 70}, {90, 70}, {90, 70, 1}},
      [](X x) { return toeplitz_solve(x[0] + 200 * one_hot(0, 70), x[1], x[2]); });
  add("gmres", {{200, 200}, {200}}, [](X x) {
    return gmres([a = x[0] + 300 * eye(200, x[0].dtype())](const Tensor& v) { return matmul(a, v); }, x[1],
                 {.tolerance = 1e-6})
        .x;
  });
  add("triangular_solve", {{150, 150}, {150, 20}}, [](X x) { return triangular_solve(x[0] + 100 * eye(150), x[1]); });
  add("inverse", {{120, 120}}, [](X x) { return inverse(x[0] + 100 * eye(120)); });
  add("det", {{30, 6, 6}}, [](X x) { return det(x[0]); });
  add("slogdet", {{60, 60}}, [](X x) { return slogdet(x[0] + 30 * eye(60)).logdet; });
  add("conv2d", {{4, 3, 40, 40}, {8, 3, 3, 3}}, [](X x) { return conv2d(x[0], x[1], {.padding = Padding::same}); });
  add("conv2d_transpose", {{2, 8, 20, 20}, {8, 3, 3, 3}}, [](X x) { return conv2d_transpose(x[0], x[1]); });
  add("max_pool2d", {{4, 8, 60, 60}}, [](X x) { return max_pool2d(x[0], {2, 2}); });
  add("avg_pool2d", {{4, 8, 60, 60}}, [](X x) { return avg_pool2d(x[0], {3, 3}); });
  add("layer_norm", {m, {503}, {503}}, [](X x) { return layer_norm(x[0], x[1], x[2]); });
  add("rms_norm", {m, {503}}, [](X x) { return rms_norm(x[0], x[1]); });
  add("batch_norm", {{16, 8, 30, 30}, {8}, {8}}, [](X x) { return batch_norm(x[0], x[1], x[2]).y; });
  add("softmax_cross_entropy", {m, m}, [](X x) { return softmax_cross_entropy(x[0], softmax(x[1])); });
  add("gather", {{5000, 40}}, [](X x) { return gather(x[0], mod(arange(9000) * 7, 5000)); });
  add("scatter_add", {{500, 40}, {9000, 40}}, [](X x) { return scatter_add(x[0], mod(arange(9000) * 7, 500), x[1]); });
  add("take_along_axis", {m}, [](X x) { return take_along_axis(x[0], argmax(x[0], 1, true), 1); });
  // Rows of indices in parallel, and parts of columns.
  const Tensor many = reshape(mod(arange(301 * 503) * 7919, 301), m);
  add("take_along_axis of all", {m}, [=](X x) { return take_along_axis(x[0], many, 0) * x[0]; });
  for (const int axis : {0, 1}) {
    const std::string along = " along axis " + std::to_string(axis);
    add("put_along_axis" + along, {m, m}, [=](X x) { return put_along_axis(x[0], many, x[1], axis); });
    add("scatter_add_along_axis" + along, {m, m}, [=](X x) { return scatter_add_along_axis(x[0], many, x[1], axis); });
    add("scatter_reduce mean" + along, {m, m},
        [=](X x) { return scatter_reduce(x[0], many, x[1], axis, Reduction::mean); });
  }
  add("diag_embed", {{3, 301}}, [](X x) { return diag_embed(x[0], 5); });
  add("concatenate", {m, m}, [](X x) { return concatenate({x[0], flip(x[1], 0)}, 1); });
  add("stack", {m, m}, [](X x) { return stack({x[0], x[1]}, 2); });
  add("transpose", {{60, 70, 80}}, [](X x) { return contiguous(transpose(x[0], {2, 0, 1})) * 3; });
  add("roll", {m}, [](X x) { return roll(x[0], 17, 1) * x[0]; });
  add("slice", {m}, [](X x) { return slice(x[0], {range(0, 300, 2), range(500, 3, -3)}) * 2; });
  add("pad", {m}, [](X x) { return pad(x[0], {1, 2}, {3, 4}); });
  add("repeat", {m}, [](X x) { return repeat(x[0], 3, 0); });
  add("where", {m, m}, [](X x) { return where(x[0] > x[1], x[0], x[1]); });
  add("fused", {m, m}, [](X x) {
    return elementwise([](auto a, auto b) { return tanh(a * b) + where(a > 1, exp(b), a); }, x[0], x[1]);
  });
  add("scan", {{50, 2000}}, [](X x) {
    return scan([](const Tensor& s, const Tensor& i) { return std::pair(tanh(s + i), s); }, zeros({2000}, x[0].dtype()),
                x[0])
        .second;
  });
  add("jacobian", {{60}, {60, 60}},
      [](X x) { return jacobian([&](const Tensor& v) { return tanh(matmul(x[1], v)); })(x[0]); });
  add("hessian", {{40}}, [](X x) { return hessian([](const Tensor& v) { return sum(exp(outer(v, v))); })(x[0]); });
  add("network", {{64, 100}, {100, 200}, {200}, {200, 10}},
      [](X x) { return mean(logsumexp(matmul(tanh(matmul(x[0], x[1]) + x[2]), x[3]), 1)); });
}

Program draws() {
  return {"draws", [] {
            Generator g(5);
            return Tensors{random_normal(g, {100003}), random_uniform(g, {100003}, 0, 1, DType::float32),
                           random_truncated_normal(g, {50001}), cast(random_permutation(g, 5000), DType::float64),
                           cast(random_integers(g, {50001}, 0, 1000), DType::float64)};
          }};
}

bool same_bits(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape() != b[i].shape() || a[i].dtype() != b[i].dtype()) return false;
    const auto bytes = [](const Tensor& x) {
      if (x.dtype() == DType::float32) {
        const std::vector<float> v = x.to_vector<float>();
        return std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float));
      }
      const std::vector<double> v = cast(x, DType::float64).to_vector();
      return std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(double));
    };
    if (bytes(a[i]) != bytes(b[i])) return false;
  }
  return true;
}

std::vector<Program> programs() {
  std::vector<Program> all;
  add_pointwise(all, DType::float64);
  add_arrays(all, DType::float32);
  add_arrays(all, DType::float64);
  all.push_back(draws());
  return all;
}

// Restores the environment that the test runs in.
struct Environment {
  std::fenv_t saved;
  int threads = num_threads();
  Environment() { std::fegetenv(&saved); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    std::fesetenv(&saved);
    set_num_threads(threads);
    openblas_set_num_threads(1);
  }
};

}  // namespace

TEST_CASE("values and gradients have the same bits for every number of threads") {
  const Environment restored;
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 16);
  tbb::task_arena arena(16);
  const std::vector<Program> all = programs();
  CHECK(all.size() >= 115);
  for (const int rounding : {FE_TONEAREST, FE_UPWARD}) {
    for (const Program& program : all) {
      std::fesetround(rounding);
      set_num_threads(1);
      const Tensors expected = program.run();
      for (const int threads : {2, 3, 7, 16, 1}) {
        set_num_threads(threads);
        openblas_set_num_threads(threads == 3 ? 2 : 1);  // set by the host: must have no effect
        INFO(program.name << ", " << threads << " threads, rounding " << rounding);
        Tensors got;
        arena.execute([&] {
          std::fesetround(rounding);
          got = program.run();
        });
        CHECK(same_bits(got, expected));
        CHECK(std::fegetround() == rounding);
      }
      std::fesetround(FE_TONEAREST);
    }
  }
}
