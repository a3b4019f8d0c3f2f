// What libtorch's cases share. Leaves require gradients, torch::autograd::grad takes them; "no tape" is NoGradGuard.
#pragma once
#include <torch/torch.h>

#include "../common/protocol.hpp"

namespace bench {

std::vector<Case> libtorch_choosing();
std::vector<Case> libtorch_distributions();
std::vector<Case> libtorch_linear_algebra();
std::vector<Case> libtorch_moving();
std::vector<Case> libtorch_neural();
std::vector<Case> libtorch_ops();
std::vector<Case> libtorch_transforms();

using torch::Tensor;

inline Tensor drawn(torch::IntArrayRef shape, std::uint64_t seed, double low = -1, double high = 1,
                    torch::Dtype dtype = torch::kFloat32) {
  const std::int64_t n = c10::multiply_integers(shape);
  if (dtype == torch::kFloat64) {
    auto values = uniform<double>(n, low, high, seed);
    return torch::from_blob(values.data(), shape, torch::kFloat64).clone();
  }
  auto values = uniform<float>(n, low, high, seed);
  return torch::from_blob(values.data(), shape, torch::kFloat32).clone();
}

inline Tensor leaf(const Tensor& x) { return x.detach().clone().set_requires_grad(true); }

inline double sum_of(const std::vector<Tensor>& results) {
  Checksum sum;
  for (const Tensor& x : results) {
    const Tensor flat = x.detach().to(torch::kFloat64).contiguous();
    sum.add(flat.data_ptr<double>(), flat.numel());
  }
  return sum.value();
}
inline double sum_of(const Tensor& x) { return sum_of(std::vector<Tensor>{x}); }

/// f() is timed; its result is a tensor or a list of them.
template <class F>
Body body(F f) {
  return {[f] { f(); }, [f] { return sum_of(f()); }};
}

/// d f(x) / d x for a leaf.
template <class F>
Tensor gradient(F f, const Tensor& x) {
  return torch::autograd::grad({f(x)}, {x})[0];
}

}  // namespace bench
