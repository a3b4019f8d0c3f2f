// Arrays as generated C addresses them, and the workspace that holds intermediate ones.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <reel/shape.hpp>
#include <span>

#include "csource/text.hpp"

namespace reel::csource {

struct Token;

/// Elements of a C array from `offset` on, or, if `single`, one value for all of them.
struct Array {
  std::string name = {};  // of a pointer; for a single value an expression, without parentheses around it
  DType dtype = DType::float64;
  Shape shape = {}, strides = {};  // in elements
  Index offset = {};
  bool single = false;
  std::shared_ptr<const Token> token = {};  // in place of elements

  std::int64_t size() const noexcept { return shape.elements(); }
  int rank() const noexcept { return shape.rank(); }
  /// The C expression of an element.
  std::string at(std::span<const Index> position) const;
  /// The same, for an array of one element.
  std::string value() const { return at(std::vector<Index>(shape.size())); }
  /// Whether the elements lie one behind the other in row-major order.
  bool dense() const noexcept;
  /// The element where all positions are 0, as the C expression of its address.
  std::string address() const;
  /// Whether both are the same elements of the same array.
  friend bool same_place(const Array& a, const Array& b) {
    return a.name == b.name && a.offset.text() == b.offset.text();
  }
};

/// What one instruction leaves in the workspace for another, such as a loop for its gradient. Only they know what it
/// is.
struct Token {
  std::vector<Array> arrays;  // some of which have tokens in turn
};

/// Strides of row-major elements without gaps.
Shape dense_strides(const Shape& shape);
Array dense_array(std::string name, DType dtype, const Shape& shape, Index offset = {});
/// All elements have the value of the expression.
Array single_value(std::string expression, DType dtype, const Shape& shape);
/// The elements repeated to a shape to which they broadcast.
Array broadcast(const Array& x, const Shape& shape);
/// Elements in another order or a part of them, of the same array.
Array view(const Array& x, const Index& offset, const Shape& shape, const Shape& strides);
/// `count` positions of an axis, from `start` on.
Array section(const Array& x, int axis, const Index& start, std::int64_t count);
/// Position i of axis 0, without that axis.
Array row(const Array& x, const Index& i);
/// Dense elements in another shape of as many.
Array reshaped(const Array& x, const Shape& shape);
/// The array with the axes in this order.
Array permuted(const Array& x, std::span<const int> order);
/// Makes neighbouring axes one where each array walks them as one, and drops axes of extent 1. All arrays have the
/// shape.
void merge_axes(Shape& shape, std::span<Array> arrays);

/// The workspace of a function: a region for each C type, so that no memory is read as two types.
class Workspace {
 public:
  static constexpr std::array types{DType::float64, DType::int64, DType::float32, DType::int32, DType::uint8};
  /// The name of the pointer to the region that holds elements of the dtype.
  static const char* pointer(DType dtype) noexcept;
  Array take(DType dtype, const Shape& shape);
  /// The same where nothing has been yet: for what a loop keeps, whose size is known when its body has been written.
  Array take_fresh(DType dtype, const Shape& shape);
  void give_back(const Array& x);
  /// Elements of a region, in units of 8 bytes.
  std::int64_t words(DType type) const;
  std::int64_t bytes() const;

 private:
  struct Region {
    std::map<std::int64_t, std::int64_t> holes = {};  // number of elements by offset
    std::int64_t end = 0, most = 0;                   // in elements
  };
  static std::size_t index_of(DType dtype) noexcept;
  std::array<Region, types.size()> regions_;
};

}  // namespace reel::csource
