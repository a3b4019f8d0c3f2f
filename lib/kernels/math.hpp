// The functions of a Vec, found by argument-dependent lookup. The files of math/ define them by family;
// test/kernels/accuracy.cpp bounds their errors, in ulp.
#pragma once
#include "kernels/math/activation.hpp"
#include "kernels/math/basic.hpp"
#include "kernels/math/exp.hpp"
#include "kernels/math/gauss.hpp"
#include "kernels/math/log.hpp"
#include "kernels/math/normal.hpp"
#include "kernels/math/power.hpp"
#include "kernels/math/special.hpp"
#include "kernels/math/trig.hpp"
