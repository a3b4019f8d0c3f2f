// Random choices from a tensor, and generators by keys. A call that throws does not advance the generator.
#pragma once
#include <reel/api.hpp>
#include <reel/ops/make.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// A generator for each key, with a stream of its own: its seed is a hash of the seed and the key. The generator itself
/// does not advance, and what it has drawn does not matter. (JAX's fold_in.)
Generator split(const Generator& generator, std::uint64_t key) noexcept;
/// The parts of x along the axis, in random order. IndexError for an axis that x lacks. Gradient: brought back to the
/// places.
Tensor random_shuffle(Generator& generator, const Operand& x, std::int64_t axis = 0);
/// `count` parts of x along the axis, chosen at random, each any number of times or, without replacement, at most once.
/// ValueError for a count below 0, above what there is without replacement, or above 0 where there is none. Gradient:
/// added at the chosen places.
Tensor random_choice(Generator& generator, const Operand& x, std::int64_t count, bool replace = true,
                     std::int64_t axis = 0);
/// The same, with probabilities in proportion to the weights, floating or whole numbers of shape [parts along the
/// axis]. Without replacement each choice is one among the parts that are left, in proportion to their weights
/// (Efraimidis and Spirakis 2006), in the order of the result. ShapeError for other weights, ValueError where one is
/// negative, NaN or infinite, where all are 0, or where fewer than `count` are above 0 without replacement. The weights
/// have no gradient.
Tensor random_choice(Generator& generator, const Operand& x, std::int64_t count, const Tensor& weights,
                     bool replace = true, std::int64_t axis = 0);

}  // namespace reel
