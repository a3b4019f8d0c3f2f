// The short notation of shapes in the tables.
#include <sstream>

#include "../op_cases.hpp"

namespace cases {

namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

reel::Shape shape_of(const std::string& text) {
  reel::Shape shape;
  if (text != "()")
    for (const std::string& extent : split(text, 'x')) shape.push_back(std::stoll(extent));
  return shape;
}

}  // namespace

std::vector<std::vector<reel::Shape>> shapes_of(const Shaped& row) {
  std::vector<std::vector<reel::Shape>> cases;
  for (const std::string& one : split(row.shapes, ';')) {
    std::vector<reel::Shape>& operands = cases.emplace_back();
    for (const std::string& operand : split(one, ',')) operands.push_back(shape_of(operand));
  }
  return cases;
}

}  // namespace cases
