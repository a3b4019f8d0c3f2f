// The name until 0.2 of <reel/nn/losses.hpp>.
#pragma once
#include <reel/nn/losses.hpp>
