#include "options.hpp"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

namespace aclsim {
namespace {

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

struct Setter {
  std::function<bool(Options&, const Json&)> set;
  std::string expected;
};

template <typename T>
Setter whole(T Options::* field, std::int64_t low, std::int64_t high) {
  return {[=](Options& o, const Json& j) {
            const std::int64_t v = j.integer(low - 1);
            if (v < low || v > high) return false;
            o.*field = static_cast<T>(v);
            return true;
          },
          "a whole number from " + std::to_string(low) + " to " + std::to_string(high)};
}

Setter flag(bool Options::* field) {
  return {[=](Options& o, const Json& j) {
            if (j.kind() != Json::Kind::boolean && j.kind() != Json::Kind::number) return false;
            o.*field = j.kind() == Json::Kind::boolean ? j.boolean() : j.integer() != 0;
            return true;
          },
          "true or false"};
}

Setter text(std::string Options::* field, const char* prefix = "", const char* expected = "a text") {
  return {[=](Options& o, const Json& j) {
            o.*field = j.text();
            return j.kind() == Json::Kind::text && starts_with(j.text(), prefix);
          },
          expected};
}

Setter cost(double TimeModel::* field) {
  return {[=](Options& o, const Json& j) {
            o.time.*field = j.number(-1);
            return o.time.*field >= 0;
          },
          "a number, 0 or more"};
}

const std::map<std::string, Setter>& setters() {
  static const auto* table = new std::map<std::string, Setter>{
      {"devices", whole(&Options::devices, 0, 64)},
      {"soc", text(&Options::soc, "Ascend", "a name such as Ascend310P3")},
      {"hbm_bytes", whole(&Options::hbm_bytes, 1 << 21, std::int64_t{1} << 40)},
      {"stream_limit", whole(&Options::stream_limit, 0, 1 << 16)},
      {"event_limit", whole(&Options::event_limit, 0, 1 << 20)},
      {"run_mode", whole(&Options::run_mode, 0, 1)},
      {"cann", text(&Options::cann)},
      {"require_init", flag(&Options::require_init)},
      {"virtual_time", flag(&Options::virtual_time)},
      {"lateness_us", whole(&Options::lateness_us, 0, 10'000'000)},
      {"threads", whole(&Options::threads, 0, 1024)},
      {"onnxruntime", text(&Options::onnxruntime)},
      {"fp16", flag(&Options::fp16)},
      {"faults", text(&Options::faults)},
      {"call_log", flag(&Options::call_log)},
      {"log_path", text(&Options::log_path)},
      {"h2d_fixed_us", cost(&TimeModel::h2d_fixed_us)},
      {"d2h_fixed_us", cost(&TimeModel::d2h_fixed_us)},
      {"d2d_fixed_us", cost(&TimeModel::d2d_fixed_us)},
      {"h2d_gbps", cost(&TimeModel::h2d_gbps)},
      {"d2h_gbps", cost(&TimeModel::d2h_gbps)},
      {"d2d_gbps", cost(&TimeModel::d2d_gbps)},
      {"compute_fixed_us", cost(&TimeModel::compute_fixed_us)},
      {"compute_item_us", cost(&TimeModel::compute_item_us)},
      {"compute_byte_ns", cost(&TimeModel::compute_byte_ns)},
      {"set_device_ms", cost(&TimeModel::set_device_ms)},
      {"load_ms", cost(&TimeModel::load_ms)},
  };
  return *table;
}

}  // namespace

// Limits of the SoCs: facts of the vendor's stream and event documentation.
std::uint32_t Options::streams() const {
  if (stream_limit != 0) return stream_limit;
  if (starts_with(soc, "Ascend310P")) return 1024;
  if (starts_with(soc, "Ascend310B")) return 512;
  if (starts_with(soc, "Ascend910B") || starts_with(soc, "Ascend910_93") || starts_with(soc, "Ascend950")) return 1984;
  return 2048;
}

std::uint32_t Options::events() const {
  if (event_limit != 0) return event_limit;
  return starts_with(soc, "Ascend310P") ? 1023 : 65536;
}

bool Options::apply(const Json& object, std::string& reason) {
  for (const auto& [key, value] : object.object()) {
    const auto setter = setters().find(key);
    if (setter == setters().end()) {
      reason = "there is no option \"" + key + "\"";
      return false;
    }
    if (!setter->second.set(*this, value)) {
      reason = "option \"" + key + "\" cannot have this value; expected " + setter->second.expected;
      return false;
    }
  }
  return true;
}

Options& options() {
  static auto* current = new Options;
  return *current;
}

std::string read_environment() {
  const char* config = std::getenv("ACLSIM_CONFIG");
  if (config != nullptr && *config != '\0') {
    std::string content = config;
    if (content[0] != '{') {
      std::ifstream file(config);
      if (!file) return "ACLSIM_CONFIG names a file that cannot be read: " + content;
      std::stringstream all;
      all << file.rdbuf();
      content = all.str();
    }
    std::string reason;
    const auto parsed = Json::parse(content, reason);
    if (parsed == nullptr || !options().apply(*parsed, reason)) return "ACLSIM_CONFIG: " + reason;
  }
  if (const char* faults = std::getenv("ACLSIM_FAULTS")) options().faults = faults;
  if (const char* library = std::getenv("ACLSIM_ONNXRUNTIME")) options().onnxruntime = library;
  return {};
}

}  // namespace aclsim
