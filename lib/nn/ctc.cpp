// ctc_loss. Its residual is the derivative of each loss, which evaluate computes with the loss. A derivative that is
// differentiated again is a recorded expression: state probabilities, computed from the last step backwards with the
// weights of the forward recursion.
#include <reel/nn/convolution.hpp>
#include <reel/nn/cross_entropy.hpp>
#include <reel/nn/normalization.hpp>
#include <reel/nn/sequence.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>

#include "loops/elementwise/cast.hpp"
#include "loops/loops.hpp"
#include "nn/ctc_loops.hpp"
#include "nn/last_axis.hpp"
#include "nn/recurrent.hpp"
#include "ops/apply/apply.hpp"

namespace reel {

namespace ops {

namespace {

constexpr const char* ctc_name = "ctc_loss";
// Stands for log(0): sums of millions of them are finite in float32, and the difference of two is 0 instead of NaN.
constexpr double impossible = -1e30;

// Wrappers that take tensors: a call takes less code than a call of an op, which converts to Operand.
Tensor either(const Tensor& condition, const Tensor& x, double otherwise) { return where(condition, x, otherwise); }
Tensor both(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
Tensor at_least(const Tensor& a, const Tensor& b) { return greater_equal(a, b); }
Tensor differ(const Tensor& a, const Tensor& b) { return not_equal(a, b); }

// Column s is column s - by of x; `fill` where there is none.
Tensor shift(const Tensor& x, std::int64_t by, double fill) {
  const std::int64_t count = x.shape()[1], first = std::max<std::int64_t>(-by, 0);
  const Tensor padded = pad(x, {0, std::max<std::int64_t>(by, 0)}, {0, first}, full({}, fill, x.dtype()));
  return slice(padded, {range_from(0), range(first, first + count)});
}

// The states [N, K = 2 S + 1] of the targets.
struct States {
  Tensor classes, skips, inside, last;  // its class; whether it may follow state k - 2; exists; may be the last one
  States(const Tensor& targets, const Tensor& lengths, std::int64_t blank) {
    const std::int64_t n = targets.shape()[0], width = targets.shape()[1], count = 2 * width + 1;
    const Tensor length = expand_dims(lengths, 1), at = arange(count), end = length + length,
                 blanks = full({n, width}, blank, DType::int64);
    const Tensor labels = where(less(arange(width), length), targets, blanks);
    const Tensor pairs = reshape(stack({blanks, labels}, -1), {n, 2 * width});
    classes = concatenate({pairs, full({n, 1}, blank, DType::int64)}, 1);
    // A blank does not follow the previous blank directly: the label between them cannot be skipped.
    skips = both(differ(classes, shift(classes, 2, -1)), differ(classes, full({}, blank)));
    skips = both(skips, at_least(at, full({}, std::int64_t{3})));
    inside = at_least(end, at);
    last = both(inside, at_least(at, end - 1));
  }
};

// x less its largest element along the last axis, where that is possible: a constant, so that differences keep digits.
Tensor from_largest(const Tensor& x) {
  const Tensor constant = stop_gradient(x), most = max(constant, -1, true);
  return x - either(greater(most, impossible / 2), most, 0);
}

// Log-probabilities of the states, by recursion over steps, up to a constant per step and example; and the transition
// weights of each step.
struct Forward {
  Steps weights;
  Tensor alpha;
  Forward(const States& s, const Steps& emissions, const Steps& within) : weights(emissions.size()) {
    for (std::size_t t = 0; t < emissions.size(); ++t) {
      if (t == 0) {
        const std::int64_t count = s.classes.shape()[1];
        alpha = from_largest(either(less(arange(count), 2), emissions[0], impossible));
        continue;
      }
      const Tensor ways =
          stack({alpha, shift(alpha, 1, impossible), either(s.skips, shift(alpha, 2, impossible), impossible)});
      weights[t] = softmax(ways, 0);
      alpha = where(within[t], from_largest(plus(emissions[t], logsumexp(ways, 0))), alpha);
    }
  }
};

// The derivatives of the losses by log_probs, recorded.
Tensor slopes_of(const Tensor& log_probs, const Tensor& targets, const Tensor& steps, const Tensor& lengths,
                 std::int64_t blank) {
  const Shape shape = log_probs.shape();
  if (shape[0] == 0) return zeros_like(log_probs);
  const States s(targets, lengths, blank);
  const Shape all{shape[0], shape[1], s.classes.shape()[1]};
  const Tensor own = take_along_axis(log_probs, broadcast_to(s.classes, all), -1);
  const Steps within = unstack(less(reshape(arange(shape[0]), {shape[0], 1, 1}), expand_dims(steps, 1)));
  const Steps emissions =
      unstack(from_largest(either(s.inside, either(logical_not(less(own, impossible)), own, impossible), impossible)));
  const Forward forward(s, emissions, within);
  const Tensor ends = either(s.last, forward.alpha, impossible);
  Tensor now = either(greater(max(ends, -1, true), impossible / 2), softmax(ends, -1), 0);
  Steps found(emissions.size());
  for (std::size_t t = emissions.size(); t-- > 0;) {
    found[t] = either(within[t], now, 0);
    if (t == 0) break;
    const Steps ways = unstack(times(now, forward.weights[t]));
    const Tensor before = plus(ways[0], plus(shift(ways[1], -1, 0), shift(ways[2], -2, 0)));
    now = where(within[t], before, now);
  }
  const Tensor probabilities =
      product(ctc_name, moveaxis(stack(found), 0, 1), one_hot(s.classes, shape[2], log_probs.dtype()));
  return -moveaxis(probabilities, 1, 0);
}

// Inputs: log_probs, targets, input lengths, target lengths. Attributes: blank, whether infinite losses become 0.
Tensor slopes_for(const tape::Record& r) {
  const Tensor& x = r.saved(0);
  return followed(x) ? slopes_of(x, r.saved(1), r.saved(2), r.saved(3), r.attributes()[0]) : r.saved(4);
}
void ctc_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  // An infinite loss has derivative 0, whatever its cotangent is.
  const Tensor d = slopes_for(r), factor = expand_dims(expand_dims(g[0], -2), -1);
  dx[0] = where(equal(d, 0), 0, factor * d);
}
void ctc_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = sum(times(t[0], slopes_for(r)), {0, 2});
}

void infer_ctc(const Call& call, Metas& out) {
  const Tensor& x = call.input(0);
  out.add(x.dtype(), {x.shape()[1]});
  out.add(x.dtype(), x.shape());
}

[[noreturn]] void fail_alignment(const loops::InvalidAlignment& bad, const Shape& shape, const Shape& targets,
                                 std::int64_t blank) {
  if (bad.what == 2)
    fail<IndexError>(ctc_name, "label {} at position {} of the targets is out of range for {} classes, or the blank {}",
                     bad.value, bad.position, shape[2], blank);
  fail<ValueError>(ctc_name, "{} length {} of example {} is out of range; it must be from 0 to {}",
                   bad.what == 0 ? "input" : "target", bad.value, bad.position, bad.what == 0 ? shape[0] : targets[1]);
}

Tensor in_float64(const Tensor& x) {
  if (x.dtype() == DType::float64) return loops::contiguous(x);
  const Tensor wide = detail::empty(DType::float64, x.shape());
  static_cast<void>(loops::cast(x, wide));
  return wide;
}
void evaluate_ctc(const Call& call, Outputs& out) {
  Tensor ints[3];
  for (std::size_t i = 0; i < 3; ++i) ints[i] = loops::contiguous(call.input(i + 1));
  const Tensor& x = call.input(0);
  const std::int64_t blank = call.attribute(0);
  if (const auto bad = loops::find_invalid(x.shape(), ints[0], ints[1], ints[2], blank); bad.position >= 0)
    fail_alignment(bad, x.shape(), ints[0].shape(), blank);
  const bool wide = x.dtype() == DType::float64, kept = out.residuals_wanted();
  const Tensor loss = wide ? out[0] : detail::empty(DType::float64, {x.shape()[1]});
  const Tensor d = !kept ? Tensor() : wide ? out[1] : detail::empty(DType::float64, x.shape());
  loops::ctc(in_float64(x), ints[0], ints[1], ints[2], blank, call.attribute(1) != 0, loss, d);
  if (wide) return;
  static_cast<void>(loops::cast(loss, out[0]));
  if (kept) static_cast<void>(loops::cast(d, out[1]));
}
constexpr Primitive ctc_primitive = {
    .rule = batched({ctc_name, ctc_vjp, ctc_jvp}),
    .infer = infer_ctc,
    .evaluate = evaluate_ctc,
    .keeps = {keep_input(0), keep_input(1), keep_input(2), keep_input(3), keep_output(1)},
    .constants = 3,
    .residuals = 1,
    .effects = may_throw};

Tensor integers(const Operand& operand, const char* name, const Shape& shape) {
  const Tensor x = to_tensor(ctc_name, operand, name);
  if (!is_integer(x.dtype())) fail<TypeError>(ctc_name, "{} must be integers, not {}; cast them", name, x.dtype());
  if (x.shape() != shape) fail<ShapeError>(ctc_name, "{} have shape {}; they must be {}", name, x.shape(), shape);
  return cast_to(x, DType::int64);
}

}  // namespace

}  // namespace ops

Tensor ctc_loss(const Operand& operand, const Operand& targets, const Operand& input_lengths,
                const Operand& target_lengths, const CtcOptions& options) {
  constexpr const char* op = ops::ctc_name;
  const tape::OpScope scope(operand);
  const auto [x, d] = ops::promote_operand(op, operand, ops::Accept::real);
  if (x.rank() != 3) fail<ShapeError>(op, "log_probs have shape {}; they must be [steps, batch, classes]", x.shape());
  const Shape shape = x.shape();
  if (options.blank < 0 || options.blank >= shape[2])
    fail<ValueError>(op, "blank is {}; it must be one of the {} classes", options.blank, shape[2]);
  const Tensor uncast = ops::to_tensor(op, targets, "targets");
  if (uncast.rank() != 2) fail<ShapeError>(op, "targets have shape {}; they must be [batch, labels]", uncast.shape());
  const Tensor labels = ops::integers(uncast, "targets", {shape[1], uncast.shape()[1]}),
               steps = ops::integers(input_lengths, "input_lengths", {shape[1]}),
               lengths = ops::integers(target_lengths, "target_lengths", {shape[1]});
  return ops::cast_to(
      ops::apply(ops::ctc_primitive, {&x, &labels, &steps, &lengths}, ops::words(options.blank, options.zero_infinity)),
      d);
}

}  // namespace reel
