// Numbers as text: the file is read whole, its lines and their fields are counted, then each line is parsed into the
// result.
#include <algorithm>
#include <charconv>
#include <reel/io.hpp>

#include "core/fail.hpp"
#include "io/input_file.hpp"

namespace reel {
namespace {

constexpr std::string_view blank = " \t\r";
constexpr const char* first_line_remedy =
    "; CsvOptions::skip passes over lines of names, CsvOptions::delimiter is the separator";

std::string_view trim(std::string_view text) {
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
      line = trim(take());
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
    f(trim(line.substr(0, end)), count++);
    if (end == line.npos) return count;
    line.remove_prefix(end + 1);
    if (spaces) line.remove_prefix(line.find_first_not_of(blank));  // a trimmed line does not end with blanks
  }
}

std::int64_t count_fields(std::string_view line, char delimiter) {
  if (delimiter == ' ') return for_each_field(line, delimiter, [](std::string_view, std::int64_t) {});
  return 1 + std::count(line.begin(), line.end(), delimiter);
}

class CsvReader {
 public:
  CsvReader(const io::InputFile& file, const CsvOptions& options)
      : file_(file), options_(options), text_(file.text(0, file.size())) {}

  Tensor read() {
    const std::int64_t rows = count();
    choose_columns();
    void* data = nullptr;
    const Tensor x = detail::uninitialized({rows, chosen_}, DType::float64, data);
    out_ = static_cast<double*>(data);
    std::string_view line;
    for (Lines lines(text_, options_.skip); lines.next(line); out_ += chosen_) read_line(line, lines.number());
    return x;
  }

 private:
  // The lines, which must have as many fields each: only then is the result no longer than the text.
  std::int64_t count() {
    Lines lines(text_, options_.skip);
    std::string_view line;
    std::int64_t rows = 0;
    for (; lines.next(line); ++rows) {
      const std::int64_t fields = count_fields(line, options_.delimiter);
      if (rows == 0) fields_ = fields;
      if (fields != fields_)
        file_.refuse(fmt::format("line {}", lines.number()), "{} columns, the first line has {}", fields, fields_);
    }
    return rows;
  }
  void choose_columns() {
    chosen_ = options_.columns.empty() ? fields_ : static_cast<std::int64_t>(options_.columns.size());
    if (options_.columns.empty() || fields_ == 0) return;
    for (const std::int64_t wanted : options_.columns) {
      if (wanted < -fields_ || wanted >= fields_)
        fail<IndexError>("load_csv", "{}: column {} of lines with {}", file_.path(), wanted, fields_);
      places_.emplace_back(wanted < 0 ? wanted + fields_ : wanted, static_cast<std::int64_t>(places_.size()));
    }
    std::sort(places_.begin(), places_.end());
  }
  void read_line(std::string_view line, std::int64_t number) {
    auto place = places_.begin();
    for_each_field(line, options_.delimiter, [&](std::string_view field, std::int64_t at) {
      if (places_.empty()) {
        out_[at] = parse(field, number, at);
      } else if (place != places_.end() && place->first == at) {
        const double value = parse(field, number, at);
        for (; place != places_.end() && place->first == at; ++place) out_[place->second] = value;
      }
    });
  }
  double parse(std::string_view field, std::int64_t line, std::int64_t column) const {
    const std::string_view digits = field.starts_with('+') && !field.starts_with("+-") ? field.substr(1) : field;
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size()) return value;
    const std::string place = fmt::format("line {}, column {}", line, column + 1);
    const std::string_view shown = field.substr(0, 40);
    if (error == std::errc::result_out_of_range) file_.refuse(place, "\"{}\" does not fit a float64", shown);
    const bool first = line == options_.skip + 1;
    file_.refuse(place, "\"{}\" is no number{}", shown, first ? first_line_remedy : "");
  }

  const io::InputFile& file_;
  const CsvOptions& options_;
  const std::string text_;
  std::int64_t fields_ = 0, chosen_ = 0;  // per line, in the file and in the result
  // Of chosen columns: the field of the file and the column of the result, in the order of the fields.
  std::vector<std::pair<std::int64_t, std::int64_t>> places_;
  double* out_ = nullptr;
};

}  // namespace

Tensor load_csv(const std::string& path, const CsvOptions& options) {
  if (options.skip < 0) fail<ValueError>("load_csv", "skip is {}, must not be negative", options.skip);
  if (options.delimiter == '\n') fail<ValueError>("load_csv", "a line's end cannot be the delimiter");
  return CsvReader(io::InputFile("load_csv", path), options).read();
}

}  // namespace reel
