// Small multiples as an SVG file, for samples that draw: a panel has points and curves, or a field of colours. Also the
// arguments of samples.
#pragma once
#include <initializer_list>
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

// An argument of a program, such as --svg, and what its value is, such as FILE.
struct Argument {
  const char *name, *kind;
  std::string* value;
};
// Reads names, each followed by a value. Ends the program with a line of usage and status 2 where they are others.
void read_arguments(int argc, char** argv, std::initializer_list<Argument> known);
// The value of the argument --svg, the only one; empty without it.
std::string svg_argument(int argc, char** argv);
// Prints "PROGRAM: MESSAGE" and ends the program with status 2.
[[noreturn]] void stop(const std::string& program, const std::string& message);

// Ends the program with a message and status 2 when the file cannot be written.
void write(const std::string& path, const std::string& title, const std::vector<Panel>& panels);

}  // namespace chart
