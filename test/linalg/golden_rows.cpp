// Rows of linear algebra, Fourier transforms and signals.
#include <reel/fft.hpp>
#include <reel/fft/signal.hpp>
#include <reel/linalg.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/reel.hpp>
#include <reel/sparse.hpp>

#include "../golden/rows.hpp"

using namespace reel;

namespace golden {

namespace {

Tensor hermitian(const Tensor& a) { return (a + conj(swapaxes(a, -1, -2))) / 2; }
// The squared magnitudes of vectors' elements, which their signs and phases do not change.
Tensor squares(const Tensor& v) { return square(real(v)) + square(imag(v)); }
Tensors pair(const Qr& f) { return {f.q, f.r}; }
Tensors pair(const Eigh& f) { return {f.eigenvalues, squares(f.eigenvectors)}; }
Tensors pair(const Eig& f) { return {f.eigenvalues, squares(f.eigenvectors)}; }
Tensors triple(const Svd& f) { return {f.s, squares(f.u), squares(f.vh)}; }
Tensor definite(const Tensor& a) { return matmul(a, a, {.transpose_b = true}); }
// Takes a l l^T + 1 in the place of a matrix.
LinearOperator operator_of(const Tensor& l) {
  return [l](const Tensor& v) { return matmul(l, matmul(l, v, {.transpose_a = true})) + v; };
}
const IterativeOptions exact = {.tolerance = 1e-15};
SparsityPattern positions(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& columns,
                          const Shape& shape) {
  return coo_to_csr(from_data(rows), from_data(columns), shape);
}
SparsityPattern wide() { return positions({0, 0, 2, 2}, {1, 3, 0, 3}, {3, 4}); }

}  // namespace

const std::vector<Row> linear_algebra_rows = {
    // clang-format off
    {"det"}, {"inverse"}, {"expm"}, {"fftshift"}, {"ifftshift"}, {"hadamard"}, {"detrend"}, {"svdvals"}, {"pinv"},
    {"matmul"}, {"outer"}, {"dot"}, {"kron"}, {"cross"}, {"inner"}, {"vdot"}, {"vecdot"}, {"matvec"}, {"tensorsolve"},
    {"solve"}, {"triangular_solve"}, {"cholesky_solve"}, {"cholesky_update"}, {"lstsq"}, {"lyapunov"},
    {"expm_frechet"}, {"tensordot"}, {"tensorinv"}, {"cholesky_inverse"}, {"tridiagonal_solve"}, {"toeplitz_solve"},
    {"sylvester"}, {"lfilter"}, {"sosfilt"}, {"welch"},
    // clang-format on
    REEL_ROW("fftn", fftn(x[0])),
    REEL_ROW("ifftn", ifftn(x[0])),
    REEL_ROW("fft2", fft2(x[0])),
    REEL_ROW("ifft2", ifft2(x[0])),
    REEL_ROW("irfftn", irfftn(x[0])),
    REEL_ROW("irfft2", irfft2(x[0])),
    REEL_ROW("rfftn", rfftn(x[0])),
    REEL_ROW("rfft2", rfft2(x[0])),
    REEL_ROW("unwrap", unwrap(x[0])),
    REEL_ROW("eigvals", eigvals(x[0])),
    REEL_ROW("matmul complex", matmul(x[0], x[1])),
    REEL_ROW("einsum", einsum("ij,jk,ik->i", {x[0], x[1], x[2]})),
    REEL_ROW("einsum complex", einsum("bij,bjk->bik", {x[0], x[1]})),
    REEL_ROW("multi_dot", multi_dot({x[0], x[1], x[2]})),
    REEL_ROW("matrix_power 3", matrix_power(x[0], 3)),
    REEL_ROW("matrix_power 0", matrix_power(x[0], 0)),
    REEL_ROW("matrix_power -2", matrix_power(x[0], -2)),
    REEL_ROW("matrix_norm frobenius", matrix_norm(x[0])),
    REEL_ROW("matrix_norm one", matrix_norm(x[0], MatrixNorm::one)),
    REEL_ROW("matrix_norm infinity", matrix_norm(x[0], MatrixNorm::infinity)),
    REEL_ROW("matrix_norm spectral", matrix_norm(x[0], MatrixNorm::spectral)),
    REEL_ROW("matrix_norm nuclear", matrix_norm(x[0], MatrixNorm::nuclear)),
    REEL_ROW("cond spectral", cond(x[0])),
    REEL_ROW("cond frobenius", cond(x[0], MatrixNorm::frobenius)),
    REEL_ROW("cholesky", cholesky(hermitian(x[0]) + 6 * eye(3))),
    REEL_ROW("slogdet", slogdet(x[0]).sign, slogdet(x[0]).logdet),
    REEL_ROW("lu_solve", lu_solve(lu_factor(x[0]), x[1])),
    REEL_ROW("lu", lu(x[0]).l, lu(x[0]).u),
    REEL_ROW("lu_factor", lu_factor(x[0]).lu),
    REEL_ROW("banded_solve", banded_solve(x[0], 2, 1, x[1])),
    REEL_ROW("linear_solve", linear_solve([a = x[0]](const Tensor& v) { return matmul(a, v); }, x[1], exact)),
    REEL_ROW("cg", cg(operator_of(x[0]), x[1], exact).x),
    REEL_ROW("gmres", gmres(operator_of(x[0]), x[1], exact).x),
    REEL_ROW("bicgstab", bicgstab(operator_of(x[0]), x[1], exact).x),
    REEL_ROW("csr_matmul", csr_matmul(x[0], wide(), x[1])),
    REEL_ROW("sampled_matmul", sampled_matmul(wide(), x[0], x[1])),
    REEL_ROW("csr_solve", csr_solve(x[0], positions({0, 0, 1, 2, 2}, {0, 2, 1, 0, 2}, {3, 3}), x[1])),
    REEL_ROW("eigh", pair(eigh(hermitian(x[0])))),
    REEL_ROW("eigvalsh", eigvalsh(hermitian(x[0]))),
    REEL_ROW("svd", triple(svd(x[0]))),
    REEL_ROW("eig", pair(eig(x[0]))),
    REEL_ROW("qr", pair(qr(x[0]))),
    REEL_ROW("pinv of rank one", pinv(outer(x[0], x[1]), {.rtol = 1e-8})),
    REEL_ROW("qr r", qr(x[0], QrMode::r).r),
    REEL_ROW("lq", lq(x[0]).l, lq(x[0]).q),
    REEL_ROW("eigh_tridiagonal", pair(eigh_tridiagonal(x[0], x[1]))),
    REEL_ROW("eigh generalised", eigh(hermitian(x[0]), definite(x[1]) + 2 * eye(3)).eigenvalues),
    REEL_ROW("symmetric_function exp", symmetric_function(x[0], [](const Tensor& w) { return exp(w); })),
    REEL_ROW("symmetric_function cube", symmetric_function(x[0], [](const Tensor& w) { return w * w * w; })),
    REEL_ROW("symmetric_function reciprocal", symmetric_function(x[0], [](const Tensor& w) { return 1 / w; })),
    REEL_ROW("sqrtm", sqrtm(definite(x[0]) + eye(3))),
    REEL_ROW("logm", logm(definite(x[0]) + eye(3))),
    REEL_ROW("fft backward", fft(x[0], -1, -1, FftNorm::backward)),
    REEL_ROW("irfft backward", irfft(x[0], -1, -1, FftNorm::backward)),
    REEL_ROW("fft ortho", fft(x[0], -1, -1, FftNorm::ortho)),
    REEL_ROW("irfft ortho", irfft(x[0], -1, -1, FftNorm::ortho)),
    REEL_ROW("fft forward", fft(x[0], -1, -1, FftNorm::forward)),
    REEL_ROW("irfft forward", irfft(x[0], -1, -1, FftNorm::forward)),
    REEL_ROW("fft 3", fft(x[0], 3)),
    REEL_ROW("fft 7", fft(x[0], 7)),
    REEL_ROW("ifft 3", ifft(x[0], 3)),
    REEL_ROW("ifft 7", ifft(x[0], 7)),
    REEL_ROW("irfft 3", irfft(x[0], 3)),
    REEL_ROW("irfft 7", irfft(x[0], 7)),
    REEL_ROW("hfft 3", hfft(x[0], 3)),
    REEL_ROW("hfft 7", hfft(x[0], 7)),
    REEL_ROW("rfft 3", rfft(x[0], 3)),
    REEL_ROW("rfft 7", rfft(x[0], 7)),
    REEL_ROW("ihfft 3", ihfft(x[0], 3)),
    REEL_ROW("ihfft 7", ihfft(x[0], 7)),
    REEL_ROW("dct 1", dct(x[0], 1)),
    REEL_ROW("dct 2", dct(x[0], 2)),
    REEL_ROW("dct 3", dct(x[0], 3)),
    REEL_ROW("dct 4", dct(x[0], 4)),
    REEL_ROW("dst 1", dst(x[0], 1)),
    REEL_ROW("dst 2", dst(x[0], 2)),
    REEL_ROW("dst 3", dst(x[0], 3)),
    REEL_ROW("dst 4", dst(x[0], 4)),
    REEL_ROW("idct 1", idct(x[0], 1)),
    REEL_ROW("idct 2", idct(x[0], 2)),
    REEL_ROW("idct 3", idct(x[0], 3)),
    REEL_ROW("idct 4", idct(x[0], 4)),
    REEL_ROW("idst 1", idst(x[0], 1)),
    REEL_ROW("idst 2", idst(x[0], 2)),
    REEL_ROW("idst 3", idst(x[0], 3)),
    REEL_ROW("idst 4", idst(x[0], 4)),
    REEL_ROW("dct 2 ortho", dct(x[0], 2, -1, true)),
    REEL_ROW("dct 4 ortho", dct(x[0], 4, -1, true)),
    REEL_ROW("convolve full", convolve(x[0], x[1])),
    REEL_ROW("convolve same", convolve(x[0], x[1], ConvolveMode::same)),
    REEL_ROW("convolve valid", convolve(x[0], x[1], ConvolveMode::valid)),
    REEL_ROW("convolve fft", convolve(x[0], x[1], ConvolveMode::full, ConvolveMethod::fft)),
    REEL_ROW("convolve images", convolve(x[0], x[1])),
    REEL_ROW("correlate full", correlate(x[0], x[1])),
    REEL_ROW("stft", stft(x[0], x[1], 2)),
    REEL_ROW("istft", istft(x[0], x[1], 2)),
    REEL_ROW("csd", csd(x[0], x[1], x[2])),
    REEL_ROW("detrend mean", detrend(x[0], -1, false)),
    REEL_ROW("hann", hann(7)),
    REEL_ROW("hamming", hamming(7)),
    REEL_ROW("blackman", blackman(7)),
    REEL_ROW("bartlett", bartlett(7)),
    REEL_ROW("hann periodic", hann(6, true)),
    REEL_ROW("hamming periodic", hamming(6, true)),
    REEL_ROW("blackman periodic", blackman(6, true)),
    REEL_ROW("bartlett periodic", bartlett(6, true)),
    REEL_ROW("kaiser", kaiser(6, 5.5)),
};

}  // namespace golden
