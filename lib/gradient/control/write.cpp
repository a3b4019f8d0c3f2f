// Loops as C, and places that loops and branches share.
#include "gradient/control/write.hpp"

#include <algorithm>
#include <cmath>

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

namespace {

void give_back(Writer& w, const Array& x) {
  if (!x.token) return w.workspace().give_back(x);
  for (const Array& one : x.token->arrays) give_back(w, one);
}

std::int64_t bytes_of(const Tensor& x) { return x.size() * static_cast<std::int64_t>(item_size(x.dtype())); }

}  // namespace

// The token of a loop: the number of steps, if a condition decides; then the variables that the gradient reads, before
// each step, and the residuals of each step, or, under a memory budget, all variables before every `segment()`-th step.
class LoopSource {
 public:
  LoopSource(const DeferredLoop& loop, Writer& w, bool keeps)
      : d_(loop),
        w_(w),
        p_(keeps ? loop.step().pullback() : nullptr),
        n_(loop.loop_.variables),
        decides_(loop.bodies_.size() > 1 && !loop.is_counted()),
        most_(loop.bodies_.size() > 1 ? loop.options_.max_iterations : loop.loop_.steps) {
    if (p_) read_ = loop.read_by_gradient(*p_);
  }

  void write(const Writer::Instruction& own) {
    if (p_ && most_ < 0)
      detail::fail<TraceError>("generate_c",
                               "{}: the gradient keeps something of every step, and nothing says how many there may "
                               "be: set max_iterations",
                               own.name);
    std::vector<Array> taken, state;
    for (std::size_t k = 0; k < n_; ++k) {
      const Array& y = own.outputs[k];
      state.push_back(!y.name.empty() && (y.single || y.size() != 1) ? y : place_for(w_, d_.outputs[k], taken));
      w_.copy(own.inputs[k], state[k]);
    }
    Token token;
    const std::string steps = p_ && decides_ ? w_.index_variable("0") : std::string();
    if (!steps.empty()) token.arrays.push_back(w_.workspace().take(DType::int64, {}));
    const std::int64_t length = segment();
    Kept kept = p_ && length == 0 ? take_rows(most_) : Kept();
    std::vector<Array> checkpoints;
    if (length > 0) checkpoints = take_checkpoints(length);
    {
      const csource::Blocks nest(w_);
      const Index i = open_steps();
      if (decides_) write_condition(own, state);
      if (length > 0) write_checkpoint(i, length, state, checkpoints);
      std::vector<Array> rows;
      for (std::size_t k = n_; k < d_.outputs.size(); ++k) rows.push_back(csource::row(own.outputs[k], i));
      write_step(own.inputs, i, i, state, p_ && length == 0 ? &kept : nullptr, rows);
      if (!steps.empty()) w_.statement(csource::cat({"++", steps}));
    }
    for (std::size_t k = 0; k < n_; ++k)
      if (!own.outputs[k].name.empty() && !same_place(state[k], own.outputs[k])) w_.copy(state[k], own.outputs[k]);
    for (const Array& x : taken) w_.workspace().give_back(x);
    if (!p_) return;
    if (!steps.empty()) w_.statement(csource::cat({token.arrays[0].value(), " = ", steps}));
    for (const auto* list : {&checkpoints, &kept.variables, &kept.residuals})
      token.arrays.insert(token.arrays.end(), list->begin(), list->end());
    w_.set_token(d_.outputs.size(), std::move(token));
  }

  // Calls pull(i, variables and residuals of step i) for each step of a run that left the token, from the last one.
  template <class F>
  void walk_back(std::span<const Array> inputs, const Token& token, const F& pull) {
    const auto first = token.arrays.begin() + decides_;
    const Index steps = decides_ ? Index(csource::cat({"(int32_t)", token.arrays[0].value()})) : Index(most_);
    const std::int64_t length = segment();
    if (length == 0) {
      const auto middle = first + static_cast<std::ptrdiff_t>(read_.size());
      const Kept kept{{first, middle}, {middle, token.arrays.end()}, most_};
      return walk_rows(steps, Index(), kept, pull);
    }
    const csource::Blocks nest(w_);
    const std::string of_last = csource::cat({"(", (steps - Index(1)).text(), ") / ", std::to_string(length)});
    const Index c = w_.loop(decides_ ? Index(of_last) : Index((most_ - 1) / length), Index(-1), -1);
    const std::int64_t segments = (most_ + length - 1) / length;
    w_.repeat(static_cast<double>(segments));
    const Index start = c * length;
    std::vector<Array> taken, state;
    for (std::size_t k = 0; k < n_; ++k) {
      state.push_back(place_for(w_, d_.outputs[k], taken));
      w_.copy(kept_at(first[static_cast<std::ptrdiff_t>(k)], c), state[k]);
    }
    Index count(length);
    if (decides_ || most_ % length != 0) {
      const std::string left = (steps - start).text(), whole = std::to_string(length);
      count = Index(w_.index_variable(csource::cat({left, " < ", whole, " ? ", left, " : ", whole})));
    }
    Kept kept = take_rows(length);
    {
      const csource::Blocks again(w_);
      const Index j = w_.loop(Index(0), count);
      w_.repeat(static_cast<double>(length));
      write_step(inputs, start + j, j, state, &kept, {});
    }
    walk_rows(count, start, kept, pull);
    for (const auto* list : {&taken, &kept.variables, &kept.residuals})
      for (const Array& x : *list) give_back(w_, x);
  }

 private:
  // What the gradient reads, a row for each step.
  struct Kept {
    std::vector<Array> variables, residuals;
    std::int64_t rows = 0;
  };

  const program::Program& forward() const { return p_->written_forward(); }
  std::size_t first_residual() const { return forward().results.size() - p_->residuals; }
  const Tensor& residual(std::size_t r) const {
    return forward().operands[forward().results[first_residual() + r]].tensor;
  }

  // The number of steps between two checkpoints that takes the least memory; 0 if all steps are kept.
  std::int64_t segment() const {
    const std::int64_t budget = d_.options_.memory_budget;
    if (!p_ || budget <= 0) return 0;
    std::int64_t of_state = 1, of_step = 1;
    for (std::size_t k = 0; k < n_; ++k) of_state += bytes_of(d_.outputs[k]);
    for (const std::size_t k : read_) of_step += bytes_of(d_.outputs[k]);
    for (std::size_t r = 0; r < p_->residuals; ++r) of_step += bytes_of(residual(r));
    if (most_ * of_step <= budget) return 0;
    const double best =
        std::sqrt(static_cast<double>(most_) * static_cast<double>(of_state) / static_cast<double>(of_step));
    const auto length = std::max<std::int64_t>(1, static_cast<std::int64_t>(best));
    return length < most_ ? length : 0;
  }

  Kept take_rows(std::int64_t rows) {
    Kept kept{{}, std::vector<Array>(p_->residuals), rows};
    for (const std::size_t k : read_) kept.variables.push_back(kept_rows(w_, zero_like(d_.outputs[k]), rows));
    for (std::size_t r = 0; r < p_->residuals; ++r)  // a body with another dtype is refused when it is written
      if (!program::is_token(residual(r)) && csource::type_of(residual(r).dtype()))
        kept.residuals[r] = kept_rows(w_, zero_like(residual(r)), rows);
    return kept;
  }
  std::vector<Array> take_checkpoints(std::int64_t length) {
    std::vector<Array> list;
    for (std::size_t k = 0; k < n_; ++k)
      list.push_back(kept_rows(w_, zero_like(d_.outputs[k]), (most_ + length - 1) / length));
    return list;
  }
  void write_checkpoint(const Index& i, std::int64_t length, std::span<const Array> state,
                        std::span<const Array> checkpoints) {
    const csource::Blocks block(w_);
    const std::string every = std::to_string(length);
    w_.open(csource::cat({"if (", i.text(), " % ", every, " == 0)"}));
    for (std::size_t k = 0; k < n_; ++k)
      w_.copy(state[k], kept_at(checkpoints[k], Index(csource::cat({"(", i.text(), " / ", every, ")"}))));
  }

  Index open_steps() {
    Index i;
    if (most_ >= 0)
      i = w_.loop(Index(0), Index(most_));
    else
      w_.open("for (;;)");
    w_.repeat(static_cast<double>(std::max<std::int64_t>(1, most_)));
    return i;
  }
  void add_reads(const Body& body, std::span<const Array> inputs, std::vector<Array>& to) const {
    for (const std::size_t k : body.reads()) to.push_back(inputs[d_.own_ + k]);
  }
  void write_condition(const Writer::Instruction& own, std::vector<Array> x) {
    add_reads(d_.bodies_[1], own.inputs, x);
    codegen::Written condition = codegen::write_program(w_, d_.bodies_[1].traced().simple(), x, {});
    w_.statement(csource::cat({"if (", condition.results[0].value(), " == 0) break"}));
    condition.release(w_);
  }

  // Step i from the state, which it replaces. `row`: where it keeps what the gradient reads.
  void write_step(std::span<const Array> inputs, const Index& i, const Index& row, std::span<const Array> state,
                  Kept* kept, std::span<const Array> outputs) {
    const program::Program& body = kept ? forward() : d_.step().traced().simple();
    for (std::size_t r = 0; kept && r < read_.size(); ++r) w_.copy(state[read_[r]], kept_at(kept->variables[r], row));
    std::vector<Array> x(state.begin(), state.end()), targets(body.results.size());
    for (std::size_t r = 0; r < d_.xs_; ++r) x.push_back(csource::row(inputs[n_ + r], i));
    add_reads(d_.step(), inputs, x);
    std::copy(outputs.begin(), outputs.end(), targets.begin() + static_cast<std::ptrdiff_t>(n_));
    for (std::size_t r = 0; kept && r < p_->residuals; ++r)
      if (!kept->residuals[r].name.empty()) targets[first_residual() + r] = csource::row(kept->residuals[r], row);
    std::vector<bool> wanted(n_, true);
    wanted.resize(d_.outputs.size(), !outputs.empty());
    codegen::Written made = codegen::write_program(w_, body, x, targets, std::move(wanted));
    for (std::size_t r = 0; kept && r < p_->residuals; ++r)
      if (const Array& one = made.results[first_residual() + r]; one.token) {
        kept->residuals[r] = kept_rows(w_, one, kept->rows);
        copy_kept(w_, one, kept_at(kept->residuals[r], row));
      }
    w_.assign_all({made.results.begin(), made.results.begin() + static_cast<std::ptrdiff_t>(n_)}, state);
    made.release(w_);
  }

  template <class F>
  void walk_rows(const Index& count, const Index& start, const Kept& kept, const F& pull) {
    const csource::Blocks nest(w_);
    const Index j = w_.loop(count - Index(1), Index(-1), -1);
    w_.repeat(static_cast<double>(std::max<std::int64_t>(1, kept.rows)));
    std::vector<Array> variables, residuals;
    std::size_t next = 0;
    for (std::size_t k = 0; k < n_; ++k) {
      const bool is_read = next < read_.size() && read_[next] == k;
      variables.push_back(is_read ? kept_at(kept.variables[next++], j) : zero_like(d_.outputs[k]));
    }
    for (const Array& one : kept.residuals) residuals.push_back(kept_at(one, j));
    pull(start + j, std::move(variables), residuals);
  }

  const DeferredLoop& d_;
  Writer& w_;
  const Pullback* p_;
  std::size_t n_;
  bool decides_;                        // the condition on the number of steps; otherwise it is fixed
  std::int64_t most_;                   // steps; negative: no limit
  std::vector<std::size_t> read_ = {};  // the variables that the gradient reads, ascending
};

namespace {

constexpr std::size_t missing = ~std::size_t{0};

// Which arguments of the backward program are functions of others: residuals that the forward program computes from
// what both programs read.
std::vector<codegen::Relation> relations_of(const Pullback& p) {
  const program::Program &forward = p.forward->program(), &backward = p.backward->program();
  const std::size_t first_result = forward.results.size() - p.residuals,
                    first_argument = backward.arguments.size() - p.residuals;
  const auto argument_of = [&](program::Index value) {
    for (std::size_t r = 0; r < p.residuals; ++r)
      if (const program::Operand& o = forward.operands[forward.results[first_result + r]]; o.value == value && o.whole)
        return first_argument + r;
    const auto at = std::find(forward.arguments.begin(), forward.arguments.end(), value);
    const auto k = static_cast<std::size_t>(at - forward.arguments.begin());
    return at == forward.arguments.end() || k >= first_argument ? missing : k;
  };
  std::vector<codegen::Relation> list;
  for (const program::Instruction& i : forward.instructions) {
    if (i.operation.primitive || i.operation.summed || i.operation.operand != ops::Operation::value ||
        i.inputs.size() != 1 || !forward.operands[i.inputs[0]].whole)
      continue;
    const std::size_t x = argument_of(forward.operands[i.inputs[0]].value), y = argument_of(i.outputs[0]);
    if (x != missing && y != missing) list.push_back({i.operation.definition, x, y});
  }
  return list;
}

}  // namespace

void DeferredLoop::write(Writer& w, bool keeps) const {
  const Writer::Instruction own = w.instruction();
  LoopSource(*this, w, keeps).write(own);
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
  const program::Program& body = p.written_backward();
  const std::size_t n = loop_.variables;
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
  const std::vector<codegen::Relation> relations = relations_of(p);
  LoopSource(*this, w, true)
      .walk_back(x, token, [&](const Index& i, std::vector<Array> all, std::span<const Array> residuals) {
        for (std::size_t r = 0; r < xs_; ++r) all.push_back(csource::row(x[n + r], i));
        for (const std::size_t k : step().reads()) all.push_back(x[own_ + k]);
        for (const std::size_t k : p.seeded)
          all.push_back(k < n                        ? states[state(k)]
                        : cotangents[k].name.empty() ? zero_like(tensor_of(all.size()))
                                                     : csource::row(cotangents[k], i));
        for (const std::size_t s : p.summed) all.push_back(states[state(s)]);
        all.insert(all.end(), residuals.begin(), residuals.end());
        std::vector<Array> targets(body.results.size());
        for (std::size_t k = 0; k < wanted.size(); ++k)
          if (const std::size_t s = source_of(step(), wanted[k]); s >= n && s < own_ && result_of[s] != none)
            targets[result_of[s]] = csource::row(gradients[k], i);
        codegen::Written made = codegen::write_program(w, body, all, targets, {}, relations);
        std::vector<Array> next;
        for (std::size_t k = 0; k < states.size(); ++k) {
          const std::size_t result = result_of[state_of[k]];
          const bool stays = result == none && state_of[k] >= n;
          next.push_back(result != none ? made.results[result] : stays ? states[k] : zero_like(outputs[state_of[k]]));
        }
        w.assign_all(std::move(next), states);
        made.release(w);
      });
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
