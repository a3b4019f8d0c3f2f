#include "loops/product/symmetric.hpp"

#include "core/visit.hpp"
#include "loops/workspaces.hpp"

namespace reel::loops {
namespace {

// Rows and columns of a tile. Multiples of this many columns fill vectors.
constexpr std::int64_t tile_edge = 64, tile_step = 16;

template <class T>
void multiply_halves(const Factor& a, const Factor& b, T* c) {
  constexpr std::int64_t size = sizeof(T);
  const std::int64_t m = a.rows, edge = ceil_divide(ceil_divide(m, ceil_divide(m, tile_edge)), tile_step) * tile_step;
  const std::int64_t parts = ceil_divide(m, edge), tiles = parts * (parts + 1) / 2;
  const std::int64_t grain =
      std::clamp<std::int64_t>(tuning::product_split / 2 / (edge * edge * a.columns + 1), 1, tiles);
  const TiledProduct product(dtype_of<T>, a, b, m, Into::overwrite);
  Workspaces workspaces(ceil_divide(tiles, grain), product.bytes(edge, edge));
  const auto compute = [&](std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) {
    workspaces.use([&](std::byte* memory) {
      product(a.data + i * a.row_stride * size, b.data + j * b.column_stride * size,
              reinterpret_cast<std::byte*>(c + i * m + j), rows, columns, memory);
    });
  };
  symmetric_product(c, m, edge, grain, compute,
                    [&](std::int64_t i, std::int64_t rows, T*) { compute(i, i, rows, rows); });
}

}  // namespace

bool multiply_gram(DType dtype, const Factor& a, const Factor& b, std::byte* out) {
  if (is_complex(dtype) || a.rows <= tile_edge || !is_gram(a, b)) return false;
  visit_among<float, double>(dtype, [&]<class T>() { multiply_halves(a, b, reinterpret_cast<T*>(out)); });
  return true;
}

}  // namespace reel::loops
