// Pool adjacent violators: a stack of blocks, the last ones merged until their means ascend. Sums are float64.
#include "loops/sort/isotonic.hpp"

#include <algorithm>

#include "core/visit.hpp"
#include "loops/loops.hpp"
#include "loops/workspaces.hpp"

namespace reel::loops {

namespace {

struct PooledBlock {
  double sum;
  std::int64_t start, count;
  double mean() const { return sum / static_cast<double>(count); }
};

template <class T>
void isotonic_row(const T* x, std::int64_t n, bool increasing, PooledBlock* blocks, T* y, std::int64_t* starts) {
  std::int64_t top = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    PooledBlock last{static_cast<double>(x[i]), i, 1};
    for (; top > 0; --top) {
      const PooledBlock& before = blocks[top - 1];
      if (increasing ? !(before.mean() > last.mean()) : !(before.mean() < last.mean())) break;
      last = {before.sum + last.sum, before.start, before.count + last.count};
    }
    blocks[top++] = last;
  }
  for (std::int64_t k = 0; k < top; ++k) {
    std::fill_n(y + blocks[k].start, blocks[k].count, static_cast<T>(blocks[k].mean()));
    std::fill_n(starts + blocks[k].start, blocks[k].count, blocks[k].start);
  }
}

template <class T>
void isotonic(const Tensor& x, bool increasing, const Tensor& y, const Tensor& starts) {
  const std::int64_t n = x.shape()[-1], rows = x.size() / n;
  const T* from = detail::mutable_data<T>(x);
  T* to = detail::mutable_data<T>(y);
  auto* start = detail::mutable_data<std::int64_t>(starts);
  Workspaces scratch(rows, n * static_cast<std::int64_t>(sizeof(PooledBlock)));
  parallel_for(rows, std::max<std::int64_t>(1, parallel_threshold / 4 / n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      scratch.use([&](std::byte* memory) {
        auto* blocks = reinterpret_cast<PooledBlock*>(memory);
        isotonic_row(from + row * n, n, increasing, blocks, to + row * n, start + row * n);
      });
  });
}

}  // namespace

void isotonic_rows(const Tensor& x, bool increasing, const Tensor& y, const Tensor& starts) {
  if (x.size() == 0) return;
  visit_among<float, double>(x.dtype(), [&]<class T>() { isotonic<T>(x, increasing, y, starts); });
}

}  // namespace reel::loops
