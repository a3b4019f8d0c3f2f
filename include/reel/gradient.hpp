// Gradient: what a tape returns for one source: nothing (with the reason), a tensor, or IndexedSlices.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// Rows of a tensor that is zero elsewhere: row i of dense_shape is the sum of the values[j] with indices[j] == i.
/// values [n, ...], indices int64 or int32 [n]. The gradient of gather(x, indices) along axis 0. It stays sparse
/// through identity, cast, contiguous, further gathers along axis 0 and sums with other slices. Other ops densify it.
struct IndexedSlices {
  Tensor values, indices;
  Shape dense_shape;
  /// The tensor itself; duplicates add in order. A warning before it allocates 100 000 000 elements or more. ValueError
  /// without dense_shape, ShapeError when values, indices and dense_shape do not fit, IndexError when an index is out
  /// of range. Gradient: the rows gathered.
  Tensor dense() const;
  /// The same; ValueError unless the dtype is the values'.
  Tensor dense(DType dtype) const;
  DType dtype() const { return values.dtype(); }
};

/// Why a gradient is none.
enum class WhyNone : std::uint8_t {
  unknown,            ///< a rule returned none
  never_watched,      ///< the tape does not follow the source
  not_connected,      ///< followed, but the target does not depend on it
  target_unwatched,   ///< nothing that the tape follows leads to the target
  integer_dtype,      ///< integers and booleans are constants
  stop_gradient,      ///< an op on the way cut the path on purpose
  paused,             ///< computed while the tape was paused
  other_thread,       ///< made on another thread than the tape
  used_tape,          ///< the tape was used already
  read_before_tape,   ///< the variable was read before the tape began
  not_differentiable  ///< an op on the way is registered as not differentiable
};

/// The type of `none` (custom.hpp).
struct None {};

/// The gradient with respect to one source: none, a Tensor, or IndexedSlices. It is accepted wherever a tensor is: `x -
/// 0.1 * g`, `Tensor t = g`, f(g) with f(const Tensor&). Slices are summed into a tensor there, and none is a
/// ValueError with its reason. Optimisers and assign_sub take it as it is. Since either converts into the other, `c ? g
/// : t` is ambiguous: write `c ? *g : t`, or `c ? g : Gradient(t)`.
class Gradient {
 public:
  /// None, for no particular reason.
  Gradient() noexcept = default;
  Gradient(None) noexcept {}
  Gradient(Tensor value) noexcept : value_(static_cast<Tensor&&>(value)) {}
  Gradient(IndexedSlices slices);
  Gradient(const Gradient& other);
  Gradient(Gradient&& other) noexcept : value_(static_cast<Tensor&&>(other.value_)), extra_(other.extra_) {
    other.extra_ = nullptr;
  }
  Gradient& operator=(const Gradient& other) { return *this = Gradient(other); }
  Gradient& operator=(Gradient&& other) noexcept {
    value_ = static_cast<Tensor&&>(other.value_);
    Extra* extra = other.extra_;
    other.extra_ = nullptr;
    if (extra_) drop();
    extra_ = extra;
    return *this;
  }
  ~Gradient() {
    if (extra_) drop();
  }

  /// Whether there is a gradient.
  explicit operator bool() const noexcept { return value_.defined(); }
  bool is_slices() const noexcept { return value_.defined() && extra_; }
  /// The gradient as a tensor of the source's shape and dtype; slices are summed into it. ValueError with the reason
  /// when none.
  Tensor dense() const;
  Tensor operator*() const { return dense(); }
  operator Tensor() const { return dense(); }
  /// The slices. TypeError when it is a tensor, ValueError when none.
  IndexedSlices slices() const;
  /// In words, why there is no gradient; empty when there is one.
  std::string why_none() const;
  /// The same as a code.
  WhyNone reason() const noexcept;

 private:
  friend struct GradientAccess;
  struct Extra;
  void drop() noexcept;
  Tensor value_;
  Extra* extra_ = nullptr;  // slices: indices and shape; none: the reason
};

/// "none (...)", or the tensor.
std::ostream& operator<<(std::ostream& out, const Gradient& g);
std::string to_string(const Gradient& g);

}  // namespace reel
