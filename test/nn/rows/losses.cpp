// Rows of the ops of <reel/nn/losses.hpp>.
#include <reel/nn/losses.hpp>

#include "labels.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

// Labels -1 and 1 in turn.
Tensor signs_like(const Tensor& x) { return reshape(2 * mod(arange(x.shape().elements()), 2) - 1, x.shape()); }
Array hinged_embedding(const Array& x, Real margin) {
  Array signs = x;
  for (std::size_t i = 0; i < signs.values.size(); ++i) signs.values[i] = i % 2 == 0 ? -1 : 1;
  const Array both[] = {x, signs};
  return by_elements(A(both), [=](const Real* v) { return hinge_embedding_of(v, margin); });
}

Array nll_of_some(const Array& x, std::int64_t axis) {
  return nll_of(x, axis, some_labels(x.shape, axis, true), ignored_label);
}
Array multi_margin_of_some(const Array& x, std::int64_t axis, std::int64_t p, Real margin) {
  return multi_margin_of(x, axis, some_labels(x.shape, axis, false), p, margin);
}

Tensor positive(const Tensor& drawn, std::size_t) { return abs(drawn) + 0.1; }
Tensor positive_variance(const Tensor& drawn, std::size_t k) { return k == 2 ? abs(drawn) + 0.1 : drawn; }
Tensor positive_target(const Tensor& drawn, std::size_t k) { return k == 1 ? abs(drawn) + 1.1 : drawn; }
Tensor probable_label(const Tensor& drawn, std::size_t k) {
  return k == 1 ? sigmoid(drawn) : k == 2 ? abs(drawn) + 0.5 : drawn;
}

// clang-format off
const Shaped rows[] = {
    {"mse", "3x4,3x4;2x5,5;0x2,2", [](X x) { return mse(x[0], x[1]); }, of_elements<mse_of>, {-2, 2}, nullptr, none, 2},
    {"mae", "3x4,3x4;2x5,5;0x2,2", [](X x) { return mae(x[0], x[1]); }, of_elements<mae_of>},
    {"log_cosh", "3x4,3x4;2x5,5;0x2,2", [](X x) { return log_cosh(x[0], x[1]); }, of_elements<log_cosh_of>, {-3, 3}, nullptr, none, 4},
    {"poisson_nll", "3x4,3x4;2x5,5;0x2,2", [](X x) { return poisson_nll(x[0], x[1]); }, of_elements<poisson_of>, {-2, 2}, nullptr, none, 4},
    {"poisson_nll", "3x4,3x4;2x5,5", [](X x) { return poisson_nll(x[0], x[1], {.full = true}); }, [](A x) { return by_elements(x, [](const Real* v) { return poisson_of(v) + stirling_of(v[1]); }); }, {-2, 2}, positive_target, none, 4},
    {"poisson_nll", "3x4,3x4;2x5,5", [](X x) { return poisson_nll(x[0], x[1], {.log_input = false, .epsilon = 0.01}); }, [](A x) { return by_elements(x, [](const Real* v) { return poisson_of_rates(v, 0.01L, false); }); }, {-2, 2}, positive, none, 4},
    {"poisson_nll", "3x4,3x4", [](X x) { return poisson_nll(x[0] + 0.1, x[1] + 1, {.log_input = false, .full = true, .epsilon = 0}); }, [](A x) { return by_elements(x, [](const Real* v) { const Real w[] = {v[0] + 0.1L, v[1] + 1}; return poisson_of_rates(w, 0, true); }); }, {-2, 2}, positive, none, 4},
    {"gaussian_nll", "3x4,3x4,3x4;2x5,5,2x1;0x2,2,2", [](X x) { return gaussian_nll(x[0], x[1], x[2]); }, of_elements<gaussian_of>, {-2, 2}, positive_variance, none, 10},
    {"gaussian_nll", "3x4,3x4,3x4", [](X x) { return gaussian_nll(x[0], x[1], x[2], {.full = true, .epsilon = 0.5}); }, [](A x) { return by_elements(x, [](const Real* v) { const Real w[] = {v[0], v[1], std::max(v[2], 0.5L)}; return gaussian_of(w) + std::log(2 * std::acos(-1.0L)) / 2; }); }, {-2, 2}, positive_variance, none, 10},
    {"weighted_sigmoid_cross_entropy", "3x4,3x4,3x4;2x5,5,2x1;0x2,2,2", [](X x) { return weighted_sigmoid_cross_entropy(x[0], x[1], x[2]); }, of_elements<weighted_of>, {-2, 2}, probable_label, none, 4},
    {"focal_cross_entropy", "3x4,3x4;2x5,5;0x2,2", [](X x) { return focal_cross_entropy(x[0], x[1]); }, of_elements<default_focal_of>, {-2, 2}, probable_label, none, 8},
    {"focal_cross_entropy", "3x4,3x4", [](X x) { return focal_cross_entropy(x[0], x[1], {.alpha = -1, .gamma = 1.5}); }, [](A x) { return by_elements(x, [](const Real* v) { return 2 * focal_of(v[0], v[1], 0.5L, 1.5L); }); }, {-2, 2}, probable_label, none, 8},
    {"focal_cross_entropy", "3x4,3x4", [](X x) { return focal_cross_entropy(x[0], x[1], {.alpha = 0.75, .gamma = 0}); }, [](A x) { return by_elements(x, [](const Real* v) { return focal_of(v[0], v[1], 0.75L, 0); }); }, {-2, 2}, probable_label, none, 8},
    {"focal_cross_entropy", "3x4,3x4", [](X x) { return focal_cross_entropy(x[0], x[1], {.alpha = -1, .gamma = 0}); }, [](A x) { return by_elements(x, [](const Real* v) { return weighted_cross_entropy_of(v[0], v[1], 1.0L); }); }, {-2, 2}, probable_label, none, 4},
    {"hinge", "3x4,3x4;2x5,5;0x2,2", [](X x) { return hinge(x[0], x[1]); }, of_elements<hinge_of>, {-2, 2}, nullptr, none, 2},
    {"hinge_embedding", "3x4;7;0x2", [](X x) { return hinge_embedding(x[0], signs_like(x[0]), 0.7); }, [](A x) { return hinged_embedding(x[0], 0.7); }, {-2, 2}, nullptr, none, 2},
    {"soft_margin", "3x4,3x4;2x5,5;0x2,2", [](X x) { return soft_margin(x[0], x[1]); }, of_elements<soft_margin_of>, {-2, 2}, nullptr, none, 4},
    {"margin_ranking", "3x4,3x4,3x4;2x5,5,2x1;0x2,2,2", [](X x) { return margin_ranking(x[0], x[1], x[2], 0.3); }, [](A x) { return by_elements(x, [](const Real* v) { return margin_ranking_of(v, 0.3); }); }, {-2, 2}, nullptr, none, 4},
    {"nll", "3x4;2x3x20;19x3;0x3", [](X x) { return nll(x[0], some_labels(x[0], -1, true), {.ignore_index = -7}); }, [](A x) { return nll_of_some(x[0], -1); }},
    {"nll", "2x3x4", [](X x) { return nll(x[0], some_labels(x[0], 1, true), {.axis = 1, .ignore_index = -7}); }, [](A x) { return nll_of_some(x[0], 1); }},
    {"multi_margin", "3x4;2x3x20;19x3;0x3", [](X x) { return multi_margin(x[0], some_labels(x[0], -1, false)); }, [](A x) { return multi_margin_of_some(x[0], -1, 1, 1); }, {-2, 2}, nullptr, none, 4},
    {"multi_margin", "2x3x4", [](X x) { return multi_margin(x[0], some_labels(x[0], 1, false), {.axis = 1, .p = 2, .margin = 0.4}); }, [](A x) { return multi_margin_of_some(x[0], 1, 2, 0.4); }, {-2, 2}, nullptr, none, 8},
    {"cosine_similarity", "3x4,3x4;5,5;2x3x20,2x3x20;0x3,0x3", [](X x) { return cosine_similarity(x[0], x[1]); }, [](A x) { return cosine_similarity_of(x, -1); }, {-2, 2}, nullptr, none, 10},
    {"cosine_similarity", "2x3x4,2x3x4", [](X x) { return cosine_similarity(x[0], x[1], 1); }, [](A x) { return cosine_similarity_of(x, 1); }, {-2, 2}, nullptr, none, 10},
    {"triplet_margin", "3x4,3x4,3x4;5,5,5;0x3,0x3,0x3", [](X x) { return triplet_margin(x[0], x[1], x[2]); }, [](A x) { return triplet_margin_of(x, -1, 2, 1, false); }, {-2, 2}, nullptr, none, 10},
    {"triplet_margin", "2x3x4,2x3x4,2x3x4", [](X x) { return triplet_margin(x[0], x[1], x[2], {.axis = 1, .p = 3, .margin = 2, .swap = true}); }, [](A x) { return triplet_margin_of(x, 1, 3, 2, true); }, {-2, 2}, nullptr, none, 20},
    {"l2_loss", "3x4;5;2x3x4;0x3;()", [](X x) { return l2_loss(x[0]); }, [](A x) { return l2_loss_of(x[0]); }, {-2, 2}, nullptr, none, 4},
};
// clang-format on

}  // namespace

std::span<const Shaped> losses() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
