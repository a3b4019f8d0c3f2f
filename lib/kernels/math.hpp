// The functions of a Vec, by argument-dependent lookup: math/ holds them by family. Largest errors measured, in ulp:
// see the tables there.
#pragma once
#include "kernels/math/activation.hpp"
#include "kernels/math/basic.hpp"
#include "kernels/math/exp.hpp"
#include "kernels/math/gauss.hpp"
#include "kernels/math/log.hpp"
#include "kernels/math/normal.hpp"
#include "kernels/math/special.hpp"
#include "kernels/math/trig.hpp"
