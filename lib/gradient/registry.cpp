// Ops of the user: recorded with a function of theirs, or with a name that is looked up at replay.
#include <bit>
#include <map>
#include <mutex>
#include <reel/registry.hpp>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"

namespace reel {

namespace autodiff {

struct Override {
  std::string name;
  GradientFunction gradient;
};

namespace {

// By name; an empty function stands for "known to have no gradient".
struct Registry {
  std::mutex mutex;
  std::map<std::string, GradientFunction, std::less<>> entries;
};
Registry& registry() {
  static Registry& r = *new Registry;  // never destroyed: a static object may replay in its destructor
  return r;
}
constinit thread_local std::vector<Override>* overrides = nullptr;

// What a recorded op of the user owns. The attributes of its entry hold the pointer; entries of several tapes share it.
struct UserOp {
  std::atomic<int> uses{1};
  tape::Rule rule;
  std::string name;
  BackwardFunction backward;
  TangentFunction jvp;
};
UserOp& user_op(std::span<const std::int64_t> attributes) { return *std::bit_cast<UserOp*>(attributes[0]); }

void verify_count(std::string_view name, std::size_t found, std::size_t expected) {
  if (found != expected)
    fail<ValueError>(name, "Num gradients {} generated for op {} do not match num inputs {}", found, name, expected);
}

void call(const GradientFunction& f, std::string_view name, const tape::Record& r, std::size_t saved_inputs,
          std::span<const Tensor> g, std::span<Gradient> dx) {
  std::vector<Tensor> inputs(r.num_inputs()), outputs(r.num_outputs());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (i < saved_inputs && r.has_saved(i)) inputs[i] = r.saved(i);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (r.has_saved(saved_inputs + k)) outputs[k] = r.saved(saved_inputs + k);
  std::vector<Gradient> cotangents(g.begin(), g.end());
  std::vector<Gradient> result = f({name, inputs, outputs}, cotangents);
  verify_count(name, result.size(), dx.size());
  std::move(result.begin(), result.end(), dx.begin());
}

void user_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const UserOp& op = user_op(r.attributes());
  if (op.backward) {
    std::vector<Gradient> result = op.backward(std::vector<Gradient>(g.begin(), g.end()));
    verify_count(op.name, result.size(), dx.size());
    std::move(result.begin(), result.end(), dx.begin());
    return;
  }
  GradientFunction f;
  {
    const std::lock_guard lock(registry().mutex);
    auto found = registry().entries.find(op.name);
    if (found == registry().entries.end())
      fail<LookupError>(op.name,
                        "No gradient defined for operation '{}': the gradient registry has no entry; add one with "
                        "GradientRegistry::add",
                        op.name);
    f = found->second;
  }
  if (f) return call(f, op.name, r, r.num_inputs(), g, dx);
  for (Gradient& d : dx) d = GradientAccess::none({WhyNone::not_differentiable, op.name, 0});
}

void user_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const UserOp& op = user_op(r.attributes());
  if (!op.jvp) fail<NotDifferentiable>(op.name, "has no forward-mode rule; give record_operation a jvp");
  std::vector<Tensor> result = op.jvp(t);
  verify_count(op.name, result.size(), dy.size());
  std::move(result.begin(), result.end(), dy.begin());
}

void user_release(std::span<const std::int64_t> attributes) noexcept {
  if (attributes.empty()) return;
  UserOp* op = std::bit_cast<UserOp*>(attributes[0]);
  if (--op->uses == 0) delete op;
}

void user_retain(std::span<const std::int64_t> attributes) noexcept { ++user_op(attributes).uses; }

void add_entry(std::string_view name, GradientFunction f) {
  const std::lock_guard lock(registry().mutex);
  if (!registry().entries.emplace(std::string(name), std::move(f)).second)
    fail<ValueError>("GradientRegistry.add", "'{}' has an entry already", name);
}

}  // namespace

const Override* find_override(const char* name) noexcept {
  if (!overrides) return nullptr;
  for (auto o = overrides->rbegin(); o != overrides->rend(); ++o)
    if (o->name == name) return &*o;
  return nullptr;
}

void call_override(const Override& o, const tape::Record& r, const tape::Entry& e, std::span<const Tensor> g,
                   std::span<Gradient> dx) {
  call(o.gradient, o.name, r, std::min<std::size_t>(e.saved, e.inputs), g, dx);
}

}  // namespace autodiff

using namespace autodiff;

void record_operation(std::string_view name, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                      BackwardFunction backward, TangentFunction jvp) {
  std::vector<const Tensor*> in, out, saved;
  const bool looked_up = !backward;
  for (const auto& [list, pointers] : {std::pair(inputs, &in), std::pair(outputs, &out)})
    for (const Tensor& x : list) {
      if (!x.defined()) fail<ValueError>("record_operation", "{} has an empty input or output", name);
      pointers->push_back(&x);
      saved.push_back(looked_up ? &x : nullptr);
    }
  if (!tape::active()) return;
  auto* op = new UserOp{{1}, {}, std::string(name), std::move(backward), std::move(jvp)};
  op->rule = {op->name.c_str(), user_vjp, user_jvp, true, true, user_release, user_retain};
  const std::int64_t attributes[] = {std::bit_cast<std::int64_t>(op)};
  const auto done = [&] { user_release(attributes); };
  try {
    tape::record(op->rule, in, out, saved, attributes);
  } catch (...) {
    done();
    throw;
  }
  done();
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

GradientRegistry::OverrideGuard::OverrideGuard(std::string_view name, GradientFunction gradient) {
  if (!overrides) overrides = new std::vector<Override>;
  overrides->push_back({std::string(name), std::move(gradient)});
}
GradientRegistry::OverrideGuard::~OverrideGuard() {
  overrides->pop_back();
  if (overrides->empty()) delete std::exchange(overrides, nullptr);
}

}  // namespace reel
