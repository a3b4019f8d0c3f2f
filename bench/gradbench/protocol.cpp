#include "protocol.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <new>

namespace gradbench {

namespace {

Json failure(const std::string& reason) { return {{"success", false}, {"error", reason}}; }

bool finite(const Json& output) {
  if (output.is_number_float()) return std::isfinite(output.get<double>());
  for (const Json& item : output)
    if (item.is_number_float() || item.is_structured())
      if (!finite(item)) return false;
  return true;
}

const Module& module_of(const Modules& modules, const std::string& name) {
  const auto found = modules.find(name);
  if (found == modules.end()) throw reel::ValueError("no module named '" + name + "'");
  return found->second;
}

Json evaluate(const Modules& modules, const Field& message) {
  const std::string module = message.at("module").string(), name = message.at("function").string();
  const Module& functions = module_of(modules, module);
  const auto function = functions.find(name);
  if (function == functions.end()) throw reel::ValueError("no function named '" + name + "' in module " + module);
  try {
    Evaluation evaluation = function->second(message.at("input").json());
    if (!finite(evaluation.output)) throw reel::ValueError("the output has a NaN or an infinity, which JSON has not");
    Json timings = Json::array();
    for (const std::int64_t time : evaluation.nanoseconds)
      timings.push_back({{"name", "evaluate"}, {"nanoseconds", time}});
    return {{"success", true}, {"output", std::move(evaluation.output)}, {"timings", std::move(timings)}};
  } catch (const std::bad_alloc&) {
    return failure(module + "." + name + ": not enough memory");
  } catch (const std::exception& e) {
    return failure(module + "." + name + ": " + e.what());
  }
}

// The fields of the answer besides the id.
Json answer(const Modules& modules, const Field& message) {
  try {
    const std::string kind = message.at("kind").string();
    if (kind == "start") return {{"tool", "reel"}};
    if (kind == "define") {
      module_of(modules, message.at("module").string());
      return {{"success", true}};
    }
    if (kind == "evaluate") return evaluate(modules, message);
    return Json::object();
  } catch (const std::exception& e) {
    return failure(e.what());
  }
}

// Replaces every number that float64 cannot hold by null, and returns the first of them.
std::string replace_too_large(std::string& line) {
  std::string first;
  bool text = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (text && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      text = !text;
    } else if (!text && (line[i] == '-' || (line[i] >= '0' && line[i] <= '9'))) {
      char* end = nullptr;
      const double value = std::strtod(&line[i], &end);
      const std::size_t length = std::max<std::size_t>(1, static_cast<std::size_t>(end - &line[i]));
      if (std::isinf(value) && length >= 4) {
        if (first.empty()) first = line.substr(i, std::min<std::size_t>(length, 40));
        line.replace(i, length, "null" + std::string(length - 4, ' '));
      }
      i += length - 1;
    }
  }
  return first;
}

// A message, and the number that it has and float64 does not hold.
struct Message {
  Json json;
  std::string too_large = {};
};
Message parse(std::string line) try {
  try {
    return {Json::parse(line)};
  } catch (const Json::out_of_range&) {
    const std::string number = replace_too_large(line);
    return {Json::parse(line), number};
  }
} catch (const Json::parse_error& e) {
  throw reel::ValueError("no JSON from character " + std::to_string(e.byte) + " on");
}

}  // namespace

int serve(const Modules& modules, std::istream& in, std::ostream& out, std::ostream& errors) {
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      const auto [json, too_large] = parse(line);
      const Field message(json, "the message");
      const Field id = message.at("id");
      id.number();
      if (json.value("kind", Json()) == "end") continue;
      Json response = too_large.empty() ? answer(modules, message) : failure(too_large + " is too large for float64");
      response["id"] = id.json();
      // A number is written with the digits that give it back exactly; bytes that are not UTF-8 in a message of an
      // exception are replaced.
      out << response.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
    } catch (const std::exception& e) {
      errors << "gradbench: line " << number << " is no message: " << e.what() << '\n';
      return 1;
    }
  }
  return 0;
}

}  // namespace gradbench
