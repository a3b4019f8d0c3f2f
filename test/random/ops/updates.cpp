// Updates by index arrays, masks and segments: their operands and calls.
#include "../../op_cases/references/updates.hpp"

#include <reel/ops/indexing.hpp>

#include "../rows.hpp"

namespace random_programs {

namespace {

using cases::Update;
using reel::Operand;
using reel::Tensor;
using X = ArraysOf<Jet>;
using Z = ArraysOf<Num>;
using S = Statement;
constexpr Traits in_bodies{.weight = 1, .body = true}, seldom{.weight = 0.8, .body = true};

DType own(const Inputs& in) {
  round_like(in[0]->dtype);
  return in[0]->dtype;
}
bool half(DType d) { return d == DType::float16 || d == DType::bfloat16; }
DType in_float32(const Inputs& in) {
  round_like(half(in[0]->dtype) ? DType::float32 : in[0]->dtype);
  return in[0]->dtype;
}
// float16 and bfloat16: computed in float32 and rounded once.
Op rounded_once(Op o) {
  o.eval = [eval = o.eval](const S& s, const Inputs& in, Arrays& out) {
    eval(s, in, out);
    round_like(out.back().dtype);
    if (half(out.back().dtype))
      for (Num& e : out.back().data) e.re = rounded(e.re, 1);
  };
  return o;
}

int whole_numbers(Maker& m, const Extents& shape, std::int64_t low, std::int64_t high) {
  const int k = m.integers(shape, low, high);
  return k >= 0 && reel::is_integer(m.at(k).dtype) ? k : -1;
}
// An input of this shape, or a value that has it.
int values_of(Maker& m, DType d, const Extents& shape) {
  if (elements(shape) > m.limit) return -1;
  const int v = m.pick([&](const Array& a) { return a.shape == shape && a.dtype == d; });
  return v >= 0 ? v : m.input(m.depth == 0 && m.chance(0.5) ? Role::source : Role::constant, d, shape);
}

// ---- index and its updates. args: x, rows, columns, and of updates values. With ints[0] == 0 the rows alone choose,
// and values are [count, the other axes].

Extents region_of(const Extents& x, const Extents& rows, bool both) {
  Extents region = rows;
  region.insert(region.end(), x.begin() + (both ? 2 : 1), x.end());
  return region;
}
bool make_index(Maker& m, S& s, bool updates) {
  const int x = m.floating(1, 3);
  if (x < 0) return false;
  const Extents shape = m.at(x).shape;
  const DType d = m.at(x).dtype;
  const bool both = shape.size() > 1 && m.chance(0.5);
  if (shape[0] == 0 || (both && shape[1] == 0)) return false;
  const Extents count = {m.between(1, 3)};
  const int rows = whole_numbers(m, count, m.chance(0.3) ? -shape[0] : 0, shape[0] - 1);
  const int columns = both ? whole_numbers(m, count, m.chance(0.3) ? -shape[1] : 0, shape[1] - 1) : rows;
  if (rows < 0 || columns < 0) return false;
  s.ints = {both};
  s.args = {Maker::arg(x), Maker::arg(rows), Maker::arg(columns)};
  if (updates) s.args.push_back(Maker::arg(values_of(m, d, region_of(shape, m.at(rows).shape, both))));
  return s.args.back().index >= 0;
}
// f(x, {rows, columns} or {rows}, ...)
#define REEL_INDEXED(f, ...)                                                      \
  REEL_CALL(i[0] ? f(x[0], {x.tensor(1), x.tensor(2)} __VA_OPT__(, ) __VA_ARGS__) \
                 : f(x[0], {x.tensor(1)} __VA_OPT__(, ) __VA_ARGS__))
template <class F>
ArrayOf<Jet> at_chosen(X x, const S& s, F f) {
  const bool both = s.ints[0] != 0;
  const Ints rows = cases::integers_of(x[1]), columns = cases::integers_of(x[2]);
  const cases::Extents region = region_of(x[0].shape, x[1].shape, both);
  return f(region, [=, shape = x[0].shape](const cases::Index& i) {
    cases::Index to(i.begin() + 1, i.end());
    if (both) to.insert(to.begin(), cases::from_start(columns[at(i[0])], shape[1]));
    to.insert(to.begin(), cases::from_start(rows[at(i[0])], shape[0]));
    return to;
  });
}
template <Update how>
Op index_update(const char* name, Call call) {
  return row_op<Jet>(
      name, [](Maker& m, S& s) { return make_index(m, s, true); }, own,
      [](X x, const S& s) {
        return at_chosen(
            x, s, [&](const auto& region, auto place) { return cases::updated(x[0], x[3], region, place, how); });
      },
      call, seldom);
}
// clang-format off
void add_index(std::vector<Op>& t) {
  t.push_back(row_op<Jet>("index", [](Maker& m, S& s) { return make_index(m, s, false); }, own, [](X x, const S& s) { return at_chosen(x, s, [&](const auto& region, auto place) { return cases::gathered(x[0], region, place); }); },
      REEL_INDEXED(reel::index), seldom));
  t.push_back(index_update<Update::set>("index_update", REEL_INDEXED(reel::index_update, x[3])));
  t.push_back(index_update<Update::add>("index_add", REEL_INDEXED(reel::index_add, x[3])));
  t.push_back(index_update<Update::multiply>("index_multiply", REEL_INDEXED(reel::index_multiply, x[3])));
  t.push_back(index_update<Update::max>("index_max", REEL_INDEXED(reel::index_max, x[3])));
  t.push_back(index_update<Update::min>("index_min", REEL_INDEXED(reel::index_min, x[3])));
}
// clang-format on

// ---- ints: the first and the last row of x that values meet.
bool make_slice(Maker& m, S& s) {
  const int x = m.floating(1, 3, true);
  if (x < 0 || m.at(x).shape[0] == 0) return false;
  Extents shape = m.at(x).shape;
  s.ints = {m.below(static_cast<int>(shape[0]))};
  shape[0] = m.between(1, shape[0] - s.ints[0]);
  s.ints.push_back(s.ints[0] + shape[0]);
  const int v = values_of(m, m.at(x).dtype, shape);
  s.args = {Maker::arg(x), Maker::arg(v)};
  return v >= 0;
}
template <Update how>
ArrayOf<Num> slice(Z x, const S& s) {
  const auto place = [&](cases::Index i) { return i[0] += s.ints[0], i; };
  return cases::updated(x[0], x[1], x[1].shape, place, how);
}

// ---- Along an axis. args: x, indices, values; ints: axis, reduction, whether x is a member.
bool make_scatter(Maker& m, S& s) {
  const int x = m.floating(1, 3);
  if (x < 0) return false;
  Extents shape = m.at(x).shape;
  const int axis = m.below(static_cast<int>(shape.size()));
  const std::int64_t n = shape[at(axis)];
  if (n == 0) return false;
  shape[at(axis)] = m.between(1, 3);
  const int k = whole_numbers(m, shape, m.chance(0.3) ? -n : 0, n - 1);
  const int v = k < 0 ? -1 : values_of(m, m.at(x).dtype, shape);
  s.ints = {axis, m.below(5), m.chance(0.5)};
  s.args = {Maker::arg(x), Maker::arg(k), Maker::arg(v)};
  return v >= 0;
}
ArrayOf<Jet> scatter(X x, const S& s, Update how, bool mean, bool member) {
  return cases::scatter_reduce_of(x[0], cases::integers_of(x[1]), x[2], s.ints[0], how, mean, member);
}
ArrayOf<Jet> scatter_by_reduction(X x, const S& s) {
  static const Update updates[] = {Update::add, Update::add, Update::multiply, Update::max, Update::min};
  return scatter(x, s, updates[s.ints[1]], s.ints[1] == 1, s.ints[2] != 0);
}

// ---- Of x as a list. ints: the mode; args: x, indices, and of put values.
template <bool puts>
bool make_flat(Maker& m, S& s) {
  const int x = m.floating(0, 3);
  if (x < 0 || m.at(x).size() == 0) return false;
  const std::int64_t n = m.at(x).size();
  s.ints = {m.below(3)};
  const int k = whole_numbers(m, m.random_shape(0, 2), s.ints[0] ? -2 * n : -n, s.ints[0] ? 2 * n : n - 1);
  if (k < 0) return false;
  s.args = {Maker::arg(x), Maker::arg(k)};
  if (puts) s.args.push_back(Maker::arg(values_of(m, m.at(x).dtype, m.at(k).shape)));
  return s.args.back().index >= 0;
}
cases::OutOfRange rule_of(const S& s) { return static_cast<cases::OutOfRange>(s.ints[0]); }

// ---- Masks: where a bit of ints[0] is set. args: x.
bool make_masked(Maker& m, S& s) {
  const int x = m.floating(1, 3);
  s.ints = {m.below(256)};
  s.args = {Maker::arg(x)};
  return x >= 0;
}
bool set_at(const S& s, std::int64_t i) { return (s.ints[0] >> (i % 8) & 1) != 0; }
Tensor mask_of(const S& s, std::int64_t n) {
  Ints mask;
  for (std::int64_t i = 0; i < n; ++i) mask.push_back(set_at(s, i));
  return reel::cast(reel::from_data(mask), DType::boolean);
}
Tensor mask_of_rows(const S& s, const Operands& x) { return mask_of(s, x.tensor(0).shape()[0]); }
ArrayOf<Jet> kept_rows(X x, const S& s) {
  Ints rows;
  for (std::int64_t i = 0; i < x[0].shape[0]; ++i)
    if (set_at(s, i)) rows.push_back(i);
  cases::Extents region = x[0].shape;
  region[0] = std::ssize(rows);
  return cases::gathered(x[0], region, [&](cases::Index i) { return i[0] = rows[at(i[0])], i; });
}
ArrayOf<Jet> filled_columns(X x, const S& s) {
  return cases::build<Jet>(x[0].shape,
                           [&](const auto& i) { return set_at(s, i.back()) ? Jet(0.5L) : cases::at(x[0], i); });
}
ArrayOf<Jet> rows_of_nonzeros(X x, const S&) {
  ArrayOf<Jet> y{{5}, {}};
  cases::for_each_index(x[0].shape, [&](const auto& i) {
    if (y.values.size() < 5 && !is_zero(cases::at(x[0], i))) y.values.push_back(Jet(static_cast<Real>(i[0])));
  });
  y.values.resize(5, Jet(7));
  return y;
}
// clang-format off
void add_masks(std::vector<Op>& t) {
  constexpr Traits rarely{.weight = 0.6};
  t.push_back(row_op<Jet>("boolean_mask", make_masked, own, kept_rows, REEL_CALL(reel::boolean_mask(x[0], mask_of_rows(s, x))), rarely));
  t.push_back(row_op<Jet>("compress", make_masked, own, kept_rows, REEL_CALL(reel::compress(mask_of_rows(s, x), x[0], 0)), rarely));
  t.push_back(row_op<Jet>("masked_fill", make_masked, own, filled_columns, REEL_CALL(reel::masked_fill(x[0], mask_of(s, x.tensor(0).shape().back()), 0.5)), rarely));
  t.push_back(row_op<Jet>("nonzero", make_masked, [](const Inputs&) { return DType::int64; }, rows_of_nonzeros,
      REEL_CALL(reel::nonzero(x[0], {.size = 5, .fill = 7})[0]), rarely));
}
// clang-format on

// ---- Segments. args: x, of sparse ones the rows [count], ids; ints: how many.
bool make_embedding(Maker& m, S& s) {
  const int x = m.floating(1, 3);
  if (x < 0 || m.at(x).shape[0] == 0) return false;
  const std::int64_t n = m.at(x).shape[0];
  const int k = whole_numbers(m, m.random_shape(0, 1), m.chance(0.3) ? -n : 0, n - 1);
  s.ints = {m.between(-1, n - 1)};
  s.args = {Maker::arg(x), Maker::arg(k)};
  return k >= 0;
}
bool make_segments(Maker& m, S& s, bool sparse, bool bins) {
  const int x = m.floating(1, bins ? 1 : 3);
  if (x < 0 || m.at(x).shape[0] == 0) return false;
  const std::int64_t rows = m.at(x).shape[0], n = m.between(1, 3);
  s.ints = {n};
  s.args = {Maker::arg(x)};
  Extents count = {rows};
  if (sparse) {
    count = {m.between(1, 4)};
    s.args.push_back(Maker::arg(whole_numbers(m, count, 0, rows - 1)));
    if (s.args.back().index < 0) return false;
  }
  s.args.push_back(Maker::arg(whole_numbers(m, count, bins ? 0 : -1, n - 1)));
  return s.args.back().index >= 0;
}
// `power`: of the number of terms that a sum is divided by.
Op segments(const char* name, Update how, double power, Call call, bool sparse = false, bool bins = false) {
  return rounded_once(row_op<Jet>(
      name, [=](Maker& m, S& s) { return make_segments(m, s, sparse, bins); }, in_float32,
      [=](X x, const S& s) {
        const Ints rows = cases::integers_of(x[1]);
        return cases::segments_of(x[0], cases::integers_of(x.back()), s.ints[0], how, power, sparse ? &rows : nullptr);
      },
      call, seldom));
}
// clang-format off
void add_segments(std::vector<Op>& t) {
  t.push_back(segments("segment_sum", Update::add, 0, REEL_CALL(reel::segment_sum(x[0], x[1], i[0]))));
  t.push_back(segments("segment_mean", Update::add, 1, REEL_CALL(reel::segment_mean(x[0], x[1], i[0]))));
  t.push_back(segments("segment_prod", Update::multiply, 0, REEL_CALL(reel::segment_prod(x[0], x[1], i[0]))));
  t.push_back(segments("segment_max", Update::max, 0, REEL_CALL(reel::segment_max(x[0], x[1], i[0]))));
  t.push_back(segments("segment_min", Update::min, 0, REEL_CALL(reel::segment_min(x[0], x[1], i[0]))));
  t.push_back(segments("sparse_segment_sum", Update::add, 0, REEL_CALL(reel::sparse_segment_sum(x[0], x[1], x[2], i[0])), true));
  t.push_back(segments("sparse_segment_mean", Update::add, 1, REEL_CALL(reel::sparse_segment_mean(x[0], x[1], x[2], i[0])), true));
  t.push_back(segments("sparse_segment_sqrt_n", Update::add, 0.5, REEL_CALL(reel::sparse_segment_sqrt_n(x[0], x[1], x[2], i[0])), true));
  t.push_back(segments("bincount", Update::add, 0, REEL_CALL(reel::bincount(x[1], i[0], x[0])), false, true));
}
// clang-format on

}  // namespace

// clang-format off
void add_updates(std::vector<Op>& t) {
  add_index(t);
  t.push_back(row_op<Num>("slice_update", make_slice, own, slice<Update::set>, REEL_CALL(reel::slice_update(x[0], {reel::range(i[0], i[1])}, x[1])), in_bodies));
  t.push_back(row_op<Num>("slice_add", make_slice, own, slice<Update::add>, REEL_CALL(reel::slice_add(x[0], {reel::range(i[0], i[1])}, x[1])), in_bodies));
  t.push_back(row_op<Jet>("put_along_axis", make_scatter, own, [](X x, const S& s) { return scatter(x, s, Update::set, false, true); },
      REEL_CALL(reel::put_along_axis(x[0], x[1], x[2], i[0])), in_bodies));
  t.push_back(row_op<Jet>("scatter_add_along_axis", make_scatter, own, [](X x, const S& s) { return scatter(x, s, Update::add, false, true); },
      REEL_CALL(reel::scatter_add_along_axis(x[0], x[1], x[2], i[0])), in_bodies));
  t.push_back(rounded_once(row_op<Jet>("scatter_reduce", make_scatter, in_float32, scatter_by_reduction,
      REEL_CALL(reel::scatter_reduce(x[0], x[1], x[2], i[0], static_cast<reel::Reduction>(i[1]), i[2] != 0)), in_bodies)));
  t.push_back(row_op<Jet>("take", make_flat<false>, own, [](X x, const S& s) { return cases::take_of(x[0], x[1].shape, cases::integers_of(x[1]), rule_of(s)); },
      REEL_CALL(reel::take(x[0], x[1], static_cast<reel::IndexMode>(i[0]))), in_bodies));
  t.push_back(row_op<Jet>("put", make_flat<true>, own, [](X x, const S& s) { return cases::put_of(x[0], cases::integers_of(x[1]), x[2], rule_of(s)); },
      REEL_CALL(reel::put(x[0], x[1], x[2], static_cast<reel::IndexMode>(i[0]))), in_bodies));
  add_masks(t);
  t.push_back(row_op<Jet>("embedding", make_embedding, own, [](X x, const S& s) { return cases::embedding_of(x[0], x[1].shape, cases::integers_of(x[1]), s.ints[0]); },
      REEL_CALL(reel::embedding(x[0], x[1], i[0])), in_bodies));
  add_segments(t);
}
// clang-format on

}  // namespace random_programs
