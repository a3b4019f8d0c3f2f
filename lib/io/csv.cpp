// Numbers as text: the file is read whole and its lines are counted, then each line is parsed into the result.
#include <algorithm>
#include <charconv>
#include <reel/io.hpp>

#include "core/fail.hpp"
#include "io/input_file.hpp"

namespace reel {
namespace {

constexpr std::string_view blank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

// The lines that hold numbers, with their line numbers in the file, which begin at 1.
class Lines {
 public:
  Lines(std::string_view text, std::int64_t skip) : rest_(text) {
    for (std::int64_t i = 0; i < skip && !rest_.empty(); ++i) take();
  }
  /// False at the end.
  bool next(std::string_view& line) {
    while (!rest_.empty()) {
      line = trimmed(take());
      if (!line.empty()) return true;
    }
    return false;
  }
  std::int64_t number() const { return number_; }

 private:
  std::string_view take() {
    const std::string_view line = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(line.size() + 1, rest_.size()));
    ++number_;
    return line;
  }

  std::string_view rest_;
  std::int64_t number_ = 0;
};

// Calls f(field, position) for each field of a trimmed line; returns the number of fields.
template <class F>
std::int64_t for_each_field(std::string_view line, char delimiter, F&& f) {
  std::int64_t count = 0;
  const bool spaces = delimiter == ' ';
  for (;;) {
    const std::size_t end = spaces ? line.find_first_of(blank) : line.find(delimiter);
    f(trimmed(line.substr(0, end)), count++);
    if (end == line.npos) return count;
    line.remove_prefix(end + 1);
    if (spaces) line.remove_prefix(line.find_first_not_of(blank));  // a trimmed line does not end with blanks
  }
}

std::int64_t count_fields(std::string_view line, char delimiter) {
  return for_each_field(line, delimiter, [](std::string_view, std::int64_t) {});
}

class CsvReader {
 public:
  CsvReader(const io::InputFile& file, const CsvOptions& options)
      : file_(file), options_(options), text_(file.text(0, file.size())) {}

  Tensor read() {
    Lines lines(text_, options_.skip);
    std::string_view line;
    std::int64_t rows = 0;
    while (lines.next(line))
      if (rows++ == 0) fields_ = count_fields(line, options_.delimiter);
    choose_columns();
    void* data = nullptr;
    const Tensor x = detail::uninitialized({rows, chosen_}, DType::float64, data);
    out_ = static_cast<double*>(data);
    for (Lines again(text_, options_.skip); again.next(line); out_ += chosen_) read_line(line, again.number());
    return x;
  }

 private:
  // For each field of the file, the columns of the result that it goes to.
  void choose_columns() {
    places_.resize(static_cast<std::size_t>(fields_));
    chosen_ = options_.columns.empty() ? fields_ : static_cast<std::int64_t>(options_.columns.size());
    for (std::int64_t k = 0; k < chosen_ && fields_ > 0; ++k) {
      const std::int64_t wanted = options_.columns.empty() ? k : options_.columns[static_cast<std::size_t>(k)];
      if (wanted < -fields_ || wanted >= fields_)
        fail<IndexError>("load_csv", "{}: column {} of lines with {}", file_.path(), wanted, fields_);
      places_[static_cast<std::size_t>(wanted < 0 ? wanted + fields_ : wanted)].push_back(k);
    }
  }
  void read_line(std::string_view line, std::int64_t number) {
    const std::int64_t count = for_each_field(line, options_.delimiter, [&](std::string_view field, std::int64_t at) {
      if (at >= fields_ || places_[static_cast<std::size_t>(at)].empty()) return;
      const double value = parse(field, number, at);
      for (const std::int64_t k : places_[static_cast<std::size_t>(at)]) out_[k] = value;
    });
    if (count != fields_)
      file_.refuse(fmt::format("line {}", number), "{} columns, the first line has {}", count, fields_);
  }
  double parse(std::string_view field, std::int64_t line, std::int64_t column) const {
    const std::string_view digits = field.starts_with('+') && !field.starts_with("+-") ? field.substr(1) : field;
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size()) return value;
    const std::string place = fmt::format("line {}, column {}", line, column + 1);
    const std::string_view shown = field.substr(0, 40);
    if (error == std::errc::result_out_of_range) file_.refuse(place, "\"{}\" does not fit a float64", shown);
    file_.refuse(place, "\"{}\" is no number", shown);
  }

  const io::InputFile& file_;
  const CsvOptions& options_;
  const std::string text_;
  std::int64_t fields_ = 0, chosen_ = 0;  // per line, in the file and in the result
  std::vector<std::vector<std::int64_t>> places_;
  double* out_ = nullptr;
};

}  // namespace

Tensor load_csv(const std::string& path, const CsvOptions& options) {
  if (options.skip < 0) fail<ValueError>("load_csv", "skip is {}, must not be negative", options.skip);
  if (options.delimiter == '\n') fail<ValueError>("load_csv", "a line's end cannot be the delimiter");
  return CsvReader(io::InputFile("load_csv", path), options).read();
}

}  // namespace reel
