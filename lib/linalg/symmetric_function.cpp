// Functions of symmetric matrices, composed of public ops.
//
// The derivative of f(a) along h_1 ... h_k is v (sum over orders of the directions of sum_j f[w_i0, ..., w_ik]
// (v^T h_1 v)_i0i1 ... (v^T h_k v)_ik-1ik) v^T with the divided differences f[...] of f at the eigenvalues (Daleckii
// and Krein; Higham 2008, "Functions of Matrices", theorem 3.11; Noferini 2017). It is symmetric in h_1 ... h_k and in
// a cotangent, so its own derivatives are of the same form with one more direction. Of the two ways to a divided
// difference, by the recurrence and as a mean of the derivative of order k (Hermite and Genocchi), the one with the
// smaller estimate of its error is taken, element by element.
#include <algorithm>
#include <initializer_list>
#include <reel/custom.hpp>
#include <reel/forward.hpp>
#include <reel/linalg/factorisations.hpp>
#include <reel/linalg/symmetric_function.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/linalg.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <reel/ops/sorting.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "core/rounding.hpp"
#include "ops/engine.hpp"

namespace reel {
namespace autodiff {
namespace {

using ElementFunction = Callback<Tensor(const Tensor&)>;

constexpr const char* function_name = "symmetric_function";

// The derivative of f of this order at each element.
Tensor derivative(const ElementFunction& f, const Tensor& x, std::size_t order) {
  if (order == 0) return f(x);
  return jvp([&](const Tensor& y) { return derivative(f, y, order - 1); }, x, ones_like(x), detail::no_line).second;
}

// Points and weights of a rule of Gauss and Legendre on [0, 1].
struct Quadrature {
  std::vector<double> points, weights;
};
Quadrature gauss(std::size_t count) {
  const auto rule = [](std::initializer_list<std::pair<double, double>> halves) {
    Quadrature r;
    for (const auto& [x, w] : halves)
      for (const double sign : {-1.0, 1.0})
        if (sign > 0 || x > 0) {
          r.points.push_back(0.5 + 0.5 * sign * x);
          r.weights.push_back(0.5 * w);
        }
    return r;
  };
  if (count == 5)
    return rule({{0, 0.56888888888888889},
                 {0.53846931010568309, 0.47862867049936647},
                 {0.90617984593866399, 0.23692688505618909}});
  return rule({{0.23861918608319691, 0.46791393457269105},
               {0.66120938646626451, 0.36076157304813861},
               {0.93246951420315203, 0.17132449237917035}});
}

// The points of a rule on the simplex of the nodes x, and their weights: x_0 + s_1 (x_1 - x_0) + s_2 (x_2 - x_1) + ...
// over 1 >= s_1 >= s_2 >= ... with s_i = t_1 ... t_i.
void add_points(const std::vector<Tensor>& x, const Quadrature& rule, std::size_t level, const Tensor& point, double s,
                double weight, std::vector<Tensor>& points, std::vector<double>& weights) {
  if (level == x.size()) {
    points.push_back(point);
    weights.push_back(weight);
    return;
  }
  for (std::size_t q = 0; q < rule.points.size(); ++q) {
    const double t = rule.points[q];
    double scaled = weight * rule.weights[q];
    for (std::size_t i = level + 1; i < x.size(); ++i) scaled *= t;
    add_points(x, rule, level + 1, point + s * t * (x[level] - x[level - 1]), s * t, scaled, points, weights);
  }
}
Tensor mean_on_simplex(const ElementFunction& f, const std::vector<Tensor>& x, std::size_t count) {
  std::vector<Tensor> points;
  std::vector<double> weights;
  add_points(x, gauss(count), 1, x[0], 1, 1, points, weights);
  const Tensor values = derivative(f, stack(points), x.size() - 1);
  Shape columns{values.shape()[0]};
  for (int d = 1; d < values.rank(); ++d) columns.push_back(1);
  return sum(values * reshape(cast(from_data(weights), values.dtype()), columns), 0);
}

// A divided difference of ascending nodes, element by element, and an estimate of its error.
struct Estimate {
  Tensor value, error;
};
Estimate divided_difference(const ElementFunction& f, const std::vector<Tensor>& x) {
  const double eps = detail::epsilon(x[0].dtype());
  if (x.size() == 1) {
    const Tensor value = f(x[0]);
    return {value, abs(value) * eps};
  }
  const Estimate low = divided_difference(f, {x.begin(), x.end() - 1});
  const Estimate high = divided_difference(f, {x.begin() + 1, x.end()});
  const Tensor spread = x.back() - x.front(), apart = greater(spread, 0), step = where(apart, spread, 1.0);
  const Tensor recurrence = (high.value - low.value) / step;
  const Tensor lost = (high.error + low.error + eps * (abs(high.value) + abs(low.value))) / step;
  const Tensor mean = mean_on_simplex(f, x, 6);
  const Tensor error = abs(mean - mean_on_simplex(f, x, 5)) + eps * abs(mean);
  // A NaN error estimate (a singularity of f between the nodes) counts as the larger one. Equal nodes need the mean.
  const Tensor choose = logical_or(less_equal(error, lost), logical_not(apart));
  return {where(choose, mean, recurrence), where(choose, error, lost)};
}

Tensor adjoint(const Tensor& x) { return conj(moveaxis(x, -1, -2)); }
Tensor hermitian(const Tensor& x) { return 0.5 * (x + adjoint(x)); }

// The differences f[w_i0, ..., w_ik] of the eigenvalues w [..., n], as [..., n, ..., n].
Tensor differences(const ElementFunction& f, const Tensor& w, std::size_t order) {
  Shape shape = w.shape();
  const std::int64_t n = shape.back();
  shape.pop_back();
  for (std::size_t i = 0; i <= order; ++i) shape.push_back(n);
  std::vector<Tensor> nodes;
  for (std::size_t i = 0; i <= order; ++i) {
    Tensor x = w;
    for (std::size_t j = 0; j < i; ++j) x = expand_dims(x, -2);
    for (std::size_t j = i; j < order; ++j) x = expand_dims(x, -1);
    nodes.push_back(broadcast_to(x, shape));
  }
  return divided_difference(f, unstack(sort(stack(nodes), 0))).value;
}

// The derivative of f(x[0]) along x[1], x[2], ..., unrecorded.
Tensor contraction(const ElementFunction& f, const std::vector<Tensor>& x) {
  const auto [w, v] = eigh(hermitian(x[0]));
  const std::size_t order = x.size() - 1;
  if (order == 0) {
    const Tensor values = f(w);
    if (!values.defined())
      fail<ValueError>(function_name, "f returned an empty tensor; did you forget to return a value?");
    if (values.shape() != w.shape())
      fail<ShapeError>(function_name, "f gives {} for eigenvalues {}: it must give a value for each", values.shape(),
                       w.shape());
    return hermitian(matmul(v * expand_dims(values, -2), adjoint(v)));
  }
  std::vector<Tensor> factors = {cast(differences(f, w, order), v.dtype())};
  for (std::size_t i = 1; i <= order; ++i) factors.push_back(matmul(adjoint(v), matmul(hermitian(x[i]), v)));
  std::string subscripts = "...";
  for (std::size_t i = 0; i <= order; ++i) subscripts += static_cast<char>('a' + i);
  const char last = subscripts.back();
  for (std::size_t i = 0; i < order; ++i)
    subscripts += {',', '.', '.', '.', static_cast<char>('a' + i), static_cast<char>('b' + i)};
  subscripts += std::string("->...a") + last;
  std::vector<std::size_t> places;
  for (std::size_t i = 1; i <= order; ++i) places.push_back(i);
  Tensor total = zeros_like(v);
  do {
    std::vector<Tensor> ordered = {factors[0]};
    for (const std::size_t place : places) ordered.push_back(factors[place]);
    total = total + einsum(subscripts, ordered);
  } while (std::next_permutation(places.begin(), places.end()));
  return hermitian(matmul(v, matmul(total, adjoint(v))));
}

// The same, recorded. Cotangents and tangents become directions.
Tensor differentiable(const ElementFunction& f, const std::vector<Tensor>& x) {
  const auto with = [f](std::vector<Tensor> inputs, std::size_t i, const Tensor& direction) {
    if (i == 0)
      inputs.push_back(direction);
    else
      inputs[i] = direction;
    return differentiable(f, inputs);
  };
  const auto value = [f, with](const std::vector<Tensor>& inputs) {
    const auto backward = [inputs, with](const Tensor& g) {
      std::vector<Tensor> gradients;
      for (std::size_t i = 0; i < inputs.size(); ++i) gradients.push_back(with(inputs, i, g));
      return gradients;
    };
    return std::pair(contraction(f, inputs), backward);
  };
  const auto forward = [with](const std::tuple<std::vector<Tensor>>& primals,
                              const std::tuple<std::vector<Tensor>>& tangents) {
    const std::vector<Tensor>&inputs = std::get<0>(primals), &directions = std::get<0>(tangents);
    Tensor total = with(inputs, 0, directions[0]);
    for (std::size_t i = 1; i < inputs.size(); ++i) total = total + with(inputs, i, directions[i]);
    return total;
  };
  return custom_gradient(value, forward)(x);
}

}  // namespace
}  // namespace autodiff

Tensor symmetric_function(const Operand& a, const Callback<Tensor(const Tensor&)>& f) {
  const tape::OpScope scope(a);
  using autodiff::function_name;
  if (!f) fail<ValueError>(function_name, "f is empty; pass a function");
  const Tensor x = identity(a);
  const Shape shape = x.shape();
  if (shape.rank() < 2 || shape[-1] != shape[-2])
    fail<ShapeError>(function_name, "a must be square in its last two axes, it is {}", shape);
  const DType dtype = x.dtype();
  if (dtype == DType::float16 || dtype == DType::bfloat16)
    return cast(autodiff::differentiable(f, {cast(x, DType::float32)}), dtype);
  return autodiff::differentiable(f, {is_differentiable(dtype) ? x : cast(x, DType::float64)});
}

}  // namespace reel
