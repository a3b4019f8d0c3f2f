#include "digits.hpp"

#include <algorithm>
#include <fstream>
#include <reel/interpolate.hpp>
#include <sstream>
#include <string_view>

#include "../chart/chart.hpp"

using reel::DType, reel::Tensor;

namespace digits {
namespace {

// Rows of 65 integers: 64 pixels 0..16, then the digit.
Images read(const std::string& path) {
  std::ifstream file(path);
  if (!file) chart::stop("digits", "there is no " + path + " (UCI, doi 10.24432/C50P49)");
  std::vector<float> images;
  std::vector<std::int64_t> labels;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream row(line);
    std::vector<int> values;
    for (int v; row >> v;) values.push_back(v);
    const bool fits = row.eof() && values.size() == pixels + 1 && values.back() >= 0 && values.back() < classes &&
                      std::all_of(values.begin(), values.end(), [](int v) { return v >= 0 && v <= 16; });
    if (!fits)
      chart::stop("digits", path + ":" + std::to_string(number) +
                                ": expected 64 pixels from 0 to 16 and a digit, separated by commas");
    for (std::int64_t i = 0; i < pixels; ++i)
      images.push_back(static_cast<float>(values[static_cast<std::size_t>(i)]) / 16);
    labels.push_back(values.back());
  }
  const auto n = static_cast<std::int64_t>(labels.size());
  return {reel::from_data(images, {n, pixels}), reel::from_data(labels)};
}

// Five columns and seven rows, from the top.
constexpr std::string_view glyphs[classes] = {
    ".###. #...# #...# #...# #...# #...# .###.", "..#.. .##.. #.#.. ..#.. ..#.. ..#.. #####",
    ".###. #...# ....# ...#. ..#.. .#... #####", "####. ....# ....# .###. ....# ....# ####.",
    "...#. ..##. .#.#. #..#. ##### ...#. ...#.", "##### #.... ####. ....# ....# #...# .###.",
    "..##. .#... #.... ####. #...# #...# .###.", "##### ....# ...#. ..#.. ..#.. .#... .#...",
    ".###. #...# #...# .###. #...# #...# .###.", ".###. #...# #...# .#### ....# ...#. .##.."};

// The glyphs as images of one channel, [10, 1, 8, 8].
Tensor glyph_images() {
  std::vector<float> dots;
  for (const std::string_view glyph : glyphs)
    for (std::size_t row = 0; row < side; ++row)
      for (std::size_t column = 0; column < side; ++column) {
        const std::size_t at = 6 * row + column - 1;  // each row of the text ends with a blank
        const bool inside = row < 7 && column >= 1 && column <= 5;
        dots.push_back(inside && glyph[at] == '#' ? 1.0F : 0.0F);
      }
  return reel::from_data(dots, {classes, 1, side, side});
}

Images draw(reel::Generator& generator, std::int64_t n) {
  const Tensor labels = reel::mod(reel::arange(n), classes);
  const Tensor identity = reel::from_data(std::vector<float>{1, 0, 0, 0, 1, 0}, {2, 3});
  const Tensor maps = identity + reel::random_normal(generator, {n, 2, 3}, 0, 0.1, DType::float32);
  const Tensor images =
      reel::grid_sample(reel::gather(glyph_images(), labels), reel::affine_grid(maps, {n, 1, side, side}));
  return {reel::reshape(images, {n, pixels}), labels};
}

}  // namespace

Data load(const std::string& folder) {
  if (!folder.empty()) return {read(folder + "/optdigits.tra"), read(folder + "/optdigits.tes"), 60};
  reel::Generator generator(8);
  Images training = draw(generator, 2048);
  return {std::move(training), draw(generator, 1000), 20};
}

}  // namespace digits
