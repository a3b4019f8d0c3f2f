// Ops that move elements: operands and calls.
#include <algorithm>
#include <numeric>

#include "../../op_cases/references/movements.hpp"
#include "../rows.hpp"

namespace random_programs {

namespace {

using namespace cases::moves;
using reel::Tensor;
using X = ArraysOf<Num>;
using Y = ArrayOf<Num>;
using N = const Ints&;

DType own_dtype(const Inputs& in) { return in[0]->dtype; }

// Of an operand of at least this rank: sets the ints.
using Choose = bool (*)(Maker& m, const Array& x, Ints& n);
struct Move {
  const char* name;
  int least;
  Choose choose;
  Y (*reference)(const Y& x, N n);
  Call call;
  double weight = 1;
};
int any_axis(Maker& m, int rank) { return m.chance(0.5) ? m.below(rank) : m.below(rank) - rank; }

bool choose_nothing(Maker&, const Array&, Ints&) { return true; }
bool choose_shape(Maker& m, const Array& x, Ints& n) {
  std::int64_t rest = x.size();
  if (rest == 0) return false;
  while (n.size() < 3 && (rest > 1 || m.chance(0.3))) {
    std::int64_t d = m.between(1, std::min<std::int64_t>(rest, 6));
    while (rest % d) --d;
    n.push_back(d);
    rest /= d;
  }
  if (rest > 1) n.push_back(rest);
  if (!n.empty() && m.chance(0.3)) n[at(m.below(static_cast<int>(n.size())))] = -1;
  return true;
}
bool choose_order(Maker& m, const Array& x, Ints& n) {
  n = axes_of(x.rank());
  std::shuffle(n.begin(), n.end(), m.random());
  for (auto& i : n)
    if (m.chance(0.2)) i -= x.rank();
  return true;
}
bool choose_two_axes(Maker& m, const Array& x, Ints& n) {
  n = {any_axis(m, x.rank()), any_axis(m, x.rank())};
  return true;
}
bool choose_ones(Maker& m, const Array& x, Ints& n) {
  for (int a = 0; a < x.rank(); ++a)
    if (x.shape[at(a)] == 1 && m.chance(0.7)) n.push_back(a);
  return !n.empty();
}
bool choose_new_axis(Maker& m, const Array& x, Ints& n) {
  n = {any_axis(m, x.rank() + 1)};
  return x.rank() < 5;
}
bool choose_broadcast(Maker& m, const Array& x, Ints& n) {
  n = x.shape;
  for (auto& e : n)
    if (e == 1 && m.chance(0.7)) e = m.between(0, 9) == 0 ? 0 : m.between(1, 3);
  while (n.size() < 4 && m.chance(0.4)) n.insert(n.begin(), m.between(1, 3));
  return elements(n) <= m.limit;
}
bool choose_some_axes(Maker& m, const Array& x, Ints& n) {
  for (int a = 0; a < x.rank(); ++a)
    if (m.chance(0.6)) n.push_back(m.chance(0.3) ? a - x.rank() : a);
  return !n.empty();
}
bool choose_shift(Maker& m, const Array& x, Ints& n) {
  n = {m.between(-5, 5), any_axis(m, x.rank())};
  return true;
}
bool choose_tiles(Maker& m, const Array& x, Ints& n) {
  const int count = 1 + m.below(x.rank());
  for (int k = 0; k < count; ++k) n.push_back(m.between(1, 3));
  std::int64_t total = x.size();
  for (const auto r : n) total *= r;
  return total <= m.limit;
}
bool choose_repeats(Maker& m, const Array& x, Ints& n) {
  n = {m.between(1, 3), any_axis(m, x.rank())};
  return x.size() * n[0] <= m.limit;
}
bool choose_number(Maker& m, const Array&, Ints& n) {
  n = {m.between(0, 1)};
  return true;
}
Y without_derivatives(const Y& x, N) {
  Y y = x;
  for (Num& e : y.values) e = Num(e.re.value(), complex_numbers ? e.im.value() : Jet());
  return y;
}

// clang-format off
const Move moves[] = {
    {"reshape", 0, choose_shape, [](const Y& x, N n) { return reshaped_to(x, n); }, REEL_CALL(reel::reshape(x[0], i))},
    {"transpose", 0, choose_order, [](const Y& x, N n) { return permuted(x, n); }, REEL_CALL(reel::transpose(x[0], i))},
    {"moveaxis", 1, choose_two_axes, [](const Y& x, N n) { return moved_axis(x, n[0], n[1]); }, REEL_CALL(reel::moveaxis(x[0], i[0], i[1]))},
    {"squeeze", 1, choose_ones, [](const Y& x, N n) { return without_axes(x, n); }, REEL_CALL(reel::squeeze(x[0], i))},
    {"expand_dims", 0, choose_new_axis, [](const Y& x, N n) { return with_axis(x, n[0]); }, REEL_CALL(reel::expand_dims(x[0], i[0]))},
    {"broadcast_to", 0, choose_broadcast, [](const Y& x, N n) { return broadcast_array(x, n); }, REEL_CALL(reel::broadcast_to(x[0], i))},
    {"flip", 0, choose_some_axes, [](const Y& x, N n) { return flipped(x, n); }, REEL_CALL(reel::flip(x[0], i))},
    {"roll", 1, choose_shift, [](const Y& x, N n) { return rolled(x, n[0], n[1]); }, REEL_CALL(reel::roll(x[0], i[0], i[1]))},
    {"tile", 1, choose_tiles, [](const Y& x, N n) { return tiled(x, n); }, REEL_CALL(reel::tile(x[0], i))},
    {"repeat", 1, choose_repeats, [](const Y& x, N n) { return repeated(x, n[0], n[1]); }, REEL_CALL(reel::repeat(x[0], i[0], i[1]))},
    {"contiguous", 0, choose_nothing, [](const Y& x, N) { return x; }, REEL_CALL(reel::contiguous(x[0]))},
    {"identity", 0, choose_nothing, [](const Y& x, N) { return x; }, REEL_CALL(reel::identity(x[0]))},
    {"stop_gradient", 0, choose_nothing, without_derivatives, REEL_CALL(reel::stop_gradient(x[0]))},
    {"zeros_like", 0, choose_nothing, [](const Y& x, N) { return cases::filled<Num>(x.shape, 0); }, REEL_CALL(reel::zeros_like(x[0])), 0.4},
    {"ones_like", 0, choose_nothing, [](const Y& x, N) { return cases::filled<Num>(x.shape, 1); }, REEL_CALL(reel::ones_like(x[0])), 0.4},
    {"full_like", 0, choose_number, [](const Y& x, N n) { return cases::filled<Num>(x.shape, static_cast<Real>(n[0])); }, REEL_CALL(reel::full_like(x[0], i[0])), 0.4},
};
// clang-format on

std::function<bool(Maker&, Statement&)> make_move(int least, Choose choose) {
  return [=](Maker& m, Statement& s) {
    const int x = m.chance(0.1) ? m.number(least) : m.floating(least, 4, true);
    if (x < 0) return false;
    s.args = {Maker::arg(x)};
    return choose(m, m.at(x), s.ints);
  };
}
void add_moves(std::vector<Op>& t) {
  for (const Move& f : moves)
    t.push_back(row_op<Num>(f.name, make_move(f.least, f.choose), own_dtype,
                            [&f](X x, const Statement& s) { return f.reference(x[0], s.ints); }, f.call,
                            {f.weight, true}));
}

// ints[0]: the dtype.
bool choose_dtype(Maker& m, const Array& x, Ints& n) {
  DType d = m.chance(0.8) ? m.floating_dtype() : static_cast<DType>(m.below(8));
  if (m.complex && m.chance(0.4)) d = m.chance(0.5) ? DType::complex64 : DType::complex128;
  if (d == DType::uint8)
    for (const Num& e : x.data)
      if (e.re.v[0] < 0) return false;
  n = {static_cast<std::int64_t>(d)};
  return true;
}
Num cast_of(const Num& x, DType from, DType to) {
  const Jet& v = x.re;
  if (to == DType::boolean) {
    if (reel::is_complex(from)) throw Unfit();
    return same(v, 0) ? Num(0) : Num(1);
  }
  if (to < DType::float16) {
    less(v, std::round(v.v[0]));  // certain
    return Num(std::trunc(v.v[0]));
  }
  if (from < DType::float16) return Num(v.v[0]);
  return Num(rounded(v, 1, true), reel::is_complex(to) && reel::is_complex(from) ? rounded(x.im, 1, true) : Jet());
}
Op cast_op() {
  Op o;
  o.name = "cast";
  o.body = true;
  o.make = make_move(0, choose_dtype);
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const DType d = static_cast<DType>(s.ints[0]);
    Array y(d, in[0]->shape);
    round_like(d);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = cast_of((*in[0])[i], in[0]->dtype, d);
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::cast(a[0], static_cast<DType>(s.ints[0])));
  };
  o.text = [](const Statement& s, const std::vector<std::string>& a) {
    return "cast(" + a[0] + ", DType::" + reel::name(static_cast<DType>(s.ints[0])) + ")";
  };
  return o;
}

// ---- Several operands of one shape: ints[0] the axis.

template <bool Stack>
bool make_join(Maker& m, Statement& s) {
  const int x = m.chance(0.1) ? m.number(Stack ? 0 : 1) : m.floating(Stack ? 0 : 1, 3, true);
  if (x < 0) return false;
  const Extents shape = m.at(x).shape;
  const int axis = m.below(static_cast<int>(shape.size()) + Stack);
  s.args = {Maker::arg(x)};
  for (int n = m.below(3); n > 0; --n) {
    const int y = m.pick([&](const Array& a) {
      Extents b = a.shape;
      if (!Stack && b.size() == shape.size()) b[at(axis)] = shape[at(axis)];
      return b == shape && is_real_floating(a.dtype);
    });
    if (y >= 0) s.args.push_back(Maker::arg(y));
  }
  s.ints = {m.chance(0.3) ? axis - static_cast<int>(shape.size()) - Stack : axis};
  return true;
}
// Of operands of the same dtype; others are rounded first.
template <bool Stack>
void eval_join(const Statement& s, const Inputs& in, Arrays& out) {
  const DType d = promoted(in);
  round_like(d);
  std::vector<Y> parts;
  for (const Array* x : in) {
    parts.push_back({x->shape, x->data});
    if (x->dtype != d)
      for (Num& e : parts.back().values) e.re = rounded(e.re, 1, true);
  }
  Y y = Stack ? stacked(X(parts), s.ints[0]) : joined(X(parts), s.ints[0]);
  out.emplace_back(d, y.shape);
  out.back().data = std::move(y.values);
}
template <bool Stack>
Op join_op(const char* name, Call call) {
  Op o = row_op<Num>(name, make_join<Stack>, own_dtype, [](X x, const Statement&) { return x[0]; }, call, {1, true});
  o.eval = eval_join<Stack>;
  return o;
}

// ---- Several results. ints: axis, then the extents of the parts (split: their number).

enum class Parts { equal, sizes, all };
template <Parts P>
bool make_parts(Maker& m, Statement& s) {
  const int x = m.floating(1, 4, true);
  if (x < 0) return false;
  const Array& a = m.at(x);
  const int axis = m.below(a.rank());
  const std::int64_t n = a.shape[at(axis)];
  if (n == 0) return false;
  s.ints = {m.chance(0.3) ? axis - a.rank() : axis};
  if (P == Parts::equal) {
    std::int64_t parts = m.between(1, n);
    while (n % parts) --parts;
    s.ints.push_back(parts);
  } else if (P == Parts::sizes) {
    for (std::int64_t left = n; left > 0; left -= s.ints.back())
      s.ints.push_back(m.chance(0.1) ? 0 : m.between(1, left));
  }
  s.args = {Maker::arg(x)};
  return s.ints.size() < 7;
}
Ints sizes_of(N n) { return {n.begin() + 1, n.end()}; }
template <Parts P>
std::vector<Y> parts_of(X x, const Statement& s) {
  const std::int64_t axis = s.ints[0], n = x[0].shape[axis];
  Ints sizes = sizes_of(s.ints);
  if (P == Parts::equal) sizes = Ints(at(s.ints[1]), n / s.ints[1]);
  if (P == Parts::all) sizes = Ints(at(n), 1);
  std::vector<Y> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    const Y one = part(x[0], axis, begin, begin + size);
    parts.push_back(P == Parts::all ? without_axes(one, {axis}) : one);
    begin += size;
  }
  return parts;
}

// ints: before and after, in pairs.
bool make_pad(Maker& m, Statement& s) {
  const int x = m.chance(0.1) ? m.number() : m.floating(0, 3, true);
  if (x < 0) return false;
  std::int64_t n = 1;
  for (const auto e : m.at(x).shape) {
    s.ints.push_back(m.between(0, 2)), s.ints.push_back(m.between(0, 1));
    n *= e + s.ints.back() + s.ints[s.ints.size() - 2];
  }
  s.args = {Maker::arg(x)};
  if (m.chance(0.5)) s.args.push_back({.kind = Arg::weak_integer, .number = static_cast<double>(m.below(2))});
  return n <= m.limit;
}
Ints every_second(N n, std::size_t first) {
  Ints r;
  for (std::size_t k = first; k < n.size(); k += 2) r.push_back(n[k]);
  return r;
}
Tensor pad(const Operands& x, N n) {
  const Ints before = every_second(n, 0), after = every_second(n, 1);
  return x.size() > 1 ? reel::pad(x[0], before, after, x[1]) : reel::pad(x[0], before, after);
}

}  // namespace

void add_shapes(std::vector<Op>& t) {
  add_moves(t);
  t.push_back(cast_op());
  t.push_back(join_op<false>("concatenate", REEL_CALL(reel::concatenate(x.tensors(), i[0]))));
  t.push_back(join_op<true>("stack", REEL_CALL(reel::stack(x.tensors(), i[0]))));
  t.push_back(row_op<Num>("split", make_parts<Parts::equal>, own_dtype, parts_of<Parts::equal>,
                          REEL_CALL(reel::split(x[0], i[1], i[0])), {1, true}));
  t.push_back(row_op<Num>("split_sizes", make_parts<Parts::sizes>, own_dtype, parts_of<Parts::sizes>,
                          REEL_CALL(reel::split_sizes(x[0], sizes_of(i), i[0])), {1, true}));
  t.push_back(row_op<Num>("unstack", make_parts<Parts::all>, own_dtype, parts_of<Parts::all>,
                          REEL_CALL(reel::unstack(x[0], i[0])), {1, true}));
  t.push_back(row_op<Num>("pad", make_pad, own_dtype,
                          [](X x, const Statement& s) {
                            return padded(x[0], every_second(s.ints, 0), every_second(s.ints, 1),
                                          x.size() > 1 ? x[1].values[0] : Num(0));
                          },
                          REEL_CALL(pad(x, i)), {1, true}));
}

}  // namespace random_programs
