// The side functions: what aclsim.h declares.
#include "../aclsim.h"

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "call.hpp"
#include "device.hpp"
#include "faults.hpp"
#include "fork_guard.hpp"
#include "host_memory.hpp"
#include "load.hpp"
#include "options.hpp"
#include "report.hpp"
#include "stream.hpp"

using namespace aclsim;

namespace {

std::string& reason() {
  thread_local std::string text;
  return text;
}

// Runs a body that returns an empty reason for success.
template <typename Body>
int control(Body body) noexcept {
  try {
    reason() = body();
    return reason().empty() ? 0 : -1;
  } catch (const std::exception& e) {
    reason() = e.what();
    return -1;
  }
}

std::size_t give(const std::string& text, char* buffer, std::size_t size) {
  if (buffer != nullptr && size > 0) {
    const std::size_t n = std::min(size - 1, text.size());
    std::memcpy(buffer, text.data(), n);
    buffer[n] = '\0';
  }
  return text.size() + 1;
}

// A kernel's stand-in.
class LaunchTask : public Task {
 public:
  LaunchTask(void (*function)(void*), void* argument, Nanoseconds cost, int code)
      : function_(function), argument_(argument), cost_(cost), code_(code) {}
  int perform(Stream& stream, Lock& lock, std::string& text) override {
    const Nanoseconds end = stream.occupy(Engine::compute, cost_);
    if (function_ != nullptr) {
      lock.unlock();
      function_(argument_);
      lock.lock();
    }
    if (cost_ != 0) stream.wait_until(lock, end);
    if (code_ != 0) text = format_error("EE9999", "A kernel failed.");
    return code_;
  }

 private:
  void (*function_)(void*);
  void* argument_;
  Nanoseconds cost_;
  int code_;
};

struct ExitReport {
  // Written when the process ends well; a program that is killed leaves none.
  ~ExitReport() {
    try {
      if (forked() || options().log_path.empty()) return;
      std::ofstream file(options().log_path);
      file << report_json() << "\n" << call_log_text();
    } catch (...) {
    }
  }
};
const ExitReport exit_report;

}  // namespace

extern "C" const char* aclsim_version(void) {
  thread_local std::string text;
  const std::string runtime = onnxruntime_version();
  text = "1.0" + (runtime.empty() ? std::string() : " onnxruntime " + runtime);
  return text.c_str();
}

extern "C" const char* aclsim_error(void) { return reason().c_str(); }

extern "C" int aclsim_configure(const char* json) {
  return control([&]() -> std::string {
    if (json == nullptr) return "no JSON was given";
    std::string why;
    const auto parsed = Json::parse(json, why);
    if (parsed == nullptr || parsed->kind() != Json::Kind::object)
      return why.empty() ? "the options are no JSON object" : why;
    const Lock lock(big_lock());
    Machine& machine = Machine::get();
    machine.read_options();
    Options next = options();
    if (!next.apply(*parsed, why)) return why;
    for (const auto& device : machine.devices)
      if (device->sets > 0 && (next.devices != options().devices || next.hbm_bytes != options().hbm_bytes))
        return "devices and hbm_bytes cannot change while a device is open";
    FaultPlan plan;
    if (why = plan.set(next.faults, next.devices); !why.empty()) return why;
    const bool resized = next.hbm_bytes != options().hbm_bytes;
    options() = next;
    fault_plan() = plan;
    if (resized)
      for (const auto& device : machine.devices) device->memory.close();
    Clock::get().use_virtual(next.virtual_time);
    watch_calls();
    return {};
  });
}

extern "C" int aclsim_set_faults(const char* plan) {
  return control([&]() -> std::string {
    const Lock lock(big_lock());
    Machine::get().read_options();
    const std::string why = fault_plan().set(plan == nullptr ? "" : plan, options().devices);
    if (why.empty()) options().faults = plan == nullptr ? "" : plan;
    watch_calls();
    return why;
  });
}

extern "C" size_t aclsim_report(char* buffer, size_t size) {
  try {
    return give(report_json(), buffer, size);
  } catch (...) {
    return 0;
  }
}

extern "C" size_t aclsim_call_log(char* buffer, size_t size) {
  try {
    return give(call_log_text(), buffer, size);
  } catch (...) {
    return 0;
  }
}

extern "C" size_t aclsim_live_handles(char* buffer, size_t size) {
  try {
    const Lock lock(big_lock());
    return give(HandleTable::get().describe(), buffer, size);
  } catch (...) {
    return 0;
  }
}

extern "C" int aclsim_reset(void) {
  return control([]() -> std::string {
    if (this_thread().in_callback) return "aclsim_reset must not be called in a callback";
    Lock lock(big_lock());
    Machine& machine = Machine::get();
    for (const auto& device : machine.devices) {
      device->shut(lock);
      device->memory.close();
    }
    machine.devices.clear();
    HandleTable::get().erase_all();
    HostMemory::get().forget();
    ModelTable::get().bundles.clear();
    machine.init_count = 0;
    machine.finalized = machine.was_initialized = machine.environment_read = false;
    machine.environment_error.clear();
    machine.config.clear();
    machine.default_device = -1;
    machine.violations.clear();
    options() = Options();
    fault_plan().set("", 0);
    Clock::get().use_virtual(false);
    share_error_text(false);
    set_exception_callback(nullptr);
    CallCounters& counters = call_counters();
    for (std::size_t i = 0; i < function_count; ++i) counters.calls[i] = counters.failures[i] = 0;
    clear_call_log();
    watch_calls();
    ThreadState& thread = this_thread();
    thread.context = nullptr;
    thread.pending.clear();
    thread.shown.clear();
    thread.last_error = 0;
    return {};
  });
}

extern "C" uint64_t aclsim_now(void) { return Clock::get().now(); }

extern "C" void aclsim_advance(uint64_t nanoseconds) {
  if (Clock::get().is_virtual()) Clock::get().advance_to(Clock::get().now() + nanoseconds);
}

extern "C" int aclsim_set_twin(const void* om, size_t size, const char* onnx_path) {
  return control([&]() -> std::string {
    if (om == nullptr || onnx_path == nullptr) return "a model and a path are needed";
    set_twin({static_cast<const char*>(om), size}, onnx_path);
    return {};
  });
}

extern "C" int aclsim_note_spawn(const char* how) {
  try {
    return note_spawn(how == nullptr ? "spawn" : how) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

extern "C" int aclsim_copies_in_flight(void) {
  const Lock lock(big_lock());
  return static_cast<int>(Machine::get().copies_in_flight);
}

extern "C" void* aclsim_shadow(const void* device_address) {
  const Lock lock(big_lock());
  const auto address = reinterpret_cast<Address>(device_address);
  Device* device = Machine::get().device_at(address);
  return device == nullptr || device->memory.block_of(address, 1) == nullptr ? nullptr : device->memory.shadow(address);
}

extern "C" aclError aclsim_launch(aclrtStream handle, void (*function)(void*), void* argument, uint64_t nanoseconds,
                                  int code) {
  try {
    const Lock lock(big_lock());
    int result = 0;
    const auto stream = stream_of("aclsim_launch", handle, result);
    if (stream == nullptr) return result;
    return stream->push(std::make_unique<LaunchTask>(function, argument, nanoseconds, code), "aclsim_launch");
  } catch (...) {
    return internal_error;
  }
}
