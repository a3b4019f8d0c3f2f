// Arrangements of elements, by the rule that says where an element of the result comes from. ints: two numbers.
#include <algorithm>
#include <reel/ops/arranging.hpp>

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
std::int64_t row(const Extents& i) { return i[i.size() - 2]; }

const std::vector<Arrangement>& arrangements() {
  static const std::vector<Arrangement> all = {
      {"swapaxes",
       {2},
       [](const In& x, const Ints&) { return last_two_swapped(x[0]); },
       [](const In&, const Ints&, Extents i) {
         return From{0, last_two_swapped(i)};
       },
       [](const Operands& a, const Ints&) { return reel::swapaxes(a[0], 0, 1); }},
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

}  // namespace

void add_arranging(std::vector<Op>& t) {
  for (const Arrangement& op : arrangements()) add(t, op);
}

}  // namespace random_programs
