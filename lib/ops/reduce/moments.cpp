// Variance, standard deviation and norms: written rules whose singular points (a constant, the zero vector) have
// gradient 0. Attributes: axes, keepdims, the number (ddof or p) as bits.
#include <bit>
#include <cmath>
#include <limits>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>

#include "kernels/table.hpp"
#include "ops/reduce/reduction.hpp"

namespace reel {

namespace ops {

namespace {

Shape reduced_axes(const tape::Record& r) { return ops::axes_of(r.attributes()[0]); }
bool keeps_axes(const tape::Record& r) { return r.attributes()[1] != 0; }
double number_of(const tape::Record& r) { return std::bit_cast<double>(r.attributes()[2]); }
Tensor with_reduced_axes(const tape::Record& r, const Tensor& z) {
  return ops::with_axes(z, r.shape(0), r.attributes()[0]);
}
// The same for what has the shape of a cotangent.
Tensor led_with_axes(const tape::Record& r, const Tensor& g) {
  return ops::with_axes(g, r.led(r.shape(0)), r.attributes()[0] << r.lead());
}

void record_number(const tape::Rule& rule, const Tensor& x, const Tensor& z, std::initializer_list<const Tensor*> saved,
                   const Reduced& r, double number) {
  if (!tape::active()) return;
  const std::int64_t attributes[] = {r.mask, r.keepdims, std::bit_cast<std::int64_t>(number)};
  tape::record(rule, {&x}, z, saved, attributes);
}

// 1 where b holds, else x: a denominator that is no 0, so that what `where` discards stays finite in every derivative.
Tensor or_one(const Tensor& b, const Tensor& x) { return where(b, 1, x); }

// ---- var, std

// n - ddof, NaN unless positive.
double freedom(std::int64_t n, double ddof) {
  const double f = static_cast<double>(n) - ddof;
  return f > 0 ? f : std::numeric_limits<double>::quiet_NaN();
}
double freedom(const tape::Record& r) {
  std::int64_t n = 1;
  const Shape full = r.shape(0);
  for (std::int64_t a : reduced_axes(r)) n *= full[a];
  return freedom(n, number_of(r));
}

// x less its mean over the axes; twice, since the first mean is rounded, and a constant must give zeros.
Tensor less_mean(const Tensor& x, const Shape& axes) {
  Tensor once = x - mean(x, axes, true);
  const Tensor rest = mean(once, axes, true);
  return std::move(once) - rest;
}

// The sum over the axes of what a row of the table makes of x or of x and y, which has extents of 1 there: not in
// memory as a whole if that is a gain.
template <kernels::table::FixedString Row, class... Y>
Tensor sum_of(const char* op, const Reduced& r, const Tensor& x, const Y&... y) {
  const kernels::Type type = type_of(x.dtype());
  const kernels::Loop loop = kernels::active().pointwise(kernels::row_of<Row>(), type).value;
  const Tensor* in[] = {&x, &y...};
  if (x.size() >= loops::parallel_threshold) {
    Tensor out = detail::empty(x.dtype(), r.shape);
    if (loops::pointwise_reduce(loop, x.shape(), in, kernels::active().reduction(kernels::Reduce::sum, type), r.axes,
                                out))
      return out;
  }
  const Tensor terms = detail::empty(x.dtype(), x.shape());
  loops::pointwise(loop, x.shape(), in, terms);
  const Operand zero = 0;
  return reduce_bare(op, kernels::Reduce::sum, terms, r, &zero);
}

// f(i) for each element of a tensor.
template <class F>
void for_each_of(const Tensor& x, const F& f) {
  loops::parallel_for(x.size(), loops::parallel_threshold, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

// The sum of (x - c)^2 with the mean rounded as c, less n (mean - c)^2: x is read three times, and nothing written.
template <class T>
Tensor var_of(const char* op, const Tensor& x, const Reduced& r, double ddof) {
  const T n = static_cast<T>(r.count), f = static_cast<T>(freedom(r.count, ddof));
  const Tensor mean = reel::mean(x, r.axes, true);  // fresh, and so are the next two
  const Tensor rest = sum_of<"subtract">(op, r, x, mean);
  T *c = detail::mutable_data<T>(mean), *lost = detail::mutable_data<T>(rest);
  for_each_of(rest, [=](std::int64_t i) {
    const T first = c[i], more = lost[i] / n;
    c[i] = first + more;
    lost[i] = more - (c[i] - first);
  });
  Tensor z = sum_of<"squared_difference">(op, r, x, mean);
  T* to = detail::mutable_data<T>(z);
  for_each_of(z, [=](std::int64_t i) {
    const T squares = to[i] - lost[i] * lost[i] * n;
    to[i] = (squares < 0 ? 0 : squares) / f;
  });
  return z;
}
Tensor var_bare(const char* op, const Tensor& x, const Reduced& r, double ddof) {
  const tape::Suspend unrecorded;
  return x.dtype() == DType::float64 ? var_of<double>(op, x, r, ddof) : var_of<float>(op, x, r, ddof);
}

Tensor centred(const tape::Record& r) { return less_mean(r.saved(0), reduced_axes(r)); }

void var_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = led_with_axes(r, g[0]) * (2 / freedom(r)) * centred(r);
}
// Along a tangent without elements every result stands still, NaN or not.
Tensor still(const tape::Record& r, const Tensor& t) { return sum(t, reduced_axes(r), keeps_axes(r)); }
void var_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].size() == 0) {
    dy[0] = still(r, t[0]);
    return;
  }
  dy[0] = sum(centred(r) * t[0], reduced_axes(r), keeps_axes(r)) * (2 / freedom(r));
}
constexpr tape::Rule var_rule = batched({"var", var_vjp, var_jvp});

// d / ((n - ddof) std), 0 where std is 0.
Tensor over_std(const tape::Record& r, const Tensor& d, const Tensor& z) {
  const Tensor none = equal(z, 0);
  return where(none, 0, d / (or_one(none, z) * freedom(r)));
}
void std_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = led_with_axes(r, over_std(r, g[0], r.saved(1))) * centred(r);
}
void std_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].size() == 0) {
    dy[0] = still(r, t[0]);
    return;
  }
  dy[0] = over_std(r, sum(centred(r) * t[0], reduced_axes(r), keeps_axes(r)), r.saved(1));
}
constexpr tape::Rule std_rule = batched({"std", std_vjp, std_jvp});

// ---- norm

// Whether sums of squares lose nothing to overflow or underflow: every element of s is well inside T's range.
template <class T>
bool well_inside(const Tensor& s, double least, double most) {
  const T* p = detail::mutable_data<T>(s);
  bool inside = true;
  for (std::int64_t i = 0; i < s.size(); ++i) inside &= p[i] >= static_cast<T>(least) && p[i] <= static_cast<T>(most);
  return inside;
}
struct Range {
  double least, most;
};
constexpr Range safe_squares(DType d) { return d == DType::float64 ? Range{1e-280, 1e300} : Range{1e-30, 1e37}; }

// The norm by powers of x over its largest (for p < 0: smallest) element, which neither overflow nor vanish.
Tensor scaled_norm(const Tensor& x, double p, const Shape& axes) {
  const tape::QuietScope unchecked;  // a power of 0 may be infinite, and the norm is not
  const Tensor a = abs(x), extreme = p < 0 ? min(a, axes, true) : max(a, axes, true);
  const Tensor scale = or_one(logical_or(equal(extreme, 0), isinf(extreme)), extreme);
  if (p == 2) return scale * sqrt(sum(square(a / scale), axes, true));
  return scale * power(sum(power(a / scale, p), axes, true), 1 / p);
}

Tensor norm_bare(const Tensor& x, double p, const Reduced& r) {
  const tape::Suspend unrecorded;
  if (p != 2) return reshape(scaled_norm(x, p, r.axes), r.shape);
  const Tensor squares = sum_of<"square">("norm", r, x);
  const auto [least, most] = safe_squares(x.dtype());
  if (x.dtype() == DType::float64 ? well_inside<double>(squares, least, most)
                                  : well_inside<float>(squares, least, most))
    return sqrt(squares);
  const Tensor inside = logical_and(greater_equal(squares, least), less_equal(squares, most));
  return where(inside, sqrt(squares), reshape(scaled_norm(x, p, r.axes), r.shape));
}

// d norm / d x where z is not 0: sign(x) |x / z|^(p - 1); 0 where x is, for general p.
Tensor slope(const tape::Record& r, const Tensor& no_norm) {
  const double p = number_of(r);
  const Tensor x = r.saved(0), ratio = x / with_reduced_axes(r, or_one(no_norm, r.saved(1)));
  if (p == 2) return ratio;
  if (p > 2 && p == std::floor(p)) {  // a power of x itself, smooth at 0 to every order
    const Tensor s = power(ratio, p - 1);
    return std::fmod(p, 2) == 0 ? s : s * sign(ratio);
  }
  const Tensor at_zero = equal(x, 0);
  return where(at_zero, 0, sign(ratio) * power(or_one(at_zero, abs(ratio)), p - 1));
}
void norm_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor no_norm = equal(r.saved(1), 0);
  dx[0] = led_with_axes(r, where(no_norm, 0, g[0])) * slope(r, no_norm);
}
void norm_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Tensor no_norm = equal(r.saved(1), 0);
  dy[0] = where(no_norm, 0, sum(slope(r, no_norm) * t[0], reduced_axes(r), keeps_axes(r)));
}
constexpr tape::Rule norm_rule = batched({"norm", norm_vjp, norm_jvp});

}  // namespace

}  // namespace ops

Tensor var(const Operand& operand, const Axes& axes, double ddof, bool keepdims) {
  const tape::OpScope scope(operand);
  Tensor held, converted;
  const Tensor& from = ops::given("var", operand, held);
  if (ops::is_half(from.dtype()))
    return ops::in_float32(from, [&](const Tensor& wide) { return var(wide, axes, ddof, keepdims); });
  if (is_complex(from.dtype())) ops::fail_no_kernel("var", from.dtype());
  const ops::Reduced r("var", from.shape(), axes, keepdims);
  const Tensor& x = ops::as(from, ops::floating_of(from.dtype()), converted);
  Tensor z = ops::var_bare("var", x, r, ddof);
  ops::record_number(ops::var_rule, x, z, {&x}, r, ddof);
  return z;
}

Tensor std(const Operand& operand, const Axes& axes, double ddof, bool keepdims) {
  const tape::OpScope scope(operand);
  Tensor held, converted;
  const Tensor& from = ops::given("std", operand, held);
  if (ops::is_half(from.dtype()))
    return ops::in_float32(from, [&](const Tensor& wide) { return std(wide, axes, ddof, keepdims); });
  if (is_complex(from.dtype())) ops::fail_no_kernel("std", from.dtype());
  const ops::Reduced r("std", from.shape(), axes, keepdims);
  const Tensor& x = ops::as(from, ops::floating_of(from.dtype()), converted);
  Tensor z;
  {
    const tape::Suspend unrecorded;
    z = sqrt(ops::var_bare("std", x, r, ddof));
  }
  ops::record_number(ops::std_rule, x, z, {&x, &z}, r, ddof);
  return z;
}

Tensor norm(const Operand& operand, double p, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  if (std::isnan(p)) fail<ValueError>("norm", "p is NaN; it must be a number or infinity");
  Tensor held, converted;
  const Tensor& from = ops::given("norm", operand, held);
  if (ops::is_half(from.dtype()))
    return ops::in_float32(from, [&](const Tensor& wide) { return norm(wide, p, axes, keepdims); });
  if (is_complex(from.dtype())) return norm(abs(from), p, axes, keepdims);
  const ops::Reduced r("norm", from.shape(), axes, keepdims);
  const Tensor& x = ops::as(from, ops::floating_of(from.dtype()), converted);
  if (p < 0 && r.count == 0 && r.shape.elements() > 0)
    fail<ValueError>("norm", "x has no elements along the reduced axes, and p is {}: its shape is {}", p, x.shape());
  if (p == 1 || r.count == 0) return sum(abs(x), axes, keepdims);
  if (p == 0) return sum(square(sign(where(isnan(x), 1, x))), axes, keepdims);
  if (std::isinf(p)) return p > 0 ? max(abs(x), axes, keepdims) : min(abs(x), axes, keepdims);
  Tensor z = ops::norm_bare(x, p, r);
  ops::record_number(ops::norm_rule, x, z, {&x, &z}, r, p);
  return z;
}

}  // namespace reel
