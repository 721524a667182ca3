#include "faults.hpp"

#include <cstdlib>
#include <cstring>

namespace aclsim {
namespace {

std::string trim(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

bool take(std::string& text, const char* prefix) {
  const std::size_t n = std::strlen(prefix);
  if (text.compare(0, n, prefix) != 0) return false;
  text.erase(0, n);
  return true;
}

bool parse_count(const std::string& text, std::uint64_t& out) {
  char* end = nullptr;
  out = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && *end == '\0' && text[0] >= '0' && text[0] <= '9' && out >= 1;
}

bool parse_which(const std::string& text, Fault& fault) {
  if (text == "*") return true;
  if (!text.empty() && text.back() == '+') return parse_count(text.substr(0, text.size() - 1), fault.first);
  const auto dash = text.find('-');
  if (dash != std::string::npos)
    return parse_count(text.substr(0, dash), fault.first) && parse_count(text.substr(dash + 1), fault.last);
  if (!parse_count(text, fault.first)) return false;
  fault.last = fault.first;
  return true;
}

bool parse_code(const std::string& text, int& out) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  out = static_cast<int>(value);
  return !text.empty() && *end == '\0' && value > 0 && value < 1'000'000;
}

int function_number(const std::string& name) {
  for (std::size_t i = 0; i < function_count; ++i)
    if (name == function_names[i]) return static_cast<int>(i);
  return -1;
}

std::string cards(std::uint32_t count) {
  if (count < 2) return count == 0 ? "none" : "device:0 alone";
  return "device:0 to device:" + std::to_string(count - 1);
}

}  // namespace

bool parse_duration(const std::string& text, Nanoseconds& out) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = trim(end);
  double scale = 0;
  if (unit == "s") scale = 1e9;
  if (unit == "ms") scale = 1e6;
  if (unit == "us") scale = 1e3;
  if (unit == "ns") scale = 1;
  if (end == text.c_str() || scale == 0 || !(value >= 0) || value * scale > 1e18) return false;
  out = static_cast<Nanoseconds>(value * scale);
  return true;
}

std::string FaultPlan::set(const std::string& text, std::uint32_t devices) {
  FaultPlan next;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find_first_of(";,", begin), text.size());
    const std::string entry = trim(text.substr(begin, end - begin));
    begin = end + 1;
    if (entry.empty()) continue;
    const auto at = entry.find('@');
    const std::string target = trim(entry.substr(0, at));
    std::string rest = at == std::string::npos ? std::string() : trim(entry.substr(at + 1));
    const std::string wrong = "fault plan: \"" + entry + "\"";
    std::string device = target;
    if (take(device, "device:")) {
      DeviceFault fault;
      char* tail = nullptr;
      fault.device = static_cast<int>(std::strtol(device.c_str(), &tail, 10));
      if (device.empty() || *tail != '\0' || fault.device < 0) return wrong + " names no device";
      if (static_cast<std::uint32_t>(fault.device) >= devices)
        return wrong + " names a device that is not there: the machine has " + cards(devices) +
               "; the option devices says how many";
      if (take(rest, "slow:")) {
        fault.factor = std::strtod(rest.c_str(), &tail);
        if (rest.empty() || *tail != '\0' || !(fault.factor > 0)) return wrong + " needs a factor: device:0@slow:2.5";
      } else if (take(rest, "lost")) {
        fault.lost = true;
        rest = trim(rest);
        if (take(rest, "after") && !parse_duration(trim(rest), fault.after)) return wrong + " needs a time: after 2s";
        if (fault.after == 0 && !rest.empty() && !parse_duration(trim(rest), fault.after))
          return wrong + " should read device:N@lost after TIME";
      } else {
        return wrong + " should read device:N@lost after TIME or device:N@slow:FACTOR";
      }
      next.devices_.push_back(fault);
      next.empty_ = false;
      continue;
    }
    const int function = function_number(target);
    const auto equals = rest.find('=');
    if (function < 0) return wrong + " names no function of the list";
    if (equals == std::string::npos) return wrong + " should read FUNCTION@WHICH=ACTION";
    Fault fault;
    if (!parse_which(trim(rest.substr(0, equals)), fault)) return wrong + ": WHICH is 3, 3-5, 3+ or *";
    if (fault.last < fault.first)
      return wrong + " is for no call: it ends before it begins; of calls 3 to 5 it is written 3-5";
    std::string action = trim(rest.substr(equals + 1));
    bool good = false;
    if (take(action, "slow:")) {
      good = parse_duration(action, fault.delay);
    } else if (take(action, "async:")) {
      good = parse_code(action, fault.task_code);
    } else {
      good = parse_code(action, fault.code);
    }
    if (!good) return wrong + ": ACTION is a code, async:CODE or slow:TIME";
    next.calls_[function].push_back(fault);
    next.empty_ = false;
  }
  *this = std::move(next);
  return {};
}

const Fault* FaultPlan::find(Function function, std::uint64_t nth) const {
  for (const Fault& fault : calls_[static_cast<std::size_t>(function)])
    if (nth >= fault.first && nth <= fault.last) return &fault;
  return nullptr;
}

FaultPlan& fault_plan() {
  static auto* plan = new FaultPlan;
  return *plan;
}

}  // namespace aclsim
