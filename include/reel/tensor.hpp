// Tensor: an immutable dense array behind a cheap handle. Variable: trainable state. Operand: an argument of an op.
#pragma once
#include <reel/api.hpp>
#include <reel/dtype.hpp>
#include <reel/error.hpp>
#include <reel/shape.hpp>
#include <span>
#include <vector>

namespace REEL_API reel {

class Gradient;
class Tensor;
class Variable;
class WeakScalar;
struct SliceItem;

namespace detail {

struct FirstItem;

/// The head of the memory block behind a handle. The low half of `references` counts every owner, the high half those
/// owners that are tapes, so that a tape can tell whether anyone else holds a value.
struct BlockHead {
  std::uint64_t references;
};
void destroy(BlockHead* block) noexcept;
inline void retain(BlockHead* block) noexcept {
  if (block) __atomic_fetch_add(&block->references, std::uint64_t{1}, __ATOMIC_RELAXED);
}
inline void release(BlockHead* block) noexcept {
  if (!block) return;
  // A sole owner needs no atomic instruction: nobody else can add a reference.
  if (__atomic_load_n(&block->references, __ATOMIC_ACQUIRE) == 1 ||
      __atomic_fetch_sub(&block->references, std::uint64_t{1}, __ATOMIC_ACQ_REL) == 1)
    destroy(block);
}

/// Memory of the pool for the library's own lists, aligned to 64 bytes; not counted as a tensor's. std::bad_alloc.
void* allocate(std::size_t bytes);
void deallocate(void* memory, std::size_t bytes) noexcept;
template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() noexcept = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) noexcept {}
  T* allocate(std::size_t n) { return static_cast<T*>(detail::allocate(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) noexcept { detail::deallocate(p, n * sizeof(T)); }
  friend bool operator==(PoolAllocator, PoolAllocator) noexcept { return true; }
};
/// A list without system allocations in the steady state.
template <class T>
using List = std::vector<T, PoolAllocator<T>>;

const void* contiguous_data(const Tensor& x, DType wanted);
/// The same; errors name the line. Of copy_out too.
const void* contiguous_data(const Tensor& x, DType wanted, CallLine at);
/// The first element, whatever the strides. TypeError unless the dtype is `wanted`.
const void* strided_data(const Tensor& x, DType wanted);
void copy_out(const Tensor& x, DType wanted, void* out, bool single);
void copy_out(const Tensor& x, DType wanted, void* out, bool single, CallLine at);

}  // namespace detail

/// A dense array: a handle to an immutable value, as cheap to copy as a pointer. A default-constructed or moved-from
/// handle is empty; every op on it throws ValueError. Handles may be read from any thread.
class Tensor {
 public:
  Tensor() noexcept = default;
  Tensor(const Tensor& other) noexcept : block_(other.block_) { detail::retain(block_); }
  Tensor(Tensor&& other) noexcept : block_(other.block_) { other.block_ = nullptr; }
  // clang-format off
  template <class T> void operator=(const T&) const&& = delete;  // tensors are immutable: write x = slice_update(x, {0}, y), of <reel/ops/indexing.hpp>
  // clang-format on
  Tensor& operator=(const Tensor& other) & noexcept {
    detail::retain(other.block_);
    detail::BlockHead* old = block_;
    block_ = other.block_;
    detail::release(old);
    return *this;
  }
  Tensor& operator=(Tensor&& other) & noexcept {
    if (this != &other) {
      detail::BlockHead* old = block_;
      block_ = other.block_;
      other.block_ = nullptr;
      detail::release(old);
    }
    return *this;
  }
  ~Tensor() { detail::release(block_); }

  /// False for an empty handle.
  bool defined() const noexcept { return block_ != nullptr; }
  // Each of the following throws ValueError on an empty handle.
  Shape shape() const;
  /// Elements between neighbours along each axis; 0 where broadcast, negative where flipped.
  Shape strides() const;
  DType dtype() const;
  int rank() const;
  std::int64_t size() const;
  /// Identity on a tape: unique in the process, shared by copies of a handle, new for every op's result.
  std::uint64_t id() const;
  /// Whether the elements lie row-major without gaps.
  bool is_contiguous() const;

  /// The elements in row-major order, without a copy. TypeError unless T is the dtype's type; ValueError unless
  /// contiguous ("call contiguous(x)"). Valid while a handle to this tensor lives.
  template <Element T>
  std::span<const T> data(detail::CallLine at = {}) const& {
    return {static_cast<const T*>(detail::contiguous_data(*this, dtype_of<T>, at)), static_cast<std::size_t>(size())};
  }
  template <Element T>
  std::span<const T> data(detail::CallLine at = {}) const&& = delete;
  /// The only element of a tensor of size 1 (ShapeError otherwise). T is the dtype's type or one that the dtype
  /// promotes to (TypeError otherwise).
  template <Element T = double>
  T item(detail::CallLine at = {}) const {
    T value;
    detail::copy_out(*this, dtype_of<T>, &value, true, at);
    return value;
  }
  /// Every element, row-major, whatever the layout. T as for item().
  template <Element T = double>
  std::vector<T> to_vector(detail::CallLine at = {}) const {
    std::vector<T> values(static_cast<std::size_t>(size()));
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<unsigned char> bytes(values.size());
      detail::copy_out(*this, DType::boolean, bytes.data(), false, at);
      for (std::size_t i = 0; i < bytes.size(); ++i) values[i] = bytes[i] != 0;
    } else {
      detail::copy_out(*this, dtype_of<T>, values.data(), false, at);
    }
    return values;
  }
  /// Whether the only element is nonzero. ShapeError unless the size is 1.
  explicit operator bool() const;
  void begin() const = delete;  // a loop over the first axis: for (const Tensor& row : unstack(x))
  void end() const = delete;

  /// The part at index i of axis 0, with one axis less; negative i counts from the end. IndexError out of range.
  /// Gradient: the cotangent, placed into zeros at i. In C++20 `x[0, 1]` is the comma operator's x[1], of which
  /// compilers warn (-Wcomma-subscript): write x(0, 1).
  Tensor operator[](detail::Index i) const;
  /// The part of axis 0 that a SliceItem chooses: x[range(0, 3)], as x(range(0, 3)).
  template <class I>
  requires std::is_same_v<I, SliceItem> Tensor operator[](const I& item) const { return (*this)(item); }
  /// The part that the items choose, one per axis, as slice(x, {items...}): x(0, 1), x(all, range(0, 2)), x(ellipsis,
  /// -1). Errors and gradient as slice. Defined in <reel/ops/index.hpp>.
  template <class... I>
  Tensor operator()(const detail::FirstItem& first, const I&... rest) const;
#ifdef __cpp_multidimensional_subscript
  /// The same, of two items and more.
  template <class... I>
  requires(sizeof...(I) > 0) Tensor operator[](const detail::FirstItem& first, const I&... rest) const {
    return (*this)(first, rest...);
  }
#endif

 private:
  friend struct TensorAccess;
  detail::BlockHead* block_ = nullptr;
};

/// Trainable state: a named tensor that can be assigned. Copies of the handle are the same variable. A recording tape
/// watches a trainable variable when it is read. Reads and assigns are atomic per variable.
class Variable {
 public:
  /// A variable with the value, shape and dtype of `initial`. The first read under a tape watches it if `trainable`.
  explicit Variable(const Tensor& initial, std::string name = {}, bool trainable = true);
  explicit Variable(double, std::string = {}) = delete;  // a variable with one number: Variable v(scalar(3.0), "v")
  Variable(const Variable& other) noexcept;
  Variable(Variable&& other) noexcept;
  // Ambiguous between handle and value. Write v.assign(x). In a map, emplace variables.
  Variable& operator=(const Tensor&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable();

  /// The current value: a tensor that later assigns do not change.
  operator Tensor() const { return read(); }
  Tensor read() const;
  /// A part of the current value: read()(items...).
  template <class... I>
  Tensor operator()(const detail::FirstItem& first, const I&... rest) const {
    return read()(first, rest...);
  }
  /// Sets, adds to or subtracts from the value. ShapeError or TypeError unless shape and dtype are the variable's.
  /// Not recorded; values read or recorded before keep what they were. Errors name the caller's line.
  void assign(const Tensor& value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const;
  void assign_add(const Tensor& delta, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const;
  void assign_sub(const Tensor& delta, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const;
  /// The same with a gradient; ValueError with its reason when none. IndexedSlices change only the rows that they name,
  /// with duplicates summed first: in place, unless a value that was read or recorded before is still alive (then the
  /// whole value is copied once). IndexError for a row out of range.
  void assign_add(const Gradient& delta, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const;
  void assign_sub(const Gradient& delta, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const;

  Shape shape() const;
  DType dtype() const;
  int rank() const;
  std::int64_t size() const;
  const std::string& name() const noexcept;
  bool trainable() const noexcept;
  /// Identity: the same for copies; variables are ordered by construction.
  std::uint64_t id() const noexcept;
  friend bool operator==(const Variable& a, const Variable& b) noexcept { return a.state_ == b.state_; }

 private:
  friend struct VariableAccess;
  friend class Source;
  struct State;
  Variable() noexcept : state_(nullptr) {}
  explicit Variable(State* state) noexcept : state_(state) {}
  State* state_;
};

namespace detail {
template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;
/// std::complex or reel::complex of float or double.
template <class T>
concept ComplexNumber = Element<T> && is_complex(dtype_of<T>);
template <class T>
concept TensorOrVariable = std::is_same_v<T, Tensor> || std::is_same_v<T, Variable>;
/// A tensor that is no variable of the program, such as x[0].
template <class X>
concept Temporary = std::is_same_v<std::remove_const_t<X>, Tensor>;
/// False, where only an instantiation shall fail.
template <class...>
inline constexpr bool never = false;

enum class OperandKind : std::uint8_t { lvalue, rvalue, weak_boolean, weak_integer, weak_floating, weak_complex };
}  // namespace detail

// Elementwise, or one bool? The built-in operators on bools would throw unless the size is 1.
// clang-format off
template <detail::TensorOrVariable X, detail::TensorOrVariable Y> void operator&&(const X&, const Y&) = delete;  // write logical_and(x, y), or bool(x) && bool(y) for single elements
template <detail::TensorOrVariable X, detail::TensorOrVariable Y> void operator||(const X&, const Y&) = delete;  // write logical_or(x, y), or bool(x) || bool(y) for single elements
template <detail::TensorOrVariable X> void operator!(const X&) = delete;  // write logical_not(x), or !bool(x) for a single element
// clang-format on

/// An argument of an op: a Tensor, a Variable (which it reads), a Gradient (dense; ValueError with its reason when
/// none), or a number. A number is a weak scalar: it takes the dtype of the other operand within its category, so that
/// `x * 2.0` on float32 stays float32; a complex number makes float64 and integers complex128, other floating dtypes
/// complex64. Operands are never stored.
class Operand {
 public:
  Operand(const Tensor& x, const char* file = __builtin_FILE(), int line = __builtin_LINE()) noexcept
      : tensor_(&x), kind_(detail::OperandKind::lvalue), line_(line), file_(file) {}
  Operand(Tensor&& x, const char* file = __builtin_FILE(), int line = __builtin_LINE()) noexcept
      : tensor_(&x), kind_(detail::OperandKind::rvalue), line_(line), file_(file) {}
  Operand(const Variable& x, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : tensor_(&held_), kind_(detail::OperandKind::lvalue), line_(line), file_(file), held_(x.read()) {}
  Operand(const Gradient& x, const char* file = __builtin_FILE(), int line = __builtin_LINE());
  template <detail::Arithmetic T>
  Operand(T x, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : tensor_(nullptr), kind_(kind_of<T>()), line_(line), file_(file) {
    if constexpr (std::is_floating_point_v<T>)
      floating_ = static_cast<double>(x);
    else if constexpr (std::is_same_v<T, bool>)
      integer_ = x;
    else
      integer_ = detail::checked(x);
  }
  template <detail::ComplexNumber T>
  Operand(const T& x, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : tensor_(nullptr),
        kind_(detail::OperandKind::weak_complex),
        line_(line),
        file_(file),
        floating_(x.real()),
        imaginary_(x.imag()) {}
  /// A number in a function that is being traced. Defined in <reel/compile.hpp>.
  Operand(const WeakScalar& x, const char* file = __builtin_FILE(), int line = __builtin_LINE()) noexcept;
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  bool is_tensor() const noexcept { return tensor_ != nullptr; }
  /// Whether it gives way to tensors of its category: a number, or a WeakScalar, although that is a tensor.
  bool is_weak() const noexcept { return kind_ >= detail::OperandKind::weak_boolean; }
  /// The tensor; a number becomes a rank-0 tensor of `weak` (or of its own category's default dtype).
  const Tensor& tensor() const noexcept { return *tensor_; }
  detail::OperandKind kind() const noexcept { return kind_; }
  /// The number; of a complex one the real part.
  double floating() const noexcept {
    return kind_ >= detail::OperandKind::weak_floating ? floating_ : static_cast<double>(integer_);
  }
  double imaginary() const noexcept { return kind_ == detail::OperandKind::weak_complex ? imaginary_ : 0; }
  std::int64_t integer() const noexcept { return integer_; }
  const char* file() const noexcept { return file_; }
  int line() const noexcept { return line_; }

 private:
  template <class T>
  static constexpr detail::OperandKind kind_of() noexcept {
    if constexpr (std::is_same_v<T, bool>)
      return detail::OperandKind::weak_boolean;
    else if constexpr (std::is_integral_v<T>)
      return detail::OperandKind::weak_integer;
    else
      return detail::OperandKind::weak_floating;
  }
  const Tensor* tensor_;
  detail::OperandKind kind_;
  int line_;
  const char* file_;
  union {
    double floating_;
    std::int64_t integer_ = 0;
  };
  double imaginary_;  // of a complex number only
  Tensor held_;
};

/// The text that NumPy's repr has between its parentheses, then dtype and shape: "[1. , 2.5] float64 [2]". A row of a
/// matrix is a line; more than 1000 elements are shortened to three at either end of each long axis.
std::ostream& operator<<(std::ostream& out, const Tensor& x);
std::string to_string(const Tensor& x);
std::ostream& operator<<(std::ostream& out, const Variable& x);
std::string to_string(const Variable& x);

}  // namespace reel
