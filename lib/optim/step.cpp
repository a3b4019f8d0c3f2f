#include "optim/step.hpp"

#include "loops/loops.hpp"

namespace reel::optim {

namespace {

std::string label(const Variable& variable, std::size_t position) {
  return variable.name().empty() ? fmt::format("variable {}", position) : fmt::format("'{}'", variable.name());
}

}  // namespace

void make_writable(Tensor& state, Tensor& spare) {
  if (!detail::reusable(detail::block(state)) && spare.defined()) {
    loops::copy(state, spare);
    std::swap(state, spare);
  } else {
    ops::make_writable(state);  // allocates only where another thread has taken a handle to the value since
  }
}

detail::List<Part> check_parts(const char* op, std::span<const Gradient> gradients,
                               std::span<const Variable> variables) {
  if (gradients.size() != variables.size())
    fail<ValueError>(op, "{} gradients for {} variables", gradients.size(), variables.size());
  const bool handled = ops::handled(ops::writes_variables);  // then only the primitive reads elements
  detail::List<Part> parts(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Gradient& g = gradients[i];
    const Variable& v = variables[i];
    if (!g) continue;
    const auto check = [&](const Shape& shape, DType dtype) {
      if (shape != v.shape())
        fail<ShapeError>(op, "the gradient of {} has shape {}, the variable {}", label(v, i), shape, v.shape());
      if (dtype != v.dtype())
        fail<TypeError>(op, "the gradient of {} is {}, the variable {}", label(v, i), dtype, v.dtype());
    };
    if (g.is_slices()) {
      const IndexedSlices slices = g.slices();
      check(slices.dense_shape, slices.dtype());
      ops::Rows rows = ops::check_rows(op, slices);
      parts[i] = Part(handled ? std::move(rows) : ops::distinct_rows(std::move(rows)));
    } else {
      const Tensor& whole = GradientAccess::value(g);
      check(whole.shape(), whole.dtype());
      detail::require_known(op, whole);
      parts[i] = Part(whole);
    }
  }
  return parts;
}

}  // namespace reel::optim
