// gradients, hessians and others on a tape that keeps recording; implicit gradients; parameters chosen at run time.
#include <algorithm>
#include <reel/gradients.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"

namespace reel {

namespace {

using tape::Tape;

// While it lives, replay neither stops nor uses up the tape, nor warns that the tape grows, which is intended here.
class KeepTape {
 public:
  explicit KeepTape(Tape& t)
      : tape_(t),
        persistent_(std::exchange(t.options.persistent, true)),
        warned_(std::exchange(t.warned_growth, true)) {}
  KeepTape(const KeepTape&) = delete;
  KeepTape& operator=(const KeepTape&) = delete;
  ~KeepTape() {
    tape_.options.persistent = persistent_;
    tape_.warned_growth = warned_;
  }

 private:
  Tape& tape_;
  bool persistent_, warned_;
};

Tape& innermost(const char* op) {
  for (Tape* t = tape::top(); t; t = t->below)
    if (t->kind == Tape::Kind::reverse && t->recording()) return *t;
  fail<TapeError>(op, "no tape of this thread is recording; open a GradientTape before the ys are computed");
}

void require_recording(const char* op, const Tape& t) {
  check_thread(t, op);
  if (t.status.load() != Tape::Status::on_stack || !t.recording())
    fail<TapeError>(op, "the tape does not record, so the first derivatives would be constants to it; call resume()");
}

std::vector<Gradient> gradients_on(Tape& t, const TargetList& ys, const SourceList& xs,
                                   const GradientOptions& options) {
  constexpr const char* op = "gradients";
  check_thread(t, op);
  if (t.used)
    fail<TapeError>(op,
                    "the tape was used up by GradientTape.gradient; make it persistent (TapeOptions.persistent), or "
                    "call gradients before");
  const KeepTape keep(t);
  return autodiff::as_vector(autodiff::replay(t, ys.list(), xs.list(), options, op));
}

std::vector<Gradient> hessians_on(Tape& t, const TargetList& ys, const SourceList& xs, const GradientOptions& options) {
  constexpr const char* op = "hessians";
  require_recording(op, t);
  const KeepTape keep(t);
  std::vector<Gradient> result = autodiff::as_vector(autodiff::replay(t, ys.list(), xs.list(), options, op));
  for (std::size_t k = 0; k < result.size(); ++k) {
    const Source& x = xs.list()[k];
    const DType dtype = autodiff::dtype_of_source(x);
    if (!is_differentiable(dtype)) continue;
    const Shape shape = autodiff::shape_of(x);
    result[k] = result[k] ? autodiff::jacobian(op, t, result[k], {&x, 1}, UnconnectedGradients::zero)[0]
                          : Gradient(zeros(autodiff::join(shape, shape), dtype));
  }
  return result;
}

std::vector<Gradient> product_on(Tape& t, const TargetList& ys, const SourceList& xs, const GradientList& vector) {
  constexpr const char* op = "hessian_vector_product";
  require_recording(op, t);
  const auto v = vector.list();
  if (!vector.is_number() && v.size() != xs.list().size())
    fail<ValueError>(op, "xs and v must have the same length. (They have {} and {} leaves.)", xs.list().size(),
                     v.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (!v[i]) fail<ValueError>(op, "leaf {} of v is none: {}", i, v[i].why_none());
    const Shape shape = v[i].is_slices() ? v[i].slices().dense_shape : v[i].dense().shape();
    if (const Shape x = autodiff::shape_of(xs.list()[i]); shape != x)
      fail<ShapeError>(op, "leaf {} of v has shape {}, that of xs {}", i, shape, x);
  }
  const KeepTape keep(t);
  std::vector<Gradient> first = autodiff::as_vector(autodiff::replay(t, ys.list(), xs.list(), {}, op));
  std::vector<Target> targets;
  std::vector<Tensor> weights;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!first[i]) continue;
    targets.emplace_back(first[i]);
    if (!vector.is_number()) weights.push_back(stop_gradient(v[i].dense()));
  }
  if (targets.empty()) return first;
  const GradientList output_gradients = vector.is_number() ? vector : GradientList(weights);
  return autodiff::as_vector(autodiff::replay(t, targets, xs.list(), {.output_gradients = output_gradients}, op));
}

}  // namespace

REEL_API std::vector<Gradient> gradients(const TargetList& ys, const SourceList& xs, const GradientOptions& options) {
  return gradients_on(innermost("gradients"), ys, xs, options);
}
REEL_API std::vector<Gradient> gradients(GradientTape& tape, const TargetList& ys, const SourceList& xs,
                                         const GradientOptions& options) {
  return gradients_on(GradientTapeAccess::get(tape), ys, xs, options);
}

REEL_API std::vector<Gradient> hessians(const TargetList& ys, const SourceList& xs, const GradientOptions& options) {
  return hessians_on(innermost("hessians"), ys, xs, options);
}
REEL_API std::vector<Gradient> hessians(GradientTape& tape, const TargetList& ys, const SourceList& xs,
                                        const GradientOptions& options) {
  return hessians_on(GradientTapeAccess::get(tape), ys, xs, options);
}

REEL_API std::vector<Gradient> hessian_vector_product(const TargetList& ys, const SourceList& xs,
                                                      const GradientList& v) {
  return product_on(innermost("hessian_vector_product"), ys, xs, v);
}
REEL_API std::vector<Gradient> hessian_vector_product(GradientTape& tape, const TargetList& ys, const SourceList& xs,
                                                      const GradientList& v) {
  return product_on(GradientTapeAccess::get(tape), ys, xs, v);
}

namespace {

std::string list_words(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

Parameters::Parameters(std::initializer_list<Parameter> list) : list_(list) {
  const auto is_name = [](const Parameter& p) { return !p.name().empty(); };
  const auto names = std::count_if(list_.begin(), list_.end(), is_name);
  if (names == 0 || names == std::ssize(list_)) return;
  std::vector<std::string> words;
  for (const Parameter& p : list_) words.push_back(is_name(p) ? '"' + p.name() + '"' : std::to_string(p.position()));
  fail<ValueError>("Parameters", "params must be all strings or all integers; got [{}].", list_words(words));
}

namespace detail {

Choice::Choice(const char* who, const Parameters& parameters, const std::vector<std::string>* names) : all_(false) {
  for (const Parameter& p : parameters.list()) {
    if (p.name().empty()) {
      positions_.push_back(p.position());
      continue;
    }
    if (!names)
      fail<ValueError>(who,
                       "Either callable provided is not a function or could not inspect its arguments by name: f. "
                       "Original error: a C++ function does not tell its parameters' names; give them with named(f, "
                       "\"{}\", ...)",
                       p.name());
    const auto found = std::find(names->begin(), names->end(), p.name());
    if (found == names->end())
      fail<ValueError>(who, "'{}' is not in the list of the function's parameters: {}", p.name(), list_words(*names));
    positions_.push_back(found - names->begin());
  }
}

List<Source> Choice::picked(const char* who, std::span<const Leaves> arguments) const {
  List<Source> list;
  const std::int64_t count = std::ssize(arguments);
  for (std::int64_t p : positions_) {
    if (p < -count || p >= count)
      fail<ValueError>(who, "parameter {} is out of range: the function was called with {} arguments", p, count);
    const Leaves& leaves = arguments[static_cast<std::size_t>(p < 0 ? p + count : p)];
    if (!leaves.parameter)
      fail<TypeError>(who,
                      "argument {} cannot be differentiated; pass a tensor, a tree of tensors, a floating-point number "
                      "or a vector of them",
                      p);
    for (const Source& s : leaves.list) list.push_back(s);
  }
  return list;
}

std::vector<std::pair<Gradient, Variable>> implicit(const char* who, GradientTape& tape,
                                                    std::span<const Target> targets) {
  for (const Target& y : targets) require_result(who, y.tensor());
  const std::vector<Variable> variables = tape.watched_variables();
  tape.stop();
  if (variables.empty())
    fail<ValueError>(who, "No trainable variables were accessed while the function was being computed.");
  const std::vector<Source> sources(variables.begin(), variables.end());
  autodiff::Gradients list = autodiff::replay(GradientTapeAccess::get(tape), targets, sources, {}, who);
  std::vector<std::pair<Gradient, Variable>> result;
  for (std::size_t i = 0; i < list.size(); ++i) result.emplace_back(std::move(list[i]), variables[i]);
  return result;
}

}  // namespace detail

}  // namespace reel
