// Fourier transforms as sums of products with roots of unity. Spectra are complex numbers, or, where programs have
// none, sums of their parts.
#include <algorithm>
#include <cmath>
#include <reel/fft.hpp>
#include <reel/ops/parts.hpp>

#include "../program.hpp"

namespace random_programs {

namespace {

using reel::FftNorm;
using reel::Operand;
using reel::Shape;
using reel::Tensor;
using Ints = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

constexpr Real full_turn = 6.283185307179586476925286766559005768L;

Array shaped_like(const Array& x, int axis, std::int64_t n) {
  Extents shape = x.shape;
  shape[static_cast<std::size_t>(axis)] = n;
  return Array(x.dtype, shape);
}
DType complex_of(DType d) {
  return reel::is_complex(d) ? d : d < DType::float16 || d == DType::float64 ? DType::complex128 : DType::complex64;
}
DType real_of(DType d) { return complex_of(d) == DType::complex64 ? DType::float32 : DType::float64; }

// scale * the sum over j of exp(sign i j k / n full_turn) x[j], with the error of sums whose terms have the size of the
// largest number.
Array transformed(const Array& x, int axis, std::int64_t n, int sign, Real scale) {
  Array y = shaped_like(x, axis, n);
  y.dtype = complex_of(x.dtype);
  round_like(y.dtype);
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t extent = x.shape[a];
  for (std::int64_t i = 0; i < y.size(); ++i) {
    Extents at = indices_of(y.shape, i);
    const std::int64_t k = at[a];
    Num sum;
    double size[8] = {};
    {
      const Exactly exactly;
      for (std::int64_t j = 0; j < std::min(n, extent); ++j) {
        at[a] = j;
        const Num& one = x[position_of(x.shape, at)];
        const Real angle = full_turn * static_cast<Real>(j * k % n) / static_cast<Real>(n);
        const Jet c(std::cos(angle) * scale), w(static_cast<Real>(sign) * std::sin(angle) * scale);
        // By parts: programs without complex numbers leave out imaginary ones.
        sum.re = sum.re + one.re * c - one.im * w;
        sum.im = sum.im + one.re * w + one.im * c;
        for (int m = 0; m < Jet::count; ++m)
          size[m] += static_cast<double>((std::fabs(one.re.v[m]) + std::fabs(one.im.v[m])) * scale);
      }
    }
    for (int m = 0; m < Jet::count; ++m) {
      sum.re.e[m] += 16 * Jet::unit * size[m];
      sum.im.e[m] += 16 * Jet::unit * size[m];
    }
    y[i] = sum;
  }
  return y;
}
Array first(const Array& x, int axis, std::int64_t n) {
  Array y = shaped_like(x, axis, n);
  for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[position_of(x.shape, indices_of(y.shape, i))];
  return y;
}
Array real_part(Array x) {
  x.dtype = real_of(x.dtype);
  for (Num& z : x.data) z.im = Jet(0);
  return x;
}
Array conjugate(Array x) {
  for (Num& z : x.data) z.im = Jet(0) - z.im;
  return x;
}
// The n numbers of which x is the first half.
Array mirrored(const Array& x, int axis, std::int64_t n) {
  Array y = shaped_like(x, axis, n);
  const auto a = static_cast<std::size_t>(axis);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    Extents at = indices_of(y.shape, i);
    const bool far = 2 * at[a] > n;
    if (far) at[a] = n - at[a];
    if (at[a] >= x.shape[a]) continue;
    Num z = x[position_of(x.shape, at)];
    if (far) z.im = Jet(0) - z.im;
    if (at[a] == 0 || 2 * at[a] == n) z.im = Jet(0);
    y[i] = z;
  }
  return y;
}
Real scale_of(std::int64_t norm, bool inverse, std::int64_t n) {
  if (norm == 1) return 1 / std::sqrt(static_cast<Real>(n));
  return (norm == 0) == inverse ? 1 / static_cast<Real>(n) : 1;
}

enum Kind { complex, half, whole, shift };
// ints: norm, then for each axis of the call, in its order, the axis and n.
struct TransformOp {
  const char* name;
  Kind kind;
  bool inverse;  // the sign and, for hfft and ihfft, the norm
  int axes;      // 1; 2: the last two; 0: two or one
  Tensor (*call)(const Operand& x, const Ints& n);
};

FftNorm norm_of(const Ints& n) { return static_cast<FftNorm>(n[0]); }
Shape lengths_of(const Ints& n) {
  Shape s;
  for (std::size_t i = 2; i < n.size(); i += 2) s.push_back(n[i]);
  return s;
}
Shape axes_of(const Ints& n) {
  Shape s;
  for (std::size_t i = 1; i < n.size(); i += 2) s.push_back(n[i]);
  return s;
}
#define REEL_ALONG_ONE(op) [](const Operand& x, const Ints& n) { return reel::op(x, n[2], n[1], norm_of(n)); }
#define REEL_ALONG_ALL(op) \
  [](const Operand& x, const Ints& n) { return reel::op(x, lengths_of(n), axes_of(n), norm_of(n)); }

constexpr TransformOp transform_ops[] = {
    {"fft", complex, false, 1, REEL_ALONG_ONE(fft)},
    {"ifft", complex, true, 1, REEL_ALONG_ONE(ifft)},
    {"rfft", half, false, 1, REEL_ALONG_ONE(rfft)},
    {"irfft", whole, true, 1, REEL_ALONG_ONE(irfft)},
    {"hfft", whole, false, 1, REEL_ALONG_ONE(hfft)},
    {"ihfft", half, true, 1, REEL_ALONG_ONE(ihfft)},
    {"fftn", complex, false, 0, REEL_ALONG_ALL(fftn)},
    {"ifftn", complex, true, 0, REEL_ALONG_ALL(ifftn)},
    {"rfftn", half, false, 0, REEL_ALONG_ALL(rfftn)},
    {"irfftn", whole, true, 0, REEL_ALONG_ALL(irfftn)},
    {"fft2", complex, false, 2, REEL_ALONG_ALL(fft2)},
    {"ifft2", complex, true, 2, REEL_ALONG_ALL(ifft2)},
    {"rfft2", half, false, 2, REEL_ALONG_ALL(rfft2)},
    {"irfft2", whole, true, 2, REEL_ALONG_ALL(irfft2)},
    {"fftshift", shift, false, 0, [](const Operand& x, const Ints& n) { return reel::fftshift(x, axes_of(n)); }},
    {"ifftshift", shift, true, 0, [](const Operand& x, const Ints& n) { return reel::ifftshift(x, axes_of(n)); }},
};

Array shifted(const Array& x, int axis, bool inverse) {
  Array y(x.dtype, x.shape);
  const auto a = static_cast<std::size_t>(axis);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    Extents at = indices_of(y.shape, i);
    const std::int64_t n = x.shape[a];
    at[a] = (at[a] + (inverse ? n / 2 : n - n / 2)) % n;
    y[i] = x[position_of(x.shape, at)];
  }
  return y;
}

Array evaluated(const TransformOp& op, const Array& given, const Ints& n) {
  const bool mirror = op.name[0] == 'h' || op.name[1] == 'h';  // hfft, ihfft
  Array x = given;
  const std::size_t count = n.size() / 2;
  for (std::size_t step = 0; step < count; ++step) {
    // The halved axis is the first to be halved and the last to be made whole.
    const std::size_t i = op.kind == whole ? step : count - 1 - step;
    const auto axis = static_cast<int>(n[2 * i + 1]);
    const std::int64_t length = n[2 * i + 2];
    const Real scale = scale_of(n[0], op.inverse, length);
    if (op.kind == shift) {
      x = shifted(x, axis, op.inverse);
    } else if (op.kind == whole && i + 1 == count) {
      x.dtype = complex_of(x.dtype);
      x = real_part(transformed(mirrored(mirror ? conjugate(x) : x, axis, length), axis, length, 1, scale));
    } else if (op.kind == half && i + 1 == count) {
      x = first(transformed(x, axis, length, -1, scale), axis, length / 2 + 1);
      if (mirror) x = conjugate(x);
    } else {
      x = transformed(x, axis, length, op.inverse ? 1 : -1, scale);
    }
  }
  return x;
}

bool choose(Maker& m, const TransformOp& op, const Array& x, Ints& n) {
  const int rank = x.rank();
  n = {m.below(3)};
  Ints axes;
  if (op.axes == 2 && rank < 2) return false;
  if (op.axes == 2)
    axes = {rank - 2, rank - 1};
  else
    axes = {m.below(rank)};
  if (op.axes == 0 && rank > 1 && m.chance(0.6)) axes.push_back((axes[0] + 1 + m.below(rank - 1)) % rank);
  for (const std::int64_t axis : axes) {
    const std::int64_t extent = x.shape[static_cast<std::size_t>(axis)];
    if (extent == 0) return false;
    n.push_back(axis);
    n.push_back(op.kind == shift ? extent : m.chance(0.4) ? extent : m.between(1, 5));
  }
  return true;
}

// Without complex numbers in the program, a spectrum counts by the sum of its parts.
void add(std::vector<Op>& t, const TransformOp& op) {
  Op o;
  o.name = op.name;
  o.weight = 0.3;
  o.body = true;
  o.make = [&op](Maker& m, Statement& s) {
    const bool takes_complex = op.kind != half;
    const int x = takes_complex && m.complex
                      ? m.pick([](const Array& a) { return a.rank() > 0 && a.dtype >= DType::float16; })
                      : m.floating(1, 3);
    if (x < 0 || !choose(m, op, m.at(x), s.ints)) return false;
    if (op.kind != shift && op.kind != whole && !m.complex) s.reals = {1};
    s.args = {Maker::arg(x)};
    return true;
  };
  o.eval = [&op](const Statement& s, const Inputs& in, Arrays& out) {
    Array y = evaluated(op, *in[0], s.ints);
    if (y.size() > 200) throw Unfit();
    if (!s.reals.empty()) {
      y.dtype = real_of(y.dtype);
      round_like(y.dtype);
      for (Num& z : y.data) z = Num(z.re + z.im);
    }
    out.push_back(std::move(y));
  };
  o.call = [&op](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const Tensor y = op.call(a[0], s.ints);
    out.push_back(s.reals.empty() ? y : reel::real(y) + reel::imag(y));
  };
  o.text = [&op](const Statement& s, const Strings& a) {
    const std::string norm = ", static_cast<FftNorm>(" + std::to_string(s.ints[0]) + "))";
    std::string call = std::string(op.name) + "(" + a[0];
    if (op.kind == shift) {
      const Shape axes = axes_of(s.ints);
      return call + ", Axes" + braces({axes.begin(), axes.end()}) + ")";
    }
    if (op.axes == 1) {
      call += ", " + std::to_string(s.ints[2]) + ", " + std::to_string(s.ints[1]) + norm;
    } else {
      const Shape lengths = lengths_of(s.ints), axes = axes_of(s.ints);
      call += ", " + braces({lengths.begin(), lengths.end()}) + ", " + braces({axes.begin(), axes.end()}) + norm;
    }
    return s.reals.empty() ? call : "real(" + call + ") + imag(" + call + ")";
  };
  t.push_back(std::move(o));
}

}  // namespace

void add_transforms(std::vector<Op>& t) {
  for (const TransformOp& op : transform_ops) add(t, op);
}

}  // namespace random_programs
