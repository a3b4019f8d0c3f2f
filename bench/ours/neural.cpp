// Gradients of the building blocks of networks, for a given cotangent.
#include <reel/sequence.hpp>

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
  return cases;
}

}  // namespace bench
