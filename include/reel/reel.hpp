// All of reel but the optional headers: <reel/X.hpp> for X in compile, dlpack, eigen, elementwise, equations, fft, fmt,
// geometry, integrate, interpolate, io, linalg, minimize, nn, ode, optim, sequence, signal, sparse, special, stats,
// testing, xtensor, and of <reel/ops/> those that are not named below.
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
#include <reel/ops/index.hpp>
#include <reel/ops/linalg.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/neural.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <reel/registry.hpp>
#include <reel/runtime.hpp>
#include <reel/shape.hpp>
#endif
