// The scalar programs of common/models.hpp: value and gradient op by op, compiled, and native.
#include "models.hpp"

#include <reel/compile.hpp>

namespace bench {

namespace {

using namespace reel;

// The function of one vector, whose elements the model takes as numbers.
template <class Model>
Tensor of_vector(const Tensor& x) {
  std::vector<Tensor> numbers;
  for (std::int64_t i = 0; i < x.size(); ++i) numbers.push_back(x(i));
  return Model::value(numbers);
}

}  // namespace

std::vector<Case> model_cases() {
  std::vector<Case> cases;
  models::for_each([&]<class Model>(Model model) {
    if (std::is_same_v<Model, models::Rollout>) return;  // compiled.cpp has it, of an array of thrusts
    const auto add = [&](const char* how, auto make) {
      cases.push_back({.name = models::row_name(model) + how,
                       .make = [=] { return body([f = make(), x = from_data(Model::inputs())] { return f(x); }); },
                       .tolerance = 1e-6});
    };
    add("", [] { return value_and_grad(of_vector<Model>); });
    add(", compiled", [] { return compile(value_and_grad(of_vector<Model>)); });
    add(", native", [] { return compile(value_and_grad(of_vector<Model>), {.native = true}); });
  });
  return cases;
}

}  // namespace bench
