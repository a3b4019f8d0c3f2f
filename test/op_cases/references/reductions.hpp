// Reductions and scans of rows by their definitions, over any numbers.
#pragma once
#include "../naive.hpp"

namespace cases {

template <class N>
N inner_product(const RowOf<N>& a, const RowOf<N>& b) {
  N sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}
template <class N>
RowOf<N> log_softmax_of(RowOf<N> row) {
  N sum = 0;
  for (const N& v : row) sum += exp(v);
  const N all = log(sum);
  for (N& v : row) v = rounded(v - all, 8);
  return row;
}

}  // namespace cases
