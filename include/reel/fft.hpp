// Optional header: Fourier transforms, and signals.
#pragma once
#include <reel/fft/signal.hpp>
#include <reel/fft/transforms.hpp>
