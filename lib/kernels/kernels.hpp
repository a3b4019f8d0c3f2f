// The interface of the kernels: loops over raw elements, in one table per instruction set. active() is the table in
// use. A loop sees pointers, strides and counts. It never allocates and never throws. An element gets the same bits
// whatever its position and whatever the strides are.
#pragma once
#include <cstddef>
#include <cstdint>
#include <reel/dtype.hpp>
#include <string_view>

namespace reel::kernels {

inline constexpr std::size_t dtype_count = static_cast<std::size_t>(DType::complex128) + 1;
constexpr std::size_t index(DType d) { return static_cast<std::size_t>(d); }

// An operand: its first element and its stride in elements. A stride of 0 repeats one element.
struct Strided {
  const void* data;
  std::ptrdiff_t stride;
};
// out is contiguous. It may be the memory of an operand of stride 1, and otherwise overlaps no operand. n >= 0.
using Loop = void (*)(const Strided* in, void* out, std::ptrdiff_t n);

// The loops of an op of table.hpp. value reads in[0..arity). derivative[k], of operand k, gets g, x, y, w, z. It reads
// g and what the definition names; the other pointers may be null. Derivatives that are g itself or zero have no loop.
struct Pointwise {
  Loop value;
  Loop derivative[3];
};
inline constexpr std::size_t definition_capacity = 96;

enum class Comparison : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };  // in: x, y
// in: x
enum class Predicate : std::uint8_t { isnan, isinf, isfinite };
// in: a, b, x, y of one type, float32 or float64; out: x, as bits, where a == b, a < b or a <= b; else y
enum class Choice : std::uint8_t { equal, less, less_equal };
enum class Logical : std::uint8_t { conjunction, disjunction, exclusive, negation };  // booleans; in: x[, y]

enum class Reduce : std::uint8_t { sum, prod, max, min };  // max and min of booleans are any and all
struct Reduction {
  // out[0] = the reduction of the n >= 1 elements, in a pairwise order that depends on n alone. max and min with a NaN
  // are NaN.
  void (*run)(Strided in, std::ptrdiff_t n, void* out);
  // acc[i] = acc[i] combined with in[i], both contiguous.
  void (*merge)(void* acc, const void* in, std::ptrdiff_t n);
  // out[i] = in[0][i] to in[count - 1][i] merged one after the other, count >= 1. Arrays are contiguous and do not
  // overlap. Only for floating types.
  void (*merge_all)(const void* const* in, std::ptrdiff_t count, void* out, std::ptrdiff_t n) = nullptr;
};

// out[j] = the index of the first greatest (least) of the n >= 1 elements j + i stride, for `count` neighbours j. A NaN
// counts as greatest and as least.
using ArgReduce = void (*)(Strided in, std::ptrdiff_t n, std::ptrdiff_t count, std::int64_t* out);

// A function of rows of n >= 1 elements. Rows are contiguous and follow one another, in operands and result. out may be
// the memory of an operand with as many elements.
using RowLoop = void (*)(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows);
// The same function of rows, and of the columns of a contiguous matrix of n rows and `rows` columns.
struct RowOrColumnLoop {
  RowLoop rows, columns;
  constexpr operator RowLoop() const { return rows; }
};
/// The points that a call of Rows::distances takes at most.
inline constexpr std::ptrdiff_t distance_block = 64;

// Functions of rows. Where the maximum of a row is -inf or inf, its logsumexp is that limit and its softmax is NaN. The
// comments list the operands. x, z, g and labels are rows; "per row" marks operands and results with one element per
// row.
struct Rows {
  RowOrColumnLoop softmax, log_softmax;  // x
  RowOrColumnLoop logsumexp;             // x; most and sum(exp(x - most)) per row, written unless null
  RowOrColumnLoop softmax_vjp;           // g, z: z * (g - sum(g * z))
  RowOrColumnLoop log_softmax_vjp;       // g, z: g - exp(z) * sum(g)
  RowOrColumnLoop logsumexp_vjp;         // g per row, x, most and sum per row (null: 1): g / sum * exp(x - most)
  RowLoop cross_entropy;                 // x, labels: sum(labels * (logsumexp(x) - x)), one element per row
  RowLoop cross_entropy_vjp;             // g per row, x, labels: g * (softmax(x) * sum(labels) - labels)
  RowLoop cross_entropy_labels_vjp;      // g per row, x: -g * log_softmax(x)
  // Cross entropy with one class per row, an int64 < n. A row whose class is negative gives 0.
  RowLoop sparse_cross_entropy;      // x, label per row; gives one element per row
  RowLoop sparse_cross_entropy_vjp;  // g per row, x, label per row; out overlaps none
  // xhat = (x - mean) / sqrt(variance + epsilon) of each row; then xhat * scale + offset, if these are not null.
  RowLoop layer_norm;  // x, epsilon (one number), scale, offset (one row each)
  // in: g, x, epsilon, scale or null. out, unless null: the cotangent of x. sums, unless null, is [2, n]: the sums of g
  // * xhat and of g over the rows, which follow one another, are added to it.
  void (*layer_norm_vjp)(const void* const* in, void* out, void* sums, std::ptrdiff_t n, std::ptrdiff_t rows);
  // in: g or null, x, mean (one row). out is not used. With g, sums is [2, n]: the sums of g * (x - mean) and of g over
  // the rows are added to it. Without g, sums is [n], and the sum of (x - mean)^2 is added.
  void (*column_sums)(const void* const* in, void* out, void* sums, std::ptrdiff_t n, std::ptrdiff_t rows);
  // mean, scale, offset and slope have one element per row here, as have the results of the first three.
  RowLoop sum;        // x
  RowLoop squares;    // x, mean: sum((x - mean)^2)
  RowLoop products;   // g, x, mean: sum(g * (x - mean))
  RowLoop scale;      // x, mean, scale, offset: (x - mean) * scale + offset
  RowLoop scale_vjp;  // g, x, mean, scale, offset, slope: scale * (g - offset - (x - mean) * slope)
  // Euclidean distances of the rows of x [n, d] to points, the first `width` columns of y [d, distance_block]; other
  // columns are read too. `stride` is the distance of the rows of out [n, width]. Squares may overflow or underflow.
  void (*distances)(const void* x, std::ptrdiff_t n, std::ptrdiff_t d, const void* y, std::ptrdiff_t width, void* out,
                    std::ptrdiff_t stride);
};

// Packs a strided plane into a contiguous one of rows x columns. Rows and columns [first, last) are copied from the
// strided plane, whose first element `from` goes to (first_row, first_column). The others are set to `fill`. Up to one
// vector past the end of the plane is overwritten.
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
// Convolution and pooling over packed planes. Ranges of n elements are read and written in whole vectors: n is rounded
// up.
struct Convolution {
  std::ptrdiff_t bytes;  // of an element
  std::ptrdiff_t lanes;  // of a vector
  std::ptrdiff_t block;  // the most filters of one call of correlate, which also takes each lower power of two
  // out[f * out_stride + i] = the sum over k < taps of w[k * filters + f] * x[offset[k] + i], i < n.
  void (*correlate)(const void* x, const std::ptrdiff_t* offset, std::ptrdiff_t taps, const void* w,
                    std::ptrdiff_t filters, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n);
  void (*products)(const PlaneProducts& p);
  void (*pack)(const PlaneLayout& p);
  // The inverse of pack: to[r * row_stride + c * column_stride] = from[r * width + c]; with `add`, += instead of =.
  void (*unpack)(const void* from, std::ptrdiff_t width, void* to, std::ptrdiff_t row_stride,
                 std::ptrdiff_t column_stride, std::ptrdiff_t rows, std::ptrdiff_t columns, bool add);
  // out[i] = the greatest x[offset[k] + i], place[i] = the first such k; first[i] where all are -inf. A NaN wins.
  void (*greatest)(const void* x, const std::ptrdiff_t* offset, std::ptrdiff_t taps, const void* first, void* out,
                   void* place, std::ptrdiff_t n);
};

// One factor of a matrix product: element (i, j) is data[i * row_stride + j * column_stride]. Strides may have any
// value.
struct ProductFactor {
  const void* data;
  std::ptrdiff_t row_stride, column_stride;
};
// c[i * c_row + j] = the sum over p < k of a(i, p) b(p, j), for i < m, j < n; with `add` +=, with `add` and `negate`
// -=. m, n, k >= 1. a is packed in panels of `height` rows, b in panels of MatrixProduct::columns columns: a(i, p) is
// a[i / height * a_panel + i % height * a_row + p * a_step], b(p, j) is b[j / columns * b_panel + p * b_step + j %
// columns]. All counts and strides are in real numbers.
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
// Matrix products of one element type. A complex product of m x k and k x n is computed as a real one of m x 2 k and 2
// k x 2 n.
struct MatrixProduct {
  std::ptrdiff_t rows, columns;  // of a tile
  std::ptrdiff_t lanes;          // of a vector
  bool reads_tails;              // if false, b is read in whole vectors: pack it unless lanes divides n
  void (*run)(const ProductBlock& p);
  // Packs a factor, whose strides are in elements, into `to`. m, n, k and height of `p` are set; its a or b, and their
  // strides, are then set to the packed factor. a takes panels * height * (k + 2 cache lines) real numbers, b takes
  // panels * columns * k. A real factor b with contiguous rows needs no packing. Complex factors always do.
  void (*pack_a)(const ProductFactor& f, void* to, ProductBlock& p);
  void (*pack_b)(const ProductFactor& f, void* to, ProductBlock& p);
};

// A triangular system A X = B of order n <= SmallFactors::order, solved in place. Element (i, j) of A is a[i * a_row +
// j * a_column]. That of B, which has `columns` columns, is b[i * b_row + j * b_column]; one of the strides of B is 1.
// Only the triangle named by `lower` is read, and with `unit` not its diagonal.
struct TriangularBlock {
  std::ptrdiff_t n;
  const void* a;
  std::ptrdiff_t a_row, a_column;
  bool lower, unit;
  void* b;
  std::ptrdiff_t b_row, b_column, columns;
};
// In-place factorisations of float32 or float64 matrices of at most `order` rows, which are a_row elements apart.
struct SmallFactors {
  std::ptrdiff_t order;
  // Overwrites the lower triangle of A with L, A = L L^T. Returns 0, or the order of the first leading minor that is
  // not positive; A is then left as it was at that step.
  std::ptrdiff_t (*cholesky)(void* a, std::ptrdiff_t a_row, std::ptrdiff_t n);
  // The first rows <= order of the factors of getrf in lapack.hpp, and their pivots. Columns are swapped in these rows
  // only. Returns 0, or the order of the first pivot that is zero.
  std::ptrdiff_t (*lu)(void* a, std::ptrdiff_t a_row, std::ptrdiff_t rows, std::ptrdiff_t columns, int* pivots);
  void (*solve)(const TriangularBlock& p);
};

// Random numbers. A stream is a sequence of blocks of 128 bits. Element i uses its share of block first + i / k, where
// a block serves k elements: 2 of float64, 4 of float32. Bits are the same on every instruction set.
struct RandomPlace {
  std::uint64_t seed, first;
};
// Uniform numbers in [low, low + width), times factor. Results beyond `last` become `last`.
struct UniformRange {
  double low, width, factor, last;
};
struct Draws {
  void (*uniform)(RandomPlace from, const UniformRange& range, void* out, std::ptrdiff_t n);
  void (*normal)(RandomPlace from, double mean, double stddev, void* out, std::ptrdiff_t n);
};

/// The Bessel functions of order 0 and 1: i0, i1, k0, k1, scaled ones, j0, j1, y0, y1.
inline constexpr std::size_t bessel_count = 12;

// A Bessel function of x and its first derivative. A loop is null where the dtype has none.
struct Bessel {
  Loop value, derivative;
};

// Fourier transforms of the columns of a matrix. Real and imaginary parts are separate arrays, whose rows have `width`
// or `columns` numbers, a multiple of lanes. Counts and strides of interleaved memory are in complex numbers, others in
// real ones. The sign of the exponent is negative. Exchange real and imaginary parts of every argument for the positive
// sign.

// One pass of the Stockham algorithm. It multiplies the length of the transforms by `radix`: 2, 3, 4, 5, 7, 8, 11 or
// 13; or 16, where there is a transposing pass, if done is 1. in is [done, radix, columns], out is [radix, done,
// columns] and does not overlap it. out(q, k) = the sum over j of exp(-2 pi i j q / radix) w(k, j) in(k, j), with w(k,
// j) = exp(-2 pi i j k / (done * radix)). twiddles holds w(k, j) for all k and for j from 1 on.
struct FourierPass {
  std::ptrdiff_t radix, done, columns;
  const void *in_re, *in_im;
  void *out_re, *out_im;
  const void* twiddles;
};
// `rows` rows of `count` complex numbers in memory, `stride` apart, and the same rows as separate parts of `width`
// numbers.
struct FourierRows {
  void* memory;
  std::ptrdiff_t stride, rows, count, width;
  void *re, *im;
};
// out(c, r) = in(r, c) w(r, c), or in(r, c) if the twiddles are null. columns is a multiple of lanes. Rows of zeros are
// appended to out up to a multiple of lanes.
struct FourierTranspose {
  std::ptrdiff_t rows, columns;
  const void *in_re, *in_im;
  std::ptrdiff_t in_stride;
  void *out_re, *out_im;
  std::ptrdiff_t out_stride;
  const void *twiddle_re, *twiddle_im;
  std::ptrdiff_t twiddle_stride;
};
// A step between the transform of 2 * half real numbers x and that of the same numbers read as `half` complex ones z.
// twiddles: exp(-2 pi i k / (2 half)), k <= half / 2. The numbers of the spectrum are multiplied by `inner`, except the
// first and the last.
struct FourierHalf {
  const void* in;
  const void* twiddles;
  void* out;  // does not overlap in
  std::ptrdiff_t half;
  double inner;
};
// The first pass of a transform of 16 * columns numbers in memory, a matrix [16, columns] of complex numbers in
// row-major order: butterflies of its columns, times twiddles, and transposition. Each vector of rows of the result is
// a matrix [columns, lanes] of its own; these follow one another. columns and 16 are multiples of lanes. twiddles
// holds, for each vector of columns and each k from 1 to 15, the real and then the imaginary parts of exp(-2 pi i k
// column / n), conjugated for the inverse transform.
struct FourierTransposingPass {
  const void* in;
  std::ptrdiff_t columns;
  bool inverse;
  void *out_re, *out_im;
  const void* twiddles;
};
inline constexpr std::ptrdiff_t fourier_transposing_radix = 16;
struct Fourier {
  std::ptrdiff_t lanes;
  void (*pass)(const FourierPass& p);
  // The first pass reads, and the last pass writes, complex numbers in memory in place of `in` and `out`. The radix is
  // 4 or 8, and count is width. Null for one lane. For the inverse transform the parts of `in` of the last pass are
  // exchanged, and those of `out` of the first pass are not.
  void (*first_pass)(const FourierPass& p, const FourierRows& in, bool inverse);
  void (*last_pass)(const FourierPass& p, const FourierRows& out, bool inverse, double scale);
  void (*transposing_pass)(const FourierTransposingPass& p);  // on AVX-512, else null, as radix 16 needs 32 registers
  void (*load)(const FourierRows& p);                         // from memory to parts; zeros up to width
  void (*store)(const FourierRows& p, double scale);
  void (*transpose)(const FourierTranspose& p);
  // in: the transform of z, `half` numbers. out: the transform of x, half + 1 numbers, doubled.
  void (*to_half)(const FourierHalf& p);
  // in: the spectrum of x, half + 1 numbers; only the real parts of the first and the last are read. out: the spectrum
  // of z.
  void (*from_half)(const FourierHalf& p);
};

// The kernels of one instruction set. An entry is null where the operation does not exist for that type.
struct Set {
  const char* isa;
  Pointwise op[definition_capacity][dtype_count];  // by index_of<"name">(), table.hpp
  Loop compare[6][dtype_count];                    // out: booleans, one byte each, 0 or 1
  Loop predicate[3][dtype_count];                  // out: booleans
  Loop choice[3][dtype_count];
  Loop logical[4];  // out: booleans
  Loop select[5];   // by size_class(bytes of an element); in: booleans c, then x, y; c ? x : y
  Reduction reduce[4][dtype_count];
  ArgReduce argmax[dtype_count], argmin[dtype_count];
  void (*dot[dtype_count])(Strided a, Strided b, std::ptrdiff_t n,
                           void* out);  // sum of a * b, in the order of Reduce::sum
  Rows rows[dtype_count];
  Convolution convolution[dtype_count];
  MatrixProduct product[dtype_count];
  SmallFactors factors[dtype_count];         // float32, float64
  Draws draws[dtype_count];                  // float32, float64
  Bessel bessel[dtype_count][bessel_count];  // by special::bessel_index; float32, float64
  Fourier fourier[dtype_count];              // float32, float64
  // x shifted to the left (0), or to the right (1), by n bits; all bits are shifted out where n is negative or at least
  // their number. int32, int64.
  Loop shift[2][dtype_count];
  // out = the sum of n >= 1 elements, NaNs as 0, in the order of Reduce::sum. float32, float64.
  void (*sum_of_numbers[dtype_count])(const void* x, std::ptrdiff_t n, void* out);
  // The gradient by x [n, d] of distances z [n, m] to y [m, d] for the cotangent g [n, m]: the sums of g / z * (x - y)
  // over y, without the pairs at distance 0. False, with undefined results, if a distance or a quotient is not finite.
  // float32, float64.
  bool (*distances_vjp[dtype_count])(const void* g, const void* z, const void* x, const void* y, std::ptrdiff_t n,
                                     std::ptrdiff_t m, std::ptrdiff_t d, void* out);

  const Pointwise& pointwise(std::size_t at, DType d) const { return op[at][index(d)]; }
  Loop comparison(Comparison c, DType d) const { return compare[static_cast<std::size_t>(c)][index(d)]; }
  Loop test(Predicate p, DType d) const { return predicate[static_cast<std::size_t>(p)][index(d)]; }
  Loop choose(Choice c, DType d) const { return choice[static_cast<std::size_t>(c)][index(d)]; }
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
// The set in use: the best that this machine supports, or the one that REEL_ISA names. It is fixed before any other
// constructor runs.
inline const Set& active() { return *detail::active_set; }
// Why REEL_ISA was not followed. Null if it was, or is not set.
const char* isa_problem();
// The set of this name ("scalar", "sse2", "avx2", "avx512", "neon64"); null if it is not compiled in or this machine
// lacks it.
const Set* find(std::string_view isa);

// ---- Kernels that are compiled once, for the baseline instruction set

// out[i * out_stride] = the sum or product of in[0] to in[i], one after the other, i < n. The same for each of
// `columns` columns, whose elements are `apart` from those of the one before, of in and of out. out may be the memory
// of in. For numbers, complex ones too.
using Scan = void (*)(Strided in, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n, std::ptrdiff_t columns,
                      std::ptrdiff_t apart);
Scan cumsum(DType d);
Scan cumprod(DType d);

// Copies elements of 1, 2, 4, 8 or 16 bytes as bits. Source and destination do not overlap.
void copy(Strided in, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n, std::size_t bytes);
// Copies bytes with non-temporal stores, which bypass the caches. The two sides do not overlap. nontemporal_fence()
// must follow before another thread is told to read the copy.
void copy_nontemporal(const void* from, void* to, std::size_t bytes);
void nontemporal_fence();
void fill(const void* value, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n, std::size_t bytes);
// out[r * out_stride + c] = in[r * row_stride + c * column_stride], in tiles that fit the cache whichever stride is the
// smaller.
void copy_matrix(const void* in, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride, void* out,
                 std::ptrdiff_t out_stride, std::ptrdiff_t rows, std::ptrdiff_t columns, std::size_t bytes);

// Functions between complex numbers of dtype d and the real numbers that are their parts. in: z; of join: re, im.
enum class ComplexFunction : std::uint8_t { real, imag, abs, angle, conj, join };
Loop complex_function(ComplexFunction f, DType d);
// Sets the loops of the holomorphic ops for the complex types.
void enter_complex(Set& set);

// out[i] = in[i] as the other type, contiguous. Returns false if a NaN or a number out of range was cast to an integer
// type; out is then undefined. Integers wrap. A complex number gives its real part. Every number but zero is true.
using Cast = bool (*)(Strided in, void* out, std::ptrdiff_t n);
Cast cast(DType from, DType to);

}  // namespace reel::kernels
