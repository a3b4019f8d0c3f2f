// Small multiples as an SVG file: one panel per problem with the observations and the fitted curve.
#pragma once
#include <string>
#include <vector>

namespace nist {

struct Series {
  std::string label;  // empty when the panel has only one
  std::vector<double> points_x, points_y;
  std::vector<double> curve_x, curve_y;
};

struct Panel {
  std::string title;
  std::string note;      // at the title's right
  std::string subtitle;  // the formula
  std::vector<Series> series;
};

// Throws std::runtime_error when the file cannot be written.
void write_chart(const std::string& path, const std::string& title, const std::vector<Panel>& panels);

}  // namespace nist
