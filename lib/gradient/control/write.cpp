// Loops as C, and places that loops and branches share.
#include "gradient/control/write.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "gradient/control/deferred_loop.hpp"

namespace reel::autodiff {

using csource::Array, csource::Index, csource::Token, csource::Writer;

Array zero_like(const Tensor& like) {
  return csource::single_value(Writer::zero(like.dtype()), like.dtype(), like.shape());
}

Array place_for(Writer& w, const Tensor& like, std::vector<Array>& taken) {
  if (like.size() == 1) {
    const std::string name = w.variable(like.dtype(), Writer::zero(like.dtype()));
    w.statement("(void)" + name);  // it may be assigned and never read
    return csource::single_value(name, like.dtype(), like.shape());
  }
  return taken.emplace_back(w.workspace().take(like.dtype(), like.shape()));
}

Array kept_rows(Writer& w, const Array& like, std::int64_t count) {
  Array kept = like;
  if (like.token) {
    Token token;
    for (const Array& one : like.token->arrays) token.arrays.push_back(kept_rows(w, one, count));
    kept.token = std::make_shared<const Token>(std::move(token));
    return kept;
  }
  Shape shape = like.shape;
  shape.insert(0, count);
  return w.workspace().take_fresh(like.dtype, shape);
}

Array kept_at(const Array& kept, const Index& i) {
  if (!kept.token) return csource::row(kept, i);
  Array one = kept;
  Token token;
  for (const Array& each : kept.token->arrays) token.arrays.push_back(kept_at(each, i));
  one.token = std::make_shared<const Token>(std::move(token));
  return one;
}

void copy_kept(Writer& w, const Array& from, const Array& to) {
  if (!from.token) return same_place(from, to) ? void() : w.copy(from, to);
  for (std::size_t k = 0; k < from.token->arrays.size(); ++k) copy_kept(w, from.token->arrays[k], to.token->arrays[k]);
}

// ---- Loops

// The token of a loop: the number of steps, if a condition decides; the variables that the gradient reads, before each
// step; the residuals of each step.
void DeferredLoop::write(Writer& w, bool keeps) const {
  const Pullback* const p = keeps ? step().pullback() : nullptr;
  const program::Program& body = p ? p->forward->program() : step().traced().program();
  const Writer::Instruction own = w.instruction();
  const bool decides = bodies_.size() > 1;
  const std::size_t n = loop_.variables;
  const std::int64_t most = decides ? options_.max_iterations : loop_.steps;
  if (keeps && most < 0)
    detail::fail<TraceError>("generate_c",
                             "{}: the gradient keeps something of every step, and nothing says how many there may be: "
                             "set max_iterations",
                             own.name);
  std::vector<Array> taken, state;
  for (std::size_t k = 0; k < n; ++k) {
    const Array& y = own.outputs[k];
    state.push_back(!y.name.empty() && (y.single || y.size() != 1) ? y : place_for(w, outputs[k], taken));
    w.copy(own.inputs[k], state[k]);
  }
  Token token;
  const std::string steps = keeps && decides ? w.index_variable("0") : std::string();
  if (!steps.empty()) token.arrays.push_back(w.workspace().take(DType::int64, {}));
  std::vector<Array> kept;  // variables
  const std::vector<std::size_t> read = p ? read_by_gradient(*p) : std::vector<std::size_t>();
  for (const std::size_t k : read) kept.push_back(kept_rows(w, state[k], most));
  token.arrays.insert(token.arrays.end(), kept.begin(), kept.end());
  const std::size_t first = body.results.size() - (p ? p->residuals : 0);
  std::vector<Array> residuals(body.results.size() - first);
  for (std::size_t r = 0; r < residuals.size(); ++r)
    if (const Tensor& like = body.operands[body.results[first + r]].tensor; !program::is_token(like))
      residuals[r] = kept_rows(w, zero_like(like), most);
  {
    const csource::Blocks nest(w);
    Index i;
    if (most >= 0)
      i = w.loop(Index(0), Index(most));
    else
      w.open("for (;;)");
    w.repeat(static_cast<double>(std::max<std::int64_t>(1, most)));
    const auto read_of = [&](const Body& b, std::vector<Array>& to) {
      for (const std::size_t k : b.reads()) to.push_back(own.inputs[own_ + k]);
    };
    if (decides) {
      std::vector<Array> x = state;
      read_of(bodies_[1], x);
      codegen::Written condition = codegen::write_program(w, bodies_[1].traced().program(), x, {});
      w.statement(csource::cat({"if (", condition.results[0].value(), " == 0) break"}));
      condition.release(w);
    }
    for (std::size_t r = 0; r < read.size(); ++r) w.copy(state[read[r]], kept_at(kept[r], i));
    std::vector<Array> x = state;
    for (std::size_t r = 0; r < xs_; ++r) x.push_back(csource::row(own.inputs[n + r], i));
    read_of(step(), x);
    std::vector<Array> targets(body.results.size());
    for (std::size_t k = n; k < outputs.size(); ++k) targets[k] = csource::row(own.outputs[k], i);
    for (std::size_t r = 0; r < residuals.size(); ++r)
      if (!residuals[r].name.empty()) targets[first + r] = csource::row(residuals[r], i);
    codegen::Written made = codegen::write_program(w, body, x, targets);
    for (std::size_t r = 0; r < residuals.size(); ++r)
      if (const Array& one = made.results[first + r]; one.token) {
        residuals[r] = kept_rows(w, one, most);
        copy_kept(w, one, kept_at(residuals[r], i));
      }
    w.assign_all({made.results.begin(), made.results.begin() + static_cast<std::ptrdiff_t>(n)}, state);
    if (!steps.empty()) w.statement(csource::cat({"++", steps}));
    made.release(w);
    token.arrays.insert(token.arrays.end(), residuals.begin(), residuals.end());
  }
  for (std::size_t k = 0; k < n; ++k)
    if (!own.outputs[k].name.empty() && !same_place(state[k], own.outputs[k])) w.copy(state[k], own.outputs[k]);
  for (const Array& x : taken) w.workspace().give_back(x);
  if (!keeps) return;
  if (!steps.empty()) w.statement(csource::cat({token.arrays[0].value(), " = ", steps}));
  w.set_token(outputs.size(), std::move(token));
}

// The variables that the backward program reads.
std::vector<std::size_t> DeferredLoop::read_by_gradient(const Pullback& p) const {
  std::vector<std::size_t> read;
  for (std::size_t k = 0; k < loop_.variables; ++k)
    if (p.backward->reads_argument(k)) read.push_back(k);
  return read;
}

void DeferredLoop::write_pull(Writer& w, std::span<const Array> x, const Token& token,
                              std::span<const Array> cotangents, Numbers wanted,
                              std::span<const Array> gradients) const {
  const Pullback& p = *step().pullback();
  const program::Program& body = p.backward->program();
  const std::size_t n = loop_.variables;
  const bool decides = bodies_.size() > 1;
  const auto tensor_of = [&](std::size_t argument) { return body.values[body.arguments[argument]].tensor; };
  std::vector<Array> taken, states;   // what each step replaces: cotangents of variables, sums
  std::vector<std::size_t> state_of;  // for each of them its source
  std::size_t argument = step().inputs();
  const auto add_state = [&](std::size_t source, const Array& initial) {
    states.push_back(place_for(w, tensor_of(argument), taken));
    state_of.push_back(source);
    w.copy(initial, states.back());
  };
  for (const std::size_t k : p.seeded) {
    if (k < n) add_state(k, cotangents[k].name.empty() ? zero_like(outputs[k]) : cotangents[k]);
    ++argument;
  }
  for (const std::size_t s : p.summed) {
    add_state(s, zero_like(tensor_of(argument)));
    ++argument;
  }
  const auto state = [&](std::size_t source) {
    return static_cast<std::size_t>(std::find(state_of.begin(), state_of.end(), source) - state_of.begin());
  };
  std::vector<std::size_t> result_of(p.exists.size(), none);
  for (std::size_t s = 0, next = 0; s < p.exists.size(); ++s)
    if (p.exists[s]) result_of[s] = next++;
  const std::vector<std::size_t> read = read_by_gradient(p);
  {
    const csource::Blocks nest(w);
    const Index steps = decides ? Index(csource::cat({"(int32_t)", token.arrays[0].value()})) : Index(loop_.steps);
    const Index i = w.loop(steps - Index(1), Index(-1), -1);
    w.repeat(static_cast<double>(std::max<std::int64_t>(1, decides ? options_.max_iterations : loop_.steps)));
    std::vector<Array> all;
    std::size_t kept = decides;
    for (std::size_t k = 0; k < n; ++k) {
      const bool is_read = std::find(read.begin(), read.end(), k) != read.end();
      all.push_back(is_read ? kept_at(token.arrays[kept++], i) : zero_like(tensor_of(k)));
    }
    for (std::size_t r = 0; r < xs_; ++r) all.push_back(csource::row(x[n + r], i));
    for (const std::size_t k : step().reads()) all.push_back(x[own_ + k]);
    for (const std::size_t k : p.seeded)
      all.push_back(k < n                        ? states[state(k)]
                    : cotangents[k].name.empty() ? zero_like(tensor_of(all.size()))
                                                 : csource::row(cotangents[k], i));
    for (const std::size_t s : p.summed) all.push_back(states[state(s)]);
    for (const Source& s : p.late_reads) all.push_back(x[own_ + reads_.find(s)]);
    for (std::size_t r = 0; r < p.residuals; ++r) all.push_back(kept_at(token.arrays[kept++], i));
    std::vector<Array> targets(body.results.size());
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (const std::size_t s = source_of(step(), wanted[k]); s >= n && s < own_ && result_of[s] != none)
        targets[result_of[s]] = csource::row(gradients[k], i);
    codegen::Written made = codegen::write_program(w, body, all, targets);
    std::vector<Array> next;
    for (std::size_t k = 0; k < states.size(); ++k) {
      const std::size_t result = result_of[state_of[k]];
      const bool stays = result == none && state_of[k] >= n;
      next.push_back(result != none ? made.results[result] : stays ? states[k] : zero_like(outputs[state_of[k]]));
    }
    w.assign_all(std::move(next), states);
    made.release(w);
  }
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const std::size_t s = source_of(step(), wanted[k]), at = s == none ? states.size() : state(s);
    if (at < states.size())
      w.copy(states[at], gradients[k]);
    else if (s < n || s >= own_ || result_of[s] == none)
      w.fill(gradients[k], Writer::zero(gradients[k].dtype));
  }
  for (const Array& one : taken) w.workspace().give_back(one);
}

}  // namespace reel::autodiff
