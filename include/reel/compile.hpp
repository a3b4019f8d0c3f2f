// compile(f): a function whose work is recorded once and run many times, like MLX's compile, JAX's jit and TensorFlow's
// function. Optional: <reel/reel.hpp> does not include it.
//
// The first call with arguments of given structure, dtypes, shapes and strides, in borrowed memory or not, traces f: f
// runs on tensors without elements, nothing is computed, and what its ops would compute becomes a program. This and
// later calls run the program. Tapes, gradients and nested orders inside f are part of it. Without a tape around the
// call, results have the bits of f called op by op, but for those of a NaN made of two; derivatives through the call
// agree to rounding. Some derivatives that f takes itself, through loops, branches and checkpoints which become single
// instructions (see below), or through compiled functions that f calls, which become parts of the program, differ:
// - Through a compiled function: they agree to rounding.
// - Of second and higher order: they agree to rounding.
// - Jacobians through a loop, by what its body reads besides its arguments: they agree to rounding.
// - Of first order by a tensor or variable of which a body gathers rows: they agree to rounding. Op by op they are
//   IndexedSlices, in a program they are dense.
// - By what only a branch or loop body reads that does not run, by the initial value of a variable that every step of a
//   while_loop replaces, by what a body with a custom_gradient ignores: none op by op, in a program zeros of any sign.
// An optimiser with state leaves out what has no gradient, and rows that slices do not name; it steps on zeros.
// In other cases a memory_budget changes no bit of a value or a first derivative, in a program or not.
//
// Each tensor that f receives is one of its own, as in JAX: not the same tensor as another argument, or as one that f
// captures, even if the caller passes that. A tape in f that watches a parameter follows what is computed from this
// parameter. (Called directly, without compile, f(x, x) has one tensor twice.) The same holds for the parameters of the
// functions given to cond, switch_case, loops and recompute_grad, in a program or not.
//
// Variables are arguments in two ways, and one program serves all variables of a shape and dtype in both. Where f takes
// a tensor (const Tensor&, auto), it receives the value, which is read at each call. Where it takes const Variable&, a
// tree with Variables such as std::pair<Tensor, Variable>, or a struct with Variables among its leaves(), it receives a
// variable to read, assign, step and differentiate by, as TensorFlow's function does: tapes around the call follow the
// variable that was passed. (For a tree it is all Variables outside of structs or none.) A variable that is passed
// twice is one variable in f too, so such calls have a program of their own. Each variable has programs of its own
// where f captures the variable that is passed, keeps an optimiser's state of it, or reads its name; f is then traced
// once more. So has a variable that a struct's leaves() refers to but that is no member of the struct, or const. While
// f is traced the id() is not that of the variable: key nothing by it. A Variable that f keeps from a trace is a
// TraceError when it is used.
//
// The structure of a tree is the sizes of its vectors, the keys of its maps, the variables of its structs, and what
// signature() of these returns. A struct with members beside its leaves() must have one, because a program keeps what f
// read of them:
//
//     struct Layer {
//       Tensor weights;
//       int stride;
//       auto leaves() { return std::tie(weights); }
//       auto signature() const { return std::tie(stride); }
//     };
//
// It returns numbers, enumerations, strings, shapes, tensors and variables (by identity, not by their elements), or
// tuples and containers of these, as are the keys of maps; std::tuple() if f reads none of these members. A struct
// whose size is that of its leaves needs none; what it refers to by pointers counts as captured.
//
// What a trace cannot see is fixed when f is traced: C++ values and control flow, globals, and captured tensors as they
// were. What may change must be an argument or a Variable. What f stores outside of itself while it is traced has no
// value: every use of such a tensor is a TraceError that names the line which made it. A number for a parameter of type
// auto or const Operand& is an input of the program: f receives a WeakScalar, which gives way to tensors as a number
// does. A number, bool or enumeration for any other parameter is part of the signature: each value has its own program.
// A Generator& is bound at each call, and advances as it does without a program. Reading elements inside f (item, bool,
// data, to_vector, printing) is a TraceError, and so are draws from a captured generator, the creation of Variables,
// and an AnomalyGuard: make it around the call, which then runs op by op.
//
// cond on a tensor, while_loop whose condition is a tensor, fori_loop with a tensor as counter, scans of many steps,
// and recompute_grad under a tape become single instructions, which run programs of their own. Their assigns and draws
// take effect when the call has run. TraceError if the condition of a loop assigns or draws, or if a tape follows a
// variable that a body both reads and assigns. Objects that bodies capture by reference must live until derivatives of
// second order, and Jacobians, have been taken; gradients do not need them. Other loops, and branches on C++ values,
// are traced as they run.
//
// Variables that f reads are read at each call; those that it assigns are assigned when the program has run and the
// results exist, so that a call that throws changes none. An optimiser that f makes and destroys begins each call with
// fresh state.
//
// Threads: a call that reads and assigns a variable, as assign_add and the steps of optimisers do, runs anew if another
// thread has assigned the variable between the two, so that no update is lost. Threads that update one variable so take
// turns. Threads trace f one after another. If f, while it is traced, waits for another thread that calls the same
// object, that thread goes on after 200 ms in which no thread has traced an op, and traces f too. So two threads may
// run an f at once that computes for longer between two ops.
//
// A call is one entry on the tapes and accumulators that follow its arguments, its variables or captured tensors, to
// any order; its derivative is a program too, traced on first request. For that the entry keeps a copy of f and runs
// it: objects that f captures by reference must live until then. In a function that returns the compiled object, or
// results that its caller differentiates, capture by value.
//
// With {.native = true} scalar operations, loops and arithmetic on small arrays are machine code: their program is
// written as C (<reel/codegen.hpp>), compiled by the system's compiler and loaded; so are derivatives through the call.
// What has no form in C, and what the library's own kernels do faster, runs between as without the option. A
// memory_budget has no effect on loops that are native, which keep at most 256 MB. Values agree to rounding with those
// of f op by op, not in all bits; they are the same in every call on a machine. An operation that refuses its operands
// throws as without the option.
// - The compiler is $CC, split at blanks, otherwise cc. It runs while f is traced: the first call of a signature takes
//   tens of milliseconds to seconds. No shell is involved.
// - The object is kept in $XDG_CACHE_HOME/reel, otherwise ~/.cache/reel, under a hash of the source, the command, what
//   the compiler says of itself, and the processor. Folder and files are this user's alone: others are never loaded.
//   Files there may be removed at any time.
// - Where there is no compiler, it fails, or the folder cannot be used, programs run as without the option, and one
//   warning per compiled function says why.
// - A process with privileges that its caller lacks, as set-user-id programs have, ignores $CC, $PATH and the folder:
//   it runs /usr/bin/cc and keeps nothing.
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <reel/api.hpp>
#include <reel/custom.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace REEL_API reel {

/// Options of compile().
struct CompileOptions {
  /// The number of programs that an object keeps. Beyond it the least recently used one is dropped, with one warning
  /// per object. Each of them keeps as many programs of its gradients, which differ by arguments, cotangents and
  /// results, and of its tangents; the least recently used of these are dropped without a warning.
  int max_signatures = 64;
  /// The number of first calls of each signature that are checked: f is traced anew, and runs op by op beside the
  /// program, on copies of the variables that it assigns and the generators that it draws from. Throws Error, naming
  /// the first operation that differs, if f has come to depend on something that the trace has fixed, such as a
  /// captured number that changed; nothing has been assigned then. Signs of zeros may differ. What depends on
  /// derivatives that f takes through loops, branches and checkpoints is compared to rounding, and a larger difference
  /// is a warning. Compiled functions that f calls run op by op too. For debugging: f must tolerate the additional
  /// calls. With `native`, results may differ by 1e-12 relative to the largest element, float32 by 1e-5.
  int check = 0;
  /// Compiles scalar operations, loops and arithmetic to machine code, with the system's C compiler: see above.
  bool native = false;
  /// For the C compiler, one flag each, in place of -O2 -fno-math-errno -ffp-contract=off -march=native and, for gcc,
  /// -fvect-cost-model=dynamic -fno-tree-slp-vectorize -fno-trapping-math.
  std::vector<std::string> native_flags = {};
};

/// A pass over a program, and the number of instructions before and after it.
struct PassStats {
  /// What it does: drop_unused, fold_constants, share_equal, join_places, compile_native, accumulate_products,
  /// join_scalars, fuse_pointwise.
  const char* name = "";
  std::int64_t before = 0;  ///< of the first pass: as traced
  std::int64_t after = 0;   ///< of the last pass: as run
};

/// Statistics of a compiled function, or of the program that ran last.
struct CompileStats {
  std::int64_t signatures = 0;           ///< number of programs held
  std::int64_t traces = 0;               ///< how often f was traced
  std::int64_t traced_instructions = 0;  ///< as traced
  std::int64_t instructions = 0;         ///< after all passes; one may compute several
  std::int64_t planned_bytes = 0;        ///< memory of a run besides its results
  std::int64_t constant_bytes = 0;       ///< memory of captured tensors and other constants
  std::int64_t native_instructions = 0;  ///< of those traced, left after join_places: how many are machine code
  // The next three describe the latest gradient through the call that was asked for; 0 before the first.
  std::int64_t forward_instructions = 0;   ///< of the program that also computes what the gradient needs
  std::int64_t backward_instructions = 0;  ///< of the program of the gradient
  std::int64_t residual_bytes = 0;         ///< kept by a recorded call for it, besides the arguments
  std::vector<PassStats> passes = {};      ///< in the order in which they ran; a pass may run twice
};
/// A line for each group of these figures, then a line per pass.
std::ostream& operator<<(std::ostream& out, const CompileStats& stats);

/// What a traced function receives for a number: a tensor of rank 0 that gives way to the dtype of other operands as a
/// number does. Arithmetic with numbers computes in float64, or int64 for integers, and returns a WeakScalar. TypeError
/// for a division of integers, which C++ would round.
class WeakScalar {
 public:
  WeakScalar(Tensor value, detail::OperandKind kind) noexcept : value_(std::move(value)), kind_(kind) {}
  /// float64, int64 or boolean.
  const Tensor& value() const noexcept { return value_; }
  detail::OperandKind kind() const noexcept { return kind_; }

 private:
  Tensor value_;
  detail::OperandKind kind_;
};

inline Operand::Operand(const WeakScalar& x, const char* file, int line) noexcept
    : tensor_(&held_), kind_(x.kind()), line_(line), file_(file), held_(x.value()) {}

namespace detail {
WeakScalar weak_negate(const WeakScalar& x);
WeakScalar weak_arithmetic(char op, const Operand& x, const Operand& y);
template <class X, class Y>
concept WeakPair = (std::is_same_v<X, WeakScalar> && (std::is_same_v<Y, WeakScalar> || Arithmetic<Y>)) ||
                   (Arithmetic<X> && std::is_same_v<Y, WeakScalar>);
}  // namespace detail

// clang-format off
/// Arithmetic of weak scalars, with each other and with numbers; the result is weak again.
inline WeakScalar operator-(const WeakScalar& x) { return detail::weak_negate(x); }
template <class X, class Y> requires detail::WeakPair<X, Y> WeakScalar operator+(const X& x, const Y& y) { return detail::weak_arithmetic('+', x, y); }
template <class X, class Y> requires detail::WeakPair<X, Y> WeakScalar operator-(const X& x, const Y& y) { return detail::weak_arithmetic('-', x, y); }
template <class X, class Y> requires detail::WeakPair<X, Y> WeakScalar operator*(const X& x, const Y& y) { return detail::weak_arithmetic('*', x, y); }
template <class X, class Y> requires detail::WeakPair<X, Y> WeakScalar operator/(const X& x, const Y& y) { return detail::weak_arithmetic('/', x, y); }
// clang-format on

namespace detail {

// The words that identify a call, besides its tensors.
using CallWords = List<std::int64_t>;

// Where an argument begins among the words and tensors of a call, and its description in warnings.
struct ArgumentPart {
  const char* type;
  std::size_t words, tensors;  // of this argument
};

// The arguments of a call as flat lists.
struct CallView {
  std::span<const Tensor> tensors;
  const CallWords& words;
  std::span<const ArgumentPart> parts;
  std::span<const Variable> variables;
  std::span<const std::size_t> id_words;  // see BoundObjects
};

// A function of flat lists, and the structure of its results as a tree, known after a run.
struct FlatCall {
  FlatFunction function;
  std::shared_ptr<const void> structure;
  std::vector<Variable> parameters;  // what f receives for the variables of the call; none if f receives these
};
// Frees the program of the last call, and its frame, for the next one at its end.
class InUse {
 public:
  InUse() noexcept = default;
  explicit InUse(std::atomic<bool>& busy) noexcept : busy_(&busy) {}
  InUse(InUse&& other) noexcept : busy_(std::exchange(other.busy_, nullptr)) {}
  InUse& operator=(InUse&& other) noexcept {
    std::swap(busy_, other.busy_);
    return *this;
  }
  ~InUse() {
    if (busy_) busy_->store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool>* busy_ = nullptr;
};
// A call that has assigned nothing yet.
struct CallResult {
  List<Tensor> tensors;                 // the results, then the new values of variables
  List<Tensor> read;                    // the values that were read of these variables; empty where none was
  List<std::int64_t> draws;             // number of blocks taken from each generator
  std::span<const Variable> variables;  // of the call, where f has parameters for them
  std::shared_ptr<const void> program;  // none: that of the last call, kept from other calls by in_use
  InUse in_use;
  const void* structure = nullptr;  // of the program's results
};

// While it lives, a function is called as it is, as a part of the trace that has the list, if it is one of a trace.
class CalledPlainly {
 public:
  CalledPlainly() noexcept = default;
  explicit CalledPlainly(List<const void*>* list) noexcept : is_(true), list_(list) {}
  CalledPlainly(const CalledPlainly&) = delete;
  CalledPlainly& operator=(const CalledPlainly&) = delete;
  ~CalledPlainly() {
    if (list_) list_->pop_back();
  }
  explicit operator bool() const noexcept { return is_; }

 private:
  bool is_ = false;
  List<const void*>* list_ = nullptr;
};

// From a context, which knows the function and its arguments: the function to trace, with parameters for variables or
// with the variables themselves, and one that calls it without a program.
struct CallMakers {
  FlatCall (*trace)(const void* context, bool with_parameters);
  std::vector<Tensor> (*plain)(const void* context);
  const void* context;
};

// A generator as an argument: a tensor of its seed and position.
Tensor stream_of(const Generator& generator);
/// While f is traced, draws from the generator are draws from the stream that x stands for.
void bind_stream(Generator& generator, const Tensor& x);

// The implementation: programs by signature. Copies share them.
class Programs {
 public:
  explicit Programs(const CompileOptions& options);
  Programs(const Programs& other) noexcept;
  Programs& operator=(Programs other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Programs();
  /// Whether the function must be called as it is: it becomes part of a trace around it, or an observer is active, or
  /// a check of the function that calls it. TraceError when it calls itself.
  CalledPlainly inlined() const;
  /// Runs the program of the last call if this call is one like that, of tensors alone, and nothing follows or observes
  /// it. Otherwise nothing is done, and it returns false. `types`: the address of detail::types.
  bool call_again(const void* types, std::span<const Tensor* const> arguments, std::span<Tensor> results) const;
  /// Runs the program for these arguments, tracing it if there is none yet.
  CallResult call(const CallView& call, const CallMakers& make) const;
  /// Assigns what the call has computed, last: nothing may throw afterwards. If another thread has assigned one of the
  /// variables meanwhile that the call has read and assigns, it assigns none and returns false: call again.
  bool commit(CallResult& made) const;
  CompileStats stats() const;
  std::string to_dot() const;

 private:
  struct State;
  State* state_;
};

// Their sum, or 0 if one is 0.
constexpr std::size_t sum_of_positive(std::initializer_list<std::size_t> counts) {
  std::size_t sum = 0;
  for (const std::size_t n : counts) {
    if (n == 0) return 0;
    sum += n;
  }
  return sum;
}
// The number of tensors of a tree whose type alone tells it, and which holds nothing else; 0 for other trees.
template <class T>
inline constexpr std::size_t tensor_count = std::is_same_v<T, Tensor> ? 1 : 0;
template <class T, std::size_t N>
inline constexpr std::size_t tensor_count<std::array<T, N>> = N* tensor_count<T>;
template <class X, class Y>
inline constexpr std::size_t tensor_count<std::pair<X, Y>> = sum_of_positive({tensor_count<X>, tensor_count<Y>});
template <class... T>
inline constexpr std::size_t tensor_count<std::tuple<T...>> = sum_of_positive({tensor_count<T>...});

// Its address identifies the types of arguments and results in a signature.
template <class Result, class Kept>
inline constexpr char types = 0;

// For generate_c.
struct CompiledAccess;

template <class T>
concept StaticArgument = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// What f has parameters for, and a call binds them to.
struct BoundObjects {
  List<Generator*> generators;  // distinct
  List<Variable> variables;     // distinct
  // For each variable its word that is 0, or the id where the program is one of this variable alone.
  List<std::size_t> id_words;
  std::uint64_t newest = 0;  // the largest id of a variable
};
// The leaves of all arguments in order, and everything else that the program depends on.
struct CallArguments {
  List<Tensor> tensors;
  CallWords words;
  BoundObjects* bound = nullptr;  // null where no argument can have any
  void add(const Variable& v);
};

template <class T>
std::int64_t bits_of(T x) {
  static_assert(sizeof(T) <= sizeof(double), "the value of a number is part of the signature: pass a double");
  if constexpr (std::is_floating_point_v<T>) {
    const auto wide = static_cast<double>(x);
    std::int64_t bits = 0;
    __builtin_memcpy(&bits, &wide, sizeof bits);
    return bits;
  } else {
    return static_cast<std::int64_t>(x);
  }
}

// ---- Static values and structure, as words.

template <class T>
concept HasSignature = requires(const T& x) {
  x.signature();
};
template <class T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};
// Not a range of itself, as a path is.
template <class T>
concept StaticRange = !std::is_same_v<std::remove_cvref_t<decltype(*std::begin(std::declval<const T&>()))>, T>;

inline void add_text(std::string_view text, CallWords& to) {
  to.push_back(static_cast<std::int64_t>(text.size()));
  for (std::size_t k = 0; k < text.size(); k += sizeof(std::int64_t)) {
    std::int64_t word = 0;
    __builtin_memcpy(&word, text.data() + k, text.size() - k < sizeof word ? text.size() - k : sizeof word);
    to.push_back(word);
  }
}

template <class T>
void add_static(const T& x, CallWords& to) {
  if constexpr (StaticArgument<T>) {
    to.push_back(bits_of(x));
  } else if constexpr (std::is_same_v<T, Tensor>) {
    to.push_back(x.defined() ? static_cast<std::int64_t>(x.id()) : 0);
  } else if constexpr (std::is_same_v<T, Variable>) {
    to.push_back(static_cast<std::int64_t>(x.id()));
  } else if constexpr (HasSignature<T>) {
    add_static(x.signature(), to);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    add_text(x, to);
  } else if constexpr (TupleLike<T>) {
    std::apply([&](const auto&... one) { (add_static(one, to), ...); }, x);
  } else if constexpr (StaticRange<T>) {
    to.push_back(static_cast<std::int64_t>(std::distance(std::begin(x), std::end(x))));
    for (const auto& one : x) add_static(one, to);
  } else {
    static_assert(sizeof(T) == 0,
                  "signature() of a struct and the keys of a map are numbers, enumerations, strings, shapes, tensors, "
                  "variables, or tuples and containers of these");
  }
}

// Whether a leaf of T may have no tensor, or one of another shape: a gradient, or slices of one.
template <class T>
inline constexpr bool holds_gradient = std::is_same_v<T, Gradient> || std::is_same_v<T, IndexedSlices>;
template <HasLeaves T>
inline constexpr bool holds_gradient<T> = holds_gradient<typename Node<T>::Parts>;
template <class T>
inline constexpr bool holds_gradient<T&> = holds_gradient<T>;
template <template <class...> class Branch, class... T>
inline constexpr bool holds_gradient<Branch<T...>> = (holds_gradient<T> || ...);
template <class T, std::size_t N>
inline constexpr bool holds_gradient<std::array<T, N>> = holds_gradient<T>;

// The sum of the sizes of the members that leaves() ties.
template <class Parts>
inline constexpr std::size_t size_of_parts = []<std::size_t... I>(std::index_sequence<I...>) {
  return (sizeof(std::tuple_element_t<I, Parts>) + ... + 0);
}
(std::make_index_sequence<std::tuple_size_v<Parts>>());
template <class S>
inline constexpr bool has_only_leaves = std::is_empty_v<S> || sizeof(S) == size_of_parts<typename Node<S>::Parts>;

// Whether a tree holds a struct.
template <class T>
inline constexpr bool holds_struct = HasLeaves<T>;
template <template <class...> class Branch, class... T>
inline constexpr bool holds_struct<Branch<T...>> = HasLeaves<Branch<T...>> || (holds_struct<T> || ...);
template <class T, std::size_t N>
inline constexpr bool holds_struct<std::array<T, N>> = holds_struct<T>;

// Whether `part`, which leaves() ties, is a member of the struct, so that a copy of the struct has one of its own.
template <class S, class T>
bool owns(const S& whole, const T& part) {
  const auto *first = reinterpret_cast<const char*>(std::addressof(whole)),
             *at = reinterpret_cast<const char*>(std::addressof(part));
  return !std::less<>()(at, first) && std::less<>()(at, first + sizeof(S));
}

// What a program knows of a Variable in a tree: its value as an input, its id, or a parameter.
enum class VariableAs { value, id, parameter };

// The tensors of a tree that arrive as inputs, in the order of map_leaves<Input>, and the words of its structure.
template <VariableAs variables, class T>
void add_tree(T& x, CallArguments& to);

template <class S>
void add_struct(S& x, CallArguments& to) {
  using Struct = std::remove_const_t<S>;
  static_assert(has_only_leaves<Struct> || HasSignature<Struct>,
                "an argument of a compiled function has members beside its leaves(), which its program would keep: "
                "return those that the function reads by auto signature() const { return std::tie(...); }");
  static_assert(!holds_gradient<Struct>,
                "a struct that is an argument of a compiled function holds tensors and variables, not gradients");
  if constexpr (HasSignature<Struct>) add_static(x.signature(), to.words);
  std::conditional_t<std::is_const_v<S>, Struct, S&> own(x);
  auto parts = own.leaves();
  const auto add_part = [&]<class T>(T& part) {
    if (!std::is_const_v<T> && owns(own, part))
      add_tree<VariableAs::parameter>(part, to);
    else
      add_tree<VariableAs::id>(part, to);
  };
  std::apply([&](auto&... part) { (add_part(part), ...); }, parts);
}

template <VariableAs variables, class T>
void add_tree(T& x, CallArguments& to) {
  using X = std::remove_const_t<T>;
  if constexpr (std::is_same_v<X, Tensor>) {
    to.tensors.push_back(x);
  } else if constexpr (Leaf<X>) {
    if constexpr (variables == VariableAs::value)
      to.tensors.push_back(Target(x).tensor());
    else if constexpr (variables == VariableAs::parameter)
      to.add(x);
    else if constexpr (std::is_same_v<X, Variable>)
      to.words.push_back(static_cast<std::int64_t>(x.id()));
  } else if constexpr (HasLeaves<X>) {
    add_struct(x, to);
  } else if constexpr (requires { typename X::mapped_type; }) {
    to.words.push_back(static_cast<std::int64_t>(x.size()));
    for (auto& entry : x) {
      add_static(entry.first, to.words);
      add_tree<variables>(entry.second, to);
    }
  } else if constexpr (requires { typename X::allocator_type; }) {
    to.words.push_back(static_cast<std::int64_t>(x.size()));
    for (auto& one : x) add_tree<variables>(one, to);
  } else {
    std::apply([&](auto&... one) { (add_tree<variables>(one, to), ...); }, x);
  }
}

// What f receives in place of arguments: generators from which it draws, and parameters for variables.
struct StandIns {
  std::map<const Generator*, std::shared_ptr<Generator>> generators;
  std::span<const Variable> variables;
  std::vector<Variable> parameters;  // for each of them; none if f receives the variables themselves

  /// Makes parameters, in the order in which the variables were constructed.
  void make_parameters();
  const Variable& operator()(const Variable& v) const;
};

// Puts stand-ins in the place of the variables of a tree, and takes its tensors away.
template <class T>
void put_stand_ins(T& x, const StandIns& known) {
  if constexpr (std::is_const_v<T>) {
    return;  // f receives the variables themselves
  } else if constexpr (std::is_same_v<T, Variable>) {
    const Variable stand_in = known(x);
    std::destroy_at(&x);
    std::construct_at(&x, stand_in);
  } else if constexpr (std::is_same_v<T, Tensor>) {
    x = Tensor();
  } else if constexpr (HasLeaves<T>) {
    auto parts = x.leaves();
    std::apply([&](auto&... part) { ((owns(x, part) ? put_stand_ins(part, known) : void()), ...); }, parts);
  } else if constexpr (requires { typename T::mapped_type; }) {
    for (auto& entry : x) put_stand_ins(entry.second, known);
  } else if constexpr (requires { typename T::allocator_type; }) {
    for (auto& one : x) put_stand_ins(one, known);
  } else {
    std::apply([&](auto&... one) { (put_stand_ins(one, known), ...); }, x);
  }
}

// ---- Arguments by kind. add() lists the leaves and words; the object holds the rest of the argument; pass() makes of
// it and of leaves from a list what f receives.

// A number that is part of the signature.
template <class T>
struct StaticNumber {
  static constexpr bool binds = false;
  static constexpr const char* type = std::is_same_v<T, double>  ? "double"
                                      : std::is_same_v<T, float> ? "float"
                                      : std::is_same_v<T, bool>  ? "bool"
                                      : std::is_enum_v<T>        ? "enumeration"
                                      : std::is_integral_v<T>    ? "integer"
                                                                 : "number";
  T value;
  StaticNumber(const T& x, StandIns&) : value(x) {}
  static void add(const T& x, CallArguments& to) { to.words.push_back(bits_of(x)); }
  T pass(std::span<const Tensor>, std::size_t&) const { return value; }
};

// A number that is an input of the program.
template <class T>
struct WeakNumber {
  static constexpr bool binds = false;
  static constexpr const char* type = "number";
  OperandKind kind;
  WeakNumber(const T& x, StandIns&) : kind(kind_of(x)) {}
  static void add(const T& x, CallArguments& to) {
    if constexpr (std::is_same_v<T, WeakScalar>)
      to.tensors.push_back(x.value());
    else if constexpr (std::is_same_v<T, bool>)
      to.tensors.push_back(scalar(x));
    else if constexpr (std::is_floating_point_v<T>)
      to.tensors.push_back(scalar(static_cast<double>(x)));
    else
      to.tensors.push_back(scalar(checked(x)));
    to.words.push_back(static_cast<std::int64_t>(kind_of(x)));
  }
  WeakScalar pass(std::span<const Tensor> leaves, std::size_t& next) const { return {leaves[next++], kind}; }

 private:
  static OperandKind kind_of(const T& x) {
    if constexpr (std::is_same_v<T, WeakScalar>)
      return x.kind();
    else if constexpr (std::is_same_v<T, bool>)
      return OperandKind::weak_boolean;
    else if constexpr (std::is_floating_point_v<T>)
      return OperandKind::weak_floating;
    else
      return OperandKind::weak_integer;
  }
};

// A tree of variables alone, outside of structs.
template <class T>
concept VariableTree = Tree<T> && std::is_same_v<map_t<Variable, T>, T> && !std::is_empty_v<T>;
template <class T>
inline constexpr const char* name_of_type = VariableTree<T> ? "variables" : "tree";
template <>
inline constexpr const char* name_of_type<Variable> = "Variable";

// A tree that f receives with its variables as such.
template <class T>
struct KeptTree {
  static constexpr bool binds = true;
  static constexpr const char* type = name_of_type<T>;
  T tree;
  KeptTree(const T& x, const StandIns& known) : tree(x) { put_stand_ins(tree, known); }
  static void add(const T& x, CallArguments& to) { add_tree<VariableAs::parameter>(x, to); }
  decltype(auto) pass(std::span<const Tensor> leaves, std::size_t& next) const {
    if constexpr (VariableTree<T>)
      return (tree);
    else
      return with_tensors(tree, [&](const Tensor&) { return leaves[next++]; });
  }
  /// x with other tensors.
  template <class F>
  static T with_tensors(const T& x, const F& f) {
    T made(x);
    const auto replace = [&](auto& leaf) {
      if constexpr (std::is_same_v<decltype(leaf), Tensor&>) leaf = f(leaf);
    };
    Node<T>::each(made, replace);
    return made;
  }
};

template <class T>
struct TreeArgument {
  static_assert(Tree<T>, "a compiled function takes tensors, trees of them, numbers, enumerations and Generator&");
  static constexpr const char* type = std::is_same_v<T, Tensor>     ? "Tensor"
                                      : std::is_same_v<T, Variable> ? "Variable"
                                                                    : "tree";
  static constexpr bool binds = holds_struct<T>;
  map_t<Input, T> tree;
  TreeArgument(const T& x, const StandIns& known) : tree(map_leaves<Input>(x, [](const auto&) { return Tensor(); })) {
    if constexpr (binds) put_stand_ins(tree, known);
  }
  static void add(const T& x, CallArguments& to) { add_tree<VariableAs::value>(x, to); }
  auto pass(std::span<const Tensor> leaves, std::size_t& next) const {
    return map_leaves<Input>(tree, [&](const auto&) { return leaves[next++]; });
  }
};

// A generator: draws are taken from the stream that its leaf stands for.
struct GeneratorArgument {
  static constexpr bool binds = true;
  static constexpr const char* type = "Generator";
  std::shared_ptr<Generator> local;  // the generator for f; parameters that are the same generator share it
  bool first;
  GeneratorArgument(Generator& x, StandIns& known);
  static void add(Generator& x, CallArguments& to);
  Generator& pass(std::span<const Tensor> leaves, std::size_t& next) const {
    if (first) bind_stream(*local, leaves[next++]);
    return *local;
  }
};

/// x as another tensor, which tapes that follow x follow too.
Tensor fresh_argument(const Tensor& x);
/// ValueError: a compiled function of a signature was called that holds none.
[[noreturn]] void fail_empty_function();

// A tree of tensors and variables that f may receive with the variables, or with their values instead.
template <class T>
concept TreeWithVariables = Tree<T> && !std::is_same_v<map_t<Input, T>, T> && !holds_gradient<T>;

// What f receives for an argument when it is called without a program.
template <bool kept, class T>
decltype(auto) plain_argument(T& x) {
  using X = std::remove_const_t<T>;
  if constexpr (!Tree<T> || (kept && VariableTree<X>))
    return (x);
  else if constexpr (kept)
    return KeptTree<X>::with_tensors(x, fresh_argument);
  else
    return map_leaves<Input>(x, [](const auto& leaf) { return fresh_argument(Target(leaf).tensor()); });
}

// A set of arguments, by their indices.
using ArgumentSet = std::uint64_t;
constexpr bool contains(ArgumentSet set, std::size_t k) { return k < 64 && (set >> k & 1); }

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_same_v<T, WeakScalar>;
// Whether F takes a WeakScalar as its I-th argument.
template <class F, std::size_t I, ArgumentSet kept, class... A, std::size_t... J>
constexpr bool takes_weak(std::index_sequence<J...>) {
  return std::is_invocable_v<
      F&, std::conditional_t<I == J, WeakScalar&,
                             std::remove_cvref_t<decltype(plain_argument<contains(kept, J)>(std::declval<A&>()))>&>...>;
}
template <class F, std::size_t I, ArgumentSet kept, class... A>
constexpr auto argument_kind() {
  using T = std::tuple_element_t<I, std::tuple<A...>>;
  if constexpr (contains(kept, I))
    return std::type_identity<KeptTree<T>>();
  else if constexpr (std::is_same_v<T, Generator>)
    return std::type_identity<GeneratorArgument>();
  else if constexpr (std::is_same_v<T, WeakScalar>)
    return std::type_identity<WeakNumber<T>>();
  else if constexpr (std::is_arithmetic_v<T>) {
    if constexpr (takes_weak<F, I, kept, A...>(std::index_sequence_for<A...>()))
      return std::type_identity<WeakNumber<T>>();
    else
      return std::type_identity<StaticNumber<T>>();
  } else if constexpr (std::is_enum_v<T>)
    return std::type_identity<StaticNumber<T>>();
  else
    return std::type_identity<TreeArgument<T>>();
}
template <class F, ArgumentSet kept, class List, class Numbers>
struct KeptArguments;
template <class F, ArgumentSet kept, class... A, std::size_t... I>
struct KeptArguments<F, kept, std::tuple<A...>, std::index_sequence<I...>> {
  using type = std::tuple<typename decltype(argument_kind<F, I, kept, A...>())::type...>;
};

template <class Kind>
inline constexpr bool is_kept_tree = false;
template <class T>
inline constexpr bool is_kept_tree<KeptTree<T>> = true;
template <class Kept>
inline constexpr bool binds_objects = false;
template <class... K>
inline constexpr bool binds_objects<std::tuple<K...>> = (K::binds || ...);

template <class T>
concept CompiledArgument = Tree<T> || Number<T> || std::is_enum_v<T> || std::is_same_v<T, Generator>;
// Whether F takes what the kept arguments pass.
template <class F, class Kept>
inline constexpr bool takes_kept = false;
template <class F, class... K>
inline constexpr bool takes_kept<F, std::tuple<K...>> = requires(F& f, std::span<const Tensor> leaves, std::size_t next,
                                                                 K&... x) {
  f(std::declval<std::remove_reference_t<decltype(x.pass(leaves, next))>&>()...);
};

template <class F, class Types, ArgumentSet kept>
using KeptWith = typename KeptArguments<F, kept, Types, std::make_index_sequence<std::tuple_size_v<Types>>>::type;
template <class... A, std::size_t... I>
constexpr ArgumentSet trees_with_variables(std::type_identity<std::tuple<A...>>, std::index_sequence<I...>) {
  return ((ArgumentSet{TreeWithVariables<A> && I < 64} << (I & 63)) | ... | ArgumentSet{0});
}
// The first subset of `all`, from `chosen` on in the order of numbers, that F takes with variables: the smallest one,
// so that a generic F is not instantiated for others.
template <class F, class Types, ArgumentSet all, ArgumentSet chosen = 0>
constexpr ArgumentSet received_with_variables() {
  if constexpr (chosen == all || takes_kept<F, KeptWith<F, Types, chosen>>)
    return chosen;
  else
    return received_with_variables<F, Types, all, ((chosen - all) & all)>();
}

// How a compiled F keeps arguments of these types.
template <class F, class... A>
using KeptFor = KeptWith<F, std::tuple<A...>,
                         received_with_variables<F, std::tuple<A...>,
                                                 trees_with_variables(std::type_identity<std::tuple<A...>>(),
                                                                      std::index_sequence_for<A...>())>()>;

}  // namespace detail
/// A function made by compile(). Copies share its programs. Several threads may call it at once: one of them
/// traces, runs share nothing but constants, and no update of a variable is lost.
template <class F>
class Compiled {
 public:
  explicit Compiled(F f, const CompileOptions& options) : f_(std::move(f)), programs_(options) {}

  /// f(args...). ValueError when a tensor among them is empty; TraceError when f cannot be traced; otherwise throws
  /// what f throws.
  template <class... A>
  auto operator()(A&&... args) const {
    constexpr bool valid = (detail::CompiledArgument<std::remove_cvref_t<A>> && ...);
    static_assert(valid, "a compiled function takes tensors, trees of them, numbers, enumerations and Generator&");
    if constexpr (valid) {
      using Kept = detail::KeptFor<F, std::remove_cvref_t<A>...>;
      constexpr bool takes = detail::takes_kept<F, Kept>;
      static_assert(takes,
                    "the compiled function does not take these arguments: tensors and trees of them arrive as "
                    "such, a Variable as a const Variable& or as a Tensor, its value, numbers as numbers or "
                    "WeakScalar; a tensor of a number is scalar(x)");
      if constexpr (takes) return run_returning<decltype(call_kept(f_, std::declval<Kept&>(), {})), Kept>(args...);
    }
  }
  CompileStats stats() const { return programs_.stats(); }
  /// The instructions of the program that ran last, in the language of Graphviz.
  std::string to_dot() const { return programs_.to_dot(); }

 private:
  template <class Y, class Kept, class... A>
  auto run_returning(A&... args) const {
    if constexpr (std::is_void_v<Y>) {
      static_cast<void>(run<std::tuple<>, Kept>(args...));
    } else {
      static_assert(Tree<Y>, "a compiled function returns a tensor, a tree of tensors, or nothing");
      static_assert(!detail::holds_gradient<Y>,
                    "a compiled function returns tensors, not gradients: *g is the tensor of a gradient g");
      if constexpr (Tree<Y>) return run<map_t<Tensor, Y>, Kept>(args...);
    }
  }
  template <class Kept>
  static decltype(auto) call_kept(F& f, Kept& kept, std::span<const Tensor> leaves) {
    std::size_t next = 0;
    return std::apply(
        [&](auto&... x) -> decltype(auto) {
          std::tuple<decltype(x.pass(leaves, next))...> passed{
              x.pass(leaves, next)...};  // braces fix the order of evaluation
          return std::apply([&](auto&... y) -> decltype(auto) { return f(y...); }, passed);
        },
        kept);
  }

  // f without a program.
  template <class Result, class Kept, class... A>
  Result call_plainly(A&... args) const {
    return call_with<Result>(std::type_identity<Kept>(), args...);
  }
  template <class Result, class... K, class... A>
  Result call_with(std::type_identity<std::tuple<K...>>, A&... args) const {
    std::tuple<decltype(detail::plain_argument<detail::is_kept_tree<K>>(args))...> passed{
        detail::plain_argument<detail::is_kept_tree<K>>(args)...};
    if constexpr (std::is_same_v<Result, std::tuple<>>) {
      std::apply([&](auto&... x) { f_(x...); }, passed);
      return {};
    } else {
      const auto y = std::apply([&](auto&... x) { return f_(x...); }, passed);
      return map_leaves<Tensor>(y, [](const auto& leaf) { return Target(leaf).tensor(); });
    }
  }

  template <class Result, class Kept, class... A>
  [[gnu::noinline, gnu::cold]] std::vector<Tensor> plain_leaves(A&... args) const {
    return detail::leaves_of("compile", call_plainly<Result, Kept>(args...));
  }

  template <class Kind, class T>
  static detail::ArgumentPart add(T& x, detail::CallArguments& to) {
    const std::size_t words = to.words.size(), tensors = to.tensors.size();
    Kind::add(x, to);
    return {Kind::type, to.words.size() - words, to.tensors.size() - tensors};
  }
  template <class Kept, class... A, std::size_t... I>
  static std::array<detail::ArgumentPart, sizeof...(A)> add_all(detail::CallArguments& to, std::index_sequence<I...>,
                                                                A&... args) {
    return {add<std::tuple_element_t<I, Kept>>(args, to)...};  // braces fix the order of evaluation
  }
  template <class Kept, class... A, std::size_t... I>
  static Kept keep_all(detail::StandIns& known, std::index_sequence<I...>, A&... args) {
    return Kept{std::tuple_element_t<I, Kept>(args, known)...};
  }

  // The function of flat lists; with parameters for variables, or with the variables themselves.
  template <class Result, class Kept, class... A>
  detail::FlatCall make_flat(bool with_parameters, std::span<const Variable> variables, A&... args) const {
    auto structure = std::make_shared<std::optional<Result>>();
    detail::StandIns stand_ins{{}, variables, {}};
    if (with_parameters) stand_ins.make_parameters();
    auto flat = [f = f_, kept = keep_all<Kept>(stand_ins, std::index_sequence_for<A...>(), args...),
                 structure](std::span<const Tensor> leaves) mutable -> std::vector<Tensor> {
      if constexpr (std::is_same_v<Result, std::tuple<>>) {
        call_kept(f, kept, leaves);
        return {};
      } else {
        const auto y = call_kept(f, kept, leaves);
        structure->emplace(map_leaves<Tensor>(y, [](const auto&) { return Tensor(); }));
        return detail::leaves_of("compile", y);
      }
    };
    return {std::move(flat), structure, std::move(stand_ins.parameters)};
  }
  friend struct detail::CompiledAccess;

  // A call of tensors like the one before, without lists of arguments and results.
  template <class Result, class Kept, class... A>
  bool run_again(Result& result, A&... args) const {
    std::array<const Tensor*, (detail::tensor_count<std::remove_const_t<A>> + ... + 0)> arguments;
    std::size_t next = 0;
    [[maybe_unused]] const auto add = [&](const Tensor& x) { arguments[next++] = &x; };
    (for_each_leaf(args, add), ...);
    const void* const types = &detail::types<Result, Kept>;
    if constexpr (std::is_same_v<Result, Tensor>) return programs_.call_again(types, arguments, {&result, 1});
    std::array<Tensor, detail::tensor_count<Result>> made;
    if (!programs_.call_again(types, arguments, made)) return false;
    next = 0;
    const auto take = [&](Tensor& leaf) { leaf = std::move(made[next++]); };
    detail::Node<Result>::each(result, take);
    return true;
  }

  template <class Result, class Kept, class... A>
  Result run(A&... args) const {
    if constexpr (detail::tensor_count<Result> != 0 && ((detail::tensor_count<std::remove_const_t<A>> != 0) && ...))
      if (Result result; run_again<Result, Kept>(result, args...)) return result;
    if (const auto plainly = programs_.inlined()) return call_plainly<Result, Kept>(args...);
    constexpr auto numbers = std::index_sequence_for<A...>();
    constexpr bool binds = detail::binds_objects<Kept>;
    detail::CallArguments arguments;
    [[maybe_unused]] std::conditional_t<binds, detail::BoundObjects, std::tuple<>> bound;
    std::span<const Variable> variables;
    std::span<const std::size_t> id_words;
    if constexpr (binds) arguments.bound = &bound;
    arguments.tensors.reserve(sizeof...(A));
    arguments.words.reserve(1 + 2 * sizeof...(A));
    arguments.words.push_back(
        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(&detail::types<Result, Kept>)));
    const auto parts = add_all<Kept>(arguments, numbers, args...);
    if constexpr (binds) {
      variables = bound.variables;
      id_words = bound.id_words;
    }
    const auto make = [&](bool with_parameters) {
      return make_flat<Result, Kept>(with_parameters, variables, args...);
    };
    const auto call_it = [&] { return plain_leaves<Result, Kept>(args...); };
    const std::pair both(&make, &call_it);
    using Both = std::remove_const_t<decltype(both)>;
    for (;;) {
      detail::CallResult made =
          programs_.call({arguments.tensors, arguments.words, parts, variables, id_words},
                         {[](const void* context, bool with_parameters) {
                            return (*static_cast<const Both*>(context)->first)(with_parameters);
                          },
                          [](const void* context) { return (*static_cast<const Both*>(context)->second)(); }, &both});
      const auto take_effect = [&] {
        if (!programs_.commit(made)) return false;
        if constexpr (binds)
          for (std::size_t k = 0; k < bound.generators.size(); ++k)
            bound.generators[k]->take(static_cast<std::uint64_t>(made.draws[k]));
        return true;
      };
      if constexpr (std::is_same_v<Result, std::tuple<>>) {
        if (take_effect()) return {};
      } else {
        detail::Flat<Tensor> flat{std::move(made.tensors)};
        auto result = map_leaves<Tensor>(**static_cast<const std::optional<Result>*>(made.structure), flat);
        made.tensors = std::move(flat.values);
        if (take_effect()) return result;
      }
    }
  }

  template <class>
  friend class Compiled;

  mutable std::remove_const_t<F> f_;  // F may be the type of a lambda declared const
  detail::Programs programs_;
};

/// f as a function that is traced at its first call and runs as a program from then on: see Compiled.
template <class F>
Compiled<F> compile(F f, const CompileOptions& options = {}) {
  return Compiled<F>(std::move(f), options);
}

/// A compiled function by its signature alone, as std::function is one: a type for members, parameters and containers.
/// Copies share the programs.
///   struct Trainer {
///     reel::Variable w;
///     reel::Compiled<reel::Tensor(const reel::Tensor& x, const reel::Tensor& y)> step;
///     explicit Trainer(const reel::Tensor& start)
///         : w(start), step(reel::compile([w = w](const reel::Tensor& x, const reel::Tensor& y) {
///             reel::GradientTape tape;
///             const reel::Tensor loss = reel::mean(reel::square(reel::matmul(x, w) - y));
///             w.assign_sub(0.1 * *tape.gradient(loss, w));
///             return loss;
///           })) {}
///   };
template <class R, class... A>
class Compiled<R(A...)> {
 public:
  /// Holds no function: calls are a ValueError.
  Compiled() noexcept = default;
  /// Arguments are passed as A..., so that a number for double is what it is in a direct call: part of the signature,
  /// or an input where f takes auto or const Operand&.
  template <class F>
  requires(!std::is_function_v<F>) Compiled(Compiled<F> f)
      : programs_(f.programs_), call_([f = std::move(f)](A... args) -> R {
          if constexpr (std::is_void_v<R>)
            static_cast<void>(f(args...));
          else
            return f(args...);
        }) {}
  explicit operator bool() const noexcept { return programs_.has_value(); }

  R operator()(A... args) const {
    if (!programs_) detail::fail_empty_function();
    return call_(std::forward<A>(args)...);
  }
  CompileStats stats() const { return programs_ ? programs_->stats() : CompileStats(); }
  /// As above; an empty graph if there is no function.
  std::string to_dot() const { return programs_ ? programs_->to_dot() : std::string("digraph program {\n}\n"); }

 private:
  std::optional<detail::Programs> programs_;
  Callback<R(A...)> call_;
};

}  // namespace reel
