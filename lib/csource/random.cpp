// Random draws in C. Integers and uniform numbers have the bits of lib/loops/make/random.cpp, normal ones agree to
// rounding.
#include "csource/typed.hpp"

namespace reel::csource {

namespace {

constexpr Helper random_list[] = {
    {"philox", R"(/* Philox 4x32-10: a block of the stream {seed, position}. */
static void $philox(const int64_t *stream, int64_t offset, uint32_t *c) {
  const uint64_t seed = (uint64_t)stream[0], position = (uint64_t)stream[1] + (uint64_t)offset;
  uint32_t k = (uint32_t)seed, l = (uint32_t)(seed >> 32);
  int i;
  c[0] = (uint32_t)position;
  c[1] = (uint32_t)(position >> 32);
  c[2] = c[3] = 0;
  for (i = 0; i < 10; ++i, k += 0x9E3779B9u, l += 0xBB67AE85u) {
    const uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
    c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k;
    c[1] = (uint32_t)b;
    c[2] = (uint32_t)(a >> 32) ^ c[3] ^ l;
    c[3] = (uint32_t)a;
  }
}
)"},
    {"random_word", R"(/* Word i of 64 bits of the stream. */
static uint64_t $random_word(const int64_t *stream, int64_t first, int i) {
  uint32_t c[4];
  $philox(stream, first + i / 2, c);
  return (uint64_t)c[2 * (i % 2)] | (uint64_t)c[2 * (i % 2) + 1] << 32;
}
)"},
    {"draw_uniform", R"(static void $draw_uniform(const int64_t *stream, int64_t first, double low, double width,
                          double factor, double last, double *y, int n) {
  int i;
  for (i = 0; i < n; ++i) {
    const double v = (low + width * ((double)($random_word(stream, first, i) >> 11) * 0x1p-53)) * factor;
    y[i] = v < last ? v : last;
  }
}
)"},
    {"draw_uniform_f", R"(static void $draw_uniform_f(const int64_t *stream, int64_t first, float low, float width,
                            float factor, float last, float *y, int n) {
  uint32_t c[4];
  int i;
  for (i = 0; i < n; ++i) {
    float v;
    if (i % 4 == 0) $philox(stream, first + i / 4, c);
    v = (low + width * ((float)c[i % 4] * 0x1p-32f)) * factor;
    y[i] = v < last ? v : last;
  }
}
)"},
    {"normal_pair", R"(/* By Box and Muller: the radius of u, and a point of the unit circle by 2^bits b. */
static void $normal_pair(double u, uint64_t b, double *y) {
  const double r = sqrt(-2.0 * log(u)), angle = ((double)((b << 3) >> 12) + 0.5) * 0x1.921fb54442d18p-53;
  const double s = sin(angle), c = cos(angle);
  const int swapped = (int)(b >> 61 & 1);
  y[0] = b >> 63 ? -r * (swapped ? s : c) : r * (swapped ? s : c);
  y[1] = b >> 62 & 1 ? -r * (swapped ? c : s) : r * (swapped ? c : s);
}
)"},
    {"draw_normal", R"(static void $draw_normal(const int64_t *stream, int64_t first, double mean, double deviation,
                         double *y, int n) {
  double z[2] = {0.0, 0.0};
  int i;
  for (i = 0; i < n; ++i) {
    if (i % 2 == 0)
      $normal_pair(((double)($random_word(stream, first, i) >> 12) + 0.5) * 0x1p-52,
                   $random_word(stream, first, i + 1), z);
    y[i] = mean + deviation * z[i % 2];
  }
}
)"},
    {"draw_normal_f", R"(static void $draw_normal_f(const int64_t *stream, int64_t first, float mean, float deviation,
                           float *y, int n) {
  double z[4] = {0.0, 0.0, 0.0, 0.0};
  uint32_t c[4];
  int i, k;
  for (i = 0; i < n; ++i) {
    if (i % 4 == 0) {
      $philox(stream, first + i / 4, c);
      for (k = 0; k < 4; k += 2)
        $normal_pair(((double)c[k] + 0.5) * 0x1p-32, (uint64_t)c[k + 1] << 32 | 0x80000000u, z + k);
    }
    y[i] = mean + deviation * (float)z[i % 4];
  }
}
)"},
    {"draw_truncated",
     R"(/* Within two deviations. */
static void $draw_truncated(const int64_t *stream, int64_t first, double mean, double deviation, double *y, int n) {
  int i;
  for (i = 0; i < n; ++i) {
    const double u = ((double)($random_word(stream, first, i) >> 12) + 0.5) * 0x1p-52;
    const double z = $ndtri(0.022750131948179207 + 0.9544997361036416 * u);
    y[i] = mean + deviation * (z < -2.0 ? -2.0 : z > 2.0 ? 2.0 : z);
  }
}
)"},
    {"draw_truncated_f",
     R"(static void $draw_truncated_f(const int64_t *stream, int64_t first, float mean, float deviation,
                              float *y, int n) {
  uint32_t c[4];
  int i;
  for (i = 0; i < n; ++i) {
    double z;
    if (i % 4 == 0) $philox(stream, first + i / 4, c);
    z = ((double)(((uint64_t)c[i % 4] << 32 | 0x80000000u) >> 12) + 0.5) * 0x1p-52;
    z = $ndtri(0.022750131948179207 + 0.9544997361036416 * z);
    y[i] = (float)(mean + deviation * (z < -2.0 ? -2.0 : z > 2.0 ? 2.0 : z));
  }
}
)"},
    {"draw_classes",
     R"(/* count draws for each row of logits w, which becomes sums of weights; whether a row is unusable. */
static int $draw_classes(const int64_t *stream, int64_t first, double *w, int classes, int64_t *y, int count, int rows) {
  int i, k, r;
  for (r = 0; r < rows; ++r, w += classes) {
    double top = w[0], sum = 0.0;
    for (k = 1; k < classes; ++k)
      if (w[k] > top) top = w[k];
    for (k = 0; k < classes; ++k) {
      if (w[k] != w[k] || !isfinite(top)) return 1;
      w[k] = sum += exp(w[k] - top);
    }
    for (i = r * count; i < (r + 1) * count; ++i) {
      const double u = (double)($random_word(stream, first, i) >> 11) * 0x1p-53 * sum;
      for (k = 0; k < classes - 1 && !(u < w[k]);) ++k;
      y[i] = k;
    }
  }
  return 0;
}
)"},
    {"draw_permutation", R"(static void $draw_permutation(const int64_t *stream, int64_t first, int64_t *y, int n) {
  int i;
  for (i = 0; i < n; ++i) y[i] = i;
  for (i = n - 1; i > 0; --i) {
    const uint64_t word = $random_word(stream, first, i), m = (uint64_t)i + 1;
    const uint64_t k = ((word >> 32) * m + ((word & 0xffffffffu) * m >> 32)) >> 32;
    const int64_t t = y[i];
    y[i] = y[k];
    y[k] = t;
  }
}
)"},
    {"draw_integers",
     R"(/* The high half of a word times count; words whose low half is below 2^64 mod count seed others. */
static void $draw_integers(const int64_t *stream, int64_t first, int64_t low, uint64_t count, int64_t *y, int n) {
  const uint64_t least = (0 - count) % count, half = 0xffffffffu;
  int i;
  for (i = 0; i < n; ++i) {
    uint64_t word = $random_word(stream, first, i), p, q, high, rest;
    int64_t k;
    for (k = 0;; ++k) {
      int64_t seeded[2];
      p = (word & half) * (count & half);
      q = (word >> 32) * (count & half) + (p >> 32);
      rest = (word & half) * (count >> 32) + (q & half);
      high = (word >> 32) * (count >> 32) + (q >> 32) + (rest >> 32);
      if ((rest << 32 | (p & half)) >= least || k == 64) break;
      seeded[0] = (int64_t)word;
      seeded[1] = k;
      word = $random_word(seeded, 0, 0);
    }
    y[i] = (int64_t)((uint64_t)low + high);
  }
}
)"},
    {"draw_bernoulli",
     R"(static void $draw_bernoulli(const int64_t *stream, int64_t first, double p, uint8_t *y, int n) {
  int i;
  for (i = 0; i < n; ++i) y[i] = (double)($random_word(stream, first, i) >> 11) * 0x1p-53 < p;
}
)"},
};

}  // namespace

std::span<const Helper> random_helpers() noexcept { return random_list; }

}  // namespace reel::csource
