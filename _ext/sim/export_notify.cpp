// Notifies, and streams that wait for a value in device memory.
#include <algorithm>
#include <cstring>

#include "call.hpp"
#include "copy.hpp"
#include "stream.hpp"

namespace aclsim {
namespace {

struct Notify {
  static constexpr Kind kind = Kind::notify;
  std::uint32_t id = 0;
  bool set = false;
  Nanoseconds when = 0;
  std::condition_variable changed;
};
std::uint32_t next_notify = 0;

// Woken by every write of a value; a copy into the memory is seen by looking again after a while.
std::condition_variable& value_written() {
  static auto* condition = new std::condition_variable;
  return *condition;
}
constexpr auto look_again = std::chrono::milliseconds(1);

class RecordNotifyTask : public Task {
 public:
  explicit RecordNotifyTask(std::shared_ptr<Notify> notify) : notify_(std::move(notify)) {}
  int perform(Stream& stream, Lock&, std::string&) override {
    notify_->set = true;
    notify_->when = Clock::get().is_virtual() ? stream.occupy(Engine::compute, 0) : Clock::get().now();
    notify_->changed.notify_all();
    return 0;
  }

 private:
  std::shared_ptr<Notify> notify_;
};

// Waits for a condition, at most a time; the streams that may fulfil it are let run.
template <typename Ready>
int wait_for(Stream& stream, Lock& lock, std::condition_variable& changed, std::uint64_t limit_ms, std::string& text,
             Ready ready) {
  const Nanoseconds begin = Clock::real_now();
  while (!ready()) {
    if (stream.dead()) return 0;
    if (limit_ms != 0 && Clock::real_now() >= begin + limit_ms * 1'000'000) {
      text = format_error("EE9999", "A stream waited longer than its time-out.");
      return rt_wait_timeout;
    }
    for (Stream* other : stream.device().streams) other->hurry();
    changed.wait_for(lock, look_again);
  }
  return 0;
}

class WaitNotifyTask : public Task {
 public:
  WaitNotifyTask(std::shared_ptr<Notify> notify, std::uint64_t limit_ms)
      : notify_(std::move(notify)), limit_ms_(limit_ms) {}
  int perform(Stream& stream, Lock& lock, std::string& text) override {
    const int code = wait_for(stream, lock, notify_->changed, limit_ms_, text, [&] { return notify_->set; });
    if (code == 0) notify_->set = false;
    return code;
  }

 private:
  std::shared_ptr<Notify> notify_;
  std::uint64_t limit_ms_;
};

class ValueWriteTask : public Task {
 public:
  ValueWriteTask(void* address, std::uint64_t value) : address_(reinterpret_cast<Address>(address)), value_(value) {}
  int perform(Stream&, Lock&, std::string& text) override {
    End end;
    if (!find_end(address_, sizeof value_, end, false, text)) return rt_sys_dma;
    std::memcpy(end.bytes, &value_, sizeof value_);
    value_written().notify_all();
    return 0;
  }

 private:
  Address address_;
  std::uint64_t value_;
};

class ValueWaitTask : public Task {
 public:
  ValueWaitTask(void* address, std::uint64_t value, std::uint32_t flag)
      : address_(reinterpret_cast<Address>(address)), value_(value), flag_(flag) {}
  int perform(Stream& stream, Lock& lock, std::string& text) override {
    bool lives = true;
    const int code = wait_for(stream, lock, value_written(), 0, text, [&] {
      End end;
      lives = find_end(address_, sizeof value_, end, false, text);
      std::uint64_t now = 0;
      if (lives) std::memcpy(&now, end.bytes, sizeof now);
      return !lives || matches(now);
    });
    return lives ? code : static_cast<int>(rt_sys_dma);
  }

 private:
  bool matches(std::uint64_t now) const {
    switch (flag_) {
      case ACL_STREAM_WAIT_VALUE_GEQ:
        return static_cast<std::int64_t>(now - value_) >= 0;
      case ACL_STREAM_WAIT_VALUE_EQ:
        return now == value_;
      case ACL_STREAM_WAIT_VALUE_AND:
        return (now & value_) != 0;
      default:
        return ~(now | value_) != 0;
    }
  }
  Address address_;
  std::uint64_t value_;
  std::uint32_t flag_;
};

// Both ends checked, under the lock.
std::shared_ptr<Notify> notify_of(const char* function, const void* handle, int& code) {
  auto notify = HandleTable::get().find<Notify>(handle);
  if (notify == nullptr)
    code = handle == nullptr ? fail_null(function, "notify") : fail_handle(function, "notify", handle);
  return notify;
}

template <typename Make>
int push(const char* function, const void* notify_handle, void* stream_handle, Make make) {
  const Lock lock(big_lock());
  int code = 0;
  const auto notify = notify_of(function, notify_handle, code);
  if (notify == nullptr) return code;
  const auto stream = stream_of(function, stream_handle, code);
  return stream == nullptr ? code : stream->push(make(notify), function);
}

int push_value(const char* function, const void* address, std::uint32_t flag, std::uint32_t most, void* stream_handle,
               std::unique_ptr<Task> task) {
  if (address == nullptr) return fail_null(function, "devAddr");
  if (reinterpret_cast<Address>(address) % 8 != 0)
    return fail(rt_param_invalid, "EE1011",
                "%s failed. Value %p for parameter devAddr is invalid. Reason: it is not aligned to 8 bytes.", function,
                address);
  if (flag > most) return fail_value(function, std::to_string(flag), "flag", "it is no way of comparing");
  const Lock lock(big_lock());
  int code = 0;
  const auto stream = stream_of(function, stream_handle, code);
  return stream == nullptr ? code : stream->push(std::move(task), function);
}

}  // namespace
}  // namespace aclsim

using namespace aclsim;

extern "C" aclError aclrtCreateNotify(aclrtNotify* out, uint64_t flag) {
  return run(Function::aclrtCreateNotify, [&] {
    if (out == nullptr) return fail_null("aclrtCreateNotify", "notify");
    if (flag > 1) return fail_value("aclrtCreateNotify", std::to_string(flag), "flag", "it is neither 0 nor 1");
    const Lock lock(big_lock());
    int code = 0;
    if (current_context("aclrtCreateNotify", code) == nullptr) return code;
    auto notify = std::make_shared<Notify>();
    notify->id = next_notify++;
    *out = HandleTable::get().insert(std::move(notify));
    return code;
  });
}

extern "C" aclError aclrtDestroyNotify(aclrtNotify handle) {
  return run(Function::aclrtDestroyNotify, [&] {
    const Lock lock(big_lock());
    int code = 0;
    if (notify_of("aclrtDestroyNotify", handle, code) != nullptr) HandleTable::get().erase(handle);
    return code;
  });
}

extern "C" aclError aclrtGetNotifyId(aclrtNotify handle, uint32_t* id) {
  return run(Function::aclrtGetNotifyId, [&] {
    if (id == nullptr) return fail_null("aclrtGetNotifyId", "notifyId");
    const Lock lock(big_lock());
    int code = 0;
    const auto notify = notify_of("aclrtGetNotifyId", handle, code);
    if (notify != nullptr) *id = notify->id;
    return code;
  });
}

extern "C" aclError aclrtRecordNotify(aclrtNotify handle, aclrtStream stream) {
  return run(Function::aclrtRecordNotify, [&] {
    return push("aclrtRecordNotify", handle, stream,
                [](auto notify) { return std::make_unique<RecordNotifyTask>(notify); });
  });
}

extern "C" aclError aclrtWaitAndResetNotify(aclrtNotify handle, aclrtStream stream, uint32_t timeout_s) {
  return run(Function::aclrtWaitAndResetNotify, [&] {
    return push("aclrtWaitAndResetNotify", handle, stream,
                [&](auto notify) { return std::make_unique<WaitNotifyTask>(notify, std::uint64_t{timeout_s} * 1000); });
  });
}

extern "C" aclError aclrtValueWrite(void* address, uint64_t value, uint32_t flag, aclrtStream stream) {
  return run(Function::aclrtValueWrite, [&] {
    return push_value("aclrtValueWrite", address, flag, 0, stream, std::make_unique<ValueWriteTask>(address, value));
  });
}

extern "C" aclError aclrtValueWait(void* address, uint64_t value, uint32_t flag, aclrtStream stream) {
  return run(Function::aclrtValueWait, [&] {
    return push_value("aclrtValueWait", address, flag, 3, stream,
                      std::make_unique<ValueWaitTask>(address, value, flag));
  });
}
