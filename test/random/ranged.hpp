// Operands of random programs that must have a shape and dtype, or be in certain ranges; the dtypes of results that are
// rounded to them.
#pragma once
#include <vector>

#include "program.hpp"

namespace random_programs {

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A value of that shape and dtype, or a new input.
inline int value_like(Maker& m, const Extents& shape, DType d) {
  const int k = m.pick([&](const Array& a) { return a.shape == shape && a.dtype == d; });
  if (k >= 0 && m.chance(0.6)) return k;
  const bool s = m.depth == 0 && m.source_elements + elements(shape) < 18 && m.chance(0.6);
  return m.input(s ? Role::source : Role::constant, d, shape);
}

inline DType rounded_dtype(DType d) {
  if (!is_real_floating(d)) throw Unfit();
  round_like(d);
  return d;
}
/// The operands' own, real and floating; Unfit for others.
inline DType given_dtype(const Inputs& in) { return rounded_dtype(promoted(in)); }
/// The one that operands, integers among them, are computed in.
inline DType computed_dtype(const Inputs& in) { return rounded_dtype(floating_of(promoted(in))); }

struct OperandRange {
  double low, high;
};

/// A function of at most five operands, which broadcast.
struct RangedFunction {
  const char* name;
  std::vector<OperandRange> ranges;
  Jet (*eval)(const Jet* x);
  reel::Tensor (*call)(const Operands& x);
};

inline bool make_ranged(const RangedFunction& f, Maker& m, Statement& s) {
  const int x = m.floating();
  if (x < 0) return false;
  for (std::size_t k = 0; k < f.ranges.size(); ++k) {
    const auto [low, high] = f.ranges[k];
    Arg a = k == 0 ? Maker::arg(x) : m.beside(x);
    if (a.kind == Arg::value) {
      a.index = m.within(a.index, low, high);
      if (a.index < 0) return false;
    } else if (a.number < low || a.number > high) {
      a = Maker::weak((low + high) / 2);
    }
    s.args.push_back(a);
  }
  return true;
}

inline void eval_ranged(const RangedFunction& f, const Inputs& in, Arrays& out) {
  const DType d = promoted(in);
  if (reel::is_complex(d)) throw Unfit();
  Extents shape = in[0]->shape;
  for (const auto* x : in) shape = broadcast_shapes(shape, x->shape);
  round_like(floating_of(d));
  Array z(floating_of(d), shape);
  for (std::int64_t i = 0; i < z.size(); ++i) {
    Jet x[5];
    for (std::size_t k = 0; k < f.ranges.size(); ++k) {
      x[k] = (*in[k])[broadcast_index(in[k]->shape, shape, i)].re;
      if (static_cast<double>(x[k].v[0]) < f.ranges[k].low || static_cast<double>(x[k].v[0]) > f.ranges[k].high)
        throw Unfit();
    }
    z[i] = rounded(f.eval(x), 16);
  }
  out.push_back(std::move(z));
}

/// The function lives as long as the table.
inline void add_ranged(std::vector<Op>& t, const RangedFunction& f) {
  Op o;
  o.name = f.name;
  o.make = [&f](Maker& m, Statement& s) { return make_ranged(f, m, s); };
  o.eval = [&f](const Statement&, const Inputs& in, Arrays& out) { eval_ranged(f, in, out); };
  o.call = [&f](const Statement&, const Operands& a, std::vector<reel::Tensor>& out) { out.push_back(f.call(a)); };
  t.push_back(std::move(o));
}

}  // namespace random_programs
