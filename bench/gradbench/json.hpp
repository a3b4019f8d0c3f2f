// JSON of tensors. Numbers are float64 throughout; a nested list of numbers is a tensor.
#pragma once
#include <nlohmann/json.hpp>
#include <reel/reel.hpp>

namespace gradbench {

using Json = nlohmann::json;

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
