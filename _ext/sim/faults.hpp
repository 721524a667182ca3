// The fault plan: which call fails, is slow, or loses its device, and when.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "clock.hpp"
#include "functions.hpp"

namespace aclsim {

// Grammar, entries separated by ';' or ',':
//   FUNCTION@WHICH=CODE         the call returns CODE and does nothing
//   FUNCTION@WHICH=async:CODE   the call succeeds, its task fails on the stream with CODE
//   FUNCTION@WHICH=slow:TIME    the call, or the task that it queues, takes TIME longer
//   device:N@lost [after TIME]  the device is gone TIME after its first use (507901 from then on)
//   device:N@slow:FACTOR        modelled compute takes FACTOR times as long
// WHICH counts calls from 1: "3", "3-5", "3+", "*". TIME has a unit: "50ms", "2s", "10us".
struct Fault {
  std::uint64_t first = 1, last = UINT64_MAX;
  int code = 0;
  int task_code = 0;
  Nanoseconds delay = 0;
};

struct DeviceFault {
  int device = 0;
  bool lost = false;
  Nanoseconds after = 0;
  double factor = 1;
};

class FaultPlan {
 public:
  // An empty reason means the plan is in force; otherwise the old one stays.
  // `devices` is how many the machine has: no entry may name another.
  std::string set(const std::string& text, std::uint32_t devices);
  // The faults of the n-th call of a function; null when there is none.
  const Fault* find(Function function, std::uint64_t nth) const;
  const std::vector<DeviceFault>& devices() const { return devices_; }
  bool empty() const { return empty_; }

 private:
  std::vector<Fault> calls_[function_count];
  std::vector<DeviceFault> devices_;
  bool empty_ = true;
};

// Guarded by the big lock.
FaultPlan& fault_plan();

// "50ms" in nanoseconds; false when it is no such text.
bool parse_duration(const std::string& text, Nanoseconds& out);

}  // namespace aclsim
