// Tensors as text: NumPy's layout and number formats, then dtype and shape. Numbers have the fewest digits that
// distinguish them from their neighbours, at most eight of them behind the point. Columns are aligned. Beyond 1000
// elements the middle of each long axis is left out.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ostream>

#include "core/block.hpp"
#include "core/fail.hpp"
#include "core/visit.hpp"

namespace reel {

namespace {

constexpr std::int64_t shown_at_most = 1000, edge = 3;  // elements; NumPy's defaults, as below
constexpr std::size_t line_width = 75;                  // characters
constexpr int precision = 8;                            // digits after the point

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

// A number, and the double whose shortest decimal form equals that of the number in its own, narrower type.
struct Real {
  double exact = 0, shortest = 0;
};

Real real(float value, const auto& same) {
  if (std::isfinite(value))
    for (int places = 0; places < 9; ++places) {
      const std::string text = digits(value, std::chars_format::scientific, places);
      double decimal = 0;
      std::from_chars(text.data(), text.data() + text.size(), decimal);
      if (same(static_cast<float>(decimal))) return {value, decimal};
    }
  return {value, value};
}
Real real(float value) {
  return real(value, [&](float other) { return other == value; });
}
Real real(double value) { return {value, value}; }

struct Number {
  Real real, imaginary;
};

// A floating or complex element.
Number number(const Block& x, std::int64_t at) {
  return visit_among<float16, bfloat16, float, double, complex64, complex128>(x.dtype, [&]<class T>() -> Number {
    const T v = element<T>(x, at);
    if constexpr (is_complex(dtype_of<T>))
      return {real(v.re), real(v.im)};
    else if constexpr (std::is_floating_point_v<T>)
      return {real(v), {}};
    else
      return {real(static_cast<float>(v), [&](float other) { return T(other) == v; }), {}};
  });
}

// Any other element.
std::string integer(const Block& x, std::int64_t at) {
  if (x.dtype == DType::boolean) return element<std::uint8_t>(x, at) ? "True" : "False";
  return visit_among<std::uint8_t, std::int32_t, std::int64_t>(
      x.dtype, [&]<class T>() { return std::to_string(element<T>(x, at)); });
}

void pad_left(std::string& text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
}

// A formatted number in parts, so that points and exponents can be aligned.
struct Parts {
  std::string whole, fraction, exponent;  // fraction without the point, exponent with the e; inf and nan are in `whole`
};

Parts split(const std::string& text) {
  const std::size_t e = std::min(text.find('e'), text.size()), point = std::min(text.find('.'), e);
  return {text.substr(0, point), point < e ? text.substr(point + 1, e - point - 1) : "", text.substr(e)};
}

// The shortest form with at most `precision` digits behind the point.
Parts parts(const Real& x, std::chars_format format) {
  if (std::isnan(x.exact)) return {"nan", "", ""};
  if (std::isinf(x.exact)) return {x.exact < 0 ? "-inf" : "inf", "", ""};
  Parts p = split(digits(x.shortest, format));
  if (p.fraction.size() > precision) {
    p = split(digits(x.exact, format, precision));
    p.fraction.erase(p.fraction.find_last_not_of('0') + 1);
  }
  return p;
}

// All shown numbers in one format, in columns of one width unless `alone`.
std::vector<std::string> align(const std::vector<Real>& values, bool sign, bool alone) {
  double largest = 0, smallest = HUGE_VAL;
  for (const Real& x : values)
    if (const double v = std::fabs(x.exact); std::isfinite(v) && v != 0) {
      largest = std::max(largest, v);
      smallest = std::min(smallest, v);
    }
  constexpr double fixed_below = 1e8, fixed_from = 1e-4, ratio_max = 1000;  // NumPy's choice
  const bool scientific =
      largest != 0 && (largest >= fixed_below || smallest < fixed_from || largest / smallest > ratio_max);
  const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  std::vector<Parts> all;
  std::size_t behind = 0, exponent = 0;
  for (const Real& x : values) {
    all.push_back(parts(x, format));
    behind = std::max(behind, all.back().fraction.size());
    exponent = std::max(exponent, all.back().exponent.size());
  }
  std::vector<std::string> words;
  std::size_t width = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = values[i].exact;
    Parts& p = all[i];
    if (scientific && std::isfinite(v)) {
      // The same number of digits for each, of the number in its own type.
      p = split(digits(v, format, static_cast<int>(behind)));
      p.exponent.insert(2, exponent - p.exponent.size(), '0');
    }
    std::string word = p.whole;
    if (sign && !std::signbit(v)) word.insert(0, "+");
    if (std::isfinite(v)) {
      word += '.' + p.fraction + p.exponent;
      if (!scientific && !alone) word.append(behind - p.fraction.size(), ' ');
    }
    words.push_back(word);
    width = std::max(width, word.size());
  }
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
  std::vector<Real> reals, imaginaries;
  for (std::int64_t at : offsets) {
    const Number n = number(x, at);
    reals.push_back(n.real);
    imaginaries.push_back(n.imaginary);
  }
  words = align(reals, false, x.rank == 0);
  if (!is_complex(x.dtype)) return words;
  const std::vector<std::string> second = align(imaginaries, true, x.rank == 0);
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

  // Calls f(index, whether it is the last), and gap() where indices are left out.
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
    shown(
        axis, [&](std::int64_t i, bool) { collect(axis + 1, offset + i * x_.strides()[axis], offsets); }, [] {});
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
      shown(
          axis, [&](std::int64_t, bool last) { extend(words_[next_++], last); }, [&] { extend("...", false); });
      all += line;
    } else {
      const std::string separator = ',' + std::string(static_cast<std::size_t>(x_.rank - 1 - axis), '\n');
      shown(
          axis,
          [&](std::int64_t, bool last) {
            all += indent + level(axis + 1, indent + ' ', width - 1) + (last ? "" : separator);
          },
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
  if (x.defined() && detail::block(x)->abstract()) {
    detail::fail_unless_traced("to_string", detail::block(x));
    fail<TraceError>("to_string",
                     "the tensor, {} {}, has no value while the function that computes it is traced; return it, and "
                     "print the result",
                     x.dtype(), x.shape());
  }
  if (!x.defined()) return "an empty handle";
  const Block& b = *detail::block(x);
  return (b.size == 0 ? "[]" : Layout(b).text()) + ' ' + name(b.dtype) + ' ' + to_string(b.shape());
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << to_string(x); }

}  // namespace reel
