// Convolution and its gradients in plain loops of double, for tests of many geometries and of large operands: the
// reference of the rows would take minutes there, and has no gradients by the kernel.
#pragma once
#include <algorithm>
#include <functional>
#include <reel/nn.hpp>
#include <reel/reel.hpp>
#include <span>
#include <vector>

namespace support {

/// Along one axis: extent of the image, taps, stride, dilation, padding in front, results.
struct WindowAlong {
  std::int64_t n, taps, stride, dilation, before, results;
};
inline WindowAlong window_along(std::int64_t n, std::int64_t taps, std::int64_t stride, std::int64_t dilation,
                                reel::Padding::Rule rule, const reel::Size2d& padding) {
  const std::int64_t reach = (taps - 1) * dilation + 1;
  if (rule == reel::Padding::valid) return {n, taps, stride, dilation, 0, (n - reach) / stride + 1};
  if (rule == reel::Padding::given)
    return {n, taps, stride, dilation, padding[0], (n + padding[0] + padding[1] - reach) / stride + 1};
  const std::int64_t results = (n + stride - 1) / stride;
  return {n, taps, stride, dilation, std::max<std::int64_t>(0, (results - 1) * stride + reach - n) / 2, results};
}

/// y, and the gradients of sum(g y) by x and w.
struct ConvolutionByLoops {
  reel::Shape shape;
  std::vector<double> y, dx, dw;
};
/// Of x [batch, channels, extents...] and w [filters, channels / groups, taps...] along two or three axes; g is
/// cotangent(shape of y).
inline ConvolutionByLoops convolve_by_loops(const reel::Tensor& x, const reel::Tensor& w,
                                            std::span<const WindowAlong> axes, std::int64_t groups,
                                            const std::function<reel::Tensor(const reel::Shape&)>& cotangent) {
  const auto doubles = [](const reel::Tensor& t) { return cast(t, reel::DType::float64).to_vector(); };
  const std::vector<double> vx = doubles(x), vw = doubles(w);
  const std::int64_t batch = x.shape()[0], channels = x.shape()[1], filters = w.shape()[0], part = w.shape()[1];
  WindowAlong a = {1, 1, 1, 1, 0, 1}, b = axes[axes.size() - 2], c = axes.back();
  if (axes.size() == 3) a = axes[0];
  ConvolutionByLoops all;
  all.shape = {batch, filters};
  for (const WindowAlong& axis : axes) all.shape.push_back(axis.results);
  all.y.resize(static_cast<std::size_t>(all.shape.elements()));
  all.dx.resize(vx.size());
  all.dw.resize(vw.size());
  const std::vector<double> g = doubles(cotangent(all.shape));
  std::size_t at = 0;
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t f = 0; f < filters; ++f)
      for (std::int64_t i = 0; i < a.results; ++i)
        for (std::int64_t j = 0; j < b.results; ++j)
          for (std::int64_t k = 0; k < c.results; ++k, ++at)
            for (std::int64_t e = 0; e < part; ++e)
              for (std::int64_t p = 0; p < a.taps; ++p)
                for (std::int64_t q = 0; q < b.taps; ++q) {
                  const std::int64_t plane = i * a.stride + p * a.dilation - a.before,
                                     row = j * b.stride + q * b.dilation - b.before;
                  if (plane < 0 || row < 0 || plane >= a.n || row >= b.n) continue;
                  const std::int64_t image = n * channels + f / (filters / groups) * part + e,
                                     from = ((image * a.n + plane) * b.n + row) * c.n,
                                     by = (((f * part + e) * a.taps + p) * b.taps + q) * c.taps;
                  for (std::int64_t r = 0; r < c.taps; ++r) {
                    const std::int64_t column = k * c.stride + r * c.dilation - c.before;
                    if (column < 0 || column >= c.n) continue;
                    const auto element = static_cast<std::size_t>(from + column),
                               tap = static_cast<std::size_t>(by + r);
                    all.y[at] += vx[element] * vw[tap];
                    all.dx[element] += g[at] * vw[tap];
                    all.dw[tap] += g[at] * vx[element];
                  }
                }
  return all;
}

}  // namespace support
