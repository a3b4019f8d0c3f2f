// Convolution, pooling, normalisation, losses and search in C, in plain loops.
#include "csource/typed.hpp"

namespace reel::csource {

namespace {

constexpr Helper neural_list[] = {
    {"border", R"(/* The element of [0, n) that position k repeats. Modes: 0 reflect, 1 symmetric, 2 edge, 3 wrap. */
static int32_t $border(int32_t k, int32_t n, int mode) {
  const int32_t period = mode == 3 ? n : mode == 0 ? 2 * (n - 1) : 2 * n;
  int32_t m;
  if (mode == 2 || n == 1) return k < 0 ? 0 : k < n ? k : n - 1;
  m = (k % period + period) % period;
  return m < n ? m : period - m - (mode != 0);
}
)"},
    {"convolve",
     R"(/* Of an image x, a kernel w and a result y, that of the role (0, 1, 2) from the others, a and b. An axis has an
   extent, taps, results, a stride, a dilation, and padding before it. */
static void $convolve(const real *a, const real *b, real *out, int role, int images, int channels, int filters,
                      int groups, int xr, int kr, int yr, int sr, int dr, int pr, int xc, int kc, int yc, int sc,
                      int dc, int pc) {
  const int c = channels / groups, f = filters / groups;
  const int size = role == 0 ? images * channels * xr * xc : role == 1 ? filters * c * kr * kc : images * filters * yr * yc;
  int n, i, j, r, s, k, l;
  for (n = 0; n < size; ++n) out[n] = 0;
  for (n = 0; n < images; ++n)
    for (i = 0; i < filters; ++i)
      for (j = 0; j < c; ++j)
        for (r = 0; r < yr; ++r)
          for (k = 0; k < kr; ++k) {
            const int row = r * sr + k * dr - pr;
            if (row < 0 || row >= xr) continue;
            for (l = 0; l < kc; ++l)
              for (s = 0; s < yc; ++s) {
                const int column = s * sc + l * dc - pc;
                const int x = ((n * channels + i / f * c + j) * xr + row) * xc + column;
                const int w = ((i * c + j) * kr + k) * kc + l, y = ((n * filters + i) * yr + r) * yc + s;
                if (column < 0 || column >= xc) continue;
                if (role == 0)
                  out[x] += a[w] * b[y];
                else if (role == 1)
                  out[w] += a[x] * b[y];
                else
                  out[y] += a[x] * b[w];
              }
          }
}
)"},
    {"max_pool", R"(/* The largest element of each window of a plane, and the number of its tap. */
static void $max_pool(const real *x, real *y, int32_t *taps, int xr, int kr, int yr, int sr, int dr, int pr, int xc,
                      int kc, int yc, int sc, int dc, int pc) {
  int r, s, k;
  for (r = 0; r < yr; ++r)
    for (s = 0; s < yc; ++s, ++y, ++taps) {
      *taps = -1;
      *y = -(real)INFINITY;
      for (k = 0; k < kr * kc; ++k) {
        const int row = r * sr + k / kc * dr - pr, column = s * sc + k % kc * dc - pc;
        real v;
        if (row < 0 || row >= xr || column < 0 || column >= xc) continue;
        v = x[row * xc + column];
        if (*taps >= 0 && !(v > *y || (v != v && *y == *y))) continue;
        *y = v;
        *taps = k;
      }
    }
}
)"},
    {"of_windows", R"(/* From a plane x the elements at the taps of windows, or back: sums of x at these elements. */
static void $of_windows(const real *x, const int32_t *taps, real *y, int back, int xr, int kr, int yr, int sr, int dr,
                        int pr, int xc, int kc, int yc, int sc, int dc, int pc) {
  int r, s;
  (void)kr;
  for (r = 0; back && r < xr * xc; ++r) y[r] = 0;
  for (r = 0; r < yr; ++r)
    for (s = 0; s < yc; ++s) {
      const int k = taps[r * yc + s];
      const int at = (r * sr + k / kc * dr - pr) * xc + s * sc + k % kc * dc - pc;
      if (back)
        y[at] += x[r * yc + s];
      else
        y[r * yc + s] = x[at];
    }
}
)"},
    {"layer_norm", R"(/* The mean and reciprocal standard deviation of a row; y normalised, unless it is null. */
static real $layer_norm(const real *x, const real *scale, const real *offset, real epsilon, real *y, real *mean,
                        int n) {
  real m = 0, rest = 0, v = 0;
  int i;
  for (i = 0; i < n; ++i) m += x[i];
  m /= (real)n;
  for (i = 0; i < n; ++i) rest += x[i] - m;
  *mean = m += rest / (real)n;
  for (i = 0; i < n; ++i) v += (x[i] - m) * (x[i] - m);
  v = 1 / @sqrt(v / (real)n + epsilon);
  for (i = 0; y && i < n; ++i) y[i] = scale ? (x[i] - m) * v * scale[i] + offset[i] : (x[i] - m) * v;
  return v;
}
)"},
    {"layer_norm_vjp", R"(/* Cotangents of x, and sums of those of scale and offset, unless they are null. */
static void $layer_norm_vjp(const real *g, const real *x, const real *scale, real epsilon, real *dx, real *dscale,
                            real *doffset, int n) {
  real mean, a = 0, b = 0;
  const real root = $layer_norm(x, 0, 0, epsilon, 0, &mean, n);
  int i;
  for (i = 0; i < n; ++i) {
    const real y = (x[i] - mean) * root, h = scale ? g[i] * scale[i] : g[i];
    a += h;
    b += h * y;
    if (dscale) dscale[i] += g[i] * y;
    if (doffset) doffset[i] += g[i];
  }
  for (i = 0; dx && i < n; ++i)
    dx[i] = root * ((scale ? g[i] * scale[i] : g[i]) - a / (real)n - (x[i] - mean) * root * b / (real)n);
}
)"},
    {"log_sum_exp", R"(static real $log_sum_exp(const real *x, int n) {
  real most = x[0], s = 0;
  int i;
  for (i = 1; i < n; ++i)
    if (x[i] > most || x[i] != x[i]) most = x[i];
  if (isinf(most)) return most;
  for (i = 0; i < n; ++i) s += @exp(x[i] - most);
  return most + @log(s);
}
)"},
    {"cross_entropy", R"(static real $cross_entropy(const real *x, const real *labels, int n) {
  const real z = $log_sum_exp(x, n);
  real s = 0;
  int i;
  for (i = 0; i < n; ++i)
    if (labels[i] != 0) s += labels[i] * (z - x[i]);
  return s;
}
)"},
    {"cross_entropy_vjp",
     R"(static void $cross_entropy_vjp(real g, const real *x, const real *labels, real *dx, int n) {
  const real z = $log_sum_exp(x, n);
  real s = 0;
  int i;
  for (i = 0; i < n; ++i) s += labels[i];
  for (i = 0; i < n; ++i) dx[i] = g * (@exp(x[i] - z) * s - labels[i]);
}
)"},
    {"cross_entropy_labels_vjp", R"(static void $cross_entropy_labels_vjp(real g, const real *x, real *d, int n) {
  const real z = $log_sum_exp(x, n);
  int i;
  for (i = 0; i < n; ++i) d[i] = g * (z - x[i]);
}
)"},
    {"class_entropy_vjp", R"(static void $class_entropy_vjp(real g, const real *x, int64_t label, real *dx, int n) {
  const real z = $log_sum_exp(x, n);
  int i;
  for (i = 0; i < n; ++i) dx[i] = label < 0 ? 0 : g * (@exp(x[i] - z) - (label == i));
}
)"},
    {"search", R"(/* The first position whose element is not below v, or, if right, above it. NaN is above all. */
static void $search(const real *x, int n, const real *v, int64_t *y, int m, int right) {
  int i;
  for (i = 0; i < m; ++i) {
    int low = 0, high = n;
    while (low < high) {
      const int k = (low + high) / 2;
      const int below = v[i] != v[i] ? right || x[k] == x[k] : right ? x[k] <= v[i] : x[k] < v[i];
      if (below)
        low = k + 1;
      else
        high = k;
    }
    y[i] = low;
  }
}
)"},
    {"unordered", R"(static int $unordered(real a, real b) { return a != a && b == b; }
)"},
    {"unordered_int64", R"(static int $unordered_int64(int64_t a, int64_t b) {
  (void)a;
  (void)b;
  return 0;
}
)"},
    {"order",
     R"(/* p, the positions of the elements in order, NaN last, equal ones as they stand. q [n] is overwritten. */
static void $order(const real *x, int64_t *p, int64_t *q, int64_t n, int descending) {
  int64_t width, at, i, j, k;
  for (i = 0; i < n; ++i) p[i] = i;
  for (width = 1; width < n; width *= 2) {
    for (at = 0; at < n; at += 2 * width) {
      const int64_t middle = at + width < n ? at + width : n, end = middle + width < n ? middle + width : n;
      for (i = k = at, j = middle; k < end; ++k) {
        const real a = x[p[i < middle ? i : at]], b = x[p[j < end ? j : at]];
        const int swaps = (descending ? b > a : b < a) || $unordered(a, b);
        q[k] = i == middle || (j < end && swaps) ? p[j++] : p[i++];
      }
    }
    memcpy(p, q, (size_t)n * sizeof *p);
  }
}
)"},
    {"sorted", R"(static void $sorted(const real *x, real *y, int64_t *p, int64_t *q, int64_t n, int descending) {
  int64_t i;
  $order(x, p, q, n, descending);
  for (i = 0; i < n; ++i) y[i] = x[p[i]];
}
)"},
    {"running",
     R"(/* The largest (smallest) element so far along the middle axis of x [n, m], and its position; NaN from the first on. */
static void $running(const real *x, real *y, int64_t *p, int n, int m, int largest, int reverse) {
  int c, s;
  for (c = 0; c < m; ++c) {
    int best = -1;
    for (s = 0; s < n; ++s) {
      const int k = reverse ? n - 1 - s : s, at = k * m + c, so_far = best * m + c;
      if (best < 0 ||
          (!(largest ? x[at] < x[so_far] : x[at] > x[so_far]) && !$unordered(x[so_far], x[at])))
        best = k;
      y[at] = x[best * m + c];
      p[at] = best;
    }
  }
}
)"},
    {"log_sum_step",
     R"(/* Adds exp(t) to a sum relative to its largest element, of which `others` is all but that element's 1. Returns exp(-d),
   d the distance of t from the largest element before. */
static real $log_sum_step(real t, real *most, real *others) {
  const real e = t == *most ? 1 : @exp(-@fabs(t - *most));
  *others = t > *most ? (1 + *others) * e : *others + e;
  *most = t > *most ? t : *most;
  return e;
}
)"},
    {"log_sums", R"(/* Logarithms y of running sums of exponentials of x [n, m]. */
static void $log_sums(const real *x, real *y, int n, int m, int reverse) {
  int i, s;
  for (i = 0; i < m; ++i) {
    real most = -(real)INFINITY, others = -1;
    for (s = 0; s < n; ++s) {
      const int at = (reverse ? n - 1 - s : s) * m + i;
      $log_sum_step(x[at], &most, &others);
      y[at] = most + @log1p(others);
    }
  }
}
)"},
    {"log_sum_weights",
     R"(/* The weights y of x [n, m] in the running sums whose logarithms are z, and c of the sums before. */
static void $log_sum_weights(const real *x, const real *z, real *y, real *c, int n, int m, int reverse) {
  int i, s;
  for (i = 0; i < m; ++i) {
    real most = -(real)INFINITY, others = -1, hits = 0;
    for (s = 0; s < n; ++s) {
      const int at = (reverse ? n - 1 - s : s) * m + i, last = reverse ? at + m : at - m;
      const real t = x[at], before = others;
      const int grew = t > most;
      const real e = $log_sum_step(t, &most, &others);
      y[at] = (grew ? 1 : e) / (1 + others);
      c[at] = (1 + before) * (grew ? e : 1) / (1 + others);
      if (!isinf(z[at])) continue;
      if (z[at] < 0)
        hits = (real)(s + 1);
      else if (s == 0 || z[last] != z[at])
        hits = 1;
      else if (t == z[at])
        hits += 1;
      y[at] = t == z[at] ? 1 / hits : 0;
      c[at] = 1 - y[at];
    }
  }
}
)"},
    {"others", R"(/* y [n, m]: the products of x [.., m] and of the other terms [n, m] at the positions p [n]. */
static void $others(const real *x, const real *terms, const int64_t *p, real *y, int n, int m) {
  int i, j, c;
  for (i = 0; i < n; ++i)
    for (c = 0; c < m; ++c) {
      real s = x[p[i] * m + c];
      for (j = 0; j < n; ++j)
        if (j != i && p[j] == p[i]) s *= terms[j * m + c];
      y[i * m + c] = s;
    }
}
)"},
    {"shares",
     R"(/* The shares of x [e, m], if it is a member, and of terms [n, m] at p [n] in the extremes y. counts [e, m]. */
static void $shares(const real *x, const real *terms, const real *y, const int64_t *p, real *of_x, real *of_terms,
                    real *counts, int member, int e, int n, int m) {
  int i, c;
  for (i = 0; i < e * m; ++i) of_x[i] = (real)(!member || x[i] == y[i] || (x[i] != x[i] && y[i] != y[i]));
  for (i = 0; !member && i < n; ++i)
    for (c = 0; c < m; ++c) of_x[p[i] * m + c] = 0;
  for (i = 0; i < e * m; ++i) counts[i] = of_x[i];
  for (i = 0; i < n; ++i)
    for (c = 0; c < m; ++c) {
      const real a = terms[i * m + c], b = y[p[i] * m + c];
      counts[p[i] * m + c] += of_terms[i * m + c] = (real)(a == b || (a != a && b != b));
    }
  for (i = 0; i < n; ++i)
    for (c = 0; c < m; ++c)
      if (counts[p[i] * m + c] > 1) of_terms[i * m + c] /= counts[p[i] * m + c];
  for (i = 0; i < e * m; ++i)
    if (counts[i] > 1) of_x[i] /= counts[i];
}
)"},
    {"overlap_add", R"(/* y [e, m]: the sums of the windows x [n, m, size]. */
static void $overlap_add(const real *x, real *y, int n, int m, int size, int e, int stride, int dilation) {
  int i, c, k;
  for (i = 0; i < e * m; ++i) y[i] = 0;
  for (i = 0; i < n; ++i)
    for (c = 0; c < m; ++c)
      for (k = 0; k < size; ++k) y[(i * stride + k * dilation) * m + c] += x[(i * m + c) * size + k];
}
)"},
    {"where_true", R"(/* The positions of the first count nonzero elements of x [n]; -1 behind them. */
static void $where_true(const int32_t *x, int64_t *p, int n, int count) {
  int i, k = 0;
  for (i = 0; i < n; ++i)
    if (x[i] && k < count) p[k++] = i;
  while (k < count) p[k++] = -1;
}
)"},
    {"counts", R"(/* How often x [n] holds each of 0 ... count - 1; whether it holds another number. */
static int $counts(const int64_t *x, int64_t *y, int n, int count) {
  int i;
  for (i = 0; i < count; ++i) y[i] = 0;
  for (i = 0; i < n; ++i) {
    if (x[i] < 0 || x[i] >= count) return 1;
    ++y[x[i]];
  }
  return 0;
}
)"},
    {"segments", R"(/* y [count]: the ids x, n for negative ones; whether one is n or above. */
static int $segments(const int64_t *x, int64_t *y, int count, int64_t n) {
  int i;
  for (i = 0; i < count; ++i) {
    if (x[i] >= n) return 1;
    y[i] = x[i] < 0 ? n : x[i];
  }
  return 0;
}
)"},
    {"disordered",
     R"(/* Whether an element is not larger than the one before it, or smaller if equal ones are allowed. */
static int $disordered(const real *x, int n, int equal) {
  int i;
  for (i = 1; i < n; ++i)
    if (!(x[i] > x[i - 1] || (equal && x[i] == x[i - 1]))) return 1;
  return n > 0 && x[0] != x[0];
}
)"},
};

}  // namespace

std::span<const Helper> neural_helpers() noexcept { return neural_list; }

}  // namespace reel::csource
