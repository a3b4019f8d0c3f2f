// Every op with tensors that a traced function has stored: an error, or a result that needs no elements.
#pragma once
#include <cstdio>
#include <functional>
#include <reel/compile.hpp>
#include <reel/reel.hpp>
#include <string>
#include <utility>
#include <vector>

#include "hostile/binary_ops.hpp"
#include "hostile/grids.hpp"
#include "hostile/ops.hpp"
#include "hostile/rows.hpp"
#include "hostile/scientific_ops.hpp"

/// Calls by the name of the op.
inline std::vector<std::pair<std::string, std::function<void()>>> uses_of_kept_tensors() {
  using namespace reel;
  const std::vector<Tensor> x = {ones({3}), ones({2, 2}), zeros({3}, DType::int64), ones({2, 2}, DType::boolean),
                                 ones({1, 1, 3, 3})};
  std::vector<Tensor> kept;
  compile([&](const std::vector<Tensor>& traced) { return kept = traced; })(x);
  std::vector<std::pair<std::string, std::function<void()>>> uses;
  for (const auto& op : joined(with_rows(with_grids(unary_ops())), scientific_unary_ops()))
    for (const Tensor& k : kept) uses.emplace_back(op.name, [f = op.f, k] { f(k); });
  for (const auto& op : joined(with_rows(with_grids(binary_ops())), scientific_binary_ops()))
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = 0; j < x.size(); ++j) {
        uses.emplace_back(op.name, [f = op.f, a = kept[i], b = x[j]] { f(a, b); });
        uses.emplace_back(op.name, [f = op.f, a = x[i], b = kept[j]] { f(a, b); });
      }
  return uses;
}

/// Makes all calls, each with the name of its op in `running`.
inline void use_kept_tensors(char* running, std::size_t length, int& calls, int& refused) {
  for (const auto& [name, use] : uses_of_kept_tensors()) {
    std::snprintf(running, length, "%s(kept)", name.c_str());
    ++calls;
    try {
      use();
    } catch (const reel::Error&) {
      ++refused;
    }
  }
}
