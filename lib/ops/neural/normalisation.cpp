// layer_norm, batch_norm, rms_norm. Forward one fused kernel; the gradient is one, too, when nobody records it, and
// otherwise made of the library's ops. Statistics are computed again from x: no normalised copy is kept.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/neural.hpp>

#include "ops/neural/rows.hpp"
#include "ops/reduce/by_rows.hpp"

namespace reel {

namespace ops {

namespace {

double epsilon_of(const tape::Record& r) { return std::bit_cast<double>(r.attributes()[0]); }

// What normalisation makes of x over some axes, in ops that are recorded.
struct Normalised {
  Tensor y, scale;  // y = (x - mean) scale
  Normalised(const Tensor& x, const Shape& axes, double epsilon) {
    const Tensor once = x - mean(x, axes, true);
    const Tensor centred = once - mean(once, axes, true);  // the first mean is rounded
    scale = rsqrt(mean(square(centred), axes, true) + epsilon);
    y = centred * scale;
  }
  // Its Jacobian is symmetric: serves both modes. axes: those of g.
  Tensor product(const Tensor& g, const Shape& axes) const {
    return scale * ((g - mean(g, axes, true)) - y * mean(g * y, axes, true));
  }
};

// The tangent of y scale + offset, y normalised over `axes`, scale and offset broadcast by widen().
template <class Widen>
Tensor tangent(const tape::Record& r, std::span<const Tensor> t, const Shape& axes, const Widen& widen) {
  const Normalised to(r.saved(0), axes, epsilon_of(r));
  Tensor dy;
  const auto add = [&dy](const Tensor& term) { dy = dy.defined() ? dy + term : term; };
  if (t[0].defined()) add(r.num_inputs() > 1 ? to.product(t[0], axes) * widen(r.saved(1)) : to.product(t[0], axes));
  if (r.num_inputs() > 1 && t[1].defined()) add(to.y * widen(t[1]));
  if (r.num_inputs() > 1 && t[2].defined()) add(broadcast_to(widen(t[2]), r.output_shape()));
  return dy;
}

Tensor one_number(double value, DType d) { return full({1}, value, d); }

// ---- layer_norm of rows. Inputs: x [..., n], and maybe scale and offset [n]. Saved: x, scale. Attributes: epsilon.

// f(row of g, row of x, count, sums) for parts of `rows` rows of n elements, once for each of the cotangents that are
// carried together, in parallel. A part adds what it likes to its own sums, `width` of n elements; gives their totals,
// [leads, width, n]. Parts are of a fixed number of rows.
template <class F>
Tensor in_parts(std::int64_t leads, std::int64_t rows, std::int64_t n, std::int64_t width, DType d, const F& f) {
  const std::int64_t together = std::max<std::int64_t>(16, 32768 / n), parts = (rows - 1) / together + 1;
  const Tensor partial = zeros({leads, parts, width, n}, d);
  std::byte* to = detail::mutable_data<std::byte>(partial);
  const std::int64_t bytes = width * n * static_cast<std::int64_t>(item_size(d));
  loops::parallel_for(leads * parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t first = t % parts * together;
      f(t / parts * rows + first, first, std::min(together, rows - first), to + t * bytes);
    }
  });
  return sum(partial, 1);
}
std::byte* data_of(const Tensor& t) { return t.defined() ? detail::mutable_data<std::byte>(t) : nullptr; }

// The gradients in one pass over the rows.
void layer_norm_fused(const tape::Record& r, const Tensor& cotangent, std::span<Gradient> dx) {
  const tape::Suspend unrecorded;
  const Tensor x = loops::contiguous(r.saved(0)), g = loops::contiguous(cotangent);
  const bool affine = r.num_inputs() > 1, sums = affine && (r.wanted(1) || r.wanted(2));
  const Tensor scale = affine ? loops::contiguous(r.saved(1)) : Tensor(),
               epsilon = one_number(epsilon_of(r), x.dtype());
  const std::int64_t n = x.shape()[-1], rows = x.size() / n;
  const std::int64_t bytes = n * static_cast<std::int64_t>(item_size(x.dtype()));
  const Tensor out = r.wanted(0) ? detail::empty(x.dtype(), g.shape()) : Tensor();
  std::byte *from_x = data_of(x), *from_g = data_of(g), *from_scale = data_of(scale), *from_epsilon = data_of(epsilon),
            *to = data_of(out);
  const auto kernel = row_kernels(r.name(), x.dtype()).layer_norm_product;
  const auto part = [&](std::int64_t g_row, std::int64_t x_row, std::int64_t count, std::byte* total) {
    const void* in[] = {from_g + g_row * bytes, from_x + x_row * bytes, from_epsilon, from_scale};
    kernel(in, to ? to + g_row * bytes : nullptr, sums ? total : nullptr, n, count);
  };
  const Tensor total = in_parts(g.size() / x.size(), rows, n, sums ? 2 : 0, x.dtype(), part);
  if (to) dx[0] = out;
  for (const std::size_t k : {std::size_t{1}, std::size_t{2}})
    if (sums && r.wanted(k)) dx[k] = reshape(slice(total, {all, static_cast<std::int64_t>(k - 1)}), r.led({n}));
}

void layer_norm_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (!tape::active()) return layer_norm_fused(r, g[0], dx);
  const Normalised to(r.saved(0), {-1}, epsilon_of(r));
  const bool affine = r.num_inputs() > 1;
  if (r.wanted(0)) dx[0] = to.product(affine ? g[0] * r.saved(1) : g[0], {-1});
  if (!affine) return;
  const Shape row{r.output_shape()[-1]};
  if (r.wanted(1)) dx[1] = sum_to(r, g[0] * to.y, row);
  if (r.wanted(2)) dx[2] = sum_to(r, g[0], row);
}
void layer_norm_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = tangent(r, t, {-1}, [](const Tensor& row) { return row; });
}
constexpr tape::Rule layer_norm_rule = batched({"layer_norm", layer_norm_vjp, layer_norm_jvp});

// scale and offset: [n], or empty.
Tensor layer_norm_rows(const Tensor& x, const Tensor& scale, const Tensor& offset, double epsilon) {
  const kernels::Rows& kernel = row_kernels(layer_norm_rule.name, x.dtype());
  if (x.size() == 0) return scale.defined() ? x * scale + offset : identity(x);
  const std::int64_t n = x.shape()[-1];
  Tensor y = detail::empty(x.dtype(), x.shape());
  {
    const tape::Suspend unrecorded;
    by_rows(kernel.layer_norm, n,
            {whole_rows(x), for_all_rows(one_number(epsilon, x.dtype())), for_all_rows(scale), for_all_rows(offset)}, y,
            n);
  }
  if (tape::active()) {
    const std::int64_t attributes[] = {std::bit_cast<std::int64_t>(epsilon)};
    if (scale.defined())
      tape::record(layer_norm_rule, {&x, &scale, &offset}, y, {&x, &scale}, attributes);
    else
      tape::record(layer_norm_rule, {&x}, y, {&x}, attributes);
  }
  return y;
}

// The axes of x in the order in which the caller names them, which is that of the axes of scale and offset.
Shape named_axes(const char* op, const Axes& axes, const Tensor& x) {
  if (axes.all()) return normalize(op, axes, x.rank());
  Shape named;
  for (std::int64_t a : axes.list()) named.push_back(normalize(op, a, x.rank()));
  return named;
}

// What has the axes `named` of x, with them in ascending order.
Tensor with_ascending_axes(const Tensor& given, const Shape& named) {
  if (std::is_sorted(named.begin(), named.end())) return given;
  Shape order;
  for (int k = 0; k < named.rank(); ++k) order.push_back(k);
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return named[a] < named[b]; });
  return transpose(given, order);
}

// The extents of x along the axes; `what` must have them as shape.
void check_extents(const char* op, const char* what, const Tensor& given, const Tensor& x, const Shape& axes) {
  Shape wanted;
  for (std::int64_t a : axes) wanted.push_back(x.shape()[a]);
  if (given.shape() != wanted)
    fail<ShapeError>(op, "{} is {}; x is {} and normalised over axes {}, so it must be {}", what, given.shape(),
                     x.shape(), axes, wanted);
}

void check_epsilon(const char* op, double epsilon) {
  if (!(epsilon >= 0)) fail<ValueError>(op, "epsilon is {}; it must be at least 0", epsilon);
}

Tensor layer_norm_over(const Tensor& x, const Tensor& scale, const Tensor& offset, const LayerNormOptions& options) {
  check_epsilon("layer_norm", options.epsilon);
  const Reduced over("layer_norm", x.shape(), options.axes, false);
  const Shape named = named_axes("layer_norm", options.axes, x);
  if (scale.defined()) {
    check_extents("layer_norm", "scale", scale, x, named);
    check_extents("layer_norm", "offset", offset, x, named);
  }
  if (over.mask == std::int64_t{1} << (x.rank() - 1)) return layer_norm_rows(x, scale, offset, options.epsilon);
  const auto as_row = [&](const Tensor& t) {
    return t.defined() ? reshape(with_ascending_axes(t, named), {over.count}) : t;
  };
  return from_rows(layer_norm_rows(to_rows(x, over.mask), as_row(scale), as_row(offset), options.epsilon), x.shape(),
                   over.mask);
}

// ---- batch_norm. x is [outer, channels, inner]. Inputs: x, scale, offset. Saved: x, scale, and, for the fused
// gradient, the mean and the inverse of the standard deviation. Attributes: epsilon, axis.

struct Channels {
  std::int64_t outer = 1, count = 1, inner = 1;
  Shape others;  // the axes that are not the channels'
  Shape wide;    // the extents of a row of channels that broadcasts to x
  Channels(const Shape& shape, int axis, int lead = 0) : count(shape[axis]) {
    for (int d = 0; d < shape.rank(); ++d) {
      (d < axis ? outer : inner) *= d == axis ? 1 : shape[d];
      if (d != axis) others.push_back(d + lead);
      wide.push_back(d == axis ? shape[d] : 1);
    }
  }
  double elements() const { return static_cast<double>(outer * inner); }
  RowOperand rows(const Tensor& x) const { return {loops::contiguous(x), inner}; }
};
int axis_of(const tape::Record& r) { return static_cast<int>(r.attributes()[1]); }

// The sum for each channel of what the kernel gives for each row of g and maybe x: [leads, channels].
Tensor channel_sums(kernels::RowLoop kernel, const Channels& c, std::int64_t leads,
                    std::initializer_list<RowOperand> operands) {
  const Tensor parts = detail::empty(operands.begin()->x.dtype(), {leads, c.outer, c.count});
  by_rows(kernel, c.inner, operands, parts, 1);
  return sum(parts, 1);
}
// Where the channels are the last axis: of g (x - mean) and of g, or without g of (x - mean)^2. [leads, 2 or 1,
// channels]
Tensor column_sums(const kernels::Rows& kernel, const Channels& c, const Tensor& cotangent, const Tensor& operand,
                   const Tensor& middle) {
  const Tensor g = cotangent.defined() ? loops::contiguous(cotangent) : Tensor(), x = loops::contiguous(operand);
  const std::int64_t bytes = c.count * static_cast<std::int64_t>(item_size(x.dtype()));
  const std::byte *from_g = data_of(g), *from_x = data_of(x), *from_middle = data_of(middle);
  const auto part = [&](std::int64_t g_row, std::int64_t x_row, std::int64_t count, std::byte* total) {
    const void* in[] = {from_g ? from_g + g_row * bytes : nullptr, from_x + x_row * bytes, from_middle};
    kernel.column_sums(in, nullptr, total, c.count, count);
  };
  return in_parts(from_g ? g.size() / x.size() : 1, c.outer, c.count, from_g ? 2 : 1, x.dtype(), part);
}

// Of x: [channels] each.
struct Statistics {
  Tensor mean, variance;
  Statistics(const kernels::Rows& kernel, const Channels& c, const Tensor& x) {
    if (c.inner == 1) {
      mean = sum(reshape(x, {c.outer, c.count}), 0) / c.elements();
      variance = column_sums(kernel, c, {}, x, mean) / c.elements();
    } else {
      mean = channel_sums(kernel.sum, c, 1, {c.rows(x)}) / c.elements();
      variance = channel_sums(kernel.squares, c, 1, {c.rows(x), one_per_row(reshape(mean, {c.count}))}) / c.elements();
    }
    mean = reshape(mean, {c.count});
    variance = reshape(variance, {c.count});
  }
};

void batch_norm_fused(const tape::Record& r, const Tensor& g, std::span<Gradient> dx) {
  const tape::Suspend unrecorded;
  const Tensor x = r.saved(0), middle = r.saved(2), inverse = r.saved(3);
  const kernels::Rows& kernel = row_kernels(r.name(), x.dtype());
  const Channels c(x.shape(), axis_of(r));
  const std::int64_t leads = g.size() / x.size();
  Tensor total, along;  // of g, of g (x - mean): [leads, channels]
  if (c.inner == 1) {
    const Tensor both = column_sums(kernel, c, g, x, middle);
    along = slice(both, {all, 0});
    total = slice(both, {all, 1});
  } else {
    total = channel_sums(kernel.sum, c, leads, {c.rows(g)});
    along = channel_sums(kernel.products, c, leads, {c.rows(g), c.rows(x), one_per_row(middle)});
  }
  if (r.wanted(1)) dx[1] = reshape(along * inverse, r.led({c.count}));
  if (r.wanted(2)) dx[2] = reshape(total, r.led({c.count}));
  if (!r.wanted(0)) return;
  // One number per row of g.
  const auto per_row = [&](const Tensor& t) {
    return one_per_row(leads == 1 ? t : broadcast_to(expand_dims(t, 1), {leads, c.outer, c.count}));
  };
  const Tensor out = detail::empty(x.dtype(), g.shape());
  by_rows(kernel.scale_product, c.inner,
          {c.rows(g), c.rows(x), one_per_row(middle), one_per_row(r.saved(1) * inverse), per_row(total / c.elements()),
           per_row(along * square(inverse) / c.elements())},
          out, c.inner);
  dx[0] = out;
}

void batch_norm_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (!tape::active()) return batch_norm_fused(r, g[0], dx);
  const Shape shape = r.output_shape();
  const Channels here(shape, axis_of(r)), led(shape, axis_of(r), r.lead());
  const Normalised to(r.saved(0), here.others, epsilon_of(r));
  const Shape channels = r.led({here.count});
  if (r.wanted(0)) dx[0] = to.product(g[0] * reshape(r.saved(1), here.wide), led.others);
  if (r.wanted(1)) dx[1] = reshape(sum(g[0] * to.y, led.others), channels);
  if (r.wanted(2)) dx[2] = reshape(sum(g[0], led.others), channels);
}
void batch_norm_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Channels c(r.output_shape(), axis_of(r));
  dy[0] = tangent(r, t, c.others, [&](const Tensor& row) { return reshape(row, c.wide); });
}
constexpr tape::Rule batch_norm_rule = batched({"batch_norm", batch_norm_vjp, batch_norm_jvp});

void check_channels(const char* what, const Tensor& given, const Tensor& x, int axis) {
  if (given.shape() != Shape{x.shape()[axis]})
    fail<ShapeError>("batch_norm", "{} is {}; x is {} with the channels along axis {}, so it must be [{}]", what,
                     given.shape(), x.shape(), axis, x.shape()[axis]);
}

}  // namespace

}  // namespace ops

Tensor layer_norm(const Operand& x, const LayerNormOptions& options) {
  const tape::OpScope scope(x);
  const auto [d, wide] = ops::floating_dtypes("layer_norm", {&x});
  return ops::cast_to(ops::layer_norm_over(ops::to_tensor("layer_norm", x, wide, "x"), {}, {}, options), d);
}

Tensor layer_norm(const Operand& x, const Operand& scale, const Operand& offset, const LayerNormOptions& options) {
  constexpr const char* op = "layer_norm";
  const tape::OpScope scope(x);
  const auto [d, wide] = ops::floating_dtypes(op, {&x, &scale, &offset});
  return ops::cast_to(ops::layer_norm_over(ops::to_tensor(op, x, wide, "x"), ops::to_tensor(op, scale, wide, "scale"),
                                           ops::to_tensor(op, offset, wide, "offset"), options),
                      d);
}

Tensor rms_norm(const Operand& operand, const Operand& scale, const LayerNormOptions& options) {
  constexpr const char* op = "rms_norm";
  const tape::OpScope scope(operand);
  ops::check_epsilon(op, options.epsilon);
  const auto [d, wide] = ops::floating_dtypes(op, {&operand, &scale});
  const Tensor x = ops::to_tensor(op, operand, wide, "x"), factor = ops::to_tensor(op, scale, wide, "scale");
  const Shape axes = ops::normalize(op, options.axes, x.rank()), named = ops::named_axes(op, options.axes, x);
  ops::check_extents(op, "scale", factor, x, named);
  Shape broad;
  for (int k = 0; k < x.rank(); ++k) broad.push_back(1);
  for (std::int64_t a : axes) broad[a] = x.shape()[a];
  return ops::cast_to(x * rsqrt(mean(square(x), axes, true) + options.epsilon) *
                          reshape(ops::with_ascending_axes(factor, named), broad),
                      d);
}

BatchNorm batch_norm(const Operand& operand, const Operand& scale, const Operand& offset,
                     const BatchNormOptions& options) {
  constexpr const char* op = "batch_norm";
  const tape::OpScope scope(operand);
  ops::check_epsilon(op, options.epsilon);
  const auto [d, wide] = ops::floating_dtypes(op, {&operand, &scale, &offset});
  const Tensor x = ops::to_tensor(op, operand, wide, "x"), a = ops::to_tensor(op, scale, wide, "scale"),
               b = ops::to_tensor(op, offset, wide, "offset");
  const int axis = ops::normalize(op, options.axis, x.rank());
  ops::check_channels("scale", a, x, axis);
  ops::check_channels("offset", b, x, axis);
  const kernels::Rows& kernel = ops::row_kernels(op, wide);
  const ops::Channels c(x.shape(), axis);
  if (x.size() == 0) {  // no statistics: NaN
    const Tensor nothing = full({c.count}, std::numeric_limits<double>::quiet_NaN(), wide);
    return {ops::cast_to(x * reshape(a, c.wide) + reshape(b, c.wide), d), nothing, nothing};
  }
  BatchNorm result;
  Tensor y = detail::empty(wide, x.shape()), inverse;
  {
    const tape::Suspend unrecorded;
    const ops::Statistics of_x(kernel, c, x);
    result.mean = of_x.mean;
    result.variance = of_x.variance;
    inverse = rsqrt(result.variance + options.epsilon);
    ops::by_rows(kernel.scale, c.inner,
                 {c.rows(x), ops::one_per_row(result.mean), ops::one_per_row(a * inverse), ops::one_per_row(b)}, y,
                 c.inner);
  }
  if (tape::active()) {
    const std::int64_t attributes[] = {std::bit_cast<std::int64_t>(options.epsilon), axis};
    tape::record(ops::batch_norm_rule, {&x, &a, &b}, y, {&x, &a, &result.mean, &inverse}, attributes);
    const Tensor* inputs[] = {&x};
    tape::note_cut(op, inputs, result.mean, tape::Cut::stopped);
    tape::note_cut(op, inputs, result.variance, tape::Cut::stopped);
  }
  result.y = ops::cast_to(y, d);
  return result;
}

Tensor batch_norm(const Operand& operand, const Operand& scale, const Operand& offset, const Operand& mean,
                  const Operand& variance, const BatchNormOptions& options) {
  constexpr const char* op = "batch_norm";
  const tape::OpScope scope(operand);
  ops::check_epsilon(op, options.epsilon);
  const ops::Computed in = ops::floating_dtypes(op, {&operand, &scale, &offset, &mean, &variance});
  const Tensor x = ops::to_tensor(op, operand, in.wide, "x");
  const int axis = ops::normalize(op, options.axis, x.rank());
  const ops::Channels c(x.shape(), axis);
  const auto channels = [&](const Operand& t, const char* what) {
    const Tensor row = ops::to_tensor(op, t, in.wide, what);
    ops::check_channels(what, row, x, axis);
    return reshape(row, c.wide);
  };
  const Tensor factor = channels(scale, "scale") * rsqrt(channels(variance, "variance") + options.epsilon);
  return ops::cast_to((x - channels(mean, "mean")) * factor + channels(offset, "offset"), in.result);
}

}  // namespace reel
