// Reductions and scans: their operands and calls.
#include "../../op_cases/references/reductions.hpp"

#include <cmath>
#include <reel/ops/scans.hpp>
#include <reel/ops/statistics.hpp>

#include "../rows.hpp"

namespace random_programs {

namespace {

using reel::Axes;
using reel::Tensor;
using S = Statement;

// ints[0]: whether keepdims, ints[1]: whether all axes, ints[2...]: the axes.
bool keeps(const S& s) { return s.ints[0] != 0; }
Axes axes_of(const S& s) {
  if (s.ints[1]) return {};
  return Axes(Extents(s.ints.begin() + 2, s.ints.end()));
}
void choose_axes(Maker& m, const Array& x, S& s) {
  s.ints = {m.chance(0.3), x.rank() == 0 || m.chance(0.35)};
  if (s.ints[1]) return;
  for (int a = 0; a < x.rank(); ++a)
    if (m.chance(0.5)) s.ints.push_back(m.chance(0.3) ? a - x.rank() : a);
  if (s.ints.size() == 2 && m.chance(0.9)) s.ints.push_back(m.below(x.rank()));
  if (m.chance(0.2)) std::reverse(s.ints.begin() + 2, s.ints.end());
}
std::string text_of_reduction(std::string text, const S& s) {
  const auto replace = [&](const std::string& what, const std::string& with) {
    if (const std::size_t k = text.find(what); k != std::string::npos) text.replace(k, what.size(), with);
  };
  replace("axes_of(s)", s.ints[1] ? "{}" : braces(Extents(s.ints.begin() + 2, s.ints.end())));
  replace("keeps(s)", keeps(s) ? "true" : "false");
  return text.substr(0, text.find(" /*"));
}

// The dtypes of results, which are computed in them.
DType own(const Inputs& in) { return in[0]->dtype; }
DType own_real(const Inputs& in) {
  if (reel::is_complex(in[0]->dtype)) throw Unfit();
  round_like(in[0]->dtype);
  return in[0]->dtype;
}
DType sum_dtype(const Inputs& in) {
  const DType d = std::max(in[0]->dtype, DType::int64);
  round_like(d);
  return d;
}
// Headers name no dtype for sums of booleans and small integers along an axis.
DType scan_dtype(const Inputs& in) {
  if (in[0]->dtype < DType::int64) throw Unfit();
  return sum_dtype(in);
}
DType floating(const Inputs& in) {
  const DType d = floating_of(in[0]->dtype);
  round_like(d);
  return d;
}
DType floating_real(const Inputs& in) {
  if (reel::is_complex(in[0]->dtype)) throw Unfit();
  return floating(in);
}
DType size_dtype(const Inputs& in) {
  const DType d = floating(in);
  return d == DType::complex64 ? DType::float32 : d == DType::complex128 ? DType::float64 : d;
}
DType boolean(const Inputs&) { return DType::boolean; }
DType position(const Inputs& in) { return own_real(in), DType::int64; }

enum class Takes { floating, numbers, complex };
// f(row, statement) of each group of elements that becomes one.
template <class N>
using RowFunction = N (*)(const std::vector<N>& row, const S& s);
template <class N>
Op reduction(const char* name, Takes takes, DType (*dtype)(const Inputs&), RowFunction<N> f, Call call,
             std::vector<double> numbers = {}) {
  const auto make = [=](Maker& m, S& s) {
    const int x = takes != Takes::floating && numbers.empty() && m.chance(0.15)
                      ? m.number()
                      : m.floating(0, 4, takes == Takes::complex);
    if (x < 0) return false;
    choose_axes(m, m.at(x), s);
    if (!numbers.empty()) s.reals = {m.choose(numbers)};
    s.args = {Maker::arg(x)};
    return true;
  };
  const auto reference = [=](ArraysOf<N> x, const S& s) {
    const auto of_row = [&](const auto& row) { return f(row, s); };
    const std::vector<int> axes(s.ints.begin() + 2, s.ints.end());
    if (!s.ints[1] && axes.empty())
      return cases::build<N>(x[0].shape, [&](const auto& i) { return of_row(std::vector<N>{cases::at(x[0], i)}); });
    return cases::fold(x[0], axes, keeps(s), of_row);
  };
  Op o = row_op<N>(name, make, dtype, reference, call, {.weight = 1, .body = true});
  if (takes != Takes::complex)
    o.eval = [eval = o.eval](const S& s, const Inputs& in, Arrays& out) {
      if (reel::is_complex(in[0]->dtype)) throw Unfit();
      eval(s, in, out);
    };
  o.text = [text = o.text](const S& s, const std::vector<std::string>& a) { return text_of_reduction(text(s, a), s); };
  return o;
}
#define REEL_REDUCE(name, N, takes, dtype, f)                                                      \
  t.push_back(reduction<N>(                                                                        \
      #name, Takes::takes, dtype, [](const std::vector<N>& row, const S&) -> N { return f(row); }, \
      REEL_CALL(reel::name(x[0], axes_of(s), keeps(s)))))
#define REEL_REDUCE_BY(name, N, takes, numbers, f, ...)                                                               \
  t.push_back(reduction<N>(                                                                                           \
      #name, Takes::takes, size_dtype, [](const std::vector<N>& row, const S& s) -> N { return f(row, s.reals[0]); }, \
      REEL_CALL(__VA_ARGS__), numbers))

void add_plain(std::vector<Op>& t) {
  REEL_REDUCE(sum, Num, complex, sum_dtype, cases::total);
  REEL_REDUCE(nansum, Jet, numbers, sum_dtype, cases::total);
  REEL_REDUCE(mean, Num, complex, floating, cases::mean_of);
  REEL_REDUCE(nanmean, Jet, numbers, floating, cases::mean_of);
  REEL_REDUCE(prod, Num, complex, sum_dtype, cases::product_of);
  REEL_REDUCE(nanprod, Jet, numbers, sum_dtype, cases::product_of);
  REEL_REDUCE(max, Jet, numbers, own, cases::largest_of);
  REEL_REDUCE(nanmax, Jet, numbers, own, cases::largest_of);
  REEL_REDUCE(min, Jet, numbers, own, cases::smallest_of);
  REEL_REDUCE(nanmin, Jet, numbers, own, cases::smallest_of);
  REEL_REDUCE(ptp, Jet, floating, own_real, cases::range_of);
  REEL_REDUCE(any, Jet, numbers, boolean, cases::any_of);
  REEL_REDUCE(all, Jet, numbers, boolean, cases::all_of);
  REEL_REDUCE(logsumexp, Jet, numbers, floating, cases::log_sum_exp_of);
  // reals: ddof, or the order of a norm.
  const std::vector<double> ddofs = {0, 0, 0, 0, 0, 0, 0, 1, 1, 1};
  const std::vector<double> orders = {2, 2, 2, 1, 3, 1.5, 4, 0.5, -1, 0, HUGE_VAL};
  REEL_REDUCE_BY(var, Num, complex, ddofs, cases::variance_of, reel::var(x[0], axes_of(s), r[0], keeps(s)));
  REEL_REDUCE_BY(std, Num, complex, ddofs, cases::deviation_of, reel::std(x[0], axes_of(s), r[0], keeps(s)));
  REEL_REDUCE_BY(norm, Num, complex, orders, cases::norm_of, reel::norm(x[0], r[0], axes_of(s), keeps(s)));
  REEL_REDUCE_BY(nanvar, Jet, floating, ddofs, cases::variance_of, reel::nanvar(x[0], axes_of(s), r[0], keeps(s)));
  REEL_REDUCE_BY(nanstd, Jet, floating, ddofs, cases::deviation_of, reel::nanstd(x[0], axes_of(s), r[0], keeps(s)));
}

// Along one axis, f(row, statement). ints: axis, two flags.
template <class N>
using LineFunction = std::vector<N> (*)(const std::vector<N>& row, const S& s);
template <class N>
Op along_axis(const char* name, double numbers, DType (*dtype)(const Inputs&), LineFunction<N> f, Call call) {
  const auto make = [=](Maker& m, S& s) {
    const int x = m.chance(numbers) ? m.number(1) : m.floating(1, 4, std::is_same_v<N, Num>);
    if (x < 0) return false;
    const int rank = m.at(x).rank();
    s.ints = {m.chance(0.5) ? m.below(rank) : m.below(rank) - rank, m.chance(0.4), m.chance(0.4)};
    s.args = {Maker::arg(x)};
    return true;
  };
  return row_op<N>(name, make, dtype,
                   [=](ArraysOf<N> x, const S& s) {
                     return cases::along(x[0], s.ints[0], [&](const auto& row) { return f(row, s); });
                   },
                   call, {.weight = 1, .body = true});
}
// The same without the axis. ints: axis, keepdims.
template <int sign>
Op argument(const char* name, Call call) {
  const auto make = [](Maker& m, S& s) {
    const int x = m.chance(0.2) ? m.number(1) : m.floating(1);
    if (x < 0) return false;
    s.ints = {m.below(m.at(x).rank()), m.chance(0.4)};
    s.args = {Maker::arg(x)};
    return true;
  };
  return row_op<Jet>(
      name, make, position,
      [](ArraysOf<Jet> x, const S& s) {
        if (x[0].shape[s.ints[0]] == 0) throw Unfit();
        return cases::fold(x[0], {static_cast<int>(s.ints[0])}, s.ints[1] != 0, cases::argument_of<sign>);
      },
      call);
}

// clang-format off
void add_along(std::vector<Op>& t) {
  using Row = const std::vector<Jet>&;
  using Nums = const std::vector<Num>&;
  t.push_back(along_axis<Jet>("softmax", 0, floating_real, [](Row row, const S&) { return cases::softmax_of(row); }, REEL_CALL(reel::softmax(x[0], i[0]))));
  t.push_back(along_axis<Jet>("log_softmax", 0, floating_real, [](Row row, const S&) { return cases::log_softmax_of(row); }, REEL_CALL(reel::log_softmax(x[0], i[0]))));
  t.push_back(along_axis<Num>("cumsum", 0.1, scan_dtype, [](Nums row, const S& s) { return cases::cumsum_of(row, s.ints[1], s.ints[2]); },
      REEL_CALL(reel::cumsum(x[0], i[0], i[1] != 0, i[2] != 0))));
  t.push_back(along_axis<Num>("cumprod", 0.1, scan_dtype, [](Nums row, const S& s) { return cases::cumprod_of(row, s.ints[1], s.ints[2]); },
      REEL_CALL(reel::cumprod(x[0], i[0], i[1] != 0, i[2] != 0))));
  t.push_back(along_axis<Jet>("cummax", 0.1, own_real, [](Row row, const S& s) { return cases::running_extreme_of(row, 1, s.ints[1]); },
      REEL_CALL(reel::cummax(x[0], i[0], i[1] != 0).values)));
  t.push_back(along_axis<Jet>("cummin", 0.1, own_real, [](Row row, const S& s) { return cases::running_extreme_of(row, -1, s.ints[1]); },
      REEL_CALL(reel::cummin(x[0], i[0], i[1] != 0).values)));
  t.push_back(along_axis<Jet>("logcumsumexp", 0, own_real, [](Row row, const S& s) { return cases::logcumsumexp_of(row, s.ints[1]); },
      REEL_CALL(reel::logcumsumexp(x[0], i[0], false, i[1] != 0))));
  t.push_back(argument<1>("argmax", REEL_CALL(reel::argmax(x[0], i[0], i[1] != 0))));
  t.push_back(argument<-1>("argmin", REEL_CALL(reel::argmin(x[0], i[0], i[1] != 0))));
}
// clang-format on

}  // namespace

void add_reductions(std::vector<Op>& t) {
  add_plain(t);
  add_along(t);
}

}  // namespace random_programs
