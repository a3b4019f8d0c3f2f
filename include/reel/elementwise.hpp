// elementwise(f, args...): a function of your own, element by element, in one pass over memory. f is called once, with
// Lanes that stand for the elements. What it computes with them becomes a short program, which the library runs block
// by block with its own kernels. elementwise(f): the same as a function object that does not call f again. Optional:
// <reel/reel.hpp> does not include it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <reel/api.hpp>
#include <reel/ops/normal.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/tensor.hpp>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace REEL_API reel {

struct LaneAccess;
namespace ops {
struct Primitive;
}

// Lanes and their functions are in a namespace of their own, where argument-dependent lookup finds them. So reel::sin
// remains a single function, which can be passed on: grad(reel::sin).
namespace detail::lanes {

/// The elements of an argument, or a value computed from them, inside the function given to elementwise. It supports
/// the operators and functions of tensors below, called without a namespace, also with numbers. A Lane is valid only
/// inside the call that made it: elsewhere using it throws ValueError.
class Lane {
 public:
  Lane() noexcept = default;
  explicit operator bool() const = delete;  // a branch on a lane: use where(condition, a, b)
  operator double() const = delete;         // a function of numbers: write exp(x), not std::exp(x)

 private:
  friend struct reel::LaneAccess;
  std::uint32_t trace_ = 0;
  std::int32_t node_ = 0;
};

/// The truth of a comparison of lanes, for where() and the logical operators.
class LaneMask {
 public:
  LaneMask() noexcept = default;
  explicit operator bool() const = delete;  // a branch on a lane: use where(condition, a, b)

 private:
  friend struct reel::LaneAccess;
  std::uint32_t trace_ = 0;
  std::int32_t node_ = 0;
};

}  // namespace detail::lanes
using detail::lanes::Lane, detail::lanes::LaneMask;

namespace detail {

/// A lane or a number that is the same for every element.
class LaneOperand {
 public:
  LaneOperand(const Lane& x) noexcept : lane_(x), is_lane_(true) {}
  template <Arithmetic T>
  LaneOperand(T x) noexcept : number_(static_cast<double>(x)) {}
  bool is_lane() const noexcept { return is_lane_; }
  const Lane& lane() const noexcept { return lane_; }
  double number() const noexcept { return number_; }

 private:
  Lane lane_;
  double number_ = 0;
  bool is_lane_ = false;
};

// clang-format off
#define REEL_ENUMERATOR(name, arity) name,
enum class LaneFunction : std::uint8_t { REEL_POINTWISE_FUNCTIONS(REEL_ENUMERATOR) REEL_NORMAL_FUNCTIONS(REEL_ENUMERATOR) };
#undef REEL_ENUMERATOR
#define REEL_ENUMERATOR(name, arity) name,
enum class ComposedFunction : std::uint8_t { REEL_COMPOSED_FUNCTIONS(REEL_ENUMERATOR) };
#undef REEL_ENUMERATOR
enum class LaneTest : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal, isnan, isinf, isfinite };
// clang-format on
enum class LaneLogic : std::uint8_t { conjunction, disjunction, exclusive, negation };

// Each adds an instruction to the program being traced.
Lane call(LaneFunction function, std::initializer_list<LaneOperand> operands);
Lane call(ComposedFunction function, std::initializer_list<LaneOperand> operands);
LaneMask test(LaneTest condition, std::initializer_list<LaneOperand> operands);
LaneMask combine(LaneLogic logic, std::initializer_list<LaneMask> operands);
Lane choose(const LaneMask& condition, const LaneOperand& x, const LaneOperand& y);

/// An argument of elementwise: an operand, or a row of tensors.
class LaneArgument {
 public:
  LaneArgument(const Operand& x) noexcept : operand_(&x) {}
  LaneArgument(std::span<const Tensor> row) noexcept : row_(row) {}
  /// Null for a row.
  const Operand* operand() const noexcept { return operand_; }
  std::span<const Tensor> row() const noexcept { return row_; }

 private:
  const Operand* operand_ = nullptr;
  std::span<const Tensor> row_;
};

/// The traces of a function object. Copies share them; thread-safe.
class LaneTraces {
 public:
  LaneTraces();
  explicit LaneTraces(const ops::Primitive& op);
  LaneTraces(const LaneTraces& other) noexcept;
  LaneTraces& operator=(const LaneTraces& other) noexcept;
  ~LaneTraces();

 private:
  friend class LaneProgram;
  struct State;
  State* state_;
};

/// The program of one call of elementwise: traced by this call or an earlier one.
class LaneProgram {
 public:
  /// `site` identifies the function: its latest program is looked up first.
  LaneProgram(const void* site, std::span<const LaneArgument> arguments);
  LaneProgram(const LaneTraces& traces, std::span<const LaneArgument> arguments);
  LaneProgram(const LaneProgram&) = delete;
  LaneProgram& operator=(const LaneProgram&) = delete;
  ~LaneProgram();
  /// Whether the program is known: then the function is not called.
  bool traced() const noexcept;
  /// The lanes that stand for the arguments; for a row one per tensor.
  std::span<const Lane> lanes() const noexcept;
  /// Passes on what the function returned.
  void set_outputs(std::span<const Lane> outputs);
  std::size_t outputs() const noexcept;
  /// Computes the outputs, one tensor each.
  void run(Tensor* results);

 private:
  struct State;
  State* state_;
};

template <class T>
concept LaneOrNumber = std::is_same_v<T, Lane> || Arithmetic<T>;
/// Lanes and numbers, at least one of them a lane.
template <class T, class... Others>
concept LaneWith = LaneOrNumber<T> &&(LaneOrNumber<Others>&&...) &&
                   (std::is_same_v<T, Lane> || (std::is_same_v<Others, Lane> || ...));
template <class T>
concept LaneOrMask = std::is_same_v<T, Lane> || std::is_same_v<T, LaneMask>;
/// A lane combined with a tensor that its function captured.
template <class T, class... Others>
concept CapturedWith = (LaneOrMask<T> || (LaneOrMask<Others> || ...)) &&
                       (TensorOrVariable<T> || (TensorOrVariable<Others> || ...));

template <class T>
concept TensorRow = std::is_convertible_v<const T&, std::span<const Tensor>>;
/// How an argument is passed to the function.
template <class T>
using LaneOf = std::conditional_t<TensorRow<T>, std::span<const Lane>, Lane>;

/// An argument, referenced for the duration of the call.
template <class T>
struct HeldArgument {
  HeldArgument(const T& x) : operand(x) {}
  Operand operand;
  LaneArgument argument() const noexcept { return operand; }
  Lane take(std::span<const Lane>& rest) const noexcept {
    const Lane lane = rest.front();
    rest = rest.subspan(1);
    return lane;
  }
};
template <TensorRow T>
struct HeldArgument<T> {
  HeldArgument(const T& x) noexcept : row(x) {}
  std::span<const Tensor> row;
  LaneArgument argument() const noexcept { return row; }
  std::span<const Lane> take(std::span<const Lane>& rest) const noexcept {
    const std::span<const Lane> lanes = rest.first(row.size());
    rest = rest.subspan(row.size());
    return lanes;
  }
};

// The permitted results of the function, and the corresponding results of the call.
template <class T>
struct LaneResults {
  static constexpr bool valid = false;
};
template <>
struct LaneResults<Lane> {
  static constexpr bool valid = true;
  static void set(LaneProgram& program, const Lane& made) { program.set_outputs({&made, 1}); }
  static Tensor run(LaneProgram& program) {
    Tensor result;
    program.run(&result);
    return result;
  }
};
template <class... T>
requires(sizeof...(T) > 0 && (std::is_same_v<T, Lane> && ...)) struct LaneResults<std::tuple<T...>> {
  static constexpr bool valid = true;
  template <class>
  using Result = Tensor;
  static void set(LaneProgram& program, const std::tuple<T...>& made) {
    std::apply(
        [&](const auto&... lane) {
          const Lane lanes[] = {lane...};
          program.set_outputs(lanes);
        },
        made);
  }
  static std::tuple<Result<T>...> run(LaneProgram& program) {
    Tensor results[sizeof...(T)];
    program.run(results);
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return std::tuple<Result<T>...>{static_cast<Tensor&&>(results[K])...};
    }
    (std::index_sequence_for<T...>());
  }
};
template <std::size_t N>
requires(N > 0) struct LaneResults<std::array<Lane, N>> {
  static constexpr bool valid = true;
  static void set(LaneProgram& program, const std::array<Lane, N>& made) { program.set_outputs(made); }
  static std::array<Tensor, N> run(LaneProgram& program) {
    std::array<Tensor, N> results;
    program.run(results.data());
    return results;
  }
};
template <>
struct LaneResults<std::vector<Lane>> {
  static constexpr bool valid = true;
  static void set(LaneProgram& program, const std::vector<Lane>& made) { program.set_outputs(made); }
  static std::vector<Tensor> run(LaneProgram& program) {
    std::vector<Tensor> results(program.outputs());
    program.run(results.data());
    return results;
  }
};

template <class Site, class F, class... A>
auto run_lanes(const Site& site, F& f, const A&... arguments) {
  using Made = std::remove_cvref_t<decltype(f(std::declval<LaneOf<A>>()...))>;
  using Results = LaneResults<Made>;
  static_assert(
      Results::valid,
      "the function given to elementwise returns a Lane, or a std::tuple, std::array or std::vector of Lanes");
  const std::tuple<HeldArgument<A>...> held(arguments...);
  return std::apply(
      [&](const auto&... one) {
        const LaneArgument list[] = {one.argument()...};
        LaneProgram program(site, list);
        if (!program.traced()) {
          std::span<const Lane> rest = program.lanes();
          Results::set(program, std::apply(f, std::tuple<LaneOf<A>...>{one.take(rest)...}));
        }
        return Results::run(program);
      },
      held);
}

/// A call of f: `site` is the address that identifies f, or the traces of its function object.
template <class Site, class F, class... A>
auto run_elementwise(const Site& site, F& f, const A&... arguments) {
  constexpr bool takes_lanes = requires { f(std::declval<LaneOf<A>>()...); };
  static_assert(takes_lanes,
                "the function given to elementwise takes a Lane, or auto, for each argument: as many as there are, and "
                "no double");
  if constexpr (takes_lanes) return run_lanes(site, f, arguments...);
}

}  // namespace detail

/// Applies f to each element of the arguments: tensors, variables and numbers, at least one. f takes as many lanes as
/// there are arguments and returns a Lane, for which the call returns a Tensor, or a std::tuple, std::array or
/// std::vector of Lanes, for which it returns one of Tensors. Arguments broadcast as in NumPy (ShapeError) to the shape
/// of every result. They are promoted to one dtype, integers and booleans to float64, and computed in float32 or
/// float64 (TypeError for other dtypes: cast first). An argument may also be a row of tensors, a std::vector,
/// std::array or std::span<const Tensor>: f receives it as std::span<const Lane>.
///
/// f runs at each call, so that captured numbers are read anew; compiling and differentiating a program is done once
/// for all calls that make the same program. A branch on a lane does not compile: use where. Nor does a captured
/// tensor: pass it as an argument. Views are read in place: shifted slices of one tensor make a stencil.
///
/// Gradient: of any order and in both modes, from the derivatives of the functions that f calls. The backward pass is
/// one pass over memory too. A tape keeps only the arguments that the gradient reads.
template <class F, class... A>
requires(sizeof...(A) > 0) auto elementwise(F&& f, const A&... arguments) {
  static constexpr char site = 0;  // its address
  return detail::run_elementwise(static_cast<const void*>(&site), f, arguments...);
}

/// The function object of elementwise(f): call it with the arguments of elementwise, or with lanes inside another
/// function.
template <class F>
class Elementwise {
 public:
  explicit Elementwise(F f) : f_(static_cast<F&&>(f)) {}
  template <class... A>
  requires(sizeof...(A) > 0) auto operator()(const A&... arguments) const {
    if constexpr ((std::is_same_v<A, Lane> || ...))
      return f_(arguments...);
    else
      return detail::run_elementwise(traces_, f_, arguments...);
  }

 private:
  F f_;
  detail::LaneTraces traces_;
};

/// f as a function object, which does what elementwise(f, arguments...) does, with less work per call. f is traced
/// once, at the first call, for all dtypes and shapes; and once more for each other combination of numbers, tensors and
/// rows of a given length as arguments. Captured values are fixed then: pass what changes as an argument, which may be
/// a number. Copies share the traces. Any number of threads may call one object; f, which is const, may be traced by
/// several of them at once.
template <class F>
Elementwise<std::decay_t<F>> elementwise(F&& f) {
  return Elementwise<std::decay_t<F>>(static_cast<F&&>(f));
}

// ---- Functions of lanes: the pointwise ops of tensors, with the same values, derivatives and kinks.
namespace detail::lanes {
// clang-format off
#define REEL_LANES_1(kind, name) inline Lane name(const Lane& x) { return detail::call(detail::kind::name, {x}); }
#define REEL_LANES_2(kind, name) \
  template <class X, detail::LaneWith<X> Y> Lane name(const X& x, const Y& y) { return detail::call(detail::kind::name, {x, y}); }
#define REEL_LANES_3(kind, name) \
  template <class X, class Y, detail::LaneWith<X, Y> Z> Lane name(const X& x, const Y& y, const Z& z) { return detail::call(detail::kind::name, {x, y, z}); }
#define REEL_LANES(name, arity) REEL_LANES_##arity(LaneFunction, name)
REEL_POINTWISE_FUNCTIONS(REEL_LANES)
REEL_NORMAL_FUNCTIONS(REEL_LANES)
#undef REEL_LANES
#define REEL_LANES(name, arity) REEL_LANES_##arity(ComposedFunction, name)
REEL_COMPOSED_FUNCTIONS(REEL_LANES)
#undef REEL_LANES
#undef REEL_LANES_1
#undef REEL_LANES_2
#undef REEL_LANES_3
template <class X, detail::LaneWith<X> Y> Lane pow(const X& x, const Y& y) { return power(x, y); }
inline Lane leaky_relu(const Lane& x) { return leaky_relu(x, 0.01); }
/// An alpha must not be negative: ValueError if it is a negative number.
inline Lane elu(const Lane& x) { return elu(x, 1.0); }
inline Lane celu(const Lane& x) { return celu(x, 1.0); }
inline Lane hard_tanh(const Lane& x) { return hard_tanh(x, -1.0, 1.0); }
inline Lane softshrink(const Lane& x) { return softshrink(x, 0.5); }
inline Lane hardshrink(const Lane& x) { return hardshrink(x, 0.5); }

template <class X, detail::LaneWith<X> Y> LaneMask equal(const X& x, const Y& y) { return detail::test(detail::LaneTest::equal, {x, y}); }
template <class X, detail::LaneWith<X> Y> LaneMask not_equal(const X& x, const Y& y) { return detail::test(detail::LaneTest::not_equal, {x, y}); }
template <class X, detail::LaneWith<X> Y> LaneMask less(const X& x, const Y& y) { return detail::test(detail::LaneTest::less, {x, y}); }
template <class X, detail::LaneWith<X> Y> LaneMask less_equal(const X& x, const Y& y) { return detail::test(detail::LaneTest::less_equal, {x, y}); }
template <class X, detail::LaneWith<X> Y> LaneMask greater(const X& x, const Y& y) { return detail::test(detail::LaneTest::greater, {x, y}); }
template <class X, detail::LaneWith<X> Y> LaneMask greater_equal(const X& x, const Y& y) { return detail::test(detail::LaneTest::greater_equal, {x, y}); }
inline LaneMask isnan(const Lane& x) { return detail::test(detail::LaneTest::isnan, {x}); }
inline LaneMask isinf(const Lane& x) { return detail::test(detail::LaneTest::isinf, {x}); }
inline LaneMask isfinite(const Lane& x) { return detail::test(detail::LaneTest::isfinite, {x}); }
inline LaneMask logical_and(const LaneMask& x, const LaneMask& y) { return detail::combine(detail::LaneLogic::conjunction, {x, y}); }
inline LaneMask logical_or(const LaneMask& x, const LaneMask& y) { return detail::combine(detail::LaneLogic::disjunction, {x, y}); }
inline LaneMask logical_xor(const LaneMask& x, const LaneMask& y) { return detail::combine(detail::LaneLogic::exclusive, {x, y}); }
inline LaneMask logical_not(const LaneMask& x) { return detail::combine(detail::LaneLogic::negation, {x}); }
/// x where the condition holds, else y.
inline Lane where(const LaneMask& condition, const detail::LaneOperand& x, const detail::LaneOperand& y) { return detail::choose(condition, x, y); }

inline Lane operator+(const Lane& x) { return x; }
inline Lane operator-(const Lane& x) { return negative(x); }
template <class X, detail::LaneWith<X> Y> Lane operator+(const X& x, const Y& y) { return add(x, y); }
template <class X, detail::LaneWith<X> Y> Lane operator-(const X& x, const Y& y) { return subtract(x, y); }
template <class X, detail::LaneWith<X> Y> Lane operator*(const X& x, const Y& y) { return multiply(x, y); }
template <class X, detail::LaneWith<X> Y> Lane operator/(const X& x, const Y& y) { return divide(x, y); }
template <class X, detail::LaneWith<X> Y> Lane operator%(const X& x, const Y& y) { return mod(x, y); }
template <detail::LaneOrNumber Y> Lane& operator+=(Lane& x, const Y& y) { return x = add(x, y); }
template <detail::LaneOrNumber Y> Lane& operator-=(Lane& x, const Y& y) { return x = subtract(x, y); }
template <detail::LaneOrNumber Y> Lane& operator*=(Lane& x, const Y& y) { return x = multiply(x, y); }
template <detail::LaneOrNumber Y> Lane& operator/=(Lane& x, const Y& y) { return x = divide(x, y); }
template <detail::LaneOrNumber Y> Lane& operator%=(Lane& x, const Y& y) { return x = mod(x, y); }
template <class X, detail::LaneWith<X> Y> LaneMask operator<(const X& x, const Y& y) { return less(x, y); }
template <class X, detail::LaneWith<X> Y> LaneMask operator<=(const X& x, const Y& y) { return less_equal(x, y); }
template <class X, detail::LaneWith<X> Y> LaneMask operator>(const X& x, const Y& y) { return greater(x, y); }
template <class X, detail::LaneWith<X> Y> LaneMask operator>=(const X& x, const Y& y) { return greater_equal(x, y); }
inline LaneMask operator&&(const LaneMask& x, const LaneMask& y) { return logical_and(x, y); }
inline LaneMask operator||(const LaneMask& x, const LaneMask& y) { return logical_or(x, y); }
inline LaneMask operator!(const LaneMask& x) { return logical_not(x); }

// A comparison is written equal(x, y) or not_equal(x, y), as for tensors.
template <class X, detail::LaneWith<X> Y> void operator==(const X&, const Y&) = delete;  // use equal or not_equal
template <class X, detail::LaneWith<X> Y> void operator!=(const X&, const Y&) = delete;  // use equal or not_equal
// A tensor that the function captured: only arguments are broadcast, followed and kept.
template <class X, detail::CapturedWith<X> Y> Lane operator+(const X&, const Y&) = delete;  // pass the tensor as an argument of elementwise
template <class X, detail::CapturedWith<X> Y> Lane operator-(const X&, const Y&) = delete;  // pass the tensor as an argument of elementwise
template <class X, detail::CapturedWith<X> Y> Lane operator*(const X&, const Y&) = delete;  // pass the tensor as an argument of elementwise
template <class X, detail::CapturedWith<X> Y> Lane operator/(const X&, const Y&) = delete;  // pass the tensor as an argument of elementwise
template <class X, detail::CapturedWith<X> Y> Lane operator%(const X&, const Y&) = delete;  // pass the tensor as an argument of elementwise
template <class X, detail::CapturedWith<X> Y> LaneMask operator<(const X&, const Y&) = delete;  // pass the tensor as an argument of elementwise
template <class X, detail::CapturedWith<X> Y> LaneMask operator<=(const X&, const Y&) = delete;  // pass the tensor as an argument of elementwise
template <class X, detail::CapturedWith<X> Y> LaneMask operator>(const X&, const Y&) = delete;  // pass the tensor as an argument of elementwise
template <class X, detail::CapturedWith<X> Y> LaneMask operator>=(const X&, const Y&) = delete;  // pass the tensor as an argument of elementwise
template <class C, class X, detail::CapturedWith<C, X> Y> Lane where(const C&, const X&, const Y&) = delete;  // pass the tensor as an argument of elementwise
// clang-format on
}  // namespace detail::lanes

}  // namespace reel
