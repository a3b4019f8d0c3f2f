// Distributions of vectors, of angles and of bounded intervals; one header each.
#pragma once
#include <reel/stats/dirichlet.hpp>
#include <reel/stats/multivariate_normal.hpp>
#include <reel/stats/truncnorm.hpp>
#include <reel/stats/vonmises.hpp>
