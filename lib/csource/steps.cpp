// The lines of a text as C.
#include "csource/steps.hpp"

#include <bit>
#include <map>

#include "core/fail.hpp"

namespace reel::csource {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

class Steps {
 public:
  Steps(Writer& w, DType real, std::span<const std::int64_t> numbers)
      : w_(w), real_(real), numbers_(numbers), depth_(w.depth()) {}

  void write(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      write_line(text.substr(0, end));
      text.remove_prefix(std::min(text.size(), end + 1));
    }
    close();
    for (const auto& [from, to] : copied_back_) w_.copy(from, to);
  }

 private:
  static std::string_view take_word(std::string_view& line) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(line.size(), end + 1));
    return word;
  }
  void close() {
    w_.close_to(depth_);
    parts_.clear();
  }
  std::int64_t number(std::string_view word) const {
    const char c = word.back();
    const auto value = static_cast<std::size_t>(is_digit(c) ? c - '0' : c - 'a' + 10);
    return is_digit(word[0]) ? static_cast<std::int64_t>(value) : numbers_[value];
  }

  // The whole array. Its elements are dense in memory, unless it is an input that is read by values.
  const Array& array(std::string_view name, bool by_value = false) {
    const auto at = arrays_.find(name);
    if (at != arrays_.end()) return at->second;
    const auto k = static_cast<std::size_t>(name[1] - '0');
    if (name[0] == 'i') {
      if (by_value) return w_.input(k);
      return arrays_[std::string(name)] = w_.in_memory(w_.input(k));
    }
    const Array& y = w_.output(k);
    Array place = y;
    if (!w_.wanted(k) || y.single) place = w_.temporary(y.dtype, y.shape);
    if (w_.wanted(k) && y.single) copied_back_.emplace_back(place, y);
    return arrays_[std::string(name)] = std::move(place);
  }

  void take(std::string_view line) {
    const std::string name(take_word(line));
    const std::string_view type = take_word(line);
    if (is_digit(type.back()) && type.size() == 2) {
      const Array& like = array(type, true);
      arrays_[name] = w_.temporary(like.dtype, like.shape);
      return;
    }
    Shape shape;
    if (!line.empty() && line[0] != '#' && !is_digit(line[0])) shape = array(take_word(line), true).shape;
    while (!line.empty()) shape.push_back(number(take_word(line)));
    const DType d = type == "real" ? real_ : type == "int32" ? DType::int32 : DType::int64;
    arrays_[name] = w_.temporary(d, shape);
  }

  // Own axes become two: missing ones have extent 1, more than two are merged with the first of them.
  void open(std::string_view line) {
    std::vector<Array> list;
    std::vector<std::string> names;
    while (!line.empty()) {
      const std::string_view word = take_word(line), name = word.substr(0, 2);
      std::int64_t axes = number(word.substr(3));
      Array x = array(name, axes == 0 && name[0] == 'i');
      for (; axes < 2; ++axes) {
        x.shape.push_back(1);
        x.strides.push_back(0);
      }
      for (; axes > 2; --axes) {
        const int d = x.rank() - static_cast<int>(axes);
        x.shape.begin()[d + 1] *= x.shape.begin()[d];
        x.shape.erase(d);
        x.strides.erase(d);
      }
      list.push_back(std::move(x));
      names.emplace_back(name);
    }
    list = w_.parts(list, 2);
    for (std::size_t k = 0; k < list.size(); ++k) parts_[names[k]] = std::move(list[k]);
  }

  std::string expand(std::string_view line) {
    std::string text;
    for (std::size_t i = 0; i < line.size();) {
      const std::size_t begin = i;
      const char c = line[i];
      if (c == '#' || c == '~') {
        const std::int64_t x = number(line.substr(i, 2));
        text += c == '#' ? std::to_string(x) : literal(std::bit_cast<double>(x), real_);
        i += 2;
        continue;
      }
      i += c == '$' || c == '@';
      const std::size_t first = i;
      while (i < line.size() && (is_letter(line[i]) || is_digit(line[i]))) ++i;
      const std::string_view word = line.substr(first, i - first);
      if (c == '$')
        text += w_.helper(std::string(word), real_);
      else if (word == "real")
        text += type_of(real_);
      else if (word.size() == 2 && is_digit(word[1]) && (word[0] == 'i' || word[0] == 'o' || word[0] == 't'))
        text += operand(word, c == '@');
      else
        text += line.substr(begin, i == begin ? (++i, 1) : i - begin);
    }
    return text;
  }
  std::string operand(std::string_view name, bool by_value) {
    const auto part = parts_.find(name);
    const Array& x = part == parts_.end() ? array(name) : part->second;
    count(x.shape);
    return by_value ? x.value() : x.address();
  }

  // Notes an operand of a helper function. It passes over a row a few times; over a matrix of n rows, measured on
  // solve and cholesky beside LAPACK, it takes the time of n^3 / 4 operations.
  void count(const Shape& shape) {
    constexpr std::int64_t passes = 4, share = 4;
    std::int64_t axes = 0, longest = 0;
    for (const std::int64_t extent : shape) {
      axes += extent > 1;
      longest = std::max(longest, extent);
    }
    flops_ = std::max(flops_, axes > 1 ? shape.elements() * longest / share : shape.elements() * passes);
  }
  void write_line(std::string_view line) {
    write_expanded(line);
    if (line.find('$') != line.npos) w_.count_flops(flops_);
    flops_ = 0;
  }
  void write_expanded(std::string_view line) {
    std::string_view rest = line;
    const std::string_view word = take_word(rest);
    if (word == "copy" || word == "temp" || word == "for") close();
    if (word == "copy") {
      const std::string_view from = take_word(rest);
      w_.copy(array(from, true), array(rest));
    } else if (word == "temp") {
      take(rest);
    } else if (word == "for") {
      open(rest);
    } else if (word == "refuse") {
      const std::size_t bar = rest.rfind('|');
      w_.refuse_if(expand(rest.substr(0, bar)), std::string(rest.substr(bar + 1)));
    } else {
      w_.statement(expand(line));
    }
  }

  Writer& w_;
  DType real_;
  std::span<const std::int64_t> numbers_;
  std::size_t depth_;
  std::map<std::string, Array, std::less<>> arrays_, parts_;
  std::vector<std::pair<Array, Array>> copied_back_;
  std::int64_t flops_ = 0;  // of a call with the operands of the line, about
};

}  // namespace

void write_steps(Writer& w, DType real, std::string_view text, std::span<const std::int64_t> numbers) {
  Steps(w, real, numbers).write(text);
}

void fail_without_form(const Writer& w) {
  detail::fail<TraceError>("generate_c",
                           "{} has no form in C for these operands; compute it outside of the function and pass the "
                           "result as an argument",
                           w.instruction().name);
}

}  // namespace reel::csource
