// The parts of a Set. Each is one file here, compiled once per instruction set; entry.cpp puts them together.
#pragma once
#include "kernels/isa.hpp"
#include "kernels/kernels.hpp"

namespace reel::kernels {

void enter_arithmetic(Set& set);
void enter_integers(Set& set);
void enter_powers(Set& set);
void enter_special(Set& set);
void enter_normal(Set& set);
void enter_trigonometric(Set& set);
void enter_activation(Set& set);
void enter_comparisons(Set& set);
void enter_reductions(Set& set);
void enter_rows(Set& set);
void enter_complex_lanes(Set& set);
void enter_products(Set& set);
void enter_random(Set& set);
void enter_bessel(Set& set);
void enter_fourier(Set& set);

}  // namespace reel::kernels
