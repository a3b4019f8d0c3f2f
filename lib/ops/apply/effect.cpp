// Effects that no handler intercepts.
#include "ops/apply/effect.hpp"

#include <algorithm>
#include <cstring>

#include "loops/loops.hpp"
#include "loops/make/random.hpp"
#include "ops/apply/apply.hpp"
#include "ops/apply/operation.hpp"
#include "tape/variable.hpp"

namespace reel::ops {

void draw_at(const Effect& e, std::uint64_t seed, std::uint64_t first) {
  if (Tracer* tracer = Tracer::current()) [[unlikely]]
    return tracer->draw_again(e, seed, first);
  e.attributes[0] = static_cast<std::int64_t>(seed);
  e.attributes[1] = static_cast<std::int64_t>(first);
  e.outputs[0] = apply(e.primitive, e.inputs, e.attributes);
}

namespace {

// Effects on up to this many variables need no allocation.
constexpr std::size_t few_variables = 8;

// The generator advances when the op has succeeded.
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
// Replaced values are freed after unlocking: the owner of borrowed memory may run code.
void write(const Effect& e) {
  if (e.variables.size() == 1) {
    Tensor replaced;
    Tensor* place;
    return write_from(0, e, {&place, 1}, {&replaced, 1});
  }
  detail::ShortList<Tensor, few_variables> replaced(e.variables.size());
  detail::ShortList<Tensor*, few_variables> places(e.variables.size());
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

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Tensor x = loops::contiguous(a), y = loops::contiguous(b);
  const std::size_t bytes = static_cast<std::size_t>(x.size()) * item_size(x.dtype());
  return bytes == 0 || std::memcmp(detail::block(x)->data, detail::block(y)->data, bytes) == 0;
}

void copy_to_output(const Call& call, Outputs& out, std::size_t k) {
  if (detail::block(out[k])->data != detail::block(call.input(k))->data) loops::copy(call.input(k), out[k]);
}

namespace {

void observe(const Primitive& p, const Call& call, std::span<const Tensor> outputs) {
  detail::ShortList<const Tensor*, few_variables> results(outputs.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) results[k] = &outputs[k];
  tape::observe(p.rule.name, call.inputs, results);
}

// The inputs of a call, in uninitialised memory.
class InputList {
 public:
  InputList(std::span<Tensor* const> places, Inputs others) : size_(places.size() + others.size()) {
    if (size_ > in_place) many_.resize(size_);
    list_ = size_ > in_place ? many_.data() : few_;
    std::copy(others.begin(), others.end(), std::copy(places.begin(), places.end(), list_));
  }
  InputList(const InputList&) = delete;
  InputList& operator=(const InputList&) = delete;
  const Tensor*& operator[](std::size_t i) noexcept { return list_[i]; }
  operator Inputs() const noexcept { return {list_, size_}; }

 private:
  static constexpr std::size_t in_place = 12;
  const Tensor* few_[in_place];  // left uninitialised
  const Tensor** list_;
  std::size_t size_;
  detail::List<const Tensor*> many_;
};

// Assigns the new value to a place and returns the old one, unless both share memory.
void replace(Tensor& place, Tensor& output, Tensor* replaced) noexcept {
  if (!place.defined()) {  // it was lent to the output
    detail::renew(detail::block(output));
    place = std::move(output);
    return;
  }
  std::swap(place, output);
  if (replaced) *replaced = std::move(output);
}

}  // namespace

void evaluate_in_place(const Primitive& p, std::span<Tensor* const> places, Inputs others, Attributes attributes,
                       const InPlace& options) {
  const bool reads = p.effects & reads_variables;
  InputList inputs(reads ? places : places.first(0), others);
  const Call call{inputs, attributes};
  Metas metas;
  p.infer(call, metas);
  const std::size_t written = metas.size() - p.residuals;
  const bool observed = options.observed && tape::watching() && !metas.one_view();
  const bool lends = reads && !observed && !call_listener();  // observers must see the inputs as they were
  Outputs out(metas, call.inputs, true);
  Tensor* outputs = out.tensors().data();
  for (std::size_t k = 0; k < metas.size(); ++k) {
    if (k < written && lends && detail::reusable(detail::block(*places[k]))) {
      outputs[k] = std::move(*places[k]);
      inputs[k] = &outputs[k];
    } else if (k < options.spare.size() && options.spare[k].defined()) {
      outputs[k] = std::move(options.spare[k]);
    }
  }
  try {
    p.evaluate(call, out);
    if (CallListener* listener = call_listener()) [[unlikely]]
      listener->called(p, call, out.tensors());
    if (observed) [[unlikely]]
      observe(p, call, out.tensors().first(written));
  } catch (...) {
    for (std::size_t k = 0; k < written; ++k)
      if (!places[k]->defined()) *places[k] = std::move(outputs[k]);
    throw;
  }
  for (std::size_t k = 0; k < written; ++k)
    replace(*places[k], outputs[k], k < options.spare.size() ? &options.spare[k] : nullptr);
}

}  // namespace reel::ops
