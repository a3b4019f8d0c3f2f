// reel as a tool of GradBench, the benchmark of automatic differentiation: messages on standard input, answers on
// standard output. Run by bench/gradbench/run.
#include <iostream>

#include "evals/ba.hpp"
#include "evals/det.hpp"
#include "evals/gmm.hpp"
#include "evals/hello.hpp"
#include "evals/kmeans.hpp"
#include "evals/llsq.hpp"
#include "evals/lse.hpp"
#include "evals/ode.hpp"
#include "evals/lstm.hpp"
#include "protocol.hpp"

int main() {
  std::ios::sync_with_stdio(false);
  // clang-format off
  const gradbench::Modules modules = {
      {"ba", gradbench::ba::functions()},
      {"det", gradbench::det::functions()},
      {"gmm", gradbench::gmm::functions()},
      {"hello", gradbench::hello::functions()},
      {"kmeans", gradbench::kmeans::functions()},
      {"llsq", gradbench::llsq::functions()},
      {"lse", gradbench::lse::functions()},
      {"ode", gradbench::ode::functions()},
      {"lstm", gradbench::lstm::functions()},
  };
  // clang-format on
  return gradbench::serve(modules, std::cin, std::cout, std::cerr);
}
