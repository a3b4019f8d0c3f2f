// The name until 0.2 of <reel/nn/sequence.hpp>.
#pragma once
#include <reel/nn/sequence.hpp>
