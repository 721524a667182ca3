// aclInit to aclFinalize, errors and versions.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "call.hpp"
#include "device.hpp"
#include "faults.hpp"
#include "fork_guard.hpp"
#include "model_table.hpp"
#include "options.hpp"

using namespace aclsim;

namespace {

constexpr int deepest_json = 10;  // levels of { and [ in aclInit's file

int read_config(const char* path, std::string& text) {
  if (path == nullptr || *path == '\0') return 0;
  std::ifstream file(path);
  if (!file) return fail(invalid_file, "EH0003", "Path %s is invalid. Reason: the file cannot be read.", path);
  std::stringstream all;
  all << file.rdbuf();
  text = all.str();
  return 0;
}

int apply_config(const char* path, const std::string& text) {
  Machine& machine = Machine::get();
  machine.default_device = -1;
  share_error_text(false);
  if (text.empty()) return 0;
  std::string reason;
  const auto json = Json::parse(text, reason, deepest_json);
  if (json == nullptr || json->kind() != Json::Kind::object)
    return fail(parse_file, "EH0004", "File %s is invalid. Reason: %s.", path,
                reason.empty() ? "no JSON object" : reason.c_str());
  const Json& device = (*json)["defaultDevice"]["default_device"];
  if (!device.is_null()) {
    machine.default_device =
        device.kind() == Json::Kind::text ? std::atoi(device.text().c_str()) : static_cast<int>(device.integer());
    if (machine.default_device < 0 || machine.default_device >= static_cast<int>(options().devices))
      return fail(rt_invalid_device, "EE1003", "aclInit failed: default_device %d does not exist.",
                  machine.default_device);
  }
  const Json& mode = (*json)["err_msg_mode"];
  share_error_text(mode.text() == "1" || mode.integer() == 1);
  const Json& simulator = (*json)["aclsim"];
  if (!simulator.is_null() && !options().apply(simulator, reason))
    return fail(rt_param_invalid, "EH0004", "File %s is invalid. Reason: aclsim: %s.", path, reason.c_str());
  return 0;
}

int finalize(Lock& lock) {
  Machine& machine = Machine::get();
  for (const auto& device : machine.devices)
    if (device->sets > 0) machine.violation("aclFinalize with open devices");
  (void)lock;
  machine.finalized = true;
  machine.init_count = 0;
  return 0;
}

}  // namespace

extern "C" aclError aclInit(const char* path) {
  return run(Function::aclInit, [&] {
    const Lock lock(big_lock());
    Machine& machine = Machine::get();
    if (machine.init_count > 0) {
      ++machine.init_count;
      return static_cast<int>(repeat_initialize);
    }
    machine.read_options();
    if (!machine.environment_error.empty())
      return fail(rt_param_invalid, "EH0004", "aclInit failed: %s.", machine.environment_error.c_str());
    std::string text;
    if (const int code = read_config(path, text); code != 0) return code;
    if (machine.was_initialized && text != machine.config)
      return fail(invalid_param, "EH0004",
                  "File %s is invalid. Reason: config content differs from the first aclInit config file.",
                  path == nullptr ? "NULL" : path);
    if (const int code = apply_config(path, text); code != 0) return code;
    if (const std::string reason = fault_plan().set(options().faults, options().devices); !reason.empty())
      return fail(rt_param_invalid, "EH0004", "aclInit failed: %s.", reason.c_str());
    watch_calls();
    Clock::get().use_virtual(options().virtual_time);
    if (options().soc.empty()) return fail(internal_error, "EH9999", "aclInit failed: the SoC's name cannot be read.");
    watch_forks();
    machine.config = text;
    machine.was_initialized = true;
    machine.finalized = false;
    machine.init_count = 1;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclFinalize(void) {
  return run(Function::aclFinalize, [] {
    Lock lock(big_lock());
    if (Machine::get().finalized)
      return fail(repeat_finalize, "EH9999", "aclFinalize failed: ACL was finalized already.");
    return finalize(lock);
  });
}

extern "C" aclError aclFinalizeReference(uint64_t* count) {
  return run(Function::aclFinalizeReference, [&] {
    Lock lock(big_lock());
    Machine& machine = Machine::get();
    int code = 0;
    if (machine.init_count > 1)
      --machine.init_count;
    else if (machine.init_count == 1)
      code = finalize(lock);
    else
      code = fail(repeat_finalize, "EH9999", "aclFinalizeReference failed: there is no reference left.");
    if (count != nullptr) *count = machine.init_count;
    return code;
  });
}

extern "C" const char* aclGetRecentErrMsg(void) {
  if (forked()) return take_error_text(false);  // the lock may be held by a thread that this process does not have
  return ask(Function::aclGetRecentErrMsg, static_cast<const char*>(nullptr), [] {
    const Lock lock(big_lock());
    return take_error_text(peek_context() == nullptr);
  });
}

extern "C" aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  return ask(Function::aclrtPeekAtLastError, static_cast<int>(internal_error), [&] {
    if (level != ACL_RT_THREAD_LEVEL)
      return fail_value("aclrtPeekAtLastError", std::to_string(level), "level", "it is not 0");
    return this_thread().last_error;
  });
}

extern "C" aclError aclrtGetLastError(aclrtLastErrLevel level) {
  return ask(Function::aclrtGetLastError, static_cast<int>(internal_error), [&] {
    if (level != ACL_RT_THREAD_LEVEL)
      return fail_value("aclrtGetLastError", std::to_string(level), "level", "it is not 0");
    const int last = this_thread().last_error;
    this_thread().last_error = 0;
    return last;
  });
}

extern "C" aclError aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) {
  return run(Function::aclrtGetVersion, [&] {
    if (major == nullptr || minor == nullptr || patch == nullptr) return fail_null("aclrtGetVersion", "version");
    *major = 1;
    *minor = 17;
    *patch = 0;
    return static_cast<int>(ok);
  });
}

namespace {

// "9.1.0" or "8.2.RC1": number, number, rest.
struct Version {
  int major = 0, minor = 0, patch = 0;
  std::string release;
};

Version cann_version() {
  Version v;
  const std::string& text = options().cann;
  char* at = nullptr;
  v.major = static_cast<int>(std::strtol(text.c_str(), &at, 10));
  if (*at == '.') v.minor = static_cast<int>(std::strtol(at + 1, &at, 10));
  if (*at == '.') v.release = at + 1;
  v.patch = std::atoi(v.release.c_str());
  return v;
}

void copy_text(char* to, std::size_t room, const std::string& text) {
  std::memset(to, 0, room);
  std::memcpy(to, text.data(), std::min(room - 1, text.size()));
}

}  // namespace

extern "C" aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* out) {
  return run(Function::aclsysGetCANNVersion, [&] {
    if (out == nullptr) return fail_null("aclsysGetCANNVersion", "version");
    if (name < 0 || name > 7)
      return fail_value("aclsysGetCANNVersion", std::to_string(name), "name", "it is no package");
    const Lock lock(big_lock());
    Machine::get().read_options();
    const Version v = cann_version();
    std::memset(out, 0, sizeof *out);
    copy_text(out->version, sizeof out->version, options().cann);
    copy_text(out->majorVersion, sizeof out->majorVersion, std::to_string(v.major));
    copy_text(out->minorVersion, sizeof out->minorVersion, std::to_string(v.minor));
    copy_text(out->releaseVersion, sizeof out->releaseVersion, v.release);
    copy_text(out->patchVersion, sizeof out->patchVersion, std::to_string(v.patch));
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclsysGetVersionStr(char* package, char* out) {
  return run(Function::aclsysGetVersionStr, [&] {
    if (package == nullptr || out == nullptr) return fail_null("aclsysGetVersionStr", "pkgName");
    const Lock lock(big_lock());
    Machine::get().read_options();
    if (*package == '\0') return fail_value("aclsysGetVersionStr", "\"\"", "pkgName", "it is no package");
    copy_text(out, 128, options().cann);
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclsysGetVersionNum(char* package, int32_t* out) {
  return run(Function::aclsysGetVersionNum, [&] {
    if (package == nullptr || out == nullptr) return fail_null("aclsysGetVersionNum", "pkgName");
    const Lock lock(big_lock());
    Machine::get().read_options();
    const Version v = cann_version();
    *out = v.major * 10'000'000 + v.minor * 100'000 + v.patch * 1'000;
    return static_cast<int>(ok);
  });
}
