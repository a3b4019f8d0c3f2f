// The non-template part of the wrappers in functions.hpp, on flat lists: checks, the tape of a vjp, Jacobians.
#include <algorithm>
#include <reel/forward.hpp>
#include <reel/functions.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/forward/pushforward.hpp"
#include "gradient/gradient.hpp"
#include "ops/make/identity_rows.hpp"

namespace reel::detail {

namespace {

using reel::autodiff::dtype_of_source, reel::autodiff::shape_of;

List<Tensor> densify(reel::autodiff::Gradients gradients) {
  List<Tensor> list;
  list.reserve(gradients.size());
  for (Gradient& g : gradients) list.push_back(g && !g.is_slices() ? std::move(GradientAccess::value(g)) : g.dense());
  return list;
}

// A Jacobian column by column, in forward mode: one pass per element of the sources. Results target by target.
List<Tensor> columns(tape::Tape& tape, std::span<const Tensor> targets, std::span<const Source> sources) {
  std::vector<List<Tensor>> parts(targets.size() * sources.size());
  List<Tensor> tangents(sources.size());
  for (std::size_t s = 0; s < sources.size(); ++s) {
    const Shape shape = shape_of(sources[s]);
    const DType dtype = dtype_of_source(sources[s]);
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      tangents[s] = ops::identity_rows(shape, dtype, 0, shape.elements(), i);
      std::vector<Tensor> column = reel::autodiff::pushforward(tape, sources, tangents, targets);
      for (std::size_t t = 0; t < targets.size(); ++t) {
        if (!column[t].defined()) column[t] = zeros(targets[t].shape(), dtype);
        parts[t * sources.size() + s].push_back(column[t].dtype() == dtype ? column[t] : cast(column[t], dtype));
      }
    }
    tangents[s] = {};
  }
  List<Tensor> result;
  for (std::size_t t = 0; t < targets.size(); ++t)
    for (std::size_t s = 0; s < sources.size(); ++s) {
      const Shape shape = reel::autodiff::join(targets[t].shape(), shape_of(sources[s]));
      const List<Tensor>& list = parts[t * sources.size() + s];
      result.push_back(list.empty() ? zeros(shape, dtype_of_source(sources[s])) : reshape(stack(list, -1), shape));
    }
  return result;
}

// The same, all columns at once: the reverse pass is linear in the cotangents, so the rows of its own Jacobian by them
// are the columns. It is recorded once, from zeros, and replayed for many rows.
List<Tensor> columns_at_once(const char* who, tape::Tape& tape, std::span<const Tensor> targets,
                             std::span<const Source> sources) {
  GradientTape pass({.persistent = true, .watch_accessed_variables = false});
  std::vector<Tensor> zero;
  for (const Tensor& y : targets) zero.push_back(zeros(y.shape(), y.dtype()));
  const List<Source> cotangents(zero.begin(), zero.end());
  watch_all(pass, cotangents);
  const List<Tensor> pulled = densify(
      reel::autodiff::replay(tape, List<Target>(targets.begin(), targets.end()), sources,
                             {.output_gradients = zero, .unconnected_gradients = UnconnectedGradients::zero}, who));
  pass.stop(no_line);
  List<Tensor> result(targets.size() * sources.size());
  for (std::size_t s = 0; s < sources.size(); ++s) {
    const auto list =
        reel::autodiff::jacobian(who, GradientTapeAccess::get(pass), pulled[s], cotangents, UnconnectedGradients::zero);
    const std::int64_t count = shape_of(sources[s]).elements();
    for (std::size_t t = 0; t < targets.size(); ++t) {
      const Tensor columns = transpose(reshape(list[t].dense(), {count, targets[t].size()}));
      const Tensor same = cast(contiguous(columns), dtype_of_source(sources[s]));
      result[t * sources.size() + s] = reshape(same, reel::autodiff::join(targets[t].shape(), shape_of(sources[s])));
    }
  }
  return result;
}

// Row by row, in reverse mode: each pass carries many elements of a target.
List<Tensor> rows(const char* who, tape::Tape& tape, std::span<const Tensor> targets, std::span<const Source> sources) {
  List<Tensor> result;
  for (const Tensor& y : targets)
    for (const Gradient& g : reel::autodiff::jacobian(who, tape, y, sources, UnconnectedGradients::zero))
      result.push_back(g.dense());
  return result;
}

}  // namespace

void require_result(const char* who, const Tensor& y) {
  if (!y.defined())
    fail<ValueError>(who,
                     "Cannot differentiate a function that returns None; did you forget to return a value from f? (An "
                     "empty tensor is none.)");
}

Tensor fresh(const char* who, const Tensor& x) {
  if (!x.defined()) fail<ValueError>(who, "a tensor is empty (default-constructed or moved from)");
  return identity(x);
}

Tensor fresh_result(const char* who, const Tensor& y) {
  require_result(who, y);
  return identity(y);
}

void require_differentiable(const char* who, std::span<const Source> sources) {
  for (const Source& s : sources)
    if (const DType d = dtype_of_source(s); !is_differentiable(d))
      fail<TypeError>(
          who,
          "a parameter to differentiate holds {} values, which carry no gradient; cast it to a floating dtype, "
          "or pick the others: {}<0, ...>(f)",
          d, who);
}

void watch_all(GradientTape& tape, std::span<const Source> sources) {
  for (const Source& s : sources)
    if (s.is_variable())
      tape.watch(s.variable());
    else
      tape.watch(s.tensor());
}

void require_scalar(const char* who, const Tensor& y) {
  require_result(who, y);
  if (!is_floating(y.dtype()))
    fail<TypeError>(who, "the function must return a real floating tensor, not {}{}", y.dtype(),
                    is_complex(y.dtype()) ? "; take abs or the real part" : "; cast it");
  if (y.size() != 1)
    fail<ShapeError>(who,
                     "the function must return a tensor of size 1, not of shape {}; reduce it (sum, mean), or use "
                     "jacobian or make_vjp",
                     y.shape());
}

List<Tensor> gradients(GradientTape& tape, const Tensor& value, std::span<const Source> sources) {
  const Target target(value);
  return densify(reel::autodiff::replay(GradientTapeAccess::get(tape), {&target, 1}, sources,
                                        {.unconnected_gradients = UnconnectedGradients::zero}, "GradientTape.gradient",
                                        reel::autodiff::Slices::densified));
}

// How many batched rows cost as much as one column, which is computed alone. Measured on networks, exponential fits and
// elementwise functions of 4 to 128 parameters: rows and columns take the same time at 4 to 8 results per parameter; at
// 2, rows take half the time, at 16 two to eight times as much.
constexpr std::int64_t rows_per_column = 4;
// The same if a rule on the path must be called once per row.
constexpr std::int64_t rows_per_column_unbatched = 2;

// Whether the columns of a Jacobian along this path are computed at once. Measured on exponential fits, networks and
// sums over tables of 2 to 64 parameters, 16 to 262144 results, columns one by one against all at once: with 2
// parameters 0.45 to 0.85, with 4 0.65 to 1.2, from 8 on 1.04 to 2.8 where the columns of the largest tensor have up to
// 2^19 elements; beyond, between 0.5 and 2.3.
bool at_once(const reel::autodiff::Path& path, std::int64_t columns) {
  constexpr std::int64_t fewest = 8, most_elements = std::int64_t{1} << 19;
  return path.linear && columns >= fewest && path.largest <= most_elements / columns;
}

List<Tensor> jacobians(const char* who, GradientTape& tape, std::span<const Tensor> targets,
                       std::span<const Source> sources) {
  std::int64_t in = 0, out = 0;
  for (const Tensor& y : targets) {
    require_result(who, y);
    if (!is_floating(y.dtype()))
      fail<TypeError>(who, "the function must return real floating tensors, not {}", y.dtype());
    out += y.size();
  }
  for (const Source& s : sources) {
    if (is_complex(dtype_of_source(s))) fail<TypeError>(who, "complex parameters are not supported; use real ones");
    in += shape_of(s).elements();
    for (const Tensor& y : targets)
      if (y.rank() + shape_of(s).rank() > max_rank)
        fail<ShapeError>(who, "results of rank {} by parameters of rank {} make a rank above {}; flatten them",
                         y.rank(), shape_of(s).rank(), max_rank);
  }
  tape::Tape& t = GradientTapeAccess::get(tape);
  // The common case, reverse mode, is decided without a walk over the entries.
  if (in > out / rows_per_column_unbatched) return rows(who, t, targets, sources);
  const reel::autodiff::Path path = reel::autodiff::path_between(t, sources, targets);
  const std::int64_t most = out / (path.one_by_one ? rows_per_column_unbatched : rows_per_column);
  if (path.can_push && in <= most)
    if (auto found = reel::autodiff::if_differentiable([&] {
          return at_once(path, in) ? columns_at_once(who, t, targets, sources) : columns(t, targets, sources);
        }))
      return std::move(*found);
  return rows(who, t, targets, sources);
}

Tensor batch_jacobian(const char* who, GradientTape& tape, const Tensor& target, const Source& source) {
  require_result(who, target);
  return reel::autodiff::batch_jacobian(who, GradientTapeAccess::get(tape), target, source, UnconnectedGradients::zero)
      .dense();
}

List<Tensor> products(const char* who, GradientTape& tape, std::span<const Tensor> targets,
                      std::span<const Source> sources, const GradientList& constants) {
  const auto v = constants.list();
  if (constants.given() && !constants.is_number()) {
    if (v.size() != sources.size())
      fail<ValueError>(who, "xs and v must have the same length: they have {} and {} leaves", sources.size(), v.size());
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (!v[i]) fail<ValueError>(who, "leaf {} of v is none", i);
      if (const Shape s = v[i].dense().shape(), x = shape_of(sources[i]); s != x)
        fail<ShapeError>(who, "leaf {} of v has shape {}, that of x {}", i, s, x);
    }
  }
  const List<Target> list(targets.begin(), targets.end());
  return densify(
      reel::autodiff::replay(GradientTapeAccess::get(tape), list, sources,
                             {.output_gradients = constants, .unconnected_gradients = UnconnectedGradients::zero}, who,
                             reel::autodiff::Slices::densified));
}

struct Recording::State {
  State(const char* by, List<Source> list, bool persistent)
      : who(by), sources(std::move(list)), tape({.persistent = persistent, .watch_accessed_variables = false}) {}
  int uses = 1;
  const char* who;
  List<Source> sources;
  List<Target> targets;
  List<Tensor> results;
  GradientTape tape;
};

Recording::Recording(const char* who, List<Source> sources, bool persistent)
    : state_(new State(who, std::move(sources), persistent)) {
  try {
    watch_all(state_->tape, state_->sources);
  } catch (...) {
    delete state_;
    throw;
  }
}
Recording::Recording(const Recording& other) noexcept : state_(other.state_) {
  __atomic_fetch_add(&state_->uses, 1, __ATOMIC_RELAXED);
}
Recording::~Recording() {
  if (__atomic_fetch_sub(&state_->uses, 1, __ATOMIC_ACQ_REL) == 1) delete state_;
}

void Recording::end(List<Tensor> targets) {
  state_->tape.stop();
  state_->targets.assign(targets.begin(), targets.end());
  state_->results = std::move(targets);
}

List<Tensor> Recording::push(const GradientList& tangents) const {
  return detail::push(state_->who, state_->tape, state_->sources, tangents, state_->results);
}

std::vector<Gradient> Recording::pull(const GradientList& dy) const {
  if (dy.given() && !dy.is_number()) {
    if (dy.list().size() != state_->targets.size())
      fail<ValueError>(state_->who, "Passed {} grad_ys for {} ys", dy.list().size(), state_->targets.size());
    for (std::size_t i = 0; i < dy.list().size(); ++i)
      if (!dy.list()[i]) fail<ValueError>(state_->who, "cotangent {} is none: {}", i, dy.list()[i].why_none());
  }
  return reel::autodiff::as_vector(reel::autodiff::replay(GradientTapeAccess::get(state_->tape), state_->targets,
                                                          state_->sources, {.output_gradients = dy}, state_->who));
}

}  // namespace reel::detail
