// triangular_solve, also for the solvers by triangular factors.
#include <reel/ops/index.hpp>

#include "linalg/systems.hpp"
#include "linalg/write.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"

namespace reel {
namespace ops {
namespace {

// ---- triangular_solve: saved a and x (where a is followed); attributes of the options, then vector, and the caller.
enum : std::size_t { triangular_vector = 3, triangular_caller };

TriangularOptions options_of(const tape::Record& r) {
  return {r.attributes()[0] != 0, r.attributes()[1] != 0, r.attributes()[2] != 0};
}
TriangularOptions flip_transpose(TriangularOptions options) {
  options.transpose = !options.transpose;
  return options;
}
// The triangle of a that a triangular solve reads.
Tensor mask_triangle(const Tensor& a, const TriangularOptions& options) {
  return options.lower ? tril(a, options.unit_diagonal ? -1 : 0) : triu(a, options.unit_diagonal ? 1 : 0);
}

void triangular_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const TriangularOptions options = options_of(r);
  const bool vector = r.attributes()[triangular_vector];
  const auto caller = static_cast<Caller>(r.attributes()[triangular_caller]);
  const Tensor db = solve_cotangent(r, g[0], vector, [&](const Tensor& b, bool v) {
    return triangular(r.saved(0), b, flip_transpose(options), v, caller);
  });
  if (r.wanted(1)) dx[1] = sum_to(r, db, r.shape(1));
  if (!r.wanted(0)) return;
  const Tensor x = r.saved(1);
  const Tensor da = minus_outer(db, x, vector, options.transpose);
  dx[0] = mask_triangle(sum_to(r, da, r.shape(0)), options);
}

void triangular_jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const TriangularOptions options = options_of(r);
  const bool vector = r.attributes()[triangular_vector] != 0;
  Tensor b;
  if (r.wanted(1)) b = dx[1];
  if (r.wanted(0))
    b = subtract_from(b, apply_matrix(mask_triangle(dx[0], options), r.saved(1), options.transpose, vector));
  dy[0] = triangular(r.saved(0), b, options, vector, static_cast<Caller>(r.attributes()[triangular_caller]));
}

void infer_triangular(const Call& call, Metas& out) {
  out.add(call.input(0).dtype(), system_of("triangular_solve", call, triangular_vector).shape);
}

void evaluate_triangular(const Call& call, Outputs& out) {
  const Tensor &a = call.input(0), &b = call.input(1);
  const SystemShape s = system_of("triangular_solve", call, triangular_vector);
  loops::copy(b, out[0]);
  const loops::TriangularSystem system = {call.attribute(0) != 0, call.attribute(1) != 0, call.attribute(2) != 0,
                                          static_cast<Caller>(call.attribute(triangular_caller)) == Caller::rule};
  if (const loops::FactorInfo info = loops::solve_triangular(a, system, out[0], s.batch, s.columns)) {
    const CallerNames names = caller_names(call.attribute(triangular_caller), "triangular_solve");
    fail<ValueError>(names.op, "{} is singular: element {} of the diagonal{} is zero; add a multiple of eye(n){}",
                     names.operand, info.order - 1, matrix_name(info.batch, s.batch),
                     names.operand[0] == 'a' ? ", or set unit_diagonal if the diagonal is not stored" : "");
  }
}

constexpr Primitive triangular_primitive = {.rule = batched({"triangular_solve", triangular_vjp, triangular_jvp}),
                                            .infer = infer_triangular,
                                            .evaluate = evaluate_triangular,
                                            .keeps = {keep_input(0), keep_output(0, 0b01)},
                                            .effects = may_throw,
                                            .write_c = write_triangular};

}  // namespace

Tensor triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options, bool vector, Caller caller) {
  return apply(triangular_primitive, {&a, &b},
               words(options.lower, options.transpose, options.unit_diagonal, vector, caller));
}

Tensor triangular_solve_for(Caller caller, const Operand& a, const Operand& b, const TriangularOptions& options,
                            std::optional<bool> vector) {
  const CallerNames names = caller_names(static_cast<std::int64_t>(caller), "triangular_solve");
  const SystemOperands sides = system_operands(names.op, a, b, names.operand);
  const bool v =
      vector.has_value() ? *vector : is_vector_side(names.op, names.operand, sides.a.shape(), sides.b.shape());
  static_cast<void>(system_of(names.op, sides.a, sides.b, v, names.operand));
  return triangular(sides.a, sides.b, options, v, caller);
}

}  // namespace ops

Tensor triangular_solve(const Operand& a, const Operand& b, const TriangularOptions& options) {
  const tape::OpScope scope(a);
  const auto [x, y, dtype] = ops::system_operands("triangular_solve", a, b);
  const bool vector = ops::is_vector_side("triangular_solve", "a", x.shape(), y.shape());
  return ops::cast_to(ops::triangular(x, y, options, vector, ops::Caller::itself), dtype);
}

}  // namespace reel
