// Tensors as text: NumPy's layout and number formats, then dtype and shape. Numbers are shown with the fewest digits that
// tell them from their neighbours, at most eight of them behind the point; columns are aligned; beyond 1000 elements the
// middle of each long axis is left out.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ostream>

#include "core/block.hpp"

namespace reel {

namespace {

constexpr std::int64_t shown_at_most = 1000, edge = 3;
constexpr std::size_t line_width = 75;
constexpr int precision = 8;

using detail::Block;

template <class T>
T element(const Block& x, std::int64_t offset) {
  T value;
  std::memcpy(&value, x.data + offset * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

std::string digits(double value, std::chars_format format, int places = -1) {
  char text[400];
  const auto end = places < 0 ? std::to_chars(text, text + sizeof text, value, format)
                              : std::to_chars(text, text + sizeof text, value, format, places);
  return {text, end.ptr};
}

// The double with the shortest decimal form that still is `value` in the narrower type: it is printed in its stead.
double shortest(float value, const auto& same) {
  if (!std::isfinite(value)) return value;
  for (int places = 0; places < 9; ++places) {
    const std::string text = digits(value, std::chars_format::scientific, places);
    double decimal = 0;
    std::from_chars(text.data(), text.data() + text.size(), decimal);
    if (same(static_cast<float>(decimal))) return decimal;
  }
  return value;
}
double shortest(float value) {
  return shortest(value, [&](float other) { return other == value; });
}

struct Number {
  double real, imaginary = 0;
};

Number number(const Block& x, std::int64_t at) {
  switch (x.dtype) {
    case DType::float16: {
      const auto v = element<float16>(x, at);
      return {shortest(float(v), [&](float other) { return float16(other) == v; })};
    }
    case DType::bfloat16: {
      const auto v = element<bfloat16>(x, at);
      return {shortest(float(v), [&](float other) { return bfloat16(other) == v; })};
    }
    case DType::float32:
      return {shortest(element<float>(x, at))};
    case DType::complex64: {
      const auto v = element<complex64>(x, at);
      return {shortest(v.re), shortest(v.im)};
    }
    case DType::complex128: {
      const auto v = element<complex128>(x, at);
      return {v.re, v.im};
    }
    default:
      return {element<double>(x, at)};
  }
}

std::string integer(const Block& x, std::int64_t at) {
  switch (x.dtype) {
    case DType::boolean:
      return element<std::uint8_t>(x, at) ? "True" : "False";
    case DType::uint8:
      return std::to_string(element<std::uint8_t>(x, at));
    case DType::int32:
      return std::to_string(element<std::int32_t>(x, at));
    default:
      return std::to_string(element<std::int64_t>(x, at));
  }
}

void pad_left(std::string& text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
}

// One number in parts, so that points and exponents can be aligned.
struct Parts {
  std::string whole, fraction, exponent;  // fraction without the point, exponent with the e; whole alone: inf, nan
  bool finite = true;
};

Parts parts(double value, bool scientific, bool sign) {
  Parts p;
  const char* plus = sign && !std::signbit(value) ? "+" : "";
  if (!std::isfinite(value)) {
    p.whole = std::isnan(value) ? std::string(sign ? "+nan" : "nan") : std::string(plus) + (value < 0 ? "-inf" : "inf");
    p.finite = false;
    return p;
  }
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  std::string text = digits(value, format);
  const auto cut = [&] {
    const std::size_t e = std::min(text.find('e'), text.size()), point = std::min(text.find('.'), e);
    p.whole = text.substr(0, point);
    p.fraction = point < e ? text.substr(point + 1, e - point - 1) : "";
    p.exponent = text.substr(e);
  };
  cut();
  if (p.fraction.size() > precision) {
    text = digits(value, format, precision);
    cut();
    p.fraction.erase(p.fraction.find_last_not_of('0') + 1);
  }
  p.whole.insert(0, plus);
  return p;
}

// All shown numbers in one format.
std::vector<std::string> aligned(const std::vector<double>& values, bool sign, bool alone) {
  double largest = 0, smallest = HUGE_VAL;
  for (double v : values)
    if (std::isfinite(v) && v != 0) {
      largest = std::max(largest, std::fabs(v));
      smallest = std::min(smallest, std::fabs(v));
    }
  const bool scientific = largest != 0 && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000);
  std::vector<Parts> all;
  std::size_t before = 0, behind = 0;
  for (double v : values) {
    all.push_back(parts(v, scientific, sign));
    if (!all.back().finite) continue;
    before = std::max(before, all.back().whole.size());
    behind = std::max(behind, all.back().fraction.size());
  }
  std::vector<std::string> words;
  for (const Parts& p : all) {
    std::string word = p.whole;
    if (p.finite) {
      if (!alone) pad_left(word, before);
      word += '.' + p.fraction;
      if (scientific) word.append(behind - p.fraction.size(), '0');
      else if (!alone) word.append(behind - p.fraction.size(), ' ');
      word += p.exponent;
    }
    words.push_back(word);
  }
  std::size_t width = 0;
  for (const std::string& w : words) width = std::max(width, w.size());
  if (!alone)
    for (std::string& w : words) pad_left(w, width);
  return words;
}

std::vector<std::string> words_of(const Block& x, const std::vector<std::int64_t>& offsets) {
  std::vector<std::string> words;
  if (!is_differentiable(x.dtype)) {
    std::size_t width = 0;
    for (std::int64_t at : offsets) {
      words.push_back(integer(x, at));
      width = std::max(width, words.back().size());
    }
    for (std::string& w : words) pad_left(w, width);
    return words;
  }
  std::vector<double> reals, imaginaries;
  for (std::int64_t at : offsets) {
    const Number n = number(x, at);
    reals.push_back(n.real);
    imaginaries.push_back(n.imaginary);
  }
  words = aligned(reals, false, x.rank == 0);
  if (!is_complex(x.dtype)) return words;
  const std::vector<std::string> second = aligned(imaginaries, true, x.rank == 0);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string imaginary = second[i];
    imaginary.insert(imaginary.find_last_not_of(' ') + 1, "j");
    words[i] += imaginary;
  }
  return words;
}

class Layout {
 public:
  explicit Layout(const Block& x) : x_(x), summary_(x.size > shown_at_most) {
    std::vector<std::int64_t> offsets;
    collect(0, 0, offsets);
    words_ = words_of(x, offsets);
  }

  std::string text() { return level(0, " ", line_width); }

 private:
  bool shortened(int axis) const { return summary_ && x_.extents()[axis] > 2 * edge; }

  // f(index, whether it is the last), and gap() where indices are left out.
  template <class F, class G>
  void shown(int axis, const F& f, const G& gap) const {
    const std::int64_t n = x_.extents()[axis];
    for (std::int64_t i = 0; i < n; ++i) {
      if (shortened(axis) && i == edge) {
        gap();
        i = n - edge;
      }
      f(i, i == n - 1);
    }
  }

  void collect(int axis, std::int64_t offset, std::vector<std::int64_t>& offsets) const {
    if (axis == x_.rank) return offsets.push_back(offset);
    shown(axis, [&](std::int64_t i, bool) { collect(axis + 1, offset + i * x_.strides()[axis], offsets); }, [] {});
  }

  std::string level(int axis, const std::string& indent, std::size_t width) {
    if (axis == x_.rank) return words_[next_++];
    std::string all;
    if (axis == x_.rank - 1) {
      std::string line = indent;
      const auto extend = [&](const std::string& word, bool last) {
        if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
          line.erase(line.find_last_not_of(' ') + 1);
          all += line + '\n';
          line = indent;
        }
        line += word;
        if (!last) line += ", ";
      };
      shown(axis, [&](std::int64_t, bool last) { extend(words_[next_++], last); }, [&] { extend("...", false); });
      all += line;
    } else {
      const std::string separator = ',' + std::string(static_cast<std::size_t>(x_.rank - 1 - axis), '\n');
      shown(
          axis,
          [&](std::int64_t, bool last) { all += indent + level(axis + 1, indent + ' ', width - 1) + (last ? "" : separator); },
          [&] { all += indent + "..." + separator; });
    }
    return '[' + all.substr(indent.size()) + ']';
  }

  const Block& x_;
  bool summary_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

}  // namespace

std::string to_string(const Tensor& x) {
  if (!x.defined()) return "an empty handle";
  const Block& b = *detail::block(x);
  return (b.size == 0 ? "[]" : Layout(b).text()) + ' ' + name(b.dtype) + ' ' + to_string(b.shape());
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }

}  // namespace reel
