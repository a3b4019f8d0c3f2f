#include "fft/fft_loops.hpp"

#include "fft/plan.hpp"
#include "kernels/baseline/copy.hpp"
#include "loops/loops.hpp"
#include "loops/tuning.hpp"
#include "loops/workspaces.hpp"

namespace reel::loops {

namespace {

using fft::Plan;

enum class Form : std::uint8_t { complex, of_real, to_real };

template <class T>
struct Transform {
  Form form;
  std::int64_t n;  // of the transform
  bool inverse;
  double inner, scale;
  std::shared_ptr<const Plan<T>> plan;  // of n numbers, or of n / 2 for an even number of real ones
  const T* half_twiddles;               // of the plan, for an even number of real ones

  bool halved() const noexcept { return form != Form::complex && n % 2 == 0; }
  // Numbers of type T per row.
  std::int64_t in_row() const noexcept {
    return form == Form::complex ? 2 * n : form == Form::of_real ? n : n / 2 * 2 + 2;
  }
  std::int64_t out_row() const noexcept {
    return form == Form::complex ? 2 * n : form == Form::of_real ? n / 2 * 2 + 2 : n;
  }
  // Numbers of type T per row between the plan and a half spectrum.
  std::int64_t staged() const noexcept { return form == Form::complex ? 0 : (halved() ? n : 2 * n) + 16; }
  // Numbers of type T of scratch memory that run() needs.
  std::int64_t scratch() const noexcept { return (plan->scratch() + 15) / 16 * 16 + (staged() + 16) * plan->rows(); }

  // Rows in memory, `rows.count` of them, at most plan->rows(); strides count numbers of type T.
  void run(const fft::Rows<T>& rows, T* scratch) const {
    T* const stage = scratch + (plan->scratch() + 15) / 16 * 16;
    if (form == Form::complex)
      plan->run({rows.in, rows.in_stride / 2, rows.out, rows.out_stride / 2, rows.count}, inverse, scale, scratch);
    else if (form == Form::of_real)
      halved() ? of_even_real(rows, stage, scratch) : of_odd_real(rows, stage, scratch);
    else
      halved() ? to_even_real(rows, stage, scratch) : to_odd_real(rows, stage, scratch);
  }

 private:
  void of_odd_real(const fft::Rows<T>& rows, T* stage, T* scratch) const {
    widen(rows, stage);
    plan->run({stage, n, stage, n, rows.count}, false, scale, scratch);
    for (std::int64_t r = 0; r < rows.count; ++r) shorten(stage + r * 2 * n, rows.out + r * rows.out_stride);
  }
  void of_even_real(const fft::Rows<T>& rows, T* stage, T* scratch) const {
    plan->run({rows.in, rows.in_stride / 2, stage, n / 2, rows.count}, false, scale / 2, scratch);
    for (std::int64_t r = 0; r < rows.count; ++r)
      kernels().to_half({.in = stage + r * n,
                         .twiddles = half_twiddles,
                         .out = rows.out + r * rows.out_stride,
                         .half = n / 2,
                         .inner = inner});
  }
  void to_odd_real(const fft::Rows<T>& rows, T* stage, T* scratch) const {
    for (std::int64_t r = 0; r < rows.count; ++r) complete(rows.in + r * rows.in_stride, stage + r * 2 * n);
    plan->run({stage, n, stage, n, rows.count}, true, scale, scratch);
    for (std::int64_t r = 0; r < rows.count; ++r)
      for (std::int64_t k = 0; k < n; ++k) rows.out[r * rows.out_stride + k] = stage[r * 2 * n + 2 * k];
  }
  void to_even_real(const fft::Rows<T>& rows, T* stage, T* scratch) const {
    for (std::int64_t r = 0; r < rows.count; ++r)
      kernels().from_half({.in = rows.in + r * rows.in_stride,
                           .twiddles = half_twiddles,
                           .out = stage + r * n,
                           .half = n / 2,
                           .inner = inner});
    plan->run({stage, n / 2, rows.out, rows.out_stride / 2, rows.count}, true, scale, scratch);
  }
  static const kernels::Fourier& kernels() {
    return kernels::active<kernels::FourierKernels>()[std::is_same_v<T, float> ? DType::float32 : DType::float64];
  }
  void widen(const fft::Rows<T>& rows, T* stage) const {
    for (std::int64_t r = 0; r < rows.count; ++r)
      for (std::int64_t k = 0; k < n; ++k) {
        stage[r * 2 * n + 2 * k] = rows.in[r * rows.in_stride + k];
        stage[r * 2 * n + 2 * k + 1] = 0;
      }
  }
  void shorten(const T* z, T* out) const {
    const T factor = static_cast<T>(inner);
    out[0] = z[0], out[1] = 0;
    for (std::int64_t i = 2; i < n / 2 * 2 + 2; ++i) out[i] = z[i] * factor;
  }
  // The Hermitian spectrum of which `half` is the first half.
  void complete(const T* half, T* z) const {
    const T factor = static_cast<T>(inner);
    z[0] = half[0], z[1] = 0;
    for (std::int64_t k = 1; k <= n / 2; ++k) {
      z[2 * k] = z[2 * (n - k)] = half[2 * k] * factor;
      z[2 * k + 1] = half[2 * k + 1] * factor;
      z[2 * (n - k) + 1] = -z[2 * k + 1];
    }
  }
};

// Columns that are copied to rows at a time: 16 float32 fill a cache line.
constexpr std::int64_t columns_max = 16;
// Numbers between rows of such a copy: rows whose length is a power of two would share a few sets of the cache.
template <class T>
constexpr std::int64_t row_gap = tuning::cache_line_bytes / static_cast<std::int64_t>(sizeof(T));
constexpr std::int64_t numbers_per_task = 16384;  // as pointwise_grain_max of elementwise loops

// A number in memory and its bytes: rows of complex numbers have two numbers of type T each.
template <class T>
struct Sides {
  const T* in;
  T* out;
  std::int64_t outer, inner;       // rows before and behind the axis
  std::int64_t in_unit, out_unit;  // numbers of type T per element
};

// f(i, scratch) for i < count, in parallel: each i transforms `numbers` numbers and has `scratch` numbers of memory.
template <class T, class F>
void for_each_block(std::int64_t count, std::int64_t numbers, std::int64_t scratch, const F& f) {
  if (count == 0) return;
  const std::int64_t per_task = std::max<std::int64_t>(1, numbers_per_task / numbers);
  Workspaces workspaces((count + per_task - 1) / per_task, scratch * static_cast<std::int64_t>(sizeof(T)));
  parallel_for(count, per_task, [&](std::int64_t begin, std::int64_t end) {
    workspaces.use([&](std::byte* memory) {
      for (std::int64_t i = begin; i < end; ++i) f(i, reinterpret_cast<T*>(memory));
    });
  });
}

// Along the last axis, or another one that is followed by a single element.
template <class T>
void run_rows(const Transform<T>& t, const Sides<T>& s) {
  const std::int64_t in_row = t.in_row(), out_row = t.out_row(), batch = t.plan->rows();
  for_each_block<T>(
      (s.outer + batch - 1) / batch, batch * std::max(in_row, out_row), t.scratch(),
      [&](std::int64_t block, T* scratch) {
        const std::int64_t row = block * batch;
        t.run({s.in + row * in_row, in_row, s.out + row * out_row, out_row, std::min(batch, s.outer - row)}, scratch);
      });
}

// Along any other axis: columns are copied to rows, and their transforms back.
template <class T>
void run_columns(const Transform<T>& t, const Sides<T>& s) {
  const std::int64_t in_row = t.in_row(), out_row = t.out_row(), rows = t.plan->rows();
  const std::int64_t in_n = in_row / s.in_unit, out_n = out_row / s.out_unit;
  const auto in_bytes = static_cast<std::size_t>(s.in_unit) * sizeof(T),
             out_bytes = static_cast<std::size_t>(s.out_unit) * sizeof(T);
  const std::int64_t in_step = in_row + row_gap<T>, out_step = out_row + row_gap<T>;
  const std::int64_t batch = std::min(columns_max, s.inner), blocks = (s.inner + batch - 1) / batch, own = t.scratch();
  const auto run_block = [&](std::int64_t at, T* scratch) {
    T *const from = scratch + own, *const to = from + batch * in_step;
    const std::int64_t outer = at / blocks, column = at % blocks * batch, count = std::min(batch, s.inner - column);
    kernels::copy_matrix(s.in + (outer * in_n * s.inner + column) * s.in_unit, 1, s.inner, from, in_step / s.in_unit,
                         count, in_n, in_bytes);
    for (std::int64_t r = 0; r < count; r += rows)
      t.run({from + r * in_step, in_step, to + r * out_step, out_step, std::min(rows, count - r)}, scratch);
    kernels::copy_matrix(to, 1, out_step / s.out_unit, s.out + (outer * out_n * s.inner + column) * s.out_unit, s.inner,
                         out_n, count, out_bytes);
  };
  for_each_block<T>(blocks * s.outer, batch * std::max(in_row, out_row), own + batch * (in_step + out_step), run_block);
}

template <class T>
void transform(Form form, const Tensor& x, int axis, bool inverse, double inner, double scale, const Tensor& out) {
  Tensor scratch;
  const Tensor& from = contiguous(x, scratch);
  const Shape in_shape = from.shape(), out_shape = out.shape();
  Transform<T> t{form,   form == Form::to_real ? out_shape[axis] : in_shape[axis], inverse, inner, scale, nullptr,
                 nullptr};
  Sides<T> s{reinterpret_cast<const T*>(detail::block(from)->data),
             reinterpret_cast<T*>(detail::block(out)->data),
             1,
             1,
             form == Form::of_real ? 1 : 2,
             form == Form::to_real ? 1 : 2};
  for (int d = 0; d < in_shape.rank(); ++d) (d < axis ? s.outer : s.inner) *= d == axis ? 1 : in_shape[d];
  if (s.outer * s.inner == 0 || t.n == 0) return;
  t.plan = fft::plan_of<T>(t.halved() ? t.n / 2 : t.n);
  if (t.halved()) t.half_twiddles = t.plan->half_twiddles();
  s.inner == 1 ? run_rows(t, s) : run_columns(t, s);
}

void transform(Form form, const Tensor& x, int axis, bool inverse, double inner, double scale, const Tensor& out) {
  const DType d = form == Form::of_real ? x.dtype() : out.dtype();
  if (d == DType::float32 || d == DType::complex64)
    transform<float>(form, x, axis, inverse, inner, scale, out);
  else
    transform<double>(form, x, axis, inverse, inner, scale, out);
}

}  // namespace

void fourier(const Tensor& x, int axis, bool inverse, double scale, const Tensor& out) {
  transform(Form::complex, x, axis, inverse, 1, scale, out);
}
void fourier_of_real(const Tensor& x, int axis, double inner, double scale, const Tensor& out) {
  transform(Form::of_real, x, axis, false, inner, scale, out);
}
void fourier_to_real(const Tensor& x, int axis, double inner, double scale, const Tensor& out) {
  transform(Form::to_real, x, axis, true, inner, scale, out);
}

}  // namespace reel::loops
