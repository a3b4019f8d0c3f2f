#include "protocol.hpp"

#include <iostream>

namespace gradbench {

namespace {

Json failure(const std::string& reason) { return {{"success", false}, {"error", reason}}; }

Json define(const Modules& modules, const std::string& module) {
  if (!modules.contains(module)) return failure("no module named '" + module + "'");
  return {{"success", true}};
}

Json evaluate(const Modules& modules, const Json& message) {
  const auto module = modules.find(message.at("module").get<std::string>());
  if (module == modules.end()) return failure("no module named '" + message["module"].get<std::string>() + "'");
  const auto function = module->second.find(message.at("function").get<std::string>());
  if (function == module->second.end())
    return failure("no function named '" + message["function"].get<std::string>() + "' in module " + module->first);
  try {
    Evaluation evaluation = function->second(message.at("input"));
    Json timings = Json::array();
    for (const std::int64_t time : evaluation.nanoseconds)
      timings.push_back({{"name", "evaluate"}, {"nanoseconds", time}});
    return {{"success", true}, {"output", std::move(evaluation.output)}, {"timings", std::move(timings)}};
  } catch (const std::exception& e) {
    return failure(e.what());
  }
}

// The fields of the answer besides the id.
Json answer(const Modules& modules, const Json& message) {
  const auto kind = message.at("kind").get<std::string>();
  if (kind == "start") return {{"tool", "reel"}};
  if (kind == "define") return define(modules, message.at("module").get<std::string>());
  if (kind == "evaluate") return evaluate(modules, message);
  return Json::object();
}

}  // namespace

int serve(const Modules& modules, std::istream& in, std::ostream& out, std::ostream& errors) {
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      const Json message = Json::parse(line);
      const Json& id = message.at("id");
      if (!id.is_number()) throw reel::TypeError("the id is no number");
      if (message.at("kind") == "end") continue;
      Json response = answer(modules, message);
      response["id"] = id;
      // A number is written with the digits that give it back exactly, NaN and infinity as null; bytes that are not
      // UTF-8 in a message of an exception are replaced.
      out << response.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
    } catch (const std::exception& e) {
      errors << "gradbench: line " << number << " is no message: " << e.what() << '\n';
      return 1;
    }
  }
  return 0;
}

}  // namespace gradbench
