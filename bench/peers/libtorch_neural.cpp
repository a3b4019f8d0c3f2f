// libtorch's layers for the names of ours/neural.cpp.
#include "libtorch.hpp"

namespace bench {

namespace {

using X = const std::vector<Tensor>&;

// The gradient of f(operands) by all operands, for the cotangent drawn with seed 9. Operand k is drawn with seed k + 1.
template <class F>
Case gradient_case(const char* name, std::vector<std::vector<std::int64_t>> shapes, F f) {
  return {.name = name, .make = [=] {
            std::vector<Tensor> x;
            for (const auto& s : shapes) x.push_back(leaf(drawn(s, x.size() + 1)));
            const Tensor g = drawn(f(x).sizes(), 9);
            return body([=] { return torch::autograd::grad({f(x)}, x, {g}); });
          }};
}

Tensor temporal_losses(X x) {
  const Tensor targets = 1 + torch::arange(320).reshape({16, 20}) % 30;
  const std::vector<std::int64_t> steps(16, 100), labels(16, 20);
  return torch::ctc_loss(torch::log_softmax(x[0], -1), targets, steps, labels, 0, torch::Reduction::None);
}

}  // namespace

std::vector<Case> libtorch_neural() {
  return {
      gradient_case("conv1d 5 [16,32,256] -> 64, gradient of x and w", {{16, 32, 256}, {64, 32, 5}},
                    [](X x) { return torch::conv1d(x[0], x[1], {}, 1, 2); }),
      gradient_case("conv3d 3x3x3 [2,8,16,28,28] -> 16, gradient of x and w", {{2, 8, 16, 28, 28}, {16, 8, 3, 3, 3}},
                    [](X x) { return torch::conv3d(x[0], x[1], {}, 1, 1); }),
      gradient_case("max_pool2d 2x2 [16,32,56,56], gradient", {{16, 32, 56, 56}},
                    [](X x) {
                      return torch::max_pool2d(x[0], {2, 2});
                    }),
      gradient_case("avg_pool2d 2x2 [16,32,56,56], gradient", {{16, 32, 56, 56}},
                    [](X x) {
                      return torch::avg_pool2d(x[0], {2, 2});
                    }),
      gradient_case("max_pool3d 2x2x2 [4,16,16,32,32], gradient", {{4, 16, 16, 32, 32}},
                    [](X x) {
                      return torch::max_pool3d(x[0], {2, 2, 2});
                    }),
      gradient_case("batch_norm [16,64,28,28], gradient", {{16, 64, 28, 28}, {64}, {64}},
                    [](X x) { return torch::batch_norm(x[0], x[1], x[2], {}, {}, true, 0.1, 1e-5, false); }),
      gradient_case("group_norm 8 [16,64,28,28], gradient", {{16, 64, 28, 28}, {64}, {64}},
                    [](X x) { return torch::group_norm(x[0], 8, x[1], x[2]); }),
      gradient_case("gru T50 B16 I32 H64, gradient", {{50, 16, 32}, {192, 32}, {192, 64}, {192}, {192}},
                    [](X x) {
                      const Tensor zero = torch::zeros({1, 16, 64});
                      return std::get<0>(torch::gru(x[0], zero, {x[1] * 0.1, x[2] * 0.1, x[3], x[4]}, true, 1, 0.0,
                                                    true, false, false));
                    }),
      gradient_case("ctc_loss T100 N16 C32 S20, gradient", {{100, 16, 32}}, temporal_losses),
  };
}

}  // namespace bench
