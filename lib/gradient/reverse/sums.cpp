// Sums of terms that cannot be added in place, and the default VSpace.
#include "gradient/reverse/sums.hpp"

#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "ops/index/rows.hpp"

namespace reel {

namespace autodiff {

void Sums::combine(Gradient& cotangent, Gradient term) {
  if (method_ == AggregationMethod::add_n) {
    detail::List<Gradient>& others = waiting_[&cotangent];
    others.push_back(std::move(term));
    const std::size_t count = others.size() + 1;
    if (count < early_terms) return;
    const std::int64_t bytes = 4 * space_.num_elements(others.back());
    if (bytes > early_bytes / static_cast<std::int64_t>(count)) join(cotangent, false);
    return;
  }
  if (custom_) {
    const Gradient terms[] = {std::move(cotangent), std::move(term)};
    cotangent = space_.aggregate(terms);
  } else if (!cotangent.is_slices() && !term.is_slices()) {
    const Tensor sum = cotangent.dense();
    cotangent = reel::add(sum, term.dense());
  } else if (term.is_slices()) {
    waiting_[&cotangent].push_back(std::move(term));
  } else {
    // From its first dense term on, the cotangent holds the dense sum.
    std::swap(cotangent, term);
    detail::List<Gradient>& slices = waiting_[&cotangent];
    slices.insert(slices.begin(), std::move(term));
  }
}

namespace {

// Pairwise: the rounding error grows with the logarithm of the number of terms. The terms are consumed: a sum is
// written into the memory of a term that nobody else holds.
Tensor sum_by_halves(std::span<Tensor> terms) {
  if (terms.size() == 1) return std::move(terms[0]);
  Tensor front = sum_by_halves(terms.first(terms.size() / 2));
  return add(std::move(front), sum_by_halves(terms.subspan(terms.size() / 2)));
}

IndexedSlices concatenate_slices(std::span<const IndexedSlices> slices) {
  if (slices.size() == 1) return slices[0];
  detail::List<Tensor> values, indices;
  for (const IndexedSlices& s : slices) {
    values.push_back(s.values);
    indices.push_back(s.indices.dtype() == DType::int64 ? s.indices : cast(s.indices, DType::int64));
  }
  return {concatenate(values, 0), concatenate(indices, 0), slices[0].dense_shape};
}

// The sum of slices as a tensor: each is added to the same one, with the bits of concatenated slices.
Tensor dense_sum(std::span<const IndexedSlices> slices) {
  if (Tensor sum = ops::sum_of_slices(slices); sum.defined()) return sum;
  return concatenate_slices(slices).dense();
}

Gradient total(std::span<Gradient> terms, bool as_tensor) {
  detail::List<Tensor> dense;
  detail::List<IndexedSlices> slices;
  Gradient* only = nullptr;
  for (Gradient& g : terms) {
    if (!g) continue;
    only = &g;
    if (g.is_slices())
      slices.push_back(g.slices());
    else
      dense.push_back(std::move(GradientAccess::value(g)));
  }
  if (dense.size() + slices.size() <= 1) {
    if (!dense.empty()) return dense[0];
    return only ? *only : Gradient();
  }
  for (const Tensor& x : dense)
    if (x.shape() != dense[0].shape())
      fail<ShapeError>("VSpace.aggregate", "the terms of a gradient have different shapes: {} and {}", dense[0].shape(),
                       x.shape());
  if (dense.empty()) return as_tensor ? Gradient(dense_sum(slices)) : Gradient(concatenate_slices(slices));
  Tensor sum = sum_by_halves(dense);
  if (slices.empty()) return sum;
  return add(std::move(sum), dense_sum(slices));
}

}  // namespace

void Sums::join(Gradient& cotangent, bool dense) {
  const auto found = waiting_.find(&cotangent);
  if (found == waiting_.end()) return;
  detail::List<Gradient> terms = std::move(found->second);
  waiting_.erase(found);
  terms.insert(terms.begin(), std::move(cotangent));
  cotangent = custom_ ? space_.aggregate(terms) : total(terms, dense);
}

}  // namespace autodiff

VSpace::~VSpace() = default;

std::int64_t VSpace::num_elements(const Gradient& g) const {
  return g.is_slices() ? g.slices().values.size() : g.dense().size();
}

Gradient VSpace::aggregate(std::span<const Gradient> terms) const {
  detail::List<Gradient> copies(terms.begin(), terms.end());
  return autodiff::total(copies, false);
}

Tensor VSpace::zeros(const Shape& shape, DType dtype) const { return reel::zeros(shape, dtype); }
Tensor VSpace::ones(const Shape& shape, DType dtype) const { return reel::ones(shape, dtype); }
std::uint64_t VSpace::tensor_id(const Tensor& x) const { return x.id(); }

}  // namespace reel
