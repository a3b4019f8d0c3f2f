// Cases of LAPACK alone.
#pragma once
#include "../common/protocol.hpp"

void add_lapack(bench::Program& program);
