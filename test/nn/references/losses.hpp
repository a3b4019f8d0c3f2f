// Losses by their definitions, over any numbers.
#pragma once
#include "../../op_cases/naive.hpp"
#include "../../op_cases/references/reductions.hpp"

namespace cases {

template <class N>
N positive_part(const N& x) {
  return less(N(0), x) ? x : N(0);
}
template <class N>
N logistic(const N& x) {
  return 1 / (1 + exp(-x));
}
template <class N>
N weighted_cross_entropy_of(const N& x, const N& label, const N& weight) {
  return -(weight * label * log(logistic(x)) + (1 - label) * log(logistic(-x)));
}
template <class N>
N focal_of(const N& x, const N& label, Real alpha, Real gamma) {
  const N p = logistic(x), missed = p * (1 - label) + (1 - p) * label;
  const N entropy = (alpha * label + (1 - alpha) * (1 - label)) * weighted_cross_entropy_of(x, label, N(1));
  return entropy * (gamma == 2 ? missed * missed : pow(missed, gamma));
}
template <class N>
N stirling_of(const N& t) {
  return less(N(1), t) ? t * log(t) - t + 0.5L * log(2 * std::acos(-1.0L) * t) : N(0);
}

// Of the elements x.
inline constexpr auto mse_of = [](const auto* x) { return (x[0] - x[1]) * (x[0] - x[1]); };
inline constexpr auto mae_of = [](const auto* x) { return abs(x[0] - x[1]); };
inline constexpr auto log_cosh_of = [](const auto* x) { return log(cosh(x[0] - x[1])); };
inline constexpr auto poisson_of = [](const auto* x) { return exp(x[0]) - x[1] * x[0]; };
inline constexpr auto gaussian_of = [](const auto* x) {
  const auto d = x[0] - x[1];
  return 0.5L * (log(x[2]) + d * d / x[2]);
};
inline constexpr auto weighted_of = [](const auto* x) { return weighted_cross_entropy_of(x[0], x[1], x[2]); };
inline constexpr auto default_focal_of = [](const auto* x) { return focal_of(x[0], x[1], 0.25L, 2); };
inline constexpr auto hinge_of = [](const auto* x) { return positive_part(1 - x[1] * x[0]); };
inline constexpr auto soft_margin_of = [](const auto* x) { return log(1 + exp(-(x[0] * x[1]))); };
inline constexpr auto binary_cross_entropy_of = [](const auto* x) {
  return -(x[1] * log(x[0])) - (1 - x[1]) * log(1 - x[0]);
};
inline constexpr auto kl_divergence_of = [](const auto* x) { return rounded(x[0] * (log(x[0]) - log(x[1])), 4); };
template <class N>
N poisson_of_rates(const N* x, Real epsilon, bool full) {
  return x[0] - x[1] * log(x[0] + epsilon) + (full ? stirling_of(x[1]) : N(0));
}
template <class N>
N hinge_embedding_of(const N* x, Real margin) {
  return less(N(0), x[1]) ? x[0] : positive_part(margin - x[0]);
}
template <class N>
N margin_ranking_of(const N* x, Real margin) {
  return positive_part(margin - x[2] * (x[0] - x[1]));
}
template <class N>
N huber_of(const N* x, Real delta) {
  const N d = x[0] - x[1], size = abs(d);
  return less(N(delta), size) ? delta * (size - delta / 2) : 0.5L * d * d;
}

// Of classes along an axis. A label is a class, or ignored.
using Labels = std::vector<std::int64_t>;
template <class N>
Labels labels_of(const ArrayOf<N>& x) {
  Labels labels;
  for (const N& v : x.values) labels.push_back(static_cast<std::int64_t>(value_of(v)));
  return labels;
}
template <class N>
ArrayOf<N> softmax_cross_entropy_of(ArraysOf<N> x, std::int64_t axis, Real smoothing) {
  require<N>(x[0].shape == x[1].shape);
  return reduce_along(x, axis, [&](const std::vector<RowOf<N>>& rows) {
    const Real share = smoothing / static_cast<Real>(rows[0].size());
    const RowOf<N> z = log_softmax_of(rows[0]);
    N sum = 0;
    for (std::size_t k = 0; k < z.size(); ++k) sum += ((1 - smoothing) * rows[1][k] + share) * z[k];
    return -sum;
  });
}
/// f(row, label) of each example, 0 where the label is ignored.
template <class N, class F>
ArrayOf<N> by_labels(const ArrayOf<N>& x, std::int64_t axis, const Labels& labels, std::int64_t ignored, F f) {
  return reduce_along(ArraysOf<N>(&x, 1), axis, [&, next = labels.begin()](const std::vector<RowOf<N>>& rows) mutable {
    const std::int64_t label = *next++;
    return label == ignored ? N(0) : f(rows[0], static_cast<std::size_t>(label));
  });
}
template <class N>
ArrayOf<N> sparse_cross_entropy_of(const ArrayOf<N>& x, std::int64_t axis, const Labels& labels, std::int64_t ignored) {
  return by_labels(x, axis, labels, ignored,
                   [](const RowOf<N>& row, std::size_t label) { return -log_softmax_of(row)[label]; });
}
template <class N>
ArrayOf<N> nll_of(const ArrayOf<N>& x, std::int64_t axis, const Labels& labels, std::int64_t ignored) {
  return by_labels(x, axis, labels, ignored, [](const RowOf<N>& row, std::size_t label) { return -row[label]; });
}
template <class N>
ArrayOf<N> multi_margin_of(const ArrayOf<N>& x, std::int64_t axis, const Labels& labels, std::int64_t p, Real margin) {
  return by_labels(x, axis, labels, INT64_MIN, [&](const RowOf<N>& row, std::size_t label) {
    N sum = 0;
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (j == label) continue;
      const N h = positive_part(margin - row[label] + row[j]);
      sum += p == 1 ? h : h * h;
    }
    return sum / static_cast<Real>(row.size());
  });
}

// Of vectors along an axis.
template <class N>
ArrayOf<N> cosine_similarity_of(ArraysOf<N> x, std::int64_t axis) {
  return reduce_along(x, axis, [](const std::vector<RowOf<N>>& rows) {
    const N xx = inner_product(rows[0], rows[0]), yy = inner_product(rows[1], rows[1]);
    if (!less(N(0), xx) || !less(N(0), yy)) return N(0);
    return rounded(inner_product(rows[0], rows[1]) / (sqrt(xx) * sqrt(yy)), 8);
  });
}
template <class N>
ArrayOf<N> triplet_margin_of(ArraysOf<N> x, std::int64_t axis, Real p, Real margin, bool swap) {
  const auto distance = [&](const RowOf<N>& a, const RowOf<N>& b) {
    N sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      const N d = abs(a[k] - b[k] + 1e-6L);
      sum += p == 1 ? d : p == 2 ? d * d : d * d * d;
    }
    require<N>(value_of(sum) >= 1e-3L);  // differences of the size of epsilon
    return p == 1 ? sum : p == 2 ? sqrt(sum) : exp(log(sum) / 3);
  };
  return reduce_along(x, axis, [&](const std::vector<RowOf<N>>& rows) {
    const N near = distance(rows[0], rows[1]);
    N far = distance(rows[0], rows[2]);
    if (swap) {
      const N other = distance(rows[1], rows[2]);
      require<N>(less(far, other) || less(other, far));  // which of two equal distances a gradient goes to
      if (less(other, far)) far = other;
    }
    return rounded(positive_part(near - far + margin), 8);
  });
}
template <class N>
ArrayOf<N> l2_loss_of(const ArrayOf<N>& x) {
  return {{}, {rounded(inner_product(x.values, x.values) / 2, 4)}};
}

}  // namespace cases
