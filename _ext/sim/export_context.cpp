// Contexts, and the process-wide time-outs of operators.
#include <algorithm>

#include "call.hpp"
#include "device.hpp"
#include "options.hpp"
#include "stream.hpp"

using namespace aclsim;

extern "C" aclError aclrtCreateContext(aclrtContext* out, int32_t id) {
  return run(Function::aclrtCreateContext, [&] {
    if (out == nullptr) return fail_null("aclrtCreateContext", "context");
    Lock lock(big_lock());
    int code = require_init("aclrtCreateContext");
    if (code != 0) return code;
    Device* device = Machine::get().device("aclrtCreateContext", id, code);
    if (device == nullptr) return code;
    if (code = device->open(lock, "aclrtCreateContext"); code != 0) return code;
    auto context = std::make_shared<Context>();
    context->device = device;
    context->slot = HandleTable::get().insert(context);
    context->slot->device.store(id, std::memory_order_release);
    device->contexts.push_back(context);
    set_current(context.get());
    *out = context->slot;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtDestroyContext(aclrtContext handle) {
  return run(Function::aclrtDestroyContext, [&] {
    if (handle == nullptr) return fail_null("aclrtDestroyContext", "context");
    Lock lock(big_lock());
    const auto context = HandleTable::get().find<Context>(handle);
    if (context == nullptr)
      return fail(rt_context_null, "EE1017",
                  "Context destruction failed: the context handle is a null pointer or has already been destroyed.");
    if (context->primary)
      return fail(rt_context_null, "EE1017",
                  "Context destruction failed: primary context cannot be destroyed explicitly.");
    if (context->streams != 0) Machine::get().violation("context destroyed with live streams");
    HandleTable::get().erase(handle);
    for (Stream* stream : std::vector<Stream*>(context->device->streams))
      if (stream->context() == context.get()) stream->retire(lock, !stream->is_default());
    auto& list = context->device->contexts;
    list.erase(std::remove(list.begin(), list.end(), context), list.end());
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtSetCurrentContext(aclrtContext handle) {
  return run(Function::aclrtSetCurrentContext, [&] {
    if (handle == nullptr) return fail_null("aclrtSetCurrentContext", "context");
    const Lock lock(big_lock());
    Context* context = HandleTable::get().peek<Context>(handle);
    if (context == nullptr)
      return fail(rt_param_invalid, "EE1017",
                  "Thread context setting failed: %p is no context, or was destroyed, or its device was reset.",
                  handle);
    set_current(context);
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtGetCurrentContext(aclrtContext* out) {
  return run(Function::aclrtGetCurrentContext, [&] {
    if (out == nullptr) return fail_null("aclrtGetCurrentContext", "context");
    const Lock lock(big_lock());
    int code = 0;
    const auto context = current_context("aclrtGetCurrentContext", code);
    if (context == nullptr) return code;
    *out = context->slot;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* out) {
  return run(Function::aclrtCtxGetCurrentDefaultStream, [&] {
    if (out == nullptr) return fail_null("aclrtCtxGetCurrentDefaultStream", "stream");
    const Lock lock(big_lock());
    int code = 0;
    const auto context = current_context("aclrtCtxGetCurrentDefaultStream", code);
    if (context == nullptr) return code;
    const auto stream = default_stream(context);
    if (stream->slot == nullptr) stream->slot = HandleTable::get().insert(stream);
    *out = stream->slot;
    return static_cast<int>(ok);
  });
}

namespace {

std::uint32_t operator_timeout_ms = 0;  // guarded by the big lock; kept to be read back, no operator runs that long

int set_timeout(const char* function, std::uint64_t ms) {
  const Lock lock(big_lock());
  int code = 0;
  if (current_context(function, code) == nullptr) return code;
  operator_timeout_ms = static_cast<std::uint32_t>(std::min<std::uint64_t>(ms, UINT32_MAX));
  return 0;
}

}  // namespace

extern "C" aclError aclrtSetOpWaitTimeout(uint32_t) {
  return run(Function::aclrtSetOpWaitTimeout, [] {
    const Lock lock(big_lock());
    int code = 0;
    current_context("aclrtSetOpWaitTimeout", code);
    return code;
  });
}

extern "C" aclError aclrtSetOpExecuteTimeOut(uint32_t seconds) {
  return run(Function::aclrtSetOpExecuteTimeOut,
             [&] { return set_timeout("aclrtSetOpExecuteTimeOut", std::uint64_t{seconds} * 1000); });
}

extern "C" aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t ms) {
  return run(Function::aclrtSetOpExecuteTimeOutWithMs,
             [&] { return set_timeout("aclrtSetOpExecuteTimeOutWithMs", ms); });
}

extern "C" aclError aclrtSetOpExecuteTimeOutV2(uint64_t us, uint64_t* actual) {
  return run(Function::aclrtSetOpExecuteTimeOutV2, [&] {
    if (actual == nullptr) return fail_null("aclrtSetOpExecuteTimeOutV2", "actualTimeout");
    const int code = set_timeout("aclrtSetOpExecuteTimeOutV2", (us + 999) / 1000);
    if (code == 0) *actual = (us + 999) / 1000 * 1000;
    return code;
  });
}

extern "C" aclError aclrtGetOpExecuteTimeout(uint32_t* ms) {
  return run(Function::aclrtGetOpExecuteTimeout, [&] {
    if (ms == nullptr) return fail_null("aclrtGetOpExecuteTimeout", "timeoutMs");
    const Lock lock(big_lock());
    *ms = operator_timeout_ms;
    return static_cast<int>(ok);
  });
}
