// Pointers as words: attributes of instructions and tokens are 64-bit integers, on machines with narrower pointers too.
#pragma once
#include <cstdint>

namespace reel::detail {

template <class T>
std::int64_t word_of(T* pointer) noexcept {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}
template <class T>
T* pointer_of(std::int64_t word) noexcept {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(word));
}

}  // namespace reel::detail
