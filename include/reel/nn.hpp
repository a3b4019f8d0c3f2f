// Optional header: neural networks. <reel/reel.hpp> includes convolution, normalization and cross_entropy of it.
#pragma once
#include <reel/nn/channels.hpp>
#include <reel/nn/convolution.hpp>
#include <reel/nn/cross_entropy.hpp>
#include <reel/nn/embedding.hpp>
#include <reel/nn/losses.hpp>
#include <reel/nn/normalization.hpp>
#include <reel/nn/pooling.hpp>
#include <reel/nn/sequence.hpp>
#include <reel/nn/volumes.hpp>
#include <reel/nn/weights.hpp>
