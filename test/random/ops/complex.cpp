// The ops of complex numbers: their own, and the complex forms of real ops, which the table holds as complex_name. A
// gradient is dL/d(re) + i dL/d(im). Branch cuts are not tested.
#include <reel/ops/parts.hpp>

#include "../program.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Tensor;

DType real_of(DType d) { return d == DType::complex64 ? DType::float32 : d == DType::complex128 ? DType::float64 : d; }

// Far from 0 and from the negative axis, where `log` and its like have their cut.
void off_cut(const Num& z) {
  if (std::fabs(z.re.v[0]) + std::fabs(z.im.v[0]) < 0.2L) throw Unfit();
  if (z.re.v[0] < 0 && std::fabs(z.im.v[0]) < 0.05L) throw Unfit();
}
Num scaled(const Num& z, Real s) { return {z.re * Jet(s), z.im * Jet(s)}; }
Num i_times(const Num& z) { return {-z.im, z.re}; }
Num sinh_of(const Num& z) { return scaled(exp(z) - exp(Num() - z), 0.5L); }
Num cosh_of(const Num& z) { return scaled(exp(z) + exp(Num() - z), 0.5L); }
Num sin_of(const Num& z) { return Num() - i_times(sinh_of(i_times(z))); }
Num cos_of(const Num& z) { return cosh_of(i_times(z)); }

/// All roundings at the size of the whole number.
Num settled(Num z, const Num& x) {
  for (int m = 0; m < Jet::count; ++m) {
    const double size =
        static_cast<double>(std::fabs(z.re.v[m]) + std::fabs(z.im.v[m]) + std::fabs(x.re.v[m]) + std::fabs(x.im.v[m]));
    z.re.e[m] += 8 * Jet::unit * size, z.im.e[m] += 8 * Jet::unit * size;
  }
  return z;
}

void add_holomorphic(std::vector<Op>& t, const char* name, Tensor (*call)(const Operand&), Num (*f)(const Num&),
                     double limit) {
  Op o;
  o.name = std::string("complex_") + name;
  o.weight = 3;
  o.make = [limit](Maker& m, Statement& s) {
    if (!m.complex) return false;
    const int x = m.pick([&](const Array& a) {
      if (!reel::is_complex(a.dtype)) return false;
      for (const Num& n : a.data)
        if (static_cast<double>(std::fabs(n.re.v[0]) + std::fabs(n.im.v[0])) > limit) return false;
      return true;
    });
    if (x < 0) return false;
    s.args = {Maker::arg(x)};
    return true;
  };
  o.eval = [f](const Statement&, const Inputs& in, Arrays& out) {
    Array y(in[0]->dtype, in[0]->shape);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = settled(f((*in[0])[i]), (*in[0])[i]);
    out.push_back(std::move(y));
  };
  o.call = [call](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(call(a[0])); };
  o.text = [name](const Statement&, const std::vector<std::string>& a) { return name + ("(" + a[0]) + ")"; };
  t.push_back(std::move(o));
}

void add_binary(std::vector<Op>& t, const char* name, Tensor (*call)(const Operand&, const Operand&),
                Num (*f)(const Num&, const Num&)) {
  Op o;
  o.name = std::string("complex_") + name;
  o.weight = 3;
  o.make = [](Maker& m, Statement& s) {
    if (!m.complex) return false;
    const int x = m.pick([](const Array& a) { return reel::is_complex(a.dtype); });
    if (x < 0) return false;
    s.args = {Maker::arg(x), m.beside(x)};
    if (m.chance(0.5)) std::swap(s.args[0], s.args[1]);
    return true;
  };
  o.eval = [f](const Statement&, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &y = *in[1];
    Array z(promoted(in), broadcast_shapes(x.shape, y.shape));
    round_like(z.dtype);
    for (std::int64_t i = 0; i < z.size(); ++i)
      z[i] = f(x[broadcast_index(x.shape, z.shape, i)], y[broadcast_index(y.shape, z.shape, i)]);
    out.push_back(std::move(z));
  };
  o.call = [call](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(call(a[0], a[1])); };
  o.text = [name](const Statement&, const std::vector<std::string>& a) {
    return name + ("(" + a[0]) + ", " + a[1] + ")";
  };
  t.push_back(std::move(o));
}

// A complex number made of two real ones.
void add_of_reals(std::vector<Op>& t, const char* name, int weight, Tensor (*call)(const Operand&, const Operand&),
                  Num (*f)(const Jet&, const Jet&)) {
  Op o;
  o.name = name;
  o.weight = weight;
  o.make = [](Maker& m, Statement& s) {
    if (!m.complex) return false;
    const int x = m.floating();
    if (x < 0) return false;
    s.args = {Maker::arg(x), m.beside(x, false)};
    return true;
  };
  o.eval = [f](const Statement&, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &y = *in[1];
    DType d = promoted(in);
    if (reel::is_complex(d)) throw Unfit();
    d = d < DType::float16 || d == DType::float64 ? DType::complex128 : DType::complex64;
    round_like(d);
    Array z(d, broadcast_shapes(x.shape, y.shape));
    for (std::int64_t i = 0; i < z.size(); ++i)
      z[i] = f(x[broadcast_index(x.shape, z.shape, i)].re, y[broadcast_index(y.shape, z.shape, i)].re);
    out.push_back(std::move(z));
  };
  o.call = [call](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(call(a[0], a[1])); };
  t.push_back(std::move(o));
}

// Of complex numbers to real ones, and back.
void add_parts(std::vector<Op>& t) {
  const auto add = [&t](const char* name, Tensor (*call)(const Operand&), bool to_real, bool reals,
                        Num (*f)(const Num&, bool complex)) {
    Op o;
    o.name = name;
    o.weight = 3;
    o.make = [reals](Maker& m, Statement& s) {
      const int x = m.complex && m.chance(0.9) ? m.pick([](const Array& a) { return reel::is_complex(a.dtype); })
                    : reals                    ? m.floating()
                                               : -1;
      if (x < 0) return false;
      s.args = {Maker::arg(x)};
      return true;
    };
    o.eval = [to_real, f](const Statement&, const Inputs& in, Arrays& out) {
      const Array& x = *in[0];
      if (x.dtype < DType::float16) throw Unfit();
      Array y(to_real ? real_of(x.dtype) : x.dtype, x.shape);
      for (std::int64_t i = 0; i < y.size(); ++i) y[i] = f(x[i], reel::is_complex(x.dtype));
      out.push_back(std::move(y));
    };
    o.call = [call](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(call(a[0])); };
    o.text = [name](const Statement&, const std::vector<std::string>& a) {
      return std::string(std::string(name) == "complex_abs" ? "abs" : name) + "(" + a[0] + ")";
    };
    t.push_back(std::move(o));
  };
  add("real", reel::real, true, true, [](const Num& z, bool) { return Num(z.re); });
  add("imag", reel::imag, true, true, [](const Num& z, bool complex) { return complex ? Num(z.im) : Num(0); });
  add("conj", reel::conj, false, true, [](const Num& z, bool complex) { return complex ? Num(z.re, -z.im) : z; });
  add("angle", reel::angle, true, true, [](const Num& z, bool complex) {
    if (!complex)
      return same(z.re, 0) || !less(z.re, 0) ? Num(0) : Num(rounded(Jet(3.14159265358979323846264338327950288L), 1));
    off_cut(z);
    return Num(rounded(arctan2(z.im, z.re), 8));
  });
  add("complex_abs", reel::abs, true, false, [](const Num& z, bool) {
    if (same(z.re, 0) && same(z.im, 0)) throw Unfit();
    return Num(sqrt(z.re * z.re + z.im * z.im));
  });

  add_of_reals(t, "make_complex", 6, reel::make_complex, [](const Jet& re, const Jet& im) { return Num{re, im}; });
  add_of_reals(t, "polar", 3, reel::polar, [](const Jet& size, const Jet& angle) {
    if (std::fabs(angle.v[0]) > 20) throw Unfit();
    return Num{rounded(size * cos(angle), 8), rounded(size * sin(angle), 8)};
  });
}

// Complex numbers as pairs of real ones, and back.
void add_pairs(std::vector<Op>& t) {
  Op o;
  o.name = "as_real";
  o.weight = 4;
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.complex ? m.pick([](const Array& a) { return reel::is_complex(a.dtype); }) : -1;
    if (x < 0) return false;
    s.args = {Maker::arg(x)};
    return true;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    if (!reel::is_complex(x.dtype)) throw Unfit();
    Extents shape = x.shape;
    shape.push_back(2);
    Array y(real_of(x.dtype), shape);
    for (std::int64_t i = 0; i < x.size(); ++i) y[2 * i] = Num(x[i].re), y[2 * i + 1] = Num(x[i].im);
    out.push_back(std::move(y));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(reel::as_real(a[0])); };
  t.push_back(o);

  o.name = "as_complex";
  o.weight = 8;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.complex ? m.pick([](const Array& a) {
      return a.dtype >= DType::float16 && !reel::is_complex(a.dtype) && !a.shape.empty() && a.shape.back() == 2;
    })
                            : -1;
    if (x < 0) return false;
    s.args = {Maker::arg(x)};
    return true;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    if (x.dtype < DType::float16 || reel::is_complex(x.dtype) || x.shape.empty() || x.shape.back() != 2) throw Unfit();
    Extents shape = x.shape;
    shape.pop_back();
    Array y(x.dtype == DType::float64 ? DType::complex128 : DType::complex64, shape);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = Num{x[2 * i].re, x[2 * i + 1].re};
    out.push_back(std::move(y));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(reel::as_complex(a[0])); };
  t.push_back(std::move(o));
}

// The square root of 1 - z^2 with the cuts of arcsin, off which z has to be.
Num root_of_one_less_square(const Num& z) {
  const auto off_real_axis = [](const Num& w) {
    if (std::fabs(w.im.v[0]) < 0.05L) throw Unfit();
  };
  off_real_axis(z);
  const auto root = [](const Num& w) { return exp(scaled(log(w), 0.5L)); };
  return root(Num(1) - z) * root(Num(1) + z);
}
Num arcsin_of(const Num& z) {
  const Num w = i_times(z) + root_of_one_less_square(z);
  off_cut(w);
  return Num() - i_times(log(w));
}
Num arctanh_of(const Num& z) {
  if (std::fabs(z.im.v[0]) < 0.05L) throw Unfit();
  return scaled(log(Num(1) + z) - log(Num(1) - z), 0.5L);
}
Num minus_i_times(const Num& z) { return {z.im, -z.re}; }
constexpr Real half_turn = 3.14159265358979323846264338327950288L, log_of_2 = 0.693147180559945309417232121458176568L,
               log_of_10 = 2.302585092994045684017991454684364208L;

// By logarithms.
void add_elementary(std::vector<Op>& t) {
  add_holomorphic(t, "arcsin", reel::arcsin, arcsin_of, 6);
  add_holomorphic(
      t, "arccos", reel::arccos, [](const Num& z) { return Num(half_turn / 2) - arcsin_of(z); }, 6);
  add_holomorphic(
      t, "arcsinh", reel::arcsinh, [](const Num& z) { return minus_i_times(arcsin_of(i_times(z))); }, 6);
  add_holomorphic(
      t, "arctan", reel::arctan, [](const Num& z) { return minus_i_times(arctanh_of(i_times(z))); }, 6);
  add_holomorphic(t, "arctanh", reel::arctanh, arctanh_of, 6);
  // i arccos(z) above the real axis, -i arccos(z) below it.
  add_holomorphic(
      t, "arccosh", reel::arccosh,
      [](const Num& z) {
        const Num a = Num(half_turn / 2) - arcsin_of(z);
        return z.im.v[0] > 0 ? i_times(a) : minus_i_times(a);
      },
      6);
  add_holomorphic(
      t, "expm1", reel::expm1, [](const Num& z) { return exp(z) - Num(1); }, 3);
  add_holomorphic(
      t, "exp2", reel::exp2, [](const Num& z) { return exp(scaled(z, log_of_2)); }, 4);
  add_holomorphic(
      t, "log1p", reel::log1p,
      [](const Num& z) {
        off_cut(Num(1) + z);
        return log(Num(1) + z);
      },
      60);
  add_holomorphic(
      t, "log2", reel::log2,
      [](const Num& z) {
        off_cut(z);
        return scaled(log(z), 1 / log_of_2);
      },
      60);
  add_holomorphic(
      t, "log10", reel::log10,
      [](const Num& z) {
        off_cut(z);
        return scaled(log(z), 1 / log_of_10);
      },
      60);
}

}  // namespace

void add_complex(std::vector<Op>& t) {
  add_parts(t);
  add_pairs(t);
  add_holomorphic(
      t, "sign", reel::sign,
      [](const Num& z) {
        if (std::fabs(z.re.v[0]) + std::fabs(z.im.v[0]) < 0.2L) throw Unfit();
        const Jet size = sqrt(z.re * z.re + z.im * z.im);
        return Num{z.re / size, z.im / size};
      },
      60);
  add_holomorphic(
      t, "negative", reel::negative, [](const Num& z) { return Num() - z; }, 60);
  add_holomorphic(
      t, "square", reel::square, [](const Num& z) { return z * z; }, 6);
  add_holomorphic(
      t, "reciprocal", reel::reciprocal,
      [](const Num& z) {
        off_cut(z);
        return Num(1) / z;
      },
      60);
  add_holomorphic(
      t, "sqrt", reel::sqrt,
      [](const Num& z) {
        off_cut(z);
        return exp(scaled(log(z), 0.5L));
      },
      60);
  add_holomorphic(
      t, "exp", reel::exp, [](const Num& z) { return exp(z); }, 3);
  add_holomorphic(
      t, "log", reel::log,
      [](const Num& z) {
        off_cut(z);
        return log(z);
      },
      60);
  add_holomorphic(t, "sin", reel::sin, sin_of, 3);
  add_holomorphic(t, "cos", reel::cos, cos_of, 3);
  add_holomorphic(
      t, "tan", reel::tan,
      [](const Num& z) {
        const Num c = cos_of(z);
        if (std::fabs(c.re.v[0]) + std::fabs(c.im.v[0]) < 0.3L) throw Unfit();
        return sin_of(z) / c;
      },
      2);
  add_holomorphic(t, "sinh", reel::sinh, sinh_of, 3);
  add_holomorphic(t, "cosh", reel::cosh, cosh_of, 3);
  add_holomorphic(
      t, "tanh", reel::tanh,
      [](const Num& z) {
        const Num c = cosh_of(z);
        if (std::fabs(c.re.v[0]) + std::fabs(c.im.v[0]) < 0.3L) throw Unfit();
        return sinh_of(z) / c;
      },
      2);
  add_elementary(t);
  add_binary(t, "add", reel::add, [](const Num& x, const Num& y) { return x + y; });
  add_binary(t, "subtract", reel::subtract, [](const Num& x, const Num& y) { return x - y; });
  add_binary(t, "multiply", reel::multiply, [](const Num& x, const Num& y) { return x * y; });
  add_binary(t, "divide", reel::divide, [](const Num& x, const Num& y) {
    if (std::fabs(y.re.v[0]) + std::fabs(y.im.v[0]) < 0.2L) throw Unfit();
    return settled(x / y, x);
  });
  add_binary(t, "power", reel::power, [](const Num& x, const Num& y) {
    off_cut(x);
    return settled(exp(y * log(x)), x);
  });
}

}  // namespace random_programs
