// The parts of a Set. Each is one file here, compiled once per instruction set; entry.cpp puts them together.
#pragma once
#include "kernels/isa.hpp"
#include "kernels/kernels.hpp"

namespace reel::kernels {

template <class I>
void enter_arithmetic(Set& set);
template <class I>
void enter_integers(Set& set);
template <class I>
void enter_powers(Set& set);
template <class I>
void enter_special(Set& set);
template <class I>
void enter_trigonometric(Set& set);
template <class I>
void enter_activation(Set& set);
template <class I>
void enter_comparisons(Set& set);
template <class I>
void enter_reductions(Set& set);
template <class I>
void enter_rows(Set& set);
template <class I>
void enter_convolution(Set& set);

}  // namespace reel::kernels
