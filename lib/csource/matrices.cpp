// Factorisations and triangular systems in C. Matrices are row-major without gaps.
#include "csource/typed.hpp"

namespace reel::csource {

namespace {

constexpr Helper matrix_list[] = {
    {"cholesky", R"(/* a = L L^T becomes L; the order of the first leading minor that is not positive, or 0. */
static int $cholesky(real *a, int n) {
  int i, j, k;
  for (j = 0; j < n; ++j) {
    real d = a[j * n + j];
    for (k = 0; k < j; ++k) d -= a[j * n + k] * a[j * n + k];
    if (d <= 0) return j + 1;
    d = @sqrt(d);
    a[j * n + j] = d;
    for (i = 0; i < j; ++i) a[i * n + j] = 0;
    for (i = j + 1; i < n; ++i) {
      real s = a[i * n + j];
      for (k = 0; k < j; ++k) s -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = s / d;
    }
  }
  return 0;
}
)"},
    {"cholesky_vjp", R"(/* g, of which the lower triangle is the cotangent of L, becomes that of L L^T. */
static void $cholesky_vjp(const real *l, real *g, int n) {
  int i, j, k;
  for (i = n - 1; i >= 0; --i) {
    const real d = g[i * n + i] / l[i * n + i];
    g[i * n + i] = d;
    for (k = 0; k < i; ++k) g[i * n + k] -= d * l[i * n + k];
    for (j = i - 1; j >= 0; --j) {
      const real x = g[i * n + j] / l[j * n + j];
      g[i * n + j] = x;
      for (k = 0; k < j; ++k) g[i * n + k] -= x * l[j * n + k];
      for (k = 0; k <= j; ++k) g[j * n + k] -= x * l[i * n + k];
    }
  }
  for (i = 0; i < n; ++i)
    for (j = 0; j <= i; ++j) g[j * n + i] = g[i * n + j] /= 2;
}
)"},
    {"cholesky_jvp", R"(/* t, the tangent of L L^T, becomes that of L. */
static void $cholesky_jvp(const real *l, real *t, int n) {
  int i, j, k;
  for (j = 0; j < n; ++j)
    for (i = j; i < n; ++i) {
      real s = t[i * n + j];
      for (k = 0; k < j; ++k) s -= t[i * n + k] * l[j * n + k] + l[i * n + k] * t[j * n + k];
      if (i > j) {
        t[i * n + j] = (s - l[i * n + j] * t[j * n + j]) / l[j * n + j];
        t[j * n + i] = 0;
      } else {
        t[i * n + j] = s / (2 * l[j * n + j]);
      }
    }
}
)"},
    {"lower_half", R"(static void $lower_half(real *a, int n) {
  int i, j;
  for (i = 0; i < n; ++i) {
    a[i * n + i] /= 2;
    for (j = i + 1; j < n; ++j) a[i * n + j] = 0;
  }
}
)"},
    {"triangular", R"(/* b becomes x with op(a) x = b [n, m]. */
static void $triangular(const real *a, int lower, int transposed, int unit, real *b, int n, int m) {
  const int forward = lower != transposed;
  int s, i, j, k;
  for (s = 0; s < n; ++s) {
    i = forward ? s : n - 1 - s;
    for (k = forward ? 0 : i + 1; k < (forward ? i : n); ++k) {
      const real f = transposed ? a[k * n + i] : a[i * n + k];
      for (j = 0; j < m; ++j) b[i * m + j] -= f * b[k * m + j];
    }
    for (j = 0; !unit && j < m; ++j) b[i * m + j] /= a[i * n + i];
  }
}
)"},
    {"zero_diagonal", R"(/* The number from 1 of the first zero on the diagonal, or 0. */
static int $zero_diagonal(const real *a, int n) {
  int i;
  for (i = 0; i < n; ++i)
    if (a[i * n + i] == 0) return i + 1;
  return 0;
}
)"},
    {"lu", R"(/* a [m, n] becomes L, with a diagonal of 1, and U; row k was swapped with row pivots[k]. */
static void $lu(real *a, int32_t *pivots, int m, int n) {
  int i, j, k;
  for (k = 0; k < m && k < n; ++k) {
    int p = k;
    for (i = k + 1; i < m; ++i)
      if (@fabs(a[i * n + k]) > @fabs(a[p * n + k])) p = i;
    pivots[k] = p;
    for (j = 0; p != k && j < n; ++j) {
      const real t = a[k * n + j];
      a[k * n + j] = a[p * n + j];
      a[p * n + j] = t;
    }
    for (i = k + 1; a[k * n + k] != 0 && i < m; ++i) {
      const real f = a[i * n + k] /= a[k * n + k];
      for (j = k + 1; j < n; ++j) a[i * n + j] -= f * a[k * n + j];
    }
  }
}
)"},
    {"lu_vjp", R"(/* g, the cotangent of the factors f, becomes that of the matrix with its rows in their order. */
static void $lu_vjp(const real *f, real *g, int n) {
  int i, j, k;
  for (k = n - 1; k >= 0; --k)
    for (i = k + 1; i < n; ++i) {
      real rest = g[i * n + k];
      for (j = k + 1; j < n; ++j) {
        rest -= g[i * n + j] * f[k * n + j];
        g[k * n + j] -= f[i * n + k] * g[i * n + j];
      }
      g[i * n + k] = rest / f[k * n + k];
      g[k * n + k] -= g[i * n + k] * f[i * n + k];
    }
}
)"},
    {"lu_jvp", R"(/* t, the tangent of the matrix with its rows in the order of the factors f, becomes that of f. */
static void $lu_jvp(const real *f, real *t, int n) {
  int i, j, k;
  for (k = 0; k < n; ++k)
    for (i = k + 1; i < n; ++i) {
      t[i * n + k] = (t[i * n + k] - f[i * n + k] * t[k * n + k]) / f[k * n + k];
      for (j = k + 1; j < n; ++j) t[i * n + j] -= t[i * n + k] * f[k * n + j] + f[i * n + k] * t[k * n + j];
    }
}
)"},
    {"lu_rows", R"(/* The rows in the order that the pivots make; whether there is no row of such a number. */
static int $lu_rows(const int32_t *pivots, int64_t *rows, int m, int k) {
  int i;
  for (i = 0; i < m; ++i) rows[i] = i;
  for (i = 0; i < k; ++i) {
    const int64_t row = rows[i];
    if (pivots[i] < i || pivots[i] >= m) return 1;
    rows[i] = rows[pivots[i]];
    rows[pivots[i]] = row;
  }
  return 0;
}
)"},
    {"lu_solve", R"(/* b becomes x with op(a) x = b [n, m], by the factors of a. */
static void $lu_solve(const real *f, const int32_t *pivots, int transposed, real *b, int n, int m) {
  int s, j;
  if (transposed) {
    $triangular(f, 0, 1, 0, b, n, m);
    $triangular(f, 1, 1, 1, b, n, m);
  }
  for (s = 0; s < n; ++s) {
    const int k = transposed ? n - 1 - s : s, p = pivots[k];
    for (j = 0; p != k && j < m; ++j) {
      const real t = b[k * m + j];
      b[k * m + j] = b[p * m + j];
      b[p * m + j] = t;
    }
  }
  if (!transposed) {
    $triangular(f, 1, 0, 1, b, n, m);
    $triangular(f, 0, 0, 0, b, n, m);
  }
}
)"},
    {"lu_inverse", R"(static void $lu_inverse(const real *f, const int32_t *pivots, real *x, int n) {
  int i;
  for (i = 0; i < n * n; ++i) x[i] = i % (n + 1) == 0;
  $lu_solve(f, pivots, 0, x, n, n);
}
)"},
    {"lu_det", R"(/* The determinant is m 2^exponent; returns m. */
static double $lu_det(const real *f, const int32_t *pivots, int n, int *exponent) {
  double m = 1.0;
  int i, e;
  *exponent = 0;
  for (i = 0; i < n; ++i) {
    m = frexp(m * (double)(pivots[i] != i ? -f[i * n + i] : f[i * n + i]), &e);
    if (m == 0.0 || !isfinite(m)) return m;
    *exponent += e;
  }
  return m;
}
)"},
    {"det", R"(static real $det(const real *f, const int32_t *pivots, int n) {
  int e;
  const double m = $lu_det(f, pivots, n, &e);
  return (real)ldexp(m, e);
}
)"},
    {"slogdet", R"(static void $slogdet(const real *f, const int32_t *pivots, int n, real *sign, real *y) {
  int e;
  const double m = $lu_det(f, pivots, n, &e);
  *sign = (real)(m > 0.0 ? 1.0 : m < 0.0 ? -1.0 : m);
  *y = (real)(e > -1000 && e < 1000 ? log(fabs(ldexp(m, e))) : log(fabs(m)) + 0x1.62e42fefa39efp-1 * e);
}
)"},
    {"columns", R"(/* Columns of x [m, n] from the first on, as y [m, count]. */
static void $columns(const real *x, real *y, int m, int n, int first, int count) {
  int i, j;
  for (i = 0; i < m; ++i)
    for (j = 0; j < count; ++j) y[i * count + j] = x[i * n + first + j];
}
)"},
    {"scaled_transpose", R"(/* y = w x^T; zero if w is. */
static void $scaled_transpose(real w, const real *x, real *y, int n) {
  int i, j;
  for (i = 0; i < n; ++i)
    for (j = 0; j < n; ++j) y[i * n + j] = w == 0 ? 0 : w * x[j * n + i];
}
)"},
    {"inner", R"(static real $inner(const real *x, const real *y, int n) {
  real s = 0;
  int i;
  for (i = 0; i < n; ++i) s += x[i] * y[i];
  return s;
}
)"},
    {"cofactors", R"(/* y = w cof(a), by minors if a is singular. work [n, n]. */
static void $cofactors(const real *a, const real *f, const int32_t *pivots, real w, real *y, real *work,
                       int32_t *swaps, int n) {
  int i, j, k, l;
  if ($zero_diagonal(f, n) == 0) {
    for (i = 0; i < n; ++i) w *= pivots[i] != i ? -f[i * n + i] : f[i * n + i];
    $lu_inverse(f, pivots, work, n);
    for (i = 0; i < n; ++i)
      for (j = 0; j < n; ++j) y[i * n + j] = w * work[j * n + i];
    return;
  }
  for (i = 0; i < n; ++i)
    for (j = 0; j < n; ++j) {
      const int m = n - 1;
      real d = (i + j) % 2 == 0 ? w : -w;
      for (k = 0; k < m; ++k)
        for (l = 0; l < m; ++l) work[k * m + l] = a[(k + (k >= i)) * n + l + (l >= j)];
      $lu(work, swaps, m, m);
      for (k = 0; k < m; ++k) d *= swaps[k] != k ? -work[k * m + k] : work[k * m + k];
      y[i * n + j] = d;
    }
}
)"},
    {"cofactors_jvp",
     R"(/* y = w times the derivative of cof(a) along h, a not singular. x and b [n, n] are overwritten. */
static void $cofactors_jvp(const real *f, const int32_t *pivots, real w, const real *h, real *y, real *x, real *b,
                           int n) {
  real trace = 0;
  int i, j, k;
  $lu_inverse(f, pivots, x, n);
  for (i = 0; i < n; ++i) {
    w *= pivots[i] != i ? -f[i * n + i] : f[i * n + i];
    for (j = 0; j < n; ++j) {
      b[i * n + j] = 0;
      for (k = 0; k < n; ++k) b[i * n + j] += x[i * n + k] * h[k * n + j];
    }
    trace += b[i * n + i];
  }
  for (i = 0; i < n; ++i)
    for (j = 0; j < n; ++j) {
      real s = trace * x[i * n + j];
      for (k = 0; k < n; ++k) s -= b[i * n + k] * x[k * n + j];
      y[j * n + i] = w * s;
    }
}
)"},
    {"banded",
     R"(/* x [n, m] becomes the solution of a x = x, or a^T x = x, by elimination with row pivoting; below and above are
   those of what is eliminated. rows [n, 2 below + above + 1]. The number from 1 of a pivot that is zero, or 0. */
static int $banded(const real *a, int below, int above, int transposed, real *rows, real *x, int n, int m) {
  const int w = 2 * below + above + 1;
  int i, j, k;
  for (i = 0; i < n * w; ++i) rows[i] = 0;
  for (i = 0; i < n; ++i)
    for (j = i < below ? 0 : i - below; j < n && j <= i + above; ++j)
      rows[i * w + j - i + below] = transposed ? a[(below + j - i) * n + i] : a[(above + i - j) * n + j];
  for (k = 0; k < n; ++k) {
    const int last = k + below < n ? k + below : n - 1, end = last + above < n ? last + above : n - 1;
    real *const row = rows + k * w + below - k;
    int p = k;
    for (i = k + 1; above && i <= last; ++i)
      if (@fabs(rows[i * w + k - i + below]) > @fabs(rows[p * w + k - p + below])) p = i;
    if (rows[p * w + k - p + below] == 0) return k + 1;
    for (j = k; p != k && j <= end; ++j) {
      const real t = row[j];
      row[j] = rows[p * w + j - p + below];
      rows[p * w + j - p + below] = t;
    }
    for (j = 0; p != k && j < m; ++j) {
      const real t = x[k * m + j];
      x[k * m + j] = x[p * m + j];
      x[p * m + j] = t;
    }
    for (i = k + 1; i <= last; ++i) {
      const real f = rows[i * w + k - i + below] / row[k];
      for (j = k + 1; j <= end; ++j) rows[i * w + j - i + below] -= f * row[j];
      for (j = 0; j < m; ++j) x[i * m + j] -= f * x[k * m + j];
    }
  }
  for (k = n - 1; k >= 0; --k)
    for (i = 0; i < m; ++i) {
      const real *const row = rows + k * w + below - k;
      real s = x[k * m + i];
      for (j = k + 1; j < n && j <= k + below + above; ++j) s -= row[j] * x[j * m + i];
      x[k * m + i] = s / row[k];
    }
  return 0;
}
)"},
    {"banded_factor",
     R"(/* a [below + 1, n], a band, becomes L with a = L L^T; the order of the first leading minor that is
   not positive, or 0. */
static int $banded_factor(real *a, int below, int n) {
  int i, j, k, finite = 1;
  for (i = 0; i <= below; ++i)
    for (j = 0; j < n; ++j)
      if (i + j >= n)
        a[i * n + j] = 0;
      else
        finite = finite && isfinite(a[i * n + j]);
  for (j = 0; j < n; ++j)
    for (i = j; i < n && i <= j + below; ++i) {
      real s = a[(i - j) * n + j];
      if (!finite) {
        a[(i - j) * n + j] = (real)NAN;
        continue;
      }
      for (k = i < below ? 0 : i - below; k < j; ++k) s -= a[(i - k) * n + k] * a[(j - k) * n + k];
      if (i == j && !(s > 0)) return j + 1;
      a[(i - j) * n + j] = i == j ? @sqrt(s) : s / a[j];
    }
  return 0;
}
)"},
    {"banded_change", R"(/* b, the change of L L^T in a band, becomes that of L. */
static void $banded_change(const real *l, real *b, int below, int n) {
  int i, j, k;
  for (i = 0; i <= below; ++i)
    for (j = n - i < 0 ? 0 : n - i; j < n; ++j) b[i * n + j] = 0;
  for (j = 0; j < n; ++j)
    for (i = j; i < n && i <= j + below; ++i) {
      real s = b[(i - j) * n + j];
      for (k = i < below ? 0 : i - below; k < j; ++k)
        s -= b[(i - k) * n + k] * l[(j - k) * n + k] + l[(i - k) * n + k] * b[(j - k) * n + k];
      b[(i - j) * n + j] = i == j ? s / (2 * l[j]) : (s - l[(i - j) * n + j] * b[j]) / l[j];
    }
}
)"},
    {"banded_cotangent", R"(/* g, the cotangent of L in a band, becomes that of L L^T. */
static void $banded_cotangent(const real *l, real *g, int below, int n) {
  int i, j, k;
  for (i = 0; i <= below; ++i)
    for (j = n - i < 0 ? 0 : n - i; j < n; ++j) g[i * n + j] = 0;
  for (k = n - 1; k >= 0; --k) {
    const int last = k + below < n ? k + below : n - 1;
    for (i = last; i >= k; --i) {
      real s = g[(i - k) * n + k];
      for (j = k + 1; j <= last; ++j)
        s -= (i > j ? g[(i - j) * n + j] : i < j ? g[(j - i) * n + i] : 2 * g[i]) * l[(j - k) * n + k];
      g[(i - k) * n + k] = i > k ? s / l[k] : s / (2 * l[k]);
    }
  }
}
)"},
    {"toeplitz",
     R"(/* x [n, m] becomes the solution of the Toeplitz system with the diagonals d [2 n - 1], by Levinson's recursion;
   the order of the first leading minor that is singular, or 0. work [2 n]. */
static int $toeplitz(const real *d, real *x, real *work, int n, int m) {
  const real *const t = d + n - 1;
  real *const f = work, *const b = work + n;
  int i, c, k;
  if (n == 0) return 0;
  if (t[0] == 0) return 1;
  f[0] = b[0] = 1 / t[0];
  for (c = 0; c < m; ++c) x[c] /= t[0];
  for (k = 1; k < n; ++k) {
    real fe = 0, be = 0, det;
    for (i = 0; i < k; ++i) {
      fe += t[k - i] * f[i];
      be += t[-(i + 1)] * b[i];
    }
    det = 1 - fe * be;
    if (@fabs(det) <= 8 * (real)0x1p-52 * (1 + @fabs(fe * be))) return k + 1;
    f[k] = 0;
    for (i = k; i >= 0; --i) {
      const real p = f[i], q = i > 0 ? b[i - 1] : 0;
      f[i] = (p - fe * q) / det;
      b[i] = (q - be * p) / det;
    }
    for (c = 0; c < m; ++c) {
      real rest = x[k * m + c];
      for (i = 0; i < k; ++i) rest -= t[k - i] * x[i * m + c];
      x[k * m + c] = 0;
      for (i = 0; i <= k; ++i) x[i * m + c] += rest * b[i];
    }
  }
  return 0;
}
)"},
    {"qr", R"(/* a [m, n] = q r by reflections; q has c columns, r [min(m, n), n]. a and tau are overwritten. */
static void $qr(real *a, real *tau, real *q, real *r, int m, int n, int c) {
  const int k = m < n ? m : n;
  int i, j, s;
  for (s = 0; s < k; ++s) {
    const real alpha = a[s * n + s];
    real rest = 0, beta;
    for (i = s + 1; i < m; ++i) rest += a[i * n + s] * a[i * n + s];
    tau[s] = 0;
    if (rest == 0) continue;
    beta = -@copysign(@sqrt(alpha * alpha + rest), alpha);
    tau[s] = (beta - alpha) / beta;
    a[s * n + s] = beta;
    for (i = s + 1; i < m; ++i) a[i * n + s] /= alpha - beta;
    for (j = s + 1; j < n; ++j) {
      real w = a[s * n + j];
      for (i = s + 1; i < m; ++i) w += a[i * n + s] * a[i * n + j];
      a[s * n + j] -= tau[s] * w;
      for (i = s + 1; i < m; ++i) a[i * n + j] -= tau[s] * w * a[i * n + s];
    }
  }
  for (i = 0; i < k; ++i)
    for (j = 0; j < n; ++j) r[i * n + j] = j < i ? 0 : a[i * n + j];
  for (i = 0; i < m; ++i)
    for (j = 0; j < c; ++j) q[i * c + j] = i == j;
  for (s = k - 1; s >= 0; --s)
    for (j = 0; j < c; ++j) {
      real w = q[s * c + j];
      for (i = s + 1; i < m; ++i) w += a[i * n + s] * q[i * c + j];
      q[s * c + j] -= tau[s] * w;
      for (i = s + 1; i < m; ++i) q[i * c + j] -= tau[s] * w * a[i * n + s];
    }
}
)"},
};

}  // namespace

std::span<const Helper> matrix_helpers() noexcept { return matrix_list; }

}  // namespace reel::csource
