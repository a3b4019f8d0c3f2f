// Slices, gathers, scatters and diagonals: operands and calls.
#include <algorithm>

#include "../../op_cases/references/movements.hpp"
#include "../rows.hpp"

namespace random_programs {

namespace {

using namespace cases::moves;
using reel::SliceItem;
using X = ArraysOf<Num>;
using Y = ArrayOf<Num>;

DType own_dtype(const Inputs& in) {
  round_like(in[0]->dtype);
  return in[0]->dtype;
}
Integers integers_of(const Y& x) {
  Integers y{x.shape, {}};
  for (const Num& n : x.values) y.values.push_back(static_cast<std::int64_t>(n.re.v[0]));
  return y;
}

// ints, four for each item: kind, start, stop, step.
std::vector<Item> items_of(const Ints& n) {
  std::vector<Item> items;
  for (std::size_t k = 0; k < n.size(); k += 4)
    items.push_back({static_cast<Item::Kind>(n[k]), n[k + 1], n[k + 2], n[k + 3]});
  return items;
}
std::vector<SliceItem> slice_items(const Ints& n) {
  std::vector<SliceItem> all;
  for (const Item& i : items_of(n)) {
    const SliceItem kinds[] = {
        SliceItem(i.start), reel::range(i.start, i.stop, i.step), SliceItem(),
        reel::newaxis,      reel::range_from(i.start, i.step),    reel::range_to(i.stop, i.step)};
    all.push_back(kinds[i.kind]);
  }
  return all;
}
std::string slice_text(const Statement& s, const std::vector<std::string>& a) {
  std::string r = "slice(" + a[0] + ", {";
  for (const Item& i : items_of(s.ints)) {
    const std::string start = std::to_string(i.start), stop = std::to_string(i.stop), step = std::to_string(i.step);
    const std::string kinds[] = {
        start,     "range(" + start + ", " + stop + ", " + step + ")", "SliceItem()",
        "newaxis", "range_from(" + start + ", " + step + ")",          "range_to(" + stop + ", " + step + ")"};
    r += (r.back() == '{' ? "" : ", ") + kinds[i.kind];
  }
  return r + "})";
}
bool make_slice(Maker& m, Statement& s) {
  const int x = m.chance(0.1) ? m.number(1) : m.floating(1, 4, true);
  if (x < 0) return false;
  int axis = 0;
  while (axis < m.at(x).rank() && m.chance(0.85)) {
    const std::int64_t n = m.at(x).shape[at(axis)];
    std::int64_t kind = m.below(6);
    if (n == 0 && kind == Item::index) kind = Item::all;
    s.ints.push_back(kind);
    s.ints.push_back(kind == Item::index ? m.between(-n, n - 1) : m.between(-n - 1, n));
    s.ints.push_back(m.between(-n - 1, n + 1));
    static const std::vector<std::int64_t> steps = {1, 1, 2, -1, -2, 3};
    s.ints.push_back(m.choose(steps));
    axis += kind != Item::new_axis;
  }
  s.args = {Maker::arg(x)};
  return s.ints.size() <= 24;
}

// args: x, indices. ints: axis.
template <bool Along>
bool make_gather(Maker& m, Statement& s) {
  const int x = m.floating(1, 3, true);
  if (x < 0) return false;
  const Extents shape = m.at(x).shape;
  const int axis = Along || m.chance(0.5) ? m.below(static_cast<int>(shape.size())) : 0;
  const std::int64_t n = shape[at(axis)];
  if (n == 0) return false;
  s.ints = {axis};
  Extents indices = m.random_shape(0, 2);
  if (Along) {
    indices = shape;
    indices[at(axis)] = m.between(1, 3);
  }
  const int k = m.integers(indices, m.chance(0.3) ? -n : 0, n - 1);
  s.args = {Maker::arg(x), Maker::arg(k)};
  return k >= 0 && reel::is_integer(m.at(k).dtype);
}
bool make_scatter(Maker& m, Statement& s) {
  const int x = m.floating(1, 3);
  if (x < 0 || m.at(x).shape[0] == 0) return false;
  const Extents shape = m.at(x).shape;
  const DType d = m.at(x).dtype;
  Extents indices = m.random_shape(0, 1), updates = indices;
  updates.insert(updates.end(), shape.begin() + 1, shape.end());
  const int k = m.integers(indices, m.chance(0.3) ? -shape[0] : 0, shape[0] - 1);
  if (k < 0 || !reel::is_integer(m.at(k).dtype) || elements(updates) > m.limit) return false;
  int v = m.pick([&](const Array& a) { return a.shape == updates && a.dtype == d; });
  if (v < 0) v = m.input(m.depth == 0 && m.chance(0.5) ? Role::source : Role::constant, d, updates);
  s.args = {Maker::arg(x), Maker::arg(k), Maker::arg(v)};
  return v >= 0;
}

// ints: offset.
std::function<bool(Maker&, Statement&)> make_diagonal(int least, int most) {
  return [=](Maker& m, Statement& s) {
    const int x = m.chance(0.1) ? m.number(least, most) : m.floating(least, most, true);
    if (x < 0) return false;
    s.args = {Maker::arg(x)};
    s.ints = {m.between(-1, 1)};
    if (m.at(x).rank() >= 2) {  // the offset lies within the matrix
      const std::int64_t rows = m.at(x).shape[m.at(x).shape.size() - 2], columns = m.at(x).shape.back();
      if (rows == 0 || columns == 0 || s.ints[0] >= columns || -s.ints[0] >= rows) s.ints[0] = 0;
    }
    return true;
  };
}
DType sum_dtype(const Inputs& in) {
  if (in[0]->dtype < DType::int64) throw Unfit();  // the header names no dtype for their sum
  return own_dtype(in);
}
void add_diagonals(std::vector<Op>& t) {
  const auto add = [&t](const char* name, int least, int most, Y (*f)(const Y& x, std::int64_t offset), Call call,
                        DType (*dtype)(const Inputs&) = own_dtype) {
    t.push_back(row_op<Num>(name, make_diagonal(least, most), dtype,
                            [f](X x, const Statement& s) { return f(x[0], s.ints[0]); }, call, {1, true}));
  };
  add("diagonal", 2, 4, diagonal<Num>, REEL_CALL(reel::diagonal(x[0], i[0])));
  add("diag", 1, 2, diag<Num>, REEL_CALL(reel::diag(x[0], i[0])));
  add("trace", 2, 4, trace<Num>, REEL_CALL(reel::trace(x[0], i[0])), sum_dtype);
  add(
      "tril", 2, 4, [](const Y& x, std::int64_t k) { return band(x, -far, k); }, REEL_CALL(reel::tril(x[0], i[0])));
  add(
      "triu", 2, 4, [](const Y& x, std::int64_t k) { return band(x, k, far); }, REEL_CALL(reel::triu(x[0], i[0])));
}

// ints: depth, dtype.
bool make_one_hot(Maker& m, Statement& s) {
  const int k = m.integers(m.random_shape(0, 2), 0, 3);
  s.args = {Maker::arg(k)};
  s.ints = {m.between(2, 4), static_cast<std::int64_t>(m.floating_dtype())};
  return k >= 0 && reel::is_integer(m.at(k).dtype);
}
Op one_hot_op() {
  Op o = row_op<Num>("one_hot", make_one_hot, own_dtype,
                     [](X x, const Statement& s) { return one_hot_rows<Num>(integers_of(x[0]), s.ints[0]); },
                     REEL_CALL(reel::one_hot(x[0], i[0], static_cast<DType>(i[1]))), {0.6});
  o.eval = [own = o.eval](const Statement& s, const Inputs& in, Arrays& out) {
    own(s, in, out);
    out.back().dtype = static_cast<DType>(s.ints[1]);
  };
  return o;
}

}  // namespace

void add_indexing(std::vector<Op>& t) {
  t.push_back(row_op<Num>("slice", make_slice, own_dtype,
                          [](X x, const Statement& s) { return sliced(x[0], items_of(s.ints)); },
                          REEL_CALL(reel::slice(x[0], slice_items(i))), {3, true}));
  t.back().text = slice_text;
  t.push_back(row_op<Num>("gather", make_gather<false>, own_dtype,
                          [](X x, const Statement& s) { return gathered(x[0], integers_of(x[1]), s.ints[0]); },
                          REEL_CALL(reel::gather(x[0], x[1], i[0])), {2, true}));
  t.push_back(row_op<Num>("take_along_axis", make_gather<true>, own_dtype,
                          [](X x, const Statement& s) { return taken_along(x[0], integers_of(x[1]), s.ints[0]); },
                          REEL_CALL(reel::take_along_axis(x[0], x[1], i[0])), {2, true}));
  t.push_back(row_op<Num>("scatter_add", make_scatter, own_dtype,
                          [](X x, const Statement&) { return scattered(x[0], integers_of(x[1]), x[2]); },
                          REEL_CALL(reel::scatter_add(x[0], x[1], x[2])), {1, true}));
  add_diagonals(t);
  t.push_back(one_hot_op());
}

}  // namespace random_programs
