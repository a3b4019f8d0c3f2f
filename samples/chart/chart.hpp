// Small multiples as an SVG file, for samples that draw: a panel has points and curves, or a field of colours.
#pragma once
#include <string>
#include <vector>

namespace chart {

struct Series {
  std::string label;  // empty when the panel has only one
  std::vector<double> points_x, points_y;
  std::vector<double> curve_x, curve_y;
};

// Values on a square grid, drawn as blue (negative) to white (0) to orange. The first row is the lowest.
struct Field {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;  // row-major
  double extent = 1;           // of both axes
};

struct Panel {
  std::string title;
  std::string note;      // at the title's right
  std::string subtitle;  // the formula
  std::vector<Series> series;
  Field field = {};
  double width = 280;
  bool equal_scales = false;  // a unit is as long on both axes
};

// The value of the argument --svg; empty without one. Throws std::invalid_argument for other arguments.
std::string svg_argument(int argc, char** argv);

// Throws std::runtime_error when the file cannot be written.
void write(const std::string& path, const std::string& title, const std::vector<Panel>& panels);

}  // namespace chart
