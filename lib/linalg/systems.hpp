// Shared by solvers of a x = b: shapes and operands, cotangents of both sides, the names of callers in errors.
#pragma once
#include <optional>

#include "linalg/matrices.hpp"

namespace reel::ops {

/// The shapes of a x = b.
struct SystemShape {
  Shape batch, shape;  // of the solution
  std::int64_t columns;
};

/// `vector`: b is a vector with batch axes, as the rules of a system with one vector have it.
SystemShape system_of(const char* op, const Tensor& a, const Tensor& b, bool vector, const char* operand = "a");
/// Of inputs a and b; `vector` is the number of an attribute.
inline SystemShape system_of(const char* op, const Call& call, std::size_t vector) {
  return system_of(op, call.input(0), call.input(1), call.attribute(vector) != 0);
}

struct SystemOperands {
  Tensor a, b;
  DType dtype;  // of the result
};
SystemOperands system_operands(const char* op, const Operand& a, const Operand& b, const char* operand = "a");

/// -y x^H; of a transposed system its transpose: the cotangent of a, where y is that of b.
Tensor minus_outer(const Tensor& y, const Tensor& x, bool vector, bool transpose);
/// a x, or a^T x.
Tensor apply_matrix(const Tensor& a, const Tensor& x, bool transpose, bool vector);
/// b - product, or -product if there is no b.
inline Tensor subtract_from(const Tensor& b, const Tensor& product) {
  return b.defined() ? subtract(b, product) : negative(product);
}

/// The cotangent of b: the conjugate of solve(conj g, vector), where solve takes the transposed system. For vectors, a
/// batch of cotangents becomes the columns of one matrix.
template <class Solve>
Tensor solve_cotangent(const tape::Record& r, const Tensor& g, bool vector, const Solve& solve) {
  const Tensor b = conjugate(g);
  return conjugate(r.batch_rank() && vector ? moveaxis(solve(moveaxis(b, 0, -1), false), -1, 0) : solve(b, vector));
}

/// The name of a caller and of its operand.
struct CallerNames {
  const char *op, *operand;
};
CallerNames caller_names(std::int64_t caller, const char* itself);
/// triangular_solve of operands that are checked.
Tensor triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options, bool vector, Caller caller);

/// ValueError for the first singular matrix of the batch.
void require_nonsingular(const char* op, const Tensor& a, const loops::FactorInfo& info);
/// One output of the dtype and shape of the first input, without its strides.
inline void infer_like_input(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(0).shape()); }

}  // namespace reel::ops
