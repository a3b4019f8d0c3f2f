// Addresses of elements, and places in the workspace.
#include "csource/array.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace reel::csource {

std::string Array::at(std::span<const Index> position) const {
  if (single) return name;
  if (name.empty()) return "0";  // of no elements
  Index sum = offset;
  for (std::size_t d = 0; d < position.size(); ++d)
    if (shape.begin()[d] != 1) sum.add(position[d], strides.begin()[d]);
  return fmt::format("{}[{}]", name, sum.text());
}

bool Array::dense() const noexcept {
  if (single) return size() == 1;
  std::int64_t stride = 1;
  for (int d = rank(); d-- > 0; stride *= shape.begin()[d])
    if (shape.begin()[d] != 1 && strides.begin()[d] != stride) return false;
  return true;
}

std::string Array::address() const {
  return offset.is_constant() && offset.constant() == 0 ? name : fmt::format("{} + {}", name, offset.text());
}

Shape dense_strides(const Shape& shape) {
  Shape strides = shape;
  std::int64_t stride = 1;
  for (int d = shape.rank(); d-- > 0; stride *= shape.begin()[d]) strides.begin()[d] = stride;
  return strides;
}

Array dense_array(std::string name, DType dtype, const Shape& shape, Index offset) {
  return {std::move(name), dtype, shape, dense_strides(shape), std::move(offset), false};
}

Array single_value(std::string expression, DType dtype, const Shape& shape) {
  Shape strides = shape;
  std::fill(strides.begin(), strides.end(), 0);
  return {std::move(expression), dtype, shape, strides, {}, true};
}

Array broadcast(const Array& x, const Shape& shape) {
  Array y = x;
  y.shape = y.strides = shape;
  const int lead = shape.rank() - x.rank();
  for (int d = 0; d < shape.rank(); ++d)
    y.strides.begin()[d] = d < lead || x.shape.begin()[d - lead] == 1 ? 0 : x.strides.begin()[d - lead];
  return y;
}

Array view(const Array& x, const Index& offset, const Shape& shape, const Shape& strides) {
  Array y = x;
  if (!x.single) y.offset.add(offset);
  y.shape = shape;
  y.strides = strides;
  return y;
}

Array section(const Array& x, int axis, const Index& start, std::int64_t count) {
  Array y = x;
  if (!x.single) y.offset.add(start, x.strides.begin()[axis]);
  y.shape.begin()[axis] = count;
  return y;
}

Array row(const Array& x, const Index& i) {
  Array y = section(x, 0, i, 1);
  y.shape.erase(0);
  y.strides.erase(0);
  return y;
}

Array reshaped(const Array& x, const Shape& shape) {
  if (x.single) return single_value(x.name, x.dtype, shape);
  return dense_array(x.name, x.dtype, shape, x.offset);
}

Array permuted(const Array& x, std::span<const int> order) {
  Array y = x;
  y.shape = y.strides = {};
  for (const int d : order) {
    y.shape.push_back(x.shape.begin()[d]);
    y.strides.push_back(x.strides.begin()[d]);
  }
  return y;
}

void merge_axes(Shape& shape, std::span<Array> arrays) {
  Shape merged;
  std::vector<Shape> strides(arrays.size());
  for (int d = 0; d < shape.rank(); ++d) {
    const std::int64_t extent = shape.begin()[d];
    if (extent == 1) continue;
    bool joins = merged.rank() > 0;
    for (std::size_t k = 0; joins && k < arrays.size(); ++k)
      joins = *(strides[k].end() - 1) == arrays[k].strides.begin()[d] * extent;
    if (joins)
      *(merged.end() - 1) *= extent;
    else
      merged.push_back(extent);
    for (std::size_t k = 0; k < arrays.size(); ++k)
      if (joins)
        *(strides[k].end() - 1) = arrays[k].strides.begin()[d];
      else
        strides[k].push_back(arrays[k].strides.begin()[d]);
  }
  shape = merged;
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    arrays[k].shape = merged;
    arrays[k].strides = strides[k];
  }
}

// ---- Workspace

std::size_t Workspace::index_of(DType d) noexcept {
  if (d == DType::boolean) d = DType::uint8;
  return static_cast<std::size_t>(std::find(types.begin(), types.end(), d) - types.begin());
}

const char* Workspace::pointer(DType d) noexcept {
  constexpr const char* names[] = {"work", "work_i64", "work_f32", "work_i32", "work_u8"};
  return names[index_of(d)];
}

// First fit.
Array Workspace::take(DType dtype, const Shape& shape) {
  Region& r = regions_[index_of(dtype)];
  const std::int64_t count = std::max<std::int64_t>(1, shape.elements());
  auto hole = r.holes.begin();
  while (hole != r.holes.end() && hole->second < count) ++hole;
  std::int64_t at = r.end;
  if (hole != r.holes.end()) {
    at = hole->first;
    const std::int64_t left = hole->second - count;
    r.holes.erase(hole);
    if (left > 0) r.holes[at + count] = left;
  } else {
    r.end += count;
    r.most = std::max(r.most, r.end);
  }
  return dense_array(pointer(dtype), dtype, shape, Index(at));
}

Array Workspace::take_fresh(DType dtype, const Shape& shape) {
  Region& r = regions_[index_of(dtype)];
  const std::int64_t at = r.most, begin = r.end;
  r.most = r.end = at + std::max<std::int64_t>(1, shape.elements());
  if (at > begin) give_back(dense_array(pointer(dtype), dtype, {at - begin}, Index(begin)));
  return dense_array(pointer(dtype), dtype, shape, Index(at));
}

void Workspace::give_back(const Array& x) {
  Region& r = regions_[index_of(x.dtype)];
  std::int64_t at = x.offset.constant(), count = std::max<std::int64_t>(1, x.size());
  const auto next = r.holes.find(at + count);
  if (next != r.holes.end()) {
    count += next->second;
    r.holes.erase(next);
  }
  const auto after = r.holes.upper_bound(at);
  if (after != r.holes.begin())
    if (const auto before = std::prev(after); before->first + before->second == at) {
      at = before->first;
      count += before->second;
      r.holes.erase(before);
    }
  if (at + count == r.end)
    r.end = at;
  else
    r.holes[at] = count;
}

std::int64_t Workspace::words(DType type) const {
  constexpr std::int64_t word = 8;
  return (regions_[index_of(type)].most * static_cast<std::int64_t>(item_size(type)) + word - 1) / word;
}

std::int64_t Workspace::bytes() const {
  std::int64_t sum = 0;
  for (const DType type : types) sum += 8 * words(type);
  return sum;
}

}  // namespace reel::csource
