// Streams: making, ending, waiting, asking.
#include <map>
#include <utility>

#include "call.hpp"
#include "device.hpp"
#include "options.hpp"
#include "stream.hpp"

using namespace aclsim;

namespace {

constexpr std::uint32_t known_flags = 0x3F;

// aclrtRegStreamStateCallback, by name. Guarded by the big lock.
std::map<std::string, std::pair<aclrtStreamStateCallback, void*>>& state_callbacks() {
  static auto* table = new std::map<std::string, std::pair<aclrtStreamStateCallback, void*>>;
  return *table;
}

void tell(Lock& lock, Slot* stream, aclrtStreamState state) {
  const auto copy = state_callbacks();
  if (copy.empty()) return;
  lock.unlock();
  for (const auto& [name, entry] : copy) entry.first(stream, state, entry.second);
  lock.lock();
}

int create(const char* function, aclrtStream* out, std::uint32_t priority, std::uint32_t flags) {
  if (out == nullptr) return fail_null(function, "stream");
  Lock lock(big_lock());
  int code = 0;
  const auto context = current_context(function, code);
  if (context == nullptr) return code;
  if ((flags & ~known_flags) != 0) return fail_value(function, std::to_string(flags), "flag", "it has unknown bits");
  Device& device = *context->device;
  // Streams that nobody asked for yet are counted too: the limit includes the default stream.
  if (device.streams.size() + (context->default_stream == nullptr ? 1 : 0) >= options().streams())
    return fail(rt_no_stream, "EE1023", "%s failed. Reason: all %u streams of the device are in use.", function,
                options().streams());
  const auto stream = std::make_shared<Stream>(context, device.next_stream++, priority, flags, false);
  stream->slot = HandleTable::get().insert(stream);
  ++context->streams;
  *out = stream->slot;
  tell(lock, stream->slot, ACL_RT_STREAM_STATE_CREATE_POST);
  return 0;
}

int destroy(const char* function, aclrtStream handle, bool force) {
  if (handle == nullptr) return fail_null(function, "stream");
  Lock lock(big_lock());
  int code = 0;
  auto stream = stream_of(function, handle, code);
  if (stream == nullptr) return code;
  if (stream->is_default()) return fail_value(function, "the default stream", "stream", "it goes with its context");
  if (this_thread().in_callback)
    return fail(rt_param_invalid, "EE1011", "%s must not be called in a callback.", function);
  tell(lock, stream->slot, ACL_RT_STREAM_STATE_DESTROY_PRE);
  stream->retire(lock, force);
  return 0;
}

int synchronize(const char* function, aclrtStream handle, std::int32_t timeout) {
  Lock lock(big_lock());
  int code = 0;
  const auto stream = stream_of(function, handle, code);
  if (stream == nullptr) return code;
  return stream->synchronize(lock, timeout, function);
}

template <typename Value, typename Get>
int ask_stream(const char* function, aclrtStream handle, Value* out, const char* argument, Get get) {
  if (out == nullptr) return fail_null(function, argument);
  const Lock lock(big_lock());
  int code = 0;
  const auto stream = stream_of(function, handle, code);
  if (stream == nullptr) return code;
  *out = get(*stream);
  return 0;
}

}  // namespace

extern "C" aclError aclrtCreateStream(aclrtStream* out) {
  return run(Function::aclrtCreateStream, [&] { return create("aclrtCreateStream", out, 0, 0); });
}

extern "C" aclError aclrtCreateStreamWithConfig(aclrtStream* out, uint32_t priority, uint32_t flags) {
  return run(Function::aclrtCreateStreamWithConfig,
             [&] { return create("aclrtCreateStreamWithConfig", out, priority, flags); });
}

extern "C" aclError aclrtDestroyStream(aclrtStream handle) {
  return run(Function::aclrtDestroyStream, [&] { return destroy("aclrtDestroyStream", handle, false); });
}

extern "C" aclError aclrtDestroyStreamForce(aclrtStream handle) {
  return run(Function::aclrtDestroyStreamForce, [&] { return destroy("aclrtDestroyStreamForce", handle, true); });
}

extern "C" aclError aclrtSynchronizeStream(aclrtStream handle) {
  return run(Function::aclrtSynchronizeStream, [&] { return synchronize("aclrtSynchronizeStream", handle, -1); });
}

extern "C" aclError aclrtSynchronizeStreamWithTimeout(aclrtStream handle, int32_t timeout) {
  return run(Function::aclrtSynchronizeStreamWithTimeout, [&] {
    if (timeout < -1)
      return fail(rt_param_invalid, "EE1003",
                  "aclrtSynchronizeStreamWithTimeout failed because value %d for parameter timeout is invalid. "
                  "Expected value: -1 or more.",
                  timeout);
    return synchronize("aclrtSynchronizeStreamWithTimeout", handle, timeout);
  });
}

extern "C" aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
  return run(Function::aclrtStreamQuery, [&] {
    return ask_stream("aclrtStreamQuery", handle, status, "status", [](Stream& stream) {
      stream.hurry();
      if (stream.idle()) return static_cast<int>(ACL_STREAM_STATUS_COMPLETE);
      // Virtual time must not stand still for a program that asks until it is done.
      if (Clock::get().is_virtual()) Clock::get().advance_to(Clock::get().now() + 10'000);
      return static_cast<int>(ACL_STREAM_STATUS_NOT_READY);
    });
  });
}

extern "C" aclError aclrtStreamGetId(aclrtStream handle, int32_t* id) {
  return run(Function::aclrtStreamGetId, [&] {
    return ask_stream("aclrtStreamGetId", handle, id, "streamId", [](Stream& s) { return static_cast<int32_t>(s.id); });
  });
}

extern "C" aclError aclrtStreamGetPriority(aclrtStream handle, uint32_t* priority) {
  return run(Function::aclrtStreamGetPriority, [&] {
    return ask_stream("aclrtStreamGetPriority", handle, priority, "priority", [](Stream& s) { return s.priority; });
  });
}

extern "C" aclError aclrtStreamGetFlags(aclrtStream handle, uint32_t* flags) {
  return run(Function::aclrtStreamGetFlags, [&] {
    return ask_stream("aclrtStreamGetFlags", handle, flags, "flags", [](Stream& s) { return s.flags; });
  });
}

extern "C" aclError aclrtGetStreamAvailableNum(uint32_t* count) {
  return run(Function::aclrtGetStreamAvailableNum, [&] {
    if (count == nullptr) return fail_null("aclrtGetStreamAvailableNum", "streamCount");
    const Lock lock(big_lock());
    int code = 0;
    const auto context = current_context("aclrtGetStreamAvailableNum", code);
    if (context == nullptr) return code;
    const std::size_t used = context->device->streams.size() + (context->default_stream == nullptr ? 1 : 0);
    *count = static_cast<std::uint32_t>(options().streams() - std::min<std::size_t>(used, options().streams()));
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtSetStreamFailureMode(aclrtStream handle, uint64_t mode) {
  return run(Function::aclrtSetStreamFailureMode, [&] {
    const Lock lock(big_lock());
    int code = 0;
    const auto stream = stream_of("aclrtSetStreamFailureMode", handle, code);
    if (stream == nullptr) return code;
    if (stream->is_default())
      return fail(rt_param_invalid, "EE1011",
                  "aclrtSetStreamFailureMode failed. The default stream has no failure mode.");
    if (mode > 1)
      return fail(
          rt_param_invalid, "EE1003",
          "aclrtSetStreamFailureMode failed because value %llu for parameter mode is invalid. Expected value: 0 or 1.",
          static_cast<unsigned long long>(mode));
    stream->failure_mode = mode;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtStreamAbort(aclrtStream handle) {
  return run(Function::aclrtStreamAbort, [&] {
    if (handle == nullptr) return fail_null("aclrtStreamAbort", "stream");
    Lock lock(big_lock());
    int code = 0;
    const auto stream = stream_of("aclrtStreamAbort", handle, code);
    if (stream == nullptr) return code;
    stream->abort(lock);
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtRegStreamStateCallback(const char* name, aclrtStreamStateCallback callback, void* arguments) {
  return run(Function::aclrtRegStreamStateCallback, [&] {
    if (name == nullptr) return fail_null("aclrtRegStreamStateCallback", "regName");
    const Lock lock(big_lock());
    if (callback == nullptr)
      state_callbacks().erase(name);
    else
      state_callbacks()[name] = {callback, arguments};
    return static_cast<int>(ok);
  });
}
