// Effects where no handler acts in their place.
#include "ops/apply/effect.hpp"

#include <algorithm>

#include "loops/loops.hpp"
#include "loops/make/random.hpp"
#include "ops/apply/apply.hpp"
#include "tape/variable.hpp"

namespace reel::ops {

void draw_at(const Effect& e, std::uint64_t seed, std::uint64_t first) {
  e.attributes[0] = static_cast<std::int64_t>(seed);
  e.attributes[1] = static_cast<std::int64_t>(first);
  e.outputs[0] = apply(e.primitive, e.inputs, e.attributes);
}

namespace {

// Variables of an effect that need no memory.
constexpr std::size_t few = 8;

// The generator moves when the op has succeeded.
void draw(const Effect& e) {
  draw_at(e, e.generator->seed(), e.generator->position());
  e.generator->take(loops::random_blocks(e.outputs[0].dtype(), e.outputs[0].size()));
}

void read(const Effect& e) {
  for (std::size_t k = 0; k < e.outputs.size(); ++k) e.outputs[k] = VariableAccess::read(e.variables[k]);
}

// Locks the variables from the k-th on, one after the other.
void write_from(std::size_t k, const Effect& e, std::span<Tensor*> places, std::span<Tensor> spare) {
  if (k == places.size())
    return evaluate_in_place(e.primitive, places, e.inputs, e.attributes, {.spare = spare, .observed = true});
  VariableAccess::modify(e.variables[k], [&](Tensor& value) {
    places[k] = &value;
    write_from(k + 1, e, places, spare);
  });
}
void write(const Effect& e) {
  detail::ShortList<Tensor, few> replaced(e.variables.size());  // freed when the locks are open: an owner may run code
  detail::ShortList<Tensor*, few> places(e.variables.size());
  write_from(0, e, places, replaced);
}

}  // namespace

void EffectHandler::perform_from(EffectHandler* handler, const Effect& e) {
  for (EffectHandler* h = handler; h; h = h->outer_)
    if (h->kinds_ & e.primitive.effects) return h->perform(e);
  if (e.generator)
    draw(e);
  else if (e.primitive.effects & writes_variables)
    write(e);
  else
    read(e);
}

namespace {

// Places whose memory the outputs have while it lives, unless they are replaced.
class Lent {
 public:
  Lent(std::span<Tensor* const> places, Outputs& out) noexcept : places_(places), out_(out) {}
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() {
    for (std::size_t k = 0; k < places_.size(); ++k)
      if (!places_[k]->defined()) *places_[k] = std::move(out_.tensors()[k]);
  }

 private:
  std::span<Tensor* const> places_;
  Outputs& out_;
};

void observe(const Primitive& p, const Call& call, std::span<const Tensor> outputs) {
  detail::ShortList<const Tensor*, few> results(outputs.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) results[k] = &outputs[k];
  tape::observe(p.rule.name, call.inputs, results);
}

}  // namespace

void copy_to_output(const Call& call, Outputs& out, std::size_t k) {
  if (detail::block(out[k]) != detail::block(call.input(k))) loops::copy(call.input(k), out[k]);
}

void evaluate_in_place(const Primitive& p, std::span<Tensor* const> places, Inputs others, Attributes attributes,
                       const InPlace& options) {
  const bool reads = p.effects & reads_variables;
  detail::ShortList<const Tensor*, 2 * few> inputs((reads ? places.size() : 0) + others.size());
  std::copy(others.begin(), others.end(),
            reads ? std::copy(places.begin(), places.end(), inputs.begin()) : inputs.begin());
  const Call call{inputs, attributes};
  Metas metas;
  p.infer(call, metas);
  const std::span<Tensor* const> written = places.first(metas.size() - p.residuals);
  const bool observed = options.observed && tape::watching() && !metas.one_view();
  Outputs out(metas, call.inputs, true);
  const Lent lent(written, out);
  for (std::size_t k = 0; k < metas.size(); ++k) {
    // Who looks on sees the inputs as they were.
    if (k < written.size() && reads && !observed && !call_listener && detail::reusable(detail::block(*written[k]))) {
      out.set(k, std::move(*written[k]));
      inputs[k] = &out.tensors()[k];
    } else if (k < options.spare.size() && options.spare[k].defined()) {
      out.set(k, std::move(options.spare[k]));
    }
  }
  p.evaluate(call, out);
  if (call_listener) [[unlikely]]
    call_listener(p, call, out.tensors());
  if (observed) [[unlikely]]
    observe(p, call, out.tensors().first(written.size()));
  for (std::size_t k = 0; k < written.size(); ++k) {
    if (!written[k]->defined()) {
      detail::renew(detail::block(out.tensors()[k]));
      continue;  // given back by `lent`
    }
    std::swap(*written[k], out.tensors()[k]);
    if (k < options.spare.size()) options.spare[k] = std::move(out.tensors()[k]);
  }
}

}  // namespace reel::ops
