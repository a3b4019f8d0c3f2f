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
bool any_infinite(const Tensor& maxima) {
  const T* p = detail::mutable_data<T>(maxima);
  return std::any_of(p, p + maxima.size(), [](T v) { return std::abs(v) == std::numeric_limits<T>::infinity(); });
}
bool any_infinite(const Tensor& maxima) {
  return visit_among<float, double>(maxima.dtype(), [&]<class T>() { return any_infinite<T>(maxima); });
}

// Equal weights for the elements of a row that equal its infinite maximum.
template <class T>
void set_infinite_rows(const Tensor& rows, const Tensor& maxima, const Tensor& weights) {
  const T *x = detail::mutable_data<T>(rows), *most = detail::mutable_data<T>(maxima);
  T* w = detail::mutable_data<T>(weights);
  const std::int64_t count = rows.shape()[0], n = rows.shape()[1];
  for (std::int64_t row = 0; row < count; ++row, x += n, w += n) {
    if (!std::isinf(most[row])) continue;
    T hits = 0;
    for (std::int64_t i = 0; i < n; ++i) hits += x[i] == most[row] ? T(1) : T(0);
    for (std::int64_t i = 0; i < n; ++i) w[i] = x[i] == most[row] ? 1 / hits : 0;
  }
}

Tensor ones_like(const Tensor& x) {
  const Tensor y = detail::empty(x.dtype(), x.shape());
  visit_among<float, double>(x.dtype(), [&]<class T>() { std::fill_n(detail::mutable_data<T>(y), y.size(), T(1)); });
  return y;
}

// logsumexp_vjp where some maxima are infinite.
void vjp_with_infinities(const Tensor& g, const Tensor& x, const Exponentials& parts, std::int64_t mask,
                         const Tensor& out) {
  const Tensor rows = to_rows(x, mask), weights = detail::empty(x.dtype(), rows.shape()),
               w = detail::empty(x.dtype(), x.shape());
  by_rows(RowFunction::logsumexp_vjp, rows.shape()[1],
          {one_per_row(ones_like(parts.most)), whole_rows(rows), one_per_row(parts.most), one_per_row(parts.sum)},
          weights, rows.shape()[1]);
  visit_among<float, double>(x.dtype(), [&]<class T>() { set_infinite_rows<T>(rows, parts.most, weights); });
  from_rows(weights, mask, w);
  Shape shape = out.shape();
  for (int d = 0; d < x.rank(); ++d)
    if (mask >> d & 1) shape[d + out.rank() - x.rank()] = 1;
  const Tensor spread = in_shape(contiguous(g), shape);
  const Tensor* in[] = {&spread, &w};
  pointwise(kernels::pointwise(kernels::index_of<"multiply">(), x.dtype()).value, in, out);
}

}  // namespace

void logsumexp(const Tensor& x, std::int64_t mask, const Tensor& z, const Exponentials& parts) {
  if (z.size() == 0) return;
  const std::int64_t n = elements_of(x, mask);
  const auto per_row = [](const Tensor& t) { return t.defined() ? one_per_row(t) : for_all_rows(t); };
  const RowOperand most = per_row(parts.most), sum = per_row(parts.sum);
  if (const std::int64_t inner = column_count(x, mask))
    by_columns(RowFunction::logsumexp, n, inner, {{x, n}, most, sum}, z, 1);
  else
    by_rows(RowFunction::logsumexp, n, {whole_rows(to_rows(x, mask)), most, sum}, z, 1);
}

void logsumexp_weights(const Tensor& x, const Exponentials& parts, std::int64_t mask, const Tensor& out) {
  logsumexp_vjp(ones_like(parts.most), x, parts, mask, out);
}

void logsumexp_vjp(const Tensor& g, const Tensor& x, const Exponentials& parts, std::int64_t mask, const Tensor& out) {
  if (out.size() == 0) return;
  if (any_infinite(parts.most)) return vjp_with_infinities(g, x, parts, mask, out);
  const std::int64_t n = elements_of(x, mask);
  const RowOperand most = one_per_row(parts.most), sum = one_per_row(parts.sum);
  if (const std::int64_t inner = column_count(x, mask))
    return by_columns(RowFunction::logsumexp_vjp, n, inner, {one_per_row(g), {x, n}, most, sum}, out, n, true);
  const RowOperand rows = whole_rows(to_rows(x, mask));
  if (axes_are_last(x.rank(), mask))
    return by_rows(RowFunction::logsumexp_vjp, n, {one_per_row(g), rows, most, sum}, out, n);
  const Tensor moved = detail::empty(x.dtype(), {out.size() / n, n});
  by_rows(RowFunction::logsumexp_vjp, n, {one_per_row(g), rows, most, sum}, moved, n);
  from_rows(moved, mask << (out.rank() - x.rank()), out);
}

}  // namespace reel::loops
