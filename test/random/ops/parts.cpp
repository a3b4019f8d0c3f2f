// Bits of integers, mantissas, scalings, polar forms and gates. ints of glu: the axis.
#include <cmath>
#include <reel/ops/parts.hpp>

#include "../program.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Tensor;

std::int64_t integer(const Num& x) { return static_cast<std::int64_t>(x.re.v[0]); }
// Modulo 2^bits, in two's complement.
Num wrapped(std::uint64_t bits, DType d) {
  return d == DType::int32 ? Num(static_cast<Real>(static_cast<std::int32_t>(bits)))
                           : Num(static_cast<Real>(static_cast<std::int64_t>(bits)));
}

struct BitOp {
  const char* name;
  int arity;
  std::int64_t low, high;  // of the second operand
  Num (*eval)(std::int64_t x, std::int64_t y, DType d);
  Tensor (*call)(const Operand& x, const Operand& y);
};

// Multiplies and divides by 2 step by step. The count is in range unless all bits are shifted out.
Num shifted_left(std::int64_t x, std::int64_t n, DType d) {
  if (n < 0 || n >= (d == DType::int32 ? 32 : 64)) return Num(0);
  auto bits = static_cast<std::uint64_t>(x);
  for (; n > 0; --n) bits += bits;
  return wrapped(bits, d);
}
Num shifted_right(std::int64_t x, std::int64_t n, DType) {
  if (n < 0 || n > 63) return Num(x < 0 ? -1 : 0);
  for (; n > 0; --n) x = static_cast<std::int64_t>(std::floor(static_cast<Real>(x) / 2));
  return Num(static_cast<Real>(x));
}
// Bit by bit.
Num both(std::int64_t x, std::int64_t y, DType d) {
  std::uint64_t bits = 0;
  for (int k = 0; k < 64; ++k)
    if ((x >> k) % 2 != 0 && (y >> k) % 2 != 0) bits += std::uint64_t{1} << k;
  return wrapped(bits, d);
}
// x | y = x + y - (x & y), x ^ y = (x | y) - (x & y).
Num either(std::int64_t x, std::int64_t y, DType d) {
  return Num(static_cast<Real>(x) + static_cast<Real>(y)) - both(x, y, d);
}
Num one_of_both(std::int64_t x, std::int64_t y, DType d) { return either(x, y, d) - both(x, y, d); }

const BitOp bit_ops[] = {
    {"bitwise_and", 2, -20, 20, both, reel::bitwise_and},
    {"bitwise_or", 2, -20, 20, either, reel::bitwise_or},
    {"bitwise_xor", 2, -20, 20, one_of_both, reel::bitwise_xor},
    {"bitwise_not", 1, 0, 0, [](std::int64_t x, std::int64_t, DType) { return Num(static_cast<Real>(-1 - x)); },
     [](const Operand& x, const Operand&) { return reel::bitwise_not(x); }},
    {"left_shift", 2, -1, 6, shifted_left, reel::left_shift},
    {"right_shift", 2, -1, 70, shifted_right, reel::right_shift},
};

void add_bits(std::vector<Op>& t, const BitOp& bit_op) {
  Op o;
  o.name = bit_op.name;
  o.make = [&bit_op](Maker& m, Statement& s) {
    const Extents shape = m.random_shape(0, 3);
    for (int k = 0; k < bit_op.arity; ++k) {
      const int x = k == 0 ? m.integers(shape, -20, 20) : m.integers(shape, bit_op.low, bit_op.high);
      if (x < 0) return false;
      s.args.push_back(Maker::arg(x));
    }
    return true;
  };
  o.eval = [&bit_op](const Statement&, const Inputs& in, Arrays& out) {
    const DType d = promoted(in);
    Array y(d, in[0]->shape);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = bit_op.eval(integer((*in[0])[i]), integer((*in.back())[i]), d);
    out.push_back(std::move(y));
  };
  o.call = [&bit_op](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(bit_op.call(a[0], a[a.size() - 1]));
  };
  t.push_back(std::move(o));
}

Num times_power(const Num& x, int n) { return {x.re * Jet(std::ldexp(Real{1}, n)), Jet(0)}; }

void add_mantissas(std::vector<Op>& t) {
  Op o;
  o.name = "frexp";
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating();
    if (x < 0) return false;
    s.args = {Maker::arg(x)};
    return true;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    Array y(in[0]->dtype, in[0]->shape);
    if (!is_real_floating(y.dtype)) throw Unfit();
    for (std::int64_t i = 0; i < y.size(); ++i) {
      int e = 0;
      const Real m = std::fabs(std::frexp((*in[0])[i].re.v[0], &e));
      if (!(m > 0.501L && m < 0.999L)) throw Unfit();  // between are jumps
      y[i] = times_power((*in[0])[i], -e);
    }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::frexp(a[0]).mantissa);
  };
  o.text = [](const Statement&, const std::vector<std::string>& a) { return "frexp(" + a[0] + ").mantissa"; };
  t.push_back(o);

  o.name = "ldexp";
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating();
    if (x < 0) return false;
    const int n = m.integers(m.at(x).shape, -2, 3);
    if (n < 0) return false;
    s.args = {Maker::arg(x), Maker::arg(n)};
    return true;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    Array y(in[0]->dtype, in[0]->shape);
    if (!is_real_floating(y.dtype) || !reel::is_integer(in[1]->dtype)) throw Unfit();
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = times_power((*in[0])[i], static_cast<int>(integer((*in[1])[i])));
    out.push_back(std::move(y));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::ldexp(a[0], a[1]));
  };
  o.text = {};
  t.push_back(std::move(o));
}

void add_glu(std::vector<Op>& t) {
  Op o;
  o.name = "glu";
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(1, 3);
    if (x < 0) return false;
    const Extents& shape = m.at(x).shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] % 2 == 0) s.ints = {static_cast<std::int64_t>(axis)};
    s.args = {Maker::arg(x)};
    return !s.ints.empty();
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    if (!is_real_floating(x.dtype)) throw Unfit();
    round_like(x.dtype);
    Extents shape = x.shape;
    const auto axis = static_cast<std::size_t>(s.ints[0]);
    const std::int64_t half = shape[axis] /= 2;
    std::int64_t inner = 1;
    for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
    Array y(x.dtype, shape);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const std::int64_t at = i + i / (half * inner) * half * inner;
      const Jet gate = rounded(Jet(1) / (Jet(1) + exp(Jet(0) - x[at + half * inner].re)), 8);
      y[i] = Num(x[at].re * gate);
    }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::glu(a[0], s.ints[0]));
  };
  o.text = [](const Statement& s, const std::vector<std::string>& a) {
    return "glu(" + a[0] + ", " + std::to_string(s.ints[0]) + ")";
  };
  t.push_back(std::move(o));
}

}  // namespace

void add_number_parts(std::vector<Op>& t) {
  for (const BitOp& op : bit_ops) add_bits(t, op);
  add_mantissas(t);
  add_glu(t);
}

}  // namespace random_programs
