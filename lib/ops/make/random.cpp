// Random tensors. Each element is a function of the seed and its place in the stream alone; a call takes whole blocks
// of 128 bits, as many as its elements need, so that neither threads nor instruction sets show in the numbers.
#include <algorithm>
#include <cmath>
#include <reel/ops/make.hpp>

#include "loops/loops.hpp"
#include "ops/engine.hpp"
#include "ops/make/draws.hpp"
#include "ops/make/philox.hpp"

namespace reel {

namespace {

constexpr std::int64_t blocks_per_piece = 4096;  // that one thread takes at a time

using Words = std::array<std::uint64_t, 2>;

// A tensor of `shape` whose elements come PerBlock at a time from f(words, out).
template <class T, std::int64_t PerBlock, class F>
Tensor drawn(const char* op, Generator& generator, const Shape& shape, const F& f) {
  ops::require_shape(op, shape);
  Tensor y = detail::empty(dtype_of<T>, shape);
  T* to = detail::mutable_data<T>(y);
  const std::int64_t n = y.size(), blocks = (n + PerBlock - 1) / PerBlock;
  const ops::Draw from = ops::draw(generator, static_cast<std::uint64_t>(blocks));
  loops::parallel_for(blocks, blocks_per_piece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T values[PerBlock];
      f(ops::random_block(from.seed, from.first + static_cast<std::uint64_t>(i)), values);
      std::copy_n(values, std::min(PerBlock, n - i * PerBlock), to + i * PerBlock);
    }
  });
  return y;
}

// drawn(), by the dtype: two numbers to a block for float64, four for narrower dtypes. two(a, b) makes two numbers of
// two words.
template <class F>
Tensor drawn_floats(const char* op, Generator& generator, const Shape& shape, DType dtype, const F& two) {
  const auto narrow = [&]<class T>(T) {
    return drawn<T, 4>(op, generator, shape, [&](const Words& words, T* out) {
      for (int k = 0; k < 2; ++k) {
        // 32 random bits are enough for 24 of significand; the others stand for the middle of what is left.
        constexpr std::uint64_t middle = 0x80000000;
        const std::uint64_t word = words[static_cast<std::size_t>(k)];
        const std::array<double, 2> v = two(word << 32 | middle, word >> 32 << 32 | middle);
        for (int i = 0; i < 2; ++i) out[2 * k + i] = T(static_cast<float>(v[static_cast<std::size_t>(i)]));
      }
    });
  };
  switch (dtype) {
    case DType::float16:
      return narrow(float16());
    case DType::bfloat16:
      return narrow(bfloat16());
    case DType::float32:
      return narrow(float());
    case DType::float64:
      return drawn<double, 2>(op, generator, shape, [&](const Words& words, double* out) {
        const std::array<double, 2> v = two(words[0], words[1]);
        out[0] = v[0];
        out[1] = v[1];
      });
    default:
      fail<TypeError>(op, "dtype is {}; random numbers are drawn in a floating dtype, cast them", dtype);
  }
}

// The greatest value of a dtype below `bound`, as double: rounding must not reach the open end.
double greatest_below(double bound, DType dtype) {
  const auto halves = [&](auto half) {
    using T = decltype(half);
    T v(static_cast<float>(bound));
    while (!(static_cast<double>(static_cast<float>(v)) < bound))
      v.bits = static_cast<std::uint16_t>((v.bits & 0x7fff) == 0 ? 0x8001 : v.bits & 0x8000 ? v.bits + 1 : v.bits - 1);
    return static_cast<double>(static_cast<float>(v));
  };
  switch (dtype) {
    case DType::float16:
      return halves(float16());
    case DType::bfloat16:
      return halves(bfloat16());
    case DType::float32: {
      const auto v = static_cast<float>(bound);
      return static_cast<double>(v) < bound ? v : std::nextafter(v, -HUGE_VALF);
    }
    default:
      return std::nextafter(bound, -HUGE_VAL);
  }
}

// v as the dtype would round it.
double rounded(double v, DType dtype) {
  const auto single = static_cast<float>(v);
  return dtype == DType::float16    ? static_cast<double>(float(float16(single)))
         : dtype == DType::bfloat16 ? static_cast<double>(float(bfloat16(single)))
         : dtype == DType::float32  ? static_cast<double>(single)
                                    : v;
}

void check_spread(const char* op, double mean, double stddev) {
  if (!std::isfinite(mean) || !std::isfinite(stddev) || stddev < 0)
    fail<ValueError>(op, "mean is {} and stddev {}; both must be finite and stddev at least 0", mean, stddev);
}

}  // namespace

Tensor random_uniform(Generator& generator, const Shape& shape, double low, double high, DType dtype) {
  if (!(low < high) || !std::isfinite(high - low))
    fail<ValueError>("random_uniform", "low is {} and high {}; they must be finite and low less than high", low, high);
  const double last = is_floating(dtype) ? greatest_below(high, dtype) : 0, width = high - low;
  const auto one = [=](std::uint64_t bits) {
    const double v = low + width * ops::unit_double(bits);
    return rounded(v, dtype) < high ? v : last;
  };
  return drawn_floats("random_uniform", generator, shape, dtype, [=](std::uint64_t a, std::uint64_t b) {
    return std::array<double, 2>{one(a), one(b)};
  });
}

Tensor random_normal(Generator& generator, const Shape& shape, double mean, double stddev, DType dtype) {
  check_spread("random_normal", mean, stddev);
  return drawn_floats("random_normal", generator, shape, dtype, [=](std::uint64_t a, std::uint64_t b) {
    const auto [x, y] = ops::normal_pair(a, b);
    return std::array<double, 2>{mean + stddev * x, mean + stddev * y};
  });
}

Tensor random_truncated_normal(Generator& generator, const Shape& shape, double mean, double stddev, DType dtype) {
  check_spread("random_truncated_normal", mean, stddev);
  constexpr double below = 0.022750131948179207;  // of the distribution lies under -2
  const auto one = [=](std::uint64_t bits) {
    const double z = ops::normal_quantile(below + (1 - 2 * below) * ops::open_unit(bits));
    return mean + stddev * std::clamp(z, -2.0, 2.0);
  };
  return drawn_floats("random_truncated_normal", generator, shape, dtype, [=](std::uint64_t a, std::uint64_t b) {
    return std::array<double, 2>{one(a), one(b)};
  });
}

Tensor random_bernoulli(Generator& generator, const Shape& shape, double probability) {
  if (!(probability >= 0 && probability <= 1))
    fail<ValueError>("random_bernoulli", "probability is {}; it must lie between 0 and 1", probability);
  return drawn<bool, 2>("random_bernoulli", generator, shape, [=](const Words& words, bool* out) {
    for (std::size_t i = 0; i < 2; ++i) out[i] = ops::unit_double(words[i]) < probability;
  });
}

Tensor random_categorical(Generator& generator, const Tensor& logits, std::int64_t count) {
  constexpr const char* op = "random_categorical";
  ops::require_defined(op, logits, "logits");
  if (!is_floating(logits.dtype())) fail<TypeError>(op, "logits are {}; they must be floating", logits.dtype());
  if (logits.rank() == 0) fail<ShapeError>(op, "logits have rank 0; their last axis must hold the classes");
  if (count < 0) fail<ValueError>(op, "count is {}; it must be at least 0", count);
  Shape shape = logits.shape();
  const std::int64_t classes = shape[-1];
  shape[-1] = count;
  ops::require_shape(op, shape);
  if (classes == 0 && shape.elements() != 0)
    fail<ShapeError>(op, "logits of shape {} have no classes to draw from", logits.shape());
  std::vector<double> weights = cast(stop_gradient(logits), DType::float64).to_vector();
  // Each row becomes its running sum of probabilities, up to a factor.
  for (std::size_t row = 0; row < weights.size(); row += static_cast<std::size_t>(classes)) {
    double* w = &weights[row];
    const double top = *std::max_element(w, w + classes);
    double sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) {
      if (std::isnan(w[k]) || !std::isfinite(top))
        fail<ValueError>(op, "the logits of row {} are not usable: none may be NaN or inf, and one must be above -inf",
                         row / static_cast<std::size_t>(classes));
      w[k] = sum += ops::portable_exp(w[k] - top);
    }
  }
  Tensor y = detail::empty(DType::int64, shape);
  auto* to = detail::mutable_data<std::int64_t>(y);
  const std::int64_t n = y.size();
  const ops::Draw from = ops::draw(generator, static_cast<std::uint64_t>((n + 1) / 2));
  loops::parallel_for(n, 2 * blocks_per_piece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto bits =
          ops::random_block(from.seed, from.first + static_cast<std::uint64_t>(i / 2))[static_cast<std::size_t>(i % 2)];
      const double* w = weights.data() + i / count * classes;
      // The first class whose running sum exceeds the draw: one of probability 0 never does.
      to[i] = std::upper_bound(w, w + classes, ops::unit_double(bits) * w[classes - 1]) - w;
      to[i] = std::min(to[i], classes - 1);
    }
  });
  return y;
}

Tensor random_permutation(Generator& generator, std::int64_t n) {
  if (n < 0) fail<ValueError>("random_permutation", "n is {}; it must be at least 0", n);
  ops::require_shape("random_permutation", {n});
  Tensor y = arange(n);
  auto* to = detail::mutable_data<std::int64_t>(y);
  const ops::Draw from = ops::draw(generator, static_cast<std::uint64_t>((n + 1) / 2));
  for (std::int64_t i = n - 1; i > 0; --i) {
    const auto bits =
        ops::random_block(from.seed, from.first + static_cast<std::uint64_t>(i / 2))[static_cast<std::size_t>(i % 2)];
    // A draw from [0, i] as the high half of a product; the bias is below 2^-64 i.
    __extension__ using Wide = unsigned __int128;
    const auto k = static_cast<std::int64_t>(static_cast<Wide>(bits) * static_cast<std::uint64_t>(i + 1) >> 64);
    std::swap(to[i], to[k]);
  }
  return y;
}

}  // namespace reel
