// Products with the inputs are one matrix product for all steps; so are all products of the gradient except those with
// the state. A step is one product with the state and one pass over the gates.
#include "loops/sequence/recurrent.hpp"

#include <algorithm>

#include "kernels/table.hpp"
#include "loops/linalg/matmul.hpp"
#include "loops/linalg/matrices.hpp"
#include "loops/loops.hpp"
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
// All steps and examples as rows.
Tensor as_rows(const Tensor& x) { return in_shape(x, {x.shape()[0] * x.shape()[1], x.shape()[2]}); }
Tensor transposed(const Tensor& x) { return contiguous(with_axis_order(x, {1, 0})); }

template <class T>
struct Functions {
  static constexpr DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
  kernels::Loop sigmoid = kernels::active().pointwise(kernels::index_of<"sigmoid">(), dtype).value;
  kernels::Loop tanh = kernels::active().pointwise(kernels::index_of<"tanh">(), dtype).value;
  static void apply(kernels::Loop f, const T* from, T* to, std::int64_t n) {
    const kernels::Strided in{from, 1};
    f(&in, to, n);
  }
};

// f(example) for each, with `state` elements of work.
template <class F>
void for_examples(const Sequence& e, const F& f) {
  const std::int64_t grain = std::max<std::int64_t>(1, tuning::rows_grain / std::max<std::int64_t>(1, e.state));
  parallel_for(e.batch, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) f(b);
  });
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

// Sums over all rows of d [T, B, G], the cotangents of the gates before their activation, of which `of_state` are those
// of the products with the state.
template <class T>
void sum_up(const Recurrent& r, const Tensor& hidden, const Tensor& of_inputs, const Tensor& of_state,
            const RecurrentCotangents& d) {
  const Sequence e(hidden);
  const Tensor inputs = as_rows(of_inputs), states = as_rows(of_state);
  if (d.x.defined()) matmul(inputs, r.input_weight, {}, as_rows(d.x));
  if (d.input_weight.defined()) matmul(inputs, as_rows(r.x), {.a = true}, d.input_weight);
  if (d.hidden_weight.defined()) matmul(states, as_rows(part(hidden, 0, e.steps)), {.a = true}, d.hidden_weight);
  const auto bias = [](const Tensor& rows, const Tensor& sum) {
    if (!sum.defined()) return;
    if (rows.shape()[0] == 0) return fill_zero<T>(sum);
    if (sum.size() > 0) reduce(ReduceFunction::sum, rows, {0}, sum);
  };
  bias(inputs, d.input_bias);
  bias(states, d.hidden_bias);
}

// The cotangent of the state after the last step: a copy of `last`, or zeros.
template <class T>
Tensor started(const Tensor& last, const Tensor& hidden) {
  const Tensor x = reel::detail::empty(hidden.dtype(), {hidden.shape()[1], hidden.shape()[2]});
  last.defined() ? copy(last, x) : fill_zero<T>(x);
  return x;
}

template <class T>
void pull_lstm(const Recurrent& r, const Tensor& gates, const Tensor& cells, const Tensor& hidden,
               const StateCotangents& g, const RecurrentCotangents& d) {
  const Sequence e(hidden);
  const std::int64_t h = e.state, row = 4 * h;
  const Tensor slopes = reel::detail::empty(gates.dtype(), gates.shape()), state = started<T>(g.last, hidden),
               cell = started<T>(g.last_cell, hidden), squashed = reel::detail::empty(gates.dtype(), {e.batch, h});
  const Functions<T> f;
  const T* outer = data_or_null<T>(g.output);
  for (std::int64_t t = e.steps - 1; t >= 0; --t) {
    const std::int64_t at = t * e.batch;
    const T *p = data<T>(gates) + at * row, *before = data<T>(cells) + at * h, *after = before + e.batch * h;
    T* const to = data<T>(slopes) + at * row;
    for_examples(e, [&](std::int64_t b) {
      const T *gate = p + b * row, *old = before + b * h;
      T *ds = data<T>(state) + b * h, *dc = data<T>(cell) + b * h, *tanh = data<T>(squashed) + b * h,
        *slope = to + b * row;
      f.apply(f.tanh, after + b * h, tanh, h);
      if (outer)
        for (std::int64_t k = 0; k < h; ++k) ds[k] += outer[(at + b) * h + k];
      for (std::int64_t k = 0; k < h; ++k) {
        const T in = gate[k], forget = gate[h + k], fresh = gate[2 * h + k], out = gate[3 * h + k];
        const T c = dc[k] + ds[k] * out * (1 - tanh[k] * tanh[k]);
        slope[k] = c * fresh * (in * (1 - in));
        slope[h + k] = c * old[k] * (forget * (1 - forget));
        slope[2 * h + k] = c * in * (1 - fresh * fresh);
        slope[3 * h + k] = ds[k] * tanh[k] * (out * (1 - out));
        dc[k] = c * forget;
      }
    });
    matmul(step_of(slopes, t), r.hidden_weight, {}, state);
  }
  if (d.first.defined()) copy(state, d.first);
  if (d.first_cell.defined()) copy(cell, d.first_cell);
  sum_up<T>(r, hidden, slopes, slopes, d);
}

template <class T>
void pull_gru(const Recurrent& r, const Tensor& gates, const Tensor& hidden, const StateCotangents& g,
              const RecurrentCotangents& d) {
  const Sequence e(hidden);
  const std::int64_t h = e.state, row = 3 * h;
  const Tensor inputs = reel::detail::empty(gates.dtype(), {e.steps, e.batch, row}),
               states = reel::detail::empty(gates.dtype(), {e.steps, e.batch, row}), state = started<T>(g.last, hidden),
               through = reel::detail::empty(gates.dtype(), {e.batch, h});
  const T* outer = data_or_null<T>(g.output);
  for (std::int64_t t = e.steps - 1; t >= 0; --t) {
    const std::int64_t at = t * e.batch;
    const T *p = data<T>(gates) + at * 4 * h, *before = data<T>(hidden) + at * h;
    T *to_inputs = data<T>(inputs) + at * row, *to_states = data<T>(states) + at * row;
    for_examples(e, [&](std::int64_t b) {
      const T *gate = p + b * 4 * h, *old = before + b * h;
      T *ds = data<T>(state) + b * h, *kept = data<T>(through) + b * h, *x = to_inputs + b * row,
        *s = to_states + b * row;
      if (outer)
        for (std::int64_t k = 0; k < h; ++k) ds[k] += outer[(at + b) * h + k];
      for (std::int64_t k = 0; k < h; ++k) {
        const T reset = gate[k], update = gate[h + k], fresh = gate[2 * h + k], q = gate[3 * h + k];
        const T dn = ds[k] * (1 - update) * (1 - fresh * fresh);
        x[k] = s[k] = dn * q * (reset * (1 - reset));
        x[h + k] = s[h + k] = ds[k] * (old[k] - fresh) * (update * (1 - update));
        x[2 * h + k] = dn;
        s[2 * h + k] = dn * reset;
        kept[k] = ds[k] * update;
      }
    });
    matmul(step_of(states, t), r.hidden_weight, {}, state);
    T* ds = data<T>(state);
    const T* kept = data<T>(through);
    for (std::int64_t k = 0; k < state.size(); ++k) ds[k] += kept[k];
  }
  if (d.first.defined()) copy(state, d.first);
  sum_up<T>(r, hidden, inputs, states, d);
}

}  // namespace

void lstm(const Recurrent& r, const Tensor& gates, const Tensor& cells, const Tensor& hidden) {
  with_type(hidden, [&]<class T>(T) { run_lstm<T>(r, gates, cells, hidden); });
}
void gru(const Recurrent& r, const Tensor& gates, const Tensor& hidden) {
  with_type(hidden, [&]<class T>(T) { run_gru<T>(r, gates, hidden); });
}
void lstm_vjp(const Recurrent& r, const Tensor& gates, const Tensor& cells, const Tensor& hidden,
              const StateCotangents& g, const RecurrentCotangents& d) {
  with_type(hidden, [&]<class T>(T) { pull_lstm<T>(r, gates, cells, hidden, g, d); });
}
void gru_vjp(const Recurrent& r, const Tensor& gates, const Tensor& hidden, const StateCotangents& g,
             const RecurrentCotangents& d) {
  with_type(hidden, [&]<class T>(T) { pull_gru<T>(r, gates, hidden, g, d); });
}

}  // namespace reel::loops
