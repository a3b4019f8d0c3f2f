// The functions of a Vec, found by argument-dependent lookup; the files in math/ hold them by family. The largest
// measured errors, in ulp, are in the tables there.
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
