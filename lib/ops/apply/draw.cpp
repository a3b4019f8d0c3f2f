// A draw as a function of its stream. Inputs: the stream, then the inputs of the draw. Attributes: the primitive of the
// draw, the offset in blocks, then the attributes of the draw, of which the first two are the stream.
#include <algorithm>

#include "core/word.hpp"
#include "csource/steps.hpp"
#include "ops/apply/apply.hpp"
#include "ops/apply/effect.hpp"

namespace reel::ops {

namespace {

const Primitive& drawing_primitive(const Call& call) { return *detail::pointer_of<const Primitive>(call.attribute(0)); }

void infer_draw(const Call& call, Metas& out) {
  drawing_primitive(call).infer({call.inputs.subspan(1), call.attributes.subspan(2)}, out);
}

void evaluate_draw(const Call& call, Outputs& out) {
  const auto* stream = reinterpret_cast<const std::int64_t*>(detail::block(call.input(0))->data);
  detail::ShortList<std::int64_t, 16> attributes(call.attributes.size() - 2);
  std::copy(call.attributes.begin() + 2, call.attributes.end(), attributes.begin());
  attributes[0] = stream[0];
  attributes[1] = stream[1] + call.attribute(1);
  drawing_primitive(call).evaluate({call.inputs.subspan(1), {attributes.begin(), attributes.end()}}, out);
}

// The form of the drawn primitive finds the stream as input 0, and its attributes with the offset as position.
void write_draw(const Call& call, csource::Writer& w) {
  const WriteC::Statements statements = drawing_primitive(call).write_c.statements;
  if (!statements) csource::fail_without_form(w);
  detail::ShortList<std::int64_t, 16> attributes(call.attributes.size() - 2);
  std::copy(call.attributes.begin() + 2, call.attributes.end(), attributes.begin());
  attributes[1] = call.attribute(1);
  statements({call.inputs, {attributes.begin(), attributes.end()}}, w);
}

constexpr Primitive draw_primitive = {.rule = {.name = "draw"},
                                      .infer = infer_draw,
                                      .evaluate = evaluate_draw,
                                      .write_c = write_draw},
                    checked_draw_primitive = {.rule = {.name = "draw"},
                                              .infer = infer_draw,
                                              .evaluate = evaluate_draw,
                                              .effects = may_throw,
                                              .write_c = write_draw};

}  // namespace

Tensor draw_from(const Tensor& stream, std::int64_t offset, const Effect& e) {
  detail::ShortList<const Tensor*, 4> inputs(1 + e.inputs.size());
  inputs[0] = &stream;
  std::copy(e.inputs.begin(), e.inputs.end(), inputs.begin() + 1);
  detail::ShortList<std::int64_t, 16> attributes(2 + e.attributes.size());
  attributes[0] = detail::word_of(&e.primitive);
  attributes[1] = offset;
  std::copy(e.attributes.begin(), e.attributes.end(), attributes.begin() + 2);
  return apply(e.primitive.effects & may_throw ? checked_draw_primitive : draw_primitive,
               {inputs.begin(), inputs.end()}, {attributes.begin(), attributes.end()});
}

}  // namespace reel::ops
