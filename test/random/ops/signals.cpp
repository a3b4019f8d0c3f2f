// Signals: convolution, filters, cosine and sine transforms, short-time spectra, phases and trends. Spectra of real
// signals count by the sums of their parts.
#include "../../fft/references/signals.hpp"

#include <algorithm>
#include <reel/fft/signal.hpp>

#include "../rows.hpp"

namespace random_programs {

namespace {

using namespace cases::signals;
using cases::RowOf;
using reel::Tensor;
using Jets = RowOf<Jet>;
using JetArrays = ArraysOf<Jet>;

ArrayOf<Jet> vector_of(Jets y) { return {{static_cast<std::int64_t>(y.size())}, std::move(y)}; }
Jets sums_of_parts(const RowOf<Complex<Jet>>& z) {
  Jets y;
  for (const Complex<Jet>& one : z) y.push_back(one.re + one.im);
  return y;
}
Tensor sum_of_parts(const Tensor& z) { return reel::real(z) + reel::imag(z); }
/// The dtype of spectra.
DType spectral_dtype(const Inputs& in) {
  for (const Array* x : in)
    if (reel::is_complex(x->dtype) || x->size() == 0) throw Unfit();
  return rounded_dtype(floating_of(in[0]->dtype) == DType::float64 ? DType::float64 : DType::float32);
}
DType signal_dtype(const Inputs& in) {
  for (const Array* x : in)
    if (x->size() == 0) throw Unfit();
  return computed_dtype(in);
}

// ---- Ops of one operand. ints[1] is the axis.

template <class F>
void add_row(std::vector<Op>& t, const char* name, Ints (*choose)(Maker& m, std::int64_t axis, std::int64_t n), F row,
             Call call) {
  const auto make = [choose](Maker& m, Statement& s) {
    const int x = m.floating(1, 3);
    if (x < 0) return false;
    const std::int64_t axis = m.below(m.at(x).rank());
    s.ints = choose(m, axis, m.at(x).shape[at(axis)]);
    s.args = {Maker::arg(x)};
    return !s.ints.empty();
  };
  const auto reference = [row](JetArrays x, const Statement& s) {
    return cases::along(x[0], s.ints[1], [&](const Jets& one) { return row(one, s.ints); });
  };
  t.push_back(row_op<Jet>(name, make, signal_dtype, reference, call, {0.4, true}));
}
// ints: type, axis, ortho.
Ints choose_wave(Maker& m, std::int64_t axis, std::int64_t n) {
  if (n < 1) return {};
  return {m.between(n < 2 ? 2 : 1, 4), axis, m.below(2)};
}
template <bool Sine, bool Inverse>
Jets wave(const Jets& x, const Ints& n) {
  return wave_transform(x, n[0], Sine, n[2] != 0, Inverse);
}
void add_rows(std::vector<Op>& t) {
  add_row(t, "dct", choose_wave, wave<false, false>,
          REEL_CALL(reel::dct(x[0], static_cast<int>(i[0]), i[1], i[2] != 0)));
  add_row(t, "idct", choose_wave, wave<false, true>,
          REEL_CALL(reel::idct(x[0], static_cast<int>(i[0]), i[1], i[2] != 0)));
  add_row(t, "dst", choose_wave, wave<true, false>,
          REEL_CALL(reel::dst(x[0], static_cast<int>(i[0]), i[1], i[2] != 0)));
  add_row(t, "idst", choose_wave, wave<true, true>,
          REEL_CALL(reel::idst(x[0], static_cast<int>(i[0]), i[1], i[2] != 0)));
  add_row(
      t, "unwrap",
      [](Maker&, std::int64_t axis, std::int64_t) {
        return Ints{0, axis};
      },
      [](const Jets& x, const Ints&) { return unwrapped(x); }, REEL_CALL(reel::unwrap(x[0], i[1], 2)));
  add_row(
      t, "detrend",
      [](Maker& m, std::int64_t axis, std::int64_t n) {
        return n < 1 ? Ints() : Ints{m.below(2), axis};
      },
      [](const Jets& x, const Ints& n) { return without_trend(x, n[0] != 0); },
      REEL_CALL(reel::detrend(x[0], i[1], i[0] != 0)));
}

bool make_hadamard(Maker& m, Statement& s) {
  int x = m.pick([](const Array& a) {
    const std::int64_t n = a.shape.empty() ? 0 : a.shape.back();
    return is_real_floating(a.dtype) && n > 0 && (n & (n - 1)) == 0 && a.size() > 0;
  });
  if (x < 0) x = m.input(Role::constant, m.floating_dtype(), {2, 4});
  s.args = {Maker::arg(x)};
  return x >= 0;
}

// ---- Ops of vectors; the other operands are new ones.

int vector_operand(Maker& m) {
  const int x = m.floating(1, 1);
  return x < 0 || m.at(x).size() == 0 ? -1 : x;
}
Role source_below(Maker& m, int elements) { return m.source_elements < elements ? Role::source : Role::constant; }
// Multiples of 1/2 between low / 2 and high / 2.
std::vector<double> halves(Maker& m, std::int64_t count, std::int64_t low, std::int64_t high) {
  std::vector<double> list;
  for (std::int64_t k = 0; k < count; ++k) list.push_back(0.5 * static_cast<double>(m.between(low, high)));
  return list;
}

// ints: mode, method.
bool make_convolution(Maker& m, Statement& s) {
  const int x = vector_operand(m);
  const int h = x < 0 ? -1 : m.input(source_below(m, 10), m.at(x).dtype, {m.between(1, 3)});
  if (h < 0) return false;
  s.ints = {m.below(3), m.below(2)};
  s.args = {Maker::arg(x), Maker::arg(h)};
  return true;
}
bool make_filter(Maker& m, Statement& s) {
  const int x = vector_operand(m);
  if (x < 0) return false;
  const DType d = m.at(x).dtype;
  const Role role = source_below(m, 8);
  std::vector<double> list = halves(m, m.between(0, 2), -1, 1);
  list.insert(list.begin(), 2);
  const int b = m.input(role, d, {m.between(1, 3)});
  const int a = b < 0 ? -1 : m.input_of(d, {static_cast<std::int64_t>(list.size())}, list, role);
  s.args = {Maker::arg(b), Maker::arg(a), Maker::arg(x)};
  return a >= 0;
}
// Two sections of six numbers.
bool make_sections(Maker& m, Statement& s) {
  const int x = vector_operand(m);
  if (x < 0) return false;
  std::vector<double> list;
  for (int k = 0; k < 12; ++k) list.push_back(k % 6 == 3 ? 2 : 0.5 * static_cast<double>(m.between(-1, 1)));
  const int c = m.input_of(m.at(x).dtype, {2, 6}, list, source_below(m, 4));
  s.args = {Maker::arg(c), Maker::arg(x)};
  return c >= 0;
}
void require_leading(const Jet& x) {
  if (std::fabs(x.v[0]) < 0.5L) throw Unfit();
}
// ints: hop.
template <bool Cross>
bool make_density(Maker& m, Statement& s) {
  const int x = vector_operand(m);
  if (x < 0) return false;
  const std::int64_t n = m.between(1, std::min<std::int64_t>(3, m.at(x).size()));
  const std::vector<double> list = halves(m, n, 1, 3);
  const int y = Cross ? m.input(Role::constant, m.at(x).dtype, m.at(x).shape) : x;
  const int w = y < 0 ? -1 : m.input_of(m.at(x).dtype, {n}, list);
  if (w < 0) return false;
  s.ints = {m.between(1, n)};
  s.args = {Maker::arg(x), Maker::arg(w)};
  if (Cross) s.args.insert(s.args.begin() + 1, Maker::arg(y));
  return true;
}
DType density_dtype(const Inputs& in) {
  const DType d = spectral_dtype(in);
  for (const Array* x : in)
    if (x->dtype != d || x->rank() != 1) throw Unfit();
  if (in.back()->size() > in[0]->size() || (in.size() == 3 && in[1]->shape != in[0]->shape)) throw Unfit();
  return d;
}
template <bool Cross>
ArrayOf<Jet> density(JetArrays x, const Statement& s) {
  const Jets& w = x.back().values;
  const auto z =
      cross_density(x[0].values, x[Cross ? 1 : 0].values, w, at(s.ints[0]), static_cast<std::int64_t>(w.size()));
  if (Cross) return vector_of(sums_of_parts(z));
  Jets re;
  for (const Complex<Jet>& one : z) re.push_back(one.re);
  return vector_of(re);
}
// ints: hop.
bool make_spectra(Maker& m, Statement& s) {
  const int x = vector_operand(m);
  if (x < 0) return false;
  const std::int64_t n = m.between(1, std::min<std::int64_t>(3, m.at(x).size()));
  const int w = m.input(Role::constant, m.at(x).dtype, {n});
  if (w < 0) return false;
  s.ints = {m.between(1, n)};
  s.args = {Maker::arg(x), Maker::arg(w)};
  return true;
}
ArrayOf<Jet> spectra(JetArrays x, const Statement& s) {
  const Jets& w = x[1].values;
  if (x[0].shape.rank() != 1 || w.size() > x[0].values.size()) throw Unfit();
  const Jets y = sums_of_parts(short_time_spectra(x[0].values, w, at(s.ints[0])));
  const auto half = static_cast<std::int64_t>(w.size() / 2 + 1);
  return {{static_cast<std::int64_t>(y.size()) / half, half}, y};
}
// Of spectra whose parts are equal.
bool make_signal(Maker& m, Statement& s) {
  const int x = m.pick([](const Array& a) {
    return is_real_floating(a.dtype) && a.rank() == 2 && a.shape[0] > 0 && a.shape[1] > 0 && a.shape[1] < 4;
  });
  if (x < 0) return false;
  const std::int64_t n = 2 * m.at(x).shape[1] - 1;
  const int w = m.input_of(m.at(x).dtype, {n}, halves(m, n, 1, 4));
  if (w < 0) return false;
  s.ints = {m.between(1, n)};
  s.args = {Maker::arg(x), Maker::arg(w)};
  return true;
}
ArrayOf<Jet> signal_of_equal_parts(JetArrays x, const Statement& s) {
  if (x[0].shape.rank() != 2 || x[1].shape[0] / 2 + 1 != x[0].shape[1]) throw Unfit();
  RowOf<Complex<Jet>> z;
  for (const Jet& v : x[0].values) z.push_back({v, v});
  return vector_of(signal_of(z, x[1].values, at(s.ints[0])));
}

}  // namespace

void add_signals(std::vector<Op>& t) {
  add_rows(t);
  t.push_back(row_op<Jet>("hadamard", make_hadamard, signal_dtype,
                          [](JetArrays x, const Statement&) { return cases::along(x[0], -1, hadamard_transform<Jet>); },
                          REEL_CALL(reel::hadamard(x[0])), {0.4}));
  t.push_back(
      row_op<Jet>("convolve", make_convolution, signal_dtype,
                  [](JetArrays x, const Statement& s) { return convolved(x[0], x[1], static_cast<int>(s.ints[0])); },
                  REEL_CALL(reel::convolve(x[0], x[1], static_cast<reel::ConvolveMode>(i[0]),
                                           static_cast<reel::ConvolveMethod>(i[1]))),
                  {0.5}));
  t.push_back(row_op<Jet>(
      "correlate", make_convolution, signal_dtype,
      [](JetArrays x, const Statement& s) { return convolved(x[0], reversed(x[1]), static_cast<int>(s.ints[0])); },
      REEL_CALL(
          reel::correlate(x[0], x[1], static_cast<reel::ConvolveMode>(i[0]), static_cast<reel::ConvolveMethod>(i[1]))),
      {0.5}));
  t.push_back(row_op<Jet>("lfilter", make_filter, signal_dtype,
                          [](JetArrays x, const Statement&) {
                            require_leading(x[1].values[0]);
                            return vector_of(filtered(x[0].values, x[1].values, x[2].values));
                          },
                          REEL_CALL(reel::lfilter(x[0], x[1], x[2])), {0.6}));
  t.push_back(row_op<Jet>("sosfilt", make_sections, signal_dtype,
                          [](JetArrays x, const Statement&) {
                            for (const std::size_t leading : {3, 9}) require_leading(x[0].values[leading]);
                            return vector_of(cascaded(x[0].values, x[1].values));
                          },
                          REEL_CALL(reel::sosfilt(x[0], x[1])), {0.5}));
  t.push_back(row_op<Jet>("welch", make_density<false>, density_dtype, density<false>,
                          REEL_CALL(reel::welch(x[0], x[1], {.hop = i[0]})), {0.4}));
  t.push_back(row_op<Jet>("csd", make_density<true>, density_dtype, density<true>,
                          REEL_CALL(sum_of_parts(reel::csd(x[0], x[1], x[2], {.hop = i[0]}))), {0.4}));
  t.push_back(row_op<Jet>("stft", make_spectra, spectral_dtype, spectra,
                          REEL_CALL(sum_of_parts(reel::stft(x[0], x[1], i[0]))), {0.5}));
  t.push_back(row_op<Jet>("istft", make_signal, spectral_dtype, signal_of_equal_parts,
                          REEL_CALL(reel::istft(reel::make_complex(x[0], x[0]), x[1], i[0])), {0.5}));
}

}  // namespace random_programs
