// set_tracing: a line per recorded op and per called rule, for the eye.
#include <reel/runtime.hpp>

#include "core/fail.hpp"
#include "tape/tape.hpp"

namespace reel {

constinit thread_local bool tape::tracing = false;

void set_tracing(bool on) { tape::tracing = on; }

namespace {
std::string list(std::span<const Tensor* const> tensors) {
  std::string text = "[";
  for (const Tensor* x : tensors)
    text += (text.size() > 1 ? ", " : "") + (x && x->defined() ? to_string(*x) : std::string("none"));
  return text + "]";
}
}  // namespace

void tape::trace_recorded(const char* name, std::span<const Tensor* const> inputs,
                          std::span<const Tensor* const> outputs) {
  detail::warn(fmt::format("Computed op {} inputs {} outputs {}", name, list(inputs), list(outputs)));
}

void tape::trace_replayed(const Record& record, std::span<const Tensor> g, std::span<const Gradient> dx) {
  std::vector<Tensor> held;
  std::vector<const Tensor*> inputs, cotangents, gradients;
  held.reserve(record.num_inputs() + dx.size());
  for (std::size_t i = 0; i < record.num_inputs(); ++i) {
    held.push_back(record.has_saved(i) ? record.saved(i) : Tensor());
    inputs.push_back(&held.back());
  }
  for (const Tensor& x : g) cotangents.push_back(&x);
  for (const Gradient& d : dx) {
    held.push_back(d && !d.is_slices() ? d.dense() : Tensor());
    gradients.push_back(&held.back());
  }
  detail::warn(fmt::format("Gradient for {} inputs {} output_grads {} gradients {}", record.name(), list(inputs),
                           list(cotangents), list(gradients)));
}

}  // namespace reel
