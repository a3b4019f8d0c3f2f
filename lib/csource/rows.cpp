// Loops over rows.
#include "csource/rows.hpp"

#include <fmt/core.h>

namespace reel::csource {

Rows rows_of(const Array& x, std::int64_t mask) {
  std::vector<int> order, reduced;
  for (int d = 0; d < x.rank(); ++d) (mask >> d & 1 ? reduced : order).push_back(d);
  const std::size_t outer = order.size();
  Array inner[] = {permuted(x, reduced)};
  Shape over = inner[0].shape;
  merge_axes(over, inner);
  Array all = permuted(x, order);
  for (std::size_t d = 0; d < over.size(); ++d) {
    all.shape.push_back(over.begin()[d]);
    all.strides.push_back(inner[0].strides.begin()[d]);
  }
  return {std::move(all), outer};
}

void for_each_row(Writer& w, const Rows& rows, const Row& row) {
  const Blocks nest(w);
  const std::vector<Index> at = w.loops(rows.kept());
  row(at, [&](std::span<const Index> position) {
    std::vector<Index> all = at;
    all.insert(all.end(), position.begin(), position.end());
    return rows.x.at(all);
  });
}

std::string fold(Writer& w, DType d, const std::string& first, const Shape& over, const Element& x,
                 const Combine& combine) {
  const std::string v = w.variable(d, first);
  const Blocks nest(w);
  const std::string element = w.let(d, x(w.loops(over)));
  w.count_flops(1);
  w.statement(fmt::format("{} = {}", v, combine(v, element)));
  return v;
}

std::string largest(Writer& w, DType d, const Shape& over, const Element& x, bool smallest) {
  const char* const sign = smallest ? "<" : ">";
  return fold(w, d, x(std::vector<Index>(over.size())), over, x, [&](const std::string& a, const std::string& b) {
    return is_differentiable(d) ? fmt::format("{1} {2} {0} || {1} != {1} ? {1} : {0}", a, b, sign)
                                : fmt::format("{1} {2} {0} ? {1} : {0}", a, b, sign);
  });
}

}  // namespace reel::csource
