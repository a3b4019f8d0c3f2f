// generate_c of random programs.
#include "generated_c.hpp"

#include <reel/codegen.hpp>

namespace random_programs {

namespace {

using Tensors = std::vector<reel::Tensor>;

// The outputs, and the gradients of their weighted sum.
Tensors values_and_gradients(const Program& p, const Tensors& x) {
  reel::GradientTape tape;
  tape.watch(x);
  Tensors all = execute(p, x);
  reel::Tensor sum = reel::scalar(0.);
  for (const reel::Tensor& y : all)
    if (reel::is_differentiable(y.dtype()))
      sum =
          sum + reel::sum(reel::cast(y, DType::float64) * reel::reshape(reel::cos(reel::arange(y.size())), y.shape()));
  for (const reel::Gradient& g : tape.gradient(sum, x))
    if (g) all.push_back(g.dense());
  return all;
}

// Whether changes in the last bits of the sources change results by less than a tenth of the smoke test's tolerance.
bool is_well_conditioned(const Program& p, const Tensors& x) {
  Tensors moved;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const bool narrow = x[k].dtype() == DType::float32;
    const double unit = (narrow ? 0x1p-23 : 0x1p-52) * (k % 2 == 0 ? 1 : -1);
    moved.push_back(reel::cast(x[k] * (1 + unit), x[k].dtype()));
  }
  const Tensors here = values_and_gradients(p, x), there = values_and_gradients(p, moved);
  for (std::size_t k = 0; k < here.size(); ++k) {
    if (here[k].shape() != there[k].shape()) return false;
    if (here[k].size() == 0) continue;
    const reel::Tensor a = reel::cast(here[k], DType::float64), b = reel::cast(there[k], DType::float64);
    if (!reel::all(reel::isfinite(a)).item<bool>()) return false;
    const double tolerance = here[k].dtype() == DType::float32 ? 1e-6 : 1e-13;
    if (!(reel::max(reel::abs(a - b)).item<double>() <= tolerance * (1 + reel::max(reel::abs(a)).item<double>())))
      return false;
  }
  return true;
}

}  // namespace

bool write_as_c(const Program& p, const std::string& folder, const std::string& name, std::string& refused) {
  Tensors x;
  for (const Statement* s : p.inputs(Role::source)) x.push_back(reel::contiguous(tensor_of(*s)));
  if (!p.inputs(Role::parameter).empty()) return false;
  for (const reel::Tensor& one : x)
    if (one.dtype() != DType::float64 && one.dtype() != DType::float32) return false;
  try {
    if (!is_well_conditioned(p, x)) return false;
    const auto f = [&p](const Tensors& sources) { return values_and_gradients(p, sources); };
    reel::generate_c(f, {.name = name, .check = true}, x).write(folder);
    return true;
  } catch (const reel::Error& e) {
    refused = e.what();
  }
  return false;
}

}  // namespace random_programs
