// Trailing axes are reduced by rows; axes in front of the remaining ones by columns, in place; other axes by rows that
// are copied.
#include "loops/reduce/logsumexp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/visit.hpp"
#include "kernels/table.hpp"
#include "loops/reduce/rows.hpp"

namespace reel::loops {

namespace {

// If x can be seen as matrices [n, inner] whose columns are reduced, inner; otherwise 0.
std::int64_t column_count(const Tensor& x, std::int64_t mask) {
  const detail::Block* b = detail::block(x);
  if (!b->contiguous() || mask == 0) return 0;
  std::int64_t inner = 1;
  int d = b->rank;
  while ((mask >> (d - 1) & 1) == 0) inner *= b->extents()[--d];
  while (d > 0 && (mask >> (d - 1) & 1)) --d;
  return inner >= least_columns && mask >> d << d == mask && (mask & ((std::int64_t{1} << d) - 1)) == 0 ? inner : 0;
}

// Whether the reduced axes are the last ones.
bool axes_are_last(int rank, std::int64_t mask) {
  const std::int64_t all = (std::int64_t{1} << rank) - 1, kept = all & ~mask;
  return (kept & (kept + 1)) == 0;
}

std::int64_t elements_of(const Tensor& x, std::int64_t mask) {
  std::int64_t n = 1;
  for (int d = 0; d < x.rank(); ++d)
    if (mask >> d & 1) n *= x.shape()[d];
  return n;
}

template <class T>
bool any_infinite(const Tensor& z) {
  const T* p = detail::mutable_data<T>(z);
  return std::any_of(p, p + z.size(), [](T v) { return std::abs(v) == std::numeric_limits<T>::infinity(); });
}
bool any_infinite(const Tensor& z) {
  return visit_among<float, double>(z.dtype(), [&]<class T>() { return any_infinite<T>(z); });
}

// Equal weights for the elements of a row that equal its infinite logsumexp.
template <class T>
void set_infinite_rows(const Tensor& rows, const Tensor& z, const Tensor& weights) {
  const T *x = detail::mutable_data<T>(rows), *sums = detail::mutable_data<T>(z);
  T* w = detail::mutable_data<T>(weights);
  const std::int64_t count = rows.shape()[0], n = rows.shape()[1];
  for (std::int64_t row = 0; row < count; ++row, x += n, w += n) {
    if (!std::isinf(sums[row])) continue;
    T hits = 0;
    for (std::int64_t i = 0; i < n; ++i) hits += x[i] == sums[row] ? T(1) : T(0);
    for (std::int64_t i = 0; i < n; ++i) w[i] = x[i] == sums[row] ? 1 / hits : 0;
  }
}

// out = exp(x - z)
void exp_of_difference(const Tensor& x, const Tensor& z, const Tensor& out) {
  const DType dtype = out.dtype();
  const kernels::Set& set = kernels::active();
  const Tensor *difference[] = {&x, &z}, *in_place[] = {&out};
  pointwise(set.pointwise(kernels::index_of<"subtract">(), dtype).value, difference, out);
  pointwise(set.pointwise(kernels::index_of<"exp">(), dtype).value, in_place, out);
}

}  // namespace

void logsumexp(const Tensor& x, std::int64_t mask, const Tensor& z) {
  if (z.size() == 0) return;
  const std::int64_t n = elements_of(x, mask);
  if (const std::int64_t inner = column_count(x, mask))
    by_columns(RowFunction::logsumexp, n, inner, {{x, n}}, z, 1);
  else
    by_rows(RowFunction::logsumexp, n, {whole_rows(to_rows(x, mask))}, z, 1);
}

void logsumexp_weights(const Tensor& x, const Tensor& z, std::int64_t mask, const Tensor& w) {
  if (x.size() == 0) return;
  Shape shape = x.shape();
  for (int d = 0; d < shape.rank(); ++d)
    if (mask >> d & 1) shape[d] = 1;
  if (!any_infinite(z)) return exp_of_difference(x, in_shape(z, shape), w);
  const Tensor rows = to_rows(x, mask), weights = detail::empty(x.dtype(), rows.shape());
  exp_of_difference(rows, in_shape(z, {z.size(), 1}), weights);
  visit_among<float, double>(x.dtype(), [&]<class T>() { set_infinite_rows<T>(rows, z, weights); });
  from_rows(weights, mask, w);
}

void logsumexp_vjp(const Tensor& g, const Tensor& x, const Tensor& z, std::int64_t mask, const Tensor& out) {
  if (out.size() == 0) return;
  const int batch_rank = out.rank() - x.rank();
  if (any_infinite(z)) {
    const Tensor w = detail::empty(x.dtype(), x.shape());
    logsumexp_weights(x, z, mask, w);
    Shape shape = out.shape();
    for (int d = 0; d < x.rank(); ++d)
      if (mask >> d & 1) shape[d + batch_rank] = 1;
    const Tensor spread = in_shape(contiguous(g), shape);
    const Tensor* in[] = {&spread, &w};
    const DType dtype = x.dtype();
    return pointwise(kernels::active().pointwise(kernels::index_of<"multiply">(), dtype).value, in, out);
  }
  const std::int64_t n = elements_of(x, mask);
  if (const std::int64_t inner = column_count(x, mask))
    return by_columns(RowFunction::logsumexp_vjp, n, inner, {one_per_row(g), {x, n}, one_per_row(z)}, out, n, true);
  const RowOperand rows = whole_rows(to_rows(x, mask));
  if (axes_are_last(x.rank(), mask))
    return by_rows(RowFunction::logsumexp_vjp, n, {one_per_row(g), rows, one_per_row(z)}, out, n);
  const Tensor moved = detail::empty(x.dtype(), {out.size() / n, n});
  by_rows(RowFunction::logsumexp_vjp, n, {one_per_row(g), rows, one_per_row(z)}, moved, n);
  from_rows(moved, mask << batch_rank, out);
}

}  // namespace reel::loops
