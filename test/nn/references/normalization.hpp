// Normalisations by their definitions, over any numbers.
#pragma once
#include "../../op_cases/references/reductions.hpp"

namespace cases {

template <class N>
struct Moments {
  N mean = 0, variance = 0;
};
/// Around the mean, or around 0.
template <class N>
Moments<N> moments_of(const RowOf<N>& row, bool centred) {
  const auto n = static_cast<Real>(row.size());
  Moments<N> m;
  if (centred) m.mean = rounded(total(row) / n, 2);
  for (const N& v : row) m.variance += (v - m.mean) * (v - m.mean);
  m.variance /= n;
  return m;
}
/// (v - mean) / sqrt(variance + epsilon)
template <class N>
RowOf<N> normalized_by(RowOf<N> row, const Moments<N>& m, Real epsilon) {
  const N r = pow(m.variance + epsilon, -0.5L);
  for (N& v : row) v = rounded((v - m.mean) * r, 4);
  return row;
}
template <class N>
RowOf<N> normalized(const RowOf<N>& row, Real epsilon, bool centred) {
  const Moments<N> m = moments_of(row, centred);
  require<N>(value_of(m.variance) + epsilon >= 0.02L);
  return normalized_by(row, m, epsilon);
}

/// f(row) of the elements along several axes, put back in their places.
template <class N, class F>
ArrayOf<N> over(const ArrayOf<N>& x, const std::vector<std::int64_t>& axes, F f) {
  std::vector<bool> inside(x.shape.size());
  for (const std::int64_t a : axes) inside[x.shape.position(a)] = true;
  const auto group_of = [&](const Index& i) {
    std::size_t group = 0;
    for (std::size_t k = 0; k < i.size(); ++k)
      if (!inside[k])
        group =
            group * static_cast<std::size_t>(x.shape[static_cast<std::int64_t>(k)]) + static_cast<std::size_t>(i[k]);
    return group;
  };
  std::vector<RowOf<N>> groups(x.values.size());
  for_each_index(x.shape, [&](const Index& i) { groups[group_of(i)].push_back(at(x, i)); });
  for (RowOf<N>& g : groups)
    if (!g.empty()) g = f(g);
  std::vector<std::size_t> next(groups.size());
  return build<N>(x.shape, [&](const Index& i) {
    const std::size_t g = group_of(i);
    return groups[g][next[g]++];
  });
}
/// x times a plus b, whose axes are some of x's.
template <class N>
ArrayOf<N> scaled(const ArrayOf<N>& x, const std::vector<std::int64_t>& axes, const ArrayOf<N>& a,
                  const ArrayOf<N>* b) {
  return build<N>(x.shape, [&](const Index& i) {
    Index from;
    for (const std::int64_t axis : axes) from.push_back(i[x.shape.position(axis)]);
    const N y = at(x, i) * at(a, from);
    return b ? y + at(*b, from) : y;
  });
}
/// Operands: x, and the scale and the offset or none.
template <class N>
ArrayOf<N> normalized_of(ArraysOf<N> x, const std::vector<std::int64_t>& axes, Real epsilon, bool centred) {
  const ArrayOf<N> y = over(x[0], axes, [&](const RowOf<N>& row) { return normalized(row, epsilon, centred); });
  return x.size() == 1 ? y : scaled(y, axes, x[1], x.size() > 2 ? &x[2] : nullptr);
}
/// Of x, scale and offset: the result, and the mean and the variance, which are constants. Of x, scale, offset, mean
/// and variance: the result.
template <class N>
std::vector<ArrayOf<N>> batch_norm_of(ArraysOf<N> x, std::int64_t axis, Real epsilon) {
  axis = static_cast<std::int64_t>(x[0].shape.position(axis));
  std::vector<std::int64_t> others;
  for (int a = 0; a < x[0].shape.rank(); ++a)
    if (a != axis) others.push_back(a);
  const bool inference = x.size() > 3;
  std::size_t channel = 0;
  const Extents channels = {x[0].shape[axis]};
  ArrayOf<N> mean = filled<N>(channels, 0), variance = mean;
  const ArrayOf<N> y = over(x[0], others, [&](const RowOf<N>& row) {
    const std::size_t c = channel++;
    if (inference) return normalized_by(row, {x[3].values[c], x[4].values[c]}, epsilon);
    const Moments<N> m = moments_of(row, true);
    mean.values[c] = without_derivative(m.mean), variance.values[c] = without_derivative(m.variance);
    return normalized(row, epsilon, true);
  });
  std::vector<ArrayOf<N>> all = {scaled(y, {axis}, x[1], &x[2])};
  if (!inference) all.push_back(mean), all.push_back(variance);
  return all;
}
/// Groups of channels of one example together; 0: each channel is one.
template <class N>
ArrayOf<N> group_norm_of(ArraysOf<N> x, std::int64_t groups, Real epsilon) {
  if (groups == 0) groups = x[0].shape[1];
  if (x[0].values.empty()) return x[0];
  const ArrayOf<N> whole = {{x[0].shape[0] * groups, std::ssize(x[0].values) / (x[0].shape[0] * groups)}, x[0].values};
  ArrayOf<N> y = along(whole, 1, [&](const RowOf<N>& row) { return normalized(row, epsilon, true); });
  y.shape = x[0].shape;
  return x.size() == 1 ? y : scaled(y, {1}, x[1], &x[2]);
}
template <class N>
ArrayOf<N> local_response_of(const ArrayOf<N>& x, std::int64_t size, Real alpha, Real beta, Real k) {
  return build<N>(x.shape, [&](const Index& i) {
    N squares = 0;
    Index from = i;
    for (from[1] = i[1] - size / 2; from[1] <= i[1] + (size - 1) / 2; ++from[1])
      if (from[1] >= 0 && from[1] < x.shape[1]) squares += at(x, from) * at(x, from);
    return rounded(at(x, i) * pow(squares * (alpha / static_cast<Real>(size)) + k, -beta), 4);
  });
}
/// A vector of zeros stays, with derivative 0.
template <class N>
RowOf<N> unit_vector(RowOf<N> row, Real epsilon) {
  const N squares = inner_product(row, row);
  if (value_of(squares) == 0) return RowOf<N>(row.size());
  require<N>(value_of(squares) >= 1e-3L);
  const N r = pow(value_of(squares) < epsilon ? N(epsilon) : squares, -0.5L);
  for (N& v : row) v = rounded(v * r, 4);
  return row;
}

}  // namespace cases
