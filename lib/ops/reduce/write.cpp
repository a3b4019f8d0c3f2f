// C of reductions, scans and functions of rows. Outputs are dense, so that axes which remain with extent 1 do not
// matter.
#include "ops/reduce/write.hpp"

#include <cmath>

#include "csource/rows.hpp"
#include "ops/reduce/reduction.hpp"

namespace reel::ops {
namespace {

using csource::cat, csource::Array, csource::Element, csource::Index, csource::literal, csource::Writer;
using Position = std::span<const Index>;

std::string one(DType d) { return is_differentiable(d) ? literal(1.0, d) : "1"; }

// y[row] = value(shape of the row, its elements)
template <class F>
void write_rows(std::int64_t mask, Writer& w, const F& value) {
  const csource::Rows rows = csource::rows_of(w.input(0), mask);
  const Array y = csource::reshaped(w.output(0), rows.kept());
  csource::for_each_row(w, rows, [&](Position at, const Element& x) { w.store(y, at, value(rows.over(), x)); });
}

Position joined(std::vector<Index>& all, Position at, Position k) {
  all.assign(at.begin(), at.end());
  all.insert(all.end(), k.begin(), k.end());
  return all;
}

// The first of equal elements; a NaN is the extreme.
void write_arg(const Call& call, Writer& w, const char* sign) {
  const DType d = call.input(0).dtype();
  write_rows(std::int64_t{1} << call.attribute(0), w, [&](const Shape& over, const Element& x) {
    const std::string best = w.variable(d, x(std::vector<Index>(over.size()))), at = w.variable(DType::int64, "0");
    const csource::Blocks nest(w);
    const std::vector<Index> k = w.loops(over);
    const std::string here = w.let(d, x(k));
    const std::string is_nan =
        is_floating(d) ? cat({" || (", here, " != ", here, " && ", best, " == ", best, ")"}) : "";
    w.open(cat({"if (", here, sign, best, is_nan, ")"}));
    w.statement(cat({best, " = ", here}));
    w.statement(cat({at, " = ", k.empty() ? "0" : k[0].text()}));
    return at;
  });
}

void write_truth(const Call& call, Writer& w, const char* first, const char* connective) {
  write_rows(call.attribute(0), w, [&](const Shape& over, const Element& x) {
    return csource::fold(
        w, DType::boolean, first, over,
        [&](Position at) {
          return cat({x(at), " != 0"});
        },
        [&](const std::string& a, const std::string& b) {
          return cat({a, connective, b});
        });
  });
}

}  // namespace

void write_sum(const Call& call, Writer& w) {
  write_rows(call.attribute(0), w,
             [&](const Shape& over, const Element& x) { return w.sum(call.input(0).dtype(), over, x); });
}
void write_sum_to(const Call& call, Writer& w) {
  std::int64_t mask = 0;
  for (const std::int64_t axis : summed_axes(w.input(0).shape, w.output(0).shape)) mask |= std::int64_t{1} << axis;
  write_sum({call.inputs, {&mask, 1}}, w);
}
void write_mean(const Call& call, Writer& w) {
  const DType d = call.input(0).dtype();
  const auto count = static_cast<double>(reduced_count(call.input(0).shape(), call.attribute(0)));
  write_rows(call.attribute(0), w, [&](const Shape& over, const Element& x) {
    return cat({w.sum(d, over, x), " / ", literal(count, d)});
  });
}
void write_prod(const Call& call, Writer& w) {
  const DType d = call.input(0).dtype();
  write_rows(call.attribute(0), w, [&](const Shape& over, const Element& x) {
    return csource::fold(w, d, one(d), over, x, [&](const std::string& a, const std::string& b) {
      if (is_differentiable(d)) return cat({a, " * ", b});
      return cat({"(int64_t)((uint64_t)", a, " * (uint64_t)", b, ")"});
    });
  });
}
void write_max(const Call& call, Writer& w) {
  write_rows(call.attribute(0), w,
             [&](const Shape& over, const Element& x) { return csource::largest(w, call.input(0).dtype(), over, x); });
}
void write_min(const Call& call, Writer& w) {
  write_rows(call.attribute(0), w, [&](const Shape& over, const Element& x) {
    return csource::largest(w, call.input(0).dtype(), over, x, true);
  });
}
void write_argmax(const Call& call, Writer& w) { write_arg(call, w, " > "); }
void write_argmin(const Call& call, Writer& w) { write_arg(call, w, " < "); }
void write_any(const Call& call, Writer& w) { write_truth(call, w, "0", " || "); }
void write_all(const Call& call, Writer& w) { write_truth(call, w, "1", " && "); }

namespace {

// Writes to each element of the rows, which may be those of several arrays with the axes of a mask behind the others.
template <class F>
void for_each_element(Writer& w, const csource::Rows& rows, const Array& y, Position at, const F& value) {
  const csource::Blocks nest(w);
  const std::vector<Index> k = w.loops(rows.over());
  std::vector<Index> all;
  w.store(y, joined(all, at, k), value(k));
}

// 1 for an element that is the extreme, or NaN as the extreme is; 0 for others.
std::string tie(const std::string& x, const std::string& extreme, DType d) {
  return cat({"(", x, " == ", extreme, " || (", extreme, " != ", extreme, " && ", x, " != ", x, ") ? ", one(d), " : ",
              Writer::zero(d), ")"});
}

}  // namespace

void write_shares(const Call& call, Writer& w) {
  const DType d = call.input(0).dtype();
  const csource::Rows rows = csource::rows_of(w.dense(w.input(0)), call.attribute(0));
  const Array y = csource::rows_of(w.output(0), call.attribute(0)).x;  // merged like x, which is dense too
  const Array z = csource::reshaped(w.dense(w.input(1)), rows.kept());
  csource::for_each_row(w, rows, [&](Position at, const Element& x) {
    const std::string extreme = w.let(d, z.at(at));
    const std::string count = w.sum(d, rows.over(), [&](Position k) { return tie(x(k), extreme, d); });
    for_each_element(w, rows, y, at, [&](Position k) { return cat({tie(x(k), extreme, d), " / ", count}); });
  });
}

// ---- Moments and norms

namespace {

// The sum of squares of what is left of the elements less their mean, twice.
void write_variance(const Call& call, Writer& w, bool root) {
  const DType d = call.input(0).dtype();
  const std::int64_t mask = call.attribute(0), count = reduced_count(call.input(0).shape(), mask);
  const std::string over = cat({" / ", literal(static_cast<double>(count), d)}),
                    by = cat({" / ", literal(degrees_of_freedom(count, call.real(2)), d)});
  write_rows(mask, w, [&](const Shape& row, const Element& x) {
    const std::string first = w.let(d, cat({w.sum(d, row, x), over}));
    const auto less = [&](Position k) { return cat({x(k), " - ", first}); };
    const std::string rest = w.let(d, cat({w.sum(d, row, less), over}));
    const std::string s = w.sum(d, row, [&](Position k) {
      const std::string c = w.let(d, cat({less(k), " - ", rest}));
      return cat({c, " * ", c});
    });
    return root ? cat({w.function_name("sqrt", d), "(", s, by, ")"}) : cat({s, by});
  });
}

}  // namespace

void write_var(const Call& call, Writer& w) { write_variance(call, w, false); }
void write_std(const Call& call, Writer& w) { write_variance(call, w, true); }

// Elements are scaled by the largest, so that powers do not overflow or underflow.
void write_norm(const Call& call, Writer& w) {
  const DType d = call.input(0).dtype();
  const double p = call.real(2);
  const std::string abs = w.function_name("fabs", d), pow = w.function_name("pow", d), zero = Writer::zero(d);
  write_rows(call.attribute(0), w, [&](const Shape& row, const Element& x) {
    const auto size = [&](Position k) { return cat({abs, "(", x(k), ")"}); };
    const std::string unit = csource::largest(w, d, row, size, p < 0), norm = w.variable(d, unit);
    w.open(cat({"if (", unit, " > ", zero, " && isfinite(", unit, "))"}));
    const std::string s = w.sum(d, row, [&](Position k) {
      const std::string ratio = w.let(d, cat({size(k), " / ", unit}));
      return p == 2 ? cat({ratio, " * ", ratio}) : cat({pow, "(", ratio, ", ", literal(p, d), ")"});
    });
    w.statement(p == 2 ? cat({norm, " *= ", w.function_name("sqrt", d), "(", s, ")"})
                       : cat({norm, " *= ", pow, "(", s, ", ", literal(1 / p, d), ")"}));
    w.close();
    return norm;
  });
}

// ---- Softmax and logsumexp

namespace {

// Of softmax: inputs are x, or g and z for the vjp, where g may have a leading axis.
void write_along_axis(const Call& call, Writer& w, bool is_log, bool is_vjp) {
  const DType d = call.input(0).dtype();
  const std::int64_t mask = std::int64_t{1} << call.attribute(0);
  const csource::Rows rows = csource::rows_of(w.input(0), mask);
  const Array y = csource::rows_of(w.output(0), mask).x;
  const Array z = is_vjp ? csource::rows_of(csource::broadcast(w.input(1), w.input(0).shape), mask).x : Array();
  const std::string exp = w.function_name("exp", d);
  csource::for_each_row(w, rows, [&](Position at, const Element& x) {
    if (is_vjp) {
      std::vector<Index> all;
      const auto at_z = [&](Position k) { return z.at(joined(all, at, k)); };
      const std::string s = w.sum(d, rows.over(), [&](Position k) {
        return is_log ? x(k) : cat({x(k), " * ", at_z(k)});
      });
      return for_each_element(w, rows, y, at, [&](Position k) {
        return is_log ? cat({x(k), " - ", exp, "(", at_z(k), ") * ", s}) : cat({at_z(k), " * (", x(k), " - ", s, ")"});
      });
    }
    const std::string most = csource::largest(w, d, rows.over(), x);
    const auto power = [&](Position k) { return cat({exp, "(", x(k), " - ", most, ")"}); };
    const std::string s = w.sum(d, rows.over(), power);
    const std::string log = is_log ? w.let(d, cat({w.function_name("log", d), "(", s, ")"})) : "";
    for_each_element(w, rows, y, at, [&](Position k) {
      return is_log ? cat({x(k), " - ", most, " - ", log}) : cat({power(k), " / ", s});
    });
  });
}

// exp(x - maximum) / sum; in a row with an infinite maximum the weights are equal among its elements. `g`: a factor.
void write_weights_of(Writer& w, const Array& x, const Array& maximum, const Array& sum, std::int64_t mask,
                      const Array& y, const Array* g) {
  const DType d = x.dtype;
  const csource::Rows rows = csource::rows_of(w.dense(x), mask);
  const Array to = csource::rows_of(y, mask).x, most_of = csource::reshaped(w.dense(maximum), rows.kept()),
              sum_of = csource::reshaped(w.dense(sum), rows.kept()),
              g_of = g ? csource::reshaped(w.dense(*g), rows.kept()) : Array();
  csource::for_each_row(w, rows, [&](Position at, const Element& element) {
    const std::string most = w.let(d, most_of.at(at)), total = w.let(d, sum_of.at(at));
    const std::string factor = g ? cat({w.let(d, g_of.at(at)), " * "}) : "";
    w.open(cat({"if (isinf(", most, "))"}));
    const std::string count = w.sum(d, rows.over(), [&](Position k) { return tie(element(k), most, d); });
    for_each_element(w, rows, to, at, [&](Position k) {
      return cat({factor, "(", tie(element(k), most, d), " / ", count, ")"});
    });
    w.reopen("else");
    for_each_element(w, rows, to, at, [&](Position k) {
      return cat({factor, "(", w.function_name("exp", d), "(", element(k), " - ", most, ") / ", total, ")"});
    });
    w.close();
  });
}

}  // namespace

void write_softmax(const Call& call, Writer& w) { write_along_axis(call, w, false, false); }
void write_softmax_vjp(const Call& call, Writer& w) { write_along_axis(call, w, false, true); }
void write_log_softmax(const Call& call, Writer& w) { write_along_axis(call, w, true, false); }
void write_log_softmax_vjp(const Call& call, Writer& w) { write_along_axis(call, w, true, true); }

// An infinite maximum is the result; the sum is 1 then.
void write_logsumexp(const Call& call, Writer& w) {
  const DType d = call.input(0).dtype();
  if (reduced_count(call.input(0).shape(), call.attribute(0)) == 0) return w.fill(w.output(0), literal(-INFINITY, d));
  const csource::Rows rows = csource::rows_of(w.input(0), call.attribute(0));
  const auto output = [&](std::size_t k) { return csource::reshaped(w.output(k), rows.kept()); };
  csource::for_each_row(w, rows, [&](Position at, const Element& x) {
    const std::string most = csource::largest(w, d, rows.over(), x), sum = w.variable(d, literal(1.0, d));
    w.open(cat({"if (isfinite(", most, "))"}));
    const std::string s = w.sum(d, rows.over(), [&](Position k) {
      return cat({w.function_name("exp", d), "(", x(k), " - ", most, ")"});
    });
    w.statement(cat({sum, " = ", s}));
    w.close();
    w.store(output(0), at, cat({most, " + ", w.function_name("log", d), "(", sum, ")"}));
    if (w.wanted(1)) w.store(output(1), at, most);
    if (w.wanted(2)) w.store(output(2), at, sum);
  });
}
void write_weights(const Call& call, Writer& w) {
  write_weights_of(w, w.input(0), w.input(2), w.input(3), call.attribute(0), w.output(0), nullptr);
}
void write_logsumexp_vjp(const Call& call, Writer& w) {
  const Array g = w.dense(w.input(0)), y = w.output(0);
  if (call.attribute(1) == 0) return write_weights_of(w, w.input(1), w.input(2), w.input(3), call.attribute(0), y, &g);
  for (std::int64_t row = 0; row < g.shape[0]; ++row) {
    Array factor = csource::section(g, 0, row, 1), to = csource::section(y, 0, row, 1);
    to.shape.erase(0);
    to.strides.erase(0);
    write_weights_of(w, w.input(1), w.input(2), w.input(3), call.attribute(0), to, &factor);
  }
}

// ---- Scans

namespace {

// A variable that goes along the axis, for each position of the others. step(variable, position) writes what is done.
template <class F>
void write_along(Writer& w, const Array& y, int axis, bool reverse, const std::string& first, const F& step) {
  const csource::Blocks nest(w);
  std::vector<Index> at;
  for (int d = 0; d < y.rank(); ++d) at.push_back(d == axis ? Index() : w.loop(y.shape[d]));
  const std::string so_far = w.variable(y.dtype, first);
  const csource::Blocks inner(w);
  const Index k = w.loop(y.shape[axis]);
  at[static_cast<std::size_t>(axis)] = reverse ? Index(y.shape[axis] - 1) - k : k;
  step(so_far, at);
}

// Attributes: axis, exclusive, reverse.
void write_scan(const Call& call, Writer& w, const char* sign, const std::string& first) {
  const Array &x = w.input(0), &y = w.output(0);
  const bool exclusive = call.attribute(1) != 0, real = is_differentiable(x.dtype);
  write_along(w, y, static_cast<int>(call.attribute(0)), call.attribute(2) != 0, first,
              [&](const std::string& so_far, const std::vector<Index>& at) {
                const std::string element = w.let(x.dtype, x.at(at));
                if (exclusive) w.store(y, at, so_far);
                w.statement(real ? cat({so_far, " = ", so_far, sign, element})
                                 : cat({so_far, " = (", csource::type_of(x.dtype), ")((uint64_t)", so_far, sign,
                                        "(uint64_t)", element, ")"}));
                if (!exclusive) w.store(y, at, so_far);
              });
}

}  // namespace

void write_cumsum(const Call& call, Writer& w) { write_scan(call, w, " + ", Writer::zero(call.input(0).dtype())); }
void write_cumprod(const Call& call, Writer& w) { write_scan(call, w, " * ", one(call.input(0).dtype())); }

// y = b + a y of the step before; `after`: a of the step before. Attributes: axis, after, reverse.
void write_recurrence(const Call& call, Writer& w) {
  const Array a = csource::broadcast(w.input(0), w.output(0).shape), &b = w.input(1), &y = w.output(0);
  const bool after = call.attribute(1) != 0;
  write_along(w, y, static_cast<int>(call.attribute(0)), call.attribute(2) != 0, Writer::zero(y.dtype),
              [&](const std::string& before, const std::vector<Index>& at) {
                const std::string here = w.let(y.dtype, a.at(at)), term = after ? before : cat({here, " * ", before});
                const std::string value = w.let(y.dtype, cat({b.at(at), " + ", term}));
                w.store(y, at, value);
                w.statement(after ? cat({before, " = ", here, " * ", value}) : cat({before, " = ", value}));
              });
}

}  // namespace reel::ops
