#include "loops/make/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/visit.hpp"
#include "kernels/random.hpp"
#include "loops/elementwise/cast.hpp"
#include "loops/loops.hpp"
#include "loops/make/fill.hpp"
#include "loops/make/philox.hpp"

namespace reel::loops {
namespace {

using Words = std::array<std::uint64_t, 2>;
using Pair = std::array<double, 2>;

// The words of half a block.
std::uint64_t random_word(RandomStream from, std::int64_t i) {
  const Words block = random_block(from.seed, from.first + static_cast<std::uint64_t>(i / 2));
  return block[static_cast<std::size_t>(i % 2)];
}

// A product of 128 bits.
struct WideProduct {
  std::uint64_t high, low;
};
#ifdef __SIZEOF_INT128__
WideProduct multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
}
#else
WideProduct multiply(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t low_half = 0xffffffff;
  const std::uint64_t al = a & low_half, ah = a >> 32, bl = b & low_half, bh = b >> 32;
  const std::uint64_t low = al * bl, first = ah * bl + (low >> 32), second = al * bh + (first & low_half);
  return {ah * bh + (first >> 32) + (second >> 32), second << 32 | (low & low_half)};
}
#endif

// A draw from [0, count) by a random word, as the high half of their product. Words whose low half is below `least`,
// 2^64 mod count, would make some numbers likelier; each of them seeds another (Lemire, "Fast random integer generation
// in an interval", ACM Transactions on Modeling and Computer Simulation 29, 2019). With less than half of the words
// refused, 64 in a row have a probability below 2^-64.
std::uint64_t below(std::uint64_t count, std::uint64_t least, std::uint64_t word) {
  WideProduct product = multiply(word, count);
  for (std::uint64_t k = 0; product.low < least && k < 64; ++k) {
    word = random_block(word, k)[0];
    product = multiply(word, count);
  }
  return product.high;
}

// Fills y, PerBlock elements at a time, by f(words, out).
template <class T, std::int64_t PerBlock, class F>
void draw(RandomStream from, const Tensor& y, const F& f) {
  T* to = detail::mutable_data<T>(y);
  const std::int64_t n = y.size(), blocks = (n + PerBlock - 1) / PerBlock;
  parallel_for(blocks, tuning::random_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T values[PerBlock];
      f(random_block(from.seed, from.first + static_cast<std::uint64_t>(i)), values);
      std::copy_n(values, std::min(PerBlock, n - i * PerBlock), to + i * PerBlock);
    }
  });
}

// Fills y by a kernel of its dtype; half precisions are drawn in float32 and rounded by round(v). `of(place, out, n)`
// calls the kernel.
template <class Half, class Of, class Round>
void draw_half(RandomStream from, const Tensor& y, const Of& of, const Round& round) {
  Half* to = detail::mutable_data<Half>(y);
  constexpr std::int64_t most = 1024;  // float32 numbers at a time: 4 KiB of the stack
  const std::int64_t n = y.size();
  parallel_for((n + most - 1) / most, tuning::random_grain * 4 / most, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float values[most];
      const std::int64_t count = std::min(most, n - i * most);
      of({from.seed, from.first + static_cast<std::uint64_t>(i * most / 4)}, values, count);
      for (std::int64_t k = 0; k < count; ++k) to[i * most + k] = round(Half(values[k]));
    }
  });
}
template <class Of, class Round>
void draw_floats(RandomStream from, const Tensor& y, const Of& of, const Round& round) {
  if (y.dtype() == DType::float16) return draw_half<float16>(from, y, of, round);
  if (y.dtype() == DType::bfloat16) return draw_half<bfloat16>(from, y, of, round);
  const std::int64_t n = y.size(), per_block = y.dtype() == DType::float32 ? 4 : 2;
  const auto bytes = static_cast<std::int64_t>(item_size(y.dtype()));
  std::byte* to = detail::block(y)->data;
  parallel_for((n + per_block - 1) / per_block, tuning::random_grain, [&](std::int64_t begin, std::int64_t end) {
    of({from.seed, from.first + static_cast<std::uint64_t>(begin)}, to + begin * per_block * bytes,
       std::min(n, end * per_block) - begin * per_block);
  });
}
const kernels::Draws& draws_of(DType dtype) {
  return kernels::active<kernels::DrawKernels>()[dtype == DType::float64 ? dtype : DType::float32];
}

// Fills y by two(a, b), which maps two words to two numbers. For dtypes below 64 bits a word has 32 random bits; its
// lower half is set to the middle of its range.
template <class T, class F>
void draw_narrow(RandomStream from, const Tensor& y, const F& two) {
  draw<T, 4>(from, y, [&](const Words& words, T* out) {
    for (int k = 0; k < 2; ++k) {
      constexpr std::uint64_t middle = 0x80000000;
      const std::uint64_t word = words[static_cast<std::size_t>(k)];
      const Pair v = two(word << 32 | middle, word >> 32 << 32 | middle);
      for (int i = 0; i < 2; ++i) out[2 * k + i] = T(static_cast<float>(v[static_cast<std::size_t>(i)]));
    }
  });
}
template <class F>
void draw_pairs(RandomStream from, const Tensor& y, const F& two) {
  visit_among<float16, bfloat16, float, double>(y.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, double>)
      draw<T, 2>(from, y, [&](const Words& words, T* out) {
        const Pair v = two(words[0], words[1]);
        out[0] = v[0];
        out[1] = v[1];
      });
    else
      draw_narrow<T>(from, y, two);
  });
}

// The largest value of a dtype below `bound`, as double: rounding must not reach the open end.
double greatest_below(double bound, DType dtype) {
  return visit_among<float16, bfloat16, float, double>(dtype, [&]<class T>() -> double {
    if constexpr (std::is_floating_point_v<T>) {
      const auto v = static_cast<T>(bound);
      return static_cast<double>(v) < bound ? v : std::nextafter(v, -std::numeric_limits<T>::infinity());
    } else {
      T v(static_cast<float>(bound));
      while (!(static_cast<double>(static_cast<float>(v)) < bound))
        v.bits = static_cast<std::uint16_t>((v.bits & 0x7fff) == 0 ? 0x8001
                                            : v.bits & 0x8000      ? v.bits + 1
                                                                   : v.bits - 1);
      return static_cast<double>(static_cast<float>(v));
    }
  });
}

// Converts logits to cumulative sums of probabilities, up to a factor per row. Returns the first row without a
// distribution, or -1.
std::int64_t accumulate_probabilities(double* rows, std::int64_t size, std::int64_t classes) {
  for (std::int64_t at = 0; at < size; at += classes) {
    double* w = rows + at;
    const double top = *std::max_element(w, w + classes);
    double sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) {
      if (std::isnan(w[k]) || !std::isfinite(top)) return at / classes;
      w[k] = sum += portable_exp(w[k] - top);
    }
  }
  return -1;
}

}  // namespace

std::uint64_t random_blocks(DType dtype, std::int64_t n) {
  const bool narrow = is_floating(dtype) && dtype != DType::float64;
  return static_cast<std::uint64_t>(narrow ? (n + 3) / 4 : (n + 1) / 2);
}

void draw_uniform(RandomStream from, double low, double high, const Tensor& y) {
  const DType dtype = y.dtype();
  const double last = greatest_below(high, dtype);
  // The width of the range may exceed the range of the dtype of the draws; half of it never does.
  const double largest = dtype == DType::float64 ? std::numeric_limits<double>::max()
                                                 : static_cast<double>(std::numeric_limits<float>::max());
  const double factor = high - low > largest ? 2 : 1;
  const kernels::UniformRange range{low / factor, high / factor - low / factor, factor, last};
  const auto of = [&, draw = draws_of(dtype).uniform](kernels::RandomPlace place, void* out, std::ptrdiff_t n) {
    draw(place, range, out, n);
  };
  draw_floats(from, y, of, [=](auto v) {
    return static_cast<double>(static_cast<float>(v)) < high ? v : decltype(v)(static_cast<float>(last));
  });
}

void draw_normal(RandomStream from, double mean, double stddev, const Tensor& y) {
  const auto of = [=, draw = draws_of(y.dtype()).normal](kernels::RandomPlace place, void* out, std::ptrdiff_t n) {
    draw(place, mean, stddev, out, n);
  };
  draw_floats(from, y, of, [](auto v) { return v; });
}

void draw_truncated_normal(RandomStream from, double mean, double stddev, const Tensor& y) {
  constexpr double below = 0.022750131948179207;  // the probability below -2
  const auto one = [=](std::uint64_t bits) {
    const double z = normal_quantile(below + (1 - 2 * below) * open_unit(bits));
    return mean + stddev * std::clamp(z, -2.0, 2.0);
  };
  draw_pairs(from, y, [=](std::uint64_t a, std::uint64_t b) { return Pair{one(a), one(b)}; });
}

void draw_bernoulli(RandomStream from, double probability, const Tensor& y) {
  draw<bool, 2>(from, y, [=](const Words& words, bool* out) {
    for (std::size_t i = 0; i < 2; ++i) out[i] = unit_double(words[i]) < probability;
  });
}

std::int64_t draw_categorical(RandomStream from, const Tensor& logits, const Tensor& y) {
  const Tensor weights = detail::empty(DType::float64, logits.shape());
  if (logits.dtype() == DType::float64)
    copy(logits, weights);
  else
    cast(logits, weights);
  double* const rows = detail::mutable_data<double>(weights);
  const std::int64_t classes = logits.shape()[-1], count = y.shape()[-1];
  if (const std::int64_t row = accumulate_probabilities(rows, weights.size(), classes); row >= 0) return row;
  auto* to = detail::mutable_data<std::int64_t>(y);
  parallel_for(y.size(), 2 * tuning::random_grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double* w = rows + i / count * classes;
      // The first class whose running sum exceeds the draw: never one with probability 0.
      to[i] = std::upper_bound(w, w + classes, unit_double(random_word(from, i)) * w[classes - 1]) - w;
      to[i] = std::min(to[i], classes - 1);
    }
  });
  return -1;
}

void draw_integers(RandomStream from, std::int64_t low, std::uint64_t count, const Tensor& y) {
  const std::uint64_t least = -count % count;
  draw<std::int64_t, 2>(from, y, [=](const Words& words, std::int64_t* out) {
    for (std::size_t i = 0; i < 2; ++i)
      out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + below(count, least, words[i]));
  });
}

void draw_permutation(RandomStream from, const Tensor& y) {
  fill_sequence(y, std::int64_t{0}, std::int64_t{1});
  auto* to = detail::mutable_data<std::int64_t>(y);
  for (std::int64_t i = y.size() - 1; i > 0; --i) {
    // A draw from [0, i] as the high half of a product; the bias is below 2^-64 i.
    const auto k = static_cast<std::int64_t>(multiply(random_word(from, i), static_cast<std::uint64_t>(i + 1)).high);
    std::swap(to[i], to[k]);
  }
}

}  // namespace reel::loops
