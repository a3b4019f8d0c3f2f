// Shape: extents in place, every size checked before anything is allocated.
#include <ostream>
#include <reel/shape.hpp>

#include "core/fail.hpp"
#include "core/limits.hpp"

namespace reel {

void detail::fail_extent_range() {
  fail<ShapeError>("shape", "an extent or axis does not fit a 64-bit signed integer");
}

void detail::fail_rank() { fail<ShapeError>("shape", "a rank above {} is not supported", max_rank); }

void detail::fail_no_axes() { fail<IndexError>("shape", "pop_back of [], which has no axis to take away"); }

void Shape::insert(int axis, std::int64_t extent) {
  if (axis < 0 || axis > rank_)
    fail<IndexError>("shape", "insert at axis {} is out of range for {}, of rank {}", axis, *this, rank_);
  push_back(extent);
  for (int i = rank_ - 1; i > axis; --i) extents_[i] = extents_[i - 1];
  extents_[axis] = extent;
}

void Shape::erase(int axis) {
  if (axis < 0 || axis >= rank_)
    fail<IndexError>("shape", "erase of axis {} is out of range for {}, of rank {}", axis, *this, rank_);
  for (int i = axis; i + 1 < rank_; ++i) extents_[i] = extents_[i + 1];
  --rank_;
}

int Shape::index(std::int64_t axis) const {
  const std::int64_t i = axis < 0 ? axis + rank_ : axis;
  if (i < 0 || i >= rank_) fail<IndexError>("shape", "axis {} is out of range for {}, of rank {}", axis, *this, rank_);
  return static_cast<int>(i);
}

std::int64_t Shape::elements() const {
  std::int64_t n = 1;
  bool overflow = false, none = false;
  for (std::int64_t e : *this) {
    if (e < 0) fail<ShapeError>("shape", "{} has a negative extent", *this);
    if (e == 0)
      none = true;
    else
      overflow |= __builtin_mul_overflow(n, e, &n);
  }
  if (none) return 0;
  if (overflow || n > detail::elements_max) fail<ShapeError>("shape", "{} has more elements than 2^62", *this);
  return n;
}

std::string to_string(const Shape& shape) {
  std::string s = "[";
  for (std::int64_t e : shape) s += (s.size() > 1 ? ", " : "") + std::to_string(e);
  return s + "]";
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << to_string(shape); }

}  // namespace reel
