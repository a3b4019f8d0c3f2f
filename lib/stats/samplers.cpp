// What samplers share: checks, uniform numbers, draws by rejection.
#include "stats/samplers.hpp"

#include <limits>
#include <reel/ops/pointwise.hpp>

#include "core/fail.hpp"
#include "ops/promote.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

DType check_samples(const char* op, const Shape& shape, DType dtype, std::initializer_list<const Operand*> parameters) {
  if (!is_floating(dtype)) fail<TypeError>(op, "dtype is {}; samples are floating, cast them", dtype);
  require_shape(op, shape);
  static_cast<void>(promote_operands(op, parameters, Accept::real));
  for (const Operand* p : parameters) {
    if (!p->is_tensor() || broadcast_shapes(op, shape, p->tensor().shape()) == shape) continue;
    fail<ShapeError>(op, "a parameter of shape {} does not broadcast to the samples' shape {}", p->tensor().shape(),
                     shape);
  }
  return widened(dtype);
}

Tensor draw_uniform_numbers(const char* op, Generator& generator, const Shape& shape, DType dtype,
                            std::initializer_list<const Operand*> parameters) {
  const DType drawn = check_samples(op, shape, dtype, parameters);
  const Tensor u = named(op, [&] { return random_uniform(generator, shape, 0, 1, drawn); });
  // Half of the least positive number that is drawn, in place of 0.
  constexpr double least = 0x1p-54, least_single = 0x1p-33;
  return maximum(u, dtype == DType::float64 ? least : least_single);
}

Tensor variates(const char* op, loops::Variate v, Generator& generator, const Shape& shape, DType dtype,
                std::initializer_list<const Operand*> parameters) {
  Tensor all[2];
  const Tensor* inputs[2] = {};
  std::size_t count = 0;
  for (const Operand* p : parameters) {
    all[count] = broadcast_to(to_tensor(op, *p, dtype, "a parameter"), shape);
    inputs[count] = &all[count];
    ++count;
  }
  return named(op, [&] { return variates(v, generator, {inputs, count}); });
}

Tensor scale_or_nan(const Operand& x) { return where(greater(x, 0), x, std::numeric_limits<double>::quiet_NaN()); }

Tensor draw_scaled_variates(const char* op, loops::Variate v, Generator& generator, const Shape& shape, DType dtype,
                            std::initializer_list<const Operand*> parameters, const Operand& loc,
                            const Operand& scale) {
  const DType drawn = check_samples(op, shape, dtype, parameters);
  check_samples(op, shape, dtype, {&loc, &scale});
  return cast_to(loc + scale_or_nan(scale) * variates(op, v, generator, shape, drawn, parameters), dtype);
}

}  // namespace ops

}  // namespace reel
