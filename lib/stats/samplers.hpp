// What samplers check and draw first.
#pragma once
#include <initializer_list>

#include "ops/engine.hpp"
#include "stats/implicit_samples.hpp"
#include "tape/observe/observe.hpp"

namespace reel::ops {

/// Checks all arguments. The dtype in which samples of `dtype` are drawn: float32 or float64.
DType check_samples(const char* op, const Shape& shape, DType dtype, std::initializer_list<const Operand*> parameters);

/// Checks all arguments; then uniform numbers above 0 and below 1, of at least 32 bits. Parameters broadcast to the
/// shape.
Tensor draw_uniform_numbers(const char* op, Generator& generator, const Shape& shape, DType dtype,
                            std::initializer_list<const Operand*> parameters);

/// Draws in `dtype`, float32 or float64, of parameters that broadcast to the shape.
Tensor variates(const char* op, loops::Variate v, Generator& generator, const Shape& shape, DType dtype,
                std::initializer_list<const Operand*> parameters);

/// The scale, or NaN where it is not above 0.
Tensor scale_or_nan(const Operand& x);

/// loc + scale z for draws z by rejection. NaN where the scale is not above 0.
Tensor draw_scaled_variates(const char* op, loops::Variate v, Generator& generator, const Shape& shape, DType dtype,
                            std::initializer_list<const Operand*> parameters, const Operand& loc, const Operand& scale);

/// `quantile` of uniform numbers for `precision`, in `dtype`.
template <class Quantile>
Tensor draw_by_quantile(const char* op, Generator& generator, const Shape& shape, DType dtype, DType precision,
                        std::initializer_list<const Operand*> parameters, const Quantile& quantile) {
  const tape::OpScope scope(**parameters.begin());
  check_samples(op, shape, dtype, parameters);
  return cast_to(quantile(draw_uniform_numbers(op, generator, shape, precision, parameters)), dtype);
}

}  // namespace reel::ops
