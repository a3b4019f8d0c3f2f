// The products with the inputs, and all products of the gradient but those with the state, are one product for all
// steps. A step is one product with the state and one pass over the gates. The gradient's step is one product for all
// cotangents that are carried together.
#include "nn/recurrent_loops.hpp"

#include <algorithm>

#include "core/visit.hpp"
#include "kernels/table.hpp"
#include "loops/loops.hpp"
#include "loops/product/matmul.hpp"
#include "loops/reduce/reduce.hpp"
#include "loops/reduce/rows.hpp"

namespace reel::loops {

namespace {

struct Sequence {
  std::int64_t steps, batch, state;
  explicit Sequence(const Tensor& hidden)
      : steps(hidden.shape()[0] - 1), batch(hidden.shape()[1]), state(hidden.shape()[2]) {}
};

// Rows [first, first + count) of the leading axis.
Tensor part(const Tensor& x, std::int64_t first, std::int64_t count) {
  Shape shape = x.shape();
  const std::int64_t row = shape[0] == 0 ? 0 : x.size() / shape[0];
  shape[0] = count;
  return TensorAccess::adopt(reel::detail::new_view(reel::detail::block(x), first * row, shape, x.strides()));
}
// Element `at` of the leading axis, without that axis.
Tensor step_of(const Tensor& x, std::int64_t at) {
  const Shape shape = x.shape();
  return in_shape(part(x, at, 1), {shape[1], shape[2]});
}
// All axes but the last as rows.
Tensor as_rows(const Tensor& x) {
  Shape s = x.shape();
  const std::int64_t n = s[-1];
  std::int64_t rows = 1;
  for (int d = 0; d + 1 < s.rank(); ++d) rows *= s[d];
  return in_shape(x, {rows, n});
}
// One matrix for each cotangent; of a single one, without the first axis.
Tensor as_matrices(const Tensor& x) {
  const Shape s = x.shape();
  if (s.rank() == 3) return s[0] == 1 ? in_shape(x, {s[1], s[2]}) : x;
  return s[0] == 1 ? in_shape(x, {s[1] * s[2], s[3]}) : in_shape(x, {s[0], s[1] * s[2], s[3]});
}
Tensor transposed(const Tensor& x) { return contiguous(with_axis_order(x, {1, 0})); }

template <class T>
struct Functions {
  static constexpr DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
  kernels::Loop sigmoid = kernels::pointwise(kernels::index_of<"sigmoid">(), dtype).value;
  kernels::Loop tanh = kernels::pointwise(kernels::index_of<"tanh">(), dtype).value;
  static void apply(kernels::Loop f, const T* from, T* to, std::int64_t n) {
    const kernels::Strided in{from, 1};
    f(&in, to, n);
  }
};

// f(row) for each of `rows`, with `state` elements of work.
template <class F>
void for_rows(std::int64_t rows, std::int64_t state, const F& f) {
  const std::int64_t grain = std::max<std::int64_t>(1, tuning::rows_grain / std::max<std::int64_t>(1, state));
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) f(b);
  });
}
template <class F>
void for_examples(const Sequence& e, const F& f) {
  for_rows(e.batch, e.state, f);
}

template <class T>
T* data(const Tensor& x) {
  return reel::detail::mutable_data<T>(x);
}
template <class T>
T* data_or_null(const Tensor& x) {
  return x.defined() ? data<T>(x) : nullptr;
}
template <class T>
void fill_zero(const Tensor& x) {
  std::fill_n(data<T>(x), x.size(), T(0));
}

template <class T>
void run_lstm(const Recurrent& r, const Tensor& gates, const Tensor& cells, const Tensor& hidden) {
  const Sequence e(hidden);
  const std::int64_t h = e.state, row = 4 * h;
  matmul(as_rows(r.x), r.input_weight, {.b = true}, as_rows(gates));
  const Tensor weight = transposed(r.hidden_weight);
  const Functions<T> f;
  const T *bias = data<T>(r.input_bias), *more = data<T>(r.hidden_bias);
  for (std::int64_t t = 0; t < e.steps; ++t) {
    matmul(step_of(hidden, t), weight, {}, step_of(gates, t), Into::add);
    T *p = data<T>(gates) + t * e.batch * row, *c = data<T>(cells) + (t + 1) * e.batch * h,
      *y = data<T>(hidden) + (t + 1) * e.batch * h;
    const T* before = data<T>(cells) + t * e.batch * h;
    for_examples(e, [&](std::int64_t b) {
      T* const gate = p + b * row;
      for (std::int64_t k = 0; k < row; ++k) gate[k] += bias[k] + more[k];
      f.apply(f.sigmoid, gate, gate, 2 * h);
      f.apply(f.tanh, gate + 2 * h, gate + 2 * h, h);
      f.apply(f.sigmoid, gate + 3 * h, gate + 3 * h, h);
      T *cell = c + b * h, *out = y + b * h;
      const T* old = before + b * h;
      for (std::int64_t k = 0; k < h; ++k) cell[k] = gate[h + k] * old[k] + gate[k] * gate[2 * h + k];
      f.apply(f.tanh, cell, out, h);
      for (std::int64_t k = 0; k < h; ++k) out[k] *= gate[3 * h + k];
    });
  }
}

template <class T>
void run_gru(const Recurrent& r, const Tensor& gates, const Tensor& hidden) {
  const Sequence e(hidden);
  const std::int64_t h = e.state, row = 4 * h;
  const Tensor inputs = reel::detail::empty(gates.dtype(), {e.steps, e.batch, 3 * h}),
               of_state = reel::detail::empty(gates.dtype(), {e.batch, 3 * h});
  matmul(as_rows(r.x), r.input_weight, {.b = true}, as_rows(inputs));
  const Tensor weight = transposed(r.hidden_weight);
  const Functions<T> f;
  const T *bias = data<T>(r.input_bias), *more = data<T>(r.hidden_bias), *products = data<T>(of_state);
  for (std::int64_t t = 0; t < e.steps; ++t) {
    matmul(step_of(hidden, t), weight, {}, of_state);
    T *p = data<T>(gates) + t * e.batch * row, *y = data<T>(hidden) + (t + 1) * e.batch * h;
    const T *in = data<T>(inputs) + t * e.batch * 3 * h, *before = data<T>(hidden) + t * e.batch * h;
    for_examples(e, [&](std::int64_t b) {
      T* const gate = p + b * row;
      const T *x = in + b * 3 * h, *s = products + b * 3 * h, *old = before + b * h;
      for (std::int64_t k = 0; k < 2 * h; ++k) gate[k] = (x[k] + s[k]) + (bias[k] + more[k]);
      f.apply(f.sigmoid, gate, gate, 2 * h);
      T *n = gate + 2 * h, *q = gate + 3 * h, *out = y + b * h;
      for (std::int64_t k = 0; k < h; ++k) {
        q[k] = s[2 * h + k] + more[2 * h + k];
        n[k] = (x[2 * h + k] + bias[2 * h + k]) + gate[k] * q[k];
      }
      f.apply(f.tanh, n, n, h);
      for (std::int64_t k = 0; k < h; ++k) out[k] = n[k] + gate[h + k] * (old[k] - n[k]);
    });
  }
}

// Sums over all steps and examples of the cotangents [N, T, B, G] of the gates before their activation, of which
// `of_state` are those of the products with the state.
template <class T>
void sum_up(const Recurrent& r, const Tensor& hidden, const Tensor& of_inputs, const Tensor& of_state,
            const RecurrentCotangents& d) {
  const Sequence e(hidden);
  if (d.x.defined()) matmul(as_rows(of_inputs), r.input_weight, {}, as_rows(d.x));
  const auto weight = [](const Tensor& g, const Tensor& rows, const Tensor& sum) {
    if (sum.defined()) matmul(as_matrices(g), as_rows(rows), {.a = true}, as_matrices(sum));
  };
  weight(of_inputs, r.x, d.input_weight);
  weight(of_state, part(hidden, 0, e.steps), d.hidden_weight);
  const auto bias = [](const Tensor& g, const Tensor& sum) {
    if (!sum.defined()) return;
    const Shape s = g.shape();
    const Tensor rows = in_shape(g, {s[0], s[1] * s[2], s[3]});
    if (rows.shape()[1] == 0) return fill_zero<T>(sum);
    if (sum.size() > 0) reduce(ReduceFunction::sum, rows, {1}, sum);
  };
  bias(of_inputs, d.input_bias);
  bias(of_state, d.hidden_bias);
}

// The cotangents [N, B, H] of the state after the last step: a copy of `last`, or zeros.
template <class T>
Tensor start_states(const Tensor& last, std::int64_t count, const Sequence& e, DType dtype) {
  const Tensor x = reel::detail::empty(dtype, {count, e.batch, e.state});
  last.defined() ? copy(last, x) : fill_zero<T>(x);
  return x;
}

// Cotangents [N, T, B, G], written step by step. The rows [N B, G] of one step are contiguous for its product: of a
// single cotangent in place, otherwise as a second copy.
template <class T>
class SlopeSteps {
 public:
  SlopeSteps(std::int64_t count, const Sequence& e, std::int64_t width, DType dtype)
      : e_(e), count_(count), width_(width), all_(reel::detail::empty(dtype, {count, e.steps, e.batch, width})) {
    if (count != 1) step_ = reel::detail::empty(dtype, {count * e.batch, width});
  }
  const Tensor& all() const { return all_; }
  // Where row i = n B + b of step t is written.
  T* row(std::int64_t t, std::int64_t i) const {
    return data<T>(all_) + ((i / e_.batch * e_.steps + t) * e_.batch + i % e_.batch) * width_;
  }
  void finish(std::int64_t t, std::int64_t i) const {
    if (count_ != 1) std::copy_n(row(t, i), width_, data<T>(step_) + i * width_);
  }
  // state [N, B, H] = rows of step t times the weight
  void pull(std::int64_t t, const Tensor& weight, const Tensor& state) const {
    const Tensor rows = count_ != 1 ? step_ : step_of(as_steps(), t);
    matmul(rows, weight, {}, as_rows(state));
  }

 private:
  Tensor as_steps() const { return in_shape(all_, {e_.steps, e_.batch, width_}); }
  const Sequence& e_;
  std::int64_t count_, width_;
  Tensor all_, step_;
};

template <class T>
void pull_lstm(const Recurrent& r, const Tensor& gates, const Tensor& cells, const Tensor& hidden,
               const StateCotangents& g, const RecurrentCotangents& d) {
  const Sequence e(hidden);
  const std::int64_t h = e.state, row = 4 * h, rows = g.count * e.batch;
  const SlopeSteps<T> slopes(g.count, e, row, gates.dtype());
  const Tensor state = start_states<T>(g.last, g.count, e, gates.dtype()),
               cell = start_states<T>(g.last_cell, g.count, e, gates.dtype()),
               squashed = reel::detail::empty(gates.dtype(), {rows, h});
  const Functions<T> f;
  const T* outer = data_or_null<T>(g.output);
  for (std::int64_t t = e.steps - 1; t >= 0; --t) {
    const std::int64_t at = t * e.batch;
    const T *p = data<T>(gates) + at * row, *before = data<T>(cells) + at * h, *after = before + e.batch * h;
    for_rows(rows, h, [&](std::int64_t i) {
      const std::int64_t b = i % e.batch;
      const T *gate = p + b * row, *old = before + b * h;
      T *ds = data<T>(state) + i * h, *dc = data<T>(cell) + i * h, *tanh = data<T>(squashed) + i * h,
        *slope = slopes.row(t, i);
      f.apply(f.tanh, after + b * h, tanh, h);
      if (outer) {
        const T* more = outer + ((i / e.batch * e.steps + t) * e.batch + b) * h;
        for (std::int64_t k = 0; k < h; ++k) ds[k] += more[k];
      }
      for (std::int64_t k = 0; k < h; ++k) {
        const T in = gate[k], forget = gate[h + k], fresh = gate[2 * h + k], out = gate[3 * h + k];
        const T c = dc[k] + ds[k] * out * (1 - tanh[k] * tanh[k]);
        slope[k] = c * fresh * (in * (1 - in));
        slope[h + k] = c * old[k] * (forget * (1 - forget));
        slope[2 * h + k] = c * in * (1 - fresh * fresh);
        slope[3 * h + k] = ds[k] * tanh[k] * (out * (1 - out));
        dc[k] = c * forget;
      }
      slopes.finish(t, i);
    });
    slopes.pull(t, r.hidden_weight, state);
  }
  if (d.first.defined()) copy(state, d.first);
  if (d.first_cell.defined()) copy(cell, d.first_cell);
  sum_up<T>(r, hidden, slopes.all(), slopes.all(), d);
}

template <class T>
void pull_gru(const Recurrent& r, const Tensor& gates, const Tensor& hidden, const StateCotangents& g,
              const RecurrentCotangents& d) {
  const Sequence e(hidden);
  const std::int64_t h = e.state, row = 3 * h, rows = g.count * e.batch;
  const SlopeSteps<T> states(g.count, e, row, gates.dtype());
  const Tensor inputs = reel::detail::empty(gates.dtype(), {g.count, e.steps, e.batch, row}),
               state = start_states<T>(g.last, g.count, e, gates.dtype()),
               through = reel::detail::empty(gates.dtype(), {rows, h});
  const T* outer = data_or_null<T>(g.output);
  for (std::int64_t t = e.steps - 1; t >= 0; --t) {
    const std::int64_t at = t * e.batch;
    const T *p = data<T>(gates) + at * 4 * h, *before = data<T>(hidden) + at * h;
    for_rows(rows, h, [&](std::int64_t i) {
      const std::int64_t b = i % e.batch, place = (i / e.batch * e.steps + t) * e.batch + b;
      const T *gate = p + b * 4 * h, *old = before + b * h;
      T *ds = data<T>(state) + i * h, *kept = data<T>(through) + i * h, *x = data<T>(inputs) + place * row,
        *s = states.row(t, i);
      if (outer)
        for (std::int64_t k = 0; k < h; ++k) ds[k] += outer[place * h + k];
      for (std::int64_t k = 0; k < h; ++k) {
        const T reset = gate[k], update = gate[h + k], fresh = gate[2 * h + k], q = gate[3 * h + k];
        const T dn = ds[k] * (1 - update) * (1 - fresh * fresh);
        x[k] = s[k] = dn * q * (reset * (1 - reset));
        x[h + k] = s[h + k] = ds[k] * (old[k] - fresh) * (update * (1 - update));
        x[2 * h + k] = dn;
        s[2 * h + k] = dn * reset;
        kept[k] = ds[k] * update;
      }
      states.finish(t, i);
    });
    states.pull(t, r.hidden_weight, state);
    T* ds = data<T>(state);
    const T* kept = data<T>(through);
    for (std::int64_t k = 0; k < state.size(); ++k) ds[k] += kept[k];
  }
  if (d.first.defined()) copy(state, d.first);
  sum_up<T>(r, hidden, inputs, states.all(), d);
}

}  // namespace

void lstm(const Recurrent& r, const Tensor& gates, const Tensor& cells, const Tensor& hidden) {
  visit_among<float, double>(hidden.dtype(), [&]<class T>() { run_lstm<T>(r, gates, cells, hidden); });
}
void gru(const Recurrent& r, const Tensor& gates, const Tensor& hidden) {
  visit_among<float, double>(hidden.dtype(), [&]<class T>() { run_gru<T>(r, gates, hidden); });
}
void lstm_vjp(const Recurrent& r, const Tensor& gates, const Tensor& cells, const Tensor& hidden,
              const StateCotangents& g, const RecurrentCotangents& d) {
  visit_among<float, double>(hidden.dtype(), [&]<class T>() { pull_lstm<T>(r, gates, cells, hidden, g, d); });
}
void gru_vjp(const Recurrent& r, const Tensor& gates, const Tensor& hidden, const StateCotangents& g,
             const RecurrentCotangents& d) {
  visit_among<float, double>(hidden.dtype(), [&]<class T>() { pull_gru<T>(r, gates, hidden, g, d); });
}

}  // namespace reel::loops
