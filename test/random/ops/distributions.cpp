// The distributions of <reel/stats.hpp>.
#include "../../stats/references/divergence_pairs.hpp"
#include "../ranged.hpp"

namespace random_programs {

namespace {

using references::Support;

std::vector<RangedFunction> distribution_functions() {
  std::vector<RangedFunction> all;
  const auto add = [&]<class F, class Call>(const char* name, F, Support support, Call) {
    constexpr OperandRange first[] = {{-3, 3}, {2.6, 4}, {0.1, 0.5}, {0.1, 0.9}, {0.5, 4}, {0.1, 0.5}, {0.1, 0.9}};
    const bool bounded = support == references::unit || support == references::near_loc;
    std::vector<OperandRange> ranges = {first[support]};
    for (int k = F::operands < 3 ? 1 : 3; k < F::operands; ++k) ranges.push_back({0.6, 1.5});
    if (F::operands > 2) {
      ranges.push_back(bounded ? OperandRange{-0.4, 0} : OperandRange{-1, 1});
      ranges.push_back(bounded ? OperandRange{1.2, 3} : OperandRange{0.5, 1.5});
    }
    all.push_back({name, ranges, [](const Jet* x) -> Jet { return F{}(x); },
                   [](const Operands& x) -> reel::Tensor { return Call{}(x); }});
  };
  references::for_each_distribution_function(add);
  references::for_each_divergence_pair(add);
  return all;
}

}  // namespace

void add_distributions(std::vector<Op>& t) {
  static const std::vector<RangedFunction> functions = distribution_functions();
  for (const RangedFunction& f : functions) add_ranged(t, f);
}

}  // namespace random_programs
