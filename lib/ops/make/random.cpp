// Random tensors. A draw is a primitive whose attributes name the seed and the position in its stream, so that
// evaluating it again draws the same numbers. Advancing the generator is its effect.
#include "loops/make/random.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <reel/ops/make.hpp>

#include "csource/steps.hpp"
#include "ops/apply/effect.hpp"
#include "ops/attributes.hpp"
#include "ops/engine.hpp"

namespace reel {

namespace ops {

namespace {

// The attributes of every draw begin with the seed and the position.
loops::RandomStream stream_of(const Call& call) {
  return {static_cast<std::uint64_t>(call.attribute(0)), static_cast<std::uint64_t>(call.attribute(1))};
}

// The first two attributes, the stream, are placeholders that are replaced.
Tensor draw(const Primitive& primitive, std::initializer_list<const Tensor*> inputs, Generator& generator,
            std::span<std::int64_t> attributes) {
  Tensor y;
  perform({.primitive = primitive,
           .inputs = {inputs.begin(), inputs.size()},
           .attributes = attributes,
           .generator = &generator,
           .outputs = {&y, 1}});
  return y;
}

// ---- Distributions with two parameters; attributes: seed, first block, dtype, both parameters, extents

void infer_distribution(const Call& call, Metas& out) {
  out.add(static_cast<DType>(call.attribute(2)), shape_behind(call.attributes, 5));
}
void evaluate_uniform(const Call& call, Outputs& out) {
  loops::draw_uniform(stream_of(call), call.real(3), call.real(4), out[0]);
}
void evaluate_normal(const Call& call, Outputs& out) {
  loops::draw_normal(stream_of(call), call.real(3), call.real(4), out[0]);
}
void evaluate_truncated_normal(const Call& call, Outputs& out) {
  loops::draw_truncated_normal(stream_of(call), call.real(3), call.real(4), out[0]);
}
// Draws in C. Input 0 is the stream, attribute 1 the offset in blocks. ~2 and ~3 to ~5 are numbers of the helper.
template <class T>
double below(double bound) {
  const auto v = static_cast<T>(bound);
  return static_cast<double>(v) < bound ? v : std::nextafter(v, -std::numeric_limits<T>::infinity());
}
void write_distribution(const Call& call, csource::Writer& w, const char* text, std::array<double, 4> p) {
  const DType d = w.output(0).dtype;
  if (!csource::type_of(d)) csource::fail_without_form(w);
  const auto bits = [](double x) { return std::bit_cast<std::int64_t>(x); };
  csource::write_steps(w, d, text,
                       {w.output(0).size(), call.attribute(1), bits(p[0]), bits(p[1]), bits(p[2]), bits(p[3])});
}
void write_uniform(const Call& call, csource::Writer& w) {
  const bool narrow = w.output(0).dtype == DType::float32;
  const double low = call.real(3), high = call.real(4),
               largest = narrow ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const double factor = high - low > largest ? 2 : 1;
  write_distribution(
      call, w, "$draw_uniform(i0, #1, ~2, ~3, ~4, ~5, o0, #0)",
      {low / factor, high / factor - low / factor, factor, narrow ? below<float>(high) : below<double>(high)});
}
void write_normal(const Call& call, csource::Writer& w) {
  write_distribution(call, w, "$draw_normal(i0, #1, ~2, ~3, o0, #0)", {call.real(3), call.real(4)});
}
void write_truncated_normal(const Call& call, csource::Writer& w) {
  write_distribution(call, w, "$draw_truncated(i0, #1, ~2, ~3, o0, #0)", {call.real(3), call.real(4)});
}
constexpr Primitive uniform_primitive = {.rule = {.name = "random_uniform"},
                                         .infer = infer_distribution,
                                         .evaluate = evaluate_uniform,
                                         .effects = advances_generator,
                                         .write_c = write_uniform},
                    normal_primitive = {.rule = {.name = "random_normal"},
                                        .infer = infer_distribution,
                                        .evaluate = evaluate_normal,
                                        .effects = advances_generator,
                                        .write_c = write_normal},
                    truncated_normal_primitive = {.rule = {.name = "random_truncated_normal"},
                                                  .infer = infer_distribution,
                                                  .evaluate = evaluate_truncated_normal,
                                                  .effects = advances_generator,
                                                  .write_c = write_truncated_normal};

Tensor draw_floats(const Primitive& primitive, Generator& generator, const Shape& shape, double a, double b,
                   DType dtype) {
  const char* op = primitive.rule.name;
  if (!is_floating(dtype))
    fail<TypeError>(op, "dtype is {}; random numbers are drawn in a floating dtype, cast them", dtype);
  require_shape(op, shape);
  return draw(primitive, {}, generator, shaped(words(0, 0, dtype, a, b), shape));
}

void check_spread(const char* op, double mean, double stddev) {
  if (!std::isfinite(mean) || !std::isfinite(stddev) || stddev < 0)
    fail<ValueError>(op, "mean is {} and stddev {}; both must be finite and stddev at least 0", mean, stddev);
}

// ---- Bernoulli; attributes: seed, first block, probability, extents

void infer_bernoulli(const Call& call, Metas& out) { out.add(DType::boolean, shape_behind(call.attributes, 3)); }
void evaluate_bernoulli(const Call& call, Outputs& out) {
  loops::draw_bernoulli(stream_of(call), call.real(2), out[0]);
}
void write_bernoulli(const Call& call, csource::Writer& w) {
  csource::write_steps(w, DType::float64, "$draw_bernoulli(i0, #1, ~2, o0, #0)",
                       {w.output(0).size(), call.attribute(1), call.attribute(2)});
}
constexpr Primitive bernoulli_primitive = {.rule = {.name = "random_bernoulli"},
                                           .infer = infer_bernoulli,
                                           .evaluate = evaluate_bernoulli,
                                           .effects = advances_generator,
                                           .write_c = write_bernoulli};

// ---- categorical; attributes: seed, first block, count

void infer_categorical(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  shape[-1] = call.attribute(2);
  out.add(DType::int64, shape);
}
void evaluate_categorical(const Call& call, Outputs& out) {
  const std::int64_t unusable = loops::draw_categorical(stream_of(call), call.input(0), out[0]);
  if (unusable >= 0)
    fail<ValueError>("random_categorical",
                     "the logits of row {} are not usable: none may be NaN or inf, and one must be above -inf",
                     unusable);
}
void write_categorical(const Call& call, csource::Writer& w) {
  const Tensor& logits = call.input(1);
  const std::int64_t classes = logits.shape()[-1];
  if (w.output(0).size() == 0) return;
  csource::write_steps(w, DType::float64,
                       "temp t0 real i1\ncopy i1 t0\n"
                       "refuse $draw_classes(i0, #1, t0, #2, o0, #3, #0)|the logits of a row are not usable",
                       {logits.size() / classes, call.attribute(1), classes, call.attribute(2)});
}
constexpr Primitive categorical_primitive = {.rule = {.name = "random_categorical"},
                                             .infer = infer_categorical,
                                             .evaluate = evaluate_categorical,
                                             .constants = 1,
                                             .effects = advances_generator | may_throw,
                                             .write_c = write_categorical};

// ---- integers; attributes: seed, first block, low, count, extents

void infer_integers(const Call& call, Metas& out) { out.add(DType::int64, shape_behind(call.attributes, 4)); }
void evaluate_integers(const Call& call, Outputs& out) {
  loops::draw_integers(stream_of(call), call.attribute(2), static_cast<std::uint64_t>(call.attribute(3)), out[0]);
}
void write_integers(const Call& call, csource::Writer& w) {
  const std::string steps =
      csource::cat({"$draw_integers(i0, #1, ", csource::literal(call.attribute(2), DType::int64), ", (uint64_t)",
                    csource::literal(call.attribute(3), DType::int64), ", o0, #0)"});
  csource::write_steps(w, DType::float64, steps, {w.output(0).size(), call.attribute(1)});
}
constexpr Primitive integers_primitive = {.rule = {.name = "random_integers"},
                                          .infer = infer_integers,
                                          .evaluate = evaluate_integers,
                                          .effects = advances_generator,
                                          .write_c = write_integers};

// ---- permutation; attributes: seed, first block, n

void infer_permutation(const Call& call, Metas& out) { out.add(DType::int64, {call.attribute(2)}); }
void evaluate_permutation(const Call& call, Outputs& out) { loops::draw_permutation(stream_of(call), out[0]); }
void write_permutation(const Call& call, csource::Writer& w) {
  csource::write_steps(w, DType::float64, "$draw_permutation(i0, #1, o0, #0)", {w.output(0).size(), call.attribute(1)});
}
constexpr Primitive permutation_primitive = {.rule = {.name = "random_permutation"},
                                             .infer = infer_permutation,
                                             .evaluate = evaluate_permutation,
                                             .effects = advances_generator,
                                             .write_c = write_permutation};

}  // namespace

}  // namespace ops

Tensor random_uniform(Generator& generator, const Shape& shape, double low, double high, DType dtype) {
  const double largest = dtype == DType::float64 ? std::numeric_limits<double>::max()
                                                 : static_cast<double>(std::numeric_limits<float>::max());
  if (!(low < high) || low < -largest || high > largest)
    fail<ValueError>("random_uniform", "low is {} and high {}; low must be less than high, and both from {} to {}", low,
                     high, -largest, largest);
  return ops::draw_floats(ops::uniform_primitive, generator, shape, low, high, dtype);
}

Tensor random_normal(Generator& generator, const Shape& shape, double mean, double stddev, DType dtype) {
  ops::check_spread("random_normal", mean, stddev);
  return ops::draw_floats(ops::normal_primitive, generator, shape, mean, stddev, dtype);
}

Tensor random_truncated_normal(Generator& generator, const Shape& shape, double mean, double stddev, DType dtype) {
  ops::check_spread("random_truncated_normal", mean, stddev);
  return ops::draw_floats(ops::truncated_normal_primitive, generator, shape, mean, stddev, dtype);
}

Tensor random_bernoulli(Generator& generator, const Shape& shape, double probability) {
  if (!(probability >= 0 && probability <= 1))
    fail<ValueError>("random_bernoulli", "probability is {}; it must lie between 0 and 1", probability);
  ops::require_shape("random_bernoulli", shape);
  return ops::draw(ops::bernoulli_primitive, {}, generator, ops::shaped(ops::words(0, 0, probability), shape));
}

Tensor random_categorical(Generator& generator, const Tensor& logits, std::int64_t count) {
  constexpr const char* op = "random_categorical";
  ops::require_defined(op, logits, "logits");
  if (!is_floating(logits.dtype())) fail<TypeError>(op, "logits are {}; they must be floating", logits.dtype());
  if (logits.rank() == 0) fail<ShapeError>(op, "logits have rank 0; their last axis must hold the classes");
  if (count < 0) fail<ValueError>(op, "count is {}; it must be at least 0", count);
  Shape shape = logits.shape();
  const std::int64_t classes = shape[-1];
  shape[-1] = count;
  ops::require_shape(op, shape);
  if (classes == 0 && shape.elements() != 0)
    fail<ShapeError>(op, "logits of shape {} have no classes to draw from", logits.shape());
  std::array attributes = ops::words(0, 0, count);
  return ops::draw(ops::categorical_primitive, {&logits}, generator, attributes);
}

Tensor random_integers(Generator& generator, const Shape& shape, std::int64_t low, std::int64_t high) {
  constexpr const char* op = "random_integers";
  if (low >= high) fail<ValueError>(op, "low is {} and high {}; low must be less than high", low, high);
  ops::require_shape(op, shape);
  const auto count = static_cast<std::int64_t>(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
  return ops::draw(ops::integers_primitive, {}, generator, ops::shaped(ops::words(0, 0, low, count), shape));
}

Tensor random_permutation(Generator& generator, std::int64_t n) {
  if (n < 0) fail<ValueError>("random_permutation", "n is {}; it must be at least 0", n);
  ops::require_shape("random_permutation", {n});
  std::array attributes = ops::words(0, 0, n);
  return ops::draw(ops::permutation_primitive, {}, generator, attributes);
}

}  // namespace reel
