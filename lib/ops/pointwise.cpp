// The pointwise ops: rows of the table made functions. One engine does for all of them what no row repeats: promotion,
// broadcasting, reuse of an operand's memory, the choice of what a tape keeps, and the fused or recorded derivative.
#include <array>
#include <reel/ops/make.hpp>
#include <reel/ops/neural.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>

#include "kernels/table.hpp"
#include "loops/loops.hpp"
#include "ops/complex.hpp"
#include "ops/derivatives.hpp"
#include "ops/engine.hpp"
#include "ops/shape/view.hpp"
#include "tape/tape.hpp"

namespace reel {

namespace table = kernels::table;

namespace ops {

namespace {

// Where a rule finds x, y, w and z among the saved values.
constexpr std::size_t result_at = 3;
constexpr std::size_t arity_max = 3;
static_assert(result_at + 1 == tape::most_read);

// What the engine needs to know of a row, without its type.
struct Row {
  tape::Rule rule;
  std::size_t index, arity;
  table::Domain domain;
  tape::Reads reads;  // by the product of each operand
};

constexpr kernels::Type lane_type(DType d) { return static_cast<kernels::Type>(d); }

const char* operand_name(std::size_t i) { return i == 0 ? "x" : i == 1 ? "y" : "w"; }

// The dtype the row computes in, for operands whose common dtype is `d`.
DType computed_in(const Row& row, DType d) {
  if (row.domain == table::Domain::floating) d = floating_of(d);
  if (!kernels::active().op[row.index][kernels::index(lane_type(d))].value)
    fail<TypeError>(row.rule.name, "is not defined for {}; {}", d, remedy(d));
  return d;
}

bool same_shape(const detail::Block* a, const detail::Block* b) noexcept {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; ++i)
    if (a->extents()[i] != b->extents()[i]) return false;
  return true;
}

// The operand whose memory may hold the result, or null.
detail::Block* reusable_operand(std::span<const Operand* const> operands, const Tensor* const* x, DType d,
                                const Shape& shape) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i]->kind() != detail::OperandKind::rvalue || x[i] != &operands[i]->tensor()) continue;
    detail::Block* b = detail::block(*x[i]);
    if (b->dtype != d || !detail::reusable(b) || b->shape() != shape) continue;
    bool alone = true;  // the same handle may stand for two operands
    for (std::size_t k = 0; k < operands.size(); ++k) alone &= k == i || x[k] != x[i];
    if (alone && tape::active())  // a tape may keep it
      for (std::size_t k = 0; k < operands.size(); ++k) alone &= !tape::followed(*x[k]) && !tape::cut_off(*x[k]);
    if (alone) return TensorAccess::take(const_cast<Tensor&>(*x[i]));
  }
  return nullptr;
}

void compute(const Row& row, kernels::Loop loop, std::span<const Tensor* const> x, const Tensor& out,
             const Shape& shape) {
  if (detail::block(out)->size == 0) return;
  static_cast<void>(row);
  loops::pointwise(loop, shape, x, out);
}

void record_row(const Row& row, std::span<const Tensor* const> x, const Tensor& z) {
  if (is_differentiable(detail::block(z)->dtype)) [[likely]]
    tape::record(row.rule, x, z, row.reads);
  else
    tape::note_cut(row.rule.name, x, z, tape::Cut::integer);
}

// Operands of different dtypes or shapes, weak scalars, any layout.
[[gnu::noinline]] Tensor run_general(const Row& row, std::span<const Operand* const> operands) {
  Tensor held[arity_max];
  const Tensor* x[arity_max] = {};
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i]->is_tensor()) require_defined(row.rule.name, operands[i]->tensor(), operand_name(i));
  const DType d = computed_in(row, common_dtype(row.rule.name, operands));
  Shape shape;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i]->is_tensor()) {
      x[i] = &operands[i]->tensor();
      if (x[i]->dtype() != d) x[i] = &(held[i] = cast_to(*x[i], d));
    } else {
      x[i] = &(held[i] = to_tensor(row.rule.name, *operands[i], d, operand_name(i)));
    }
    shape = i == 0 ? x[i]->shape() : broadcast_shapes(row.rule.name, shape, x[i]->shape());
  }
  const kernels::Loop loop = kernels::active().op[row.index][kernels::index(lane_type(d))].value;
  Tensor z;
  const Tensor* read[arity_max];
  std::copy_n(x, arity_max, read);
  detail::Block* reused = tape::watching() ? nullptr : reusable_operand(operands, x, d, shape);
  if (reused) {
    z = TensorAccess::adopt(reused);
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (!x[i]->defined()) read[i] = &z;
    compute(row, loop, {read, operands.size()}, z, shape);
    detail::renew(reused);
    return z;
  }
  z = detail::empty(d, shape);
  compute(row, loop, {x, operands.size()}, z, shape);
  if (tape::active()) record_row(row, {x, operands.size()}, z);
  return z;
}

template <std::size_t Arity>
Tensor run(const Row& row, const std::array<const Operand*, Arity>& operands) {
  // The common case: tensors of one dtype and shape, contiguous, the row defined for them, nothing to reuse.
  const detail::Block* first = operands[0]->is_tensor() ? detail::block(operands[0]->tensor()) : nullptr;
  if (!first || !first->contiguous()) return run_general(row, operands);
  const Tensor* x[Arity];
  for (std::size_t i = 0; i < Arity; ++i) {
    if (!operands[i]->is_tensor()) return run_general(row, operands);
    x[i] = &operands[i]->tensor();
    const detail::Block* b = detail::block(*x[i]);
    if (!b || b->dtype != first->dtype || !b->contiguous() || (i > 0 && !same_shape(b, first)) ||
        (operands[i]->kind() == detail::OperandKind::rvalue && detail::reusable(b) &&
         !(tape::active() && tape::followed(*x[i]))))
      return run_general(row, operands);
  }
  const kernels::Loop loop = kernels::active().op[row.index][static_cast<std::size_t>(first->dtype)].value;
  if (!loop || (row.domain == table::Domain::floating && !is_differentiable(first->dtype)))
    return run_general(row, operands);
  Tensor z = TensorAccess::adopt(detail::new_like(first));
  if (first->size < loops::parallel_threshold) {
    kernels::Strided in[Arity];
    for (std::size_t i = 0; i < Arity; ++i) in[i] = {detail::block(*x[i])->data, 1};
    loop(in, detail::block(z)->data, first->size);
  } else {
    loops::pointwise(loop, z.shape(), x, z);
  }
  if (tape::active()) record_row(row, x, z);
  return z;
}

// What a product is made in: the shape of its cotangent, unless another is given.
Shape shape_of(const Tensor& g, const Shape* given) { return given ? *given : detail::block(g)->shape(); }

// The fused kernel of a product summed down to `target` in the same walk; empty where that is no gain.
[[gnu::noinline]] Tensor fused_sum(kernels::Loop loop, std::span<const Tensor* const> in, DType dtype,
                                   const Shape& shape, const Shape& target) {
  if (target == shape || is_half(dtype)) return {};
  const kernels::Reduction& sum = kernels::active().reduction(kernels::Reduce::sum, lane_type(dtype));
  Tensor out = detail::empty(dtype, target);
  if (!loops::pointwise_reduce(loop, shape, in, sum, summed_axes(shape, target), out)) out = {};
  return out;
}

// The fused kernel of a product, in = g, x, y, w, z as far as it reads them, in a shape of its own if one is given, and
// summed down to `target` if that is. It writes into g's own memory if it `may`.
[[gnu::noinline]] Tensor fused(kernels::Loop loop, const Tensor& g, std::span<const Tensor* const> in,
                               const Shape* given, const Shape* target, bool may) {
  const DType dtype = detail::block(g)->dtype;
  if (target)
    if (Tensor sum = fused_sum(loop, in, dtype, shape_of(g, given), *target); sum.defined()) return sum;
  if (may && !tape::active() && !tape::watching() && detail::reusable(detail::block(g))) {
    loops::pointwise(loop, in, g);
    detail::renew(detail::block(g));
    return std::move(const_cast<Tensor&>(g));
  }
  Tensor out = detail::empty(dtype, shape_of(g, given));
  if (detail::block(out)->size) loops::pointwise(loop, in, out);
  return out;
}

constexpr std::int64_t worth_a_view = 1024;                        // elements
constexpr std::int64_t worth_a_block = loops::parallel_threshold;  // elements, of a product that is added to a sum

// Whether g is a one that is repeated: the cotangent of a sum that nothing follows.
bool is_one(const Tensor& g) {
  const detail::Block* b = detail::block(g);
  for (int d = 0; d < b->rank; ++d)
    if (b->extents()[d] != 1 && b->strides()[d] != 0) return false;
  if (b->size == 0) return false;
  return b->dtype == DType::float32   ? *reinterpret_cast<const float*>(b->data) == 1
         : b->dtype == DType::float64 ? *reinterpret_cast<const double*>(b->data) == 1
                                      : false;
}
// Whether x's elements are in memory of the user, who may write there.
bool is_borrowed(const Tensor& x) {
  const detail::Block* b = detail::block(x);
  if (b->flags & detail::view_flag) b = static_cast<const detail::Block*>(b->base);
  return b->flags & detail::borrowed_flag;
}

// g times the partial derivative with respect to operand K: in g's shape, or in another if one is `given`, or summed
// down to `target` already. Recorded when a tape follows what it is made of; one fused kernel otherwise, which adds to
// the sum of the cotangents that came before, where replay has one to give, or writes into g's own memory if nobody
// `needs` g afterwards.
template <table::FixedString Name, std::size_t K>
Tensor product(const tape::Record& record, const Tensor& g, const Shape* given, const Shape* target, bool needed) {
  constexpr const auto& p = std::get<K>(kernels::row<Name>.products);
  if constexpr (p.is_identity) {
    return needed || tape::watching() ? g : std::move(const_cast<Tensor&>(g));
  } else if constexpr (p.is_zero) {
    return zeros(shape_of(g, given), g.dtype());
  } else {
    constexpr unsigned masks[] = {table::x, table::y, table::w, table::z};
    // The order of a product's operands: g, x, y, w, z, up to the last that it reads. What it does not read is g again.
    constexpr std::size_t count = p.reads & table::z ? 5 : p.reads & table::w ? 4 : p.reads & table::y ? 3 : 2;
    const Tensor* in[count];
    in[0] = &g;
    for (std::size_t i = 1; i < count; ++i) in[i] = p.reads & masks[i - 1] ? &record.saved(i - 1) : &g;
    if (tape::active()) {
      bool recorded = false;
      for (std::size_t i = 0; i < count; ++i)
        recorded = recorded || ((i == 0 || in[i] != &g) && tape::followed(*in[i]));
      if (recorded) {
        const auto operand = [&](std::size_t i) -> const Tensor& { return *in[i < count ? i : 0]; };
        return table::apply(p, g, operand(1), operand(2), operand(3), operand(4));
      }
    }
    if constexpr (p.is_times)
      if (detail::block(g)->size >= worth_a_view && is_one(g) && !is_borrowed(*in[count - 1]))
        return broadcast_view(*in[count - 1], shape_of(g, given));
    const auto type = static_cast<std::size_t>(detail::block(g)->dtype);
    const kernels::Loop loop = kernels::active().op[kernels::row_of<Name>()][type].product[K];
    if (detail::block(g)->size >= worth_a_block && !target && !is_complex(detail::block(g)->dtype))
      if (Tensor sum = record.take_sum(K); sum.defined()) {
        loops::pointwise_into_sum(loop, shape_of(g, given), in,
                                  kernels::active().op[kernels::row_of<"add">()][type].value, sum);
        return sum;
      }
    return fused(loop, g, in, given, target, !needed);
  }
}

template <table::FixedString Name, std::size_t K>
void pull(const tape::Record& record, const Tensor& g, std::span<Gradient> dx) {
  constexpr const auto& p = std::get<K>(kernels::row<Name>.products);
  if constexpr (!p.is_unconnected) {
    // The transpose of a complex product is the product with the conjugate.
    const bool complex = p.has_function && is_complex(detail::block(g)->dtype);
    Tensor held;
    const Tensor& from = complex ? held = conj(g) : g;
    bool needed = false;
    for (std::size_t k = K + 1; k < kernels::row<Name>.arity; ++k) needed = needed || record.wanted(k);
    needed = needed && !complex;
    if (record.fits(g, K)) {  // nothing was broadcast
      Tensor part = product<Name, K>(record, from, nullptr, nullptr, needed);
      if (complex) part = conj(part);
      dx[K] = std::move(part);
      return;
    }
    const Shape own = record.shape(K), target = led_target(record, own, detail::block(g)->rank);
    Tensor part = product<Name, K>(record, from, nullptr, &target, needed);
    if (complex) part = conj(part);
    dx[K] = sum_to(record, part, own);
  }
}

template <table::FixedString Name, std::size_t K>
void push(const tape::Record& record, const Tensor& t, Tensor& dy) {
  if constexpr (!std::get<K>(kernels::row<Name>.products).is_unconnected)
    if (t.defined()) {
      const Shape shape = record.output_shape();
      Tensor part = product<Name, K>(record, t, &shape, nullptr, true);
      if (part.shape() != shape) part = broadcast_to(part, shape);
      dy = dy.defined() ? add(std::move(dy), part) : part;
    }
}

template <table::FixedString Name>
constexpr Row make_row() {
  constexpr const auto& row = kernels::row<Name>;
  constexpr std::size_t arity = row.arity;
  Row r{};
  r.index = kernels::row_of<Name>();
  r.arity = arity;
  r.domain = row.domain;
  [&]<std::size_t... K>(std::index_sequence<K...>) { ((r.reads[K] = std::get<K>(row.products).reads), ...); }
  (std::make_index_sequence<arity>());
  r.rule.name = row.name.data();
  r.rule.batched = true;
  r.rule.vjp = [](const tape::Record& record, std::span<const Tensor> g, std::span<Gradient> dx) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      ((record.wanted(K) ? pull<Name, K>(record, g[0], dx) : void()), ...);
    }
    (std::make_index_sequence<arity>());
  };
  r.rule.jvp = [](const tape::Record& record, std::span<const Tensor> t, std::span<Tensor> dy) {
    [&]<std::size_t... K>(std::index_sequence<K...>) { (push<Name, K>(record, t[K], dy[0]), ...); }
    (std::make_index_sequence<arity>());
  };
  return r;
}
template <table::FixedString Name>
constexpr Row row = make_row<Name>();

template <table::FixedString Name, class... O>
Tensor apply(const Operand& first, const O&... others) {
  const tape::OpScope scope(first);
  return run<1 + sizeof...(O)>(row<Name>, {&first, &others...});
}

// Integer operands that have no result: refused before anything is computed.
bool integers(const Operand& x, const Operand& y) {
  const Operand* both[] = {&x, &y};
  const bool defined = (!x.is_tensor() || x.tensor().defined()) && (!y.is_tensor() || y.tensor().defined());
  return defined && !is_differentiable(common_dtype("", both));
}
void check_divisor(const char* op, const Operand& x, const Operand& y) {
  if (!integers(x, y)) return;
  const tape::OpScope scope(x);
  const tape::Suspend suspend;
  if (bool(any(equal(to_tensor(op, y, "y"), 0)))) fail<ValueError>(op, "an integer is divided by zero");
}
// With other alphas elu is not monotonic.
void check_alpha(const Operand& alpha) {
  const tape::OpScope scope(alpha);
  const tape::Suspend suspend;
  const bool negative =
      alpha.is_tensor() ? alpha.tensor().defined() && bool(any(less(alpha.tensor(), 0))) : alpha.floating() < 0;
  if (negative) fail<ValueError>("elu", "alpha must not be negative");
}
void check_exponent(const Operand& x, const Operand& y) {
  if (!integers(x, y)) return;
  const tape::OpScope scope(x);
  const tape::Suspend suspend;
  if (bool(any(less(to_tensor("power", y, "y"), 0))))
    fail<ValueError>("power", "an integer has a negative integer exponent; cast the base to a floating dtype");
}

}  // namespace

}  // namespace ops

using ops::apply;

// clang-format off
Tensor add(const Operand& x, const Operand& y)                { return apply<"add">(x, y); }
Tensor subtract(const Operand& x, const Operand& y)           { return apply<"subtract">(x, y); }
Tensor multiply(const Operand& x, const Operand& y)           { return apply<"multiply">(x, y); }
Tensor divide(const Operand& x, const Operand& y)             { return apply<"divide">(x, y); }
Tensor squared_difference(const Operand& x, const Operand& y) { return apply<"squared_difference">(x, y); }
Tensor logaddexp(const Operand& x, const Operand& y)          { return apply<"logaddexp">(x, y); }
Tensor hypot(const Operand& x, const Operand& y)              { return apply<"hypot">(x, y); }
Tensor arctan2(const Operand& y, const Operand& x)            { return apply<"arctan2">(y, x); }
Tensor maximum(const Operand& x, const Operand& y)            { return apply<"maximum">(x, y); }
Tensor minimum(const Operand& x, const Operand& y)            { return apply<"minimum">(x, y); }
Tensor polygamma(const Operand& n, const Operand& x)          { return apply<"polygamma">(n, x); }
Tensor leaky_relu(const Operand& x, const Operand& slope)     { return apply<"leaky_relu">(x, slope); }
Tensor clip(const Operand& x, const Operand& low, const Operand& high) { return apply<"clip">(x, low, high); }
Tensor negative(const Operand& x)   { return apply<"negative">(x); }
Tensor square(const Operand& x)     { return apply<"square">(x); }
Tensor sign(const Operand& x)       { return apply<"sign">(x); }
Tensor reciprocal(const Operand& x) { return apply<"reciprocal">(x); }
Tensor sqrt(const Operand& x)       { return apply<"sqrt">(x); }
Tensor rsqrt(const Operand& x)      { return apply<"rsqrt">(x); }
Tensor cbrt(const Operand& x)       { return apply<"cbrt">(x); }
Tensor exp(const Operand& x)        { return apply<"exp">(x); }
Tensor exp2(const Operand& x)       { return apply<"exp2">(x); }
Tensor expm1(const Operand& x)      { return apply<"expm1">(x); }
Tensor log(const Operand& x)        { return apply<"log">(x); }
Tensor log2(const Operand& x)       { return apply<"log2">(x); }
Tensor log10(const Operand& x)      { return apply<"log10">(x); }
Tensor log1p(const Operand& x)      { return apply<"log1p">(x); }
Tensor sin(const Operand& x)        { return apply<"sin">(x); }
Tensor cos(const Operand& x)        { return apply<"cos">(x); }
Tensor tan(const Operand& x)        { return apply<"tan">(x); }
Tensor arcsin(const Operand& x)     { return apply<"arcsin">(x); }
Tensor arccos(const Operand& x)     { return apply<"arccos">(x); }
Tensor arctan(const Operand& x)     { return apply<"arctan">(x); }
Tensor sinh(const Operand& x)       { return apply<"sinh">(x); }
Tensor cosh(const Operand& x)       { return apply<"cosh">(x); }
Tensor tanh(const Operand& x)       { return apply<"tanh">(x); }
Tensor arcsinh(const Operand& x)    { return apply<"arcsinh">(x); }
Tensor arccosh(const Operand& x)    { return apply<"arccosh">(x); }
Tensor arctanh(const Operand& x)    { return apply<"arctanh">(x); }
Tensor erf(const Operand& x)        { return apply<"erf">(x); }
Tensor erfc(const Operand& x)       { return apply<"erfc">(x); }
Tensor lgamma(const Operand& x)     { return apply<"lgamma">(x); }
Tensor digamma(const Operand& x)    { return apply<"digamma">(x); }
Tensor sigmoid(const Operand& x)    { return apply<"sigmoid">(x); }
Tensor softplus(const Operand& x)   { return apply<"softplus">(x); }
Tensor relu(const Operand& x)       { return apply<"relu">(x); }
Tensor selu(const Operand& x)       { return apply<"selu">(x); }
Tensor gelu(const Operand& x)       { return apply<"gelu">(x); }
Tensor silu(const Operand& x)       { return apply<"silu">(x); }
Tensor softsign(const Operand& x)   { return apply<"softsign">(x); }
Tensor sigmoid_cross_entropy(const Operand& x, const Operand& y) { return apply<"sigmoid_cross_entropy">(x, y); }
Tensor floor(const Operand& x)      { return apply<"floor">(x); }
Tensor ceil(const Operand& x)       { return apply<"ceil">(x); }
Tensor round(const Operand& x)      { return apply<"round">(x); }
Tensor trunc(const Operand& x)      { return apply<"trunc">(x); }
// clang-format on

Tensor abs(const Operand& x) {
  if (x.is_tensor() && x.tensor().defined() && is_complex(x.tensor().dtype())) return ops::magnitude(x);
  return apply<"abs">(x);
}
Tensor power(const Operand& x, const Operand& y) {
  ops::check_exponent(x, y);
  return apply<"power">(x, y);
}
Tensor elu(const Operand& x, const Operand& alpha) {
  ops::check_alpha(alpha);
  return apply<"elu">(x, alpha);
}
Tensor floor_divide(const Operand& x, const Operand& y) {
  ops::check_divisor("floor_divide", x, y);
  return apply<"floor_divide">(x, y);
}
Tensor mod(const Operand& x, const Operand& y) {
  ops::check_divisor("mod", x, y);
  return apply<"mod">(x, y);
}

void Variable::assign_add(const Tensor& delta, const char* file, int line) const {
  const Operand caller(0, file, line);
  const tape::OpScope scope(caller);
  VariableAccess::update(
      *this, "Variable.assign_add", [](Tensor&& x, const Tensor& d) { return add(std::move(x), d); }, delta);
}
void Variable::assign_sub(const Tensor& delta, const char* file, int line) const {
  const Operand caller(0, file, line);
  const tape::OpScope scope(caller);
  VariableAccess::update(
      *this, "Variable.assign_sub", [](Tensor&& x, const Tensor& d) { return subtract(std::move(x), d); }, delta);
}

}  // namespace reel
