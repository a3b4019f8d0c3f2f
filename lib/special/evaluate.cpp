#include <algorithm>

#include "core/system/system.hpp"
#include "special/arguments.hpp"
#include "special/table.hpp"
#include "special/values/values.hpp"

namespace reel::kernels::special {

namespace {

constexpr Real (*families[])(Function f, const Arguments& a) = {
#define REEL_FAMILY(enumerator, name, arguments, constants, family, ...) family,
    REEL_SPECIAL_FUNCTIONS(REEL_FAMILY)
#undef REEL_FAMILY
};

Real evaluate(Function f, const Arguments& a) {
  for (std::size_t k = 0; k < signature(f).arguments; ++k)
    if (std::isnan(a.at[k])) return nan;
  return families[static_cast<std::size_t>(f)](f, a);
}

[[gnu::noinline]] Real evaluate_at(Function f, const int* orders, const void* const* in, DType d, std::ptrdiff_t i) {
  Arguments a{{}, orders};
  for (std::size_t k = 0; k < signature(f).arguments; ++k)
    a.at[k] = d == DType::float32 ? static_cast<const float*>(in[k])[i] : static_cast<const double*>(in[k])[i];
  return evaluate(f, a);
}
void store(Real y, void* out, DType d, std::ptrdiff_t i) {
  if (d == DType::float32)
    static_cast<float*>(out)[i] = static_cast<float>(y);
  else
    static_cast<double*>(out)[i] = static_cast<double>(y);
}

/// Elements from `begin` on, at most a block of them, by a method in double; by the general one where it does not
/// apply.
void evaluate_block(Function f, const int* orders, const void* const* in, void* out, std::ptrdiff_t begin,
                    std::ptrdiff_t n, DType d) {
  const bool single = d == DType::float32;
  constexpr double finite_max = std::numeric_limits<double>::max();
  const double least = single ? values::least_of_float : values::least_of_double;
  double x[arguments_max][values::block], floats[values::block];
  double* const y = single ? floats : static_cast<double*>(out) + begin;
  const double* from[arguments_max] = {};
  for (std::size_t k = 0; k < signature(f).arguments; ++k) {
    from[k] = single ? x[k] : static_cast<const double*>(in[k]) + begin;
    if (single) std::copy_n(static_cast<const float*>(in[k]) + begin, n, x[k]);
  }
  values::of(f, orders)(f, from, y, n, least);
  unsigned others = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) others |= static_cast<unsigned>(!(std::abs(y[i]) <= finite_max));
  if (single)
    std::transform(y, y + n, static_cast<float*>(out) + begin, [](double v) { return static_cast<float>(v); });
  if (others == 0) return;
  for (std::ptrdiff_t i = 0; i < n; ++i)
    if (!std::isfinite(y[i])) store(evaluate_at(f, orders, in, d, begin + i), out, d, begin + i);
}

}  // namespace

void evaluate(Function f, const int* orders, const void* const* in, void* out, std::ptrdiff_t n, DType d) {
  os::use_all_digits();
  if (values::of(f, orders) != nullptr) {
    for (std::ptrdiff_t i = 0; i < n; i += values::block)
      evaluate_block(f, orders, in, out, i, std::min(values::block, n - i), d);
    return;
  }
  for (std::ptrdiff_t i = 0; i < n; ++i) store(evaluate_at(f, orders, in, d, i), out, d, i);
}

}  // namespace reel::kernels::special
