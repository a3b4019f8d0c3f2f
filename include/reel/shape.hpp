// Shape: the extents of a tensor. Axes: which of them an op works on.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <reel/api.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

// Vectors are passed between program and library by value. If the library is built with -D_GLIBCXX_DEBUG, define
// REEL_GLIBCXX_DEBUG for both.
#if defined(_GLIBCXX_DEBUG) && !defined(REEL_GLIBCXX_DEBUG)
#error "reel: -D_GLIBCXX_DEBUG makes std::vector another than the library's; use -D_GLIBCXX_ASSERTIONS instead"
#endif

namespace REEL_API reel {

/// The largest rank of a tensor.
inline constexpr int max_rank = 32;

namespace detail {
template <class T>
concept Integer = std::integral<std::remove_cvref_t<T>> && !std::same_as<std::remove_cvref_t<T>, bool>;
template <class R>
concept IntegerRange = requires(const R& r) {
  r.begin();
  r.end();
  requires Integer<decltype(*r.begin())>;
};
[[noreturn]] void fail_extent_range();
[[noreturn]] void fail_rank();
[[noreturn]] void fail_no_axes();
/// `value` as int64; ValueError when it does not fit.
template <Integer T>
constexpr std::int64_t checked(T value) {
  if (!std::in_range<std::int64_t>(value)) fail_extent_range();
  return static_cast<std::int64_t>(value);
}
/// An index with the line that passes it.
struct Index {
  std::int64_t value;
  const char* file;
  int line;
  template <Integer T>
  constexpr Index(T i, const char* from = __builtin_FILE(), int at = __builtin_LINE())
      : value(checked(i)), file(from), line(at) {}
};
/// An element of a braced list of integers of mixed types.
struct Extent {
  std::int64_t value;
  template <Integer T>
  constexpr Extent(T v) : value(checked(v)) {}
};
}  // namespace detail

/// Up to max_rank extents, stored in place. Each is at least 0 where a tensor is made of it (ShapeError otherwise).
class Shape {
 public:
  Shape() noexcept : rank_(0) {}
  Shape(std::initializer_list<detail::Extent> extents) : rank_(0) {
    for (auto e : extents) push_back(e.value);
  }
  template <detail::IntegerRange R>
  requires(!std::same_as<std::remove_cvref_t<R>, Shape>) Shape(const R& extents) : rank_(0) {
    for (auto e : extents) push_back(detail::checked(e));
  }
  Shape(const std::int64_t* extents, std::size_t rank) : rank_(static_cast<int>(rank)) {
    if (rank > static_cast<std::size_t>(max_rank)) detail::fail_rank();
    copy(extents);
  }
  Shape(const Shape& other) noexcept : rank_(other.rank_) { copy(other.extents_); }
  Shape& operator=(const Shape& other) noexcept {
    rank_ = other.rank_;
    if (this != &other) copy(other.extents_);
    return *this;
  }

  int rank() const noexcept { return rank_; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(rank_); }
  bool empty() const noexcept { return rank_ == 0; }
  const std::int64_t* data() const noexcept { return extents_; }
  const std::int64_t* begin() const noexcept { return extents_; }
  const std::int64_t* end() const noexcept { return extents_ + rank_; }
  std::int64_t* begin() noexcept { return extents_; }
  std::int64_t* end() noexcept { return extents_ + rank_; }
  /// Extent of `axis`; a negative axis counts from the end. Throws IndexError out of range.
  std::int64_t operator[](std::int64_t axis) const {
    return extents_[axis >= 0 && axis < rank_ ? static_cast<int>(axis) : index(axis)];
  }
  std::int64_t& operator[](std::int64_t axis) {
    return extents_[axis >= 0 && axis < rank_ ? static_cast<int>(axis) : index(axis)];
  }
  std::int64_t front() const { return (*this)[0]; }
  std::int64_t back() const { return (*this)[-1]; }
  void push_back(std::int64_t extent) {
    if (rank_ == max_rank) detail::fail_rank();
    extents_[rank_++] = extent;
  }
  /// IndexError when there is no axis.
  void pop_back() {
    if (rank_ == 0) detail::fail_no_axes();
    --rank_;
  }
  /// Puts an extent before `axis`, or at the end for axis == rank(). IndexError unless 0 <= axis <= rank(), ShapeError
  /// when the rank is max_rank already.
  void insert(int axis, std::int64_t extent);
  /// Takes `axis` away. IndexError unless 0 <= axis < rank().
  void erase(int axis);
  /// Number of elements. ShapeError when an extent is negative or the product exceeds 2^62.
  std::int64_t elements() const;
  operator std::span<const std::int64_t>() const noexcept { return {extents_, size()}; }
  friend bool operator==(const Shape& a, const Shape& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a.extents_[i] != b.extents_[i]) return false;
    return true;
  }

 private:
  // Unrolled for the usual ranks: compilers make the loop a call of memcpy.
  void copy(const std::int64_t* from) noexcept {
    if (rank_ > 4) {
      for (int i = 0; i < rank_; ++i) extents_[i] = from[i];
      return;
    }
    if (rank_ > 0) extents_[0] = from[0];
    if (rank_ > 1) extents_[1] = from[1];
    if (rank_ > 2) extents_[2] = from[2];
    if (rank_ > 3) extents_[3] = from[3];
  }
  int index(std::int64_t axis) const;
  int rank_;
  std::int64_t extents_[max_rank];
};

/// "[2, 3]"
std::string to_string(const Shape& shape);
std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// The axes that an op works on: one, a list, or all of them (the default). Negative axes count from the end.
class Axes {
 public:
  /// Every axis.
  Axes() noexcept : all_(true) {}
  template <detail::Integer T>
  Axes(T axis) : all_(false) {
    list_.push_back(detail::checked(axis));
  }
  Axes(std::initializer_list<detail::Extent> axes) : all_(false), list_(axes) {}
  template <detail::IntegerRange R>
  Axes(const R& axes) : all_(false) {
    for (auto a : axes) list_.push_back(detail::checked(a));
  }
  bool all() const noexcept { return all_; }
  const Shape& list() const noexcept { return list_; }

 private:
  bool all_;
  Shape list_;
};

}  // namespace reel
