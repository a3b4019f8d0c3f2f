// NIST's .dat files: the first lines say on which lines starting values, certified values and data stand. Rat43's count
// of degrees of freedom is wrong in the file, so none is read: n - p is right.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "problem.hpp"

namespace nist {
namespace {

struct Lines {
  std::size_t first = 0;  // counted from 1
  std::size_t last = 0;
};

class File {
 public:
  explicit File(const std::string& path) : path_(path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error(path + ": cannot be opened");
    for (std::string line; std::getline(in, line);) {
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
      lines_.push_back(line);
    }
  }

  [[noreturn]] void fail(std::size_t line, const std::string& what) const {
    throw std::runtime_error(path_ + (line > 0 ? ", line " + std::to_string(line) : "") + ": " + what);
  }

  // "Data   (lines 61 to 84)", spaces as they come.
  Lines range(const std::string& title) const {
    for (std::size_t i = 0; i < lines_.size() && i < 20; ++i) {
      const std::size_t mark = lines_[i].find("(lines");
      if (mark == std::string::npos || lines_[i].find(title) > mark) continue;
      Lines found;
      if (std::sscanf(lines_[i].c_str() + mark, "(lines %zu to %zu)", &found.first, &found.last) != 2 ||
          found.first == 0 || found.first > found.last || found.last > lines_.size())
        fail(i + 1, "no usable line range in '" + lines_[i] + "'");
      return found;
    }
    fail(0, "the header states no lines for '" + title + "'");
  }

  // The numbers of a line from `position` on; anything else on it is an error.
  std::vector<double> numbers(std::size_t line, std::size_t position, std::size_t least, std::size_t most) const {
    std::istringstream words(lines_[line - 1].substr(position));
    std::vector<double> values;
    for (std::string word; words >> word;) {
      std::size_t used = 0;
      double value = 0;
      try {
        value = std::stod(word, &used);
      } catch (const std::exception&) {
        used = 0;
      }
      if (used != word.size() || !std::isfinite(value)) fail(line, "'" + word + "' is not a finite number");
      values.push_back(value);
    }
    if (values.size() < least || values.size() > most)
      fail(line, std::to_string(values.size()) + " numbers, expected " + std::to_string(least) +
                     (most > least ? " to " + std::to_string(most) : ""));
    return values;
  }

  const std::string& line(std::size_t number) const { return lines_[number - 1]; }
  std::size_t size() const { return lines_.size(); }

 private:
  std::string path_;
  std::vector<std::string> lines_;
};

std::string level_of(const File& file) {
  for (std::size_t i = 1; i <= file.size(); ++i) {
    if (file.line(i).find("Level of Difficulty") == std::string::npos) continue;
    if (file.line(i).find("Lower") != std::string::npos) return "lower";
    if (file.line(i).find("Average") != std::string::npos) return "average";
    if (file.line(i).find("Higher") != std::string::npos) return "higher";
  }
  file.fail(0, "no level of difficulty");
}

// The number before "Observations" in the header, as a check of the line range.
std::size_t stated_observations(const File& file, std::size_t before) {
  for (std::size_t i = 1; i < before; ++i) {
    std::istringstream words(file.line(i));
    std::size_t count = 0;
    std::string word;
    if (words >> count >> word && word == "Observations") return count;
  }
  file.fail(0, "the number of observations is not stated");
}

}  // namespace

Problem read_problem(const std::string& path, const std::string& name) {
  const File file(path);
  Problem problem;
  problem.name = name;
  problem.level = level_of(file);
  problem.start.resize(2);
  const Lines parameters = file.range("Starting Values");
  for (std::size_t i = parameters.first; i <= parameters.last; ++i) {
    const std::string label = "b" + std::to_string(i - parameters.first + 1);
    const std::size_t equals = file.line(i).find('=');
    const std::size_t begins = file.line(i).find_first_not_of(' ');
    if (equals == std::string::npos || file.line(i).compare(begins, label.size(), label) != 0)
      file.fail(i, "expected '" + label + " = ...', found '" + file.line(i) + "'");
    const std::vector<double> row = file.numbers(i, equals + 1, 4, 4);
    problem.start[0].push_back(row[0]);
    problem.start[1].push_back(row[1]);
    problem.certified.push_back(row[2]);
    problem.deviation.push_back(row[3]);
  }
  const Lines data = file.range("Data");
  const std::size_t predictors = file.numbers(data.first, 0, 2, 3).size() - 1;
  problem.x.resize(predictors);
  for (std::size_t i = data.first; i <= data.last; ++i) {
    const std::vector<double> row = file.numbers(i, 0, predictors + 1, predictors + 1);
    problem.y.push_back(row[0]);
    for (std::size_t k = 0; k < predictors; ++k) problem.x[k].push_back(row[k + 1]);
  }
  const std::size_t stated = stated_observations(file, data.first);
  if (stated != problem.y.size())
    file.fail(data.first, std::to_string(problem.y.size()) + " lines of data, but " + std::to_string(stated) +
                              " observations are stated");
  if (problem.y.size() <= problem.certified.size()) file.fail(data.first, "fewer observations than parameters");
  return problem;
}

}  // namespace nist
