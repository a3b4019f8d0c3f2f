// Signals: convolution, filters, cosine and sine transforms, short-time spectra, phases and trends, by the sums of
// their definitions. Spectra of real signals count by the sums of their parts.
#include <algorithm>
#include <cmath>
#include <reel/fft/signal.hpp>

#include "../../op_cases/signal_references.hpp"
#include "../program.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Tensor;
using Ints = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;
using Jets = std::vector<Jet>;

constexpr Real half_turn = references::pi;
using references::cascaded, references::filtered, references::hadamard_transform, references::Sum,
    references::wave_transform, references::without_trend;

DType computed(DType d) { return floating_of(d); }

// f of each row along the axis.
template <class F>
Array along(const Array& x, std::size_t axis, const F& f) {
  Array y;
  Extents outer = x.shape;
  const std::int64_t n = x.shape[axis];
  outer[axis] = 1;
  bool first = true;
  for (std::int64_t i = 0; i < elements(outer); ++i) {
    Extents at = indices_of(outer, i);
    Jets row;
    for (std::int64_t k = 0; k < n; ++k) {
      at[axis] = k;
      row.push_back(x[position_of(x.shape, at)].re);
    }
    const Jets done = f(row);
    if (first) {
      Extents shape = x.shape;
      shape[axis] = static_cast<std::int64_t>(done.size());
      y = Array(computed(x.dtype), shape);
      first = false;
    }
    for (std::size_t k = 0; k < done.size(); ++k) {
      at[axis] = static_cast<std::int64_t>(k);
      y[position_of(y.shape, at)] = Num(done[k]);
    }
  }
  return y;
}

// ---- Ops of one operand; ints[1] is the axis

struct RowOp {
  const char* name;
  Ints (*choose)(Maker& m, std::int64_t axis, std::int64_t n);  // empty: does not fit
  Jets (*row)(const Jets& x, const Ints& n);
  Tensor (*call)(const Operand& x, const Ints& n);
  std::string (*arguments)(const Ints& n);
};

Ints choose_wave(Maker& m, std::int64_t axis, std::int64_t n) {
  if (n < 1) return {};
  return {m.between(n < 2 ? 2 : 1, 4), axis, m.below(2)};
}
template <bool Sine, bool Inverse>
Jets wave(const Jets& x, const Ints& n) {
  return wave_transform(x, n[0], Sine, n[2] != 0, Inverse);  // ints: type, axis, ortho
}
using Wave = Tensor (*)(const Operand&, int, std::int64_t, bool);
template <Wave Call>
Tensor call_wave(const Operand& x, const Ints& n) {
  return Call(x, static_cast<int>(n[0]), n[1], n[2] != 0);
}
std::string wave_arguments(const Ints& n) {
  return std::to_string(n[0]) + ", " + std::to_string(n[1]) + (n[2] != 0 ? ", true" : ", false");
}

// Steps are undecided near half a period of 2.
Jets unwrapped_row(const Jets& x, const Ints&) {
  Jets y = x;
  Real added = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const Real step = x[i].v[0] - x[i - 1].v[0], turns = std::fabs(step / 2);
    if (std::fabs(turns - std::floor(turns) - 0.5L) < 0.05L) throw Unfit();
    added -= 2 * std::nearbyint(step / 2);
    Sum<Jet> sum;
    sum.add(x[i], 1);
    sum.add(Jet(added), 1);
    y[i] = sum.done();
  }
  return y;
}
Jets detrended_row(const Jets& x, const Ints& n) { return without_trend(x, n[0] != 0); }

const RowOp row_ops[] = {
    {"dct", choose_wave, wave<false, false>, call_wave<reel::dct>, wave_arguments},
    {"idct", choose_wave, wave<false, true>, call_wave<reel::idct>, wave_arguments},
    {"dst", choose_wave, wave<true, false>, call_wave<reel::dst>, wave_arguments},
    {"idst", choose_wave, wave<true, true>, call_wave<reel::idst>, wave_arguments},
    {"unwrap",
     [](Maker&, std::int64_t axis, std::int64_t) {
       return Ints{0, axis};
     },
     unwrapped_row, [](const Operand& x, const Ints& n) { return reel::unwrap(x, n[1], 2); },
     [](const Ints& n) { return std::to_string(n[1]) + ", 2"; }},
    {"detrend",
     [](Maker& m, std::int64_t axis, std::int64_t n) {
       return n < 1 ? Ints() : Ints{m.below(2), axis};
     },
     detrended_row, [](const Operand& x, const Ints& n) { return reel::detrend(x, n[1], n[0] != 0); },
     [](const Ints& n) { return std::to_string(n[1]) + (n[0] != 0 ? ", true" : ", false"); }},
};

void add(std::vector<Op>& t, const RowOp& op) {
  Op o;
  o.name = op.name;
  o.weight = 0.4;
  o.body = true;
  o.make = [&op](Maker& m, Statement& s) {
    const int x = m.floating(1, 3);
    if (x < 0) return false;
    const std::int64_t axis = m.below(m.at(x).rank());
    s.ints = op.choose(m, axis, m.at(x).shape[static_cast<std::size_t>(axis)]);
    s.args = {Maker::arg(x)};
    return !s.ints.empty();
  };
  o.eval = [&op](const Statement& s, const Inputs& in, Arrays& out) {
    if (reel::is_complex(in[0]->dtype) || in[0]->size() == 0) throw Unfit();
    round_like(computed(in[0]->dtype));
    out.push_back(along(*in[0], static_cast<std::size_t>(s.ints[1]), [&](const Jets& x) { return op.row(x, s.ints); }));
  };
  o.call = [&op](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(op.call(a[0], s.ints));
  };
  o.text = [&op](const Statement& s, const Strings& a) {
    return std::string(op.name) + "(" + a[0] + ", " + op.arguments(s.ints) + ")";
  };
  t.push_back(std::move(o));
}

void add_hadamard(std::vector<Op>& t) {
  Op o;
  o.name = "hadamard";
  o.weight = 0.4;
  o.make = [](Maker& m, Statement& s) {
    int x = m.pick([](const Array& a) {
      const std::int64_t n = a.shape.empty() ? 0 : a.shape.back();
      return is_real_floating(a.dtype) && n > 0 && (n & (n - 1)) == 0 && a.size() > 0;
    });
    if (x < 0) x = m.input(Role::constant, m.floating_dtype(), {2, 4});
    if (x < 0) return false;
    s.args = {Maker::arg(x)};
    return true;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    const std::int64_t n = in[0]->shape.empty() ? 0 : in[0]->shape.back();
    if (reel::is_complex(in[0]->dtype) || n < 1 || (n & (n - 1)) != 0 || in[0]->size() == 0) throw Unfit();
    round_like(computed(in[0]->dtype));
    out.push_back(along(*in[0], in[0]->shape.size() - 1, hadamard_transform<Jet>));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(reel::hadamard(a[0])); };
  t.push_back(std::move(o));
}

// ---- Ops of vectors; the other operands are new ones

Jets jets_of(const Array& x) {
  Jets y;
  for (const Num& z : x.data) y.push_back(z.re);
  return y;
}
Array vector_of(DType d, const Jets& y) {
  Array out(d, {static_cast<std::int64_t>(y.size())});
  for (std::size_t i = 0; i < y.size(); ++i) out.data[i] = Num(y[i]);
  return out;
}
std::int64_t size(const Jets& x) { return static_cast<std::int64_t>(x.size()); }
const Jet& at(const Jets& x, std::int64_t i) { return x[static_cast<std::size_t>(i)]; }

// ints: mode
Jets convolved(const Jets& x, const Jets& h, const Ints& n, bool reverse) {
  const std::int64_t p = size(x), q = size(h);
  const std::int64_t first = n[0] == 0 ? 0 : n[0] == 1 ? (q - 1) / 2 : std::min(p, q) - 1;
  const std::int64_t count = n[0] == 0 ? p + q - 1 : n[0] == 1 ? p : std::max(p, q) - std::min(p, q) + 1;
  Jets y;
  for (std::int64_t i = first; i < first + count; ++i) {
    Sum<Jet> sum;
    for (std::int64_t j = 0; j < p; ++j)
      for (std::int64_t k = 0; k < q; ++k) {
        const Jet& tap = at(h, reverse ? q - 1 - k : k);
        if (i == j + k) sum.add(at(x, j), tap);
      }
    y.push_back(sum.done());
  }
  return y;
}

using Convolve = Tensor (*)(const Operand&, const Operand&, reel::ConvolveMode, reel::ConvolveMethod,
                            const reel::Axes&);
void add_convolution(std::vector<Op>& t, const char* name, bool reverse, Convolve call) {
  Op o;
  o.name = name;
  o.weight = 0.5;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(1, 1);
    if (x < 0 || m.at(x).size() == 0) return false;
    const int h = m.input(m.source_elements < 10 ? Role::source : Role::constant, m.at(x).dtype, {m.between(1, 3)});
    if (h < 0) return false;
    s.ints = {m.below(3), m.below(2)};
    s.args = {Maker::arg(x), Maker::arg(h)};
    return true;
  };
  o.eval = [reverse](const Statement& s, const Inputs& in, Arrays& out) {
    const DType d = promoted(in);
    if (reel::is_complex(d) || in[0]->rank() != 1 || in[1]->rank() != 1 || in[0]->size() * in[1]->size() == 0)
      throw Unfit();
    round_like(computed(d));
    out.push_back(vector_of(computed(d), convolved(jets_of(*in[0]), jets_of(*in[1]), s.ints, reverse)));
  };
  o.call = [call](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(
        call(a[0], a[1], static_cast<reel::ConvolveMode>(s.ints[0]), static_cast<reel::ConvolveMethod>(s.ints[1]), {}));
  };
  o.text = [name](const Statement& s, const Strings& a) {
    return std::string(name) + "(" + a[0] + ", " + a[1] + ", static_cast<ConvolveMode>(" + std::to_string(s.ints[0]) +
           "), static_cast<ConvolveMethod>(" + std::to_string(s.ints[1]) + "))";
  };
  t.push_back(std::move(o));
}

void add_filter(std::vector<Op>& t) {
  Op o;
  o.name = "lfilter";
  o.weight = 0.6;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(1, 1);
    if (x < 0 || m.at(x).size() == 0) return false;
    const DType d = m.at(x).dtype;
    const Role role = m.source_elements < 8 ? Role::source : Role::constant;
    std::vector<double> list{2};
    for (std::int64_t k = m.between(0, 2); k > 0; --k) list.push_back(0.5 * static_cast<double>(m.between(-1, 1)));
    const int b = m.input(role, d, {m.between(1, 3)});
    if (b < 0) return false;
    const int a = m.input_of(d, {static_cast<std::int64_t>(list.size())}, list, role);
    if (a < 0) return false;
    s.args = {Maker::arg(b), Maker::arg(a), Maker::arg(x)};
    return true;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    const DType d = promoted(in);
    if (reel::is_complex(d) || in[2]->rank() != 1 || in[2]->size() == 0) throw Unfit();
    round_like(computed(d));
    const Jets b = jets_of(*in[0]), a = jets_of(*in[1]), x = jets_of(*in[2]);
    if (std::fabs(a[0].v[0]) < 0.5L) throw Unfit();
    out.push_back(vector_of(computed(d), filtered(b, a, x)));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::lfilter(a[0], a[1], a[2]));
  };
  t.push_back(std::move(o));
}

// One section of the last six numbers of a vector, and a second one whose coefficients are fixed.
void add_sections(std::vector<Op>& t) {
  Op o;
  o.name = "sosfilt";
  o.weight = 0.5;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(1, 1);
    if (x < 0 || m.at(x).size() == 0) return false;
    std::vector<double> list;
    for (int k = 0; k < 12; ++k) list.push_back(k % 6 == 3 ? 2 : 0.5 * static_cast<double>(m.between(-1, 1)));
    const int c = m.input_of(m.at(x).dtype, {2, 6}, list, m.source_elements < 4 ? Role::source : Role::constant);
    if (c < 0) return false;
    s.args = {Maker::arg(c), Maker::arg(x)};
    return true;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    const DType d = promoted(in);
    if (reel::is_complex(d) || in[1]->rank() != 1 || in[1]->size() == 0 || in[0]->shape != Extents{2, 6}) throw Unfit();
    round_like(computed(d));
    const Jets c = jets_of(*in[0]);
    for (const std::int64_t leading : {3, 9})
      if (std::fabs(at(c, leading).v[0]) < 0.5L) throw Unfit();
    out.push_back(vector_of(computed(d), cascaded(c, jets_of(*in[1]))));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::sosfilt(a[0], a[1]));
  };
  t.push_back(std::move(o));
}

// The cosine and sine sums of the segments of a row, less their means, times a window.
struct Segments {
  std::vector<Jets> re, im;  // of each segment
};
Segments segments_of(const Jets& x, const Jets& w, std::int64_t hop) {
  const std::int64_t n = size(w);
  Segments out;
  for (std::int64_t from = 0; from + n <= size(x); from += hop) {
    Sum<Jet> total;
    for (std::int64_t j = 0; j < n; ++j) total.add(at(x, from + j), 1 / static_cast<Real>(n));
    const Jet mean = total.done();
    Jets re, im;
    for (std::int64_t k = 0; k < n / 2 + 1; ++k) {
      Sum<Jet> cosines, sines;
      for (std::int64_t j = 0; j < n; ++j) {
        const Real angle = 2 * half_turn * static_cast<Real>(j * k) / static_cast<Real>(n);
        const Jet sample = (at(x, from + j) - mean) * at(w, j);
        cosines.add(sample, std::cos(angle));
        cosines.add(at(x, from + j) * at(w, j), 0);
        sines.add(sample, -std::sin(angle));
      }
      re.push_back(cosines.done());
      im.push_back(sines.done());
    }
    out.re.push_back(re);
    out.im.push_back(im);
  }
  return out;
}
// ints: hop, whether the real and the imaginary part of csd are added, or welch
void add_densities(std::vector<Op>& t, const char* name, bool cross) {
  Op o;
  o.name = name;
  o.weight = 0.4;
  o.make = [cross](Maker& m, Statement& s) {
    const int x = m.floating(1, 1);
    if (x < 0 || m.at(x).size() == 0) return false;
    const std::int64_t n = m.between(1, std::min<std::int64_t>(3, m.at(x).size()));
    std::vector<double> list;
    for (std::int64_t k = 0; k < n; ++k) list.push_back(0.5 * static_cast<double>(m.between(1, 3)));
    const int y = cross ? m.input(Role::constant, m.at(x).dtype, m.at(x).shape) : x;
    const int w = y < 0 ? -1 : m.input_of(m.at(x).dtype, {n}, list);
    if (w < 0) return false;
    s.ints = {m.between(1, n)};
    s.args = cross ? std::vector<Arg>{Maker::arg(x), Maker::arg(y), Maker::arg(w)}
                   : std::vector<Arg>{Maker::arg(x), Maker::arg(w)};
    return true;
  };
  o.eval = [cross](const Statement& s, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &y = *in[cross ? 1 : 0], &window = *in[cross ? 2 : 1];
    if (reel::is_complex(x.dtype) || x.rank() != 1 || y.shape != x.shape || window.size() > x.size()) throw Unfit();
    if (x.dtype != y.dtype || x.dtype != window.dtype) throw Unfit();
    const DType d = computed(x.dtype) == DType::float64 ? DType::float64 : DType::float32;
    if (x.dtype != d) throw Unfit();
    round_like(d);
    const Jets w = jets_of(window);
    const std::int64_t n = size(w);
    const Segments of_x = segments_of(jets_of(x), w, s.ints[0]), of_y = segments_of(jets_of(y), w, s.ints[0]);
    Jet squares;
    for (const Jet& v : w) squares = squares + v * v;
    Jets density;
    for (std::size_t k = 0; k < static_cast<std::size_t>(n / 2 + 1); ++k) {
      Sum<Jet> sum;
      for (std::size_t i = 0; i < of_x.re.size(); ++i) {
        sum.add(of_x.re[i][k], of_y.re[i][k]);
        sum.add(of_x.im[i][k], of_y.im[i][k]);
        if (cross) sum.add(of_x.re[i][k], of_y.im[i][k]), sum.add(of_x.im[i][k], Jet(0) - of_y.re[i][k]);
      }
      const bool alone = k == 0 || 2 * k == static_cast<std::size_t>(n);
      density.push_back(sum.done() * Jet((alone ? 1 : 2) / static_cast<Real>(of_x.re.size())) / squares);
    }
    out.push_back(vector_of(d, density));
  };
  o.call = [cross](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const reel::SpectrumOptions options{.hop = s.ints[0]};
    if (!cross) return out.push_back(reel::welch(a[0], a[1], options));
    const Tensor z = reel::csd(a[0], a[1], a[2], options);
    out.push_back(reel::real(z) + reel::imag(z));
  };
  o.text = [cross](const Statement& s, const Strings& a) {
    const std::string options = ", {.hop = " + std::to_string(s.ints[0]) + "})";
    if (!cross) return "welch(" + a[0] + ", " + a[1] + options;
    const std::string call = "csd(" + a[0] + ", " + a[1] + ", " + a[2] + options;
    return "real(" + call + ") + imag(" + call + ")";
  };
  t.push_back(std::move(o));
}

// The real and the imaginary part of the spectra of windows, added; and the signal of spectra whose parts are equal.
// ints: hop
void add_spectra(std::vector<Op>& t) {
  Op o;
  o.name = "stft";
  o.weight = 0.5;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(1, 1);
    if (x < 0 || m.at(x).size() == 0) return false;
    const std::int64_t n = m.between(1, std::min<std::int64_t>(3, m.at(x).size()));
    const int w = m.input(Role::constant, m.at(x).dtype, {n});
    if (w < 0) return false;
    s.ints = {m.between(1, n)};
    s.args = {Maker::arg(x), Maker::arg(w)};
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    if (reel::is_complex(in[0]->dtype) || in[0]->rank() != 1 || in[1]->size() > in[0]->size()) throw Unfit();
    const DType d = computed(in[0]->dtype) == DType::float64 ? DType::float64 : DType::float32;
    round_like(d);
    const Jets x = jets_of(*in[0]), w = jets_of(*in[1]);
    const std::int64_t n = size(w), hop = s.ints[0], windows = (size(x) - n) / hop + 1;
    Array y(d, {windows, n / 2 + 1});
    for (std::int64_t i = 0; i < windows; ++i)
      for (std::int64_t k = 0; k < n / 2 + 1; ++k) {
        Sum<Jet> sum;
        for (std::int64_t j = 0; j < n; ++j) {
          const Real angle = 2 * half_turn * static_cast<Real>(j * k) / static_cast<Real>(n);
          sum.add(at(x, i * hop + j) * at(w, j), std::cos(angle));
          sum.add(at(x, i * hop + j) * at(w, j), -std::sin(angle));
        }
        y[i * (n / 2 + 1) + k] = Num(sum.done());
      }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const Tensor y = reel::stft(a[0], a[1], s.ints[0]);
    out.push_back(reel::real(y) + reel::imag(y));
  };
  o.text = [](const Statement& s, const Strings& a) {
    const std::string call = "stft(" + a[0] + ", " + a[1] + ", " + std::to_string(s.ints[0]) + ")";
    return "real(" + call + ") + imag(" + call + ")";
  };
  t.push_back(o);

  o.name = "istft";
  o.make = [](Maker& m, Statement& s) {
    const int x = m.pick([](const Array& a) {
      return is_real_floating(a.dtype) && a.rank() == 2 && a.shape[0] > 0 && a.shape[1] > 0 && a.shape[1] < 4;
    });
    if (x < 0) return false;
    const std::int64_t n = 2 * m.at(x).shape[1] - 1;
    std::vector<double> list;
    for (std::int64_t k = 0; k < n; ++k) list.push_back(0.5 * static_cast<double>(m.between(1, 4)));
    const int w = m.input_of(m.at(x).dtype, {n}, list);
    if (w < 0) return false;
    s.ints = {m.between(1, n)};
    s.args = {Maker::arg(x), Maker::arg(w)};
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    if (reel::is_complex(x.dtype) || x.rank() != 2) throw Unfit();
    const DType d = computed(x.dtype) == DType::float64 ? DType::float64 : DType::float32;
    round_like(d);
    const Jets w = jets_of(*in[1]);
    const std::int64_t windows = x.shape[0], half = x.shape[1], n = size(w), hop = s.ints[0];
    if (n / 2 + 1 != half) throw Unfit();
    std::vector<Sum<Jet>> sums(static_cast<std::size_t>((windows - 1) * hop + n));
    Jets squares(sums.size());
    for (std::int64_t i = 0; i < windows; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const auto to = static_cast<std::size_t>(i * hop + j);
        for (std::int64_t k = 0; k < half; ++k) {
          const Real angle = 2 * half_turn * static_cast<Real>(j * k) / static_cast<Real>(n);
          const Real factor = k == 0 || 2 * k == n ? 1 : 2 * (std::cos(angle) - std::sin(angle));
          sums[to].add(x[i * half + k].re * at(w, j), factor / static_cast<Real>(n));
        }
        squares[to] = squares[to] + at(w, j) * at(w, j);
      }
    Jets y;
    for (std::size_t i = 0; i < sums.size(); ++i) y.push_back(sums[i].done() / squares[i]);
    out.push_back(vector_of(d, y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::istft(reel::make_complex(a[0], a[0]), a[1], s.ints[0]));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "istft(make_complex(" + a[0] + ", " + a[0] + "), " + a[1] + ", " + std::to_string(s.ints[0]) + ")";
  };
  t.push_back(std::move(o));
}

}  // namespace

void add_signals(std::vector<Op>& t) {
  for (const RowOp& op : row_ops) add(t, op);
  add_hadamard(t);
  add_convolution(t, "convolve", false, reel::convolve);
  add_convolution(t, "correlate", true, reel::correlate);
  add_filter(t);
  add_sections(t);
  add_densities(t, "welch", false);
  add_densities(t, "csd", true);
  add_spectra(t);
}

}  // namespace random_programs
