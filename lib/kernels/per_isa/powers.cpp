// The ops of the family "powers" on vectors of floating-point numbers.
#include "kernels/per_isa/parts.hpp"
#include "kernels/simd/vec_definitions.hpp"

namespace reel::kernels {

namespace {

// x^y for one y from -4 to 4, without a call per vector. The bits are those of any exponents.
template <VecElement T>
void power_loop(const Strided* in, void* out, std::ptrdiff_t n) {
  using L = Vec<T>;
  constexpr Loop any_exponents = DefinitionLoops<VecLoops<T, 1>, table::powers, 0>::value();
  const bool is_one = n >= L::size && in[0].stride == 1 && in[1].stride == 0;
  const T y = is_one ? *static_cast<const T*>(in[1].data) : T(0);
  if (!math::is_product(y)) return any_exponents(in, out, n);
  const T* x = static_cast<const T*>(in[0].data);
  T* to = static_cast<T*>(out);
  const auto inverted = L(y) < 0;
  for (; n >= L::size; n -= L::size, x += L::size, to += L::size) {
    const L a = L::load(x);
    const auto [z, valid] = math::power_by_products(a, std::abs(y), inverted);
    (all(valid) ? z : power_by_exponents(a, L(y))).store(to);
  }
  const Strided rest[] = {{x, 1}, {&y, 0}};
  any_exponents(rest, to, n);
}

}  // namespace

void enter_powers(PointwiseKernels& all) {
  enter_floating<1, table::powers>(all);
  if constexpr (!is_scalar) {
    all.op[index_of<"power">()][index(DType::float32)].value = &power_loop<float>;
    all.op[index_of<"power">()][index(DType::float64)].value = &power_loop<double>;
  }
}

}  // namespace reel::kernels
