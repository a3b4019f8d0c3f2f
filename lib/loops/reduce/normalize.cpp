#include "loops/reduce/normalize.hpp"

#include <algorithm>
#include <cmath>

#include "core/visit.hpp"
#include "kernels/reduction/wide_deviation.hpp"
#include "kernels/rows.hpp"
#include "loops/reduce/reduce.hpp"
#include "loops/reduce/rows.hpp"
#include "loops/workspaces.hpp"

namespace reel::loops {

namespace {

const kernels::Rows& kernels_of(const Tensor& x) { return kernels::active<kernels::RowKernels>()[x.dtype()]; }
std::byte* data_of(const Tensor& x) { return x.defined() ? detail::mutable_data<std::byte>(x) : nullptr; }
std::int64_t bytes_of(const Tensor& x, std::int64_t n) { return n * static_cast<std::int64_t>(item_size(x.dtype())); }

Tensor sum_over_axis_1(const Tensor& x) {
  Shape shape = x.shape();
  shape.erase(1);
  const Tensor out = detail::empty(x.dtype(), shape);
  reduce(ReduceFunction::sum, x, {1}, out);
  return out;
}

// Sums over rows, in parallel: f(row of g, row of x, count, sums) adds the contribution of `count` rows to sums [width,
// n]. Each row of x goes with `batch` rows of g. Returns the totals [batch, width, n]. Each range of rows has partial
// sums.
template <class F>
Tensor sums_over_rows(std::int64_t batch, std::int64_t rows, std::int64_t n, std::int64_t width, DType d, const F& f) {
  constexpr std::int64_t grain_rows_min = 16, grain_elements = 32768;  // they determine the order of the sums
  const std::int64_t grain = std::max(grain_rows_min, grain_elements / n), ranges = (rows - 1) / grain + 1;
  const Tensor partial = detail::empty(d, {batch, ranges, width, n});
  const std::int64_t bytes = bytes_of(partial, width * n);
  std::byte* to = data_of(partial);
  parallel_for(batch * ranges, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t first = t % ranges * grain;
      std::fill_n(to + t * bytes, bytes, std::byte{0});
      f(t / ranges * rows + first, first, std::min(grain, rows - first), to + t * bytes);
    }
  });
  return width > 0 ? sum_over_axis_1(partial) : Tensor();
}

// Sum k of all, from sums_over_rows(): `out` has the elements of [batch, n].
void copy_sums(const Tensor& sums, std::int64_t k, const Tensor& out) {
  const Shape shape = sums.shape();
  const std::int64_t n = bytes_of(sums, shape[2]);
  for (std::int64_t b = 0; b < shape[0]; ++b)
    std::copy_n(data_of(sums) + (b * shape[1] + k) * n, n, data_of(out) + b * n);
}

Tensor one_number(double value, DType d) {
  const Tensor x = detail::empty(d, {1});
  visit_among<float, double>(d, [&]<class T>() { *detail::mutable_data<T>(x) = static_cast<T>(value); });
  return x;
}

// ---- channels

struct BatchShape {
  std::int64_t outer, channels, inner;
  explicit BatchShape(const Tensor& x) : outer(x.shape()[0]), channels(x.shape()[1]), inner(1) {
    if (x.rank() > 2) inner = x.shape()[2];
  }
  std::int64_t elements() const { return outer * inner; }  // per channel
};

// The sum over each channel of what f gives for its rows: [batch, channels].
Tensor channel_sums(RowFunction f, const BatchShape& shape, std::int64_t batch,
                    std::initializer_list<RowOperand> operands) {
  const Tensor of_rows = detail::empty(operands.begin()->x.dtype(), {batch, shape.outer, shape.channels});
  by_rows(f, shape.inner, operands, of_rows, 1);
  return sum_over_axis_1(of_rows);
}
// If the channels are the last axis: the sums of g (x - mean) and of g, [batch, 2, channels]; without g those of (x -
// mean)^2, [1, 1, channels].
Tensor column_sums(const BatchShape& shape, const Tensor& g, const Tensor& x, const Tensor& mean) {
  const std::int64_t bytes = bytes_of(x, shape.channels);
  const std::byte *from_g = data_of(g), *from_x = data_of(x), *from_mean = data_of(mean);
  const auto kernel = kernels_of(x).column_sums;
  return sums_over_rows(
      from_g ? g.size() / x.size() : 1, shape.outer, shape.channels, from_g ? 2 : 1, x.dtype(),
      [&](std::int64_t g_row, std::int64_t x_row, std::int64_t count, std::byte* sums) {
        const void* in[] = {from_g ? from_g + g_row * bytes : nullptr, from_x + x_row * bytes, from_mean};
        kernel(in, nullptr, sums, shape.channels, count);
      });
}

// Tensors with one element per channel are small: loops over them are not split.
template <class T>
void divide(const Tensor& x, std::int64_t n, const Tensor& out) {
  const T* from = detail::mutable_data<T>(x);
  std::transform(from, from + out.size(), detail::mutable_data<T>(out),
                 [count = static_cast<T>(n)](T value) { return value / count; });
}
template <class T>
void multiply(const Tensor& x, const Tensor& y, const Tensor& out) {
  const T *a = detail::mutable_data<T>(x), *b = detail::mutable_data<T>(y);
  T* to = detail::mutable_data<T>(out);
  for (std::int64_t i = 0, n = out.size(), period = y.size(); i < n; ++i) to[i] = a[i] * b[i % period];
}
template <class T>
void invert(const Tensor& x, const Tensor& mean, const Tensor& variance, double epsilon, const Tensor& inverse) {
  const BatchShape shape(x);
  const T *values = detail::mutable_data<T>(x), *means = detail::mutable_data<T>(mean),
          *from = detail::mutable_data<T>(variance);
  T* to = detail::mutable_data<T>(inverse);
  const auto e = static_cast<T>(epsilon);
  for (std::int64_t c = 0; c < shape.channels; ++c)
    to[c] = kernels::loses_squares(from[c], e)
                ? kernels::wide_inverse_deviation(values + c * shape.inner, shape.outer, shape.channels * shape.inner,
                                                  shape.inner, means[c], T{0}, e)
                : 1 / std::sqrt(from[c] + e);
}
void divide(const Tensor& x, std::int64_t n, const Tensor& out) {
  visit_among<float, double>(out.dtype(), [&]<class T>() { divide<T>(x, n, out); });
}
// out = x * y; y is repeated if x has more elements.
void multiply(const Tensor& x, const Tensor& y, const Tensor& out) {
  visit_among<float, double>(out.dtype(), [&]<class T>() { multiply<T>(x, y, out); });
}
Tensor product(const Tensor& x, const Tensor& y) {
  Tensor out = detail::empty(x.dtype(), x.shape());
  multiply(x, y, out);
  return out;
}

// One number per row of a batch of cotangents, from one per channel, [batch, channels].
RowOperand numbers_of_rows(const BatchShape& shape, const Tensor& of_channels) {
  const std::int64_t batch = of_channels.size() / shape.channels;
  if (batch == 1) return one_per_row(of_channels);
  const Tensor out = detail::empty(of_channels.dtype(), {batch, shape.outer, shape.channels});
  copy(in_shape(of_channels, {batch, 1, shape.channels}), out);
  return one_per_row(out);
}

// The cotangent of x, from the sums of g and of g (x - mean) over channels: [batch, channels].
void input_cotangent(const BatchShape& shape, const Tensor& g, const Tensor& x, const Tensor& mean,
                     const Tensor& inverse, const Tensor& scale, const Tensor& total, const Tensor& along,
                     const Tensor& out) {
  // The square of the inverse might underflow.
  const Tensor offset = detail::empty(x.dtype(), total.shape()), slope = product(product(along, inverse), inverse);
  divide(total, shape.elements(), offset);
  divide(slope, shape.elements(), slope);
  by_rows(RowFunction::scale_vjp, shape.inner,
          {{g, shape.inner},
           {x, shape.inner},
           one_per_row(mean),
           one_per_row(product(scale, inverse)),
           numbers_of_rows(shape, offset),
           numbers_of_rows(shape, slope)},
          out, shape.inner);
}

}  // namespace

void normalize_rows(const Tensor& x, double epsilon, const Tensor& scale, const Tensor& offset, const Tensor& out) {
  const std::int64_t n = x.shape()[-1];
  by_rows(RowFunction::layer_norm, n,
          {whole_rows(x), for_all_rows(one_number(epsilon, x.dtype())), for_all_rows(scale), for_all_rows(offset)}, out,
          n);
}

void normalize_rows_vjp(const Tensor& cotangent, const Tensor& operand, double epsilon, const Tensor& factor,
                        const NormalizeCotangents& out) {
  const Tensor x = contiguous(operand), g = contiguous(cotangent), number = one_number(epsilon, x.dtype()),
               scale = factor.defined() ? contiguous(factor) : factor;
  const std::int64_t n = x.shape()[-1], rows = x.size() / n, bytes = bytes_of(x, n);
  const bool wants_sums = out.scale.defined() || out.offset.defined();
  const std::byte *from_x = data_of(x), *from_g = data_of(g), *from_scale = data_of(scale),
                  *from_number = data_of(number);
  std::byte* to = data_of(out.x);
  const auto kernel = kernels_of(x).layer_norm_vjp;
  const auto range = [&](std::int64_t g_row, std::int64_t x_row, std::int64_t count, std::byte* sums) {
    const void* in[] = {from_g + g_row * bytes, from_x + x_row * bytes, from_number, from_scale};
    kernel(in, to ? to + g_row * bytes : nullptr, wants_sums ? sums : nullptr, n, count);
  };
  const Tensor sums = sums_over_rows(g.size() / x.size(), rows, n, wants_sums ? 2 : 0, x.dtype(), range);
  if (out.scale.defined()) copy_sums(sums, 0, out.scale);
  if (out.offset.defined()) copy_sums(sums, 1, out.offset);
}

void channel_moments(const Tensor& operand, const Tensor& mean, const Tensor& variance) {
  const BatchShape shape(operand);
  const Tensor x = contiguous(operand);
  if (operand.rank() == 2) {
    reduce(ReduceFunction::sum, operand, {0}, mean);
    divide(mean, shape.elements(), mean);
    divide(column_sums(shape, {}, x, mean), shape.elements(), variance);
  } else {
    divide(channel_sums(RowFunction::sum, shape, 1, {{x, shape.inner}}), shape.elements(), mean);
    divide(channel_sums(RowFunction::squares, shape, 1, {{x, shape.inner}, one_per_row(mean)}), shape.elements(),
           variance);
  }
}

void inverse_deviation(const Tensor& x, const Tensor& mean, const Tensor& variance, double epsilon,
                       const Tensor& inverse) {
  visit_among<float, double>(inverse.dtype(), [&]<class T>() {
    invert<T>(contiguous(x), contiguous(mean), contiguous(variance), epsilon, inverse);
  });
}

void normalize_channels(const Tensor& x, const Tensor& mean, const Tensor& inverse, const Tensor& scale,
                        const Tensor& offset, const Tensor& out) {
  const BatchShape shape(x);
  by_rows(RowFunction::scale, shape.inner,
          {{contiguous(x), shape.inner},
           one_per_row(mean),
           one_per_row(product(contiguous(scale), contiguous(inverse))),
           one_per_row(offset)},
          out, shape.inner);
}

void normalize_channels_vjp(const Tensor& cotangent, const Tensor& operand, const Tensor& mean, const Tensor& deviation,
                            const Tensor& scale, const NormalizeCotangents& out) {
  const BatchShape shape(operand);
  const Tensor g = contiguous(cotangent), x = contiguous(operand), middle = contiguous(mean),
               inverse = contiguous(deviation);
  const std::int64_t batch = g.size() / x.size();
  const Shape sums{batch, shape.channels};
  Tensor total, along;  // of g, and of g (x - mean)
  if (operand.rank() == 2) {
    const Tensor both = column_sums(shape, g, x, middle);
    along = detail::empty(x.dtype(), sums);
    total = detail::empty(x.dtype(), sums);
    copy_sums(both, 0, along);
    copy_sums(both, 1, total);
  } else {
    total = channel_sums(RowFunction::sum, shape, batch, {{g, shape.inner}});
    along =
        channel_sums(RowFunction::products, shape, batch, {{g, shape.inner}, {x, shape.inner}, one_per_row(middle)});
  }
  if (out.scale.defined()) multiply(along, inverse, out.scale);
  if (out.offset.defined()) copy(total, in_shape(out.offset, sums));
  if (out.x.defined()) input_cotangent(shape, g, x, middle, inverse, contiguous(scale), total, along, out.x);
}

namespace {

// One row: the elements of one group of one example, and as many of a cotangent.
template <class T>
struct GroupRow {
  const kernels::Rows& rows;
  std::int64_t channels, inner;
  double epsilon;

  std::int64_t elements() const { return channels * inner; }
  static std::int64_t room(std::int64_t channels, std::int64_t inner) { return channels * inner + channels; }

  // The sums of g and of g times the normalised x of each channel, and dx unless it is null. memory: room() numbers.
  void pull(const T* g, const T* x, const T* scale, T* totals, T* along, T* dx, T* memory) const {
    const auto n = static_cast<T>(elements());
    const T one = 1, zero = 0;
    T *centred = memory, *means = memory + elements(), mean = 0, rest = 0, variance = 0;
    run(rows.sum, {x}, &mean, elements(), 1);
    mean /= n;
    run(rows.scale, {x, &mean, &one, &zero}, centred, elements(), 1);
    run(rows.sum, {centred}, &rest, elements(), 1);  // the first mean is rounded
    rest /= n;
    run(rows.squares, {centred, &rest}, &variance, elements(), 1);
    const auto e = static_cast<T>(epsilon);
    const T inverse = kernels::loses_squares(variance / n, e)
                          ? kernels::wide_inverse_deviation(centred, 1, 0, elements(), rest, zero, e)
                          : 1 / std::sqrt(variance / n + e);
    std::fill_n(means, channels, rest);
    run(rows.sum, {g}, totals, inner, channels);
    run(rows.products, {g, centred, means}, along, inner, channels);
    T total = 0, product = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      along[c] *= inverse;
      total += scale[c] * totals[c];
      product += scale[c] * along[c];
    }
    if (!dx) return;
    const T slope = -inverse * (product / n) * inverse, offset = -inverse * (total / n) - rest * slope;
    for (std::int64_t c = 0; c < channels; ++c) {
      const T factor = inverse * scale[c];
      for (std::int64_t k = c * inner; k < (c + 1) * inner; ++k) dx[k] = factor * g[k] + (slope * centred[k] + offset);
    }
  }
  static void run(kernels::RowLoop f, std::initializer_list<const void*> in, T* out, std::int64_t n,
                  std::int64_t count) {
    f(in.begin(), out, n, count);
  }
};

template <class T>
void groups_vjp(const Tensor& g, const Tensor& x, std::int64_t groups, double epsilon, const Tensor& scale,
                const NormalizeCotangents& out) {
  const std::int64_t outer = x.shape()[0], channels = x.shape()[1], inner = x.shape()[2], batch = g.size() / x.size(),
                     each = channels / groups, width = each * inner;
  const Tensor from = contiguous(g), values = contiguous(x), factors = contiguous(scale),
               totals = detail::empty(x.dtype(), {batch, outer, channels}),
               along = detail::empty(x.dtype(), {batch, outer, channels});
  const auto data = [](const Tensor& t) { return t.defined() ? detail::mutable_data<T>(t) : nullptr; };
  const T *gs = data(from), *xs = data(values), *scales = data(factors);
  T *sums = data(totals), *products = data(along), *dx = data(out.x);
  const GroupRow<T> row{kernels_of(x), each, inner, epsilon};
  const std::int64_t tasks = batch * outer * groups;
  Workspaces workspaces(tasks, GroupRow<T>::room(each, inner) * static_cast<std::int64_t>(sizeof(T)));
  parallel_for(tasks, std::max<std::int64_t>(1, tuning::rows_grain / width), [&](std::int64_t begin, std::int64_t end) {
    workspaces.use([&](std::byte* memory) {
      for (std::int64_t t = begin; t < end; ++t)
        row.pull(gs + t * width, xs + t % (outer * groups) * width, scales + t % groups * each, sums + t * each,
                 products + t * each, dx ? dx + t * width : nullptr, reinterpret_cast<T*>(memory));
    });
  });
  if (out.scale.defined()) reduce(ReduceFunction::sum, along, {1}, in_shape(out.scale, {batch, channels}));
  if (out.offset.defined()) reduce(ReduceFunction::sum, totals, {1}, in_shape(out.offset, {batch, channels}));
}

}  // namespace

void normalize_groups(const Tensor& x, std::int64_t groups, double epsilon, const Tensor& scale, const Tensor& offset,
                      const Tensor& out) {
  const std::int64_t rows = x.shape()[0] * groups, inner = x.shape()[2];
  const Shape split{rows, x.size() / rows};
  normalize_rows(in_shape(contiguous(x), split), epsilon, {}, {}, in_shape(out, split));
  const Tensor zeros = detail::empty(x.dtype(), scale.shape());
  std::fill_n(data_of(zeros), bytes_of(zeros, zeros.size()), std::byte{0});
  by_rows(RowFunction::scale, inner, {{out, inner}, {zeros, 1}, one_per_row(scale), one_per_row(offset)}, out, inner);
}

void normalize_groups_vjp(const Tensor& g, const Tensor& x, std::int64_t groups, double epsilon, const Tensor& scale,
                          const NormalizeCotangents& out) {
  visit_among<float, double>(x.dtype(), [&]<class T>() { groups_vjp<T>(g, x, groups, epsilon, scale, out); });
}

}  // namespace reel::loops
