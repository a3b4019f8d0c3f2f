// Optional header: equations, minima with implicit derivatives, and integrals.
#pragma once
#include <reel/solve/equations.hpp>
#include <reel/solve/integrate.hpp>
