// The parts of PointwiseKernels. Each is one file here, compiled once per instruction set; pointwise.cpp puts them
// together.
#pragma once
#include "kernels/isa.hpp"
#include "kernels/pointwise.hpp"

namespace reel::kernels {

void enter_arithmetic(PointwiseKernels& all);
void enter_integers(PointwiseKernels& all);
void enter_powers(PointwiseKernels& all);
void enter_special(PointwiseKernels& all);
void enter_normal(PointwiseKernels& all);
void enter_trigonometric(PointwiseKernels& all);
void enter_activation(PointwiseKernels& all);
void enter_complex_lanes(PointwiseKernels& all);

}  // namespace reel::kernels
