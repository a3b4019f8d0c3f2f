// Gradients of the building blocks of networks, for a given cotangent.
#include <reel/nn.hpp>

#include "cases.hpp"

namespace bench {

using namespace reel;

namespace {

// Eight heads of `length` queries, keys and values of 64 numbers.
Case attention_case(std::int64_t length, bool causal) {
  const std::string name =
      std::string(causal ? "causal " : "") + "attention [8," + std::to_string(length) + ",64], gradient";
  return {.name = name, .make = [=] {
            const Shape shape{8, length, 64};
            const Tensor q = drawn(shape, 1), k = drawn(shape, 2), v = drawn(shape, 3), g = drawn(shape, 4);
            return body([=] {
              GradientTape tape;
              tape.watch(std::tie(q, k, v));
              return tape.gradient({attention(q, k, v, {.causal = causal})}, {q, k, v}, {.output_gradients = {g}});
            });
          }};
}

// As the row of the unrolled network, T 50, B 16, I 32, H 64.
Case lstm_case() {
  return {.name = "lstm T50 B16 I32 H64, gradient", .make = [] {
            const Tensor x = drawn({50, 16, 32}, 1), g = drawn({50, 16, 64}, 2);
            const Tensor wi = drawn({256, 32}, 3, -0.1, 0.1), wh = drawn({256, 64}, 4, -0.1, 0.1);
            const Tensor bi = drawn({256}, 5, -0.1, 0.1), bh = drawn({256}, 6, -0.1, 0.1);
            return body([=] {
              GradientTape tape;
              tape.watch(std::tie(x, wi, wh, bi, bh));
              const Lstm y = lstm(x, wi, wh, {.input_bias = bi, .hidden_bias = bh});
              return tape.gradient({y.output}, {x, wi, wh, bi, bh}, {.output_gradients = {g}});
            });
          }};
}

// The gradient of f(operands) by all operands, for the cotangent drawn with seed 9. Operand k is drawn with seed k + 1.
template <class F>
Case gradient_case(const char* name, std::vector<Shape> shapes, F f) {
  return {.name = name, .make = [=] {
            std::vector<Tensor> x;
            for (const Shape& s : shapes) x.push_back(drawn(s, x.size() + 1));
            const Tensor g = drawn(f(x).shape(), 9);
            return body([=] {
              GradientTape tape;
              tape.watch(x);
              return tape.gradient({f(x)}, x, {.output_gradients = {g}});
            });
          }};
}
using X = const std::vector<Tensor>&;

// Losses of 16 sequences of 100 steps for targets of 20 labels.
Tensor temporal_losses(X x) {
  const Tensor targets = 1 + reshape(arange(320), {16, 20}) % 30;
  return ctc_loss(log_softmax(x[0], -1), targets, full({16}, 100, DType::int64), full({16}, 20, DType::int64));
}

std::vector<Case> layer_cases() {
  return {
      gradient_case("conv1d 5 [16,32,256] -> 64, gradient of x and w", {{16, 32, 256}, {64, 32, 5}},
                    [](X x) { return conv1d(x[0], x[1], {.padding = Padding::same}); }),
      gradient_case("conv3d 3x3x3 [2,8,16,28,28] -> 16, gradient of x and w", {{2, 8, 16, 28, 28}, {16, 8, 3, 3, 3}},
                    [](X x) { return conv3d(x[0], x[1], {.padding = Padding::same}); }),
      gradient_case("max_pool2d 2x2 [16,32,56,56], gradient", {{16, 32, 56, 56}},
                    [](X x) {
                      return max_pool2d(x[0], {2, 2});
                    }),
      gradient_case("avg_pool2d 2x2 [16,32,56,56], gradient", {{16, 32, 56, 56}},
                    [](X x) {
                      return avg_pool2d(x[0], {2, 2});
                    }),
      gradient_case("max_pool3d 2x2x2 [4,16,16,32,32], gradient", {{4, 16, 16, 32, 32}},
                    [](X x) {
                      return max_pool3d(x[0], {2, 2, 2});
                    }),
      gradient_case("batch_norm [16,64,28,28], gradient", {{16, 64, 28, 28}, {64}, {64}},
                    [](X x) { return batch_norm(x[0], x[1], x[2]).y; }),
      gradient_case("group_norm 8 [16,64,28,28], gradient", {{16, 64, 28, 28}, {64}, {64}},
                    [](X x) { return group_norm(x[0], x[1], x[2], 8); }),
      gradient_case(
          "gru T50 B16 I32 H64, gradient", {{50, 16, 32}, {192, 32}, {192, 64}, {192}, {192}},
          [](X x) { return gru(x[0], x[1] * 0.1, x[2] * 0.1, {.input_bias = x[3], .hidden_bias = x[4]}).output; }),
      gradient_case("ctc_loss T100 N16 C32 S20, gradient", {{100, 16, 32}}, temporal_losses),
  };
}

}  // namespace

std::vector<Case> neural_cases() {
  std::vector<Case> cases = {
      {.name = "layer_norm rows [1024,1024], gradient",
       .make =
           [] {
             const Tensor x = drawn({1024, 1024}, 1), g = drawn({1024, 1024}, 2);
             const Tensor scale = drawn({1024}, 3, 0.5, 1.5), offset = drawn({1024}, 4);
             return body([=] {
               GradientTape tape;
               tape.watch(std::tie(x, scale, offset));
               return tape.gradient({layer_norm(x, scale, offset)}, {x, scale, offset}, {.output_gradients = {g}});
             });
           }},
      {.name = "conv2d 3x3 [16,16,28,28] -> 32, gradient of x and w", .make = [] {
         const Tensor x = drawn({16, 16, 28, 28}, 1), w = drawn({32, 16, 3, 3}, 2);
         const Tensor g = drawn({16, 32, 28, 28}, 3);
         return body([=] {
           GradientTape tape;
           tape.watch(std::tie(x, w));
           return tape.gradient({conv2d(x, w, {.padding = Padding::same})}, {x, w}, {.output_gradients = {g}});
         });
       }}};
  for (const std::int64_t length : {128, 512, 2048})
    for (const bool causal : {false, true}) cases.push_back(attention_case(length, causal));
  cases.push_back(lstm_case());
  for (Case& c : layer_cases()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace bench
