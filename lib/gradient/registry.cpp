// Ops of the user: recorded with a function, or with a name that is looked up at replay.
#include <atomic>
#include <map>
#include <mutex>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <reel/registry.hpp>
#include <set>

#include "core/fail.hpp"
#include "core/word.hpp"
#include "gradient/control/composite_entry.hpp"
#include "gradient/gradient.hpp"
#include "ops/apply/entry_values.hpp"
#include "ops/apply/operation.hpp"
#include "program/trace.hpp"
#include "tape/capture.hpp"
#include "tape/function_scope.hpp"

namespace reel {

namespace autodiff {

// The override of one guard, an element of the thread's list. It lives on while its function runs.
struct Override {
  std::string name;
  GradientFunction gradient;
  Override* below;
  std::int64_t serial;  // unique in the process
  int uses = 1;
};

namespace {

// By op name; an empty function means "no gradient".
struct Registry {
  std::mutex mutex;
  std::map<std::string, GradientFunction, std::less<>> entries;
};
Registry& registry() {
  static Registry& r = *new Registry;  // never destroyed: a static object may replay in its destructor
  return r;
}
// The name as a string with static lifetime: reasons and traces outlive ops.
const char* intern_name(std::string_view name) {
  // A thread mostly records the same op again and again.
  const char*& last = detail::thread_state().interned;
  if (last && name == last) return last;
  static std::mutex& mutex = *new std::mutex;
  static auto& names = *new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  auto found = names.find(name);
  if (found == names.end()) found = names.emplace(name).first;
  return last = found->c_str();
}

// The user's part of a recorded op. The attributes of its entries hold the pointer, and whether a tape inside recorded
// the op too; entries on several tapes share it.
struct UserOp {
  std::atomic<int> uses{1};
  tape::Rule rule;
  const char* name;
  BackwardFunction backward;
  TangentFunction jvp;
  bool batched;
  ManyBackward many;  // for rows of cotangents; `backward` takes one then
  bool transposes;    // see FunctionEntry
};
constexpr std::size_t over_reverse = 1;  // an attribute
UserOp& user_op(std::span<const std::int64_t> attributes) { return *detail::pointer_of<UserOp>(attributes[0]); }

void verify_count(std::string_view name, std::size_t found, std::size_t expected) {
  if (found != expected)
    fail<ValueError>(name, "Num gradients {} generated for op {} do not match num inputs {}", found, name, expected);
}

// The inputs and outputs of an op that its entry saved; empty handles for the others.
struct KeptTensors {
  explicit KeptTensors(const tape::Record& r) : inputs(r.num_inputs()), outputs(r.num_outputs()) {}
  std::vector<Tensor> inputs, outputs;
};

// For a user's op: the inputs, then the outputs.
KeptTensors kept_by_user(const tape::Record& r) {
  KeptTensors kept(r);
  std::size_t next = 0;
  for (std::vector<Tensor>* list : {&kept.inputs, &kept.outputs})
    for (Tensor& x : *list) {
      if (r.has_saved(next)) x = r.saved(next);
      ++next;
    }
  return kept;
}

// For an op of the library, whose primitive says which values it keeps. Calls of compiled functions, whose rules belong
// to no primitive, keep none.
KeptTensors kept_by_library(const tape::Record& r, const tape::Entry& e) {
  KeptTensors kept(r);
  for (std::uint32_t s = 0; s < e.saved; ++s) {
    if (!r.has_saved(s)) continue;
    const ops::Keep from = ops::kept_value(*e.rule, s);
    std::vector<Tensor>& list = from.from == ops::Keep::From::input ? kept.inputs : kept.outputs;
    if (from.index < list.size()) list[from.index] = r.saved(s);  // not constants, nor residuals
  }
  return kept;
}

void call(const GradientFunction& f, std::string_view name, const KeptTensors& kept, std::span<const Tensor> g,
          std::span<Gradient> dx) {
  std::vector<Gradient> cotangents(g.begin(), g.end());
  std::vector<Gradient> result = f({name, kept.inputs, kept.outputs}, cotangents);
  verify_count(name, result.size(), dx.size());
  std::move(result.begin(), result.end(), dx.begin());
}

// Calls a batched rule for a single cotangent, as a batch of one.
void pull_one(const UserOp& op, std::span<const Tensor> g, std::span<Gradient> dx) {
  std::vector<Gradient> cotangents;
  for (const Tensor& x : g) cotangents.emplace_back(x.defined() ? expand_dims(x, 0) : Tensor());
  std::vector<Gradient> result = op.backward(cotangents);
  verify_count(op.name, result.size(), dx.size());
  for (std::size_t i = 0; i < dx.size(); ++i) {
    if (!result[i]) {
      dx[i] = std::move(result[i]);
      continue;
    }
    const Tensor d = result[i].dense();
    if (d.rank() == 0 || d.shape()[0] != 1)
      fail<ShapeError>(op.name,
                       "its rule is batched: gradient {} must begin with the batch axis of the cotangents, of extent 1 "
                       "here, but has shape {}",
                       i, d.shape());
    dx[i] = squeeze(d, 0);
  }
}

void user_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const UserOp& op = user_op(r.attributes());
  if (op.backward) {
    if (op.batched && !r.batch_rank()) return pull_one(op, g, dx);
    const std::vector<Gradient> cotangents(g.begin(), g.end());
    std::vector<Gradient> result =
        r.batch_rank() && op.many ? op.many(cotangents, r.batch_size()) : op.backward(cotangents);
    verify_count(op.name, result.size(), dx.size());
    std::move(result.begin(), result.end(), dx.begin());
    return;
  }
  GradientFunction f;
  {
    const std::lock_guard lock(registry().mutex);
    auto found = registry().entries.find(std::string_view(op.name));
    if (found == registry().entries.end())
      fail<LookupError>(op.name,
                        "No gradient defined for operation '{}': the gradient registry has no entry; add one with "
                        "GradientRegistry::add",
                        op.name);
    f = found->second;
  }
  if (f) return call(f, op.name, kept_by_user(r), g, dx);
  for (Gradient& d : dx) d = GradientAccess::none({WhyNone::not_differentiable, op.name, 0});
}

// The vjp is linear in the cotangents g, so the gradient of <vjp(g), t> by g is the tangent. For complex numbers the
// inner product is its real part.
std::vector<Tensor> transpose_vjp(const tape::Record& r, std::span<const Tensor> t) {
  GradientTape tape({.watch_accessed_variables = false});
  std::vector<Tensor> g(r.num_outputs());
  std::vector<Source> sources;
  for (std::size_t k = 0; k < g.size(); ++k) {
    g[k] = zeros(r.output_shape(k), r.output_dtype(k));
    if (is_differentiable(g[k].dtype())) sources.emplace_back(g[k]);
  }
  for (const Source& s : sources) tape.watch(s.tensor());
  std::vector<Gradient> dx(r.num_inputs());
  user_vjp(r, g, dx);
  Tensor product;
  for (std::size_t i = 0; i < dx.size(); ++i) {
    if (!t[i].defined() || !dx[i]) continue;
    const Tensor d = dx[i].dense();
    if (d.shape() != t[i].shape())
      fail<ShapeError>(r.name(), "its rule gave input {} of shape {} a gradient of shape {}", i, t[i].shape(),
                       d.shape());
    const Tensor term = is_complex(d.dtype()) ? real(sum(conj(d) * t[i])) : sum(d * t[i]);
    product = product.defined() ? product + term : term;
  }
  std::vector<Tensor> dy(g.size());
  if (!product.defined()) return dy;
  const Gradient one(ones_like(product));
  const std::vector<Gradient> tangents = pull_on(tape, {&product, 1}, {&one, 1}, sources);
  for (std::size_t k = 0, next = 0; k < dy.size(); ++k)
    if (is_differentiable(g[k].dtype()))
      if (const Gradient& d = tangents[next++]) dy[k] = d.dense();
  return dy;
}

void user_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const UserOp& op = user_op(r.attributes());
  if (!op.jvp && !(op.transposes && r.attributes()[over_reverse]))
    fail<NotDifferentiable>(
        op.name,
        "has no forward-mode rule; give it one: a jvp is the last argument of custom_gradient and record_operation");
  std::vector<Tensor> result = op.jvp ? op.jvp(t) : transpose_vjp(r, t);
  verify_count(op.name, result.size(), dy.size());
  std::move(result.begin(), result.end(), dy.begin());
}

void user_release(std::span<const std::int64_t> attributes) noexcept {
  if (attributes.empty()) return;
  UserOp* op = detail::pointer_of<UserOp>(attributes[0]);
  if (--op->uses == 0) delete op;
}

void user_retain(std::span<const std::int64_t> attributes) noexcept { ++user_op(attributes).uses; }

void add_entry(std::string_view name, GradientFunction f) {
  const std::lock_guard lock(registry().mutex);
  if (!registry().entries.emplace(std::string(name), std::move(f)).second)
    fail<ValueError>("GradientRegistry.add", "'{}' has an entry already", name);
}

}  // namespace

bool has_jvp(const tape::Entry& e) noexcept {
  if (!e.rule->user) return e.rule->jvp != nullptr;
  return bool(user_op({e.numbers(), e.attributes}).jvp);
}

detail::List<std::int64_t> overrides_in_force() {
  detail::List<std::int64_t> serials;
  for (const Override* o = overrides(); o; o = o->below) serials.push_back(o->serial);
  return serials;
}

const Override* look_up_override(const char* name) noexcept {
  for (const Override* o = overrides(); o; o = o->below)
    if (o->name == name) return o;
  return nullptr;
}

namespace {
void release(Override* o) noexcept {
  if (--o->uses == 0) delete o;
}
struct InUse {
  Override* override;
  explicit InUse(Override* o) noexcept : override(o) { ++o->uses; }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
  ~InUse() { release(override); }
};
}  // namespace

void call_override(const Override& o, const tape::Record& r, const tape::Entry& e, std::span<const Tensor> g,
                   std::span<Gradient> dx) {
  const InUse in_use(const_cast<Override*>(&o));  // its function may end the guard
  call(o.gradient, o.name, e.rule->user ? kept_by_user(r) : kept_by_library(r, e), g, dx);
}

namespace {
std::atomic<std::int64_t> next_override = 1;
}  // namespace

void record_function(std::string_view name, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     BackwardFunction backward, TangentFunction jvp, const RecordOptions& options, ManyBackward many,
                     const FunctionEntry& entry) {
  std::vector<const Tensor*> in, out, saved;
  const bool looked_up = !backward;
  for (const auto& [list, pointers] : {std::pair(inputs, &in), std::pair(outputs, &out)})
    for (const Tensor& x : list) {
      if (!x.defined()) fail<ValueError>("record_operation", "{} has an empty input or output", name);
      pointers->push_back(&x);
      saved.push_back(looked_up ? &x : nullptr);
    }
  if (!tape::active()) return;
  auto* op = new UserOp{{1},
                        {},
                        intern_name(name),
                        std::move(backward),
                        std::move(jvp),
                        options.batched && !looked_up,
                        std::move(many),
                        entry.transposes};
  op->rule = {op->name, user_vjp, user_jvp, true, true, user_release, user_retain};
  op->rule.batched = op->batched || op->many;
  std::int64_t attributes[] = {detail::word_of(op), entry.transposes && tape::Capture::in_forward_over_reverse()};
  const auto done = [&] { user_release(attributes); };
  try {
    if (entry.function)
      entry.function->record(op->rule, in, out, attributes, over_reverse);
    else
      tape::record(op->rule, in, out, saved, attributes);
  } catch (...) {
    done();
    throw;
  }
  done();
}

}  // namespace autodiff

using namespace autodiff;

void record_operation(std::string_view name, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                      BackwardFunction backward, TangentFunction jvp, const RecordOptions& options) {
  if (ops::Tracer::current())
    fail<TraceError>("record_operation",
                     "'{}' is recorded in a function that is traced, whose program would lose its rule; give the rule "
                     "to custom_gradient",
                     name);
  record_function(name, inputs, outputs, std::move(backward), std::move(jvp), options);
}

void GradientRegistry::add(std::string_view name, GradientFunction gradient) {
  if (!gradient) fail<ValueError>("GradientRegistry.add", "the gradient function for '{}' is empty", name);
  add_entry(name, std::move(gradient));
}
void GradientRegistry::add_not_differentiable(std::string_view name) { add_entry(name, {}); }
bool GradientRegistry::contains(std::string_view name) {
  const std::lock_guard lock(registry().mutex);
  return registry().entries.contains(name);
}
void GradientRegistry::remove(std::string_view name) {
  const std::lock_guard lock(registry().mutex);
  if (auto found = registry().entries.find(name); found != registry().entries.end()) registry().entries.erase(found);
}

GradientRegistry::OverrideGuard::OverrideGuard(std::string_view name, GradientFunction gradient)
    : own_(new Override{std::string(name), std::move(gradient), detail::thread_state().overrides, next_override++}) {
  detail::this_thread.state->overrides = own_;
  if (program::Trace* trace = program::Trace::current()) trace->note_rule();
}
GradientRegistry::OverrideGuard::~OverrideGuard() {
  Override** at = &detail::this_thread.state->overrides;
  while (*at && *at != own_) at = &(*at)->below;
  if (!*at) return;  // only the thread that owns the list may change it
  *at = own_->below;
  release(own_);
}

}  // namespace reel
