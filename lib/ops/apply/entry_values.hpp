// What the entries of the library's ops keep, for readers other than their rules.
#pragma once
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// The input or output that Record::saved(k) is, of an entry with kept values that `apply` recorded.
Keep kept_value(const tape::Rule& rule, std::size_t k) noexcept;

}  // namespace reel::ops
