// Simpler programs: a statement less, a block in place of its statement, fewer trips, budgets and levels.
#include "program.hpp"

namespace random_state {

namespace {

// All variants of a block, each handed to `use`; the block is unchanged afterwards.
template <class Use>
void vary(Block& b, const Use& use) {
  for (std::size_t i = 0; i < b.statements.size(); ++i) {
    const Statement kept = b.statements[i];
    const auto at = b.statements.begin() + static_cast<std::ptrdiff_t>(i);
    b.statements.erase(at);
    use();
    if (!kept.blocks.empty()) {  // the statements of a block, for the statement
      const Block& inner = kept.blocks[0];
      const std::size_t count = inner.statements.size();
      b.statements.insert(b.statements.begin() + static_cast<std::ptrdiff_t>(i), inner.statements.begin(),
                          inner.statements.end());
      if (count) {
        const int id = b.statements[i + count - 1].id;
        b.statements[i + count - 1].id = kept.id;
        use();
        b.statements[i + count - 1].id = id;
      }
      b.statements.erase(b.statements.begin() + static_cast<std::ptrdiff_t>(i),
                         b.statements.begin() + static_cast<std::ptrdiff_t>(i + count));
    }
    b.statements.insert(b.statements.begin() + static_cast<std::ptrdiff_t>(i), kept);
    Statement& s = b.statements[i];
    const auto change = [&](auto&& edit) {
      edit();
      use();
      s = kept;
    };
    if (s.trips > 1 && s.kind != Kind::tape) change([&] { --s.trips; });
    if (s.budget) change([&] { s.budget = 0; });
    if (s.compiled) change([&] { s.compiled = false; });
    if (s.kind == Kind::expression && s.style != 3) change([&] { s.style = 3; });
    if (s.kind == Kind::read && s.style) change([&] { s.style = 0; });
    if (s.kind == Kind::tape && s.style && s.style < 6) change([&] { s.style = 0; });
    if (s.kind == Kind::switch_case) change([&] { s.kind = Kind::cond, s.blocks.pop_back(); });
    for (std::size_t k = 0; k < s.in.size(); ++k)
      if (s.in[k] != 0) change([&] { s.in[k] = 0; });
    for (Block& inner : s.blocks) vary(inner, use);
  }
}

}  // namespace

std::vector<Candidate> simpler(const Program& p, const Plan& plan) {
  std::vector<Candidate> list;
  for (std::size_t i = 0; i < plan.levels.size(); ++i) {
    Candidate c{p, plan};
    c.plan.levels.erase(c.plan.levels.begin() + static_cast<std::ptrdiff_t>(i));
    if (c.plan.inside > static_cast<int>(i)) --c.plan.inside;
    list.push_back(c);
  }
  Program copy = p;
  vary(copy.body, [&] { list.push_back({copy, plan}); });
  for (std::size_t i = 1; i < p.body.results.size(); ++i) {
    Candidate c{p, plan};
    c.program.body.results.erase(c.program.body.results.begin() + static_cast<std::ptrdiff_t>(i));
    list.push_back(c);
  }
  if (p.twice) {
    Candidate c{p, plan};
    c.program.twice = false;
    list.push_back(c);
  }
  if (p.arguments > 1) {
    Candidate c{p, plan};
    --c.program.arguments;
    c.program.twice = false;
    c.program.body.parameters.pop_back();
    list.push_back(c);
  }
  for (std::size_t i = 0; i < plan.levels.size(); ++i) {
    const Level& l = plan.levels[i];
    for (const int bit : {1, 2, 4})
      if ((l.sources & bit) && l.sources != bit) {
        Candidate c{p, plan};
        c.plan.levels[i].sources &= ~bit;
        list.push_back(c);
      }
    if (l.style) {
      Candidate c{p, plan};
      c.plan.levels[i].style = 0;
      list.push_back(c);
    }
  }
  return list;
}

}  // namespace random_state
