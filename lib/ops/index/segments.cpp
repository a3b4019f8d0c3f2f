// Sums over segments: terms at positions of a tensor of neutral elements, with one more row for terms that are left
// out.
#include <limits>
#include <reel/ops/indexing.hpp>
#include <reel/ops/make.hpp>

#include "core/visit.hpp"
#include "csource/steps.hpp"
#include "loops/elementwise/complex.hpp"
#include "loops/index/gather.hpp"
#include "ops/apply/operation.hpp"
#include "ops/index/scatter.hpp"
#include "ops/sort/order.hpp"

namespace reel {
namespace ops {
namespace {

// The segments for ids; negative ids become n. Attributes: the address of the op's name, n.
void infer_segments(const Call& call, Metas& out) { out.add(DType::int64, {call.input(0).size()}); }
void evaluate_segments(const Call& call, Outputs& out) {
  const std::int64_t n = call.attribute(1);
  if (const loops::BadIndex bad = loops::find_segments(call.input(0), n, out[0]))
    fail<IndexError>(reinterpret_cast<const char*>(call.attribute(0)),
                     "id {} (element {} of ids) is out of range for {} segments", bad.value, bad.at, n);
}
void write_segments(const Call& call, csource::Writer& w) {
  csource::write_steps(w, DType::float64,
                       "temp t0 int64 i0\ncopy i0 t0\nrefuse $segments(t0, o0, #0, #1)|an id is out of range",
                       {call.input(0).size(), call.attribute(1)});
}
constexpr Primitive segments_primitive = {.rule = {.name = "segments"},
                                          .infer = infer_segments,
                                          .evaluate = evaluate_segments,
                                          .constants = 1,
                                          .effects = may_throw,
                                          .write_c = write_segments};

class Segments {
 public:
  Tensor terms;  // [count, rest]
  std::int64_t n;
  Segments(const char* op, const Tensor& x, const Operand& ids_operand, std::int64_t segments)
      : n(segments), ids_(to_tensor(op, ids_operand, "ids")), op_(op) {
    const Tensor& ids = ids_;
    require_integers(op, ids);
    if (n < 0 || n == std::numeric_limits<std::int64_t>::max())
      fail<ValueError>(op, "the number of segments is {}; it must be at least 0", n);
    require_rank(op, std::max(x.rank() - ids.rank(), 0) + 1);
    Shape shape{ids.size()};
    bool fits = ids.rank() <= x.rank();
    for (int d = 0; fits && d < x.rank(); ++d) {
      if (d >= ids.rank())
        shape.push_back(x.shape()[d]);
      else
        fits = ids.shape()[d] == x.shape()[d];
    }
    if (!fits)
      fail<ShapeError>(op, "x has shape {}, ids {}: ids must have the first axes of x", x.shape(), ids.shape());
    Shape result = shape;
    result[0] = n + 1;
    require_shape(op, result);
    terms = reshape(x, shape);
  }
  // The terms of each segment combined by f, with this neutral element.
  Tensor combine(loops::ScatterFunction f, const Tensor& neutral) const {
    using enum loops::ScatterFunction;
    if (const Tensor y = at_once(f, neutral); y.defined()) return y;
    Shape shape = terms.shape();
    shape[0] = n + 1;
    const Tensor start = broadcast_to(neutral, shape);
    return cut(f == add || f == multiply ? scatter_at(f, start, terms, positions(), 0, true)
                                         : scatter_extreme_at(f, start, terms, positions(), 0, Member::neutral));
  }
  Tensor sum() const { return combine(loops::ScatterFunction::add, zeros({}, terms.dtype())); }
  // The number of terms in each segment, at least 1, real, in a shape that broadcasts to the sums.
  Tensor counts() const {
    const DType number = is_complex(terms.dtype()) ? loops::part_dtype(terms.dtype()) : terms.dtype();
    const Tensor all =
        scatter_add_at(zeros({n + 1}, number), broadcast_to(ones({}, number), {ids_.size()}), positions(), 0);
    Shape shape{n};
    for (int d = 1; d < terms.rank(); ++d) shape.push_back(1);
    return reshape(maximum(cut(all), 1), shape);
  }

 private:
  Tensor ids_;
  const char* op_;
  mutable Tensor positions_;  // computed by positions()

  Tensor cut(const Tensor& y) const { return slice(y, {range_to(n)}); }
  const Tensor& positions() const {  // [count]
    const Tensor* const inputs[] = {&ids_};
    if (!positions_.defined())
      positions_ = !traced(inputs) && loops::are_positions(ids_, n)
                       ? reshape(ids_, {ids_.size()})
                       : apply(segments_primitive, inputs, words(reinterpret_cast<std::intptr_t>(op_), n));
    return positions_;
  }
  // Of terms without further axes that nothing follows: ids are checked while they are used. Undefined if they are no
  // positions.
  Tensor at_once(loops::ScatterFunction f, const Tensor& neutral) const {
    const Tensor* const inputs[] = {&ids_, &terms};
    if (terms.rank() > 1 || ids_.dtype() != DType::int64 || traced(inputs) || tape::watching() || followed(terms) ||
        !ids_.is_contiguous())
      return {};
    const Tensor y = detail::empty(terms.dtype(), {n});
    loops::copy(broadcast_to(neutral, {n}), y);
    return loops::scatter_if_positions(f, terms, ids_, y) ? y : Tensor();
  }
};

// f of the segments of x; float16 and bfloat16 compute in float32.
template <class F>
Tensor over_segments(const char* op, const Tensor& x, const Operand& ids, std::int64_t n, const F& f) {
  if (is_half(x.dtype())) return in_float32(x, [&](const Tensor& wide) { return f(Segments(op, wide, ids, n)); });
  return f(Segments(op, x, ids, n));
}

// Booleans and small integers are summed in int64.
Tensor summable(const char* op, const Operand& operand) {
  const Tensor x = to_tensor(op, operand);
  return cast_to(x, std::max(x.dtype(), DType::int64));
}
// Means are floating.
Tensor with_means(const char* op, const Operand& operand) {
  const Tensor x = to_tensor(op, operand);
  return cast_to(x, floating_of(x.dtype()));
}

// The neutral element of max, or of min.
Tensor farthest(DType d, bool largest) {
  return is_floating(d) ? full({}, (largest ? -1 : 1) * std::numeric_limits<double>::infinity(), d)
                        : visit(d, [&]<class T>() {
                            if constexpr (std::is_integral_v<T>)
                              return scalar<T>(largest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max());
                            else
                              return Tensor();
                          });
}

template <loops::ScatterFunction F>
Tensor extreme(const char* op, const Operand& operand, const Operand& ids, std::int64_t n) {
  const tape::OpScope scope(operand);
  return over_segments(op, ordered(op, operand), ids, n, [](const Segments& s) {
    return s.combine(F, farthest(s.terms.dtype(), F == loops::ScatterFunction::max));
  });
}

// Sums over a function of counts. float32 counts to 2^24, and a sum of more terms hardly grows: float64 sums these.
template <class F>
Tensor over_counts(Segments s, const F& f) {
  const DType d = s.terms.dtype();
  if (s.terms.shape()[0] > 1 << 24) s.terms = cast_to(s.terms, is_complex(d) ? DType::complex128 : DType::float64);
  return cast_to(s.sum() / f(s.counts()), d);
}
Tensor mean_of(const Segments& s) {
  return over_counts(s, [](const Tensor& count) { return count; });
}

// The rows of x that the indices name.
Tensor rows(const char* op, const Tensor& x, const Operand& indices) {
  if (x.rank() == 0) fail<ShapeError>(op, "x has rank 0; it needs an axis that the indices name");
  const Tensor at = check_indices(op, indices, 0, x.shape()[0]);
  require_rank(op, x.rank() - 1 + at.rank());
  return gather_at(x, at, 0);
}

// The number of occurrences of each of 0 ... n-1. Attributes: n, the addresses of the names of the op and of x.
void infer_counts(const Call& call, Metas& out) { out.add(DType::int64, {call.attribute(0)}); }
void evaluate_counts(const Call& call, Outputs& out) {
  if (const loops::BadIndex bad = loops::count_elements(call.input(0), out[0]))
    fail<IndexError>(reinterpret_cast<const char*>(call.attribute(1)),
                     "{} (element {} of {}) is out of range: it must be at least 0 and below {}", bad.value, bad.at,
                     reinterpret_cast<const char*>(call.attribute(2)), call.attribute(0));
}
void write_counts(const Call& call, csource::Writer& w) {
  csource::write_steps(w, DType::float64,
                       "temp t0 int64 i0\ncopy i0 t0\nrefuse $counts(t0, o0, #0, #1)|a number is out of range",
                       {call.input(0).size(), call.attribute(0)});
}
constexpr Primitive counts_primitive = {.rule = {.name = "bincount"},
                                        .infer = infer_counts,
                                        .evaluate = evaluate_counts,
                                        .constants = 1,
                                        .effects = may_throw,
                                        .write_c = write_counts};

// The weights, or ones.
Tensor bin_numbers(const Operand& operand, std::int64_t n) {
  const Tensor x = to_tensor("bincount", operand);
  require_integers("bincount", x);
  if (n < 0) fail<ValueError>("bincount", "the number of bins is {}; it must be at least 0", n);
  require_shape("bincount", {n});
  return x;
}

}  // namespace

Tensor counts_of(const char* op, const char* name, const Tensor& x, std::int64_t n) {
  return apply(counts_primitive, {&x},
               words(n, reinterpret_cast<std::intptr_t>(op), reinterpret_cast<std::intptr_t>(name)));
}

}  // namespace ops

Tensor segment_sum(const Operand& operand, const Operand& ids, std::int64_t n) {
  const tape::OpScope scope(operand);
  return ops::over_segments("segment_sum", ops::summable("segment_sum", operand), ids, n,
                            [](const ops::Segments& s) { return s.sum(); });
}
Tensor segment_mean(const Operand& operand, const Operand& ids, std::int64_t n) {
  const tape::OpScope scope(operand);
  return ops::over_segments("segment_mean", ops::with_means("segment_mean", operand), ids, n, ops::mean_of);
}
Tensor segment_prod(const Operand& operand, const Operand& ids, std::int64_t n) {
  const tape::OpScope scope(operand);
  return ops::over_segments("segment_prod", ops::summable("segment_prod", operand), ids, n, [](const ops::Segments& s) {
    return s.combine(loops::ScatterFunction::multiply, ones({}, s.terms.dtype()));
  });
}
Tensor segment_max(const Operand& x, const Operand& ids, std::int64_t n) {
  return ops::extreme<loops::ScatterFunction::max>("segment_max", x, ids, n);
}
Tensor segment_min(const Operand& x, const Operand& ids, std::int64_t n) {
  return ops::extreme<loops::ScatterFunction::min>("segment_min", x, ids, n);
}

Tensor sparse_segment_sum(const Operand& operand, const Operand& indices, const Operand& ids, std::int64_t n) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::summable("sparse_segment_sum", operand);
  return ops::over_segments("sparse_segment_sum", ops::rows("sparse_segment_sum", x, indices), ids, n,
                            [](const ops::Segments& s) { return s.sum(); });
}
Tensor sparse_segment_mean(const Operand& operand, const Operand& indices, const Operand& ids, std::int64_t n) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::with_means("sparse_segment_mean", operand);
  return ops::over_segments("sparse_segment_mean", ops::rows("sparse_segment_mean", x, indices), ids, n, ops::mean_of);
}
Tensor sparse_segment_sqrt_n(const Operand& operand, const Operand& indices, const Operand& ids, std::int64_t n) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::with_means("sparse_segment_sqrt_n", operand);
  return ops::over_segments(
      "sparse_segment_sqrt_n", ops::rows("sparse_segment_sqrt_n", x, indices), ids, n,
      [](const ops::Segments& s) { return ops::over_counts(s, [](const Tensor& count) { return sqrt(count); }); });
}

Tensor bincount(const Operand& operand, std::int64_t n) {
  const tape::OpScope scope(operand);
  return ops::counts_of("bincount", "x", ops::bin_numbers(operand, n), n);
}
Tensor bincount(const Operand& operand, std::int64_t n, const Operand& weights) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::bin_numbers(operand, n), w = ops::summable("bincount", weights);
  if (w.shape() != x.shape())
    fail<ShapeError>("bincount", "x has shape {}, the weights {}; they must be equal", x.shape(), w.shape());
  // Negative elements are errors here, not left out.
  const Tensor checked =
      ops::apply(ops::segments_primitive, {&x}, ops::words(reinterpret_cast<std::intptr_t>("bincount"), n));
  const Tensor at = ops::check_indices("bincount", checked, 0, n);
  return ops::scatter_rows(reshape(w, {w.size()}), at, {n}, 0);
}

}  // namespace reel
