// Bags of embeddings. Derivatives exist to every order, in both modes.
#pragma once
#include <cstdint>
#include <optional>
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// What becomes of the rows of a bag.
enum class BagMode : std::uint8_t { sum, mean, max };
/// Options of embedding_bag().
struct EmbeddingBagOptions {
  BagMode mode = BagMode::mean;
  /// Factors of the rows, of the shape of ids, computed with in the table's dtype, differentiable. ValueError unless
  /// the mode is sum, ShapeError for another shape, TypeError if complex. Empty: none.
  Tensor weights = {};
  /// Rows with this id take no part; a negative one counts from the end. IndexError unless it is a row.
  std::optional<std::int64_t> padding_id = {};
};
/// The sum, mean or greatest elements of rows of a table [n, ...]: row b of the result is that of the rows ids[b, :],
/// for ids [bags, length]. 0 for a bag without rows. (torch.nn.functional.embedding_bag.) Negative ids count from the
/// end. ShapeError for other ranks, TypeError unless ids are integers and the table floating, IndexError for an id out
/// of range. Gradient: IndexedSlices; of max, shared equally among ties.
Tensor embedding_bag(const Operand& table, const Operand& ids, const EmbeddingBagOptions& options = {});
/// The same with bags of different lengths: element k of ids [m] belongs to bag c - 1 for the number c of `offsets`
/// [bags] that are at most k, or to none. Offsets that ascend from 0 give consecutive bags; others are counted all the
/// same. IndexError for one outside [0, m].
Tensor embedding_bag(const Operand& table, const Operand& ids, const Operand& offsets,
                     const EmbeddingBagOptions& options = {});

}  // namespace reel
