// The interpreter of chains: all instructions on one group of vectors, then on the next group. Each instruction ends
// with the jump to the next one, by labels as values (GCC, Clang).
#include "kernels/scalars.hpp"
#include "kernels/simd/unrolled.hpp"
#include "kernels/vec.hpp"

namespace reel::kernels {

namespace {

#if defined(__GNUC__) && (XSIMD_WITH_AVX2 || XSIMD_WITH_AVX512BW)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

// An instruction as it runs: where its operand begins, whether that moves with the elements, and its label.
struct Resolved {
  char* data;
  std::int32_t label;  // bytes behind `end`
  std::int32_t mask;   // of the offset: 0 for memory that stays
};

// Addresses of labels hold for one copy of a function; clang copies none that takes them.
#ifdef __clang__
#define REEL_ONE_COPY [[gnu::noinline]]
#else
#define REEL_ONE_COPY [[gnu::noinline, gnu::noclone]]
#endif

template <VecElement T>
struct Chain {
  using L = Vec<T>;
  // Sixteen are faster in the first-level cache, and slower by half beyond the caches where outputs are several.
  static constexpr std::ptrdiff_t vectors = 8, group = vectors * L::size;
  static_assert(static_cast<std::size_t>(group) * sizeof(T) <= chain_slot_bytes);

  // Runs the code; without code, returns the labels by ChainOp, then that of the end.
  REEL_ONE_COPY static const std::int32_t* groups(const Resolved* code, std::ptrdiff_t bytes) {
#define REEL_LABEL(name) \
  static_cast<std::int32_t>(static_cast<const char*>(&&op_##name) - static_cast<const char*>(&&op_end)),
    static const std::int32_t labels[] = {REEL_CHAIN_OPS(REEL_LABEL) REEL_LABEL(end)};
#undef REEL_LABEL
    if (!code) return labels;
    L a[vectors] = {};
    const T* m = nullptr;
    const Resolved* c = code;
    std::ptrdiff_t at = 0;
    const auto each = [&](const auto& f) __attribute__((always_inline)) {
      unrolled<vectors>([&](auto u) __attribute__((always_inline)) { f(a[u], u * L::size); });
    };
#define REEL_RUN                                            \
  m = reinterpret_cast<const T*>(c->data + (at & c->mask)); \
  goto*(static_cast<const char*>(&&op_end) + c->label)
#define REEL_NEXT \
  ++c;            \
  REEL_RUN
#define REEL_OP(name, ...)                                                                                             \
  op_##name : each([&](L & x, [[maybe_unused]] std::ptrdiff_t k) __attribute__((always_inline)) { x = __VA_ARGS__; }); \
  REEL_NEXT;
    REEL_RUN;
    REEL_OP(load, L::load(m + k))
    REEL_OP(add, x + L::load(m + k))
    REEL_OP(subtract, x - L::load(m + k))
    REEL_OP(subtract_from, L::load(m + k) - x)
    REEL_OP(multiply, x * L::load(m + k))
    REEL_OP(divide, x / L::load(m + k))
    REEL_OP(divide_into, L::load(m + k) / x)
    REEL_OP(negate, -x)
    REEL_OP(twice, x + x)
    REEL_OP(square, x * x)
  op_store:
    each([&](L & x, std::ptrdiff_t k) __attribute__((always_inline)) { x.store(const_cast<T*>(m) + k); });
    REEL_NEXT;
  op_end:
    if ((at += group * static_cast<std::ptrdiff_t>(sizeof(T))) == bytes) return nullptr;
    c = code;
    REEL_RUN;
#undef REEL_OP
#undef REEL_NEXT
#undef REEL_RUN
  }

  static std::ptrdiff_t run(const ChainInstruction* code, std::size_t count, const Strided* operand,
                            std::size_t operands, std::ptrdiff_t n, void* slots) {
    n -= n % group;
    if (n == 0) return 0;
    T* const repeated = static_cast<T*>(slots);
    constexpr auto apart = static_cast<std::ptrdiff_t>(chain_slot_bytes / sizeof(T));
    for (std::size_t k = 0; k < operands; ++k) {
      if (operand[k].stride != 0) continue;
      const L x = L(*static_cast<const T*>(operand[k].data));
      for (std::ptrdiff_t u = 0; u < vectors; ++u)
        x.store(repeated + static_cast<std::ptrdiff_t>(k) * apart + u * L::size);
    }
    Resolved resolved[chain_instructions + 1];
    const std::int32_t* const labels = groups(nullptr, 0);
    for (std::size_t i = 0; i < count; ++i) {
      asm("" ::: "memory");  // not vectorized: the list is short
      const std::size_t k = code[i].operand;
      const bool repeats = operand[k].stride == 0;
      void* const data =
          repeats ? repeated + static_cast<std::ptrdiff_t>(k) * apart : const_cast<void*>(operand[k].data);
      resolved[i] = {static_cast<char*>(data), labels[static_cast<std::size_t>(code[i].op)],
                     operand[k].stride == 1 ? -1 : 0};
    }
    resolved[count] = {nullptr, labels[chain_op_count], 0};
    groups(resolved, n * static_cast<std::ptrdiff_t>(sizeof(T)));
    return n;
  }
};
#pragma GCC diagnostic pop

template <class T>
constexpr ChainLoop loop = &Chain<T>::run;
#else
template <class T>
constexpr ChainLoop loop = nullptr;
#endif

}  // namespace

ChainLoop chain_of_floats() noexcept { return loop<float>; }
ChainLoop chain_of_doubles() noexcept { return loop<double>; }

}  // namespace reel::kernels
