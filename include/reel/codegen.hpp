// generate_c(f): a function as C source that needs neither this library nor its headers: for microcontrollers, game
// engines, other languages, certified code. Optional: <reel/reel.hpp> does not include it.
//
//     const reel::CSource c = reel::generate_c(reel::value_and_grad(cost), {.name = "cost"}, x);
//     c.write("generated");  // generated/cost.h, generated/cost.c
//
// The function is traced at the dtypes and shapes of the arguments, as compile() traces it: <reel/compile.hpp> says
// what can be traced. Gradients, Jacobians and Hessians that it takes are part of the program. The source is C99 and
// C++17, includes <math.h>, <stdint.h> and <string.h> alone, and calls nothing but libm and memcpy. The function
//
//     int cost(const double *x0, double *y0, double *y1, void *workspace);
//
// has a pointer for each tensor among the arguments, then one for each tensor among the results, then workspace of
// COST_WORKSPACE bytes, aligned to 8; null will do if that is 0. Arrays are dense and row-major; a number that f
// receives as one is fixed, a WeakScalar is an array of one element. Outputs overlap neither each other nor inputs.
// Booleans are uint8_t. The function allocates nothing, keeps no state, is reentrant, and returns 0, or the number of
// an operation that refuses its operands, such as a factorisation of an indefinite matrix: cost_error(number) says
// which.
//
// Variables that f reads or assigns, and generators that are its arguments, are members of a struct that the caller
// holds, `struct cost_state *state`, the parameter in front of the workspace; without assigns and draws it is const.
// Members are arrays with the names of the variables, or those of the leaves of a tree that is an argument; those
// without a name are variable, variable_2, ...; a generator is its seed and position. Assigns and draws take effect
// when the function returns 0. cost_initial holds the values at generate_c, such as the weights of a trained network.
//
// A result that is a sparse matrix, such as that of sparse_jacobian or sparse_hessian, has the values as its parameter;
// its pattern is in constant arrays of the header, cost_y0_row_starts and cost_y0_columns.
//
// What compile() keeps as one instruction stays a loop or a branch of C: while_loop and fori_loop with a condition that
// is a tensor, scan of more than 64 steps or with {.compiled = true}, cond on a tensor, recompute_grad. Their gradients
// walk back over what the steps have left in the workspace; a while_loop needs max_iterations for that. Where all steps
// take more than a memory_budget, the variables before every k-th step are kept, and the steps behind are run again, k
// such that this takes the least memory. Tangents of loops are loops too, and Hessians are loops over their rows; a
// derivative that runs a loop again under a tape, such as the second one of a custom gradient, is a TraceError.
//
// Without a form in C are eigenvalues and singular values, least squares, derivatives of determinants of higher than
// second order, Fourier transforms, special functions beyond those of <reel/ops/pointwise.hpp> and
// <reel/ops/normal.hpp>, and what computes with complex numbers. Recurrent layers of more than 16 steps are loops of C;
// attention computes all scores; a step of an optimiser by IndexedSlices passes over all rows; argpartition sorts.
// Random numbers are those of the library, integers and uniform ones bit for bit, normal ones to rounding.
//
// Values agree with the compiled function to rounding, not in all bits: sums are taken in an order of their own, the
// same on every target, and exp, sin and others are those of libm. Pointwise operations of one shape become one loop.
// If it has at least 32 steps and calls functions of libm, it is cut into blocks of up to 128 elements, with arithmetic
// and calls in loops of their own: compilers vectorise the former. Values between them are in the workspace. Scalars
// become variables, and code of more than 500 statements several functions.
//
// TypeError for float16, bfloat16 and complex numbers, and TraceError for an op without a form in C: both name it, its
// line and the remedy before anything is written.
#pragma once
#include <cstddef>
#include <cstdint>
#include <reel/api.hpp>
#include <reel/compile.hpp>
#include <reel/io.hpp>
#include <string>
#include <vector>

namespace REEL_API reel {

/// Options of generate_c().
struct CodegenOptions {
  /// Of the function and the files. Names of the file's functions and constants begin with it.
  std::string name;
  /// Names of the parameters, one for each tensor; empty: those of the leaves of a tree, joined by underscores, such as
  /// the keys of a map or what names() of a struct returns, and y_NAME for an output of which there is an input of this
  /// name; otherwise x0, x1, ... and y0, y1, ... ValueError for a name that is no identifier of C, is a keyword of C or
  /// C++, or occurs twice.
  std::vector<std::string> inputs = {}, outputs = {};
  /// Adds a main that calls the function at the arguments of generate_c, and returns 0 if its results agree with those
  /// of the program here: to 1e-12 relative to the largest element, float32 to 1e-5.
  bool check = false;
  /// ValueError if the function needs more workspace, in bytes.
  std::size_t max_workspace = std::size_t{1} << 30;
};

/// What a generated function costs.
struct CodegenStats {
  std::int64_t statements = 0;       ///< in the source
  double flops = 0;                  ///< floating-point operations and calls of libm that a call executes
  std::int64_t workspace_bytes = 0;  ///< that the caller provides
  std::int64_t constant_bytes = 0;   ///< of constant arrays
};

/// Generated source.
class CSource {
 public:
  CSource(std::string name, std::string header, std::string text, const CodegenStats& stats)
      : name_(std::move(name)), header_(std::move(header)), text_(std::move(text)), stats_(stats) {}
  /// The contents of NAME.c, which includes NAME.h, and of NAME.h.
  const std::string& text() const noexcept { return text_; }
  const std::string& header() const noexcept { return header_; }
  const CodegenStats& stats() const noexcept { return stats_; }
  /// Writes NAME.h and NAME.c, in a folder that is created if there is none. Each replaces a file of its name when it
  /// is complete and on disk. IoError.
  void write(const std::string& folder) const;

 private:
  std::string name_, header_, text_;
  CodegenStats stats_;
};

namespace detail {
/// Names of the leaves of arguments and results, as save() gives them: empty where a tensor is no part of a tree.
struct LeafNames {
  struct Pattern {
    std::size_t output;
    Shape shape;
    Tensor row_starts, columns;
  };
  List<std::string> inputs, outputs;
  List<Pattern> patterns;                                 // of the outputs that are values of sparse matrices
  List<std::pair<std::uint64_t, std::string>> variables;  // by id
  List<std::size_t> streams;                              // the inputs that are generators
};
/// The source of a function of flat lists at these arguments. A call of f sets names.outputs.
CSource source_of(const FlatFunction& f, std::span<const Tensor> arguments, const CodegenOptions& options,
                  const LeafNames& names);

// Csr of <reel/sparse.hpp>.
template <class T>
concept SparseMatrix = requires(const T& x) {
  x.pattern.row_starts, x.pattern.columns, x.pattern.shape, x.values;
};

struct CompiledAccess {
  template <class T, class F>
  static void each_name(const T& tree, const F& f) {
    NamePath path;
    if constexpr (!std::is_void_v<map_t<Tensor, T>>) for_each_named(tree, path, f);
  }
  /// The names of an argument with this number of tensors. Variables are among these where f receives values.
  template <class T>
  static void add_names(const T& argument, std::size_t tensors, LeafNames& names) {
    List<std::string> own, all;
    if constexpr (std::is_same_v<T, Generator>) {
      if (tensors == 1) names.streams.push_back(names.inputs.size());
    } else if constexpr (Tree<T>) {
      each_name(argument, [&](const std::string& name, const auto& leaf) {
        all.push_back(name);
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, Variable>)
          names.variables.emplace_back(leaf.id(), name);
        else
          own.push_back(name);
      });
    }
    const List<std::string>& chosen = own.size() == tensors ? own : all;
    for (std::size_t k = 0; k < tensors; ++k)
      names.inputs.push_back(chosen.size() == tensors ? chosen[k] : std::string());
  }
  template <class T>
  static void add_results(const T& y, LeafNames& names) {
    if constexpr (TupleLike<T>) {
      std::apply([&](const auto&... one) { (add_results(one, names), ...); }, y);
    } else {
      if constexpr (SparseMatrix<T>)
        names.patterns.push_back({names.outputs.size(), y.pattern.shape, y.pattern.row_starts, y.pattern.columns});
      each_name(y, [&](const std::string& name, const auto&) { names.outputs.push_back(name); });
    }
  }
  template <class F, class... A>
  static CSource generate_c(const Compiled<F>& f, const CodegenOptions& options, A&... args) {
    using Kept = KeptFor<F, std::remove_cvref_t<A>...>;
    static_assert(takes_kept<F, Kept>, "the function does not take these arguments: see compile()");
    constexpr auto numbers = std::index_sequence_for<A...>();
    BoundObjects bound;
    CallArguments arguments;
    arguments.bound = &bound;
    const auto parts = Compiled<F>::template add_all<Kept>(arguments, numbers, args...);
    LeafNames names;
    std::size_t part = 0;
    (add_names(args, parts[part++].tensors, names), ...);
    StandIns stand_ins{{}, bound.variables, {}};
    const auto flat = [f = f.f_, kept = Compiled<F>::template keep_all<Kept>(stand_ins, numbers, args...),
                       &names](std::span<const Tensor> leaves) mutable -> std::vector<Tensor> {
      if constexpr (std::is_void_v<decltype(Compiled<F>::call_kept(f, kept, leaves))>) {
        Compiled<F>::call_kept(f, kept, leaves);
        return {};
      } else {
        const auto y = Compiled<F>::call_kept(f, kept, leaves);
        add_results(y, names);
        return leaves_of("generate_c", y);
      }
    };
    return source_of(flat, arguments.tensors, options, names);
  }
};
}  // namespace detail

/// f, a function as compile() takes it, as C source for arguments like these.
template <class F, class... A>
CSource generate_c(F f, const CodegenOptions& options, A&&... args) {
  return detail::CompiledAccess::generate_c(compile(std::move(f)), options, args...);
}

}  // namespace reel
