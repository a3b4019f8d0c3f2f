// Arrangements of elements, by the rule that says where an element of the result comes from. ints: two numbers.
#include <algorithm>
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/windows.hpp>

#include "../program.hpp"

namespace random_programs {

namespace {

using reel::Operand;
using reel::Tensor;

// Where an element of the result comes from: an operand and its element; no operand: 0.
struct From {
  int operand = -1;
  Extents at = {};
};
using In = std::vector<Extents>;  // shapes of the operands
using Ints = std::vector<std::int64_t>;

struct Arrangement {
  const char* name;
  std::vector<int> ranks;  // the least rank of each operand; below 0: that very rank
  Extents (*shape)(const In& x, const Ints& n);
  From (*from)(const In& x, const Ints& n, Extents i);
  Tensor (*call)(const Operands& a, const Ints& n);
};

Extents last_two_swapped(Extents s) {
  std::swap(s[0], s[1]);
  return s;
}
Extents transposed(Extents s) {
  std::swap(s[s.size() - 2], s.back());
  return s;
}
std::int64_t row(const Extents& i) { return i[i.size() - 2]; }

// Shapes and indices of what NumPy's stacks and splits make.
Extents with_rank(Extents s, std::size_t rank) {
  while (s.size() < 2) s.insert(s.begin(), 1);
  if (s.size() < rank) s.push_back(1);
  return s;
}
Extents without_rank(const Extents& shape, Extents i) {
  if (i.size() == 3 && shape.size() < 3) i.pop_back();
  while (i.size() > shape.size()) i.erase(i.begin());
  return i;
}
Extents twice(Extents s, std::size_t axis) {
  s[axis] *= 2;
  return s;
}
Extents once(const Extents& shape, Extents i, std::size_t axis) {
  i[axis] %= shape[axis];
  return i;
}
Extents last_half(Extents s, std::size_t axis) {
  if (s[axis] % 2 == 0) s[axis] /= 2;
  return s;
}
Extents in_last_half(const Extents& shape, Extents i, std::size_t axis) {
  if (shape[axis] % 2 == 0) i[axis] += shape[axis] / 2;
  return i;
}

// masked_scatter: whether the element at a position takes one of `count` values.
bool takes_value(std::int64_t at, std::int64_t count) { return at % 2 == 0 && at / 2 < count; }
// The mask of x's shape that is true at the positions for which f is.
template <class F>
Tensor mask_where(const Tensor& x, F f) {
  std::vector<std::int64_t> mask;
  for (std::int64_t i = 0; i < x.size(); ++i) mask.push_back(f(i));
  return reel::cast(reel::reshape(reel::from_data(mask), x.shape()), DType::boolean);
}

const std::vector<Arrangement>& arrangements() {
  static const std::vector<Arrangement> all = {
      {"swapaxes",
       {2},
       [](const In& x, const Ints&) { return last_two_swapped(x[0]); },
       [](const In&, const Ints&, Extents i) {
         return From{0, last_two_swapped(i)};
       },
       [](const Operands& a, const Ints&) { return reel::swapaxes(a[0], 0, 1); }},
      {"matrix_transpose",
       {2},
       [](const In& x, const Ints&) { return transposed(x[0]); },
       [](const In&, const Ints&, Extents i) {
         return From{0, transposed(i)};
       },
       [](const Operands& a, const Ints&) { return reel::matrix_transpose(a[0]); }},
      {"unflatten",
       {1},
       [](const In& x, const Ints&) {
         Extents s = x[0];
         if (s[0] % 2 == 0) s[0] /= 2, s.insert(s.begin() + 1, 2);
         return s;
       },
       [](const In& x, const Ints&, Extents i) {
         if (x[0][0] % 2 == 0) i[0] = 2 * i[0] + i[1], i.erase(i.begin() + 1);
         return From{0, i};
       },
       [](const Operands& a, const Ints&) {
         const Tensor x = a.tensor(0);
         return reel::unflatten(x, 0, x.shape()[0] % 2 == 0 ? reel::Shape{-1, 2} : reel::Shape{x.shape()[0]});
       }},
      {"append",
       {1, -1},
       [](const In& x, const Ints&) { return Extents{elements(x[0]) + x[1][0]}; },
       [](const In& x, const Ints&, Extents i) {
         const std::int64_t n = elements(x[0]);
         return i[0] < n ? From{0, indices_of(x[0], i[0])} : From{1, {i[0] - n}};
       },
       [](const Operands& a, const Ints&) { return reel::append(a[0], a[1]); }},
      {"block",
       {-2},
       [](const In& x, const Ints&) {
         return Extents{2 * x[0][0], 2 * x[0][1]};
       },
       [](const In& x, const Ints&, Extents i) {
         const bool empty = i[0] >= x[0][0] && i[1] < x[0][1];
         return From{empty ? -1 : 0, {i[0] % x[0][0], i[1] % x[0][1]}};
       },
       [](const Operands& a, const Ints&) {
         const Tensor x = a.tensor(0), none_there = reel::zeros(x.shape(), x.dtype());
         return reel::block({{x, x}, {none_there, x}});
       }},
      {"channel_shuffle",
       {3},
       [](const In& x, const Ints&) { return x[0]; },
       [](const In& x, const Ints&, Extents i) {
         const std::int64_t channels = x[0][x[0].size() - 3], groups = channels % 2 == 0 ? 2 : 1;
         std::int64_t& channel = i[i.size() - 3];
         channel = channel % groups * (channels / groups) + channel / groups;
         return From{0, i};
       },
       [](const Operands& a, const Ints&) {
         const Tensor x = a.tensor(0);
         return reel::channel_shuffle(x, x.shape()[-3] % 2 == 0 ? 2 : 1);
       }},
      {"masked_scatter",
       {1, -1},
       [](const In& x, const Ints&) { return x[0]; },
       [](const In& x, const Ints&, Extents i) {
         const std::int64_t at = position_of(x[0], i);
         return takes_value(at, x[1][0]) ? From{1, {at / 2}} : From{0, i};
       },
       [](const Operands& a, const Ints&) {
         const Tensor x = a.tensor(0);
         const Tensor mask = mask_where(x, [&](std::int64_t i) { return takes_value(i, a.tensor(1).size()); });
         return reel::masked_scatter(x, mask, a[1]);
       }},
      {"select",
       {1, -1},
       [](const In& x, const Ints&) { return x[0]; },
       [](const In& x, const Ints& n, Extents i) {
         const std::int64_t at = position_of(x[0], i);
         return at % 2 == n[0] % 2 ? From{0, i} : From{at % 3 == n[1] % 3 ? 1 : -1, {0}};
       },
       [](const Operands& a, const Ints& n) {
         const Tensor x = a.tensor(0), y = reel::slice(a[1], {0});
         return reel::select({mask_where(x, [&](std::int64_t i) { return i % 2 == n[0] % 2; }),
                              mask_where(x, [&](std::int64_t i) { return i % 3 == n[1] % 3; })},
                             {x, y});
       }},
      {"choose",
       {1, -1},
       [](const In& x, const Ints&) { return x[0]; },
       [](const In& x, const Ints& n, Extents i) {
         return (position_of(x[0], i) + n[0]) % 3 == 1 ? From{1, {0}} : From{0, i};
       },
       [](const Operands& a, const Ints& n) {
         const Tensor x = a.tensor(0), y = reel::slice(a[1], {0});
         const Tensor numbers = reel::mod(reel::arange(x.size()) + n[0], 3);
         return reel::choose(reel::reshape(numbers, x.shape()), {x, y, x});
       }},
      {"piecewise",
       {1, -1},
       [](const In& x, const Ints&) { return x[0]; },
       [](const In& x, const Ints& n, Extents i) {
         return position_of(x[0], i) % 2 == n[0] % 2 ? From{0, i} : From{1, {0}};
       },
       [](const Operands& a, const Ints& n) {
         const Tensor x = a.tensor(0);
         const Tensor mask = mask_where(x, [&](std::int64_t i) { return i % 2 == n[0] % 2; });
         return reel::piecewise(x, {mask}, {[](const Tensor& t) { return t; }}, reel::slice(a[1], {0}));
       }},
      {"flatten",
       {1},
       [](const In& x, const Ints&) { return Extents{elements(x[0])}; },
       [](const In& x, const Ints&, Extents i) {
         return From{0, indices_of(x[0], i[0])};
       },
       [](const Operands& a, const Ints&) { return reel::flatten(a[0]); }},
      {"rot90",
       {2},
       [](const In& x, const Ints& n) { return n[0] % 2 ? last_two_swapped(x[0]) : x[0]; },
       [](const In& x, const Ints& n, Extents i) {
         Extents shape = n[0] % 2 ? last_two_swapped(x[0]) : x[0];
         for (std::int64_t k = 0; k < n[0]; ++k) {  // a quarter back each
           shape = last_two_swapped(shape);
           const std::int64_t r = i[0];
           i[0] = i[1], i[1] = shape[1] - 1 - r;
         }
         return From{0, i};
       },
       [](const Operands& a, const Ints& n) { return reel::rot90(a[0], n[0]); }},
      {"diag_embed",
       {1},
       [](const In& x, const Ints& n) {
         Extents s = x[0];
         s.back() += n[0];
         s.push_back(s.back());
         return s;
       },
       [](const In&, const Ints& n, Extents i) {
         const std::int64_t off = i.back() - row(i);
         i.pop_back();
         return From{off == n[0] ? 0 : -1, i};
       },
       [](const Operands& a, const Ints& n) { return reel::diag_embed(a[0], n[0]); }},
      {"set_diagonal",
       {-2, -1},
       [](const In& x, const Ints&) { return x[0]; },
       [](const In&, const Ints&, Extents i) {
         return i[0] == i[1] ? From{1, {0}} : From{0, i};
       },
       [](const Operands& a, const Ints&) { return reel::set_diagonal(a[0], reel::slice(a[1], {0})); }},
      {"band_part",
       {2},
       [](const In& x, const Ints&) { return x[0]; },
       [](const In&, const Ints& n, Extents i) {
         const std::int64_t off = i.back() - row(i);
         return From{-off <= n[0] && off <= n[1] ? 0 : -1, i};
       },
       [](const Operands& a, const Ints& n) { return reel::band_part(a[0], n[0], n[1]); }},
      {"block_diag",
       {-2, -2},
       [](const In& x, const Ints&) {
         return Extents{x[0][0] + x[1][0], x[0][1] + x[1][1]};
       },
       [](const In& x, const Ints&, Extents i) {
         if (i[0] < x[0][0] && i[1] < x[0][1]) return From{0, i};
         if (i[0] >= x[0][0] && i[1] >= x[0][1]) return From{1, {i[0] - x[0][0], i[1] - x[0][1]}};
         return From{};
       },
       [](const Operands& a, const Ints&) {
         return reel::block_diag({a.tensor(0), a.tensor(1)});
       }},
      {"meshgrid",
       {-1, -1},
       [](const In& x, const Ints&) {
         return Extents{x[1][0], x[0][0]};
       },
       [](const In&, const Ints& n, Extents i) {
         const int k = static_cast<int>(n[0] % 2);
         return From{k, {i[k ? 0 : 1]}};
       },
       [](const Operands& a, const Ints& n) {
         return reel::meshgrid({a.tensor(0), a.tensor(1)})[static_cast<std::size_t>(n[0] % 2)];
       }},
      {"toeplitz",
       {-1, -1},
       [](const In& x, const Ints&) {
         return Extents{x[0][0], x[1][0]};
       },
       [](const In&, const Ints&, Extents i) {
         return i[0] >= i[1] ? From{0, {i[0] - i[1]}} : From{1, {i[1] - i[0]}};
       },
       [](const Operands& a, const Ints&) { return reel::toeplitz(a[0], a[1]); }},
      {"hankel",
       {-1, -1},
       [](const In& x, const Ints&) {
         return Extents{x[0][0], x[1][0]};
       },
       [](const In& x, const Ints&, Extents i) {
         const std::int64_t k = i[0] + i[1];
         return k < x[0][0] ? From{0, {k}} : From{1, {k - x[0][0] + 1}};
       },
       [](const Operands& a, const Ints&) { return reel::hankel(a[0], a[1]); }},
      {"circulant",
       {-1},
       [](const In& x, const Ints&) {
         return Extents{x[0][0], x[0][0]};
       },
       [](const In& x, const Ints&, Extents i) {
         return From{0, {(i[0] - i[1] + x[0][0]) % x[0][0]}};
       },
       [](const Operands& a, const Ints&) { return reel::circulant(a[0]); }},
      {"atleast_1d",
       {0},
       [](const In& x, const Ints&) { return x[0].empty() ? Extents{1} : x[0]; },
       [](const In& x, const Ints&, Extents i) {
         return From{0, x[0].empty() ? Extents{} : i};
       },
       [](const Operands& a, const Ints&) { return reel::atleast_1d(a[0]); }},
      {"atleast_2d",
       {0},
       [](const In& x, const Ints&) { return with_rank(x[0], 2); },
       [](const In& x, const Ints&, Extents i) {
         return From{0, without_rank(x[0], i)};
       },
       [](const Operands& a, const Ints&) { return reel::atleast_2d(a[0]); }},
      {"atleast_3d",
       {0},
       [](const In& x, const Ints&) { return with_rank(x[0], 3); },
       [](const In& x, const Ints&, Extents i) {
         return From{0, without_rank(x[0], i)};
       },
       [](const Operands& a, const Ints&) { return reel::atleast_3d(a[0]); }},
      {"hstack",
       {1},
       [](const In& x, const Ints&) { return twice(x[0], x[0].size() > 1); },
       [](const In& x, const Ints&, Extents i) {
         return From{0, once(x[0], i, x[0].size() > 1)};
       },
       [](const Operands& a, const Ints&) {
         return reel::hstack({a.tensor(0), a.tensor(0)});
       }},
      {"vstack",
       {1},
       [](const In& x, const Ints&) { return twice(with_rank(x[0], 2), 0); },
       [](const In& x, const Ints&, Extents i) {
         return From{0, without_rank(x[0], once(with_rank(x[0], 2), i, 0))};
       },
       [](const Operands& a, const Ints&) {
         return reel::vstack({a.tensor(0), a.tensor(0)});
       }},
      {"dstack",
       {1},
       [](const In& x, const Ints&) { return twice(with_rank(x[0], 3), 2); },
       [](const In& x, const Ints&, Extents i) {
         return From{0, without_rank(x[0], once(with_rank(x[0], 3), i, 2))};
       },
       [](const Operands& a, const Ints&) {
         return reel::dstack({a.tensor(0), a.tensor(0)});
       }},
      {"column_stack",
       {-1},
       [](const In& x, const Ints&) {
         return Extents{x[0][0], 2};
       },
       [](const In&, const Ints&, Extents i) {
         return From{0, {i[0]}};
       },
       [](const Operands& a, const Ints&) {
         return reel::column_stack({a.tensor(0), a.tensor(0)});
       }},
      {"array_split",
       {1},
       [](const In& x, const Ints& n) {
         Extents s = x[0];
         s[0] = (s[0] + n[0]) / (n[0] + 1);
         return s;
       },
       [](const In&, const Ints&, Extents i) {
         return From{0, i};
       },
       [](const Operands& a, const Ints& n) { return reel::array_split(a[0], n[0] + 1)[0]; }},
      {"hsplit",
       {1},
       [](const In& x, const Ints&) { return last_half(x[0], x[0].size() > 1); },
       [](const In& x, const Ints&, Extents i) {
         return From{0, in_last_half(x[0], i, x[0].size() > 1)};
       },
       [](const Operands& a, const Ints&) {
         const Tensor x = a.tensor(0);
         return reel::hsplit(x, 2 - x.shape()[x.rank() > 1] % 2).back();
       }},
      {"vsplit",
       {1},
       [](const In& x, const Ints&) { return last_half(x[0], 0); },
       [](const In& x, const Ints&, Extents i) {
         return From{0, in_last_half(x[0], i, 0)};
       },
       [](const Operands& a, const Ints&) {
         const Tensor x = a.tensor(0);
         return reel::vsplit(x, 2 - x.shape()[0] % 2).back();
       }},
      {"dsplit",
       {3},
       [](const In& x, const Ints&) { return last_half(x[0], 2); },
       [](const In& x, const Ints&, Extents i) {
         return From{0, in_last_half(x[0], i, 2)};
       },
       [](const Operands& a, const Ints&) {
         const Tensor x = a.tensor(0);
         return reel::dsplit(x, 2 - x.shape()[2] % 2).back();
       }},
      {"broadcast_arrays",
       {1},
       [](const In& x, const Ints&) {
         Extents s = x[0];
         s.insert(s.begin(), 2);
         return s;
       },
       [](const In&, const Ints&, Extents i) {
         i.erase(i.begin());
         return From{0, i};
       },
       [](const Operands& a, const Ints&) {
         const Tensor x = a.tensor(0);
         reel::Shape s = x.shape();
         s.insert(0, 2);
         return reel::broadcast_arrays({x, reel::zeros(s)})[0];
       }},
      {"repeat_counts",
       {1},
       [](const In& x, const Ints& n) {
         Extents s = x[0];
         s[0] = 0;
         for (std::int64_t k = 0; k < x[0][0]; ++k) s[0] += (k + n[0]) % 3;
         return s;
       },
       [](const In&, const Ints& n, Extents i) {
         std::int64_t k = 0;
         for (std::int64_t end = n[0] % 3; i[0] >= end; end += (k + n[0]) % 3) ++k;
         i[0] = k;
         return From{0, i};
       },
       [](const Operands& a, const Ints& n) {
         const Tensor x = a.tensor(0);
         return reel::repeat(x, reel::mod(reel::arange(x.shape()[0]) + n[0], 3), 0);
       }},
      {"reverse_sequence",
       {2},
       [](const In& x, const Ints&) { return x[0]; },
       [](const In& x, const Ints& n, Extents i) {
         const std::int64_t length = (i[0] + n[0]) % (x[0][1] + 1);
         if (i[1] < length) i[1] = length - 1 - i[1];
         return From{0, i};
       },
       [](const Operands& a, const Ints& n) {
         const Tensor x = a.tensor(0);
         const Tensor lengths = reel::mod(reel::arange(x.shape()[0]) + n[0], x.shape()[1] + 1);
         return reel::reverse_sequence(x, lengths, 1);
       }},
      {"full",
       {1},
       [](const In&, const Ints& n) {
         return Extents{2, n[0]};
       },
       [](const In& x, const Ints&, Extents) {
         return From{0, Extents(x[0].size(), 0)};
       },
       [](const Operands& a, const Ints& n) {
         const Tensor x = a.tensor(0);
         return reel::full({2, n[0]}, reel::reshape(x, {x.size()})[0]);
       }},
  };
  return all;
}

void add(std::vector<Op>& t, const Arrangement& op) {
  Op o;
  o.name = op.name;
  o.weight = 0.6;
  o.body = true;
  o.make = [&op](Maker& m, Statement& s) {
    const int least = op.ranks[0] < 0 ? -op.ranks[0] : op.ranks[0];
    const int x = m.floating(least, op.ranks[0] < 0 ? least : 3, true);
    if (x < 0 || m.at(x).size() == 0) return false;
    s.ints = {m.between(0, 3), m.between(0, 2)};
    s.args = {Maker::arg(x)};
    for (std::size_t k = 1; k < op.ranks.size(); ++k) {
      const int rank = -op.ranks[k];
      int other = m.pick([&](const Array& a) { return a.dtype == m.at(x).dtype && a.rank() == rank && a.size() > 0; });
      if (other < 0) other = m.input(Role::constant, m.at(x).dtype, m.random_shape(rank, rank));
      if (other < 0 || m.at(other).size() == 0) return false;
      s.args.push_back(Maker::arg(other));
    }
    return true;
  };
  o.eval = [&op](const Statement& s, const Inputs& in, Arrays& out) {
    In shapes;
    for (const Array* x : in) shapes.push_back(x->shape);
    Array y(in[0]->dtype, op.shape(shapes, s.ints));
    if (y.size() > 200) throw Unfit();
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const From from = op.from(shapes, s.ints, indices_of(y.shape, i));
      if (from.operand < 0) continue;
      const Array& x = *in[static_cast<std::size_t>(from.operand)];
      y[i] = x[position_of(x.shape, from.at)];
    }
    out.push_back(std::move(y));
  };
  o.call = [&op](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(op.call(a, s.ints));
  };
  o.text = [&op](const Statement& s, const std::vector<std::string>& a) {
    std::string text = std::string(op.name) + "(";
    for (const std::string& x : a) text += x + ", ";
    return text + std::to_string(s.ints[0]) + ", " + std::to_string(s.ints[1]) + ")";
  };
  t.push_back(std::move(o));
}

// ints: the count; of vander whether powers ascend.
void add_powers_and_steps(std::vector<Op>& t) {
  Op o;
  o.name = "vander";
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(0, 2);
    s.ints = {m.between(1, 4), m.chance(0.5)};
    s.args = {Maker::arg(x)};
    return x >= 0;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    round_like(x.dtype);
    Extents shape = x.shape;
    shape.push_back(s.ints[0]);
    Array y(x.dtype, shape);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      Num power(1);
      for (std::int64_t k = 0; k < s.ints[0]; ++k, power = power * x[i])
        y[i * s.ints[0] + (s.ints[1] ? k : s.ints[0] - 1 - k)] = power;
    }
    out.push_back(std::move(y));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::vander(a[0], s.ints[0], s.ints[1] != 0));
  };
  t.push_back(o);

  o.name = "linspace";
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(0, 2);
    if (x < 0) return false;
    int y = m.pick([&](const Array& a) { return a.dtype == m.at(x).dtype && a.shape == m.at(x).shape; });
    if (y < 0) y = m.input(Role::constant, m.at(x).dtype, m.at(x).shape);
    s.ints = {m.between(1, 4)};
    s.args = {Maker::arg(x), Maker::arg(y)};
    return y >= 0;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &y = *in[1];
    round_like(x.dtype);
    Extents shape = x.shape;
    shape.insert(shape.begin(), s.ints[0]);
    Array z(x.dtype, shape);
    for (std::int64_t k = 0; k < s.ints[0]; ++k) {
      const Jet weight =
          rounded(Jet(static_cast<Real>(k) / static_cast<Real>(std::max<std::int64_t>(s.ints[0] - 1, 1))), 2);
      for (std::int64_t i = 0; i < x.size(); ++i)
        z[k * x.size() + i] = k == 0 ? x[i] : k + 1 == s.ints[0] ? y[i] : Num(x[i].re + (y[i].re - x[i].re) * weight);
    }
    out.push_back(std::move(z));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::linspace(a[0], a[1], s.ints[0]));
  };
  t.push_back(std::move(o));
}

}  // namespace

void add_arranging(std::vector<Op>& t) {
  for (const Arrangement& op : arrangements()) add(t, op);
  add_powers_and_steps(t);
}

}  // namespace random_programs
