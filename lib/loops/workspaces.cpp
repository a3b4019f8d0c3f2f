#include "loops/workspaces.hpp"

#include <algorithm>
#include <reel/runtime.hpp>

#include "core/block.hpp"

namespace reel::loops {

Workspaces::Workspaces(std::int64_t tasks, std::int64_t bytes)
    : count_(std::min<std::int64_t>(tasks, num_threads())),
      bytes_((bytes + 63) / 64 * 64),
      taken_(static_cast<std::size_t>(count_)) {
  held_ = detail::empty(DType::uint8, {count_ * bytes_ + 64});
  auto* start = detail::mutable_data<std::byte>(held_);
  memory_ = start + (64 - reinterpret_cast<std::uintptr_t>(start) % 64) % 64;
}

}  // namespace reel::loops
