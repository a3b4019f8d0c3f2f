// Optional header: minima of functions of trees, nonlinear least squares, and optimisers by gradients.
#pragma once
#include <reel/optim/least_squares.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/optim/optimizers.hpp>
