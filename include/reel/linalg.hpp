// Optional header: linear algebra beyond <reel/ops/linalg.hpp>, which <reel/reel.hpp> includes.
#pragma once
#include <reel/linalg/factorisations.hpp>
#include <reel/linalg/functions.hpp>
#include <reel/linalg/iterative.hpp>
#include <reel/linalg/products.hpp>
#include <reel/linalg/structured.hpp>
#include <reel/linalg/symmetric_function.hpp>
