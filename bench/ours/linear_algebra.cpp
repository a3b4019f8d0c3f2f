// Linear algebra of float64 matrices beside libtorch: many small ones, one of 64 x 64 and one of 512 x 512; values, and
// the gradient of a weighted sum of the results, or of their squares where signs are arbitrary.
#include <reel/linalg.hpp>
#include <reel/ops/arranging.hpp>

#include "cases.hpp"

namespace bench {

namespace {

using namespace reel;

using Results = std::vector<Tensor>;
struct Operands {
  Tensor general, positive, symmetric, triangular, right_sides;
  explicit Operands(const Shape& shape) {
    const double root = std::sqrt(static_cast<double>(shape[-1]));
    const Tensor m = drawn(shape, 1, -1, 1, DType::float64) / root, twice = 2.0 * eye(shape[-1]);
    general = m + twice;
    symmetric = 0.5 * (m + matrix_transpose(m));
    positive = symmetric + twice;
    triangular = tril(general);
    right_sides = drawn(shape, 2, -1, 1, DType::float64);
  }
};
struct Row {
  const char* name;
  Tensor Operands::*operand;
  Results (*call)(const Tensor& a, const Operands& all);
  bool squares = false;
};

const Row rows[] = {
    {"cholesky", &Operands::positive, [](const Tensor& a, const Operands&) { return Results{cholesky(a)}; }},
    {"solve", &Operands::general,
     [](const Tensor& a, const Operands& all) { return Results{solve(a, all.right_sides)}; }},
    {"triangular_solve", &Operands::triangular,
     [](const Tensor& a, const Operands& all) { return Results{triangular_solve(a, all.right_sides)}; }},
    {"inverse", &Operands::general, [](const Tensor& a, const Operands&) { return Results{inverse(a)}; }},
    {"det", &Operands::general, [](const Tensor& a, const Operands&) { return Results{det(a)}; }},
    {"slogdet", &Operands::general, [](const Tensor& a, const Operands&) { return Results{slogdet(a).logdet}; }},
    {"qr", &Operands::general,
     [](const Tensor& a, const Operands&) {
       const auto [q, r] = qr(a);
       return Results{q, r};
     },
     true},
    {"eigh", &Operands::symmetric,
     [](const Tensor& a, const Operands&) {
       const auto [values, vectors] = eigh(a);
       return Results{values, vectors};
     },
     true},
    {"svd", &Operands::general,
     [](const Tensor& a, const Operands&) {
       const auto [u, s, vh] = svd(a);
       return Results{u, s, vh};
     },
     true},
    {"expm", &Operands::general, [](const Tensor& a, const Operands&) { return Results{expm(a)}; }},
};

Results comparable(const Row& row, Results results) {
  if (row.squares)
    for (Tensor& x : results) x = square(x);
  return results;
}
std::function<Body()> values_of(const Row& row, const Shape& shape) {
  return [row, shape] {
    const auto all = std::make_shared<Operands>(shape);
    const auto values = [row, all] { return row.call((*all).*row.operand, *all); };
    return Body{[values] { values(); }, body([=] { return comparable(row, values()); }).check};
  };
}
std::function<Body()> gradient_of(const Row& row, const Shape& shape) {
  return [row, shape] {
    const auto all = std::make_shared<Operands>(shape);
    Results weights;
    for (const Tensor& x : row.call((*all).*row.operand, *all))
      weights.push_back(drawn(x.shape(), 3 + weights.size(), -1, 1, DType::float64));
    return body([row, all, weights] {
      const auto loss = [&](const Tensor& a) {
        const Results results = comparable(row, row.call(a, *all));
        Tensor total = sum(results[0] * weights[0]);
        for (std::size_t k = 1; k < results.size(); ++k) total = total + sum(results[k] * weights[k]);
        return total;
      };
      return gradient(loss, (*all).*row.operand).dense();
    });
  };
}

}  // namespace

std::vector<Case> linear_algebra_cases() {
  std::vector<Case> cases;
  for (const Row& row : rows)
    for (const auto& [text, shape] : {std::pair<const char*, Shape>{"[1000,4,4]", {1000, 4, 4}},
                                      {"[64,64]", {64, 64}},
                                      {"[512,512]", {512, 512}}}) {
      const std::string name = std::string(row.name) + " " + text + ", f64";
      cases.push_back({.name = name, .make = values_of(row, shape), .tolerance = 1e-6});
      cases.push_back({.name = name + ", gradient", .make = gradient_of(row, shape), .tolerance = 1e-6});
    }
  return cases;
}

}  // namespace bench
