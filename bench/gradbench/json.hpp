// Tensors from JSON and back. Numbers are float64 throughout; a nested list of numbers is a tensor.
#pragma once
#include <nlohmann/json.hpp>
#include <reel/reel.hpp>
#include <string>
#include <utility>
#include <vector>

namespace gradbench {

using Json = nlohmann::json;

namespace detail {

inline std::size_t count(const reel::Shape& shape) {
  std::size_t product = 1;
  for (const std::int64_t extent : shape) product *= static_cast<std::size_t>(extent);
  return product;
}

// The elements in row-major order; the first element of each list says what extents its axis has.
inline void append(const Json& list, const reel::Shape& shape, int axis, std::vector<double>& values) {
  if (axis == shape.rank()) return values.push_back(list.get<double>());
  if (!list.is_array() || static_cast<std::int64_t>(list.size()) != shape[axis])
    throw reel::ShapeError("input: the lists of axis " + std::to_string(axis) + " differ in length");
  for (const Json& item : list) append(item, shape, axis + 1, values);
}

}  // namespace detail

/// A nested list of numbers as a float64 tensor. ShapeError for ragged lists.
inline reel::Tensor tensor_of(const Json& list) {
  std::vector<std::int64_t> extents;
  for (const Json* item = &list; item->is_array(); item = &item->front()) {
    extents.push_back(static_cast<std::int64_t>(item->size()));
    if (item->empty()) break;
  }
  const reel::Shape shape(extents);
  std::vector<double> values;
  values.reserve(detail::count(shape));
  detail::append(list, shape, 0, values);
  return reel::from_data(values, shape);
}

/// The same with the shape known, which lists without elements do not tell: [[], []] is [2, 0].
inline reel::Tensor tensor_of(const Json& list, const reel::Shape& shape) {
  std::vector<double> values;
  values.reserve(detail::count(shape));
  detail::append(list, shape, 0, values);
  return reel::from_data(values, shape);
}

/// A field of an input; the exception names it when it is missing.
inline reel::Tensor tensor_at(const Json& input, const char* field) { return tensor_of(input.at(field)); }
inline std::int64_t integer_at(const Json& input, const char* field) { return input.at(field).get<std::int64_t>(); }

/// Nested lists, a number for rank 0.
inline Json to_json(const reel::Tensor& x) {
  if (x.rank() == 0) return x.item();
  if (x.rank() == 1) return x.to_vector();
  Json list = Json::array();
  for (std::int64_t i = 0; i < x.shape()[0]; ++i) list.push_back(to_json(x[i]));
  return list;
}
inline Json to_json(Json x) { return x; }

}  // namespace gradbench
