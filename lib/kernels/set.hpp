// The kernels of one instruction set, by family. A family is a struct of pointers to functions, which its folder
// declares and whose sources its folder lists in kernel_families (meson.build). A source that reads one family depends
// on no other.
#pragma once
#include <cstddef>
#include <string_view>

#include "kernels/per_isa/families.hpp"

namespace reel::kernels {

/// A pointer of a family is null where the function does not exist for that dtype.
struct Set {
  const char* isa;
  const void* families[family_count];  // by KernelFamily

  /// The kernels of family T, whose name is T::family.
  template <class T>
  const T& get() const {
    return *static_cast<const T*>(families[static_cast<std::size_t>(T::family)]);
  }
};

namespace detail {
extern Set active_set;
}
/// The set in use: the best that this machine supports, or the one that REEL_ISA names. It is fixed before any other
/// constructor runs.
inline const Set& active() { return detail::active_set; }
/// Its kernels of family T.
template <class T>
const T& active() {
  return detail::active_set.get<T>();
}
/// Why REEL_ISA was not followed. Null if it was, or is not set.
const char* isa_problem();
/// The set of this name ("scalar", "sse2", "avx2", "avx512", "neon64"); null if it is not compiled in or this machine
/// lacks it.
const Set* find(std::string_view isa);

}  // namespace reel::kernels
