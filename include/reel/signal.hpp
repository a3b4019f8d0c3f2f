// The name until 0.2 of <reel/fft/signal.hpp>.
#pragma once
#include <reel/fft/signal.hpp>
