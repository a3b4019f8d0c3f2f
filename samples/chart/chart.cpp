// Draws the panels. All lengths are in SVG user units; data coordinates are mapped at the last moment, by Frame.
#include "chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace chart {
namespace {

constexpr double panel_height = 210;
constexpr double gap = 24;
constexpr double header = 64;
constexpr std::size_t columns = 5;
// Okabe and Ito's colours: told apart with any colour vision.
constexpr std::array<const char*, 4> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7"};

std::string number(double v, const char* format = "%.2f") {
  char text[40];
  std::snprintf(text, sizeof text, format, v);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

std::string text_at(double x, double y, const char* classes, const std::string& text, const std::string& more = "") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + classes + "\"" + more + ">" +
         escaped(text) + "</text>\n";
}

// A range widened to look free, with round tick values inside.
struct Axis {
  double low, high;
  std::vector<double> ticks;
};

Axis axis_over(double low, double high) {
  double span = high - low;
  if (!(span > 0)) span = std::max(std::fabs(high), 1.0);
  Axis axis{low - 0.04 * span, high + 0.04 * span, {}};
  const double raw = span / 4;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= raw) {
      step = factor * power;
      break;
    }
  }
  for (double k = std::ceil(axis.low / step); k * step <= axis.high; ++k)
    axis.ticks.push_back(k * step + 0.0);  // + 0.0: no "-0"
  return axis;
}

struct Frame {
  double left, top, width, height;
  Axis x, y;
  double at_x(double v) const { return left + (v - x.low) / (x.high - x.low) * width; }
  double at_y(double v) const { return top + height - (v - y.low) / (y.high - y.low) * height; }
};

// Widens a range around its middle, by a factor.
Axis widened(const Axis& a, double factor) {
  const double middle = (a.low + a.high) / 2, half = factor * (a.high - a.low) / 2 / 1.08;
  return axis_over(middle - half, middle + half);
}

Frame frame_for(const Panel& panel, double left, double top) {
  if (panel.field.rows > 0) {
    const double side = panel_height - 58;
    const Axis axis = axis_over(0, panel.field.extent);
    const Axis whole{0, panel.field.extent, {axis.ticks}};
    return {left + 44, top + 36, side, side, whole, whole};
  }
  double low_x = INFINITY, high_x = -INFINITY, low_y = INFINITY, high_y = -INFINITY;
  for (const Series& s : panel.series) {
    for (const double v : s.points_x) low_x = std::min(low_x, v), high_x = std::max(high_x, v);
    for (const double v : s.curve_x) low_x = std::min(low_x, v), high_x = std::max(high_x, v);
    for (const double v : s.points_y) low_y = std::min(low_y, v), high_y = std::max(high_y, v);
    for (const double v : s.curve_y) {
      if (std::isfinite(v)) low_y = std::min(low_y, v), high_y = std::max(high_y, v);
    }
  }
  Frame f{left + 44, top + 36, panel.width - 52, panel_height - 58, axis_over(low_x, high_x), axis_over(low_y, high_y)};
  if (panel.equal_scales) {
    const double ratio = (f.y.high - f.y.low) / f.height / ((f.x.high - f.x.low) / f.width);
    (ratio > 1 ? f.x : f.y) = ratio > 1 ? widened(f.x, ratio) : widened(f.y, 1 / ratio);
  }
  return f;
}

std::string axes(const Frame& f) {
  std::string out;
  const double bottom = f.top + f.height;
  for (const double t : f.x.ticks) {
    const std::string x = number(f.at_x(t));
    out += "<path class=\"grid\" d=\"M" + x + " " + number(f.top) + "V" + number(bottom) + "\"/>\n";
    out += text_at(f.at_x(t), bottom + 13, "tick middle", number(t, "%.6g"));
  }
  for (const double t : f.y.ticks) {
    const std::string y = number(f.at_y(t));
    out += "<path class=\"grid\" d=\"M" + number(f.left) + " " + y + "H" + number(f.left + f.width) + "\"/>\n";
    out += text_at(f.left - 5, f.at_y(t) + 3, "tick end", number(t, "%.6g"));
  }
  out += "<path class=\"axis\" d=\"M" + number(f.left) + " " + number(f.top) + "V" + number(bottom) + "H" +
         number(f.left + f.width) + "\"/>\n";
  return out;
}

std::string drawn(const Series& s, const Frame& f, const char* colour, bool alone) {
  std::string out = std::string("<g fill=\"none\" stroke=\"") + (alone ? "#777" : colour) +
                    "\" stroke-width=\"0.8\" stroke-opacity=\"0.8\">\n";
  const std::string radius = s.points_x.size() > 60 ? "1.5" : "2.4";
  for (std::size_t i = 0; i < s.points_x.size(); ++i)
    out += "<circle cx=\"" + number(f.at_x(s.points_x[i])) + "\" cy=\"" + number(f.at_y(s.points_y[i])) + "\" r=\"" +
           radius + "\"/>\n";
  out += "</g>\n<path class=\"curve\" stroke=\"" + std::string(colour) + "\" d=\"";
  char command = 'M';
  for (std::size_t i = 0; i < s.curve_x.size(); ++i) {
    if (!std::isfinite(s.curve_y[i])) {
      command = 'M';
      continue;
    }
    out += command + number(f.at_x(s.curve_x[i])) + " " + number(f.at_y(s.curve_y[i]));
    command = 'L';
  }
  return out + "\"/>\n";
}

// Of a value from -1 to 1.
std::string colour_of(double v) {
  constexpr double negative[] = {0, 114, 178}, positive[] = {213, 94, 0};
  const double* end = v < 0 ? negative : positive;
  char text[16];
  const auto mixed = [&](int k) { return static_cast<int>(255 + std::fabs(v) * (end[k] - 255)); };
  std::snprintf(text, sizeof text, "#%02x%02x%02x", mixed(0), mixed(1), mixed(2));
  return text;
}

// A path per colour, in units of cells. 129 colours.
std::string drawn(const Field& field, const Frame& f) {
  double largest = 1e-300;
  for (const double v : field.values) largest = std::max(largest, std::fabs(v));
  std::map<std::string, std::string> paths;
  for (std::size_t i = 0; i < field.values.size(); ++i)
    paths[colour_of(std::round(64 * field.values[i] / largest) / 64)] +=
        "M" + std::to_string(i % field.columns) + " " + std::to_string(i / field.columns) + "h1v1h-1z";
  std::string out = "<g shape-rendering=\"crispEdges\" transform=\"translate(" + number(f.left) + " " +
                    number(f.top + f.height) + ") scale(" +
                    number(f.width / static_cast<double>(field.columns), "%.6g") + " " +
                    number(-f.height / static_cast<double>(field.rows), "%.6g") + ")\">\n";
  for (const auto& [colour, path] : paths) out += "<path fill=\"" + colour + "\" d=\"" + path + "\"/>\n";
  return out + "</g>\n";
}

std::string drawn(const Panel& panel, double left, double top) {
  const Frame f = frame_for(panel, left, top);
  std::string out = text_at(left, top + 12, "name", panel.title);
  out += text_at(left + panel.width - 8, top + 12, "note end", panel.note);
  const double size =
      std::min(9.5, 1.9 * (panel.width - 8) / std::max(1.0, static_cast<double>(panel.subtitle.size())));
  out += text_at(left, top + 26, "note", panel.subtitle, " style=\"font-size:" + number(size) + "px\"");
  out += axes(f);
  if (panel.field.rows > 0) out += drawn(panel.field, f);
  for (std::size_t k = 0; k < panel.series.size(); ++k)
    out += drawn(panel.series[k], f, colours[k % colours.size()], panel.series.size() == 1);
  for (std::size_t k = 0; k < panel.series.size() && panel.series.size() > 1; ++k)
    out += text_at(f.left + 6, f.top + f.height - 6 - 11 * static_cast<double>(panel.series.size() - 1 - k), "tick",
                   panel.series[k].label, std::string(" style=\"fill:") + colours[k % colours.size()] + "\"");
  return out;
}

// Where panel i begins: behind those before it in its row.
double left_of(const std::vector<Panel>& panels, std::size_t i) {
  double left = gap;
  for (std::size_t k = i - i % columns; k < i; ++k) left += panels[k].width + gap;
  return left;
}

}  // namespace

void stop(const std::string& program, const std::string& message) {
  std::fprintf(stderr, "%s: %s\n", program.c_str(), message.c_str());
  std::exit(2);
}

void read_arguments(int argc, char** argv, std::initializer_list<Argument> known) {
  std::string usage;
  for (const Argument& a : known) usage += std::string(" [") + a.name + " " + a.kind + "]";
  for (int i = 1; i < argc; i += 2) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const Argument& a) { return std::string(argv[i]) == a.name && i + 1 < argc; });
    if (found == known.end()) stop("usage", std::filesystem::path(argv[0]).filename().string() + usage);
    *found->value = argv[i + 1];
  }
}

std::string svg_argument(int argc, char** argv) {
  std::string path;
  read_arguments(argc, argv, {{"--svg", "FILE", &path}});
  return path;
}

void write(const std::string& path, const std::string& title, const std::vector<Panel>& panels) {
  const std::size_t rows = (panels.size() + columns - 1) / columns;
  double width = 11 * static_cast<double>(title.size());  // of the title, about
  for (std::size_t i = 0; i < panels.size(); ++i) width = std::max(width, left_of(panels, i) + panels[i].width + gap);
  const double height = header + static_cast<double>(rows) * (panel_height + gap);
  const std::string w = number(width, "%.0f"), h = number(height, "%.0f");
  std::ofstream file(path);
  file
      << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << w << "\" height=\"" << h << "\" viewBox=\"0 0 " << w
      << " " << h
      << "\">\n<style>text{font-family:Helvetica,Arial,sans-serif;fill:#222}.head{font-size:18px;font-weight:bold}"
      << ".name{font-size:13px;font-weight:bold}.note{font-size:10px;fill:#666}.tick{font-size:9px;fill:#555}"
      << ".middle{text-anchor:middle}.end{text-anchor:end}.grid{stroke:#ececec;stroke-width:1}"
      << ".axis{stroke:#999;stroke-width:1;fill:none}.curve{fill:none;stroke-width:1.6;stroke-linejoin:round}</style>\n"
      << "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      << text_at(gap, 34, "head", title);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const double top = header + static_cast<double>(i / columns) * (panel_height + gap);
    file << drawn(panels[i], left_of(panels, i), top);
  }
  file << "</svg>\n";
  file.close();
  if (!file) stop(path, "cannot be written");
}

}  // namespace chart
