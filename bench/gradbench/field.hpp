// The input of an eval, parsed with checks of what each field must be.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <reel/reel.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "json.hpp"

namespace gradbench {

/// An extent of a wanted shape that may be any from 1 on.
inline constexpr std::int64_t any_extent = -1;

/// A value of a message and its path, which exceptions name: "'data.points' has the shape [2]; it must have [1 or more,
/// 3]". All functions throw a reel::Error. The field refers to the message, which must outlive it.
class Field {
 public:
  static constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();

  explicit Field(const Json& value, std::string root = "the input") : value_(&value), root_(std::move(root)) {}

  const Json& json() const { return *value_; }
  bool has(const char* name) const { return value_->is_object() && value_->contains(name); }
  bool is_empty_list() const { return value_->is_array() && value_->empty(); }
  std::int64_t size() const { return static_cast<std::int64_t>(array().size()); }

  /// The field of an object.
  Field at(const char* name) const {
    if (!value_->is_object()) wrong(*value_, "", "an object");
    const auto found = value_->find(name);
    if (found == value_->end()) throw reel::ValueError(this->name() + " has no field '" + name + "'");
    return {*found, root_, path_.empty() ? name : path_ + "." + name};
  }
  /// The element of a list.
  Field at(std::int64_t i) const {
    return {array().at(static_cast<std::size_t>(i)), root_, path_ + "[" + std::to_string(i) + "]"};
  }

  std::string string() const {
    if (!value_->is_string()) wrong(*value_, "", "a string");
    return value_->get<std::string>();
  }
  bool boolean() const {
    if (!value_->is_boolean()) wrong(*value_, "", "true or false");
    return value_->get<bool>();
  }
  double number() const {
    if (!value_->is_number()) wrong(*value_, "", "a number");
    return value_->get<double>();
  }
  std::int64_t integer(std::int64_t least, std::int64_t most = largest) const {
    return integer(*value_, "", least, most);
  }
  /// A list of integers from `least` to `most`.
  std::vector<std::int64_t> integers(std::int64_t least, std::int64_t most) const {
    std::vector<std::int64_t> list;
    for (const Json& item : array())
      list.push_back(integer(item, "[" + std::to_string(list.size()) + "]", least, most));
    return list;
  }

  /// A nested list of numbers, not ragged, with these extents: each a number or any_extent.
  reel::Tensor tensor(std::span<const std::int64_t> wanted) const {
    std::vector<std::int64_t> extents;
    for (const Json* item = value_; item->is_array(); item = &item->front()) {
      extents.push_back(static_cast<std::int64_t>(item->size()));
      if (item->empty()) break;
    }
    bool fits = extents.size() == wanted.size();
    for (std::size_t i = 0; fits && i < extents.size(); ++i)
      fits = wanted[i] == any_extent ? extents[i] > 0 : extents[i] == wanted[i];
    if (!fits && !value_->is_array()) wrong(*value_, "", "a list of numbers of the shape " + text(wanted));
    if (!fits) throw reel::ShapeError(name() + " has the shape " + text(extents) + "; it must have " + text(wanted));
    std::size_t count = 1;
    for (const std::int64_t extent : extents) count *= static_cast<std::size_t>(extent);
    std::vector<double> values;
    values.reserve(count);
    append(*value_, extents, "", values);
    return reel::from_data(values, reel::Shape(extents));
  }
  reel::Tensor tensor(std::initializer_list<std::int64_t> wanted) const {
    return tensor(std::span(wanted.begin(), wanted.size()));
  }

  /// Throws ValueError: this field is so and must be otherwise.
  [[noreturn]] void fail(const std::string& found, const std::string& wanted) const {
    throw reel::ValueError(name() + " is " + found + "; it must be " + wanted);
  }

 private:
  Field(const Json& value, std::string root, std::string path)
      : value_(&value), root_(std::move(root)), path_(std::move(path)) {}

  std::string name(const std::string& place = "") const {
    return path_.empty() && place.empty() ? root_ : path_.empty() ? root_ + " at " + place : "'" + path_ + place + "'";
  }
  [[noreturn]] void wrong(const Json& value, const std::string& place, const std::string& wanted) const {
    const std::string found = value.is_object()   ? "an object"
                              : value.is_array()  ? "a list"
                              : value.is_string() ? "a string"
                                                  : value.dump();
    throw reel::TypeError(name(place) + " is " + found + "; it must be " + wanted);
  }
  const Json& array() const {
    if (!value_->is_array()) wrong(*value_, "", "a list");
    return *value_;
  }

  // 3.0 is an integer: JSON has one kind of number.
  std::int64_t integer(const Json& value, const std::string& place, std::int64_t least, std::int64_t most) const {
    const double number = value.is_number() ? value.get<double>() : NAN;
    if (number == std::floor(number) && number >= static_cast<double>(least) && number <= static_cast<double>(most))
      return static_cast<std::int64_t>(number);
    std::string wanted = "an integer from " + std::to_string(least);
    if (most != largest || number > static_cast<double>(most))
      wanted += " to " + std::to_string(most);
    else
      wanted += " on";
    wrong(value, place, wanted);
  }

  static std::string text(std::span<const std::int64_t> extents) {
    std::string list;
    for (const std::int64_t extent : extents.first(std::min<std::size_t>(extents.size(), 8)))
      list += (list.empty() ? "" : ", ") + (extent == any_extent ? "1 or more" : std::to_string(extent));
    return "[" + list + (extents.size() > 8 ? ", ...]" : "]");
  }

  // The elements in row-major order.
  void append(const Json& item, std::span<const std::int64_t> extents, const std::string& place,
              std::vector<double>& values) const {
    for (std::size_t i = 0; i < item.size(); ++i) {
      const Json& next = item[i];
      const auto here = [&] { return place + "[" + std::to_string(i) + "]"; };
      if (extents.size() == 1) {
        if (!next.is_number()) wrong(next, here(), "a number");
        values.push_back(next.get<double>());
      } else if (!next.is_array()) {
        wrong(next, here(), "a list");
      } else if (static_cast<std::int64_t>(next.size()) != extents[1]) {
        throw reel::ShapeError(name(here()) + " has the length " + std::to_string(next.size()) + "; it must have " +
                               std::to_string(extents[1]) + " as " + name(place + "[0]") + " has");
      } else {
        append(next, extents.subspan(1), here(), values);
      }
    }
  }

  const Json* value_;
  std::string root_, path_;
};

}  // namespace gradbench
