// libtorch's side of bench/ours/linear_algebra.cpp: the same names and operands.
#include "libtorch.hpp"

namespace bench {

namespace {

using Results = std::vector<Tensor>;
using Shape = std::vector<std::int64_t>;
struct Operands {
  Tensor general, positive, symmetric, triangular, right_sides;
  explicit Operands(const Shape& shape) {
    const double root = std::sqrt(static_cast<double>(shape.back()));
    const Tensor m = drawn(shape, 1, -1, 1, torch::kFloat64) / root,
                 twice = 2 * torch::eye(shape.back(), torch::kFloat64);
    general = m + twice;
    symmetric = 0.5 * (m + m.mT());
    positive = symmetric + twice;
    triangular = general.tril();
    right_sides = drawn(shape, 2, -1, 1, torch::kFloat64);
  }
};
struct Row {
  const char* name;
  Tensor Operands::*operand;
  Results (*call)(const Tensor& a, const Operands& all);
  bool squares = false;
};

const Row rows[] = {
    {"cholesky", &Operands::positive,
     [](const Tensor& a, const Operands&) { return Results{torch::linalg_cholesky(a)}; }},
    {"solve", &Operands::general,
     [](const Tensor& a, const Operands& all) { return Results{torch::linalg_solve(a, all.right_sides)}; }},
    {"triangular_solve", &Operands::triangular,
     [](const Tensor& a, const Operands& all) {
       return Results{torch::linalg_solve_triangular(a, all.right_sides, false)};
     }},
    {"inverse", &Operands::general, [](const Tensor& a, const Operands&) { return Results{torch::linalg_inv(a)}; }},
    {"det", &Operands::general, [](const Tensor& a, const Operands&) { return Results{torch::linalg_det(a)}; }},
    {"slogdet", &Operands::general,
     [](const Tensor& a, const Operands&) { return Results{std::get<1>(torch::linalg_slogdet(a))}; }},
    {"qr", &Operands::general,
     [](const Tensor& a, const Operands&) {
       const auto [q, r] = torch::linalg_qr(a);
       return Results{q, r};
     },
     true},
    {"eigh", &Operands::symmetric,
     [](const Tensor& a, const Operands&) {
       const auto [values, vectors] = torch::linalg_eigh(a);
       return Results{values, vectors};
     },
     true},
    {"svd", &Operands::general,
     [](const Tensor& a, const Operands&) {
       const auto [u, s, vh] = torch::linalg_svd(a, false);
       return Results{u, s, vh};
     },
     true},
    {"expm", &Operands::general, [](const Tensor& a, const Operands&) { return Results{torch::linalg_matrix_exp(a)}; }},
};

Results comparable(const Row& row, Results results) {
  if (row.squares)
    for (Tensor& x : results) x = x.square();
  return results;
}
std::function<Body()> values_of(const Row& row, const Shape& shape) {
  return [row, shape] {
    const auto all = std::make_shared<Operands>(shape);
    const auto values = [row, all] {
      const torch::NoGradGuard no_tape;
      return row.call((*all).*row.operand, *all);
    };
    return Body{[values] { values(); }, body([=] { return comparable(row, values()); }).check};
  };
}
std::function<Body()> gradient_of(const Row& row, const Shape& shape) {
  return [row, shape] {
    const auto all = std::make_shared<Operands>(shape);
    const Tensor a = leaf((*all).*row.operand);
    Results weights;
    for (const Tensor& x : row.call((*all).*row.operand, *all))
      weights.push_back(drawn(x.sizes(), 3 + weights.size(), -1, 1, torch::kFloat64));
    return body([row, all, weights, a] {
      const auto loss = [&](const Tensor& x) {
        const Results results = comparable(row, row.call(x, *all));
        Tensor total = (results[0] * weights[0]).sum();
        for (std::size_t k = 1; k < results.size(); ++k) total = total + (results[k] * weights[k]).sum();
        return total;
      };
      return gradient(loss, a);
    });
  };
}

}  // namespace

std::vector<Case> libtorch_linear_algebra() {
  std::vector<Case> cases;
  for (const Row& row : rows)
    for (const auto& [text, shape] : {std::pair<const char*, Shape>{"[1000,4,4]", {1000, 4, 4}},
                                      {"[64,64]", {64, 64}},
                                      {"[512,512]", {512, 512}}}) {
      const std::string name = std::string(row.name) + " " + text + ", f64";
      cases.push_back({.name = name, .make = values_of(row, shape)});
      cases.push_back({.name = name + ", gradient", .make = gradient_of(row, shape)});
    }
  return cases;
}

}  // namespace bench
