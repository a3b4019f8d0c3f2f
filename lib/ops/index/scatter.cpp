// Terms at positions. Adding and setting are linear. The derivative of a product by one of its factors is the product
// of the others: an op whose own derivatives are expressed by cumulative products over chains of factors with the same
// position, which gives every order. The derivative of an extreme is shared equally among ties.
#include "ops/index/scatter.hpp"

#include <reel/ops/make.hpp>

#include "loops/loops.hpp"
#include "ops/attributes.hpp"
#include "ops/index/write.hpp"

namespace reel::ops {
namespace {

// Inputs of all: x, terms, positions; attributes: axis, and for extremes a Member.

constexpr std::uint8_t terms_followed = 0b10;

int scatter_axis(const tape::Record& r) { return static_cast<int>(r.attributes()[0]); }
int scatter_axis(const Call& call) { return static_cast<int>(call.attribute(0)); }

// x, repeated for each cotangent of a batch.
Tensor batched_input(const tape::Record& r, const Tensor& x) {
  return r.batch_rank() ? broadcast_to(x, r.batched(x.shape())) : x;
}
// One number per term, in a shape that broadcasts to the terms.
Tensor per_term(const Tensor& numbers, int rank, int axis) {
  Shape shape{numbers.size()};
  while (shape.rank() < rank - axis) shape.push_back(1);
  return reshape(numbers, shape);
}
// Zeros of the shape of x, or with another extent along the axis.
Tensor zeros_like_output(const tape::Record& r, std::int64_t extent) {
  Shape shape = r.output_shape();
  shape[scatter_axis(r)] = extent;
  return broadcast_to(zeros({}, r.output_dtype()), shape);
}

void infer_updated(const Call& call, Metas& out) { out.add_like(call.input(0)); }
template <loops::ScatterFunction F>
void evaluate_scatter(const Call& call, Outputs& out) {
  loops::copy(call.input(0), out[0]);
  loops::scatter(F, call.input(1), call.input(2), scatter_axis(call), out[0]);
}

// ---- add

void add_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0)) dx[0] = g[0];
  if (r.wanted(1)) dx[1] = gather_at(g[0], r.saved(0), scatter_axis(r) + r.batch_rank());
}
void add_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (!t[1].defined())
    dy[0] = t[0];
  else if (!t[0].defined())
    dy[0] = scatter_rows(t[1], r.saved(0), r.output_shape(), scatter_axis(r));
  else
    dy[0] = scatter_add_at(t[0], t[1], r.saved(0), scatter_axis(r));
}
constexpr Primitive add_primitive = {.rule = batched({"scatter_add", add_vjp, add_jvp}),
                                     .infer = infer_updated,
                                     .evaluate = evaluate_scatter<loops::ScatterFunction::add>,
                                     .keeps = {keep_input(2, terms_followed)},
                                     .constants = 1,
                                     .write_c = write_scatter_add};

// ---- set

// Whether each term is the last one at its position. Attributes: the extent.
void infer_last(const Call& call, Metas& out) { out.add(DType::boolean, call.input(0).shape()); }
void evaluate_last(const Call& call, Outputs& out) { loops::find_last(call.input(0), call.attribute(0), out[0]); }
constexpr Primitive last_primitive = {.rule = {.name = "scatter.last"},
                                      .infer = infer_last,
                                      .evaluate = evaluate_last,
                                      .constants = 1,
                                      .write_c = write_last};

void set_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor& positions = r.saved(0);
  const int axis = scatter_axis(r) + r.batch_rank();
  if (r.wanted(0)) {
    Shape terms = g[0].shape();
    terms[axis] = positions.size();
    dx[0] = scatter_set_at(g[0], broadcast_to(zeros({}, g[0].dtype()), terms), positions, axis);
  }
  if (r.wanted(1)) {
    const Tensor last = apply(last_primitive, {&positions}, words(r.output_shape()[scatter_axis(r)]));
    const Tensor all = gather_at(g[0], positions, axis);
    dx[1] = where(per_term(last, all.rank(), axis), all, 0);
  }
}
void set_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Tensor& positions = r.saved(0);
  dy[0] = scatter_set_at(t[0].defined() ? t[0] : zeros_like_output(r, r.output_shape()[scatter_axis(r)]),
                         t[1].defined() ? t[1] : zeros_like_output(r, positions.size()), positions, scatter_axis(r));
}
void evaluate_set(const Call& call, Outputs& out) {
  loops::copy(call.input(0), out[0]);
  loops::scatter_set(call.input(1), call.input(2), scatter_axis(call), out[0]);
}
constexpr Primitive set_primitive = {.rule = batched({"scatter_set", set_vjp, set_jvp}),
                                     .infer = infer_updated,
                                     .evaluate = evaluate_set,
                                     .keeps = {keep_input(2)},
                                     .constants = 1,
                                     .write_c = write_scatter_set};

// ---- multiply

void infer_others(const Call& call, Metas& out) { out.add_like(call.input(1)); }
void evaluate_others(const Call& call, Outputs& out) {
  loops::products_of_others(call.input(0), call.input(1), call.input(2), scatter_axis(call), out[0]);
}
constexpr Primitive others_primitive = {.rule = {.name = "scatter.others"},
                                        .infer = infer_others,
                                        .evaluate = evaluate_others,
                                        .constants = 1,
                                        .write_c = write_others};

// The order of equal positions. Attributes: the extent.
void infer_runs(const Call& call, Metas& out) {
  for (int k = 0; k < 4; ++k) out.add(DType::int64, call.input(0).shape());
}
void evaluate_runs(const Call& call, Outputs& out) {
  loops::find_runs(call.input(0), call.attribute(0), out[0], out[1], out[2], out[3]);
}
constexpr Primitive runs_primitive = {
    .rule = {.name = "scatter.runs"}, .infer = infer_runs, .evaluate = evaluate_runs, .constants = 1};

// Cumulative products along an axis over chains, each from its own start, by doubling (Hillis and Steele 1986).
// `reached` holds the number of factors of the same chain before each. Factors of other chains are replaced by 1, not
// multiplied by 0.
Tensor running_products(Tensor factors, const Tensor& reached, int axis, bool reverse) {
  const std::int64_t count = factors.shape()[axis];
  const Tensor places = arange(count);
  for (std::int64_t step = 1; step < count; step *= 2) {
    const Tensor from = reverse ? minimum(places + step, count - 1) : maximum(places - step, 0);
    const Tensor inside = per_term(greater_equal(reached, step), factors.rank(), axis);
    factors = factors * where(inside, gather_at(factors, from, axis), 1);
  }
  return factors;
}

// For each term the product of x and of the other terms at its position.
Tensor others(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis) {
  if (!followed(x, terms)) return evaluate(others_primitive, {&x, &terms, &positions}, words(axis));
  const std::int64_t count = positions.size();
  if (count == 0) return terms;
  Tensor runs[4];
  const Tensor* in[] = {&positions};
  apply(runs_primitive, in, words(x.shape()[axis]), runs);
  const Tensor &order = runs[0], &place = runs[1], &before = runs[2], &behind = runs[3];
  const Tensor places = arange(count), sorted = gather_at(terms, order, axis);
  const auto at_end = [&](const Tensor& left) { return per_term(equal(left, 0), terms.rank(), axis); };
  const Tensor first = gather_at(x, gather_at(positions, order, 0), axis);
  const Tensor front = where(at_end(before), first, gather_at(sorted, maximum(places - 1, 0), axis));
  const Tensor back = where(at_end(behind), 1, gather_at(sorted, minimum(places + 1, count - 1), axis));
  return gather_at(running_products(front, before, axis, false) * running_products(back, behind, axis, true), place,
                   axis);
}

void multiply_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor &terms = r.saved(0), &positions = r.saved(2);
  const int axis = scatter_axis(r) + r.batch_rank();
  if (r.wanted(0)) dx[0] = scatter_multiply_at(g[0], batched_input(r, conj(terms)), positions, axis);
  if (r.wanted(1))
    dx[1] = gather_at(g[0], positions, axis) * conj(others(r.saved(1), terms, positions, scatter_axis(r)));
}
void multiply_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Tensor &terms = r.saved(0), &positions = r.saved(2);
  if (t[0].defined()) dy[0] = scatter_multiply_at(t[0], terms, positions, scatter_axis(r));
  if (!t[1].defined()) return;
  const Tensor by_terms = t[1] * others(r.saved(1), terms, positions, scatter_axis(r));
  dy[0] = dy[0].defined() ? scatter_add_at(dy[0], by_terms, positions, scatter_axis(r))
                          : scatter_rows(by_terms, positions, r.output_shape(), scatter_axis(r));
}
constexpr Primitive multiply_primitive = {.rule = batched({"scatter_multiply", multiply_vjp, multiply_jvp}),
                                          .infer = infer_updated,
                                          .evaluate = evaluate_scatter<loops::ScatterFunction::multiply>,
                                          .keeps = {keep_input(1), keep_input(0, terms_followed), keep_input(2)},
                                          .constants = 1,
                                          .write_c = write_scatter_multiply};

// ---- max, min

// The share of each element and each term in the result, as constants. Inputs: x, terms, the result, positions;
// attributes: axis, a Member.
void infer_term_shares(const Call& call, Metas& out) {
  out.add_like(call.input(0));
  out.add_like(call.input(1));
}
void evaluate_term_shares(const Call& call, Outputs& out) {
  loops::extreme_shares(call.input(0), call.input(1), call.input(3), call.input(2), scatter_axis(call),
                        static_cast<Member>(call.attribute(1)) == Member::yes, out[0], out[1]);
}
constexpr Primitive term_shares_primitive = {.rule = {.name = "scatter.shares"},
                                             .infer = infer_term_shares,
                                             .evaluate = evaluate_term_shares,
                                             .constants = 1,
                                             .write_c = write_term_shares};

struct Shares {
  Tensor of[2];
  explicit Shares(const tape::Record& r) {
    const Tensor* in[] = {&r.saved(0), &r.saved(1), &r.saved(2), &r.saved(3)};
    evaluate(term_shares_primitive, in, r.attributes(), of, false);
  }
};

void scatter_extreme_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Shares shares(r);
  if (r.wanted(0)) dx[0] = g[0] * shares.of[0];
  if (r.wanted(1)) dx[1] = gather_at(g[0], r.saved(3), scatter_axis(r) + r.batch_rank()) * shares.of[1];
}
void scatter_extreme_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Shares shares(r);
  if (t[0].defined()) dy[0] = t[0] * shares.of[0];
  if (!t[1].defined()) return;
  const Tensor by_terms = t[1] * shares.of[1];
  dy[0] = dy[0].defined() ? scatter_add_at(dy[0], by_terms, r.saved(3), scatter_axis(r))
                          : scatter_rows(by_terms, r.saved(3), r.output_shape(), scatter_axis(r));
}
// If x is no member, the first term at a position replaces it.
template <loops::ScatterFunction F>
void evaluate_extreme(const Call& call, Outputs& out) {
  loops::copy(call.input(0), out[0]);
  if (static_cast<Member>(call.attribute(1)) == Member::no)
    loops::scatter_set(call.input(1), call.input(2), scatter_axis(call), out[0]);
  loops::scatter(F, call.input(1), call.input(2), scatter_axis(call), out[0]);
}
template <loops::ScatterFunction F>
constexpr Primitive scatter_extreme_primitive = {
    .rule = batched(
        {F == loops::ScatterFunction::max ? "scatter_max" : "scatter_min", scatter_extreme_vjp, scatter_extreme_jvp}),
    .infer = infer_updated,
    .evaluate = evaluate_extreme<F>,
    .keeps = {keep_input(0), keep_input(1), keep_output(0), keep_input(2)},
    .constants = 1,
    .write_c = F == loops::ScatterFunction::max ? write_scatter_max : write_scatter_min};

}  // namespace

Tensor scatter_add_at(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis) {
  return apply(add_primitive, {&x, &terms, &positions}, words(axis));
}
Tensor scatter_set_at(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis) {
  return apply(set_primitive, {&x, &terms, &positions}, words(axis));
}
Tensor scatter_multiply_at(const Tensor& x, const Tensor& terms, const Tensor& positions, int axis) {
  return apply(multiply_primitive, {&x, &terms, &positions}, words(axis));
}
Tensor scatter_extreme_at(loops::ScatterFunction f, const Tensor& x, const Tensor& terms, const Tensor& positions,
                          int axis, Member member) {
  const Primitive& primitive = f == loops::ScatterFunction::max
                                   ? scatter_extreme_primitive<loops::ScatterFunction::max>
                                   : scatter_extreme_primitive<loops::ScatterFunction::min>;
  return apply(primitive, {&x, &terms, &positions}, words(axis, member));
}

Tensor scatter_at(loops::ScatterFunction f, const Tensor& x, const Tensor& terms, const Tensor& positions, int axis,
                  bool member) {
  using enum loops::ScatterFunction;
  if (f == add) return scatter_add_at(x, terms, positions, axis);
  if (f == multiply) return scatter_multiply_at(x, terms, positions, axis);
  if (f == set) return scatter_set_at(x, terms, positions, axis);
  return scatter_extreme_at(f, x, terms, positions, axis, member ? Member::yes : Member::no);
}

}  // namespace reel::ops
