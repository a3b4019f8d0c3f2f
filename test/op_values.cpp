// The op table: the value of every op against a reference in long double, in every layout and for every dtype it takes.
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "op_cases.hpp"
#include "solve/rows.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using support::Layout, support::Tensors;

namespace {

// |got - reference| in units of the last place of the reference as a T.
template <class T>
double ulps(T got, long double reference) {
  if (std::isnan(reference)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (static_cast<long double>(got) == reference || static_cast<T>(reference) == got) return 0;
  if (!std::isfinite(got)) return HUGE_VAL;
  int exponent = 0;
  std::frexp(reference, &exponent);
  constexpr int digits = std::numeric_limits<T>::digits, lowest = std::numeric_limits<T>::min_exponent;
  return static_cast<double>(std::abs(static_cast<long double>(got) - reference) /
                             std::ldexp(1.0L, std::max(exponent, lowest) - digits));
}

cases::Domain drawn_from(const cases::Pointwise& row, int i) {
  return row.wide[0].low < row.wide[0].high ? row.wide[i] : row.domain[i];
}

template <class T>
void check_accuracy(const cases::Pointwise& row, double bound) {
  constexpr std::int64_t count = 1003;  // several vectors and a tail
  support::Random random(row.name);
  Tensors x;
  std::vector<std::vector<T>> values;
  for (int i = 0; i < row.arity; ++i) {
    const cases::Domain d = drawn_from(row, i);
    x.push_back(cast(random.tensor({count}, d.low, d.high), dtype_of<T>));
    values.push_back(x.back().to_vector<T>());
  }
  const Tensor y = row.call(x);
  REQUIRE(y.shape() == Shape{count});
  CHECK(y.dtype() == (row.flags & cases::boolean_result ? DType::boolean : dtype_of<T>));
  const std::vector<T> got = cast(y, dtype_of<T>).template to_vector<T>();
  double worst = 0;
  long double at = 0;
  for (std::size_t k = 0; k < got.size(); ++k) {
    long double operands[3] = {};
    for (std::size_t i = 0; i < values.size(); ++i) operands[i] = values[i][k];
    const long double reference = row.value(operands);
    if (std::abs(static_cast<long double>(got[k]) - reference) <= static_cast<long double>(row.absolute)) continue;
    if (const double e = ulps(got[k], reference); e > worst) {
      worst = e;
      at = operands[0];
    }
  }
  INFO(row.name << " " << name(dtype_of<T>) << ": " << worst << " ulp at " << static_cast<double>(at));
  CHECK(worst <= bound);
}

// The same elements in another layout or at another place in the loop give the same bits.
void check_layouts(const cases::Pointwise& row) {
  support::Random random(row.name);
  for (const Shape& shape : {Shape{37}, Shape{3, 5}, Shape{2, 3, 4}, Shape{}, Shape{1}, Shape{0, 3}}) {
    Tensors whole;
    for (int i = 0; i < row.arity; ++i) whole.push_back(random.tensor(shape, row.domain[i].low, row.domain[i].high));
    for (Layout layout : support::layouts) {
      Tensors views, copies;
      for (const Tensor& x : whole) {
        views.push_back(laid_out(x, layout));
        copies.push_back(from_data(views.back().to_vector(), shape));
      }
      INFO(row.name << " " << to_string(shape) << " " << name(layout));
      CHECK(array_equal(row.call(views), row.call(copies)));
      views[0] = copies[0];  // one operand contiguous, the other not
      CHECK(array_equal(row.call(views), row.call(copies)));
    }
  }
}

template <class T>
void check_integers(const cases::Pointwise& row) {
  constexpr bool is_boolean = std::is_same_v<T, bool>;
  support::Random random(row.name);
  std::vector<std::vector<double>> values(static_cast<std::size_t>(row.arity));
  Tensors x;
  for (int i = 0; i < row.arity; ++i) {
    for (int k = 0; k < 67; ++k) {
      double v = std::round(random.uniform(row.domain[i].low, row.domain[i].high));
      if (std::is_unsigned_v<T> || std::string(row.name) == "power")
        v = std::abs(v);  // a negative exponent is an error
      values[static_cast<std::size_t>(i)].push_back(is_boolean ? v != 0 : v);
    }
    x.push_back(cast(from_data(values[static_cast<std::size_t>(i)]), dtype_of<T>));
  }
  const Tensor y = row.call(x);
  const bool stays = (row.flags & (is_boolean ? cases::booleans : cases::integers)) != 0;
  INFO(row.name << " of " << name(dtype_of<T>) << " gave " << name(y.dtype()));
  CHECK(y.dtype() == (row.flags & cases::boolean_result ? DType::boolean : stays ? dtype_of<T> : DType::float64));
  const std::vector<double> got = cast(y, DType::float64).to_vector();
  for (std::size_t k = 0; k < got.size(); ++k) {
    long double operands[3] = {};
    for (std::size_t i = 0; i < values.size(); ++i) operands[i] = values[i][k];
    const long double reference = row.value(operands);
    INFO("at " << static_cast<double>(operands[0]) << ", " << static_cast<double>(operands[1]));
    if (stays)
      CHECK(got[k] == static_cast<double>(static_cast<T>(static_cast<std::int64_t>(reference))));
    else
      CHECK(ulps(got[k], reference) <= 3);
  }
}

void check_shaped(std::span<const cases::Shaped> rows) {
  for (const cases::Shaped& row : rows)
    for (const std::vector<Shape>& shapes : shapes_of(row)) {
      support::Random random(row.name);
      Tensors x;
      for (const Shape& s : shapes) {
        const Tensor drawn = random.tensor(s, row.domain.low, row.domain.high);
        x.push_back(row.prepare ? row.prepare(drawn, x.size()) : drawn);
      }
      std::vector<cases::Array> arrays;
      for (const Tensor& t : x) {
        const std::vector<double> values = t.to_vector();
        arrays.push_back({t.shape(), {values.begin(), values.end()}});
      }
      const cases::Array expected = row.reference(arrays);
      for (Layout layout : support::layouts) {
        if (layout == Layout::broadcast) continue;  // it changes the values
        Tensors views;
        for (const Tensor& t : x) views.push_back(laid_out(t, layout));
        const Tensor y = row.call(views);
        INFO(row.name << " of " << row.shapes << " " << name(layout));
        REQUIRE(y.shape() == expected.shape);
        const std::vector<double> got = cast(y, DType::float64).to_vector();
        double worst = 0;
        for (std::size_t k = 0; k < got.size(); ++k) {
          const long double right = expected.values[k];
          if (std::isnan(got[k]) && std::isnan(right)) continue;  // a mean of no elements
          worst = support::worse(worst, static_cast<double>(std::abs(static_cast<long double>(got[k]) - right) /
                                                            std::max(1.0L, std::abs(right))));
        }
        CHECK(worst <= 2e-15 * row.slack);
      }
    }
}

}  // namespace

TEST_CASE("pointwise values are within 3 ulp in float64 and 4 ulp in float32") {
  for (const cases::Pointwise& row : cases::pointwise()) {
    check_accuracy<double>(row, 3);
    check_accuracy<float>(row, 4);
  }
}

TEST_CASE("pointwise values do not depend on layout") {
  for (const cases::Pointwise& row : cases::pointwise()) check_layouts(row);
}

TEST_CASE("pointwise ops of integers and booleans") {
  for (const cases::Pointwise& row : cases::pointwise()) {
    check_integers<std::int64_t>(row);
    check_integers<std::int32_t>(row);
    if (row.flags & cases::integers) check_integers<std::uint8_t>(row);
    if (row.flags & cases::booleans) check_integers<bool>(row);
  }
}

TEST_CASE("reductions, scans and normalisations against naive loops") { check_shaped(cases::reductions()); }
TEST_CASE("shape and index ops against naive loops") { check_shaped(cases::movements()); }
TEST_CASE("ops of headers of their own against naive loops") {
  for (const cases::Family& family : cases::families()) check_shaped(family.rows());
}
TEST_CASE("linear algebra against textbook loops") { check_shaped(cases::linear_algebra()); }
TEST_CASE("ops that take a function against textbook methods") { check_shaped(cases::solutions()); }
TEST_CASE("normalisations and losses against naive loops") { check_shaped(cases::networks()); }

namespace {

template <class T>
void check_sums() {
  support::Random random("sums");
  constexpr double eps = std::numeric_limits<T>::epsilon();
  for (std::int64_t rows : {1, 3}) {
    const Tensor x = cast(random.tensor({rows, 40001}, -1, 1.5), dtype_of<T>);
    const std::vector<T> values = x.to_vector<T>(), sums = sum(x, 1).template to_vector<T>(),
                         means = mean(x, 1).template to_vector<T>();
    const std::vector<T> columns = sum(transpose(x), 0).template to_vector<T>();
    for (std::int64_t r = 0; r < rows; ++r) {
      long double exact = 0, scale = 0;
      for (std::int64_t k = 0; k < 40001; ++k) {
        const auto v = static_cast<long double>(values[static_cast<std::size_t>(r * 40001 + k)]);
        exact += v;
        scale += std::abs(v);
      }
      const auto at = static_cast<std::size_t>(r);
      INFO(name(dtype_of<T>) << " row " << r << " of " << rows);
      CHECK(std::abs(sums[at] - exact) <= 4 * eps * scale);
      CHECK(std::abs(columns[at] - exact) <= 4 * eps * scale);
      CHECK(std::abs(means[at] * 40001.0L - exact) <= 5 * eps * scale);
    }
  }
}

// The largest element of |residual| over that of |scale|, in eps.
double relative(const Tensor& residual, const Tensor& scale) {
  return max(abs(residual)).item() / max(abs(scale)).item() / std::numeric_limits<double>::epsilon();
}

}  // namespace

TEST_CASE("sums are within 4 eps of the sum of |terms|") {
  check_sums<float>();
  check_sums<double>();
}

TEST_CASE("residuals of factorisations are small") {
  support::Random random("residuals");
  for (std::int64_t n : {1, 2, 17, 64, 150}) {
    INFO("n = " << n);
    const double bound = 10.0 * static_cast<double>(n);
    const Tensor a = random.tensor({n, n}) + eye(n), b = random.tensor({n, 3});
    const Tensor x = solve(a, b), size = sum(matmul(abs(a), abs(x)), 1, true);
    CHECK(relative(matmul(a, x) - b, size) <= bound);
    const Tensor inverse_of = inverse(a);
    CHECK(relative(matmul(a, inverse_of) - eye(n), matmul(abs(a), abs(inverse_of))) <= bound);
    const Tensor positive = matmul(a, a, {.transpose_b = true}) + eye(n), l = cholesky(positive);
    CHECK(relative(matmul(l, l, {.transpose_b = true}) - positive, positive) <= bound);
    CHECK(array_equal(l, tril(l)));
    const Tensor y = triangular_solve(l, b);
    CHECK(relative(matmul(l, y) - b, matmul(abs(l), abs(y))) <= bound);
    const auto [sign, logdet] = slogdet(a);
    CHECK(std::abs(std::log(std::abs(det(a).item())) - logdet.item()) <=
          1e-11 * std::max(1.0, std::abs(logdet.item())));
    CHECK(sign.item() == (det(a).item() > 0 ? 1 : -1));
    CHECK(std::abs(slogdet(positive).logdet.item() - 2 * sum(log(diagonal(l))).item()) <=
          1e-11 * static_cast<double>(n));
  }
}
