// compile(f): a function whose work is recorded once and run many times, as MLX's compile, JAX's jit and TensorFlow's
// function. Optional: <reel/reel.hpp> does not include it.
//
// The first call with arguments of some structure, dtypes, shapes and strides traces f: f runs on tensors without
// elements, nothing is computed, and what its ops would compute becomes a program. This and later calls run the
// program. Tapes, gradients and nested orders inside f are part of it. With no tape around the call, results have the
// bits of f called op by op; derivatives through the call agree to rounding.
//
// What a trace cannot see is fixed when f is traced: C++ values and control flow, globals, and captured tensors as they
// were. What may change is an argument or a Variable. Arguments that are numbers, bool or enumerations are part of the
// signature, too: each value of theirs has a program of its own. Reading elements inside f (item, bool, data,
// to_vector, printing) is a TraceError, as are random draws and the creation of Variables.
//
// Variables that f reads are read at each call; those that it assigns are assigned when the program has run: a call
// that throws has changed none. A call is one entry on the tapes and accumulators that follow its arguments, its
// variables or captured tensors, to any order; its derivative is a program too, traced when it is first asked for.
#pragma once
#include <memory>
#include <optional>
#include <reel/custom.hpp>
#include <string>
#include <type_traits>

namespace [[gnu::visibility("default")]] reel {

struct CompileOptions {
  /// Programs that an object keeps. When there are more, the one that was not used for the longest time goes, with one
  /// warning per object.
  int max_signatures = 64;
};

/// Of a compiled function, or of its program that ran last.
struct CompileStats {
  std::int64_t signatures = 0;           ///< programs that are held
  std::int64_t traces = 0;               ///< how often f was traced
  std::int64_t traced_instructions = 0;  ///< as f gave them
  std::int64_t instructions = 0;         ///< after all passes; one may do the work of many
  std::int64_t planned_bytes = 0;        ///< memory of a run besides its results
  std::int64_t constant_bytes = 0;       ///< memory of captured tensors and other constants
};

namespace detail {

/// What a call is traced and found again by, beside its tensors.
using CallWords = List<std::int64_t>;

/// A function of flat lists, and what its results look like as a tree, known when it has run.
struct FlatCall {
  FlatFunction function;
  std::shared_ptr<const void> structure;
};
struct CallResult {
  List<Tensor> tensors;
  std::shared_ptr<const void> structure;
};

// The working part: programs by signature. Copies share them.
class Programs {
 public:
  explicit Programs(const CompileOptions& options);
  Programs(const Programs& other) noexcept;
  Programs& operator=(const Programs&) = delete;
  ~Programs();
  /// Runs the program of these arguments; if there is none yet, it is traced from the function make(context).
  CallResult call(std::span<const Tensor> arguments, const CallWords& words, FlatCall (*make)(const void* context),
                  const void* context) const;
  CompileStats stats() const;
  std::string to_dot() const;

 private:
  struct State;
  State* state_;
};

template <class T>
concept StaticArgument = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// The leaves of an argument that f receives as tensors, in its order, and all else that the program depends on.
struct CallArguments {
  List<Tensor> tensors;
  CallWords words;

  template <class T>
  void add(const T& x) {
    if constexpr (StaticArgument<T>) {
      static_assert(sizeof(T) <= sizeof(double), "the value of a number is part of the signature: pass a double");
      words.push_back(bits_of(x));
    } else {
      static_assert(Tree<T>, "a compiled function takes tensors, trees of tensors, numbers and enumerations");
      const std::size_t before = tensors.size();
      static_cast<void>(map_leaves<Input>(x, [&](const auto& leaf) {
        tensors.push_back(Target(leaf).tensor());
        return tensors.back();
      }));
      words.push_back(static_cast<std::int64_t>(tensors.size() - before));
      for_each_leaf(x, [&]<class L>(const L& leaf) {
        if constexpr (std::is_same_v<L, Variable>) words.push_back(static_cast<std::int64_t>(leaf.id()));
      });
    }
  }

 private:
  template <class T>
  static std::int64_t bits_of(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      const auto wide = static_cast<double>(x);
      std::int64_t bits = 0;
      __builtin_memcpy(&bits, &wide, sizeof bits);
      return bits;
    } else {
      return static_cast<std::int64_t>(x);
    }
  }
};

// The argument without its tensors: what is kept of it.
template <class T>
auto without_tensors(const T& x) {
  if constexpr (StaticArgument<T>)
    return x;
  else
    return map_leaves<Input>(x, [](const auto&) { return Tensor(); });
}

// What f receives: the kept argument with leaves from a list.
template <class T>
auto with_next_leaves(const T& kept, std::span<const Tensor> leaves, std::size_t& next) {
  if constexpr (StaticArgument<T>)
    return kept;
  else
    return map_leaves<Input>(kept, [&](const auto&) { return leaves[next++]; });
}

}  // namespace detail

/// A function that compile() made. Copies share its programs. Several threads may call it at once: tracing is
/// serialised, runs share nothing but constants.
template <class F>
class Compiled {
 public:
  explicit Compiled(F f, const CompileOptions& options) : f_(std::move(f)), programs_(options) {}

  /// f(args...). ValueError when a tensor among them is empty; TraceError when f does what cannot be traced; otherwise
  /// what f throws.
  template <class... A>
  auto operator()(const A&... args) const {
    using Kept = std::tuple<decltype(detail::without_tensors(args))...>;
    using Y = decltype(call_kept(f_, std::declval<Kept&>(), {}));
    if constexpr (std::is_void_v<Y>) {
      static_cast<void>(run<std::tuple<>, Kept>(args...));
    } else {
      static_assert(Tree<Y>, "a compiled function returns a tensor, a tree of tensors, or nothing");
      return run<map_t<Tensor, Y>, Kept>(args...);
    }
  }
  CompileStats stats() const { return programs_.stats(); }
  /// The instructions of the program that ran last, in the language of Graphviz.
  std::string to_dot() const { return programs_.to_dot(); }

 private:
  template <class Kept>
  static decltype(auto) call_kept(F& f, Kept& kept, std::span<const Tensor> leaves) {
    std::size_t next = 0;
    return std::apply(
        [&](auto&... x) -> decltype(auto) {
          std::tuple<decltype(detail::with_next_leaves(x, leaves, next))...> passed{
              detail::with_next_leaves(x, leaves, next)...};  // braces, for the order
          return std::apply([&](auto&... y) -> decltype(auto) { return f(y...); }, passed);
        },
        kept);
  }

  template <class Result, class Kept, class... A>
  Result run(const A&... args) const {
    detail::CallArguments arguments;
    // The types are part of the signature: the address of a variable of their own.
    static constexpr char types = 0;
    arguments.words.push_back(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(&types)));
    (arguments.add(args), ...);
    const auto make = [&] {
      auto structure = std::make_shared<std::optional<Result>>();
      auto flat = [f = f_, kept = Kept(detail::without_tensors(args)...),
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
      return detail::FlatCall{std::move(flat), structure};
    };
    detail::CallResult made = programs_.call(
        arguments.tensors, arguments.words,
        [](const void* context) { return (*static_cast<const decltype(make)*>(context))(); }, &make);
    if constexpr (std::is_same_v<Result, std::tuple<>>) {
      return {};
    } else {
      detail::Flat<Tensor> flat{std::move(made.tensors)};
      return map_leaves<Tensor>(**static_cast<const std::optional<Result>*>(made.structure.get()), flat);
    }
  }

  mutable F f_;
  detail::Programs programs_;
};

template <class F>
Compiled<F> compile(F f, const CompileOptions& options = {}) {
  return Compiled<F>(std::move(f), options);
}

}  // namespace reel
