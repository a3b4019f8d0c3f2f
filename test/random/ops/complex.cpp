// The ops of complex numbers: their own, and the complex forms of real ops, which the table holds as complex_name. A
// gradient is dL/d(re) + i dL/d(im). Branch cuts are not tested.
#include <reel/ops/parts.hpp>

#include "../rows.hpp"

namespace random_programs {

namespace {

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

using X = ArraysOf<Num>;
using Y = ArrayOf<Num>;

bool is_complex(const Array& a) { return reel::is_complex(a.dtype); }
DType own_dtype(const Inputs& in) {
  if (in[0]->dtype < DType::float16) throw Unfit();
  return in[0]->dtype;
}
template <class F>
Y of_each(const Y& x, const F& f) {
  Y y{x.shape, {}};
  for (const Num& z : x.values) y.values.push_back(f(z));
  return y;
}

// ---- Complex forms of ops of one operand, of magnitudes up to the limit

struct Holomorphic {
  const char* name;
  double limit;
  Num (*f)(const Num& z);
  Call call;
};
bool make_limited(Maker& m, Statement& s, double limit) {
  const int x = !m.complex ? -1 : m.pick([&](const Array& a) {
    if (!is_complex(a)) return false;
    for (const Num& n : a.data)
      if (static_cast<double>(std::fabs(n.re.v[0]) + std::fabs(n.im.v[0])) > limit) return false;
    return true;
  });
  s.args = {Maker::arg(x)};
  return x >= 0;
}
void add_holomorphic(std::vector<Op>& t, std::span<const Holomorphic> ops) {
  for (const Holomorphic& op : ops)
    t.push_back(row_op<Num>(
        std::string("complex_") + op.name, [&op](Maker& m, Statement& s) { return make_limited(m, s, op.limit); },
        own_dtype,
        [&op](X x, const Statement&) { return of_each(x[0], [&](const Num& z) { return settled(op.f(z), z); }); },
        op.call, {3}));
}

// ---- Ops of two operands

template <class F>
void add_binary(std::vector<Op>& t, const char* name, F f, Call call) {
  const auto make = [](Maker& m, Statement& s) {
    const int x = m.complex ? m.pick(is_complex) : -1;
    if (x < 0) return false;
    s.args = {Maker::arg(x), m.beside(x)};
    if (m.chance(0.5)) std::swap(s.args[0], s.args[1]);
    return true;
  };
  const auto dtype = [](const Inputs& in) {
    round_like(promoted(in));
    return promoted(in);
  };
  t.push_back(row_op<Num>(
      std::string("complex_") + name, make, dtype,
      [f](X x, const Statement&) { return cases::by_elements(x, [f](const Num* z) { return f(z[0], z[1]); }); }, call,
      {3}));
}
// A complex number made of two real ones.
template <class F>
void add_of_reals(std::vector<Op>& t, const char* name, double weight, F f, Call call) {
  const auto make = [](Maker& m, Statement& s) {
    const int x = m.complex ? m.floating() : -1;
    if (x < 0) return false;
    s.args = {Maker::arg(x), m.beside(x, false)};
    return true;
  };
  const auto dtype = [](const Inputs& in) {
    DType d = promoted(in);
    if (reel::is_complex(d)) throw Unfit();
    d = d < DType::float16 || d == DType::float64 ? DType::complex128 : DType::complex64;
    round_like(d);
    return d;
  };
  t.push_back(row_op<Num>(
      name, make, dtype,
      [f](X x, const Statement&) { return cases::by_elements(x, [f](const Num* z) { return f(z[0].re, z[1].re); }); },
      call, {weight}));
}

// ---- Of complex numbers to real ones, and back

DType real_dtype(const Inputs& in) { return real_of(own_dtype(in)); }
template <bool Reals>
bool make_part(Maker& m, Statement& s) {
  const int x = m.complex && m.chance(0.9) ? m.pick(is_complex) : Reals ? m.floating() : -1;
  s.args = {Maker::arg(x)};
  return x >= 0;
}
// f of complex numbers, or else of real ones.
template <class F, class G>
void add_part(std::vector<Op>& t, const char* name, DType (*dtype)(const Inputs&), F f, G of_reals, Call call) {
  Op own =
      row_op<Num>(name, make_part<true>, dtype, [f](X x, const Statement&) { return of_each(x[0], f); }, call, {3});
  const Op real = row_op<Num>(
      name, make_part<true>, dtype, [of_reals](X x, const Statement&) { return of_each(x[0], of_reals); }, call);
  own.eval = [f = own.eval, g = real.eval](const Statement& s, const Inputs& in, Arrays& out) {
    (is_complex(*in[0]) ? f : g)(s, in, out);
  };
  t.push_back(std::move(own));
}
void add_parts(std::vector<Op>& t) {
  const auto same_number = [](const Num& z) { return z; };
  const auto real_part = [](const Num& z) { return Num(z.re); };
  add_part(t, "real", real_dtype, real_part, real_part, REEL_CALL(reel::real(x[0])));
  add_part(
      t, "imag", real_dtype, [](const Num& z) { return Num(z.im); }, [](const Num&) { return Num(0); },
      REEL_CALL(reel::imag(x[0])));
  add_part(
      t, "conj", own_dtype, [](const Num& z) { return Num(z.re, -z.im); }, same_number, REEL_CALL(reel::conj(x[0])));
  add_part(
      t, "angle", real_dtype,
      [](const Num& z) {
        off_cut(z);
        return Num(rounded(arctan2(z.im, z.re), 8));
      },
      [](const Num& z) {
        return same(z.re, 0) || !less(z.re, 0) ? Num(0) : Num(rounded(Jet(3.14159265358979323846264338327950288L), 1));
      },
      REEL_CALL(reel::angle(x[0])));
  t.push_back(row_op<Num>("complex_abs", make_part<false>, real_dtype,
                          [](X x, const Statement&) {
                            return of_each(x[0], [](const Num& z) {
                              if (same(z.re, 0) && same(z.im, 0)) throw Unfit();
                              return Num(sqrt(z.re * z.re + z.im * z.im));
                            });
                          },
                          REEL_CALL(reel::abs(x[0])), {3}));
  add_of_reals(
      t, "make_complex", 6,
      [](const Jet& re, const Jet& im) {
        return Num{re, im};
      },
      REEL_CALL(reel::make_complex(x[0], x[1])));
  add_of_reals(
      t, "polar", 3,
      [](const Jet& size, const Jet& angle) {
        if (std::fabs(angle.v[0]) > 20) throw Unfit();
        return Num{rounded(size * cos(angle), 8), rounded(size * sin(angle), 8)};
      },
      REEL_CALL(reel::polar(x[0], x[1])));
}

// Complex numbers as pairs of real ones, and back.
void add_pairs(std::vector<Op>& t) {
  const auto make_complex_operand = [](Maker& m, Statement& s) {
    const int x = m.complex ? m.pick(is_complex) : -1;
    s.args = {Maker::arg(x)};
    return x >= 0;
  };
  const auto make_pairs = [](Maker& m, Statement& s) {
    const int x = !m.complex ? -1 : m.pick([](const Array& a) {
      return a.dtype >= DType::float16 && !is_complex(a) && !a.shape.empty() && a.shape.back() == 2;
    });
    s.args = {Maker::arg(x)};
    return x >= 0;
  };
  const auto to_pairs = [](X x, const Statement&) {
    Y y{x[0].shape, {}};
    y.shape.push_back(2);
    for (const Num& z : x[0].values) y.values.push_back(Num(z.re)), y.values.push_back(Num(z.im));
    return y;
  };
  const auto from_pairs = [](X x, const Statement&) {
    Y y{x[0].shape, {}};
    y.shape.pop_back();
    for (std::size_t i = 0; i + 1 < x[0].values.size(); i += 2)
      y.values.push_back(Num{x[0].values[i].re, x[0].values[i + 1].re});
    return y;
  };
  const auto real_of_complex = [](const Inputs& in) {
    if (!is_complex(*in[0])) throw Unfit();
    return real_of(in[0]->dtype);
  };
  const auto complex_of_pairs = [](const Inputs& in) {
    const Array& x = *in[0];
    if (x.dtype < DType::float16 || is_complex(x) || x.shape.empty() || x.shape.back() != 2) throw Unfit();
    return x.dtype == DType::float64 ? DType::complex128 : DType::complex64;
  };
  t.push_back(row_op<Num>("as_real", make_complex_operand, real_of_complex, to_pairs, REEL_CALL(reel::as_real(x[0])),
                          {4, true}));
  t.push_back(row_op<Num>("as_complex", make_pairs, complex_of_pairs, from_pairs, REEL_CALL(reel::as_complex(x[0])),
                          {8, true}));
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

// z, off the cut.
Num off(const Num& z) {
  off_cut(z);
  return z;
}
// The quotient of a by b, which must not be small.
Num quotient(const Num& a, const Num& b, Real least) {
  if (std::fabs(b.re.v[0]) + std::fabs(b.im.v[0]) < least) throw Unfit();
  return a / b;
}
Num arccos_of(const Num& z) { return Num(half_turn / 2) - arcsin_of(z); }
// i arccos(z) above the real axis, -i arccos(z) below it.
Num arccosh_of(const Num& z) { return z.im.v[0] > 0 ? i_times(arccos_of(z)) : minus_i_times(arccos_of(z)); }
Num sign_of(const Num& z) {
  if (std::fabs(z.re.v[0]) + std::fabs(z.im.v[0]) < 0.2L) throw Unfit();
  const Jet size = sqrt(z.re * z.re + z.im * z.im);
  return Num{z.re / size, z.im / size};
}

// clang-format off
const Holomorphic holomorphic[] = {
    {"sign", 60, sign_of, REEL_CALL(reel::sign(x[0]))},
    {"negative", 60, [](const Num& z) { return Num() - z; }, REEL_CALL(reel::negative(x[0]))},
    {"square", 6, [](const Num& z) { return z * z; }, REEL_CALL(reel::square(x[0]))},
    {"reciprocal", 60, [](const Num& z) { return Num(1) / off(z); }, REEL_CALL(reel::reciprocal(x[0]))},
    {"sqrt", 60, [](const Num& z) { return exp(scaled(log(off(z)), 0.5L)); }, REEL_CALL(reel::sqrt(x[0]))},
    {"exp", 3, [](const Num& z) { return exp(z); }, REEL_CALL(reel::exp(x[0]))},
    {"log", 60, [](const Num& z) { return log(off(z)); }, REEL_CALL(reel::log(x[0]))},
    {"sin", 3, sin_of, REEL_CALL(reel::sin(x[0]))},
    {"cos", 3, cos_of, REEL_CALL(reel::cos(x[0]))},
    {"tan", 2, [](const Num& z) { return quotient(sin_of(z), cos_of(z), 0.3L); }, REEL_CALL(reel::tan(x[0]))},
    {"sinh", 3, sinh_of, REEL_CALL(reel::sinh(x[0]))},
    {"cosh", 3, cosh_of, REEL_CALL(reel::cosh(x[0]))},
    {"tanh", 2, [](const Num& z) { return quotient(sinh_of(z), cosh_of(z), 0.3L); }, REEL_CALL(reel::tanh(x[0]))},
    {"arcsin", 6, arcsin_of, REEL_CALL(reel::arcsin(x[0]))},
    {"arccos", 6, arccos_of, REEL_CALL(reel::arccos(x[0]))},
    {"arcsinh", 6, [](const Num& z) { return minus_i_times(arcsin_of(i_times(z))); }, REEL_CALL(reel::arcsinh(x[0]))},
    {"arctan", 6, [](const Num& z) { return minus_i_times(arctanh_of(i_times(z))); }, REEL_CALL(reel::arctan(x[0]))},
    {"arctanh", 6, arctanh_of, REEL_CALL(reel::arctanh(x[0]))},
    {"arccosh", 6, arccosh_of, REEL_CALL(reel::arccosh(x[0]))},
    {"expm1", 3, [](const Num& z) { return exp(z) - Num(1); }, REEL_CALL(reel::expm1(x[0]))},
    {"exp2", 4, [](const Num& z) { return exp(scaled(z, log_of_2)); }, REEL_CALL(reel::exp2(x[0]))},
    {"log1p", 60, [](const Num& z) { return log(off(Num(1) + z)); }, REEL_CALL(reel::log1p(x[0]))},
    {"log2", 60, [](const Num& z) { return scaled(log(off(z)), 1 / log_of_2); }, REEL_CALL(reel::log2(x[0]))},
    {"log10", 60, [](const Num& z) { return scaled(log(off(z)), 1 / log_of_10); }, REEL_CALL(reel::log10(x[0]))},
};
// clang-format on

}  // namespace

void add_complex(std::vector<Op>& t) {
  add_parts(t);
  add_pairs(t);
  add_holomorphic(t, holomorphic);
  add_binary(
      t, "add", [](const Num& a, const Num& b) { return a + b; }, REEL_CALL(reel::add(x[0], x[1])));
  add_binary(
      t, "subtract", [](const Num& a, const Num& b) { return a - b; }, REEL_CALL(reel::subtract(x[0], x[1])));
  add_binary(
      t, "multiply", [](const Num& a, const Num& b) { return a * b; }, REEL_CALL(reel::multiply(x[0], x[1])));
  add_binary(
      t, "divide", [](const Num& a, const Num& b) { return settled(quotient(a, b, 0.2L), a); },
      REEL_CALL(reel::divide(x[0], x[1])));
  add_binary(
      t, "power", [](const Num& a, const Num& b) { return settled(exp(b * log(off(a))), a); },
      REEL_CALL(reel::power(x[0], x[1])));
}

}  // namespace random_programs
