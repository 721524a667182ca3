// What can be set about the simulated machine, and where it is read from.
#pragma once
#include <cstdint>
#include <string>

#include "clock.hpp"
#include "json.hpp"

namespace aclsim {

// How long work takes beyond what it really takes here: fixed + per item + per byte. All zero: only the real time.
struct TimeModel {
  double h2d_fixed_us = 0, d2h_fixed_us = 0, d2d_fixed_us = 0;
  double h2d_gbps = 0, d2h_gbps = 0, d2d_gbps = 0;  // gigabytes a second; 0 = at once
  double compute_fixed_us = 0;
  double compute_item_us = 0;  // per item of the batch: first dimension of the first input
  double compute_byte_ns = 0;  // per byte of input
  double set_device_ms = 0;    // first use of a device
  double load_ms = 0;          // each model load
};

struct Options {
  std::uint32_t devices = 1;
  std::string soc = "Ascend310P3";
  std::uint64_t hbm_bytes = std::uint64_t{16} << 30;
  std::uint32_t stream_limit = 0;  // 0: what the SoC has
  std::uint32_t event_limit = 0;
  int run_mode = 1;  // ACL_HOST
  std::string cann = "9.1.0";
  bool require_init = true;  // before aclInit no device, context or model: 100001, 145001
  bool virtual_time = false;
  TimeModel time;
  std::uint64_t lateness_us = 50;  // an asynchronous task waits that long for a reason to begin
  int threads = 0;                 // of onnxruntime, per session; 0: one a core, at most 4
  std::string onnxruntime;         // path of libonnxruntime.so
  bool fp16 = false;               // round float inputs and outputs of models through float16
  std::string faults;              // the fault plan
  bool call_log = false;
  std::string log_path;  // the call log and the report are written there at exit

  // Effective limits.
  std::uint32_t streams() const;
  std::uint32_t events() const;

  // Takes what the object holds; false with a reason at an unknown key or a value that cannot be.
  bool apply(const Json& object, std::string& reason);
};

// The options in force. Guarded by the big lock once a device is open.
Options& options();
// Reads ACLSIM_CONFIG (JSON, or a path of a file with it) and the single variables, once per process or after a reset.
// Returns the reason when they cannot be used.
std::string read_environment();

}  // namespace aclsim
