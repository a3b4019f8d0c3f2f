// CppAD, a scalar tape: rows without a word record anew, the others replay one recording that `optimize` has shortened.
#include <cppad/cppad.hpp>

#include "../common/models.hpp"

namespace {

using Number = CppAD::AD<double>;
using Function = CppAD::ADFun<double>;
using Vector = std::vector<double>;

template <class Model>
void record(Function& f, const Vector& inputs) {
  std::vector<Number> x(inputs.begin(), inputs.end()), y(1);
  CppAD::Independent(x);
  y[0] = Model::value(x);
  f.Dependent(x, y);
}

Vector value_and_gradient(Function& f, const Vector& inputs) {
  Vector result = f.Forward(0, inputs);
  const Vector gradient = f.Reverse(1, Vector{1});
  result.insert(result.end(), gradient.begin(), gradient.end());
  return result;
}

}  // namespace

int main() {
  bench::Program program;
  bench::models::for_each([&]<class Model>(Model model) {
    const std::string name = bench::models::row_name(model);
    const Vector x = Model::inputs();
    program.add(bench::models::case_of(name, [x] {
      Function f;
      record<Model>(f, x);
      return value_and_gradient(f, x);
    }));
    const auto recorded = std::make_shared<Function>();
    record<Model>(*recorded, x);
    recorded->optimize();
    for (const char* how : {", compiled", ", native"})
      program.add(bench::models::case_of(name + how, [x, recorded] { return value_and_gradient(*recorded, x); }));
  });
  return program.serve();
}
