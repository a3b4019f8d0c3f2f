// Reductions: the elements that are combined into one, as rows.
#pragma once
#include "csource/writer.hpp"

namespace reel::csource {

/// An array with the axes of a mask behind the others, merged where the array walks them as one.
struct Rows {
  Array x;
  std::size_t outer;  // the number of the other axes
  /// The shape of the other axes, and of those of a row.
  Shape kept() const { return {x.shape.begin(), outer}; }
  Shape over() const { return {x.shape.begin() + outer, x.shape.size() - outer}; }
};
Rows rows_of(const Array& x, std::int64_t mask);

/// Opens loops over the rows. `row`: where a row is; an element of it is x.at(row + position in the row).
using Element = std::function<std::string(std::span<const Index> position)>;
using Row = std::function<void(std::span<const Index> at, const Element& x)>;
void for_each_row(Writer& w, const Rows& rows, const Row& row);

/// Starts from `first`, and combines it with each element of a row in turn: the name of a variable.
using Combine = std::function<std::string(const std::string& so_far, const std::string& x)>;
std::string fold(Writer& w, DType dtype, const std::string& first, const Shape& over, const Element& x,
                 const Combine& combine);
/// The largest element of a row, or a NaN of it.
std::string largest(Writer& w, DType dtype, const Shape& over, const Element& x, bool smallest = false);

}  // namespace reel::csource
