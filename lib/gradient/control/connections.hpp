// Which inputs of a function derivatives lead to, from each of its outputs.
#pragma once
#include <cstdint>
#include <vector>

namespace reel::autodiff {

/// A matrix of bits: a row for each output, a column for each input.
class Connections {
 public:
  Connections() = default;
  Connections(std::size_t rows, std::size_t columns, bool all = false)
      : words_((columns + 63) / 64), bits_(rows * words_, all ? ~std::uint64_t{0} : 0) {}
  bool operator()(std::size_t row, std::size_t column) const {
    return bits_[row * words_ + column / 64] >> column % 64 & 1;
  }
  void set(std::size_t row, std::size_t column) {
    bits_[row * words_ + column / 64] |= std::uint64_t{1} << column % 64;
  }
  /// Adds to a row what a row of `other`, which has as many columns, has. Returns whether any is new.
  bool add(std::size_t row, const Connections& other, std::size_t from) {
    bool grows = false;
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t& to = bits_[row * words_ + w];
      const std::uint64_t more = other.bits_[from * words_ + w] & ~to;
      to |= more;
      grows |= more != 0;
    }
    return grows;
  }

 private:
  std::size_t words_ = 0;  // of a row
  std::vector<std::uint64_t> bits_;
};

}  // namespace reel::autodiff
