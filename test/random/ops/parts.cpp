// Bits of integers, mantissas, scalings and gates: operands and calls.
#include "../../op_cases/references/parts.hpp"

#include <reel/ops/parts.hpp>

#include "../rows.hpp"

namespace random_programs {

namespace {

using namespace cases::numbers;
using JetArrays = ArraysOf<Jet>;

std::int64_t integer(const Jet& x) { return static_cast<std::int64_t>(x.v[0]); }

// The second operand is between low and high; without one, the first is the second.
struct BitOp {
  const char* name;
  int arity;
  std::int64_t low, high;
  std::int64_t (*reference)(std::int64_t x, std::int64_t y, int bits);
  Call call;
};
using I = std::int64_t;
// clang-format off
const BitOp bit_ops[] = {
    {"bitwise_and", 2, -20, 20, [](I x, I y, int) { return x & y; }, REEL_CALL(reel::bitwise_and(x[0], x[1]))},
    {"bitwise_or", 2, -20, 20, [](I x, I y, int) { return x | y; }, REEL_CALL(reel::bitwise_or(x[0], x[1]))},
    {"bitwise_xor", 2, -20, 20, [](I x, I y, int) { return x ^ y; }, REEL_CALL(reel::bitwise_xor(x[0], x[1]))},
    {"bitwise_not", 1, 0, 0, [](I x, I, int) { return ~x; }, REEL_CALL(reel::bitwise_not(x[0]))},
    {"left_shift", 2, -1, 6, shifted_left, REEL_CALL(reel::left_shift(x[0], x[1]))},
    {"right_shift", 2, -1, 70, [](I x, I n, int) { return shifted_right(x, n); }, REEL_CALL(reel::right_shift(x[0], x[1]))},
};
// clang-format on

Op op_of(const BitOp& op) {
  const auto make = [&op](Maker& m, Statement& s) {
    const Extents shape = m.random_shape(0, 3);
    for (int k = 0; k < op.arity; ++k) {
      const int x = k == 0 ? m.integers(shape, -20, 20) : m.integers(shape, op.low, op.high);
      if (x < 0) return false;
      s.args.push_back(Maker::arg(x));
    }
    return true;
  };
  const auto dtype = [](const Inputs& in) { return promoted(in); };
  Op o = row_op<Jet>(
      op.name, make, dtype, [](JetArrays x, const Statement&) { return x[0]; }, op.call);
  o.eval = [&op](const Statement&, const Inputs& in, Arrays& out) {
    const DType d = promoted(in);
    Array y(d, in[0]->shape);
    for (std::int64_t i = 0; i < y.size(); ++i)
      y[i] = Num(static_cast<Real>(
          op.reference(integer((*in[0])[i].re), integer((*in.back())[i].re), d == DType::int32 ? 32 : 64)));
    out.push_back(std::move(y));
  };
  return o;
}

bool make_floating(Maker& m, Statement& s) {
  const int x = m.floating();
  s.args = {Maker::arg(x)};
  return x >= 0;
}
bool make_scaled(Maker& m, Statement& s) {
  const int x = m.floating();
  const int n = x < 0 ? -1 : m.integers(m.at(x).shape, -2, 3);
  s.args = {Maker::arg(x), Maker::arg(n)};
  return n >= 0;
}
DType scaled_dtype(const Inputs& in) {
  if (!reel::is_integer(in[1]->dtype)) throw Unfit();
  return given_dtype({in[0]});
}
// ints: the axis.
bool make_gate(Maker& m, Statement& s) {
  const int x = m.floating(1, 3);
  if (x < 0) return false;
  const Extents& shape = m.at(x).shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] % 2 == 0) s.ints = {static_cast<std::int64_t>(axis)};
  s.args = {Maker::arg(x)};
  return !s.ints.empty();
}

}  // namespace

void add_number_parts(std::vector<Op>& t) {
  for (const BitOp& op : bit_ops) t.push_back(op_of(op));
  t.push_back(row_op<Jet>("frexp", make_floating, given_dtype,
                          [](JetArrays x, const Statement&) {
                            return cases::by_elements(x, [](const Jet* v) { return mantissa_of(v[0]); });
                          },
                          REEL_CALL(reel::frexp(x[0]).mantissa), {1, true}));
  t.push_back(row_op<Jet>("ldexp", make_scaled, scaled_dtype,
                          [](JetArrays x, const Statement&) {
                            return cases::by_elements(x, [](const Jet* v) { return times_power(v[0], integer(v[1])); });
                          },
                          REEL_CALL(reel::ldexp(x[0], x[1])), {1, true}));
  t.push_back(row_op<Jet>("glu", make_gate, given_dtype,
                          [](JetArrays x, const Statement& s) { return gated(x[0], s.ints[0]); },
                          REEL_CALL(reel::glu(x[0], i[0])), {1, true}));
}

}  // namespace random_programs
