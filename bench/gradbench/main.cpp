// reel as a tool of GradBench, the benchmark of automatic differentiation: messages on standard input, answers on
// standard output. Run by bench/gradbench/run.
#include <iostream>
#include <reel/runtime.hpp>

#include "evals/ba.hpp"
#include "evals/det.hpp"
#include "evals/gmm.hpp"
#include "evals/hello.hpp"
#include "evals/ht.hpp"
#include "evals/kmeans.hpp"
#include "evals/llsq.hpp"
#include "evals/lse.hpp"
#include "evals/lstm.hpp"
#include "evals/ode.hpp"
#include "evals/particle.hpp"
#include "evals/saddle.hpp"
#include "protocol.hpp"

int main() {
  reel::tune_blas();
  std::ios::sync_with_stdio(false);
  // clang-format off
  const gradbench::Modules modules = {
      {"ba", gradbench::ba::functions()},
      {"det", gradbench::det::functions()},
      {"gmm", gradbench::gmm::functions()},
      {"hello", gradbench::hello::functions()},
      {"ht", gradbench::ht::functions()},
      {"kmeans", gradbench::kmeans::functions()},
      {"llsq", gradbench::llsq::functions()},
      {"lse", gradbench::lse::functions()},
      {"lstm", gradbench::lstm::functions()},
      {"ode", gradbench::ode::functions()},
      {"particle", gradbench::particle::functions()},
      {"saddle", gradbench::saddle::functions()},
  };
  // clang-format on
  return gradbench::serve(modules, std::cin, std::cout, std::cerr);
}
