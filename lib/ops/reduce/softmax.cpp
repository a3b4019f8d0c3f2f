// logsumexp, softmax and log_softmax: kernels of whole rows, forward and (when nobody records) backward.
#include <cmath>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>

#include "ops/reduce/reduction.hpp"

namespace reel {

namespace ops {

namespace {

using RowMap = void (*)(const void* x, void* out, std::ptrdiff_t n);
using RowProduct = void (*)(const void* g, const void* z, void* out, std::ptrdiff_t n);

const kernels::Rows& row_kernels(const char* op, DType d) {
  const kernels::Rows& rows = kernels::active().rows[kernels::index(type_of(d))];
  if (!rows.softmax) fail_no_kernel(op, d);
  return rows;
}

// Rows that one thread takes at a time.
std::int64_t grain(std::int64_t n) { return std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(n, 1)); }

// Calls kernel(operands' rows, result's row, n) for each row along the axis of x. What has fewer axes in front is read
// again and again. Rows of another axis than the last are laid out a few at a time, and the results put back.
template <class Kernel, class... X>
Tensor by_rows(int axis, const Kernel& kernel, const Tensor& x, const X&... more) {
  constexpr std::size_t operands = 1 + sizeof...(X);
  constexpr std::int64_t columns = 16;
  const Shape shape = x.shape();
  Tensor out = detail::empty(x.dtype(), shape);
  if (x.size() == 0) return out;
  const Tensor operand[] = {loops::contiguous(x), loops::contiguous(more)...};
  const std::byte* from[operands];
  std::int64_t length[operands];
  for (std::size_t i = 0; i < operands; ++i) {
    from[i] = detail::mutable_data<std::byte>(operand[i]);
    length[i] = operand[i].size() * static_cast<std::int64_t>(item_size(x.dtype()));
  }
  auto* to = detail::mutable_data<std::byte>(out);
  const auto bytes = static_cast<std::int64_t>(item_size(x.dtype()));
  const std::int64_t n = shape[axis], row = n * bytes;
  std::int64_t inner = 1;
  for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  const auto within = [&](std::size_t i, std::int64_t at) { return at < length[i] ? at : at % length[i]; };
  const auto call = [&](const std::byte* const* rows, std::byte* result) {
    if constexpr (operands == 1)
      kernel(rows[0], result, n);
    else
      kernel(rows[0], rows[1], result, n);
  };
  if (inner == 1) {
    loops::parallel_for(x.size() / n, grain(n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin * row; at < end * row; at += row) {
        const std::byte* rows[operands];
        for (std::size_t i = 0; i < operands; ++i) rows[i] = from[i] + within(i, at);
        call(rows, to + at);
      }
    });
    return out;
  }
  const std::int64_t strips = (inner - 1) / columns + 1, outer = x.size() / (n * inner);
  Tensor scratch[operands];  // made here: a loop's body makes no tensors
  for (Tensor& t : scratch) t = detail::empty(x.dtype(), {outer * strips, columns, n});
  loops::parallel_for(outer * strips, grain(n * columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t first = t % strips * columns, count = std::min(columns, inner - first);
      const std::int64_t at = (t / strips * n * inner + first) * bytes;
      std::byte* strip[operands];
      for (std::size_t i = 0; i < operands; ++i) {
        strip[i] = detail::mutable_data<std::byte>(scratch[i]) + t * columns * row;
        kernels::copy_matrix(from[i] + within(i, at), 1, inner, strip[i], n, count, n, static_cast<std::size_t>(bytes));
      }
      for (std::int64_t c = 0; c < count; ++c) {
        const std::byte* rows[operands];
        for (std::size_t i = 0; i < operands; ++i) rows[i] = strip[i] + c * row;
        call(rows, strip[0] + c * row);
      }
      kernels::copy_matrix(strip[0], 1, n, to + at, inner, n, count, static_cast<std::size_t>(bytes));
    }
  });
  return out;
}

int axis_of(const tape::Record& r) { return static_cast<int>(r.attributes()[0]); }

Tensor normalised(const tape::Rule& rule, RowMap kernels::Rows::*kernel, const Operand& operand, std::int64_t axis,
                  bool keep_result) {
  const tape::OpScope scope(operand);
  Tensor held, converted;
  const Tensor& from = given(rule.name, operand, held);
  if (is_half(from.dtype()))
    return in_float32(from, [&](const Tensor& wide) { return normalised(rule, kernel, wide, axis, keep_result); });
  const int along = normalize(rule.name, axis, from.rank());
  const Tensor& x = as(from, floating_of(from.dtype()), converted);
  Tensor z = by_rows(along, row_kernels(rule.name, x.dtype()).*kernel, x);
  if (tape::active()) {
    const std::int64_t attributes[] = {along};
    tape::record(rule, {&x}, z, {keep_result ? &z : nullptr}, attributes);
  }
  return z;
}

// ---- softmax: the Jacobian is symmetric

Tensor softmax_product(const tape::Record& r, const Tensor& g) {
  const Tensor z = r.saved(0);
  const int axis = axis_of(r) + r.lead();
  if (!tape::active()) return by_rows(axis, row_kernels("softmax", z.dtype()).softmax_product, g, z);
  return z * (g - sum(g * z, axis, true));
}
constexpr tape::Rule softmax_rule = linear<softmax_product, softmax_product>("softmax");

// ---- log_softmax

Tensor log_softmax_vjp(const tape::Record& r, const Tensor& g) {
  const Tensor z = r.saved(0);
  const int axis = axis_of(r) + r.lead();
  if (!tape::active()) return by_rows(axis, row_kernels("log_softmax", z.dtype()).log_softmax_product, g, z);
  return g - exp(z) * sum(g, axis, true);
}
Tensor log_softmax_jvp(const tape::Record& r, const Tensor& t) {
  return t - sum(exp(r.saved(0)) * t, axis_of(r), true);
}
constexpr tape::Rule log_softmax_rule = linear<log_softmax_vjp, log_softmax_jvp>("log_softmax");

// ---- logsumexp

Tensor logsumexp_bare(const Tensor& x, const Reduced& r) {
  const tape::Suspend unrecorded;
  const kernels::Rows& kernel = row_kernels("logsumexp", x.dtype());
  if (r.count == 0) return full(r.shape, -INFINITY, x.dtype());
  Tensor z = detail::empty(x.dtype(), r.shape);
  const Tensor rows = loops::contiguous(to_rows(x, r.mask));
  const auto* from = detail::mutable_data<std::byte>(rows);
  auto* to = detail::mutable_data<std::byte>(z);
  const auto bytes = static_cast<std::int64_t>(item_size(x.dtype()));
  const std::int64_t n = r.count;
  loops::parallel_for(z.size(), grain(n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) kernel.logsumexp(from + i * n * bytes, to + i * bytes, n);
  });
  return z;
}

// exp(x - z), the share of each element in the sum. A row whose sum is infinite has it in equal shares from the
// elements that equal it: the limit for a row of -inf.
Tensor weights(const tape::Record& r) {
  const Tensor x = r.saved(0), z = with_axes(r.saved(1), x.shape(), r.attributes()[0]), infinite = isinf(z);
  if (!any(infinite).item<bool>()) return exp(x - z);
  const Tensor hit = cast(equal(x, z), x.dtype());
  const Tensor finite = exp(where(infinite, 0, x) - where(infinite, 0, z));
  return where(infinite, hit / sum(hit, axes_of(r.attributes()[0]), true), finite);
}
void logsumexp_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Shape shape = r.led(r.shape(0));
  const Tensor ge = with_axes(g[0], shape, r.attributes()[0] << r.lead());
  if (tape::active() || any(isinf(r.saved(1))).item<bool>()) {
    dx[0] = ge * weights(r);
    return;
  }
  const Tensor x = r.saved(0), z = with_axes(r.saved(1), x.shape(), r.attributes()[0]);
  const Tensor out = detail::empty(x.dtype(), shape);
  const Tensor* operands[] = {&ge, &x, &z};
  loops::pointwise(row_kernels("logsumexp", x.dtype()).logsumexp_product, shape, operands, out);
  dx[0] = out;
}
void logsumexp_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = sum(weights(r) * t[0], axes_of(r.attributes()[0]), r.attributes()[1] != 0);
}
constexpr tape::Rule logsumexp_rule = batched({"logsumexp", logsumexp_vjp, logsumexp_jvp});

}  // namespace

}  // namespace ops

Tensor logsumexp(const Operand& operand, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  Tensor held, converted;
  const Tensor& from = ops::given("logsumexp", operand, held);
  if (ops::is_half(from.dtype()))
    return ops::in_float32(from, [&](const Tensor& wide) { return logsumexp(wide, axes, keepdims); });
  const ops::Reduced r("logsumexp", from.shape(), axes, keepdims);
  const Tensor& x = ops::as(from, ops::floating_of(from.dtype()), converted);
  Tensor z = ops::logsumexp_bare(x, r);
  if (tape::active()) {
    const std::int64_t attributes[] = {r.mask, keepdims};
    tape::record(ops::logsumexp_rule, {&x}, z, {&x, &z}, attributes);
  }
  return z;
}

Tensor softmax(const Operand& x, std::int64_t axis) {
  return ops::normalised(ops::softmax_rule, &kernels::Rows::softmax, x, axis, true);
}
Tensor log_softmax(const Operand& x, std::int64_t axis) {
  return ops::normalised(ops::log_softmax_rule, &kernels::Rows::log_softmax, x, axis, true);
}

}  // namespace reel
