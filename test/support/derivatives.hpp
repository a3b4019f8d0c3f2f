// Shared by the tests of derivatives: one reverse and one forward product of any function of tensors, their scalar
// products, random operands, and every layout of an operand.
#pragma once
#include <functional>
#include <random>
#include <reel/reel.hpp>
#include <string>
#include <vector>

namespace support {

using Tensors = std::vector<reel::Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

/// J^T v: the gradients of f at x for cotangents v, zeros where not connected.
Tensors pull(const Function& f, const Tensors& x, const Tensors& v);
/// J t: the tangents of f's results for tangents t of x (an empty handle is zero), zeros where not connected.
Tensors push(const Function& f, const Tensors& x, const Tensors& t);
/// The function x -> J^T w of f.
Function gradient_of(Function f, Tensors w);

/// The sum of products of all elements, and of their magnitudes.
struct Dot {
  long double value = 0, scale = 0;
};
Dot inner(const Tensors& a, const Tensors& b);

/// The largest |a - b| (infinity where only one is NaN), and the largest |b|.
struct Difference {
  double error = 0, size = 0;
};
Difference difference(const Tensors& a, const Tensors& b);

/// x + h t
Tensors moved(const Tensors& x, double h, const Tensors& t);

/// How the elements of an operand lie in memory.
enum class Layout { contiguous, transposed, flipped, stepped, broadcast };
inline constexpr Layout layouts[] = {Layout::contiguous, Layout::transposed, Layout::flipped, Layout::stepped,
                                     Layout::broadcast};
const char* name(Layout layout);
/// The same values as a view of that layout; broadcast: the first row in place of every row.
reel::Tensor laid_out(const reel::Tensor& x, Layout layout);

/// Random operands, the same in every run for the same seed text.
class Random {
 public:
  explicit Random(const std::string& seed);
  double uniform(double low = -1, double high = 1) {
    return low + (high - low) * (static_cast<double>(engine_() >> 11) * 0x1p-53);
  }
  reel::Tensor tensor(const reel::Shape& shape, double low = -1, double high = 1);
  /// Uniform in [-1, 1), of the same shapes.
  Tensors like(const Tensors& x);

 private:
  std::mt19937_64 engine_;
};

}  // namespace support
