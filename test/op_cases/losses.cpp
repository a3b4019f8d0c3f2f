// Rows of the ops of <reel/nn/losses.hpp>.
#include <algorithm>
#include <reel/nn/losses.hpp>

#include "naive.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

// f(elements of the operands), each of which broadcasts to the shape of the first.
template <class F>
Array by_elements(A x, F f) {
  return build(x[0].shape, [&](const Index& i) {
    Real v[3] = {};
    for (std::size_t k = 0; k < x.size(); ++k) {
      Index from(i.end() - x[k].shape.rank(), i.end());
      for (std::size_t d = 0; d < from.size(); ++d)
        if (x[k].shape[static_cast<std::int64_t>(d)] == 1) from[d] = 0;
      v[k] = at(x[k], from);
    }
    return f(v);
  });
}
Real rising(Real x) { return x > 0 ? x : 0; }
Real sigmoid_of(Real x) { return 1 / (1 + std::exp(-x)); }
Real weighted_of(Real x, Real label, Real weight) {
  return -weight * label * std::log(sigmoid_of(x)) - (1 - label) * std::log(sigmoid_of(-x));
}
Real focal_of(Real x, Real label, Real alpha, Real gamma) {
  const Real p = sigmoid_of(x), certain = p * label + (1 - p) * (1 - label);
  return (alpha * label + (1 - alpha) * (1 - label)) * weighted_of(x, label, 1) * std::pow(1 - certain, gamma);
}
Real stirling_of(Real t) { return t > 1 ? t * std::log(t) - t + std::log(2 * std::acos(-1.0L) * t) / 2 : 0; }
Real gaussian_of(Real d, Real v) { return (std::log(v) + d * d / v) / 2; }
// Labels -1 and 1 in turn.
Tensor signs_like(const Tensor& x) { return reshape(2 * mod(arange(x.shape().elements()), 2) - 1, x.shape()); }
Array hinged_embedding(const Array& x, Real margin) {
  Array y = x;
  for (std::size_t i = 0; i < y.values.size(); ++i)
    if (i % 2 == 0) y.values[i] = rising(margin - y.values[i]);
  return y;
}

// Example i has class 2 i modulo the number of classes.
std::size_t class_of(std::int64_t example, std::size_t classes) {
  return static_cast<std::size_t>(2 * example) % classes;
}
Tensor labels_of(const Shape& shape, int axis, bool second_ignored) {
  Shape rest = shape;
  rest.erase(axis);
  Tensor label = mod(2 * arange(rest.elements()), shape[axis]);
  if (second_ignored && rest.elements() > 1) label = where(equal(arange(rest.elements()), 1), -7, label);
  return reshape(label, rest);
}
// f(row, label, number of the example), without the axis.
template <class F>
Array by_examples(const Array& x, int axis, F f) {
  std::int64_t i = 0;
  Array y = along(x, axis, [&](const Row& r) {
    const Real loss = f(r, class_of(i, r.size()), i);
    ++i;
    return Row{loss};
  });
  y.shape.erase(axis < 0 ? axis + x.shape.rank() : axis);
  return y;
}
Array nll_of(const Array& x, int axis) {
  return by_examples(x, axis, [](const Row& r, std::size_t label, std::int64_t i) { return i == 1 ? 0 : -r[label]; });
}
Array multi_margin_of(const Array& x, int axis, Real p, Real margin) {
  return by_examples(x, axis, [=](const Row& r, std::size_t label, std::int64_t) {
    Real sum = 0;
    for (std::size_t j = 0; j < r.size(); ++j)
      if (j != label) sum += std::pow(rising(margin - r[label] + r[j]), p);
    return sum / static_cast<Real>(r.size());
  });
}

// f(rows along the axis, one of each operand), of operands of one shape.
template <class F>
Array by_rows(A x, int axis, F f) {
  std::vector<std::vector<Row>> rows(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) along(x[k], axis, [&](const Row& r) { return rows[k].push_back(r), r; });
  Array y = along(x[0], axis, [&, i = std::size_t{0}](const Row&) mutable {
    std::vector<Row> own;
    for (const auto& all : rows) own.push_back(all[i]);
    ++i;
    return Row{f(own)};
  });
  y.shape.erase(axis < 0 ? axis + x[0].shape.rank() : axis);
  return y;
}
Real cosine_of(const std::vector<Row>& r) {
  Real xy = 0, xx = 0, yy = 0;
  for (std::size_t k = 0; k < r[0].size(); ++k)
    xy += r[0][k] * r[1][k], xx += r[0][k] * r[0][k], yy += r[1][k] * r[1][k];
  return xy / std::sqrt(xx * yy);
}
Real distance_of(const Row& a, const Row& b, Real p) {
  Real sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += std::pow(std::abs(a[k] - b[k] + 1e-6L), p);
  return std::pow(sum, 1 / p);
}
Real triplet_of(const std::vector<Row>& r, Real p, Real margin, bool swap) {
  Real far = distance_of(r[0], r[2], p);
  if (swap) far = std::min(far, distance_of(r[1], r[2], p));
  return rising(margin + distance_of(r[0], r[1], p) - far);
}
Array half_of_squares(const Array& x) {
  Real sum = 0;
  for (Real v : x.values) sum += v * v;
  return {{}, {sum / 2}};
}

Tensor positive(const Tensor& drawn, std::size_t) { return abs(drawn) + 0.1; }
Tensor positive_variance(const Tensor& drawn, std::size_t k) { return k == 2 ? abs(drawn) + 0.1 : drawn; }
Tensor positive_target(const Tensor& drawn, std::size_t k) { return k == 1 ? abs(drawn) + 1.1 : drawn; }
Tensor probable_label(const Tensor& drawn, std::size_t k) {
  return k == 1 ? sigmoid(drawn) : k == 2 ? abs(drawn) + 0.5 : drawn;
}

// clang-format off
const Shaped rows[] = {
    {"mse", "3x4,3x4;2x5,5;0x2,2", [](X x) { return mse(x[0], x[1]); }, [](A x) { return by_elements(x, [](const Real* v) { return (v[0] - v[1]) * (v[0] - v[1]); }); }, {-2, 2}, nullptr, none, 2},
    {"mae", "3x4,3x4;2x5,5;0x2,2", [](X x) { return mae(x[0], x[1]); }, [](A x) { return by_elements(x, [](const Real* v) { return std::abs(v[0] - v[1]); }); }},
    {"log_cosh", "3x4,3x4;2x5,5;0x2,2", [](X x) { return log_cosh(x[0], x[1]); }, [](A x) { return by_elements(x, [](const Real* v) { return std::log(std::cosh(v[0] - v[1])); }); }, {-3, 3}, nullptr, none, 4},
    {"poisson_nll", "3x4,3x4;2x5,5;0x2,2", [](X x) { return poisson_nll(x[0], x[1]); }, [](A x) { return by_elements(x, [](const Real* v) { return std::exp(v[0]) - v[1] * v[0]; }); }, {-2, 2}, nullptr, none, 4},
    {"poisson_nll", "3x4,3x4;2x5,5", [](X x) { return poisson_nll(x[0], x[1], {.full = true}); }, [](A x) { return by_elements(x, [](const Real* v) { return std::exp(v[0]) - v[1] * v[0] + stirling_of(v[1]); }); }, {-2, 2}, positive_target, none, 4},
    {"poisson_nll", "3x4,3x4;2x5,5", [](X x) { return poisson_nll(x[0], x[1], {.log_input = false, .epsilon = 0.01}); }, [](A x) { return by_elements(x, [](const Real* v) { return v[0] - v[1] * std::log(v[0] + 0.01L); }); }, {-2, 2}, positive, none, 4},
    {"poisson_nll", "3x4,3x4", [](X x) { return poisson_nll(x[0] + 0.1, x[1] + 1, {.log_input = false, .full = true, .epsilon = 0}); }, [](A x) { return by_elements(x, [](const Real* v) { return v[0] + 0.1L - (v[1] + 1) * std::log(v[0] + 0.1L) + stirling_of(v[1] + 1); }); }, {-2, 2}, positive, none, 4},
    {"gaussian_nll", "3x4,3x4,3x4;2x5,5,2x1;0x2,2,2", [](X x) { return gaussian_nll(x[0], x[1], x[2]); }, [](A x) { return by_elements(x, [](const Real* v) { return gaussian_of(v[0] - v[1], v[2]); }); }, {-2, 2}, positive_variance, none, 10},
    {"gaussian_nll", "3x4,3x4,3x4", [](X x) { return gaussian_nll(x[0], x[1], x[2], {.full = true, .epsilon = 0.5}); }, [](A x) { return by_elements(x, [](const Real* v) { return gaussian_of(v[0] - v[1], std::max(v[2], 0.5L)) + std::log(2 * std::acos(-1.0L)) / 2; }); }, {-2, 2}, positive_variance, none, 10},
    {"weighted_sigmoid_cross_entropy", "3x4,3x4,3x4;2x5,5,2x1;0x2,2,2", [](X x) { return weighted_sigmoid_cross_entropy(x[0], x[1], x[2]); }, [](A x) { return by_elements(x, [](const Real* v) { return weighted_of(v[0], v[1], v[2]); }); }, {-2, 2}, probable_label, none, 4},
    {"focal_cross_entropy", "3x4,3x4;2x5,5;0x2,2", [](X x) { return focal_cross_entropy(x[0], x[1]); }, [](A x) { return by_elements(x, [](const Real* v) { return focal_of(v[0], v[1], 0.25L, 2); }); }, {-2, 2}, probable_label, none, 8},
    {"focal_cross_entropy", "3x4,3x4", [](X x) { return focal_cross_entropy(x[0], x[1], {.alpha = -1, .gamma = 1.5}); }, [](A x) { return by_elements(x, [](const Real* v) { return 2 * focal_of(v[0], v[1], 0.5L, 1.5L); }); }, {-2, 2}, probable_label, none, 8},
    {"focal_cross_entropy", "3x4,3x4", [](X x) { return focal_cross_entropy(x[0], x[1], {.alpha = 0.75, .gamma = 0}); }, [](A x) { return by_elements(x, [](const Real* v) { return focal_of(v[0], v[1], 0.75L, 0); }); }, {-2, 2}, probable_label, none, 8},
    {"focal_cross_entropy", "3x4,3x4", [](X x) { return focal_cross_entropy(x[0], x[1], {.alpha = -1, .gamma = 0}); }, [](A x) { return by_elements(x, [](const Real* v) { return weighted_of(v[0], v[1], 1); }); }, {-2, 2}, probable_label, none, 4},
    {"hinge", "3x4,3x4;2x5,5;0x2,2", [](X x) { return hinge(x[0], x[1]); }, [](A x) { return by_elements(x, [](const Real* v) { return rising(1 - v[1] * v[0]); }); }, {-2, 2}, nullptr, none, 2},
    {"hinge_embedding", "3x4;7;0x2", [](X x) { return hinge_embedding(x[0], signs_like(x[0]), 0.7); }, [](A x) { return hinged_embedding(x[0], 0.7); }, {-2, 2}, nullptr, none, 2},
    {"soft_margin", "3x4,3x4;2x5,5;0x2,2", [](X x) { return soft_margin(x[0], x[1]); }, [](A x) { return by_elements(x, [](const Real* v) { return std::log1p(std::exp(-v[0] * v[1])); }); }, {-2, 2}, nullptr, none, 4},
    {"margin_ranking", "3x4,3x4,3x4;2x5,5,2x1;0x2,2,2", [](X x) { return margin_ranking(x[0], x[1], x[2], 0.3); }, [](A x) { return by_elements(x, [](const Real* v) { return rising(0.3 - v[2] * (v[0] - v[1])); }); }, {-2, 2}, nullptr, none, 4},
    {"nll", "3x4;2x3x20;19x3;0x3", [](X x) { return nll(x[0], labels_of(x[0].shape(), x[0].rank() - 1, true), {.ignore_index = -7}); }, [](A x) { return nll_of(x[0], -1); }},
    {"nll", "2x3x4", [](X x) { return nll(x[0], labels_of(x[0].shape(), 1, true), {.axis = 1, .ignore_index = -7}); }, [](A x) { return nll_of(x[0], 1); }},
    {"multi_margin", "3x4;2x3x20;19x3;0x3", [](X x) { return multi_margin(x[0], labels_of(x[0].shape(), x[0].rank() - 1, false)); }, [](A x) { return multi_margin_of(x[0], -1, 1, 1); }, {-2, 2}, nullptr, none, 4},
    {"multi_margin", "2x3x4", [](X x) { return multi_margin(x[0], labels_of(x[0].shape(), 1, false), {.axis = 1, .p = 2, .margin = 0.4}); }, [](A x) { return multi_margin_of(x[0], 1, 2, 0.4); }, {-2, 2}, nullptr, none, 8},
    {"cosine_similarity", "3x4,3x4;5,5;2x3x20,2x3x20;0x3,0x3", [](X x) { return cosine_similarity(x[0], x[1]); }, [](A x) { return by_rows(x, -1, cosine_of); }, {-2, 2}, nullptr, none, 10},
    {"cosine_similarity", "2x3x4,2x3x4", [](X x) { return cosine_similarity(x[0], x[1], 1); }, [](A x) { return by_rows(x, 1, cosine_of); }, {-2, 2}, nullptr, none, 10},
    {"triplet_margin", "3x4,3x4,3x4;5,5,5;0x3,0x3,0x3", [](X x) { return triplet_margin(x[0], x[1], x[2]); }, [](A x) { return by_rows(x, -1, [](const auto& r) { return triplet_of(r, 2, 1, false); }); }, {-2, 2}, nullptr, none, 10},
    {"triplet_margin", "2x3x4,2x3x4,2x3x4", [](X x) { return triplet_margin(x[0], x[1], x[2], {.axis = 1, .p = 3, .margin = 2, .swap = true}); }, [](A x) { return by_rows(x, 1, [](const auto& r) { return triplet_of(r, 3, 2, true); }); }, {-2, 2}, nullptr, none, 20},
    {"l2_loss", "3x4;5;2x3x4;0x3;()", [](X x) { return l2_loss(x[0]); }, [](A x) { return half_of_squares(x[0]); }, {-2, 2}, nullptr, none, 4},
};
// clang-format on

}  // namespace

std::span<const Shaped> losses() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
