// reel as a tool of GradBench, the benchmark of automatic differentiation: messages on standard input, answers on
// standard output. Run by bench/gradbench/run.
#include <iostream>

#include "evals/ba.hpp"
#include "evals/det.hpp"
#include "evals/hello.hpp"
#include "evals/lstm.hpp"
#include "protocol.hpp"

int main() {
  std::ios::sync_with_stdio(false);
  const gradbench::Modules modules = {
      {"ba", gradbench::ba::functions()},
      {"det", gradbench::det::functions()},
      {"hello", gradbench::hello::functions()},
      {"lstm", gradbench::lstm::functions()},
  };
  return gradbench::serve(modules, std::cin, std::cout, std::cerr);
}
