#include "loops/reduce/moments.hpp"

#include <algorithm>
#include <cmath>

#include "core/visit.hpp"
#include "kernels/table.hpp"
#include "loops/loops.hpp"
#include "loops/make/fill.hpp"
#include "loops/reduce/reduce.hpp"

namespace reel::loops {

namespace {

// The loop of the definition for the dtype of x.
template <kernels::table::FixedString Name>
kernels::Loop loop_for(const Tensor& x) {
  return kernels::pointwise(kernels::index_of<Name>(), x.dtype()).value;
}
// out = a pointwise function of the operands; `out` may be one of them.
template <kernels::table::FixedString Name, class... X>
void compute(const Tensor& out, const X&... x) {
  const Tensor* in[] = {&x...};
  pointwise(loop_for<Name>(out), in, out);
}

// out = the sum over the axes of a pointwise function of x and optionally y, which has extent 1 there. Without the
// intermediate array, where that is faster.
template <kernels::table::FixedString Name, class... Y>
void sum_of(const Shape& axes, const Tensor& out, const Tensor& x, const Y&... y) {
  if (x.size() == 0) return fill_zero(out);
  const Tensor* in[] = {&x, &y...};
  const kernels::Reduction& sum = kernels::reduction(kernels::ReduceFunction::sum, x.dtype());
  if (x.size() >= parallel_threshold && pointwise_reduce(loop_for<Name>(x), x.shape(), in, sum, axes, out)) return;
  const Tensor terms = detail::empty(x.dtype(), x.shape());
  pointwise(loop_for<Name>(x), in, terms);
  reduce(sum, terms, axes, out);
}

// Calls f(i) for each element of a tensor.
template <class F>
void for_each_of(const Tensor& x, const F& f) {
  parallel_for(x.size(), parallel_threshold, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

// The shape of x with extents of 1 for the axes.
Shape with_ones(const Tensor& x, const Shape& axes) {
  Shape shape = x.shape();
  for (const std::int64_t a : axes) shape[a] = 1;
  return shape;
}

// A tensor of rank 0, of a floating or complex dtype.
Tensor number(double value, DType d) {
  const Tensor x = TensorAccess::adopt(detail::new_block(d, nullptr, 0));
  visit(d, [&]<class T>() {
    if constexpr (is_complex(dtype_of<T>))
      *detail::mutable_data<T>(x) = T(static_cast<decltype(T().re)>(value), 0);
    else if constexpr (std::is_floating_point_v<T>)
      *detail::mutable_data<T>(x) = static_cast<T>(value);
  });
  return x;
}

std::int64_t count_of(const Tensor& x, const Shape& axes) {
  std::int64_t n = 1;
  for (const std::int64_t a : axes) n *= x.shape()[a];
  return n;
}

// ---- centred rows

// Row by row, so that all passes but the first find a row in a cache.
template <class T>
void centre_short_rows(const T* from, T* to, std::int64_t n, std::int64_t rows) {
  const kernels::Reduction& sum = kernels::reduction(kernels::ReduceFunction::sum, dtype_of<T>);
  const kernels::Loop subtract = kernels::pointwise(kernels::index_of<"subtract">(), dtype_of<T>).value,
                      divide = kernels::pointwise(kernels::index_of<"divide">(), dtype_of<T>).value;
  const Tensor count = number(static_cast<double>(n), dtype_of<T>);
  const auto less_mean = [&](const T* x, T* y) {
    T mean;
    sum.run({x, 1}, n, &mean);
    const kernels::Strided quotient[] = {{&mean, 0}, {detail::block(count)->data, 0}};
    divide(quotient, &mean, 1);
    const kernels::Strided difference[] = {{x, 1}, {&mean, 0}};
    subtract(difference, y, n);
  };
  parallel_for(rows, std::max<std::int64_t>(1, parallel_threshold / n), [&](std::int64_t row, std::int64_t end) {
    for (; row < end; ++row) {
      less_mean(from + row * n, to + row * n);
      less_mean(to + row * n, to + row * n);
    }
  });
}

// ---- variance

// The sum of (x - c)^2, with the mean rounded to c, minus n (mean - c)^2: x is read three times, and nothing is
// written.
template <class T>
void variance_of(const Tensor& x, const Shape& axes, double freedom, const Tensor& out) {
  const Tensor middle = detail::empty(x.dtype(), with_ones(x, axes)), rest = detail::empty(x.dtype(), middle.shape());
  const T n = static_cast<T>(count_of(x, axes)), f = static_cast<T>(freedom);
  mean(x, axes, middle);
  sum_of<"subtract">(axes, rest, x, middle);
  T *c = detail::mutable_data<T>(middle), *lost = detail::mutable_data<T>(rest), *to = detail::mutable_data<T>(out);
  for_each_of(rest, [=](std::int64_t i) {
    const T first = c[i], more = lost[i] / n;
    c[i] = first + more;
    lost[i] = more - (c[i] - first);
  });
  sum_of<"squared_difference">(axes, out, x, middle);
  for_each_of(out, [=](std::int64_t i) {
    const T squares = to[i] - lost[i] * lost[i] * n;
    to[i] = (squares < 0 ? 0 : squares) / f;
  });
}

// out = the largest power of 2 up to the largest magnitude along the axes, or 1.
template <class T>
void powers_near(const Tensor& x, const Shape& axes, const Tensor& out) {
  const Tensor size = detail::empty(x.dtype(), x.shape());
  compute<"abs">(size, x);
  reduce(ReduceFunction::max, size, axes, out);
  T* s = detail::mutable_data<T>(out);
  for_each_of(out, [=](std::int64_t i) {
    s[i] = s[i] > 0 && std::isfinite(s[i]) ? std::exp2(std::floor(std::log2(s[i]))) : 1;
  });
}

// ---- norm

// out = the norm, from powers of x divided by its largest (p < 0: smallest) element, so that they do not overflow or
// underflow.
template <class T>
void scaled_norm(const Tensor& x, double p, const Shape& axes, const Tensor& out) {
  const Tensor ratio = detail::empty(x.dtype(), x.shape()), scale = detail::empty(x.dtype(), with_ones(x, axes));
  compute<"abs">(ratio, x);
  reduce(p < 0 ? ReduceFunction::min : ReduceFunction::max, ratio, axes, scale);
  T* s = detail::mutable_data<T>(scale);
  for_each_of(scale, [=](std::int64_t i) {
    if (s[i] == 0 || std::isinf(s[i])) s[i] = 1;
  });
  compute<"divide">(ratio, ratio, scale);
  const Tensor sum = detail::empty(x.dtype(), scale.shape());
  if (p == 2) {
    compute<"square">(ratio, ratio);
    reduce(ReduceFunction::sum, ratio, axes, sum);
    compute<"sqrt">(sum, sum);
  } else {
    compute<"power">(ratio, ratio, number(p, x.dtype()));
    reduce(ReduceFunction::sum, ratio, axes, sum);
    compute<"power">(sum, sum, number(1 / p, x.dtype()));
  }
  const T* root = detail::mutable_data<T>(sum);
  T* to = detail::mutable_data<T>(out);
  for_each_of(out, [=](std::int64_t i) { to[i] = s[i] * root[i]; });
}

// Sums of squares in this range lost nothing to overflow or underflow.
template <class T>
constexpr T least_square = sizeof(T) == 8 ? T(1e-280) : T(1e-30);
template <class T>
constexpr T most_square = sizeof(T) == 8 ? T(1e300) : T(1e37);

template <class T>
void euclidean_norm(const Tensor& x, const Shape& axes, const Tensor& out) {
  sum_of<"square">(axes, out, x);
  T* to = detail::mutable_data<T>(out);
  const auto is_safe = [](T s) { return s >= least_square<T> && s <= most_square<T>; };
  if (std::all_of(to, to + out.size(), is_safe)) return compute<"sqrt">(out, out);
  const Tensor roots = detail::empty(x.dtype(), out.shape()), scaled = detail::empty(x.dtype(), out.shape());
  compute<"sqrt">(roots, out);
  scaled_norm<T>(x, 2, axes, scaled);
  const T *root = detail::mutable_data<T>(roots), *other = detail::mutable_data<T>(scaled);
  for_each_of(out, [=](std::int64_t i) { to[i] = is_safe(to[i]) ? root[i] : other[i]; });
}

// The standard deviation, of x divided by a power of 2 where squares might overflow or underflow.
template <class T>
void deviation_of(const Tensor& x, const Shape& axes, double freedom, const Tensor& out) {
  variance_of<T>(x, axes, freedom, out);
  T* to = detail::mutable_data<T>(out);
  const auto is_safe = [](T s) { return s >= least_square<T> && s <= most_square<T>; };
  const bool safe = x.size() == 0 || std::all_of(to, to + out.size(), is_safe);
  if (safe) return compute<"sqrt">(out, out);
  const Tensor scale = detail::empty(x.dtype(), with_ones(x, axes)), ratio = detail::empty(x.dtype(), x.shape()),
               scaled = detail::empty(x.dtype(), out.shape());
  powers_near<T>(x, axes, scale);
  compute<"divide">(ratio, x, scale);
  variance_of<T>(ratio, axes, freedom, scaled);
  compute<"sqrt">(scaled, scaled);
  compute<"sqrt">(out, out);
  const T *s = detail::mutable_data<T>(scale), *other = detail::mutable_data<T>(scaled);
  for_each_of(out, [=](std::int64_t i) { to[i] = is_safe(to[i] * to[i]) ? to[i] : s[i] * other[i]; });
}

template <class T>
void norm_of(const Tensor& x, double p, const Shape& axes, const Tensor& out) {
  if (p == 2)
    euclidean_norm<T>(x, axes, out);
  else
    scaled_norm<T>(x, p, axes, out);
}

}  // namespace

void mean(const Tensor& x, const Shape& axes, const Tensor& out) {
  reduce(ReduceFunction::sum, x, axes, out);
  compute<"divide">(out, out, number(static_cast<double>(count_of(x, axes)), out.dtype()));
}

void centre_rows(const Tensor& strided, const Tensor& out) {
  const Shape& shape = strided.shape();
  const std::int64_t n = shape[-1];
  if (strided.size() == 0) return;
  if (n <= run_length) {
    Tensor packed;
    const Tensor& x = contiguous(strided, packed);
    return visit_among<float, double, complex64, complex128>(x.dtype(), [&]<class T>() {
      centre_short_rows(detail::mutable_data<const T>(x), detail::mutable_data<T>(out), n, x.size() / n);
    });
  }
  const Shape last{shape.rank() - 1};
  const Tensor means = detail::empty(out.dtype(), with_ones(out, last));
  mean(strided, last, means);
  compute<"subtract">(out, strided, means);
  mean(out, last, means);
  compute<"subtract">(out, out, means);
}

void variance(const Tensor& x, const Shape& axes, double freedom, const Tensor& out) {
  visit_among<float, double>(x.dtype(), [&]<class T>() { variance_of<T>(x, axes, freedom, out); });
}

void deviation(const Tensor& x, const Shape& axes, double freedom, const Tensor& out) {
  visit_among<float, double>(x.dtype(), [&]<class T>() { deviation_of<T>(x, axes, freedom, out); });
}

void norm(const Tensor& x, double p, const Shape& axes, const Tensor& out) {
  visit_among<float, double>(x.dtype(), [&]<class T>() { norm_of<T>(x, p, axes, out); });
}

}  // namespace reel::loops
