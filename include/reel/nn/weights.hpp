// Dropout and first weights of layers, drawn from a generator.
#pragma once
#include <reel/api.hpp>
#include <reel/ops/make.hpp>

namespace REEL_API reel {

/// Each element is 0 with probability p, otherwise x / (1 - p), whose mean is x. (Srivastava and others 2014;
/// torch.nn.functional.dropout, but a dropped inf or NaN is 0.) The mask is random_bernoulli(generator, shape, 1 - p);
/// it is drawn again, the same, where derivatives compute again (checkpoint). p = 0: x; p = 1: zeros; the generator
/// advances for neither. ValueError unless 0 <= p <= 1; TypeError unless x is floating and real. Gradient: g / (1 - p)
/// where x is kept, 0 elsewhere.
Tensor dropout(const Operand& x, double p, Generator& generator);

// First weights of a layer, by what it has as inputs and outputs: of a dense layer, [inputs, outputs], these two; of
// convolution in this library's layout, [filters, channels / groups, kernel...], the second and the first extent, each
// times the elements of the kernel; of a vector both are its extent, of a scalar 1. Counts below 1 are taken as 1.
// (TensorFlow's VarianceScaling, whose kernels are [kernel..., channels, filters].) TypeError unless the dtype is
// floating.

/// Uniform in [-a, a) with a = sqrt(6 / (inputs + outputs)). (Glorot, Bengio 2010.)
Tensor glorot_uniform(Generator& generator, const Shape& shape, DType dtype = DType::float64);
/// Normal of variance 2 / (inputs + outputs): random_truncated_normal with a stddev such that this is the variance
/// after truncation, as TensorFlow's. (torch's are not truncated.)
Tensor glorot_normal(Generator& generator, const Shape& shape, DType dtype = DType::float64);
/// Uniform in [-a, a) with a = sqrt(6 / inputs). (He and others 2015.)
Tensor he_uniform(Generator& generator, const Shape& shape, DType dtype = DType::float64);
/// Truncated as glorot_normal, of variance 2 / inputs.
Tensor he_normal(Generator& generator, const Shape& shape, DType dtype = DType::float64);
/// An orthogonal matrix times `gain`, uniform among all (Haar's measure): q of qr of normal numbers, with columns times
/// the sign of the diagonal of r. As a matrix, the shape is [first extent, product of the others]; its rows are
/// orthonormal, or its columns if there are fewer. (Saxe, McClelland, Ganguli 2014; torch.nn.init.orthogonal_.)
/// ShapeError for rank below 2; ValueError for a gain that is not finite.
Tensor orthogonal(Generator& generator, const Shape& shape, double gain = 1, DType dtype = DType::float64);

}  // namespace reel
