// Jacobians of a tape: the rows of replay_rows in the shapes that their callers expect.
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"

namespace reel {

namespace gradients {

Shape join(const Shape& a, const Shape& b) {
  Shape s = a;
  for (std::int64_t extent : b) s.push_back(extent);
  return s;
}

std::vector<Gradient> jacobian(const char* who, tape::Tape& tape, const Target& target, std::span<const Source> sources,
                               UnconnectedGradients unconnected) {
  check(who, tape, {&target, 1}, sources, {});
  const Shape of = target.tensor().shape();
  for (const Source& s : sources)
    if (const Shape by = shape_of(s); of.rank() + by.rank() > max_rank)
      fail<ShapeError>(who, "a target of rank {} by a source of rank {} makes a rank above {}; flatten them", of.rank(),
                       by.rank(), max_rank);
  std::vector<Gradient> result = replay_rows(who, tape, target, sources, unconnected, target.tensor().size());
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (result[i]) result[i] = reshape(result[i].dense(), join(of, shape_of(sources[i])));
  return result;
}

}  // namespace gradients

std::vector<Gradient> GradientTape::jacobians(const Target& target, std::span<const Source> sources,
                                              const JacobianOptions& options) {
  return gradients::jacobian("GradientTape.jacobian", *tape_, target, sources, options.unconnected_gradients);
}

Gradient GradientTape::batch_jacobian(const Target& target, const Source& source, const JacobianOptions& options) {
  constexpr const char* op = "GradientTape.batch_jacobian";
  gradients::check(op, *tape_, {&target, 1}, {&source, 1}, {});
  const Shape of = target.tensor().shape(), by = gradients::shape_of(source);
  if (of.empty() || by.empty() || of[0] != by[0])
    fail<ShapeError>(op,
                     "the first axes of target and source are the batch and must have the same extent: the target is "
                     "{}, the source {}; use jacobian for what has no batch",
                     of, by);
  const Shape row(of.data() + 1, of.size() - 1), column(by.data() + 1, by.size() - 1);
  if (of.rank() + column.rank() > max_rank)
    fail<ShapeError>(op, "a target of rank {} by a source of rank {} makes a rank above {}; flatten them", of.rank(),
                     by.rank(), max_rank);
  // An element of the target depends on its own element of the batch alone: the sum over the batch loses nothing.
  Gradient rows =
      gradients::replay_rows(op, *tape_, target, {&source, 1}, options.unconnected_gradients, row.elements()).front();
  if (!rows) return rows;
  return contiguous(reshape(moveaxis(rows.dense(), 0, 1), gradients::join(of, column)));
}

}  // namespace reel
