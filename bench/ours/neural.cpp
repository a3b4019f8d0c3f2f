// Gradients of the building blocks of networks, for a given cotangent.
#include "cases.hpp"

namespace bench {

using namespace reel;

std::vector<Case> neural_cases() {
  return {{.name = "layer_norm rows [1024,1024], gradient",
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
}

}  // namespace bench
