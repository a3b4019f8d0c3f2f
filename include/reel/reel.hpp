// All of reel but the optional headers: <reel/X.hpp> for X in codegen, compile, dlpack, eigen, elementwise, fft, fmt,
// geometry, image, interpolate, io, linalg, nn, ode, optim, solve, sparse, special, stats, testing, xtensor, and of
// <reel/ops/> those that are not named below. <reel/X.hpp> includes the headers of a folder <reel/X/>.
#pragma once
#if __cplusplus < 202002L
#error "reel needs C++20: compile with -std=c++20"
#else
// First those that others include: messages of the compiler name the path of includes.
// clang-format off
#include <reel/tensor.hpp>
#include <reel/tape.hpp>
#include <reel/functions.hpp>
// clang-format on
#include <reel/control.hpp>
#include <reel/custom.hpp>
#include <reel/debug.hpp>
#include <reel/dtype.hpp>
#include <reel/error.hpp>
#include <reel/forward.hpp>
#include <reel/gradient.hpp>
#include <reel/gradients.hpp>
#include <reel/nn/convolution.hpp>
#include <reel/nn/cross_entropy.hpp>
#include <reel/nn/normalization.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/linalg.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <reel/registry.hpp>
#include <reel/runtime.hpp>
#include <reel/shape.hpp>
#endif
