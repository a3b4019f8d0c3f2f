// Running sums and products along an axis. The derivative of a running product is a linear recurrence, s[i] = b[i] +
// a[i] s[i-1], which needs no division and so is exact with zeros; it is an op of its own, whose derivatives are
// recurrences again: that gives every order.
#include <algorithm>
#include <cstring>
#include <reel/ops/index.hpp>
#include <reel/ops/reduce.hpp>

#include "kernels/table.hpp"
#include "ops/reduce/reduction.hpp"

namespace reel {

namespace ops {

namespace {

// A tensor without gaps as [outer, n, inner].
struct Extents {
  std::int64_t outer = 1, n, inner = 1;
  Extents(const Shape& shape, int axis) : n(shape[axis]) {
    for (int d = 0; d < axis; ++d) outer *= shape[d];
    for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  }
};

// Calls body(o, first, count) for strips of columns of each outer index, in parallel if the work is worth it.
template <class Body>
void for_strips(const Extents& e, std::int64_t strip, const Body& body) {
  const std::int64_t width = std::min(strip, e.inner), strips = (e.inner - 1) / width + 1;
  loops::parallel_for(e.outer * strips, std::max<std::int64_t>(1, loops::parallel_threshold / (e.n * width)),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t t = begin; t < end; ++t) {
                          const std::int64_t first = t % strips * width;
                          body(t / strips, first, std::min(width, e.inner - first));
                        }
                      });
}

// ---- cumsum, cumprod

struct Kind {
  const char* name;
  std::size_t op;  // that combines two
  kernels::Scan (*scan)(kernels::Type);
  int identity;
};
constexpr Kind sums = {"cumsum", kernels::row_of<"add">(), kernels::cumsum, 0};
constexpr Kind products = {"cumprod", kernels::row_of<"multiply">(), kernels::cumprod, 1};

// Whether x's elements are at hand as rows along the first axis, at any stride, each without gaps: x broadcast along
// that axis, above all.
bool has_rows(const detail::Block* x, int axis) {
  std::int64_t dense = 1;
  for (int d = x->rank; --d > axis; dense *= x->extents()[d])
    if (x->extents()[d] != 1 && x->strides()[d] != dense) return false;
  return axis == 0;
}

Tensor scan_bare(const Kind& kind, const Tensor& given, int axis, bool exclusive, bool reverse) {
  const kernels::Scan scan = kind.scan(type_of(given.dtype()));
  if (!scan) fail_no_kernel(kind.name, given.dtype());
  constexpr std::int64_t by_lines = 8;  // columns below which each is scanned by itself
  const Extents e(given.shape(), axis);
  const bool in_place = e.inner >= by_lines && has_rows(detail::block(given), axis);
  Tensor held;
  const Tensor& x = in_place ? given : loops::contiguous(given, held);
  Tensor out = detail::empty(x.dtype(), x.shape());
  if (x.size() == 0) return out;
  const Tensor identity = to_tensor(kind.name, kind.identity, x.dtype(), "identity");
  const kernels::Loop combine = kernels::active().pointwise(kind.op, type_of(x.dtype())).value;
  const auto bytes = static_cast<std::int64_t>(item_size(x.dtype()));
  const std::int64_t step = (reverse ? -e.inner : e.inner) * bytes, start = reverse ? (e.n - 1) * -step : 0;
  const std::int64_t apart = (in_place ? detail::block(x)->strides()[axis] : e.inner) * bytes,
                     x_step = reverse ? -apart : apart, x_start = reverse ? (e.n - 1) * apart : 0;
  const auto* from = detail::mutable_data<std::byte>(x);
  auto* to = detail::mutable_data<std::byte>(out);
  const auto* one = detail::mutable_data<std::byte>(identity);
  for_strips(e, 512, [&](std::int64_t o, std::int64_t first, std::int64_t count) {
    const std::int64_t at = (o * e.n * e.inner + first) * bytes + start;
    if (e.inner < by_lines) {
      const std::int64_t stride = step / bytes, skip = exclusive ? 1 : 0;
      for (std::int64_t c = 0; c < count; ++c) {
        const std::int64_t line = at + c * bytes;
        if (exclusive) std::memcpy(to + line, one, static_cast<std::size_t>(bytes));
        scan({from + line, stride}, to + line + skip * step, stride, e.n - skip);
      }
      return;
    }
    const std::byte* row = from + (o * e.n * e.inner + first) * bytes + x_start;
    if (exclusive) {
      kernels::fill(one, to + at, 1, count, static_cast<std::size_t>(bytes));
    } else {
      std::memcpy(to + at, row, static_cast<std::size_t>(count * bytes));
      row += x_step;
    }
    for (std::int64_t i = 1; i < e.n; ++i, row += x_step) {
      const kernels::Strided both[] = {{to + at + (i - 1) * step, 1}, {row, 1}};
      combine(both, to + at + i * step, count);
    }
  });
  return out;
}

// What the attributes of a scan say.
struct Scanned {
  int axis;
  bool exclusive, reverse;
  explicit Scanned(const tape::Record& r)
      : axis(static_cast<int>(r.attributes()[0])), exclusive(r.attributes()[1] != 0), reverse(r.attributes()[2] != 0) {}
};

Tensor scan(const tape::Rule& rule, const Kind& kind, const Operand& operand, std::int64_t axis, bool exclusive,
            bool reverse) {
  const tape::OpScope scope(operand);
  Tensor held, converted;
  const Tensor& from = given(kind.name, operand, held);
  if (is_half(from.dtype()))
    return in_float32(from, [&](const Tensor& wide) { return scan(rule, kind, wide, axis, exclusive, reverse); });
  const int along = normalize(kind.name, axis, from.rank());
  const Tensor& x = as(from, std::max(from.dtype(), DType::int64), converted);
  Tensor out = scan_bare(kind, x, along, exclusive, reverse);
  if (!tape::active()) return out;
  if (is_differentiable(x.dtype())) {
    const std::int64_t attributes[] = {along, exclusive, reverse};
    tape::record(rule, {&x}, out, {kind.identity == 1 ? &x : nullptr}, attributes);
  } else {
    const Tensor* inputs[] = {&from};
    tape::note_cut(kind.name, inputs, out, tape::Cut::integer);
  }
  return out;
}

Tensor cumsum_transpose(const tape::Record& r, const Tensor& g) {
  const Scanned s(r);
  return cumsum(g, s.axis + r.lead(), s.exclusive, !s.reverse);
}
Tensor cumsum_forward(const tape::Record& r, const Tensor& t) {
  const Scanned s(r);
  return cumsum(t, s.axis, s.exclusive, s.reverse);
}
constexpr tape::Rule cumsum_rule = linear<cumsum_transpose, cumsum_forward>("cumsum");

// x for each of the cotangents that are carried together.
Tensor spread(const tape::Record& r, const Tensor& x) { return r.lead() ? broadcast_to(x, r.led(x.shape())) : x; }

// x moved one place along the axis, to the back (reverse: to the front); 0 moves in.
Tensor shift(const Tensor& x, int axis, bool reverse) {
  const std::int64_t n = x.shape()[axis];
  if (n == 0) return x;
  const std::vector<SliceItem> whole(static_cast<std::size_t>(axis));
  std::vector<SliceItem> items = whole;
  items.push_back(reverse ? range(1, n) : range(0, n - 1));
  Shape none, one;
  for (int d = 0; d < x.rank(); ++d) {
    none.push_back(0);
    one.push_back(d == axis ? 1 : 0);
  }
  return pad(slice(x, items), reverse ? none : one, reverse ? one : none);
}

// ---- The recurrence s[i] = b[i] + a[i] s[i-1], or with `after` s[i] = b[i] + a[i-1] s[i-1]; s[-1] = 0. With `reverse`
// i + 1 stands for i - 1. Attributes: axis, after, reverse.

// Four lines at a time where each is by itself: a line's next step waits for the one before it.
template <class T, int Lines>
void recur_lines(std::int64_t n, std::int64_t step, std::int64_t apart, const T* factor, const T* term, T* sum) {
  T carry[Lines];
  for (int l = 0; l < Lines; ++l) sum[l * apart] = carry[l] = term[l * apart];
  for (std::int64_t i = 1; i < n; ++i, factor += step) {
    term += step;
    sum += step;
    for (int l = 0; l < Lines; ++l) sum[l * apart] = carry[l] = term[l * apart] + factor[l * apart] * carry[l];
  }
}

template <class T>
void recur(const Extents& e, const T* a, const T* b, T* s, bool after, bool reverse) {
  const std::int64_t step = reverse ? -e.inner : e.inner, start = reverse ? (1 - e.n) * step : 0;
  const std::int64_t skip = after ? 0 : step;  // to the first factor
  if (e.inner == 1) {
    loops::parallel_for(e.outer, std::max<std::int64_t>(1, loops::parallel_threshold / e.n),
                        [=](std::int64_t line, std::int64_t end) {
                          for (; line + 4 <= end; line += 4) {
                            const std::int64_t at = line * e.n + start;
                            recur_lines<T, 4>(e.n, step, e.n, a + at + skip, b + at, s + at);
                          }
                          for (; line < end; ++line) {
                            const std::int64_t at = line * e.n + start;
                            recur_lines<T, 1>(e.n, step, e.n, a + at + skip, b + at, s + at);
                          }
                        });
    return;
  }
  for_strips(e, 256, [=](std::int64_t o, std::int64_t first, std::int64_t count) {
    const std::int64_t at = o * e.n * e.inner + start + first;
    std::copy_n(b + at, count, s + at);
    const T *factor = a + at + skip, *term = b + at;
    T* sum = s + at;
    for (std::int64_t i = 1; i < e.n; ++i, factor += step) {
      term += step;
      sum += step;
      for (std::int64_t c = 0; c < count; ++c) sum[c] = term[c] + factor[c] * sum[c - step];
    }
  });
}

Tensor recurrence(const Tensor& a, const Tensor& b, int axis, bool after, bool reverse);

void recurrence_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const auto axis = static_cast<int>(r.attributes()[0]), led_axis = axis + r.lead();
  const bool after = r.attributes()[1] != 0, reverse = r.attributes()[2] != 0;
  const Tensor u = recurrence(spread(r, r.saved(0)), g[0], led_axis, !after, !reverse);
  if (r.wanted(0)) {
    const Tensor s = r.saved(1);
    dx[0] = after ? s * shift(u, led_axis, !reverse) : u * shift(s, axis, reverse);
  }
  if (r.wanted(1)) dx[1] = u;
}
void recurrence_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const auto axis = static_cast<int>(r.attributes()[0]);
  const bool after = r.attributes()[1] != 0, reverse = r.attributes()[2] != 0;
  Tensor terms;
  if (r.wanted(0)) {
    const Tensor s = r.saved(1);
    terms = after ? shift(t[0] * s, axis, reverse) : t[0] * shift(s, axis, reverse);
  }
  if (r.wanted(1)) terms = terms.defined() ? terms + t[1] : t[1];
  dy[0] = recurrence(r.saved(0), terms, axis, after, reverse);
}
constexpr tape::Rule recurrence_rule = batched({"linear_recurrence", recurrence_vjp, recurrence_jvp});

Tensor recurrence(const Tensor& a, const Tensor& b, int axis, bool after, bool reverse) {
  const Tensor factors = loops::contiguous(a), terms = loops::contiguous(b);
  Tensor s = detail::empty(b.dtype(), b.shape());
  if (s.size() > 0) {
    const Extents e(b.shape(), axis);
    if (b.dtype() == DType::float32)
      recur(e, detail::mutable_data<float>(factors), detail::mutable_data<float>(terms), detail::mutable_data<float>(s),
            after, reverse);
    else if (b.dtype() == DType::float64)
      recur(e, detail::mutable_data<double>(factors), detail::mutable_data<double>(terms),
            detail::mutable_data<double>(s), after, reverse);
    else
      fail_no_kernel("linear_recurrence", b.dtype());
  }
  if (tape::active()) {
    const std::int64_t attributes[] = {axis, after, reverse};
    tape::record(recurrence_rule, {&a, &b}, s, {&a, tape::followed(a) ? &s : nullptr}, attributes);
  }
  return s;
}

// With y[i] the product up to i and P[k] the one before k: dx[k] = P[k] S[k], S[k] = g[k] + x[k+1] S[k+1]; and the
// tangent of y[i] is x[i] times that of y[i-1], plus t[i] P[i]. Exclusive: y[i] = P[i], and all is one place further.
void cumprod_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const auto [axis, exclusive, reverse] = Scanned(r);
  const int led_axis = axis + r.lead();
  const Tensor x = r.saved(0), before = cumprod(x, axis, true, reverse);
  const Tensor reached = recurrence(spread(r, x), g[0], led_axis, !exclusive, !reverse);
  dx[0] = before * (exclusive ? shift(reached, led_axis, !reverse) : reached);
}
void cumprod_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const auto [axis, exclusive, reverse] = Scanned(r);
  const Tensor x = r.saved(0), terms = t[0] * cumprod(x, axis, true, reverse);
  if (exclusive)
    dy[0] = recurrence(x, shift(terms, axis, reverse), axis, true, reverse);
  else
    dy[0] = recurrence(x, terms, axis, false, reverse);
}
constexpr tape::Rule cumprod_rule = batched({"cumprod", cumprod_vjp, cumprod_jvp});

}  // namespace

}  // namespace ops

Tensor cumsum(const Operand& x, std::int64_t axis, bool exclusive, bool reverse) {
  return ops::scan(ops::cumsum_rule, ops::sums, x, axis, exclusive, reverse);
}
Tensor cumprod(const Operand& x, std::int64_t axis, bool exclusive, bool reverse) {
  return ops::scan(ops::cumprod_rule, ops::products, x, axis, exclusive, reverse);
}

}  // namespace reel
