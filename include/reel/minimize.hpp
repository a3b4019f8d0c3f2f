// The name until 0.2 of <reel/optim/minimize.hpp>.
#pragma once
#include <reel/optim/minimize.hpp>
