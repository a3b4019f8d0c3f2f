// Fourier transforms: operands and calls. Spectra are complex numbers, or, where programs have none, sums of their
// parts.
#include <reel/fft.hpp>
#include <reel/ops/parts.hpp>

#include "../../fft/references/signals.hpp"
#include "../rows.hpp"

namespace random_programs {

namespace {

using namespace cases::signals;
using reel::FftNorm;
using reel::Operand;
using reel::Tensor;
using Strings = std::vector<std::string>;

DType complex_of(DType d) {
  return reel::is_complex(d) ? d : d < DType::float16 || d == DType::float64 ? DType::complex128 : DType::complex64;
}
DType real_of(DType d) { return complex_of(d) == DType::complex64 ? DType::float32 : DType::float64; }

// ints: norm, then for each axis of the call, in its order, the axis and n.
struct TransformOp {
  const char* name;
  Transform transform;
  int axes;  // 1; 2: the last two; 0: two or one
  Tensor (*call)(const Operand& x, const Ints& n);
};

FftNorm norm_of(const Ints& n) { return static_cast<FftNorm>(n[0]); }
// Every second of the ints, from this one on.
Ints every_second(const Ints& n, std::size_t from) {
  Ints s;
  for (; from < n.size(); from += 2) s.push_back(n[from]);
  return s;
}
Ints lengths_of(const Ints& n) { return every_second(n, 2); }
Ints axes_of(const Ints& n) { return every_second(n, 1); }
#define REEL_ALONG_ONE(op) [](const Operand& x, const Ints& n) { return reel::op(x, n[2], n[1], norm_of(n)); }
#define REEL_ALONG_ALL(op) \
  [](const Operand& x, const Ints& n) { return reel::op(x, lengths_of(n), axes_of(n), norm_of(n)); }

constexpr TransformOp transform_ops[] = {
    {"fft", fft_of, 1, REEL_ALONG_ONE(fft)},      {"ifft", ifft_of, 1, REEL_ALONG_ONE(ifft)},
    {"rfft", rfft_of, 1, REEL_ALONG_ONE(rfft)},   {"irfft", irfft_of, 1, REEL_ALONG_ONE(irfft)},
    {"hfft", hfft_of, 1, REEL_ALONG_ONE(hfft)},   {"ihfft", ihfft_of, 1, REEL_ALONG_ONE(ihfft)},
    {"fftn", fft_of, 0, REEL_ALONG_ALL(fftn)},    {"ifftn", ifft_of, 0, REEL_ALONG_ALL(ifftn)},
    {"rfftn", rfft_of, 0, REEL_ALONG_ALL(rfftn)}, {"irfftn", irfft_of, 0, REEL_ALONG_ALL(irfftn)},
    {"fft2", fft_of, 2, REEL_ALONG_ALL(fft2)},    {"ifft2", ifft_of, 2, REEL_ALONG_ALL(ifft2)},
    {"rfft2", rfft_of, 2, REEL_ALONG_ALL(rfft2)}, {"irfft2", irfft_of, 2, REEL_ALONG_ALL(irfft2)},
};

bool choose(Maker& m, int count, bool shift, const Array& x, Ints& n) {
  const int rank = x.rank();
  n = {m.below(3)};
  Ints axes;
  if (count == 2 && rank < 2) return false;
  if (count == 2)
    axes = {rank - 2, rank - 1};
  else
    axes = {m.below(rank)};
  if (count == 0 && rank > 1 && m.chance(0.6)) axes.push_back((axes[0] + 1 + m.below(rank - 1)) % rank);
  for (const std::int64_t axis : axes) {
    const std::int64_t extent = x.shape[static_cast<std::size_t>(axis)];
    if (extent == 0) return false;
    n.push_back(axis);
    n.push_back(shift ? extent : m.chance(0.4) ? extent : m.between(1, 5));
  }
  return true;
}

DType transform_dtype(const Inputs& in) {
  round_like(complex_of(in[0]->dtype));
  return complex_of(in[0]->dtype);
}
int operand(Maker& m, bool takes_complex) {
  if (!takes_complex || !m.complex) return m.floating(1, 3);
  return m.pick([](const Array& a) { return a.rank() > 0 && a.dtype >= DType::float16; });
}
// Without complex numbers in the program, a spectrum counts by the sum of its parts: reals are not empty.
void add(std::vector<Op>& t, const TransformOp& op) {
  Op o;
  o.name = op.name;
  o.weight = 0.3;
  o.body = true;
  o.make = [&op](Maker& m, Statement& s) {
    const int x = operand(m, op.transform.spectrum != Spectrum::half);
    if (x < 0 || !choose(m, op.axes, false, m.at(x), s.ints)) return false;
    if (op.transform.spectrum != Spectrum::whole && !m.complex) s.reals = {1};
    s.args = {Maker::arg(x)};
    return true;
  };
  o.eval = [&op](const Statement& s, const Inputs& in, Arrays& out) {
    const DType d = transform_dtype(in), r = real_of(d);
    ArrayOf<Complex<Jet>> x{in[0]->shape, {}};
    for (const Num& z : in[0]->data) x.values.push_back({z.re, z.im});
    const auto y = transformed(op.transform, x, axes_of(s.ints), lengths_of(s.ints), static_cast<int>(s.ints[0]));
    const bool real = op.transform.spectrum == Spectrum::whole;
    Array z(real || !s.reals.empty() ? r : d, y.shape);
    round_like(z.dtype);
    if (z.size() > 200) throw Unfit();
    for (std::size_t i = 0; i < z.data.size(); ++i) {
      const Complex<Jet>& one = y.values[i];
      z.data[i] = real ? Num(one.re) : s.reals.empty() ? Num(one.re, one.im) : Num(one.re + one.im);
    }
    out.push_back(std::move(z));
  };
  o.call = [&op](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const Tensor y = op.call(a[0], s.ints);
    out.push_back(s.reals.empty() ? y : reel::real(y) + reel::imag(y));
  };
  o.text = [&op](const Statement& s, const Strings& a) {
    std::string call = std::string(op.name) + "(" + a[0];
    if (op.axes == 1)
      call += ", " + std::to_string(s.ints[2]) + ", " + std::to_string(s.ints[1]);
    else
      call += ", " + braces(lengths_of(s.ints)) + ", " + braces(axes_of(s.ints));
    call += ", static_cast<FftNorm>(" + std::to_string(s.ints[0]) + "))";
    return s.reals.empty() ? call : "real(" + call + ") + imag(" + call + ")";
  };
  t.push_back(std::move(o));
}

bool make_shift(Maker& m, Statement& s) {
  const int x = operand(m, true);
  s.args = {Maker::arg(x)};
  return x >= 0 && choose(m, 0, true, m.at(x), s.ints);
}
template <bool Back>
ArrayOf<Num> shifted(ArraysOf<Num> x, const Statement& s) {
  return half_rolled(x[0], axes_of(s.ints), Back);
}
DType own_dtype(const Inputs& in) { return in[0]->dtype; }

}  // namespace

void add_transforms(std::vector<Op>& t) {
  for (const TransformOp& op : transform_ops) add(t, op);
  t.push_back(row_op<Num>("fftshift", make_shift, own_dtype, shifted<false>,
                          REEL_CALL(reel::fftshift(x[0], reel::Axes(axes_of(i)))), {0.3, true}));
  t.push_back(row_op<Num>("ifftshift", make_shift, own_dtype, shifted<true>,
                          REEL_CALL(reel::ifftshift(x[0], reel::Axes(axes_of(i)))), {0.3, true}));
}

}  // namespace random_programs
