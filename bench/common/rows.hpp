// Cases as rows of a table: a name and a function of operands that all rows share.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "protocol.hpp"

namespace bench {

template <class Operands, class Result>
struct Row {
  const char* name;
  Result (*call)(const Operands& of);
};

/// A case for each row. The operands are made for the first case that runs, and kept for the others. `body` is the
/// program's own.
template <class Operands, class Result, std::size_t n>
std::vector<Case> cases_of(const Row<Operands, Result> (&rows)[n]) {
  std::vector<Case> cases;
  const auto kept = std::make_shared<std::shared_ptr<const Operands>>();
  for (const Row<Operands, Result>& row : rows)
    cases.push_back({.name = row.name, .make = [call = row.call, kept] {
                       if (!*kept) *kept = std::make_shared<const Operands>();
                       return body([call, operands = *kept] { return call(*operands); });
                     }});
  return cases;
}

}  // namespace bench
