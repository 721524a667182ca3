// Running models.
#include "call.hpp"
#include "device.hpp"
#include "execution.hpp"

using namespace aclsim;

namespace {

struct ExecConfig {
  static constexpr Kind kind = Kind::exec_config;
  std::int32_t stream_timeout_ms = -1, event_timeout_ms = -1;
};

int execute(const char* function, std::uint32_t id, const void* inputs, void* outputs, Nanoseconds limit) {
  Lock lock(big_lock());
  int code = 0;
  auto execution = Execution::prepare(function, id, inputs, outputs, true, code);
  if (execution == nullptr) return code;
  ThreadState& thread = this_thread();
  execution->delay = thread.task_delay_ns;
  std::string text;
  code = thread.task_error != 0 ? thread.task_error : execution->perform(nullptr, lock, text, limit);
  execution.reset();
  if (code == 0) return 0;
  add_error_text(text);
  return fail(code, "E19999", "%s failed: model %u did not execute.", function, id);
}

int execute_async(const char* function, std::uint32_t id, const void* inputs, void* outputs, void* handle) {
  Lock lock(big_lock());
  int code = 0;
  const auto stream = stream_of(function, handle, code);
  if (stream == nullptr) return code;
  auto execution = Execution::prepare(function, id, inputs, outputs, false, code);
  if (execution == nullptr) return code;
  if (execution->dynamic_shapes()) {
    // The shapes of the outputs are to be known when the call returns: the stream is drained and the model runs here,
    // as networks do whose shapes depend on values.
    if (code = stream->synchronize(lock, -1, function); code != 0) return code;
    // The program's allocator gives what such a run works in, if one is registered for the stream.
    const auto allocator = stream->allocator;
    aclrtAllocatorBlock block = nullptr;
    if (allocator != nullptr) {
      lock.unlock();
      block = allocator->allocate(allocator->object, execution->workspace());
      const void* address = block == nullptr ? nullptr : allocator->address(block);
      lock.lock();
      Device* device = Machine::get().device_at(reinterpret_cast<Address>(address));
      if (device == nullptr ||
          device->memory.block_of(reinterpret_cast<Address>(address), execution->workspace()) == nullptr) {
        execution.reset();
        return fail(ge_memory_allocation, "EL0004", "%s failed: the registered allocator gave no live device memory.",
                    function);
      }
    }
    std::string text;
    code = execution->perform(nullptr, lock, text);
    execution.reset();
    if (block != nullptr) {
      lock.unlock();
      allocator->free(allocator->object, block);
      lock.lock();
    }
    if (code == 0) return 0;
    add_error_text(text);
    return fail(code, "E19999", "%s failed: model %u did not execute.", function, id);
  }
  return stream->push(std::make_unique<ExecuteTask>(std::move(execution)), function);
}

// Null and a recorded code when the handle is none; a null handle is refused, whatever the documents say.
ExecConfig* config_of(const char* function, const void* handle, int& code) {
  ExecConfig* config = HandleTable::get().peek<ExecConfig>(handle);
  if (config == nullptr)
    code = handle == nullptr ? fail_null(function, "handle") : fail_handle(function, "execution config", handle);
  return config;
}

}  // namespace

extern "C" aclError aclmdlExecute(uint32_t id, const aclmdlDataset* inputs, aclmdlDataset* outputs) {
  return run(Function::aclmdlExecute, [&] { return execute("aclmdlExecute", id, inputs, outputs, UINT64_MAX); });
}

extern "C" aclError aclmdlExecuteAsync(uint32_t id, const aclmdlDataset* inputs, aclmdlDataset* outputs,
                                       aclrtStream stream) {
  return run(Function::aclmdlExecuteAsync,
             [&] { return execute_async("aclmdlExecuteAsync", id, inputs, outputs, stream); });
}

extern "C" aclmdlExecConfigHandle* aclmdlCreateExecConfigHandle(void) {
  return ask(Function::aclmdlCreateExecConfigHandle, static_cast<aclmdlExecConfigHandle*>(nullptr), [] {
    const Lock lock(big_lock());
    return reinterpret_cast<aclmdlExecConfigHandle*>(HandleTable::get().insert(std::make_shared<ExecConfig>()));
  });
}

extern "C" aclError aclmdlDestroyExecConfigHandle(const aclmdlExecConfigHandle* handle) {
  return run(Function::aclmdlDestroyExecConfigHandle, [&] {
    const Lock lock(big_lock());
    int code = 0;
    if (config_of("aclmdlDestroyExecConfigHandle", handle, code) != nullptr) HandleTable::get().erase(handle);
    return code;
  });
}

extern "C" aclError aclmdlSetExecConfigOpt(aclmdlExecConfigHandle* handle, aclmdlExecConfigAttr attribute,
                                           const void* value, size_t size) {
  return run(Function::aclmdlSetExecConfigOpt, [&] {
    if (value == nullptr) return fail_null("aclmdlSetExecConfigOpt", "attrValue");
    const Lock lock(big_lock());
    int code = 0;
    ExecConfig* config = config_of("aclmdlSetExecConfigOpt", handle, code);
    if (config == nullptr) return code;
    if (attribute != ACL_MDL_STREAM_SYNC_TIMEOUT && attribute != ACL_MDL_EVENT_SYNC_TIMEOUT)
      return fail_value("aclmdlSetExecConfigOpt", std::to_string(attribute), "attr",
                        "servers take the two time-outs only");
    if (size != sizeof(std::int32_t))
      return fail_value("aclmdlSetExecConfigOpt", std::to_string(size), "valueSize", "it must be 4");
    const std::int32_t timeout = *static_cast<const std::int32_t*>(value);
    if (timeout < -1)
      return fail_value("aclmdlSetExecConfigOpt", std::to_string(timeout), "attrValue", "it must be -1 or more");
    (attribute == ACL_MDL_STREAM_SYNC_TIMEOUT ? config->stream_timeout_ms : config->event_timeout_ms) = timeout;
    return code;
  });
}

extern "C" aclError aclmdlExecuteV2(uint32_t id, const aclmdlDataset* inputs, aclmdlDataset* outputs, aclrtStream,
                                    const aclmdlExecConfigHandle* handle) {
  return run(Function::aclmdlExecuteV2, [&] {
    Nanoseconds limit = UINT64_MAX;
    {
      const Lock lock(big_lock());
      int code = 0;
      const ExecConfig* config = config_of("aclmdlExecuteV2", handle, code);
      if (config == nullptr) return code;
      if (config->stream_timeout_ms >= 0) limit = static_cast<Nanoseconds>(config->stream_timeout_ms) * 1'000'000;
    }
    return execute("aclmdlExecuteV2", id, inputs, outputs, limit);
  });
}

extern "C" aclError aclmdlExecuteAsyncV2(uint32_t id, const aclmdlDataset* inputs, aclmdlDataset* outputs,
                                         aclrtStream stream, const aclmdlExecConfigHandle* handle) {
  return run(Function::aclmdlExecuteAsyncV2, [&] {
    {
      const Lock lock(big_lock());
      int code = 0;
      if (config_of("aclmdlExecuteAsyncV2", handle, code) == nullptr) return code;
    }
    return execute_async("aclmdlExecuteAsyncV2", id, inputs, outputs, stream);
  });
}

extern "C" aclError aclmdlSetAttribute(uint32_t id, aclmdlAttr attribute, aclmdlAttrValue_t* value) {
  return run(Function::aclmdlSetAttribute, [&] {
    if (value == nullptr) return fail_null("aclmdlSetAttribute", "attrValue");
    if (attribute != ACL_MDL_ATTR_PRIORITY_INT32)
      return fail_value("aclmdlSetAttribute", std::to_string(attribute), "attr", "it is no attribute");
    const Lock lock(big_lock());
    const auto model = ModelTable::get().find(id);
    if (model == nullptr)
      return fail(ge_model_id_invalid, "E13014", "aclmdlSetAttribute failed: there is no loaded model %u.", id);
    if (value->priority < 0 || value->priority > 7)
      return fail_value("aclmdlSetAttribute", std::to_string(value->priority), "priority", "it is not within 0 to 7");
    model->priority = value->priority;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclmdlGetAttribute(uint32_t id, aclmdlAttr attribute, aclmdlAttrValue_t* value) {
  return run(Function::aclmdlGetAttribute, [&] {
    if (value == nullptr) return fail_null("aclmdlGetAttribute", "attrValue");
    if (attribute != ACL_MDL_ATTR_PRIORITY_INT32)
      return fail_value("aclmdlGetAttribute", std::to_string(attribute), "attr", "it is no attribute");
    const Lock lock(big_lock());
    const auto model = ModelTable::get().find(id);
    if (model == nullptr)
      return fail(ge_model_id_invalid, "E13014", "aclmdlGetAttribute failed: there is no loaded model %u.", id);
    *value = aclmdlAttrValue_t{};
    value->priority = model->priority;
    return static_cast<int>(ok);
  });
}
