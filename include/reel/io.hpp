// Optional header: tensors and whole models in files. npy and npz are NumPy's formats, safetensors is Hugging Face's.
//
// A reader accepts any bytes: it returns or throws IoError, which names the file, the place in it, and the fault. It
// trusts no length stated in a file, and allocates at most twice the file's size and 384 bytes for each tensor, apart
// from inflated data, widened integers and the float64 elements of load_csv. A writer creates a new file beside the old
// one and renames it when it is complete and on disk, so that a crash leaves one or the other, and perhaps a file
// ".NAME.reel0.tmp", which the next save to NAME removes. It writes through symbolic links, also to a file that does
// not exist yet. A path with a NUL byte is an IoError. Nothing is recorded on tapes. Elements are saved in row-major
// order, whatever the strides.
//
// Integers of types that no tensor has are widened where npy, npz and safetensors files are read: int8, int16 and
// uint16 to int32, uint32 and uint64 to int64. IoError for a uint64 that int64 does not hold.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/ops/make.hpp>
#include <reel/optim.hpp>
#include <reel/tensor.hpp>
#include <reel/tree.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace REEL_API reel {

/// Tensors by name, as npz and safetensors files hold them.
using NamedTensors = std::map<std::string, Tensor>;

/// The array of an npy file: format versions 1 to 3, both byte orders, any shape of rank up to max_rank. An array in
/// Fortran order becomes a view with transposed strides. bfloat16 is read from the raw two-byte type V2, as ml_dtypes
/// writes it. IoError for dtypes without an equivalent (strings, records, objects, ...), and for bytes behind the
/// array.
Tensor load_npy(const std::string& path);
/// Writes format version 1, little-endian, C order; bfloat16 as V2. Replaces what is there.
void save_npy(const std::string& path, const Tensor& x);

/// The arrays of an npz file, named without ".npy": stored or deflated, including zip64. Checksums must be right.
NamedTensors load_npz(const std::string& path);

/// Options of save_npz().
struct NpzOptions {
  bool compressed = false;  ///< deflate, as numpy.savez_compressed does; otherwise stored, as numpy.savez
};
/// Writes what numpy.load reads. ValueError for a name that is empty or longer than 65531 bytes.
void save_npz(const std::string& path, const NamedTensors& tensors, const NpzOptions& options = {});

/// Options of load_safetensors().
struct SafetensorsOptions {
  /// Maps the file into memory and borrows its elements instead of copying them (booleans, integers that are widened,
  /// and elements that are not aligned in the file, are copied). The file must not change while a tensor of it lives.
  bool mapped = false;
};
/// The tensors of a safetensors file, whose header must name every byte of its data once. The format has complex64, but
/// not complex128.
NamedTensors load_safetensors(const std::string& path, const SafetensorsOptions& options = {});
/// The texts that the header holds under "__metadata__".
std::map<std::string, std::string> load_safetensors_metadata(const std::string& path);
/// TypeError for complex128; ValueError for a name or a text that is not UTF-8, and for the name "__metadata__".
void save_safetensors(const std::string& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {});

/// Options of load_csv().
struct CsvOptions {
  /// The separator of numbers. A space stands for any run of spaces and tabs.
  char delimiter = ',';
  std::int64_t skip = 0;                   ///< lines at the start that hold no numbers
  std::vector<std::int64_t> columns = {};  ///< to read, in this order; negative ones count from the end; empty: all
};
/// Numbers as text, float64 [lines, columns]: the same count in each line, empty lines skipped, "inf" and "nan"
/// allowed. IoError names line and column of a field that is not a number or does not fit float64; IndexError for a
/// column that does not exist.
Tensor load_csv(const std::string& path, const CsvOptions& options = {});

namespace detail {

struct NamedVariable {
  std::string name;
  Variable variable;
};

/// The name of the current part of a tree during a walk.
class NamePath {
 public:
  const std::string& text() const noexcept { return text_; }
  template <class F>
  void within(std::string_view part, F&& f) {
    const std::size_t length = text_.size();
    if (length) text_ += '.';
    text_ += part;
    f();
    text_.resize(length);
  }

 private:
  std::string text_;
};

template <class T>
concept HasNames = requires(const T& t) {
  std::tuple_size<std::remove_cvref_t<decltype(t.names())>>::value;
};
template <class T>
concept MapNode = requires {
  typename T::mapped_type;
};
template <class T>
concept ListNode = requires(T& t) {
  t.begin(), t.end();
};

template <class Key>
std::string name_of_key(const Key& key) {
  if constexpr (std::is_arithmetic_v<Key>)
    return std::to_string(key);
  else
    return std::string(std::string_view(key));
}

/// Calls f(name, leaf) for every leaf, in the order of for_each_leaf; the leaves of a const node are const.
template <class T, class F>
void for_each_named(T& node, NamePath& path, F& f);

template <bool Const, class Parts, class Names, class F>
void for_each_part(Parts& parts, const Names& names, NamePath& path, F& f) {
  const auto one = [&](auto& part, std::size_t i) {
    path.within(names(i), [&] {
      if constexpr (Const)
        for_each_named(std::as_const(part), path, f);
      else
        for_each_named(part, path, f);
    });
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (one(std::get<I>(parts), I), ...); }
  (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<Parts>>>());
}

template <bool Const, HasLeaves S, class F>
void for_each_member(S& node, NamePath& path, F& f) {
  auto parts = node.leaves();
  if constexpr (HasNames<S>) {
    const auto names = node.names();
    static_assert(std::tuple_size_v<std::remove_cvref_t<decltype(names)>> == std::tuple_size_v<decltype(parts)>,
                  "names() must give one name for each part that leaves() ties");
    for_each_part<Const>(
        parts, [&](std::size_t i) { return std::string(names[i]); }, path, f);
  } else {
    for_each_part<Const>(
        parts, [](std::size_t i) { return std::to_string(i); }, path, f);
  }
}

template <class T, class F>
void for_each_named(T& node, NamePath& path, F& f) {
  using Node = std::remove_const_t<T>;
  constexpr bool is_const = std::is_const_v<T>;
  const auto position = [](std::size_t i) { return std::to_string(i); };
  if constexpr (Leaf<Node>) {
    static_assert(!std::is_same_v<Node, IndexedSlices>, "files hold tensors, variables and gradients");
    f(path.text(), node);
  } else if constexpr (HasLeaves<Node> && is_const) {
    Node copy(node);  // leaves() is for mutable structs; a copy has the same handles
    for_each_member<true>(copy, path, f);
  } else if constexpr (HasLeaves<Node>) {
    for_each_member<false>(node, path, f);
  } else if constexpr (MapNode<Node>) {
    for (auto& entry : node) path.within(name_of_key(entry.first), [&] { for_each_named(entry.second, path, f); });
  } else if constexpr (ListNode<Node>) {
    std::size_t i = 0;
    for (auto& part : node) path.within(position(i++), [&] { for_each_named(part, path, f); });
  } else {
    for_each_part<is_const>(node, position, path, f);
  }
}

/// Adds a leaf. ValueError, of named, if there is one of this name, or if it is empty.
void add_named(NamedTensors& leaves, const std::string& name, const Tensor& leaf);
/// ValueError unless there are as many names as gradients, all different.
std::map<std::string, Gradient> pair_names(std::span<const std::string> names, std::span<const Gradient> gradients);

/// What a call of save writes, collected before the file is begun.
class Saver {
 public:
  template <class T>
  void add_tree(const T& tree) {
    NamePath path;
    auto add = [this](const std::string& name, const auto& leaf) { this->add_leaf(name, leaf); };
    for_each_named(tree, path, add);
  }
#define REEL_DECLARATION(Optimizer, name) void add_state(const Optimizer& optimizer);
  REEL_OPTIMIZERS(REEL_DECLARATION)
#undef REEL_DECLARATION
  void add_state(const Generator& generator);
  void write(const std::string& path);

 private:
  template <class Optimizer>
  void add_optimizer(const char* kind, const Optimizer& optimizer);
  void add_leaf(const std::string& name, const Tensor& leaf);
  void add_leaf(const std::string& name, const Variable& leaf);
  void add_leaf(const std::string& name, const Gradient& leaf);

  NamedTensors tensors_;
  List<NamedVariable> variables_;
  int states_ = 0;
};

/// What a call of load reads: everything is found and compared first, then assigned.
class Loader {
 public:
  explicit Loader(const std::string& path);
  template <class T>
  void find_tree(T& tree) {
    NamePath path;
    auto find = [this](const std::string& name, auto& leaf) {
      static_assert(!std::is_same_v<decltype(leaf), const Tensor&>, "load(path, tree): the tree's tensors are const");
      static_assert(!std::is_same_v<std::remove_cvref_t<decltype(leaf)>, Gradient>,
                    "load(path, tree): read gradients as tensors");
      this->find_leaf(name, leaf);
    };
    for_each_named(tree, path, find);
  }
#define REEL_DECLARATION(Optimizer, name) void find_state(Optimizer& optimizer);
  REEL_OPTIMIZERS(REEL_DECLARATION)
#undef REEL_DECLARATION
  void find_state(Generator& generator);
  void assign_all();

 private:
  template <class Optimizer>
  void check_options(const Optimizer& optimizer, const std::string& prefix);
  template <class Optimizer>
  void find_optimizer(const char* kind, Optimizer& optimizer);
  void find_leaf(const std::string& name, Tensor& leaf);
  void find_leaf(const std::string& name, const Variable& leaf);
  Tensor take(const std::string& name, DType dtype, const Shape& shape);
  Tensor take_part(const std::string& name, const StateTensor& part, const Variable& of);
  std::int64_t take_part(const std::string& name, const StateNumber<std::int64_t>& part, const Variable& of);

  std::string path_;
  NamedTensors file_;
  std::set<std::string> taken_;
  List<NamedVariable> variables_;
  List<Callback<void()>> assignments_;
  int states_ = 0;
};

}  // namespace detail

/// Saves a tree, and the state of optimisers and generators: `save(path, model, adam, generator)`. The extension of the
/// path selects the format, .npz or .safetensors (ValueError for others).
///
/// A leaf's name joins its position in the tree with dots: keys of maps, positions in lists and tuples, and for a
/// struct what `names()` returns beside `leaves()`, or positions without it:
///     auto leaves() { return std::tie(weight, bias); }
///     auto names() const { return std::array{"weight", "bias"}; }
/// ValueError when two leaves have the same name, or when an optimiser has state of a variable that is not in the tree.
/// Gradients are saved dense; none is left out.
template <Tree T, class... State>
void save(const std::string& path, const T& tree, const State&... state) {
  detail::Saver saver;
  saver.add_tree(tree);
  (saver.add_state(state), ...);
  saver.write(path);
}

/// The leaves of a tree, variables by their values, under the names that save gives them. ValueError when two leaves
/// have the same name, or one is empty.
template <Tree T>
NamedTensors named(const T& tree) {
  NamedTensors leaves;
  detail::NamePath path;
  auto add = [&](const std::string& name, const auto& leaf) { detail::add_named(leaves, name, leaf); };
  detail::for_each_named(tree, path, add);
  return leaves;
}
/// The gradients of a tree's leaves under their names, to print or to save: `save(path, named(model, gradients))`. They
/// are a tree with as many leaves in the same order (ValueError otherwise), such as what tape.gradient(loss, model)
/// returns.
template <Tree T, Tree G>
std::map<std::string, Gradient> named(const T& tree, const G& gradients) {
  detail::List<std::string> names;
  detail::NamePath path;
  auto add = [&](const std::string& name, const auto&) { names.push_back(name); };
  detail::for_each_named(tree, path, add);
  detail::List<Gradient> leaves;
  for_each_leaf(gradients, [&](const auto& leaf) { leaves.emplace_back(leaf); });
  return detail::pair_names(names, leaves);
}

/// Reads what save wrote for such a tree, so that a training run continues bit for bit: assigns its variables, replaces
/// its tensors, and sets the options, moments and counts of the optimisers. IoError, before anything is changed, if a
/// name is missing, if the file has a name that is not in the tree, if a shape or dtype differs (an empty Tensor
/// accepts any), or if the optimiser refuses an option (a learning_rate of NaN). Outside of traced functions,
/// std::bad_alloc leaves everything as it was too.
template <class T, class... State>
requires Tree<std::remove_cvref_t<T>>
void load(const std::string& path, T&& tree, State&... state) {
  detail::Loader loader(path);
  loader.find_tree(tree);
  (loader.find_state(state), ...);
  loader.assign_all();
}

}  // namespace reel
