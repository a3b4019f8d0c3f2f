// float16 and bfloat16: each op computes in float32 and rounds once; gradients have the operand's dtype and flow
// through chains and repeated use. Rules S89, C9.
#include <cmath>
#include <reel/linalg/products.hpp>
#include <reel/ops/parts.hpp>
#include <string>

#include "catch.hpp"
#include "op_cases.hpp"
#include "support/derivatives.hpp"

using namespace reel;
using support::Layout, support::Tensors;

namespace {

constexpr DType halves[] = {DType::float16, DType::bfloat16};
double eps(DType d) { return d == DType::float16 ? 0x1p-10 : 0x1p-7; }
Tensors widened(const Tensors& x) {
  Tensors wide;
  for (const Tensor& one : x) wide.push_back(cast(one, DType::float32));
  return wide;
}
Tensors drawn(const cases::Pointwise& row, support::Random& random, const Shape& shape, DType d) {
  Tensors x;
  for (int i = 0; i < row.arity; ++i) x.push_back(cast(random.tensor(shape, row.domain[i].low, row.domain[i].high), d));
  return x;
}
bool differentiable(const cases::Pointwise& row) { return !(row.flags & cases::boolean_result); }

}  // namespace

TEST_CASE("pointwise values of float16 and bfloat16 are the float32 results, rounded once") {
  for (const DType d : halves)
    for (const cases::Pointwise& row : cases::pointwise()) {
      support::Random random(row.name);
      for (const Shape& shape : {Shape{}, Shape{37}, Shape{700}, Shape{4, 70}, Shape{0}}) {
        const Tensors x = drawn(row, random, shape, d);
        for (Layout layout : {Layout::contiguous, Layout::transposed, Layout::flipped, Layout::broadcast}) {
          Tensors views;
          for (const Tensor& one : x) views.push_back(laid_out(one, layout));
          const Tensor y = row.call(views), wide = row.call(widened(views));
          INFO(row.name << " of " << name(d) << " " << to_string(shape) << " " << name(layout));
          CHECK((y.dtype() == d || y.dtype() == wide.dtype()));
          CHECK(array_equal(y, cast(wide, y.dtype())));
        }
      }
    }
  CHECK((tensor<float>({1}) + cast(tensor({1.}), DType::float16)).dtype() == DType::float32);
  CHECK((2.5 * cast(tensor({1.}), DType::bfloat16)).dtype() == DType::bfloat16);
}

TEST_CASE("float16 and bfloat16 are rounded to nearest even, with infinities, subnormals and NaN") {
  const auto h = [](double v) { return scalar(float16(static_cast<float>(v))); };
  const auto value = [](const Tensor& x) { return static_cast<double>(float(x.item<float16>())); };
  CHECK(value(h(2048) + h(1)) == 2048);  // a tie
  CHECK(value(h(2050) + h(1)) == 2052);
  CHECK(value(h(2048) + h(1.5)) == 2050);
  CHECK(value(h(60000) * h(2)) == HUGE_VAL);
  CHECK(value(h(0x1p-24) * h(0.75)) == 0x1p-24);
  CHECK(std::isnan(value(sqrt(h(-1)))));
  CHECK(value(h(1) / h(3)) == 1365.0 / 4096);
}

TEST_CASE("results of float16 and bfloat16 may reuse an operand's memory") {
  Tensor x = cast(linspace(0, 4, 999), DType::bfloat16);
  const Tensor copy = x * 1;
  const Tensor y = exp(x * 2 + 1);
  CHECK(array_equal(y, exp(copy * 2 + 1)));
}

TEST_CASE("S89: derivatives keep float16 and bfloat16, close to those of float32") {
  for (const DType d : halves)
    for (const cases::Pointwise& row : cases::pointwise()) {
      if (!differentiable(row)) continue;
      support::Random random(row.name);
      const Tensors x = drawn(row, random, {37}, d);
      const support::Function f = [&](const Tensors& p) { return Tensors{row.call(p)}; };
      const Tensor v = cast(random.tensor({37}), f(x)[0].dtype());
      const Tensors got = support::pull(f, x, {v});
      const Tensors expected = support::pull(f, widened(x), {cast(v, DType::float32)});
      INFO(row.name << " of " << name(d));
      for (const Tensor& g : got) CHECK(g.dtype() == d);
      Tensors wide;
      for (const Tensor& g : got) wide.push_back(cast(g, DType::float64));
      const support::Difference error = support::difference(wide, expected);
      CHECK(error.error <= 2 * eps(d) * (1 + error.size));
      for (const Tensor& dy : support::push(f, x, x)) CHECK(dy.dtype() == v.dtype());
    }
}

TEST_CASE("reductions and scans of float16 and bfloat16 accumulate in float32") {
  for (const DType d : halves) {
    const Tensor many = ones({5000}, d), large = full({1000}, 1000.0, d);
    const Tensor x = cast(linspace(-3, 5, 600), d), wide = cast(x, DType::float32);
    INFO(name(d));
    CHECK(array_equal(sum(many), cast(scalar(5000.0), d)));    // a running sum in the dtype would stop at 2048 or 256
    CHECK(array_equal(mean(large), cast(scalar(1000.0), d)));  // the sum exceeds float16's range, the mean does not
    CHECK(array_equal(sum(x), cast(sum(wide), d)));
    CHECK(array_equal(mean(reshape(x, {20, 30}), 0), cast(mean(reshape(wide, {20, 30}), 0), d)));
    CHECK(array_equal(prod(slice(x, {range(0, 9)})), cast(prod(slice(wide, {range(0, 9)})), d)));
    CHECK(array_equal(max(x), x[599]));
    CHECK(array_equal(min(x), x[0]));
    CHECK(argmax(x, 0).item<std::int64_t>() == argmax(wide, 0).item<std::int64_t>());
    CHECK(argmin(x, 0).item<std::int64_t>() == 0);
    CHECK(array_equal(cumsum(x, 0), cast(cumsum(wide, 0), d)));
    CHECK(array_equal(cumprod(x, 0, true), cast(cumprod(wide, 0, true), d)));
    CHECK(array_equal(softmax(x), cast(softmax(wide), d)));
    CHECK(array_equal(log_softmax(x), cast(log_softmax(wide), d)));
    CHECK(array_equal(logsumexp(x), cast(logsumexp(wide), d)));
    CHECK(array_equal(var(x), cast(var(wide), d)));
    CHECK(array_equal(reel::std(x), cast(reel::std(wide), d)));
    CHECK(array_equal(norm(x), cast(norm(wide), d)));
    CHECK(any(x).item<bool>());
    CHECK(sum(zeros({0}, d)).dtype() == d);
  }
}

TEST_CASE("C9, S89: gradients of float16 and bfloat16: reductions, chains, broadcasting, repeated use") {
  for (const DType d : halves) {
    const Tensor x = cast(tensor({{0.5, -0.25, 1}, {2, 0.125, -1}}), d), b = cast(tensor({1., 2., -0.5}), d);
    const auto f = [](const auto& p, const auto& q) {
      return mean(square(softmax(tanh(p * q + p)) - q)) + logsumexp(p) + sum(cumsum(p, 1) * p) + max(q) + norm(p);
    };
    GradientTape tape;
    tape.watch(x);
    tape.watch(b);
    const Tensor y = f(x, b);
    CHECK(y.dtype() == d);
    const auto [dx, db] = tape.gradient(y, std::tuple(x, b));
    const Tensor wx = cast(x, DType::float64), wb = cast(b, DType::float64);
    GradientTape exact;
    exact.watch(wx);
    exact.watch(wb);
    const Tensor wy = f(wx, wb);
    const auto [ex, eb] = exact.gradient(wy, std::tuple(wx, wb));
    INFO(name(d));
    CHECK((*dx).dtype() == d);
    CHECK((*db).dtype() == d);
    CHECK((*db).shape() == b.shape());
    CHECK(max(abs(cast(*dx, DType::float64) - *ex)).item() <= 8 * eps(d) * max(abs(*ex)).item());
    CHECK(max(abs(cast(*db, DType::float64) - *eb)).item() <= 8 * eps(d) * max(abs(*eb)).item());
  }
}

TEST_CASE("C9: a bfloat16 variable is trained; sums of many gradients by every method") {
  Variable w(cast(tensor({4., -3.}), DType::bfloat16), "w");
  for (int step = 0; step < 40; ++step) {
    GradientTape tape;
    const Tensor loss = sum(square(w - cast(tensor({1., 2.}), DType::bfloat16)));
    w.assign_sub(0.25 * *tape.gradient(loss, w));
  }
  CHECK(cast(w.read(), DType::float64).to_vector() == std::vector<double>{1, 2});
  const Tensor x = cast(tensor({1., 2.}), DType::float16);
  for (const AggregationMethod method :
       {AggregationMethod::add_n, AggregationMethod::tree, AggregationMethod::accumulate_n}) {
    GradientTape tape;
    tape.watch(x);
    Tensor y = x * x;
    for (int i = 0; i < 5; ++i) y = y + x;
    const Tensor g = *tape.gradient(sum(y), x, {.aggregation_method = method});
    CHECK(cast(g, DType::float64).to_vector() == std::vector<double>{7, 9});
  }
}

TEST_CASE("S89: gradients of float16 and bfloat16: matmul, gather and moved elements") {
  for (const DType d : halves) {
    const Tensor x = cast(tensor({{0.5, -0.25}, {2, 1}}), d), w = cast(tensor({{1., 2.}, {-0.5, 4}}), d);
    const auto f = [](const auto& p, const auto& q) {
      return sum(square(matmul(p, q))) + sum(gather(p, tensor<int>({1, 1})) * q) + sum(concatenate({p, transpose(q)}));
    };
    const auto g = grad<0, 1>(f);
    const auto [dx, dw] = g(x, w);
    const auto [ex, ew] = g(cast(x, DType::float64), cast(w, DType::float64));
    INFO(name(d));
    CHECK(dx.dtype() == d);
    CHECK(max(abs(cast(dx, DType::float64) - ex)).item() <= 4 * eps(d) * max(abs(ex)).item());
    CHECK(max(abs(cast(dw, DType::float64) - ew)).item() <= 4 * eps(d) * max(abs(ew)).item());
  }
}

TEST_CASE("products in several steps round float16 and bfloat16 once") {
  struct Row {
    const char* name;
    Tensor (*call)(const Tensors& x);
  };
  const Row rows[] = {{"einsum of three",
                       [](const Tensors& x) {
                         return einsum("ij,jk,kl->il", {x[0], x[1], x[0]});
                       }},
                      {"einsum with sums",
                       [](const Tensors& x) {
                         return einsum("ij,kj->k", {x[0], x[1]});
                       }},
                      {"multi_dot",
                       [](const Tensors& x) {
                         return multi_dot({x[0], x[1], x[0]});
                       }},
                      {"matrix_power", [](const Tensors& x) { return matrix_power(x[0], 3); }},
                      {"cross", [](const Tensors& x) { return cross(x[0], x[1]); }},
                      {"glu", [](const Tensors& x) {
                         return glu(concatenate({x[0], x[1]}, 1));
                       }}};
  for (const DType d : halves)
    for (const Row& row : rows)
      for (int k = 0; k < 8; ++k) {
        support::Random random(row.name + std::to_string(k));
        const Tensors x = {cast(random.tensor({3, 3}, -2, 2), d), cast(random.tensor({3, 3}, -2, 2), d)};
        INFO(row.name << " of " << name(d));
        CHECK(row.call(x).dtype() == d);
        CHECK(array_equal(row.call(x), cast(row.call(widened(x)), d)));
      }
  const Tensor large = full({3}, 300.0, DType::float16), small = full({3}, 1e-3, DType::float16);
  CHECK(float(einsum("i,i,i->", {large, large, small}).item<float16>()) < 300);
  CHECK(array_equal(cross(large, large), zeros({3}, DType::float16)));
}

TEST_CASE("second derivatives of float16 and bfloat16") {
  for (const DType d : halves) {
    const Tensor x = cast(tensor({0.5, -0.25}), d);
    const Tensor h = hvp([](const Tensor& p) { return sum(p * p * p); })(x, ones({2}, d));
    CHECK(h.dtype() == d);
    CHECK(cast(h, DType::float64).to_vector() == std::vector<double>{3, -1.5});
  }
}
