// reel's side of the benchmarks: serves the protocol, or, called with "first-gradient", takes one gradient and ends.
#include <cstring>

#include "cases.hpp"

int main(int argc, char** argv) {
  if (argc > 1 && !std::strcmp(argv[1], "first-gradient")) {
    const reel::Tensor x = reel::tensor<float>({1.5f, 2.f});
    const double slope =
        bench::gradient([](const reel::Tensor& t) { return reel::sum(t * t); }, x).dense().to_vector()[0];
    return slope == 3 ? 0 : 1;
  }
  const reel::BlasTuning blas = reel::tune_blas();
  bench::Program program;
  program.about("reel", reel::version());
  program.about("isa", std::string(reel::isa()));
  program.about("openblas_core", std::string(blas.now));
  for (auto* cases :
       {bench::machine_cases, bench::scalar_cases, bench::array_cases, bench::network_cases, bench::neural_cases,
        bench::choosing_cases, bench::factorisation_cases, bench::linear_algebra_cases, bench::distribution_cases,
        bench::moving_cases, bench::compiled_cases, bench::model_cases, bench::tape_cases, bench::transform_cases,
        bench::op_cases})
    program.add(cases());
  return program.serve();
}
