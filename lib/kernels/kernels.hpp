// What the layers above see of the kernels: loops over raw elements, in one table per instruction set of which active()
// is the one in use. A loop sees pointers, strides and counts, never allocates, never throws, and gives an element the
// same bits whatever its position and whatever the strides are.
#pragma once
#include <cstddef>
#include <cstdint>
#include <reel/dtype.hpp>
#include <string_view>

#include "kernels/special/special.hpp"

namespace reel::kernels {

inline constexpr std::size_t dtype_count = static_cast<std::size_t>(DType::complex128) + 1;
constexpr std::size_t index(DType d) { return static_cast<std::size_t>(d); }

// An operand: its first element and its stride in elements; 0 repeats one element.
struct Strided {
  const void* data;
  std::ptrdiff_t stride;
};
// out is contiguous and may be an operand of stride 1 itself; otherwise it overlaps none. n >= 0.
using Loop = void (*)(const Strided* in, void* out, std::ptrdiff_t n);

// The loops of an op of table.hpp. value reads in[0..arity). derivative[k], that of operand k, has the operands g, x,
// y, w, z; it reads g and what the definition names, and the rest may be null. Identity and zero have no loop.
struct Pointwise {
  Loop value;
  Loop derivative[3];
};
inline constexpr std::size_t definition_capacity = 96;

enum class Comparison : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };  // in: x, y
enum class Predicate : std::uint8_t { isnan, isinf, isfinite };                                       // in: x
enum class Logical : std::uint8_t { conjunction, disjunction, exclusive, negation };  // booleans; in: x[, y]

enum class Reduce : std::uint8_t { sum, prod, max, min };  // max and min of booleans are any and all
struct Reduction {
  // out[0] = the n >= 1 elements combined, in a pairwise order that depends on n alone. max and min of a NaN are NaN.
  void (*run)(Strided in, std::ptrdiff_t n, void* out);
  // acc[i] = acc[i] combined with in[i], both contiguous.
  void (*merge)(void* acc, const void* in, std::ptrdiff_t n);
  // out[i] = in[0][i] to in[count - 1][i] merged one after the other, count >= 1, all contiguous and apart. Of floating
  // types.
  void (*merge_all)(const void* const* in, std::ptrdiff_t count, void* out, std::ptrdiff_t n) = nullptr;
};

// out[j] = index of the first greatest (least) of the n elements j + i stride, for `count` neighbours j. n >= 1. A NaN
// is both.
using ArgReduce = void (*)(Strided in, std::ptrdiff_t n, std::ptrdiff_t count, std::int64_t* out);

// A function of rows of n >= 1 elements that lie one after the other, from operands that do too. out may be an operand
// of as many elements.
using RowLoop = void (*)(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows);
// The same function of the columns of a contiguous matrix, too: n rows, `rows` columns.
struct RowOrColumnLoop {
  RowLoop rows, columns;
  constexpr operator RowLoop() const { return rows; }
};
// A row whose maximum is -inf or inf has the limit as its logsumexp and NaN as its softmax. Operands: x, z and labels
// are rows; per_row says which have, and give, one element for each row instead.
struct Rows {
  RowOrColumnLoop softmax, log_softmax;  // x
  RowOrColumnLoop logsumexp;             // x; gives one element per row
  RowOrColumnLoop softmax_vjp;           // g, z: z * (g - sum(g * z))
  RowOrColumnLoop log_softmax_vjp;       // g, z: g - exp(z) * sum(g)
  RowOrColumnLoop logsumexp_vjp;         // g per row, x, z per row: g * exp(x - z)
  RowLoop cross_entropy;                 // x, labels: sum(labels * (logsumexp(x) - x)), one element per row
  RowLoop cross_entropy_vjp;             // g per row, x, labels: g * (softmax(x) * sum(labels) - labels)
  RowLoop cross_entropy_labels_vjp;      // g per row, x: -g * log_softmax(x)
  // The same with one class per row, an int64 < n; a row whose class is negative gives 0.
  RowLoop sparse_cross_entropy;      // x, label per row; gives one element per row
  RowLoop sparse_cross_entropy_vjp;  // g per row, x, label per row; out apart from them
  // xhat = (x - mean) / sqrt(variance + epsilon) of each row; then xhat * scale + offset, if these are not null.
  RowLoop layer_norm;  // x, epsilon (one number), scale, offset (one row each)
  // in: g, x, epsilon, scale or null. out, unless null: x's cotangent. To sums, unless null, [2, n], it adds g * xhat
  // and g of all rows, one after the other.
  void (*layer_norm_vjp)(const void* const* in, void* out, void* sums, std::ptrdiff_t n, std::ptrdiff_t rows);
  // in: g or null, x, mean (one row). out is not used. To sums, [2, n], it adds g * (x - mean) and g of all rows;
  // without g, to sums, [n], (x - mean)^2.
  void (*column_sums)(const void* const* in, void* out, void* sums, std::ptrdiff_t n, std::ptrdiff_t rows);
  // With one mean, scale, offset and slope per row. The first three give one element per row.
  RowLoop sum;        // x
  RowLoop squares;    // x, mean: sum((x - mean)^2)
  RowLoop products;   // g, x, mean: sum(g * (x - mean))
  RowLoop scale;      // x, mean, scale, offset: (x - mean) * scale + offset
  RowLoop scale_vjp;  // g, x, mean, scale, offset, slope: scale * (g - offset - (x - mean) * slope)
};

// A plane of rows x columns, contiguous, made of a strided one: [first, last) of rows and columns are copied, the
// others are `fill`. `from` goes to (first_row, first_column). Up to one vector past the end of the plane is
// overwritten.
struct PlaneLayout {
  const void* from;
  std::ptrdiff_t row_stride, column_stride;
  void* to;
  std::ptrdiff_t rows, columns, first_row, last_row, first_column, last_column;
  double fill;
};
// out[f * out_stride + k] += the sum over u < count and i < n, a multiple of `lanes`, of
// g[u * g_step + f * g_stride + i] * x[u * x_step + offset[k] + i].
struct PlaneProducts {
  const void *g, *x;
  std::ptrdiff_t count, g_step, x_step, g_stride, filters;
  const std::ptrdiff_t* offset;
  std::ptrdiff_t taps, n;
  void* out;
  std::ptrdiff_t out_stride;
};
// Convolution and pooling over packed planes. Runs of n elements are read and written in whole vectors: n is rounded
// up.
struct Convolution {
  std::ptrdiff_t bytes;  // of an element
  std::ptrdiff_t lanes;  // of a vector
  std::ptrdiff_t block;  // the most filters that correlate takes; also every power of two below
  // out[f * out_stride + i] = the sum over k < taps of w[k * filters + f] * x[offset[k] + i], i < n.
  void (*correlate)(const void* x, const std::ptrdiff_t* offset, std::ptrdiff_t taps, const void* w,
                    std::ptrdiff_t filters, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n);
  void (*products)(const PlaneProducts& p);
  void (*pack)(const PlaneLayout& p);
  // The inverse: to[r * row_stride + c * column_stride] = from[r * width + c], or += that.
  void (*unpack)(const void* from, std::ptrdiff_t width, void* to, std::ptrdiff_t row_stride,
                 std::ptrdiff_t column_stride, std::ptrdiff_t rows, std::ptrdiff_t columns, bool add);
  // out[i] = the greatest x[offset[k] + i], place[i] = the first such k; first[i] where all are -inf. A NaN wins.
  void (*greatest)(const void* x, const std::ptrdiff_t* offset, std::ptrdiff_t taps, const void* first, void* out,
                   void* place, std::ptrdiff_t n);
};

// One factor of a matrix product: element (i, j) is data[i * row_stride + j * column_stride]. Any strides.
struct ProductFactor {
  const void* data;
  std::ptrdiff_t row_stride, column_stride;
};
// c[i * c_row + j] = (add: +=, or with negate -=) the sum over p < k of a(i, p) b(p, j), i < m, j < n. Rows of a come
// in panels of `height`, columns of b in panels of MatrixProduct::columns: a(i, p) is a[i / height * a_panel + i %
// height * a_row + p * a_step], b(p, j) is b[j / columns * b_panel + p * b_step + j % columns]. All counts and strides
// are of real numbers. m, n, k >= 1.
struct ProductBlock {
  std::ptrdiff_t m, n, k;
  std::ptrdiff_t height;  // of a panel of a, at most MatrixProduct::rows
  const void* a;
  std::ptrdiff_t a_row, a_step, a_panel;
  const void* b;
  std::ptrdiff_t b_step, b_panel;
  void* c;
  std::ptrdiff_t c_row;
  bool add, negate;
};
// Matrix products of one element type; complex numbers count as two real ones, of m x 2 k and 2 k x 2 n.
struct MatrixProduct {
  std::ptrdiff_t rows, columns;  // of a tile
  std::ptrdiff_t lanes;          // of a vector
  bool reads_tails;  // if not, b is read up to whole vectors: it must be packed unless n is a multiple of lanes
  void (*run)(const ProductBlock& p);
  // Copies a factor (strides in elements of its type) to memory of its own, where `p`, whose m, n, k and height are
  // set, finds it: its a or b and the strides of that are entered. Of a: panels * height * (k + 2 cache lines) real
  // numbers; of b: panels * columns * k. Real factors need no packing if b's rows are contiguous; complex ones do.
  void (*pack_a)(const ProductFactor& f, void* to, ProductBlock& p);
  void (*pack_b)(const ProductFactor& f, void* to, ProductBlock& p);
};

// A triangular system A X = B of order n <= SmallFactors::order, solved in place: element (i, j) of A is a[i * a_row +
// j
// * a_column], of B, with so many columns, b[i * b_row + j * b_column], and one of B's strides is 1. Only the named
// triangle of A is read; with unit, not its diagonal.
struct TriangularBlock {
  std::ptrdiff_t n;
  const void* a;
  std::ptrdiff_t a_row, a_column;
  bool lower, unit;
  void* b;
  std::ptrdiff_t b_row, b_column, columns;
};
// Factorisations of matrices up to `order`, float32 or float64, rows a_row apart, in place.
struct SmallFactors {
  std::ptrdiff_t order;
  // The lower triangle of L, A = L L^T, of the lower triangle of A. Gives 0, or the order of the first leading minor
  // that is not positive: A is as it was then.
  std::ptrdiff_t (*cholesky)(void* a, std::ptrdiff_t a_row, std::ptrdiff_t n);
  // The first rows <= order of the factors that getrf of lapack.hpp gives, and their pivots: columns are swapped in
  // these rows alone. Gives 0, or the order of the first pivot that is zero.
  std::ptrdiff_t (*lu)(void* a, std::ptrdiff_t a_row, std::ptrdiff_t rows, std::ptrdiff_t columns, int* pivots);
  void (*solve)(const TriangularBlock& p);
};

// Random numbers. A stream has blocks of 128 bits: element i is made of block first + i / k, of which k elements take
// a share each: 2 of float64, 4 of float32. The same bits on every instruction set.
struct RandomPlace {
  std::uint64_t seed, first;
};
// [low, low + width) times factor, results beyond `last` being `last`.
struct UniformRange {
  double low, width, factor, last;
};
struct Draws {
  void (*uniform)(RandomPlace from, const UniformRange& range, void* out, std::ptrdiff_t n);
  void (*normal)(RandomPlace from, double mean, double stddev, void* out, std::ptrdiff_t n);
};

// A Bessel function and its first derivative, null where it has no loop; in: x.
struct Bessel {
  Loop value, derivative;
};

// Fourier transforms of columns, which lie side by side: real and imaginary parts are arrays of their own, whose rows
// are `width` or `columns` numbers, a multiple of lanes. Counts and strides are of complex numbers in memory, else of
// real ones. The exponent's sign is negative, and positive if real and imaginary parts change places everywhere.

// A pass multiplies the length of the transforms that the columns consist of by `radix`: 2, 3, 4, 5, 7, 8, 11 or 13.
// in: [done, radix, columns], out: [radix, done, columns]; out(q, k) = the sum over j of exp(-2 pi i j q / radix) w(k,
// j) in(k, j), with w(k, j) = exp(-2 pi i j k / (done * radix)). twiddles: w(k, j) for k and j from 1 on. out is apart.
struct FourierPass {
  std::ptrdiff_t radix, done, columns;
  const void *in_re, *in_im;
  void *out_re, *out_im;
  const void* twiddles;
};
// Rows of `count` complex numbers, `stride` apart, and of `width` numbers as separate parts.
struct FourierRows {
  void* memory;
  std::ptrdiff_t stride, rows, count, width;
  void *re, *im;
};
// out(c, r) = in(r, c) w(r, c), or in(r, c) where there are no twiddles; columns is a multiple of lanes. Up to a
// multiple of lanes, rows of zeros follow.
struct FourierTranspose {
  std::ptrdiff_t rows, columns;
  const void *in_re, *in_im;
  std::ptrdiff_t in_stride;
  void *out_re, *out_im;
  std::ptrdiff_t out_stride;
  const void *twiddle_re, *twiddle_im;
  std::ptrdiff_t twiddle_stride;
};
// 2 * half real numbers x as half complex ones z, of whose transform and that of x this is a step. twiddles: exp(-2 pi
// i k / (2 half)), k <= half / 2. All but the first and the last number of the spectrum are multiplied by `inner`.
struct FourierHalf {
  const void* in;
  const void* twiddles;
  void* out;  // apart from in
  std::ptrdiff_t half;
  double inner;
};
struct Fourier {
  std::ptrdiff_t lanes;
  void (*pass)(const FourierPass& p);
  void (*load)(const FourierRows& p);  // from memory to parts; zeros up to width
  void (*store)(const FourierRows& p, double scale);
  void (*transpose)(const FourierTranspose& p);
  // in: the transform of z, half of it; out: that of x, half + 1 numbers, doubled.
  void (*to_half)(const FourierHalf& p);
  // in: the spectrum of x, half + 1 numbers, of whose first and last only the real parts count; out: that of z.
  void (*from_half)(const FourierHalf& p);
};

// Everything that is compiled once per instruction set. An entry is null where the operation does not exist for that
// type.
struct Set {
  const char* isa;
  Pointwise op[definition_capacity][dtype_count];  // by index_of<"name">(), table.hpp
  Loop compare[6][dtype_count];                    // out: booleans, one byte each, 0 or 1
  Loop predicate[3][dtype_count];                  // out: booleans
  Loop logical[4];                                 // out: booleans
  Loop select[5];  // by size_class(bytes of an element); in: booleans c, then x, y; c ? x : y
  Reduction reduce[4][dtype_count];
  ArgReduce argmax[dtype_count], argmin[dtype_count];
  void (*dot[dtype_count])(Strided a, Strided b, std::ptrdiff_t n,
                           void* out);  // sum of a * b, in the order of Reduce::sum
  Rows rows[dtype_count];
  Convolution convolution[dtype_count];
  MatrixProduct product[dtype_count];
  SmallFactors factors[dtype_count];                  // float32, float64
  Draws draws[dtype_count];                           // float32, float64
  Bessel bessel[dtype_count][special::bessel_count];  // by bessel_index; float32, float64
  Fourier fourier[dtype_count];                       // float32, float64

  const Pointwise& pointwise(std::size_t at, DType d) const { return op[at][index(d)]; }
  Loop comparison(Comparison c, DType d) const { return compare[static_cast<std::size_t>(c)][index(d)]; }
  Loop test(Predicate p, DType d) const { return predicate[static_cast<std::size_t>(p)][index(d)]; }
  Loop logic(Logical l) const { return logical[static_cast<std::size_t>(l)]; }
  const Reduction& reduction(Reduce r, DType d) const { return reduce[static_cast<std::size_t>(r)][index(d)]; }
};

// 0..4 for elements of 1, 2, 4, 8, 16 bytes.
constexpr std::size_t size_class(std::size_t bytes) {
  return bytes == 16 ? 4 : bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2 ? 1 : 0;
}

namespace detail {
extern const Set* active_set;
}
// The set in use: the best that this machine supports, or the one that REEL_ISA names. Fixed before any other
// constructor runs.
inline const Set& active() { return *detail::active_set; }
// Null, or why REEL_ISA was not followed.
const char* isa_problem();
// The set of this name ("scalar", "sse2", "avx2", "avx512", "neon64"); null if it is not compiled in or this machine
// lacks it.
const Set* find(std::string_view isa);

// ---- What is compiled once, for the baseline instruction set

// out[i * out_stride] = in[0] combined with all up to in[i], one after the other. out may be in itself. Numbers only,
// complex ones too.
using Scan = void (*)(Strided in, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n);
Scan cumsum(DType d);
Scan cumprod(DType d);

// Elements of 1, 2, 4, 8 or 16 bytes, moved without being looked at. The two sides of a copy do not overlap.
void copy(Strided in, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n, std::size_t bytes);
// Copies bytes with non-temporal stores, which bypass the caches. The two sides do not overlap. nontemporal_fence()
// must follow before another thread is told to read the copy.
void copy_nontemporal(const void* from, void* to, std::size_t bytes);
void nontemporal_fence();
void fill(const void* value, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n, std::size_t bytes);
// out[r * out_stride + c] = in[r * row_stride + c * column_stride], in tiles that suit the cache whichever stride is
// the small one.
void copy_matrix(const void* in, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride, void* out,
                 std::ptrdiff_t out_stride, std::ptrdiff_t rows, std::ptrdiff_t columns, std::size_t bytes);

// Functions between complex numbers of type t and the real numbers that they consist of. in: z; of join: re, im.
enum class ComplexFunction : std::uint8_t { real, imag, abs, angle, conj, join };
Loop complex_function(ComplexFunction f, DType d);
// Enters the loops of the holomorphic ops for the complex types.
void enter_complex(Set& set);

// out[i] = in[i] as the other type, contiguous. False if a NaN or a number out of range met an integer type: out is
// then undefined. Integers wrap, a complex number gives its real part, anything but zero is true.
using Cast = bool (*)(Strided in, void* out, std::ptrdiff_t n);
Cast cast(DType from, DType to);

}  // namespace reel::kernels
