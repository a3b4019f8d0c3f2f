// Tensors made from values or by rule. They have no derivative, except full by its value; sizes are checked before
// memory is allocated.
#include <cmath>
#include <memory>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>

#include "core/limits.hpp"
#include "csource/writer.hpp"
#include "loops/make/fill.hpp"
#include "loops/make/transfer.hpp"
#include "ops/attributes.hpp"
#include "ops/engine.hpp"
#include "ops/make/identity_rows.hpp"
#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

// ---- zeros and ones; attributes: dtype, extents

void infer_filled(const Call& call, Metas& out) {
  out.add(static_cast<DType>(call.attribute(0)), shape_behind(call.attributes, 1));
}
constexpr Primitive zeros_primitive = {.rule = {.name = "zeros"},
                                       .infer = infer_filled,
                                       .evaluate = [](const Call&, Outputs& out) { loops::fill_zero(out[0]); }};
constexpr Primitive ones_primitive = {.rule = {.name = "ones"},
                                      .infer = infer_filled,
                                      .evaluate = [](const Call&, Outputs& out) { loops::fill_one(out[0]); }};

Tensor filled(const Primitive& primitive, const Shape& shape, DType dtype) {
  require_dtype(primitive.rule.name, dtype);
  require_shape(primitive.rule.name, shape);
  return apply_announced(primitive, {}, shaped(words(dtype), shape), dtype, shape);
}

// ---- full; inputs: the value, of one element; attributes: extents

void infer_full(const Call& call, Metas& out) {
  out.add(detail::block(call.input(0))->dtype, shape_behind(call.attributes, 0));
}
void evaluate_full(const Call& call, Outputs& out) { loops::fill(out[0], call.input(0)); }
void write_full(const Call&, csource::Writer& w) { w.fill(w.output(0), w.input(0).value()); }
constexpr Primitive full_primitive = {.rule = {.name = "full"},
                                      .infer = infer_full,
                                      .evaluate = evaluate_full,
                                      .write_c = write_full},
                    full_like_primitive = {.rule = {.name = "full_like"},
                                           .infer = infer_full,
                                           .evaluate = evaluate_full,
                                           .write_c = write_full};

// The same of a tensor.
Tensor full_transpose(const tape::Record& r, const Tensor& g) {
  detail::List<std::int64_t> axes;
  for (int d = r.batch_rank(); d < g.rank(); ++d) axes.push_back(d);
  return reshape(axes.empty() ? g : sum(g, axes), r.batched(r.shape(0)));
}
Tensor full_forward(const tape::Record& r, const Tensor& t) { return full(r.output_shape(), t); }
constexpr Primitive full_of_tensor_primitive = {.rule = linear<full_transpose, full_forward>("full"),
                                                .infer = infer_full,
                                                .evaluate = evaluate_full,
                                                .write_c = write_full};

Tensor filled(const Primitive& primitive, const Shape& shape, const Operand& operand, DType dtype) {
  const tape::OpScope scope(operand);
  const char* op = primitive.rule.name;
  require_dtype(op, dtype);
  require_shape(op, shape);
  const Tensor value = to_tensor(op, operand, dtype, "value");
  if (value.size() != 1)
    fail<ShapeError>(op, "value has shape {}; it must be a number or have one element", value.shape());
  return apply(primitive, {&value}, {shape.data(), shape.size()});
}

// ---- eye; attributes: dtype, rows, columns

constexpr Primitive eye_primitive = {.rule = {.name = "eye"},
                                     .infer = infer_filled,
                                     .evaluate = [](const Call&, Outputs& out) { loops::fill_identity(out[0]); }};

// ---- rows of the identity; attributes: dtype, rows or 0, period, first, extents

void infer_identity_rows(const Call& call, Metas& out) {
  Shape shape = shape_behind(call.attributes, 4);
  if (const std::int64_t rows = call.attribute(1)) shape.insert(0, rows);
  out.add(static_cast<DType>(call.attribute(0)), shape);
}
void evaluate_identity_rows(const Call& call, Outputs& out) {
  const std::int64_t rows = std::max<std::int64_t>(1, call.attribute(1));
  loops::fill_identity_rows(out[0], rows, call.attribute(2), call.attribute(3));
}
constexpr Primitive identity_rows_primitive = {
    .rule = {.name = "identity_rows"}, .infer = infer_identity_rows, .evaluate = evaluate_identity_rows};

// ---- sequences; attributes: count, start, step or stop

template <DType Result>
void infer_sequence(const Call& call, Metas& out) {
  out.add(Result, {call.attribute(0)});
}
void evaluate_arange(const Call& call, Outputs& out) { loops::fill_sequence(out[0], call.real(1), call.real(2)); }
void evaluate_arange_integer(const Call& call, Outputs& out) {
  loops::fill_sequence(out[0], call.attribute(1), call.attribute(2));
}
void evaluate_linspace(const Call& call, Outputs& out) { loops::fill_evenly(out[0], call.real(1), call.real(2)); }
constexpr Primitive arange_primitive = {.rule = {.name = "arange"},
                                        .infer = infer_sequence<DType::float64>,
                                        .evaluate = evaluate_arange},
                    arange_integer_primitive = {.rule = {.name = "arange"},
                                                .infer = infer_sequence<DType::int64>,
                                                .evaluate = evaluate_arange_integer},
                    linspace_primitive = {.rule = {.name = "linspace"},
                                          .infer = infer_sequence<DType::float64>,
                                          .evaluate = evaluate_linspace};

}  // namespace

Tensor identity_rows(const Shape& shape, DType dtype, std::int64_t rows, std::int64_t period, std::int64_t first) {
  return apply(identity_rows_primitive, {}, shaped(words(dtype, rows, period, first), shape));
}

}  // namespace ops

detail::Owner::~Owner() = default;

void detail::fail_ragged() {
  fail<ShapeError>("tensor", "the nested list is ragged: sublists of one level must have equal lengths and depths");
}

namespace {
template <class N>
[[noreturn]] void refuse_literal(const char* op, N value, DType dtype) {
  fail<ValueError>(op, "{} is not a value of {}; choose a dtype that holds it, or convert it first", value, dtype);
}
}  // namespace
void detail::fail_literal(const char* op, double value, DType dtype) { refuse_literal(op, value, dtype); }
void detail::fail_literal(const char* op, std::int64_t value, DType dtype) { refuse_literal(op, value, dtype); }
void detail::fail_literal(const char* op, std::uint64_t value, DType dtype) { refuse_literal(op, value, dtype); }

namespace {
// A byte above 1 would be true, and its logical_not true as well.
void require_booleans(const char* op, const Tensor& x) {
  if (x.dtype() != DType::boolean || x.size() == 0) return;
  const Shape shape = x.shape();
  const detail::Block& b = *detail::block(x);
  std::int64_t index[max_rank] = {}, at = 0;
  for (std::int64_t i = 0; i < b.size; ++i) {
    const auto byte = std::to_integer<unsigned>(b.data[at]);
    if (byte > 1)
      fail<ValueError>(op,
                       "a boolean of shape {} is the byte {}; only 0 and 1 are booleans: pass uint8, and compare it",
                       shape, byte);
    for (int axis = shape.rank(); axis-- > 0;) {
      at += b.strides()[axis];
      if (++index[axis] < shape[axis]) break;
      at -= index[axis] * b.strides()[axis];
      index[axis] = 0;
    }
  }
}
}  // namespace

Tensor detail::copy_in(const void* values, std::size_t count, const Shape& shape, DType dtype) {
  ops::require_shape("from_data", shape);
  const std::int64_t wanted = shape.elements();
  if (static_cast<std::uint64_t>(wanted) != count)
    fail<ShapeError>("from_data", "{} values do not fill shape {}, which has {} elements", count, shape, wanted);
  Tensor y = empty(dtype, shape);
  loops::copy_in(values, y);
  require_booleans("from_data", y);
  return y;
}

namespace {
void require_memory(const char* op, const void* data, const Shape& shape, DType dtype) {
  ops::require_shape(op, shape);
  if (shape.elements() == 0) return;
  if (!data) fail<ValueError>(op, "the pointer is null but shape {} has elements", shape);
  const std::size_t alignment = item_size(dtype) / (is_complex(dtype) ? 2 : 1);
  if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0)
    fail<ValueError>(
        op, "the memory of {} {} begins at an address that is not a multiple of {} bytes; copy it with from_data",
        dtype, shape, alignment);
}

// How many elements lie before and behind the first one, itself not counted.
struct Reach {
  std::int64_t before = 0, behind = 0;
};
Reach reach_of(const char* op, const Shape& shape, const Shape& strides) {
  constexpr std::int64_t most = std::int64_t{1} << 57;  // times two, then times 16 bytes, is within int64
  Reach reach;
  for (int i = 0; i < shape.rank(); ++i) {
    std::int64_t steps = 0;
    std::int64_t& side = strides[i] < 0 ? reach.before : reach.behind;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &steps) || steps < -most || steps > most ||
        (side += steps < 0 ? -steps : steps) > most)
      fail<ShapeError>(op, "shape {} with strides {} reaches further than memory has addresses", shape, strides);
  }
  return reach;
}
}  // namespace

Tensor detail::borrow(const void* data, const Shape& shape, DType dtype, Owner* owner) {
  return borrow_strided("borrow", data, shape, nullptr, dtype, owner);
}

Tensor detail::borrow_strided(const char* op, const void* data, const Shape& shape, const Shape* strides, DType dtype,
                              Owner* owner) {
  std::unique_ptr<Owner> guard(owner);
  require_memory(op, data, shape, dtype);
  if (strides && shape.rank() != strides->rank())
    fail<ShapeError>(op, "shape {} needs one stride per axis, in elements, but the strides are {}", shape, *strides);
  const auto over = [&](const void* from, const Shape& all) {
    Tensor y = TensorAccess::adopt(new_borrowed(from, dtype, all, owner));
    static_cast<void>(guard.release());
    return y;
  };
  const auto checked = [&](const Tensor& x) {
    require_booleans(op, x);
    return x;
  };
  if (!strides || shape.elements() == 0) return checked(over(data, shape));
  const Reach reach = reach_of(op, shape, *strides);
  Shape steps = *strides;
  for (int i = shape.rank(); i-- > 0;)
    if (shape[i] == 1) steps[i] = i + 1 < shape.rank() ? steps[i + 1] * shape[i + 1] : 1;
  const auto before = static_cast<std::size_t>(reach.before) * item_size(dtype);
  const Tensor memory = over(static_cast<const std::byte*>(data) - before, {reach.before + reach.behind + 1});
  return checked(ops::view(memory, reach.before, shape, steps));
}

Tensor detail::uninitialized(const Shape& shape, DType dtype, void*& data) {
  Tensor y = empty(dtype, shape);
  data = loops::first_element(y);
  return y;
}

Tensor zeros(const Shape& shape, DType dtype) { return ops::filled(ops::zeros_primitive, shape, dtype); }

Tensor ones(const Shape& shape, DType dtype) { return ops::filled(ops::ones_primitive, shape, dtype); }

Tensor full(const Shape& shape, const Operand& value) {
  const Operand* list[] = {&value};
  return full(shape, value, ops::common_dtype("full", list));
}
Tensor full(const Shape& shape, const Operand& value, DType dtype) {
  return ops::filled(value.is_tensor() && !value.is_weak() ? ops::full_of_tensor_primitive : ops::full_primitive, shape,
                     value, dtype);
}

Tensor eye(std::int64_t n, DType dtype) { return eye(n, n, dtype); }

Tensor eye(std::int64_t n, std::int64_t m, DType dtype) {
  if (n < 0 || m < 0) fail<ShapeError>("eye", "n is {} and m is {}; both must be at least 0", n, m);
  return ops::filled(ops::eye_primitive, {n, m}, dtype);
}

Tensor zeros_like(const Operand& x) {
  const tape::OpScope scope(x);
  const Tensor like = ops::to_tensor("zeros_like", x);
  return zeros(like.shape(), like.dtype());
}
Tensor ones_like(const Operand& x) {
  const tape::OpScope scope(x);
  const Tensor like = ops::to_tensor("ones_like", x);
  return ones(like.shape(), like.dtype());
}
Tensor full_like(const Operand& x, const Operand& value) {
  const tape::OpScope scope(x);
  const Tensor like = ops::to_tensor("full_like", x);
  return ops::filled(ops::full_like_primitive, like.shape(), value, like.dtype());
}

Tensor detail::arange(double start, double stop, double step, DType dtype) {
  if (!(std::isfinite(start) && std::isfinite(stop) && std::isfinite(step)) || step == 0)
    fail<ValueError>("arange", "start {}, stop {} and step {} must be finite, and step not 0", start, stop, step);
  const double count = std::max(0.0, std::ceil((stop - start) / step));
  if (count > static_cast<double>(detail::elements_max))
    fail<ShapeError>("arange", "from {} to {} by {} there are more elements than 2^62", start, stop, step);
  return ops::cast_to(ops::apply(ops::arange_primitive, {}, ops::words(static_cast<std::int64_t>(count), start, step)),
                      dtype);
}

Tensor detail::arange_integer(std::int64_t start, std::int64_t stop, std::int64_t step, DType dtype) {
  if (step == 0) fail<ValueError>("arange", "step must not be 0");
  // Unsigned arithmetic: the distance between any two bounds fits.
  const auto u = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  std::uint64_t count = 0;
  if (step > 0 && stop > start) count = (u(stop) - u(start) - 1) / u(step) + 1;
  if (step < 0 && stop < start) count = (u(start) - u(stop) - 1) / (0 - u(step)) + 1;
  if (count > u(detail::elements_max))
    fail<ShapeError>("arange", "from {} to {} by {} there are more elements than 2^62", start, stop, step);
  return ops::cast_to(ops::apply(ops::arange_integer_primitive, {}, ops::words(count, start, step)), dtype);
}

Tensor linspace(double start, double stop, std::int64_t count, DType dtype) {
  if (count < 0) fail<ValueError>("linspace", "count is {}; it must be at least 0", count);
  ops::require_dtype("linspace", dtype);
  ops::require_shape("linspace", {count});
  return ops::cast_to(ops::apply(ops::linspace_primitive, {}, ops::words(count, start, stop)), dtype);
}

}  // namespace reel
