// Fuzzing of parsed arguments: einsum's subscripts and slice lists. A byte string becomes a call. An accepted call must
// give the result of the definition, computed here element by element, and a gradient of x's shape. A refused call must
// throw a reel::Error. Built with libFuzzer this is `test/long fuzz`.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <reel/reel.hpp>
#include <string>
#include <vector>

#include "corpus.hpp"

using namespace reel;

namespace {

[[noreturn]] void wrong(const std::string& what) {
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
  std::abort();
}

// Reads bytes in order; zeros after the end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  std::uint8_t next() { return at_ < size_ ? data_[at_++] : std::uint8_t{0}; }
  std::string rest() {
    std::string text(reinterpret_cast<const char*>(data_) + std::min(at_, size_), size_ - std::min(at_, size_));
    at_ = size_;
    return text;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

Tensor numbered(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return reshape(mod(arange(static_cast<double>(n)) * 7, 11) - 3, shape);
}

double element(const Tensor& x, const std::vector<std::int64_t>& index) {
  Tensor part = x;
  for (const std::int64_t i : index) part = part[i];
  return part.item();
}

// Whether the text consists of letters, commas and one arrow, with as many letters per operand as it has axes.
bool plain(const std::string& text, const std::vector<Tensor>& x, std::vector<std::string>& inputs,
           std::string& output) {
  const std::size_t arrow = text.find("->");
  if (arrow == std::string::npos) return false;
  inputs.assign(1, {});
  for (const char c : text.substr(0, arrow)) {
    if (c == ',')
      inputs.emplace_back();
    else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
      inputs.back() += c;
    else
      return false;
  }
  output = text.substr(arrow + 2);
  if (inputs.size() != x.size()) return false;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (inputs[k].size() != static_cast<std::size_t>(x[k].rank())) return false;
  return std::all_of(output.begin(), output.end(), [](char c) { return std::isalpha(static_cast<unsigned char>(c)); });
}

// einsum by its definition: the sum over all indices of the products.
void check_einsum(const std::string& text, const std::vector<Tensor>& x, const Tensor& y) {
  std::vector<std::string> inputs;
  std::string output;
  if (!plain(text, x, inputs, output)) return;
  std::map<char, std::int64_t> extents;
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t d = 0; d < inputs[k].size(); ++d) {
      std::int64_t& extent = extents.emplace(inputs[k][d], 1).first->second;
      extent = extent == 1 ? x[k].shape()[static_cast<std::int64_t>(d)] : extent;
    }
  std::int64_t combinations = 1;
  for (const auto& [letter, extent] : extents) combinations *= extent;
  if (combinations > 20000) return;
  Shape shape;
  for (const char c : output) shape.push_back(extents[c]);
  if (y.shape() != shape) wrong("einsum " + text + ": shape " + to_string(y.shape()) + ", not " + to_string(shape));
  std::map<std::vector<std::int64_t>, double> sums;
  for (std::int64_t n = 0; n < combinations; ++n) {
    std::map<char, std::int64_t> at;
    std::int64_t rest = n;
    for (const auto& [letter, extent] : extents) at[letter] = rest % extent, rest /= extent;
    double product = 1;
    for (std::size_t k = 0; k < x.size(); ++k) {
      std::vector<std::int64_t> index;
      for (std::size_t d = 0; d < inputs[k].size(); ++d)
        index.push_back(x[k].shape()[static_cast<std::int64_t>(d)] == 1 ? 0 : at[inputs[k][d]]);
      product *= element(x[k], index);
    }
    std::vector<std::int64_t> index;
    for (const char c : output) index.push_back(at[c]);
    sums[index] += product;
  }
  for (const auto& [index, sum] : sums)
    if (element(y, index) != sum) wrong("einsum " + text);  // small whole numbers: exact
}

void einsum_of(Bytes& bytes) {
  std::vector<Tensor> x;
  const int count = bytes.next() % 4;
  for (int k = 0; k < count; ++k) {
    Shape shape;
    const int rank = bytes.next() % 4;
    for (int d = 0; d < rank; ++d) shape.push_back(bytes.next() % 4);
    x.push_back(numbered(shape));
  }
  const std::string text = bytes.rest();
  GradientTape tape;
  tape.watch(x);
  const Tensor y = einsum(text, x);
  check_einsum(text, x, y);
  const std::vector<Gradient> g = tape.gradient(std::vector{y}, x);
  for (std::size_t k = 0; k < x.size(); ++k)
    if (g[k] && g[k].dense().shape() != x[k].shape()) wrong("einsum " + text + ": shape of a gradient");
}

constexpr std::array<std::int64_t, 16> numbers{0,  1,  2,  3,    5,         7,         100,           -1,
                                               -2, -3, -5, -100, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1};

// One axis by Python's rules: the indices that a range chooses.
std::vector<std::int64_t> chosen(const SliceItem& item, std::int64_t n) {
  std::vector<std::int64_t> all;
  const bool up = item.step > 0;
  const auto bound = [&](std::int64_t v) {
    if (v < 0) v = v < -n ? (up ? 0 : -1) : v + n;
    return std::min(v, up ? n : n - 1);
  };
  const std::int64_t first = item.has_start ? bound(item.start) : up ? 0 : n - 1;
  const std::int64_t last = item.has_stop ? bound(item.stop) : up ? n : -1;
  for (std::int64_t i = first; up ? i < last : i > last;) {
    all.push_back(i);
    if (up ? item.step >= n : item.step <= -n) break;
    i += item.step;
  }
  return all;
}

void slice_of(Bytes& bytes) {
  Shape shape;
  const int rank = bytes.next() % 4;
  for (int d = 0; d < rank; ++d) shape.push_back(bytes.next() % 6);
  const Tensor x = numbered(shape);
  std::vector<SliceItem> items;
  const int count = bytes.next() % 6;
  bool simple = true;  // ranges and whole axes alone, one for each axis at most
  for (int i = 0; i < count; ++i) {
    const std::uint8_t kind = bytes.next() % 8;
    const auto number = [&] { return numbers[bytes.next() % numbers.size()]; };
    simple = simple && kind >= 3;
    if (kind == 0) items.push_back(newaxis);
    if (kind == 1) items.push_back(ellipsis);
    if (kind == 2) items.push_back(number());
    if (kind == 3) items.emplace_back();
    if (kind == 4) items.push_back(range_from(number(), number()));
    if (kind == 5) items.push_back(range_to(number(), number()));
    if (kind >= 6) items.push_back(range(number(), number(), number()));
  }
  GradientTape tape;
  tape.watch(x);
  const Tensor y = slice(x, items);
  std::vector<double> expected;
  if (simple) {
    std::vector<std::vector<std::int64_t>> axes;
    for (int d = 0; d < rank; ++d)
      axes.push_back(chosen(
          static_cast<std::size_t>(d) < items.size() ? items[static_cast<std::size_t>(d)] : SliceItem(), shape[d]));
    std::vector<std::int64_t> index;
    const auto walk = [&](const auto& self, std::size_t d) -> void {
      if (d == axes.size()) return expected.push_back(element(x, index));
      for (const std::int64_t i : axes[d]) {
        index.push_back(i);
        self(self, d + 1);
        index.pop_back();
      }
    };
    walk(walk, 0);
    if (y.to_vector() != expected) wrong("slice of " + to_string(shape));
  }
  const Gradient g = tape.gradient(y, x);
  if (!g || g.dense().shape() != x.shape() || sum(*g).item() != static_cast<double>(y.size()))
    wrong("gradient of a slice of " + to_string(shape));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 200) return 0;
  Bytes bytes(data, size);
  try {
    if (bytes.next() % 2 == 0)
      einsum_of(bytes);
    else
      slice_of(bytes);
  } catch (const Error&) {
  }
  return 0;
}

#ifndef REEL_LIBFUZZER
int main(int count, char** arguments) {
  using namespace std::string_literals;
  const std::vector<std::string> seeds{"\0\2\2\2\3\2\3\2ij,jk->ik"s,
                                       "\0\1\2\3\3ii->i"s,
                                       "\0\1\2\3\3ii"s,
                                       "\0\2\3\2\3\2\3\2\3\2...ij,...jk->...ik"s,
                                       "\0\3\1\2\1\3\1\2a,b,c->abc"s,
                                       "\0\2\1\3\1\3i,i->"s,
                                       "\0\1\3\1\2\3abc->cba"s,
                                       "\0\2\2\1\3\2\2\3ij,ij->j"s,
                                       "\1\2\5\4\2\6\0\3\1\6\5\1\7"s,
                                       "\1\3\2\3\4\3\0\2\1\1\4\7\7"s,
                                       "\1\1\5\1\6\14\15\7"s,
                                       "\1\2\3\0\2\5\1\10\3"s,
                                       "\1\1\5\1\6\6\13\11"s,
                                       "\1\1\5\1\4\6\7"s,
                                       "\1\1\4\1\5\10\7"s,
                                       "\1\0\2\0\1"s,
                                       "\1\3\5\5\5\3\6\0\6\2\6\11\13\7\3"s};
  return run_corpus(count, arguments, seeds, 1000);
}
#endif
