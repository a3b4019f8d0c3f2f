// Trees in files, with the state that optimisers keep of their variables.
#include <bit>
#include <memory>
#include <reel/io.hpp>
#include <reel/ops/shape.hpp>
#include <set>

#include "core/fail.hpp"
#include "ops/apply/effect.hpp"
#include "optim/optimizer_state.hpp"
#include "tape/variable.hpp"

namespace reel::detail {
namespace {

enum class Format { npz, safetensors };

Format format_of(const char* op, const std::string& path) {
  if (path.ends_with(".npz")) return Format::npz;
  if (path.ends_with(".safetensors")) return Format::safetensors;
  fail<ValueError>(op, "{}: the path must end with .npz or .safetensors", path);
}

// Not recorded, unlike Variable::read. In a traced function it gives the traced value, which cannot be saved.
Tensor current_value(const Variable& v) {
  if (ops::handled(ops::reads_variables)) return v.read();
  Tensor result;
  VariableAccess::modify(v, [&](const Tensor& value) { result = value; });
  return result;
}

// The name of a tree that is one leaf.
std::string name_or_value(const std::string& name) { return name.empty() ? "value" : name; }

// "'a', 'b', ...": the names in a file, as many as a message has room for.
std::string first_names(const NamedTensors& file) {
  std::string names;
  int count = 0;
  for (const auto& entry : file) {
    if (!names.empty()) names += ", ";
    if (++count > 5) return names += "...";
    names += '\'' + entry.first + '\'';
  }
  return names.empty() ? "no tensor" : names;
}

std::string state_prefix(int position, const char* kind) { return fmt::format("state.{}.{}.", position, kind); }

Tensor tensor_of(bool flag) { return scalar(flag); }
Tensor tensor_of(const Hyperparameter& number) { return OptimizerAccess::value(number); }

std::int64_t as_signed(std::uint64_t number) { return std::bit_cast<std::int64_t>(number); }

// The distinct variables, each under the first of its names.
List<NamedVariable> distinct(const List<NamedVariable>& all) {
  std::set<std::uint64_t> ids;
  List<NamedVariable> result;
  for (const NamedVariable& v : all)
    if (ids.insert(v.variable.id()).second) result.push_back(v);
  return result;
}

template <class T>
void insert(const char* op, std::map<std::string, T>& tensors, const std::string& name, const T& value) {
  if (!tensors.emplace(name, value).second) fail<ValueError>(op, "two leaves are named '{}'", name);
}
void insert(const char* op, NamedTensors& tensors, const std::string& name, const Tensor& value) {
  if (!value.defined()) fail<ValueError>(op, "'{}' is an empty handle", name);
  insert<Tensor>(op, tensors, name, value);
}
void insert(NamedTensors& tensors, const std::string& name, const Tensor& value) {
  insert("save", tensors, name, value);
}

}  // namespace

void add_named(NamedTensors& leaves, const std::string& name, const Tensor& leaf) {
  insert("named", leaves, name_or_value(name), leaf);
}

std::map<std::string, Gradient> pair_names(std::span<const std::string> names, std::span<const Gradient> gradients) {
  if (names.size() != gradients.size())
    fail<ValueError>("named", "the tree has {} leaves, there are {} gradients", names.size(), gradients.size());
  std::map<std::string, Gradient> pairs;
  for (std::size_t k = 0; k < names.size(); ++k)
    insert<Gradient>("named", pairs, name_or_value(names[k]), gradients[k]);
  return pairs;
}

void Saver::add_leaf(const std::string& name, const Tensor& leaf) { insert(tensors_, name_or_value(name), leaf); }

void Saver::add_leaf(const std::string& name, const Gradient& leaf) {
  if (leaf) insert(tensors_, name_or_value(name), leaf.dense());
}

void Saver::add_leaf(const std::string& name, const Variable& leaf) {
  add_leaf(name, current_value(leaf));
  variables_.push_back({name_or_value(name), leaf});
}

template <class Optimizer>
void Saver::add_optimizer(const char* kind, const Optimizer& optimizer) {
  const std::string prefix = state_prefix(states_++, kind);
  OptimizerAccess::for_each_option(optimizer.options, [&](const char* name, const auto& option, OptionDomain) {
    insert(tensors_, prefix + name, tensor_of(option));
  });
  const auto& states = OptimizerAccess::states(optimizer);
  std::size_t saved = 0;
  for (const NamedVariable& named : distinct(variables_)) {
    const auto found = states.find(named.variable.id());
    if (found == states.end()) continue;
    ++saved;
    OptimizerAccess::for_each_part(found->second, [&](const char* part, const auto& memory) {
      const Tensor value = OptimizerAccess::value(memory);
      if (value.defined()) insert(tensors_, prefix + part + "." + named.name, value);
    });
  }
  if (saved != states.size())
    fail<ValueError>(
        "save",
        "{} keeps state of {} variables that are no leaves of the tree; save it with the whole model, or forget() them",
        kind, states.size() - saved);
}

#define REEL_ADD(Optimizer, kind) \
  void Saver::add_state(const Optimizer& optimizer) { add_optimizer(kind, optimizer); }
REEL_OPTIMIZERS(REEL_ADD)
#undef REEL_ADD
void Saver::add_state(const Generator& generator) {
  const std::string prefix = state_prefix(states_++, "generator");
  insert(tensors_, prefix + "seed", scalar(as_signed(generator.seed())));
  insert(tensors_, prefix + "position", scalar(as_signed(generator.position())));
}

void Saver::write(const std::string& path) {
  format_of("save", path) == Format::npz ? save_npz(path, tensors_) : save_safetensors(path, tensors_);
}

Loader::Loader(const std::string& path)
    : path_(path), file_(format_of("load", path) == Format::npz ? load_npz(path) : load_safetensors(path)) {}

Tensor Loader::take(const std::string& name, DType dtype, const Shape& shape) {
  const auto found = file_.find(name);
  if (found == file_.end()) fail<IoError>("load", "{}: holds no '{}', but {}", path_, name, first_names(file_));
  const Tensor value = found->second;
  if (value.dtype() != dtype || value.shape() != shape)
    fail<IoError>("load", "{}: '{}' is {} {}, must be {} {}", path_, name, value.dtype(), value.shape(), dtype, shape);
  taken_.insert(name);
  return value;
}

void Loader::find_leaf(const std::string& name, Tensor& leaf) {
  const std::string key = name_or_value(name);
  const auto found = file_.find(key);
  const Tensor& like = leaf.defined() || found == file_.end() ? leaf : found->second;
  const Tensor value = like.defined() ? take(key, like.dtype(), like.shape()) : take(key, DType::float64, {});
  assignments_.push_back([&leaf, value] { leaf = value; });
}

void Loader::find_leaf(const std::string& name, const Variable& leaf) {
  const Tensor value = take(name_or_value(name), leaf.dtype(), leaf.shape());
  if (ops::handled(ops::writes_variables)) {
    assignments_.push_back([leaf, value] { leaf.assign(value); });
  } else {
    const Tensor fresh = detail::alias(contiguous(value));
    assignments_.push_back([leaf, fresh] { VariableAccess::modify(leaf, [&](Tensor& old) { old = fresh; }); });
  }
  variables_.push_back({name_or_value(name), leaf});
}

// The part of a variable's state in the file; without one, the state of a variable that was never stepped.
Tensor Loader::take_part(const std::string& name, const StateTensor& part, const Variable& of) {
  if (file_.count(name)) return take(name, kept_dtype(of.dtype()), of.shape());
  return OptimizerAccess::has_variable(part) ? zeros(of.shape(), kept_dtype(of.dtype())) : Tensor();
}
std::int64_t Loader::take_part(const std::string& name, const StateNumber<std::int64_t>&, const Variable&) {
  if (!file_.count(name)) return 0;
  const auto count = take(name, DType::int64, {}).item<std::int64_t>();
  if (count < 0 || count == INT64_MAX) fail<IoError>("load", "{}: '{}' is {}, no count of steps", path_, name, count);
  return count;
}

// Throws what the optimiser's constructor throws, as an IoError.
template <class Optimizer>
void Loader::check_options(const Optimizer& optimizer, const std::string& prefix) {
  std::remove_cvref_t<decltype(optimizer.options)> options;
  OptimizerAccess::for_each_option(options, [&]<class Option>(const char* name, Option& option, OptionDomain) {
    using Number = std::conditional_t<std::is_same_v<Option, bool>, bool, double>;
    option = take(prefix + name, dtype_of<Number>, {}).template item<Number>();
  });
  try {
    const Optimizer accepted(options);
  } catch (const ValueError& refused) {
    fail<IoError>("load", "{}: {}", path_, refused.what());
  }
}

template <class Optimizer>
void Loader::find_optimizer(const char* kind, Optimizer& optimizer) {
  const std::string prefix = state_prefix(states_++, kind);
  check_options(optimizer, prefix);
  const bool traced = ops::handled(ops::writes_variables);
  const auto assign = [&](auto& number, auto value, const Tensor& fresh) {
    assignments_.push_back([&number, value, fresh, traced] {
      if (traced)
        number = value;
      else
        OptimizerAccess::set(number, value, fresh);
    });
  };
  OptimizerAccess::for_each_option(optimizer.options,
                                   [&]<class Option>(const char* name, Option& option, OptionDomain) {
                                     if constexpr (std::is_same_v<Option, bool>) {
                                       const bool value = take(prefix + name, DType::boolean, {}).template item<bool>();
                                       assignments_.push_back([&option, value] { option = value; });
                                     } else {
                                       const Tensor value = take(prefix + name, DType::float64, {});
                                       assign(option, value.item(), detail::alias(value));
                                     }
                                   });
  auto& states = OptimizerAccess::states(optimizer);
  using States = std::remove_reference_t<decltype(states)>;
  for (const NamedVariable& named : distinct(variables_)) {
    const std::uint64_t id = named.variable.id();
    const auto known = states.find(id);
    // The state of a variable that was never stepped joins the others when all is found.
    const auto fresh = known == states.end() ? std::make_shared<States>() : nullptr;
    OptimizerAccess::for_each_part(
        fresh ? (*fresh)[id] : known->second, [&]<class Part>(const char* part, Part& memory) {
          const auto value = take_part(prefix + part + "." + named.name, memory, named.variable);
          if constexpr (std::is_same_v<Part, StateTensor>)
            assignments_.push_back([fresh, &memory, value] { OptimizerAccess::set(memory, value); });
          else
            assign(memory, value, scalar(value));
        });
    if (fresh) assignments_.push_back([fresh, &states] { states.merge(*fresh); });
  }
}

#define REEL_FIND(Optimizer, kind) \
  void Loader::find_state(Optimizer& optimizer) { find_optimizer(kind, optimizer); }
REEL_OPTIMIZERS(REEL_FIND)
#undef REEL_FIND
void Loader::find_state(Generator& generator) {
  const std::string prefix = state_prefix(states_++, "generator");
  const auto number = [&](const char* name) {
    return std::bit_cast<std::uint64_t>(take(prefix + name, DType::int64, {}).item<std::int64_t>());
  };
  Generator found(number("seed"));
  found.take(number("position"));
  assignments_.push_back([&generator, found] { generator = found; });
}

void Loader::assign_all() {
  for (const auto& [name, value] : file_)
    if (!taken_.count(name)) fail<IoError>("load", "{}: holds '{}', which nothing in the tree is named", path_, name);
  for (const Callback<void()>& assign : assignments_) assign();
}

}  // namespace reel::detail
