// Factorisations of float64 matrices, beside calls of LAPACK alone: of one matrix, of a batch of small ones, and with
// the gradient by the matrix for a given cotangent, which LAPACK alone does not compute.
#include <reel/linalg.hpp>
#include <reel/ops/arranging.hpp>

#include "cases.hpp"

namespace bench {

namespace {

using namespace reel;

// The matrices of bench/peers/lapack.cpp.
Tensor symmetric(std::int64_t count, std::int64_t n, double shift) {
  const Tensor u = drawn({count, n, n}, 1, -1, 1, DType::float64);
  return 0.5 * (u + matrix_transpose(u)) + shift * eye(n);
}
Tensor positive(std::int64_t count, std::int64_t n) { return symmetric(count, n, static_cast<double>(n)); }
Tensor indefinite(std::int64_t count, std::int64_t n) { return symmetric(count, n, 0); }
Tensor general(std::int64_t count, std::int64_t n) { return drawn({count, n, n}, 1, -1, 1, DType::float64); }

using Results = std::vector<Tensor>;
struct Factorisation {
  const char* name;
  Tensor (*operand)(std::int64_t count, std::int64_t n);
  Results (*call)(const Tensor& a, const Tensor& b);  // b: right sides
};
const Factorisation factorisations[] = {
    {"cholesky", positive, [](const Tensor& a, const Tensor&) { return Results{cholesky(a)}; }},
    {"solve", general, [](const Tensor& a, const Tensor& b) { return Results{solve(a, b)}; }},
    {"inverse", general, [](const Tensor& a, const Tensor&) { return Results{inverse(a)}; }},
    {"qr", general,
     [](const Tensor& a, const Tensor&) {
       const auto [q, r] = qr(a);
       return Results{q, r};
     }},
    {"eigh", indefinite,
     [](const Tensor& a, const Tensor&) {
       const auto [values, vectors] = eigh(a);
       return Results{values, vectors};
     }},
    {"svd", general,
     [](const Tensor& a, const Tensor&) {
       const auto [u, s, vh] = svd(a);
       return Results{u, s, vh};
     }},
};

Tensor right_sides(std::int64_t n) { return drawn({1, n, n}, 3, -1, 1, DType::float64); }
std::function<Body()> values_of(const Factorisation& f, std::int64_t count, std::int64_t n) {
  return [f, count, n] {
    const Tensor a = f.operand(count, n), b = right_sides(n);
    return body([f, a, b] { return f.call(a, b); });
  };
}
// The cotangent is that of the first result.
std::function<Body()> gradient_of(const Factorisation& f, std::int64_t count, std::int64_t n) {
  return [f, count, n] {
    const Tensor a = f.operand(count, n), b = right_sides(n);
    const Tensor g = drawn(f.call(a, b)[0].shape(), 2, -1, 1, DType::float64);
    return body([f, a, b, g] {
      GradientTape tape;
      tape.watch(a);
      return tape.gradient(f.call(a, b)[0], a, {.output_gradients = g});
    });
  };
}

}  // namespace

std::vector<Case> factorisation_cases() {
  std::vector<Case> cases;
  for (const Factorisation& f : factorisations)
    for (const auto& [count, n] : {std::pair<std::int64_t, std::int64_t>{1, 32}, {1, 256}, {1000, 4}, {100, 16}}) {
      const std::string name = std::string(f.name) + " of " + std::to_string(count) + " x [" + std::to_string(n) + "," +
                               std::to_string(n) + "], f64";
      cases.push_back({.name = name, .make = values_of(f, count, n), .tolerance = 0});
      cases.push_back({.name = name + ", with the gradient", .make = gradient_of(f, count, n), .tolerance = 0});
    }
  return cases;
}

}  // namespace bench
