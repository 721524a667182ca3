#include "device.hpp"

#include <algorithm>
#include <cstdlib>

#include "codes.hpp"
#include "error_text.hpp"
#include "event.hpp"
#include "faults.hpp"
#include "model_table.hpp"
#include "options.hpp"
#include "segv.hpp"
#include "stream.hpp"

namespace aclsim {

Machine& Machine::get() {
  static auto* machine = new Machine;
  return *machine;
}

void Machine::read_options() {
  if (environment_read) return;
  environment_read = true;
  environment_error = read_environment();
}

int Machine::visible(std::vector<int>& out) const {
  const int count = static_cast<int>(options().devices);
  const char* list = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
  if (list == nullptr || *list == '\0') {
    for (int i = 0; i < count; ++i) out.push_back(i);
    return count == 0 ? rt_no_device : 0;
  }
  // The documented reading: ascending numbers without blanks; the list is cut at the first bad one.
  int last = -1;
  const char* at = list;
  while (*at != '\0') {
    char* end = nullptr;
    const long id = *at >= '0' && *at <= '9' ? std::strtol(at, &end, 10) : -1;
    if (id <= last || id >= count || (*end != ',' && *end != '\0')) break;
    out.push_back(static_cast<int>(id));
    last = static_cast<int>(id);
    if (*end == '\0') break;
    at = end + 1;
  }
  return out.empty() ? rt_no_device : 0;
}

Device* Machine::device(const char* function, std::int64_t id, int& code) {
  read_options();
  std::vector<int> ids;
  visible(ids);
  if (id < 0 || id >= static_cast<std::int64_t>(ids.size())) {
    code = fail(rt_invalid_device, "EE1003",
                "%s failed because value %lld for parameter device is invalid. Expected value: [0, %zu).", function,
                static_cast<long long>(id), ids.size());
    return nullptr;
  }
  const auto index = static_cast<std::size_t>(id);
  while (devices.size() <= index) devices.push_back(std::make_unique<Device>(static_cast<int>(devices.size())));
  return devices[index].get();
}

Device* Machine::device_at(Address address) {
  for (const auto& device : devices)
    if (device->memory.owns(address)) return device.get();
  return nullptr;
}

void Machine::violation(const std::string& what) {
  for (auto& [name, count] : violations)
    if (name == what) {
      ++count;
      return;
    }
  violations.emplace_back(what, 1);
}

int Device::lost_code() const {
  if (fault_plan().empty() || !set_up) return 0;
  for (const DeviceFault& fault : fault_plan().devices())
    if (fault.lost && fault.device == id && Clock::get().now() >= first_use + fault.after) return rt_socket_close;
  return 0;
}

double Device::slowness() const {
  double factor = 1;
  for (const DeviceFault& fault : fault_plan().devices())
    if (!fault.lost && fault.device == id) factor *= fault.factor;
  return factor;
}

Nanoseconds Device::occupy(Engine engine, Nanoseconds ready, Nanoseconds cost) {
  if (cost == 0) return ready;
  Nanoseconds& free = engine_free[static_cast<int>(engine)];
  free = std::max(ready, free) + cost;
  if (engine == Engine::compute) busy_ns += cost;
  return free;
}

int Device::open(Lock& lock, const char* function) {
  if (!memory.is_open()) {
    std::string reason;
    if (!memory.open(options().hbm_bytes, reason))
      return fail(rt_dev_setup, "E30006", "%s failed: %s", function, reason.c_str());
    watch_memory_faults();
  }
  if (!set_up) {
    set_up = true;
    first_use = Clock::get().now();
    const auto start_up = static_cast<Nanoseconds>(options().time.set_device_ms * 1e6);
    if (start_up != 0) {
      lock.unlock();
      Clock::get().sleep(start_up);
      lock.lock();
    }
  }
  return 0;
}

void Device::shut(Lock& lock) {
  Machine& machine = Machine::get();
  std::size_t explicit_streams = 0;
  for (const Stream* stream : streams) explicit_streams += stream->is_default() ? 0 : 1;
  if (lost_code() == 0) {  // a lost one lets nothing be destroyed before
    if (explicit_streams != 0) machine.violation("device reset with live streams");
    if (events != 0) machine.violation("device reset with live events");
    if (memory.blocks() != 0) machine.violation("device reset with live device memory");
    if (!contexts.empty()) machine.violation("device reset with live contexts");
  }
  unload_models_of(*this, lock);
  // Copies: closing a stream takes it off the list.
  for (const auto& stream : std::vector<Stream*>(streams)) stream->retire(lock, !stream->is_default());
  for (const auto& context : contexts) HandleTable::get().erase(context->slot);
  contexts.clear();
  if (primary != nullptr) HandleTable::get().erase(primary->slot);
  primary.reset();
  drop_events_of(id);
  events = 0;
  memory.release_all();
}

Context* peek_context() {
  const ThreadState& thread = this_thread();
  if (thread.context == nullptr || thread.context->generation.load() != thread.generation) return nullptr;
  return static_cast<Context*>(thread.context->object.get());
}

void set_current(Context* context) {
  ThreadState& thread = this_thread();
  thread.context = context == nullptr ? nullptr : context->slot;
  thread.generation = context == nullptr ? 0 : context->slot->generation.load();
}

std::shared_ptr<Context> current_context(const char* function, int& code) {
  Machine& machine = Machine::get();
  if (peek_context() == nullptr && machine.default_device >= 0) {
    Device* device = machine.device(function, machine.default_device, code);
    if (device != nullptr && device->primary != nullptr) set_current(device->primary.get());
  }
  Context* context = peek_context();
  if (context == nullptr) {
    code = fail(rt_context_null, "EE1001", "The argument is invalid. Reason: %s failed, reason=[context pointer null]",
                function);
    return nullptr;
  }
  const int lost = context->device->lost_code();
  if (lost != 0) {
    code = fail(lost, "EE9999", "%s failed: device %d is lost (heartbeat and socket are closed).", function,
                context->device->id);
    return nullptr;
  }
  code = 0;
  return std::static_pointer_cast<Context>(context->slot->object);
}

int require_init(const char* function) {
  const Machine& machine = Machine::get();
  if (machine.init_count > 0 || !options().require_init) return 0;
  return fail(uninitialize, "EH0009", "%s failed: aclInit was not called in this process.", function);
}

}  // namespace aclsim
