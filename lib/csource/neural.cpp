// Convolution, pooling, normalisation, losses and search in C, in plain loops.
#include "csource/typed.hpp"

namespace reel::csource {

namespace {

constexpr Helper neural_list[] = {
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
        const int swaps = (descending ? b > a : b < a) || (a != a && b == b);
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
