// matmul, dot, outer, tensordot: values against long double, every layout, dtype and rank; derivatives; errors.
#include <cstring>
#include <limits>
#include <reel/compile.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "linalg/check.hpp"
#include "support/messages.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using linalg::check_one, support::largest;

namespace {

Tensor drawn(const Shape& shape, DType d = DType::float64, std::uint64_t seed = 1) {
  return cast(support::Random(std::to_string(seed)).tensor(shape), d);
}

std::int64_t extent(const Shape& s, int d) { return d < 0 ? 1 : s[d]; }

// sum over k of a[..., i, k] b[..., k, j] for matrices with broadcast batches, in long double; and of |terms|.
struct Reference {
  Shape shape;
  std::vector<long double> values, magnitudes;
};
Reference reference(const Tensor& a, const Tensor& b) {
  const Shape sa = a.shape(), sb = b.shape();
  const int na = sa.rank() - 2, nb = sb.rank() - 2, n = std::max(na, nb);
  Reference r;
  for (int d = 0; d < n; ++d) {
    const std::int64_t ea = extent(sa, d - (n - na)), eb = extent(sb, d - (n - nb));
    r.shape.push_back(ea == 1 ? eb : ea);
  }
  const std::int64_t rows = sa[-2], inner = sa[-1], columns = sb[-1], count = r.shape.elements();
  const auto va = cast(a, DType::float64).to_vector(), vb = cast(b, DType::float64).to_vector();
  for (std::int64_t at = 0; at < count; ++at) {
    std::int64_t from_a = 0, from_b = 0, step_a = 1, step_b = 1, rest = at;
    for (int d = n - 1; d >= 0; --d) {
      const std::int64_t i = rest % r.shape[d], ea = extent(sa, d - (n - na)), eb = extent(sb, d - (n - nb));
      from_a += (ea == 1 ? 0 : i) * step_a;
      from_b += (eb == 1 ? 0 : i) * step_b;
      step_a *= ea;
      step_b *= eb;
      rest /= r.shape[d];
    }
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        long double sum = 0, magnitude = 0;
        for (std::int64_t k = 0; k < inner; ++k) {
          const long double term =
              static_cast<long double>(va[static_cast<std::size_t>((from_a * rows + i) * inner + k)]) *
              vb[static_cast<std::size_t>((from_b * inner + k) * columns + j)];
          sum += term;
          magnitude += std::abs(term);
        }
        r.values.push_back(sum);
        r.magnitudes.push_back(magnitude);
      }
  }
  r.shape.push_back(rows);
  r.shape.push_back(columns);
  return r;
}

void check_product(const Tensor& a, const Tensor& b, const MatmulOptions& options = {}) {
  CAPTURE(a.shape(), b.shape(), a.strides(), b.strides(), options.transpose_a, options.transpose_b);
  const Tensor c = matmul(a, b, options);
  const Tensor ma = a.rank() == 1 ? expand_dims(a, 0) : options.transpose_a ? moveaxis(a, -1, -2) : a;
  const Tensor mb = b.rank() == 1 ? expand_dims(b, -1) : options.transpose_b ? moveaxis(b, -1, -2) : b;
  Reference r = reference(ma, mb);
  if (b.rank() == 1) r.shape.pop_back();
  if (a.rank() == 1) r.shape.erase(r.shape.rank() - (b.rank() == 1 ? 1 : 2));
  REQUIRE(c.shape() == r.shape);
  CHECK(c.is_contiguous());
  const double eps = c.dtype() == DType::float32 ? 0x1p-23 : 0x1p-52;
  const auto values = cast(c, DType::float64).to_vector();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    wrong +=
        !(std::abs(values[i] - static_cast<double>(r.values[i])) <= 4 * eps * static_cast<double>(r.magnitudes[i]));
  CHECK(wrong == 0);
}

struct Shapes {
  Shape a, b;
};
const Shapes shape_pairs[] = {
    {{3, 4}, {4, 5}},
    {{1, 4}, {4, 5}},
    {{3, 1}, {1, 5}},
    {{3, 4}, {4, 1}},
    {{1, 1}, {1, 1}},
    {{1, 7}, {7, 1}},
    {{4}, {4}},
    {{4}, {4, 5}},
    {{3, 4}, {4}},
    {{1}, {1}},
    {{1}, {1, 3}},
    {{2, 3, 4}, {2, 4, 5}},
    {{2, 3, 4}, {4, 5}},
    {{3, 4}, {2, 4, 5}},
    {{2, 1, 3, 4}, {5, 4, 2}},
    {{1, 3, 4}, {6, 4, 2}},
    {{4}, {2, 4, 5}},
    {{2, 3, 4}, {4}},
    {{2, 3, 1}, {1, 5}},
    {{7, 1, 4}, {7, 4, 1}},
    {{0, 4}, {4, 5}},
    {{3, 0}, {0, 5}},
    {{3, 4}, {4, 0}},
    {{0}, {0}},
    {{0, 3, 4}, {4, 5}},
    {{2, 3, 0}, {0, 5}},
    {{3, 0}, {0}},
    {{0, 3, 4}, {1, 4, 2}},
    {{33, 70}, {70, 65}},
    {{130, 129}, {129, 131}},
};

}  // namespace

TEST_CASE("matmul: values for every rank, broadcast and zero extents") {
  for (const DType d : {DType::float64, DType::float32})
    for (const auto& [a, b] : shape_pairs) check_product(drawn(a, d, 3), drawn(b, d, 4));
}

TEST_CASE("matmul: a matrix of 48 rows times its transpose is symmetric, in every layout and for any threads") {
  const std::pair<int, int> shapes[] = {{47, 8000}, {48, 7500}, {100, 1700}, {200, 400}, {1090, 15}, {2120, 4}};
  const int before = num_threads();
  for (const DType d : {DType::float64, DType::float32})
    for (const auto& [m, k] : shapes) {
      CAPTURE(d, m, k);
      const double eps = d == DType::float32 ? 0x1p-21 : 0x1p-50;
      const Tensor wide = drawn({m, k + 3}, d, 3), x = slice(wide, {reel::all, range(1, k + 1)}),
                   turned = moveaxis(x, 0, 1);
      const Tensor other = contiguous(x), y = matmul(x, turned);  // not recognised as its own transpose
      const Tensor size = matmul(abs(other), abs(turned));
      if (m >= 48) CHECK(array_equal(y, moveaxis(y, 0, 1)));  // below it is BLAS's gemm, which promises nothing
      CHECK(all(less_equal(abs(y - matmul(other, turned)), size * eps)).item<bool>());
      const Tensor stored = contiguous(turned);
      CHECK(all(less_equal(abs(matmul(stored, stored, {.transpose_a = true}) - y), size * eps)).item<bool>());
      for (const int threads : {1, 2, 3}) {
        set_num_threads(threads);
        CHECK(array_equal(matmul(x, turned), y));
      }
      set_num_threads(before);
      const auto f = [](const Tensor& a) { return relu(matmul(a, transpose(a)) + 0.25); };
      CHECK(array_equal(compile(f)(x), f(x)));
    }
  Tensor x = drawn({60, 5000});
  x = where(logical_and(equal(expand_dims(arange(60), 1), 7), equal(arange(5000), 4000)),
            std::numeric_limits<double>::quiet_NaN(), x);
  { const Tensor garbage = full({60, 60}, std::numeric_limits<double>::quiet_NaN()); }
  const Tensor missing = cast(isnan(matmul(x, moveaxis(x, 0, 1))), DType::int64);
  CHECK(sum(missing).item<std::int64_t>() == 119);
  CHECK(sum(missing[7]).item<std::int64_t>() == 60);
}

TEST_CASE("matmul: transposes by flag") {
  for (const DType d : {DType::float64, DType::float32})
    for (const auto& [a, b] : shape_pairs) {
      const Tensor x = drawn(a, d, 3), y = drawn(b, d, 4);
      const bool ta = a.rank() > 1, tb = b.rank() > 1;
      const Tensor xt = ta ? contiguous(moveaxis(x, -1, -2)) : x, yt = tb ? contiguous(moveaxis(y, -1, -2)) : y;
      if (ta) check_product(xt, y, {true, false});
      if (tb) check_product(x, yt, {false, true});
      if (ta && tb) check_product(xt, yt, {true, true});
    }
}

TEST_CASE("matmul: extents around the borders of tiles, and sums of several blocks, in every layout") {
  constexpr std::int64_t extents[] = {0, 2, 3, 7, 8, 13, 15, 29, 33, 64, 70};
  for (const DType d : {DType::float64, DType::float32}) {
    for (const std::int64_t m : extents)
      for (const std::int64_t n : extents)
        for (const std::int64_t k : extents) {
          if ((m + n + k) % 3 != 0 && std::min({m, n, k}) > 3) continue;
          check_product(drawn({m, k}, d, 3), drawn({k, n}, d, 4));
        }
    for (const auto& [m, n, k] :
         {std::tuple(300, 200, 130), {40, 300, 600}, {256, 130, 257}, {5, 700, 300}, {600, 9, 512}}) {
      const Tensor a = drawn({m, k}, d, 5), b = drawn({k, n}, d, 6), at = contiguous(transpose(a)),
                   bt = contiguous(transpose(b)), c = matmul(a, b);
      check_product(a, b);
      check_product(at, b, {.transpose_a = true});
      check_product(a, bt, {.transpose_b = true});
      check_product(at, bt, {.transpose_a = true, .transpose_b = true});
      check_product(flip(a), flip(b, 1));
      check_product(slice(drawn({m, 2 * k}, d, 7), {all, range(0, 2 * k, 2)}),
                    slice(drawn({k, n + 3}, d), {all, range(1, n + 1)}));
    }
  }
}

TEST_CASE("matmul: a product of a batch has the bits of a single and of a compiled one") {
  for (const DType d : {DType::float64, DType::float32})
    for (const auto& [m, n, k] :
         {std::tuple(3, 3, 3), {6, 6, 6}, {16, 32, 13}, {32, 32, 32}, {16, 3, 32}, {90, 100, 40}}) {
      CAPTURE(d, m, n, k);
      const Tensor a = drawn({5, m, k}, d), b = drawn({5, k, n}, d, 2), c = matmul(a, b);
      for (std::int64_t i = 0; i < 5; ++i) CHECK(array_equal(matmul(a[i], b[i]), c[i]));
      const auto product = compile([](const Tensor& x, const Tensor& y) { return matmul(x, y); });
      CHECK(array_equal(product(a, b), c));
      CHECK(array_equal(product(a[1], b[1]), c[1]));
    }
}

TEST_CASE("matmul: views of any stride") {
  const Tensor a = drawn({6, 8}), b = drawn({8, 6}, DType::float64, 2), big = drawn({4, 6, 8, 6}, DType::float64, 5);
  check_product(transpose(b), transpose(a));
  check_product(transpose(b), transpose(a), {});
  check_product(slice(a, {range_from(0, 2), all}), b);
  check_product(slice(a, {all, range_from(0, 2)}), slice(b, {range_from(1, 2), range(1, 5)}));
  check_product(flip(a), b);
  check_product(flip(a, 1), flip(b, 0));
  check_product(broadcast_to(drawn({8}), {5, 8}), b);
  check_product(broadcast_to(drawn({6, 1}), {6, 8}), b);
  check_product(broadcast_to(scalar(2.0), {6, 8}), broadcast_to(scalar(3.0), {8, 2}));
  check_product(slice(a, {all, 3}), drawn({6, 2}));
  check_product(drawn({2, 6}), slice(a, {all, 3}));
  check_product(slice(a, {all, 3}), slice(b, {2, all}));
  check_product(flip(slice(a, {all, 3})), slice(b, {2, all}));
  check_product(transpose(big, {0, 3, 1, 2}), transpose(big, {0, 3, 2, 1}));
  check_product(transpose(big, {2, 0, 3, 1}), drawn({6, 3}));
  check_product(transpose(drawn({5, 14}), {1, 0}), drawn({5, 3}));
  check_product(reshape(transpose(drawn({5, 14})), {2, 7, 5}), drawn({5, 3}));
  check_product(broadcast_to(drawn({3, 4}), {2, 3, 4}), drawn({2, 4, 3}));
  check_product(broadcast_to(drawn({3, 4}), {2, 3, 4}), drawn({4, 3}));
  check_product(slice(drawn({6, 9}), {all, range(2, 6)}), slice(drawn({9, 9}), {range(1, 5), range(3, 9)}),
                {false, false});
  check_product(slice(drawn({6, 9}), {all, range(2, 6)}), slice(drawn({9, 9}), {range(1, 7), range(3, 9)}),
                {true, true});
}

TEST_CASE("matmul: tiles and long inner dimensions have the same bits for every number of threads") {
  struct Case {
    Tensor a, b;
  };
  const DType f = DType::float32;
  const Case list[] = {{drawn({300, 200}, f), drawn({200, 300}, f, 2)},
                       {drawn({64, 784}, f), drawn({784, 256}, f, 2)},
                       {drawn({128, 128}, f), drawn({128, 128}, f, 2)},
                       {drawn({131, 517}), drawn({517, 149}, DType::float64, 2)},
                       {drawn({97, 600}, f), transpose(drawn({203, 600}, f, 2))},
                       {drawn({1100, 40}, f), drawn({40, 1030}, f, 2)},
                       {drawn({1500, 1500}), drawn({1500}, DType::float64, 2)},
                       {drawn({1500}), drawn({1500, 1500}, DType::float64, 2)},
                       {drawn({200000}, f), drawn({200000}, f, 2)},
                       {drawn({1500001}, f), drawn({1500001}, f, 2)},
                       {drawn({700001}), drawn({700001, 1}, DType::float64, 2)},
                       {drawn({1300, 1}, f), drawn({1, 1100}, f, 2)},
                       {drawn({3, 40, 1}), drawn({1, 7}, DType::float64, 2)},
                       {drawn({40, 30, 50}), drawn({40, 50, 33}, DType::float64, 2)},
                       {drawn({3, 300, 200}, f), drawn({3, 200, 300}, f, 2)}};
  const int before = num_threads();
  for (const auto& [a, b] : list) {
    check_product(a, b);
    std::vector<double> first;
    for (int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      const auto values = matmul(a, b).to_vector();
      if (first.empty()) first = values;
      CHECK(std::memcmp(values.data(), first.data(), values.size() * sizeof(double)) == 0);
    }
    set_num_threads(before);
  }
}

TEST_CASE("matmul: a column times a row, in every layout and dtype, with derivatives") {
  for (const DType d : {DType::float64, DType::float32, DType::int32})
    for (const auto& [m, n] : {std::pair(1, 1), {0, 3}, {3, 0}, {5, 1}, {1, 17}, {33, 40}}) {
      const Tensor column = drawn({m, 1}, d), row = drawn({1, n}, d, 2);
      check_product(column, row, {false, false});
      check_product(transpose(column), row, {true, false});
      check_product(column, transpose(row), {false, true});
      check_product(transpose(column), transpose(row), {true, true});
      check_product(broadcast_to(drawn({1, 1}, d), {4, 1}), slice(drawn({1, 9}, d, 2), {all, range(0, 9, 2)}),
                    {false, false});
    }
  check_one([](const auto& x) { return matmul(x[0], x[1]); }, {drawn({3, 1}), drawn({1, 4})}, {.order = 3});
  check_one([](const auto& x) { return matmul(x[0], x[1], {.transpose_a = true}); }, {drawn({2, 1, 3}), drawn({1, 4})});
  const Tensor c = matmul(drawn({2, 1}), drawn({1, 2}, DType::float64, 2));
  CHECK(c.is_contiguous());
}

TEST_CASE("matmul: integers wrap, booleans combine, float16 computes in float32") {
  const Tensor a = tensor<int>({{1, 2}, {3, 4}}), b = tensor<int>({{5, 6}, {7, 8}});
  CHECK(matmul(a, b).dtype() == DType::int32);
  CHECK(matmul(a, b).to_vector<int>() == std::vector<int>{19, 22, 43, 50});
  CHECK(matmul(a, transpose(b)).to_vector<int>() == std::vector<int>{17, 23, 39, 53});
  CHECK(matmul(flip(a), b, {true, false}).to_vector<int>() ==
        std::vector<int>{4 * 5 + 2 * 7, 4 * 6 + 2 * 8, 3 * 5 + 7, 3 * 6 + 8});
  CHECK(matmul(tensor<int>({{2147483647}}), tensor<int>({{2}})).item<int>() == -2);
  CHECK(matmul(tensor<std::uint8_t>({200, 100}), tensor<std::uint8_t>({2, 1})).item<std::uint8_t>() == (500 & 255));
  CHECK(matmul(a, cast(b, DType::int64)).dtype() == DType::int64);
  CHECK(matmul(a, cast(b, DType::float32)).dtype() == DType::float32);
  CHECK(matmul(stack({a, b}), stack({b, a})).to_vector<int>() == std::vector<int>{19, 22, 43, 50, 23, 34, 31, 46});
  const Tensor p = tensor<bool>({{1, 0}, {0, 0}}), q = tensor<bool>({{0, 1}, {1, 1}});
  CHECK(matmul(p, q).dtype() == DType::boolean);
  CHECK(matmul(p, q).to_vector<bool>() == std::vector<bool>{false, true, false, false});
  CHECK(matmul(q, q).to_vector<bool>() == std::vector<bool>{true, true, true, true});
  for (DType d : {DType::float16, DType::bfloat16}) {
    const Tensor c = matmul(cast(a, d), cast(b, d));
    CHECK(c.dtype() == d);
    CHECK(cast(c, DType::float64).to_vector() == std::vector<double>{19, 22, 43, 50});
  }
}

TEST_CASE("matmul: NaN and infinity reach only their row and column") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto c = matmul(tensor({{1, inf}, {1, 2}, {nan, 0}}), tensor({{1, 2}, {3, 4}})).to_vector();
  CHECK(c[0] == inf);
  CHECK(c[2] == 7);
  CHECK(c[3] == 10);
  CHECK(std::isnan(c[4]));
  CHECK(std::isnan(matmul(tensor({0., 1.}), tensor({inf, 1.})).item()));
}

TEST_CASE("matmul: derivatives in both modes, second order") {
  for (const auto& [a, b] : shape_pairs) {
    if (a.elements() * b.elements() > 3000) continue;
    CAPTURE(a, b);
    check_one([](const auto& x) { return matmul(x[0], x[1]); },
              {drawn(a, DType::float64, 3), drawn(b, DType::float64, 4)});
  }
  for (const auto& [ta, tb] : {std::pair(true, false), {false, true}, {true, true}}) {
    const MatmulOptions options{ta, tb};
    const auto f = [=](const auto& x) { return matmul(x[0], x[1], options); };
    check_one(f, {drawn(ta ? Shape{4, 3} : Shape{3, 4}), drawn(tb ? Shape{5, 4} : Shape{4, 5})});
    check_one(f, {drawn(ta ? Shape{2, 4, 3} : Shape{2, 3, 4}), drawn(tb ? Shape{5, 4} : Shape{4, 5})});
    check_one(f, {drawn(ta ? Shape{4, 3} : Shape{3, 4}), drawn(tb ? Shape{2, 5, 4} : Shape{2, 4, 5})});
  }
  const auto views = [](const auto& x) { return matmul(transpose(x[0]), flip(x[1], 0)); };
  check_one(views, {drawn({4, 3}), drawn({4, 5})});
  // The same tensor twice, and third order.
  check_one([](const auto& x) { return matmul(x[0], x[0]); }, {drawn({3, 3})}, {.order = 3});
}

// A recurrent network without biases: every step adds to the cotangent of the weights, in every layout.
Tensor recurrent(const support::Tensors& x) {
  const Tensor &w = x[0], &u = x[1];
  Tensor h = tanh(matmul(u, w));
  for (int step = 0; step < 3; ++step) h = tanh(matmul(h, w) + matmul(w, h, {.transpose_b = true})[0]);
  return sum(h * h) + sum(matmul(w, u, {.transpose_a = true, .transpose_b = true})) + sum(matmul(w, u[0])) +
         sum(square(matmul(u[1], w)));
}

TEST_CASE("matmul: cotangents of a factor that is used many times are added in place") {
  for (const DType d : {DType::float64, DType::float32, DType::float16}) {
    const Tensor w = 0.3 * drawn({5, 5}, d), u = drawn({5, 5}, d, 2);
    std::vector<std::vector<Gradient>> all;
    for (const AggregationMethod method : {AggregationMethod::accumulate_n, AggregationMethod::add_n}) {
      GradientTape tape({.persistent = true});
      tape.watch(w);
      tape.watch(u);
      const Tensor y = recurrent({w, u});
      for (int again = 0; again < 2; ++again) {
        GradientOptions options;
        options.aggregation_method = method;
        tape.stop();
        all.push_back(tape.gradient(y, {w, u}, options));
        tape.resume();
      }
    }
    const double tolerance = d == DType::float64 ? 1e-13 : d == DType::float32 ? 1e-5 : 2e-2;
    for (std::size_t k = 0; k < 2; ++k) {
      const Tensor expected = cast(*all[2][k], DType::float64);
      CHECK((*all[0][k]).dtype() == d);
      CHECK(largest(cast(*all[0][k], DType::float64) - expected) <= tolerance * (1 + largest(expected)));
      CHECK(largest(cast(*all[0][k], DType::float64) - cast(*all[1][k], DType::float64)) == 0);
    }
  }
  check_one(recurrent, {0.3 * drawn({4, 4}), drawn({4, 4}, DType::float64, 2)}, {.order = 3});
}

TEST_CASE("matmul: a cotangent with other handles is not added to in place") {
  const Tensor w = drawn({3, 3}), v = drawn({3, 3}, DType::float64, 2), x = drawn({3, 3}, DType::float64, 3),
               seed = drawn({3, 3}, DType::float64, 4);
  const auto before = seed.to_vector();
  GradientTape tape({.persistent = true});
  tape.watch(w);
  tape.watch(v);
  const Tensor product = matmul(x, w), y = product + w + v;
  GradientOptions options;
  options.output_gradients = seed;
  tape.stop();
  const auto first = tape.gradient(y, {w, v, product}, options);
  const auto kept = (*first[0]).to_vector();
  const auto second = tape.gradient(y, {w, v, product}, options);
  CHECK(seed.to_vector() == before);
  CHECK((*first[0]).to_vector() == kept);
  CHECK((*second[0]).to_vector() == kept);
  CHECK((*second[1]).to_vector() == before);
  CHECK((*second[2]).to_vector() == before);
  CHECK(largest(*first[0] - (seed + matmul(transpose(x), seed))) <= 1e-14);
}

TEST_CASE("matmul: cotangents added in place: empty factors and broadcast rows") {
  const Tensor w = drawn({3, 4});
  for (const std::int64_t rows : {0, 1, 5}) {
    const Tensor a = drawn({rows, 3}), b = drawn({7, 3}, DType::float64, 2);
    GradientTape tape;
    tape.watch(w);
    const Tensor y = 2 * sum(matmul(a, w)) + sum(matmul(b, w)) + sum(matmul(b, w) * 3);
    const Tensor expected = broadcast_to(expand_dims(2 * sum(a, 0) + 4 * sum(b, 0), 1), {3, 4});
    CHECK(largest(*tape.gradient(y, w) - expected) <= 1e-13);
  }
}

TEST_CASE("matmul: cotangents added in place have the same bits for every number of threads") {
  const int before = num_threads();
  const Tensor x = drawn({70, 300}, DType::float32), w = 0.05 * drawn({300, 300}, DType::float32, 2);
  std::vector<double> first;
  for (int threads : {1, 2, 7}) {
    set_num_threads(threads);
    GradientTape tape;
    tape.watch(w);
    Tensor h = x;
    for (int step = 0; step < 3; ++step) h = tanh(matmul(h, w));
    const auto g = (*tape.gradient(sum(h), w)).to_vector();
    if (first.empty()) first = g;
    CHECK(std::memcmp(g.data(), first.data(), g.size() * sizeof(double)) == 0);
  }
  set_num_threads(before);
}

TEST_CASE("matmul: the cotangent of one matrix that multiplies many is their sum") {
  const int before = num_threads();
  struct Case {
    Shape w, x;
    MatmulOptions options;
  };
  const Case list[] = {{{3, 4}, {5, 4, 2}, {}},
                       {{4, 3}, {2, 3, 4, 5}, {true, false}},
                       {{3, 4}, {7, 2, 4}, {false, true}},
                       {{4, 3}, {7, 2, 4}, {true, true}},
                       {{1, 4}, {3, 4, 1}, {}},
                       {{3, 1}, {3, 1, 4}, {}},
                       {{3, 4}, {0, 4, 2}, {}},
                       {{3, 0}, {2, 0, 2}, {}},
                       {{33, 40}, {700, 40, 31}, {}},
                       {{200, 180}, {3, 180, 150}, {}}};
  for (const DType d : {DType::float64, DType::float32, DType::float16})
    for (const auto& [shape_w, shape_x, options] : list) {
      if (d == DType::float16 && shape_x.elements() > 1000) continue;
      const Tensor w = drawn(shape_w, d), x = drawn(shape_x, d, 2);
      std::vector<double> first;
      for (const int threads : {1, 2, 7}) {
        set_num_threads(threads);
        GradientTape tape;
        tape.watch(w);
        const Tensor y = matmul(w, x, options), weight = drawn(y.shape(), d, 3);
        const Tensor g = *tape.gradient(sum(y * weight) + sum(y), w);
        CHECK(g.dtype() == d);
        const auto values = cast(g, DType::float64).to_vector();
        if (first.empty()) {
          first = values;
          // Long batches of matrices with one row, whose gradient is a single product.
          const DType wide = DType::float64;
          const Tensor c = cast(weight, wide) + 1, xs = cast(x, wide);
          Tensor expected = options.transpose_b ? matmul(c, xs) : matmul(c, xs, {.transpose_b = true});
          if (options.transpose_a) expected = moveaxis(expected, -1, -2);
          std::vector<std::int64_t> axes;
          for (int k = 0; k + 2 < expected.rank(); ++k) axes.push_back(k);
          expected = sum(expected, Axes(axes));
          const double tolerance = d == DType::float64 ? 1e-13 : d == DType::float32 ? 1e-5 : 1e-2;
          CAPTURE(d, shape_w, shape_x);
          REQUIRE(g.shape() == expected.shape());
          CHECK(largest(cast(g, wide) - expected) <= tolerance * (1 + largest(expected)));
        }
        CHECK(values == first);
      }
    }
  set_num_threads(before);
  check_one([](const auto& x) { return tanh(matmul(x[0], x[1])); },
            {drawn({3, 4}), drawn({2, 4, 2}, DType::float64, 2)}, {.order = 3});
}

TEST_CASE("matmul: gradients keep the operands' dtype and shape") {
  const Tensor a = drawn({3, 4}, DType::float32), b = drawn({4, 5});
  GradientTape tape;
  tape.watch(a);
  tape.watch(b);
  const auto g = tape.gradient(matmul(a, b), {a, b});
  CHECK((*g[0]).dtype() == DType::float32);
  CHECK((*g[1]).dtype() == DType::float64);
}

TEST_CASE("matmul: a tape saves only the factors that the rule reads") {
  const Tensor a = drawn({3, 4}), b = drawn({4, 5});
  GradientTape tape({.persistent = true});
  tape.watch(a);
  const Tensor c = matmul(a, b);
  CHECK(tape.stats().saved_tensors == 1);
  CHECK(tape.stats().saved_bytes == 4 * 5 * 8);
  CHECK((*tape.gradient(c, a)).shape() == a.shape());
}

TEST_CASE("matmul: errors name both shapes and the remedy") {
  const auto z = [](const Shape& s) { return zeros(s); };
  CHECK_THROWS_AS(matmul(z({64, 784}), z({256, 784})), ShapeError);
  CHECK_THROWS_WITH(
      matmul(z({64, 784}), z({256, 784})),
      support::says("matmul: inner dimensions differ: a is [64, 784], b is [256, 784]; did you mean transpose(b)?"));
  CHECK_THROWS_WITH(
      matmul(z({3, 4}), z({3, 5})),
      support::says("matmul: inner dimensions differ: a is [3, 4], b is [3, 5]; did you mean transpose(a)?"));
  CHECK_THROWS_WITH(matmul(z({3, 4}), z({5, 6})),
                    support::says("matmul: inner dimensions differ: a is [3, 4], b is [5, 6]"));
  CHECK_THROWS_WITH(matmul(z({2, 1}), z({3})), support::says("matmul: inner dimensions differ: a is [2, 1], b is [3]"));
  CHECK_THROWS_WITH(matmul(z({3}), z({1, 2})), support::says("matmul: inner dimensions differ: a is [3], b is [1, 2]"));
  CHECK_THROWS_WITH(matmul(z({2, 3, 4}), z({2, 6, 4})), Contains("did you mean transpose_b?"));
  CHECK_THROWS_WITH(
      matmul(z({3, 4}), z({4, 5}), {false, true}),
      support::says(
          "matmul: inner dimensions differ: a is [3, 4], b is [4, 5] transposed; did you mean b untransposed?"));
  CHECK_THROWS_WITH(
      matmul(slice(z({3, 8}), {all, range(0, 8, 2)}), z({4, 5}), {true, false}),
      support::says(
          "matmul: inner dimensions differ: a is [3, 4] transposed, b is [4, 5]; did you mean a untransposed?"));
  CHECK_THROWS_WITH(
      matmul(z({4}), z({4, 5}), {true, false}),
      support::says("matmul: a vector cannot be transposed: a is [4], b is [4, 5]; leave transpose_a off"));
  CHECK_THROWS_WITH(
      matmul(z({3, 4}), z({4}), {false, true}),
      support::says("matmul: a vector cannot be transposed: a is [3, 4], b is [4]; leave transpose_b off"));
  CHECK_THROWS_WITH(matmul(z({}), z({2, 2})),
                    support::says("matmul: a is a scalar: a is [], b is [2, 2]; use multiply"));
  CHECK_THROWS_WITH(matmul(z({2, 2}), z({})),
                    support::says("matmul: b is a scalar: a is [2, 2], b is []; use multiply"));
  CHECK_THROWS_WITH(matmul(z({3}), z({4})), support::says("matmul: inner dimensions differ: a is [3], b is [4]"));
  CHECK_THROWS_WITH(matmul(z({2, 3, 4}), z({5, 4, 6})),
                    Contains("matmul: batch axes do not broadcast: a is [2, 3, 4], b is [5, 4, 6]"));
  CHECK_THROWS_WITH(matmul(z({2, 3}), 2.0), Contains("matmul: b is a scalar"));
  CHECK_THROWS_AS(matmul(z({2, 3}), scalar(1.0)), ShapeError);
  CHECK_THROWS_WITH(matmul(z({3}), z({3, 2}), {true, false}), Contains("a vector cannot be transposed"));
  CHECK_THROWS_AS(matmul(Tensor(), z({3, 2})), ValueError);
  CHECK_THROWS_WITH(dot(z({3, 4}), z({2, 5, 6})), Contains("dot: "));
}

TEST_CASE("matmul: a product with more elements than addresses is refused") {
  const auto ones_of = [](std::int64_t rows, std::int64_t columns) {
    return broadcast_to(scalar(1.0), {rows, columns});
  };
  constexpr std::int64_t large = std::int64_t{1} << 40, other = std::int64_t{1} << 25;
  const auto refused = Contains("matmul: a tensor of shape [");
  CHECK_THROWS_WITH(matmul(ones_of(large, 1), ones_of(1, other)), refused);
  CHECK_THROWS_WITH(matmul(ones_of(other, 1), ones_of(1, large)), refused);
  CHECK_THROWS_WITH(matmul(ones_of(1, large), ones_of(1, other), {.transpose_a = true}), refused);
  CHECK_THROWS_WITH(matmul(ones_of(other, 1), ones_of(large, 1), {.transpose_b = true}), refused);
}

TEST_CASE("dot: NumPy's cases") {
  CHECK(dot(tensor({1, 2, 3}), tensor({4, 5, 6})).item() == 32);
  CHECK(dot(tensor({1, 2}), 3.0).to_vector() == std::vector<double>{3, 6});
  const Tensor a = drawn({2, 3, 4}), b = drawn({5, 4, 6}, DType::float64, 9);
  const Tensor c = dot(a, b);
  REQUIRE(c.shape() == Shape{2, 3, 5, 6});
  for (int i : {0, 1})
    for (int k : {0, 3, 4}) {
      const Tensor expected = matmul(a[i], b[k]);
      CHECK(largest(slice(c, {i, all, k, all}) - expected) < 1e-14);
    }
  check_one([](const auto& x) { return dot(x[0], x[1]); }, {drawn({2, 3, 4}), drawn({2, 4, 3})});
  check_one([](const auto& x) { return dot(x[0], x[1]); }, {drawn({7}), drawn({7})});
  CHECK(std::isfinite(dot(drawn({100000}, DType::float32), drawn({100000}, DType::float32)).item()));
}

// A tensor without elements may have any strides. It counts as contiguous, though BLAS would refuse the strides.
TEST_CASE("products of empty batches end, whatever the strides") {
  const Tensor a = transpose(zeros({2, 2, 0})), b = transpose(zeros({3, 2, 0}));
  CHECK(matmul(a, ones({2}), {.transpose_a = true}).shape() == Shape{0, 2});
  CHECK(matmul(roll(a, -2, -1), ones({2}), {.transpose_a = true}).shape() == Shape{0, 2});
  CHECK(matmul(a, b).shape() == Shape{0, 2, 3});
  CHECK(matmul(cast(a, DType::complex64), cast(b, DType::complex64)).shape() == Shape{0, 2, 3});
}

TEST_CASE("outer and tensordot") {
  CHECK(outer(tensor({1, 2}), tensor({3, 4, 5})).to_vector() == std::vector<double>{3, 4, 5, 6, 8, 10});
  CHECK(outer(tensor({{1, 2}}), tensor<int>({3})).shape() == Shape{2, 1});
  CHECK(outer(zeros({0}), ones({3})).shape() == Shape{0, 3});
  check_one([](const auto& x) { return outer(x[0], x[1]); }, {drawn({3}), drawn({2, 2})});

  const Tensor a = drawn({2, 3, 4}), b = drawn({3, 4, 5}), c = drawn({4, 3, 5});
  CHECK(largest(tensordot(a, b) - einsum("ijk,jkl->il", {a, b})) < 1e-14);
  CHECK(largest(tensordot(a, c, {1, 2}, {1, 0}) - einsum("ijk,kjl->il", {a, c})) < 1e-14);
  CHECK(largest(tensordot(a, c, {-1, 1}, {0, 1}) - einsum("ijk,kjl->il", {a, c})) < 1e-14);
  CHECK(tensordot(a, b, 0).shape() == Shape{2, 3, 4, 3, 4, 5});
  CHECK(largest(tensordot(a, a, 3) - sum(a * a)) < 1e-13);
  check_one([](const auto& x) { return tensordot(x[0], x[1], {1, 2}, {1, 0}); }, {a, c});
  CHECK_THROWS_WITH(tensordot(a, c, {1, 2}, {0, 1}),
                    Contains("tensordot: axis 1 of a and axis 0 of b differ: a is [2, 3, 4], b is [4, 3, 5]"));
  CHECK_THROWS_AS(tensordot(a, c, 4), ValueError);
  CHECK_THROWS_AS(tensordot(a, c, {1}, {0, 1}), ValueError);
  CHECK_THROWS_AS(tensordot(a, c, {1, 1}, {0, 1}), ValueError);
  CHECK_THROWS_AS(tensordot(a, c, {3}, {0}), IndexError);
}
