// The pointwise table in C: values by a form for each definition, derivatives by the formula that the definition makes
// of lanes.
#pragma once
#include <span>

#include "csource/writer.hpp"
#include "loops/program/program.hpp"

namespace reel::codegen {

/// The C expression of a definition of the table at these operands, which are names, constants or elements.
std::string pointwise_value(csource::Writer& w, std::size_t definition, DType dtype, std::span<const std::string> x);
/// Nodes of a graph that have been computed, and the names of their values.
using KnownNodes = std::vector<std::pair<std::size_t, std::string>>;

/// The nodes that the outputs depend on, not through known ones.
std::vector<bool> needed_nodes(const loops::Graph& graph, const KnownNodes& known = {});

/// The derivative by operand k, times the cotangent. x: cotangent, operands and result, as far as the formula reads
/// them.
std::string pointwise_derivative(csource::Writer& w, std::size_t definition, std::size_t k, DType dtype,
                                 std::span<const std::string> x, const KnownNodes& known = {});
/// The outputs of a program of lanes; its nodes become constants of the enclosing function or loop.
std::vector<std::string> write_graph(csource::Writer& w, const loops::Graph& graph, DType dtype,
                                     std::span<const std::string> inputs, std::span<const double> parameters,
                                     const KnownNodes& known = {});
/// A condition on the operands that the definition refuses; empty if there is none for this dtype. `why` says it in
/// words.
std::string refused_operands(std::size_t definition, DType dtype, std::span<const std::string> x, std::string& why);

}  // namespace reel::codegen
