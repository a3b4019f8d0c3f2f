// The name until 0.2 of these.
#pragma once
#include <reel/nn/convolution.hpp>
#include <reel/nn/cross_entropy.hpp>
#include <reel/nn/normalization.hpp>
