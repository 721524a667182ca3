#include "allocator.hpp"
#include "call.hpp"
#include "stream.hpp"

using namespace aclsim;

namespace {

template <typename Use>
int with(Function function, void* handle, Use use) {
  return run(function, [&] {
    const Lock lock(big_lock());
    Allocator* allocator = HandleTable::get().peek<Allocator>(handle);
    if (allocator == nullptr)
      return handle == nullptr ? fail_null(name_of(function), "allocatorDesc")
                               : fail_handle(name_of(function), "allocator description", handle);
    return use(*allocator);
  });
}

// The function pointers may be null only where the real ones say so: nowhere.
template <typename F>
int store(Function function, void* handle, F Allocator::* member, F value) {
  if (value == nullptr) return run(function, [&] { return fail_null(name_of(function), "func"); });
  return with(function, handle, [&](Allocator& allocator) {
    allocator.*member = value;
    return 0;
  });
}

}  // namespace

extern "C" aclrtAllocatorDesc aclrtAllocatorCreateDesc(void) {
  return ask(Function::aclrtAllocatorCreateDesc, static_cast<void*>(nullptr), []() -> void* {
    const Lock lock(big_lock());
    return HandleTable::get().insert(std::make_shared<Allocator>());
  });
}
extern "C" aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc handle) {
  return with(Function::aclrtAllocatorDestroyDesc, handle, [&](Allocator&) {
    HandleTable::get().erase(handle);
    return 0;
  });
}
extern "C" aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc handle, aclrtAllocator object) {
  return store(Function::aclrtAllocatorSetObjToDesc, handle, &Allocator::object, object);
}
extern "C" aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc handle, aclrtAllocatorAllocFunc f) {
  return store(Function::aclrtAllocatorSetAllocFuncToDesc, handle, &Allocator::allocate, f);
}
extern "C" aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc handle, aclrtAllocatorFreeFunc f) {
  return store(Function::aclrtAllocatorSetFreeFuncToDesc, handle, &Allocator::free, f);
}
extern "C" aclError aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc handle, aclrtAllocatorAllocAdviseFunc f) {
  return store(Function::aclrtAllocatorSetAllocAdviseFuncToDesc, handle, &Allocator::advise, f);
}
extern "C" aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc handle,
                                                                aclrtAllocatorGetAddrFromBlockFunc f) {
  return store(Function::aclrtAllocatorSetGetAddrFromBlockFuncToDesc, handle, &Allocator::address, f);
}

extern "C" aclError aclrtAllocatorRegister(aclrtStream stream_handle, aclrtAllocatorDesc handle) {
  return with(Function::aclrtAllocatorRegister, handle, [&](Allocator& allocator) {
    const char* function = "aclrtAllocatorRegister";
    if (stream_handle == nullptr) return fail_null(function, "stream");
    if (allocator.object == nullptr || allocator.allocate == nullptr || allocator.free == nullptr ||
        allocator.advise == nullptr || allocator.address == nullptr)
      return fail_value(function, "incomplete", "allocatorDesc", "the object and all four functions must be set");
    int code = 0;
    const auto stream = stream_of(function, stream_handle, code);
    if (stream == nullptr) return code;
    // The first memory of a stream decides: whatever allocates for it then, stays.
    if (stream->allocator == nullptr) {
      auto copy = std::make_shared<Allocator>(allocator);
      copy->handle = handle;
      stream->allocator = copy;
    }
    return code;
  });
}

extern "C" aclError aclrtAllocatorUnregister(aclrtStream stream_handle) {
  return run(Function::aclrtAllocatorUnregister, [&] {
    if (stream_handle == nullptr) return fail_null("aclrtAllocatorUnregister", "stream");
    const Lock lock(big_lock());
    int code = 0;
    const auto stream = stream_of("aclrtAllocatorUnregister", stream_handle, code);
    if (stream != nullptr) stream->allocator.reset();
    return code;
  });
}

extern "C" aclError aclrtAllocatorGetByStream(aclrtStream stream_handle, aclrtAllocatorDesc* handle,
                                              aclrtAllocator* object, aclrtAllocatorAllocFunc* allocate,
                                              aclrtAllocatorFreeFunc* free, aclrtAllocatorAllocAdviseFunc* advise,
                                              aclrtAllocatorGetAddrFromBlockFunc* address) {
  return run(Function::aclrtAllocatorGetByStream, [&] {
    const char* function = "aclrtAllocatorGetByStream";
    if (stream_handle == nullptr || handle == nullptr || object == nullptr || allocate == nullptr || free == nullptr ||
        advise == nullptr || address == nullptr)
      return fail_null(function, "an argument");
    const Lock lock(big_lock());
    int code = 0;
    const auto stream = stream_of(function, stream_handle, code);
    if (stream == nullptr) return code;
    if (stream->allocator == nullptr)
      return fail_value(function, "the stream", "stream", "no allocator is registered for it");
    const Allocator& a = *stream->allocator;
    *handle = a.handle, *object = a.object, *allocate = a.allocate, *free = a.free, *advise = a.advise,
    *address = a.address;
    return code;
  });
}
