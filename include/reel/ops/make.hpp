// Creation of tensors: from values, by rule, from random numbers. No tape records these functions.
#pragma once
#include <initializer_list>
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

namespace detail {
[[noreturn]] void fail_literal(const char* op, double value, DType dtype);
[[noreturn]] void fail_literal(const char* op, std::int64_t value, DType dtype);
[[noreturn]] void fail_literal(const char* op, std::uint64_t value, DType dtype);

/// `value` as T. ValueError if T is an integer type that does not hold exactly this value.
template <class T, class N>
constexpr T literal(N value, const char* op = "tensor") {
  if constexpr (!Integer<T> || std::is_same_v<N, bool> || std::is_same_v<N, T>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_integral_v<N>) {
    if (!std::in_range<T>(+value))
      fail_literal(op, std::conditional_t<(N(-1) < N(0)), std::int64_t, std::uint64_t>(value), dtype_of<T>);
    return static_cast<T>(value);
  } else {
    // Powers of two, exact in every floating type. NaN fails the comparisons.
    constexpr N high = N(std::uint64_t{1} << (8 * sizeof(T) - (T(-1) < T(0) ? 2 : 1))) * 2;
    constexpr N low = T(-1) < T(0) ? -high : N(0);
    if (!(value >= low && value < high) || static_cast<N>(static_cast<T>(value)) != value)
      fail_literal(op, static_cast<double>(value), dtype_of<T>);
    return static_cast<T>(value);
  }
}
}  // namespace detail

/// A nested braced list of numbers, such as {{1, 2}, {3, 4}}. It lives as long as the full expression that contains it.
/// ValueError for a number that an integer T cannot hold: NaN, infinite, out of range, or with a fraction.
template <class T>
class NestedList {
 public:
  template <class N>
  requires std::is_arithmetic_v<N> || std::is_same_v<N, T> NestedList(N value) : value_(detail::literal<T>(value)) {}
  NestedList(std::initializer_list<NestedList> list) : size_(list.size()), leaf_(false) {
    list_ = list.begin();  // lives as long as this object: both end with the full expression
  }
  NestedList(const NestedList&) = delete;
  NestedList& operator=(const NestedList&) = delete;

  bool leaf() const noexcept { return leaf_; }
  const T& value() const noexcept { return value_; }
  const NestedList* begin() const noexcept { return list_; }
  const NestedList* end() const noexcept { return list_ + size_; }
  std::size_t size() const noexcept { return size_; }

 private:
  T value_{};
  const NestedList* list_ = nullptr;
  std::size_t size_ = 0;
  bool leaf_ = true;
};

namespace detail {
/// The object that borrow keeps alive, of any type, behind a virtual destructor.
struct Owner {
  virtual ~Owner();
};
template <class T>
struct OwnerOf final : Owner {
  explicit OwnerOf(const T& o) : object(o) {}
  T object;
};
Tensor copy_in(const void* values, std::size_t count, const Shape& shape, DType dtype);
Tensor borrow(const void* data, const Shape& shape, DType dtype, Owner* owner);
/// Row-major if `strides` is null. Destroys the owner if it throws. Errors begin with `op`.
Tensor borrow_strided(const char* op, const void* data, const Shape& shape, const Shape* strides, DType dtype,
                      Owner* owner);
/// A tensor whose elements the caller writes to `data`, row-major, before anyone else sees it.
Tensor uninitialized(const Shape& shape, DType dtype, void*& data);
[[noreturn]] void fail_ragged();
template <class T>
void flatten(const NestedList<T>& list, const Shape& shape, int depth, std::vector<T>& out) {
  if (list.leaf() != (depth == shape.rank())) fail_ragged();
  if (list.leaf()) return out.push_back(list.value());
  if (static_cast<std::int64_t>(list.size()) != shape[depth]) fail_ragged();
  for (const auto& part : list) flatten(part, shape, depth + 1, out);
}
template <class T>
concept ContiguousRange = requires(const T& r) {
  { *r.data() } -> std::convertible_to<const std::remove_cvref_t<decltype(*r.data())>&>;
  r.size();
  requires Element<std::remove_cvref_t<decltype(*r.data())>>;
};
}  // namespace detail

/// A tensor with the values of a nested list: tensor({{1, 2}, {3, 4}}) is float64 [2, 2]; tensor<float>(...) float32.
/// T is never deduced. ShapeError when the list is ragged, ValueError when an integer T cannot hold a number of it.
template <class T = double>
requires Element<T> Tensor tensor(const NestedList<std::type_identity_t<T>>& list) {
  Shape shape;
  for (const auto* part = &list; !part->leaf(); part = part->begin()) {
    shape.push_back(static_cast<std::int64_t>(part->size()));
    if (part->size() == 0) break;
  }
  using Stored = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;
  std::vector<Stored> values;
  if constexpr (std::is_same_v<T, bool>) {
    struct Walk {
      static void into(const NestedList<bool>& l, const Shape& s, int depth, std::vector<Stored>& out) {
        if (l.leaf() != (depth == s.rank())) detail::fail_ragged();
        if (l.leaf()) return out.push_back(l.value() ? 1 : 0);
        if (static_cast<std::int64_t>(l.size()) != s[depth]) detail::fail_ragged();
        for (const auto& part : l) into(part, s, depth + 1, out);
      }
    };
    Walk::into(list, shape, 0, values);
  } else {
    detail::flatten(list, shape, 0, values);
  }
  return detail::copy_in(values.data(), values.size(), shape, dtype_of<T>);
}

/// A rank-0 tensor. The dtype is that of T: scalar(3.0) is float64, scalar(3) int32.
template <Element T>
Tensor scalar(T value) {
  return detail::copy_in(&value, 1, {}, dtype_of<T>);
}

/// A copy of a contiguous range (vector, array, span) in the given shape. ShapeError unless the sizes agree.
template <detail::ContiguousRange R>
Tensor from_data(const R& values, const Shape& shape) {
  return detail::copy_in(values.data(), values.size(), shape, dtype_of<std::remove_cvref_t<decltype(*values.data())>>);
}
/// The same, of rank 1.
template <detail::ContiguousRange R>
Tensor from_data(const R& values) {
  return from_data(values, {values.size()});
}
/// The same by the name for lists: tensor(std::vector{1., 2.}).
template <detail::ContiguousRange R>
Tensor tensor(const R& values) {
  return from_data(values);
}
/// The same for a range of the named type; for another, cast(from_data(values), dtype).
template <class T, detail::ContiguousRange R>
requires Element<T> Tensor tensor(const R& values) {
  static_assert(std::is_same_v<T, std::remove_cvref_t<decltype(*values.data())>>,
                "tensor<T>(range) copies a range of T: write cast(from_data(range), dtype) for another dtype");
  return from_data(values);
}

/// A tensor whose elements fill(std::span<T>) writes into its memory, in row-major order: no copy, unlike from_data.
/// Elements that fill does not write are 0. Exceptions of fill propagate.
template <Element T, class F>
Tensor make_tensor(const Shape& shape, F&& fill) {
  void* data = nullptr;
  Tensor x = detail::uninitialized(shape, dtype_of<T>, data);
  T* const first = static_cast<T*>(data);
  const std::size_t count = static_cast<std::size_t>(x.size());
  for (std::size_t i = 0; i < count; ++i) first[i] = T();
  fill(std::span<T>(first, count));
  return x;
}

/// A tensor over memory of the caller, row-major, without a copy. `owner`, any copyable object, is kept until the last
/// handle is gone. The memory must not change while a tensor or tape refers to it. ValueError if it is not aligned for
/// T, or for a bool whose byte is neither 0 nor 1.
template <Element T, class O>
Tensor borrow(const T* data, const Shape& shape, const O& owner) {
  return detail::borrow(data, shape, dtype_of<T>, new detail::OwnerOf<O>(owner));
}
/// The same for memory of any layout: `data` is the first element, and `strides` are the elements between neighbours
/// along each axis; negative where the axis runs backwards, 0 where it repeats. Those of axes of extent 1 are ignored.
/// ShapeError unless there is one stride per axis, or if the elements would lie further apart than memory is large.
template <Element T, class O>
Tensor borrow(const T* data, const Shape& shape, const Shape& strides, const O& owner) {
  return detail::borrow_strided("borrow", data, shape, &strides, dtype_of<T>, new detail::OwnerOf<O>(owner));
}

/// Every element is 0, or 1.
Tensor zeros(const Shape& shape, DType dtype = DType::float64);
Tensor ones(const Shape& shape, DType dtype = DType::float64);
/// Every element is `value`. The default dtype is that of the value: float64 for a floating number, int64 for an
/// integer, boolean for a bool. Gradient, if the value is a tensor: the sum of g.
Tensor full(const Shape& shape, const Operand& value);
Tensor full(const Shape& shape, const Operand& value, DType dtype);
/// The identity matrix [n, n], or ones on the main diagonal of [n, m].
Tensor eye(std::int64_t n, DType dtype = DType::float64);
Tensor eye(std::int64_t n, std::int64_t m, DType dtype = DType::float64);
/// Zeros, ones or copies of a number, of the shape and dtype of x. No gradient to x.
Tensor zeros_like(const Operand& x);
Tensor ones_like(const Operand& x);
Tensor full_like(const Operand& x, const Operand& value);

namespace detail {
Tensor arange(double start, double stop, double step, DType dtype);
Tensor arange_integer(std::int64_t start, std::int64_t stop, std::int64_t step, DType dtype);
}  // namespace detail
/// start, start + step, ... up to but without stop, rank 1. int64 for integers, float64 otherwise (NumPy's arange).
/// ValueError for step 0, and for unsigned integers beyond int64.
template <class T>
requires std::is_arithmetic_v<T> Tensor arange(T start, std::type_identity_t<T> stop,
                                               std::type_identity_t<T> step = 1) {
  if constexpr (std::is_integral_v<T>)
    return detail::arange_integer(detail::literal<std::int64_t>(start, "arange"),
                                  detail::literal<std::int64_t>(stop, "arange"),
                                  detail::literal<std::int64_t>(step, "arange"), DType::int64);
  else
    return detail::arange(start, stop, step, DType::float64);
}
template <class T>
requires std::is_arithmetic_v<T> Tensor arange(T stop) { return arange(T{0}, stop); }
/// `count` evenly spaced values from start to stop, both included. ValueError for a negative count.
Tensor linspace(double start, double stop, std::int64_t count, DType dtype = DType::float64);

/// A counter-based random number generator (Philox 4x32-10, Salmon et al. 2011). Numbers depend on seed and position
/// only, not on thread count or instruction set. They have the same bits on every machine that rounds to nearest. Later
/// versions keep them, unless the README's list of changes says otherwise, so a program may store seeds. Each draw
/// advances the position. Do not share one between threads.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) noexcept : seed_(seed) {}
  std::uint64_t seed() const noexcept { return seed_; }
  /// Counter blocks (128 bits each) handed out so far.
  std::uint64_t position() const noexcept { return position_; }
  /// Reserves `blocks` blocks and returns the first one's number.
  std::uint64_t take(std::uint64_t blocks) noexcept { return (position_ += blocks) - blocks; }

 private:
  std::uint64_t seed_, position_ = 0;
};

/// Uniform in [low, high). float64 has 53 random bits and float32 has 32; float16 and bfloat16 are rounded from
/// float32. TypeError unless the dtype is floating.
Tensor random_uniform(Generator& generator, const Shape& shape, double low = 0, double high = 1,
                      DType dtype = DType::float64);
/// Normal with the given mean and standard deviation (Box-Muller transform).
Tensor random_normal(Generator& generator, const Shape& shape, double mean = 0, double stddev = 1,
                     DType dtype = DType::float64);
/// Normal, truncated to two standard deviations around the mean (by inversion of the distribution function).
Tensor random_truncated_normal(Generator& generator, const Shape& shape, double mean = 0, double stddev = 1,
                               DType dtype = DType::float64);
/// Boolean, true with the given probability. ValueError unless 0 <= probability <= 1.
Tensor random_bernoulli(Generator& generator, const Shape& shape, double probability = 0.5);
/// int64 [..., count] drawn from logits [..., classes] (unnormalised log-probabilities).
Tensor random_categorical(Generator& generator, const Tensor& logits, std::int64_t count);
/// Integers from low to high - 1, each with the same probability, int64. ValueError unless low < high.
Tensor random_integers(Generator& generator, const Shape& shape, std::int64_t low, std::int64_t high);
/// A permutation of 0 .. n-1, int64 [n].
Tensor random_permutation(Generator& generator, std::int64_t n);

}  // namespace reel
