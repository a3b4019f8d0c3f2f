// Sorting, selection and places in sorted rows: their operands and calls.
#include "../../op_cases/references/sorting.hpp"

#include "../rows.hpp"

namespace random_programs {

namespace {

using X = ArraysOf<Jet>;
using S = Statement;
using Row = std::vector<Jet>;

DType own(const Inputs& in) {
  if (reel::is_complex(in[0]->dtype)) throw Unfit();
  round_like(in[0]->dtype);
  return in[0]->dtype;
}
DType floating(const Inputs& in) {
  const DType d = floating_of(own(in));
  round_like(d);
  return d;
}
DType position(const Inputs& in) { return own(in), DType::int64; }
std::size_t count_of(const S& s) { return at(s.ints[1]); }

// ---- Along an axis. ints: the axis, a count, whether descending; reals: the fraction of a quantile.

bool make_line(Maker& m, S& s) {
  const int x = m.chance(0.15) ? m.number(1) : m.floating(1, 4);
  if (x < 0) return false;
  const int rank = m.at(x).rank();
  s.ints = {m.below(rank) - (m.chance(0.5) ? rank : 0), m.between(1, 3), m.chance(0.4)};
  static const std::vector<double> fractions = {0, 0.25, 0.5, 0.75, 1};
  s.reals = {m.choose(fractions)};
  s.args = {Maker::arg(x)};
  return true;
}
// Rows f(row, statement), or without the axis where it is a number.
template <class Result>
Op line(const char* name, DType (*dtype)(const Inputs&), Result (*f)(const Row& row, const S& s), Call call) {
  return row_op<Jet>(name, make_line, dtype,
                     [=](X x, const S& s) {
                       cases::Extents outer = x[0].shape;
                       outer[s.ints[0]] = 1;
                       if (outer.elements() == 0) throw Unfit();
                       if constexpr (std::is_same_v<Result, Jet>)
                         return cases::reduce_along(x, s.ints[0], [&](const auto& rows) { return f(rows[0], s); });
                       else
                         return cases::along(x[0], s.ints[0], [&](const Row& row) { return f(row, s); });
                     },
                     call, {.weight = 1, .body = true});
}
// The elements before and after the rank of a partition have no order, so they are sorted for the comparison.
Row partitioned(const Row& row, const S& s) {
  if (count_of(s) >= row.size()) throw Unfit();
  const Row y = cases::sorted(row, false);
  if (cases::distinct(y).size() < y.size()) throw Unfit();  // equal elements change places
  return y;
}
Row counted(const Row& row, const S& s) {
  if (count_of(s) >= row.size()) throw Unfit();
  Row y;
  for (std::size_t k = 0; k < row.size(); ++k) y.emplace_back(static_cast<Real>(k));
  return y;
}
Jet fraction(const Row& row, const S& s) { return rounded(cases::quantile_of(row, s.reals[0]), 8); }
Jet middle(const Row& row, const S&) { return cases::median_of(row); }

// clang-format off
void add_lines(std::vector<Op>& t) {
  t.push_back(line("sort", own, +[](const Row& row, const S& s) { return cases::sorted(row, s.ints[2] != 0); }, REEL_CALL(reel::sort(x[0], i[0], i[2] != 0))));
  t.push_back(line("argsort", position, +[](const Row& row, const S& s) { return cases::positions_of(row, s.ints[2] != 0); },
      REEL_CALL(reel::argsort(x[0], i[0], i[2] != 0))));
  t.push_back(line("top_k", own, +[](const Row& row, const S& s) { return cases::first_of(row, count_of(s), s.ints[2] != 0); },
      REEL_CALL(reel::top_k(x[0], i[1], i[0], i[2] != 0).values)));
  t.push_back(line("kth_value", own, +[](const Row& row, const S& s) { return cases::kth_of(row, count_of(s)); }, REEL_CALL(reel::kth_value(x[0], i[1], i[0]).values)));
  t.push_back(line("partition", own, partitioned, REEL_CALL(reel::sort(reel::partition(x[0], i[1], i[0]), i[0]))));
  t.push_back(line("argpartition", position, counted, REEL_CALL(reel::sort(reel::argpartition(x[0], i[1], i[0]), i[0]))));
  t.push_back(line("median", floating, middle, REEL_CALL(reel::median(x[0], i[0]))));
  t.push_back(line("nanmedian", floating, middle, REEL_CALL(reel::nanmedian(x[0], i[0]))));
  t.push_back(line("quantile", floating, fraction, REEL_CALL(reel::quantile(x[0], r[0], i[0]))));
  t.push_back(line("percentile", floating, fraction, REEL_CALL(reel::percentile(x[0], 100 * r[0], i[0]))));
  t.push_back(line("nanquantile", floating, fraction, REEL_CALL(reel::nanquantile(x[0], r[0], i[0]))));
  t.push_back(line("nanpercentile", floating, fraction, REEL_CALL(reel::nanpercentile(x[0], 100 * r[0], i[0]))));
}
// clang-format on

bool make_unique(Maker& m, S& s) {
  const int x = m.floating(0, 3);
  s.args = {Maker::arg(x)};
  return x >= 0;
}
// args: sorted, values; of digitize the other way round. ints: whether equal elements stand before.
template <bool bins>
bool make_search(Maker& m, S& s) {
  const int v = m.floating(bins ? 0 : 1, 3);
  if (v < 0) return false;
  const int table =
      m.emit("sort", {Maker::arg(m.input_of(m.at(v).dtype, {4}, {m.uniform(-2, 2), 1, 0, 0}))}, {0, 1, 0}, {0});
  if (table < 0) return false;
  s.args = {Maker::arg(bins ? v : table), Maker::arg(bins ? table : v)};
  s.ints = {m.chance(0.5)};
  return true;
}

}  // namespace

// clang-format off
void add_sorting(std::vector<Op>& t) {
  add_lines(t);
  t.push_back(row_op<Jet>("unique", make_unique, own, [](X x, const S&) { const Row all = cases::distinct(x[0].values); return ArrayOf<Jet>{{std::ssize(all)}, all}; },
      REEL_CALL(reel::unique(x[0]).values), {.weight = 0.6}));
  t.push_back(row_op<Jet>("searchsorted", make_search<false>, position, [](X x, const S& s) { return cases::places_of(x[0], x[1], s.ints[0] != 0); },
      REEL_CALL(reel::searchsorted(x[0], x[1], i[0] != 0)), {.weight = 0.6}));
  t.push_back(row_op<Jet>("digitize", make_search<true>, position, [](X x, const S& s) { return cases::places_of(x[1], x[0], s.ints[0] == 0); },
      REEL_CALL(reel::digitize(x[0], x[1], i[0] != 0)), {.weight = 0.6}));
}
// clang-format on

}  // namespace random_programs
