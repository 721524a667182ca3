// Events.
#include <set>

#include "call.hpp"
#include "device.hpp"
#include "event.hpp"
#include "options.hpp"
#include "stream.hpp"

namespace aclsim {
namespace {

std::set<Event*>& live_events() {
  static auto* events = new std::set<Event*>;
  return *events;
}
std::uint32_t next_event = 0;

class RecordTask : public Task {
 public:
  RecordTask(std::shared_ptr<Event> event, std::uint64_t record) : event_(std::move(event)), record_(record) {}
  int perform(Stream& stream, Lock&, std::string&) override {
    event_->when = Clock::get().is_virtual() ? stream.occupy(Engine::compute, 0) : Clock::get().now();
    drop();
    return 0;
  }
  void drop() override {
    if (event_->reached < record_) event_->reached = record_;
    event_->changed.notify_all();
  }
  bool anywhere() const override { return true; }

 private:
  std::shared_ptr<Event> event_;
  std::uint64_t record_;
};

class WaitTask : public Task {
 public:
  WaitTask(std::shared_ptr<Event> event, std::uint64_t record, Nanoseconds limit)
      : event_(std::move(event)), record_(record), limit_(limit) {}
  int perform(Stream& stream, Lock& lock, std::string& text) override {
    const Nanoseconds begin = Clock::get().now();
    stream.wait_event(lock, *event_, record_);
    drop();
    if (limit_ != 0 && std::max(stream.time(), Clock::get().now()) > begin + limit_) {
      text = format_error("EE9999", "A wait for an event took longer than its time-out.");
      return rt_event_sync_timeout;
    }
    return 0;
  }
  void drop() override { ++event_->waited; }
  bool anywhere() const override { return true; }

 private:
  std::shared_ptr<Event> event_;
  std::uint64_t record_;
  Nanoseconds limit_;
};

class ResetTask : public Task {
 public:
  ResetTask(std::shared_ptr<Event> event, std::uint64_t records) : event_(std::move(event)), records_(records) {}
  int perform(Stream&, Lock&, std::string&) override {
    // Only a record that came later than the reset counts from here on.
    if (event_->records == records_) event_->records = event_->reached = 0;
    return 0;
  }
  bool anywhere() const override { return true; }

 private:
  std::shared_ptr<Event> event_;
  std::uint64_t records_;
};

int create(const char* function, aclrtEvent* out, std::uint32_t flags, bool resettable, bool extended) {
  if (out == nullptr) return fail_null(function, "event");
  const Lock lock(big_lock());
  int code = 0;
  const auto context = current_context(function, code);
  if (context == nullptr) return code;
  if ((flags & ~0x7Bu) != 0 || (!resettable && flags == 0))
    return fail_value(function, std::to_string(flags), "flag", "it is no combination of the ACL_EVENT_ flags");
  Device& device = *context->device;
  if (device.events >= options().events())
    return fail(rt_no_event, "EE1023", "%s failed. Reason: all %u events of the device are in use.", function,
                options().events());
  auto event = std::make_shared<Event>();
  event->device = device.id;
  event->flags = flags;
  event->resettable = resettable;
  event->extended = extended;
  event->id = next_event++;
  event->slot = HandleTable::get().insert(event);
  ++device.events;
  live_events().insert(event.get());
  *out = event->slot;
  return 0;
}

std::shared_ptr<Event> event_of(const char* function, const void* handle, int& code) {
  if (handle == nullptr) {
    code = fail_null(function, "event");
    return nullptr;
  }
  auto event = HandleTable::get().find<Event>(handle);
  if (event == nullptr) code = fail_handle(function, "event", handle);
  return event;
}

int record(const char* function, aclrtEvent handle, aclrtStream on) {
  const Lock lock(big_lock());
  int code = 0;
  const auto event = event_of(function, handle, code);
  if (event == nullptr) return code;
  const auto stream = stream_of(function, on, code);
  if (stream == nullptr) return code;
  if (stream->device().id != event->device)
    return fail(rt_stream_context, "EE1010", "%s failed because the event is of device %d, the stream of device %d.",
                function, event->device, stream->device().id);
  code = stream->push(std::make_unique<RecordTask>(event, event->records + 1), function);
  if (code != 0) return code;
  ++event->records;
  event->stream = stream;
  event->stream_task = stream->pushed();
  return 0;
}

int stream_wait(const char* function, aclrtStream on, aclrtEvent handle, Nanoseconds limit) {
  const Lock lock(big_lock());
  int code = 0;
  const auto event = event_of(function, handle, code);
  if (event == nullptr) return code;
  const auto stream = stream_of(function, on, code);
  if (stream == nullptr) return code;
  if (!event->resettable && (event->flags & ACL_EVENT_SYNC) == 0 && !event->extended)
    return fail(rt_param_invalid, "EE1011", "%s failed. The event was not created with ACL_EVENT_SYNC.", function);
  if (!event->recorded()) Machine::get().violation("wait for an event that was never recorded");
  code = stream->push(std::make_unique<WaitTask>(event, event->records, limit), function);
  if (code == 0) ++event->waits;
  return code;
}

int host_wait(const char* function, aclrtEvent handle, std::int32_t timeout_ms) {
  Lock lock(big_lock());
  int code = 0;
  const auto event = event_of(function, handle, code);
  if (event == nullptr) return code;
  if (this_thread().in_callback)
    return fail(rt_param_invalid, "EE1011", "%s must not be called in a callback.", function);
  const Nanoseconds begin = Clock::get().now();
  const Nanoseconds limit = timeout_ms < 0 ? UINT64_MAX : static_cast<Nanoseconds>(timeout_ms) * 1'000'000;
  const std::uint64_t target = event->records;
  const auto late = [&] {
    return fail(rt_event_sync_timeout, "EE1002", "Event synchronize timeout. event_id=%u, timeout=%dms", event->id,
                timeout_ms);
  };
  while (event->reached < target && event->error == 0) {
    const auto source = event->stream.lock();
    if (timeout_ms < 0 && source != nullptr && source->help(lock)) continue;
    if (source != nullptr) source->hurry(event->stream_task);
    if (timeout_ms < 0 || Clock::get().is_virtual()) {
      event->changed.wait(lock);
    } else {
      if (Clock::real_now() >= begin + limit) return late();
      event->changed.wait_until(lock, Clock::real_point(begin + limit));
    }
  }
  if (event->error != 0) return fail(event->error, "EE1017", "%s failed: the event's device was reset.", function);
  if (Clock::get().is_virtual()) {
    if (limit != UINT64_MAX && event->when > begin + limit) {
      Clock::get().advance_to(begin + limit);
      return late();
    }
    Clock::get().advance_to(event->when);
  }
  return 0;
}

// Asks about an event, and lets its stream get on with it.
template <typename Get>
int query(const char* function, aclrtEvent handle, bool no_extended, Get get) {
  const Lock lock(big_lock());
  int code = 0;
  const auto event = event_of(function, handle, code);
  if (event == nullptr) return code;
  if (no_extended && event->extended)
    return fail(rt_param_invalid, "EE1011", "%s cannot be used with an event of aclrtCreateEventExWithFlag.", function);
  if (!event->complete()) {
    if (const auto source = event->stream.lock()) source->hurry(event->stream_task);
    if (Clock::get().is_virtual()) Clock::get().advance_to(Clock::get().now() + 10'000);
  }
  get(*event);
  return 0;
}

}  // namespace

void drop_events_of(int device) {
  for (auto at = live_events().begin(); at != live_events().end();) {
    Event* event = *at;
    if (event->device != device) {
      ++at;
      continue;
    }
    event->error = invalid_handle;
    event->changed.notify_all();
    at = live_events().erase(at);
    HandleTable::get().erase(event->slot);
  }
}

}  // namespace aclsim

using namespace aclsim;

extern "C" aclError aclrtCreateEvent(aclrtEvent* out) {
  return run(Function::aclrtCreateEvent,
             [&] { return create("aclrtCreateEvent", out, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE, true, false); });
}

extern "C" aclError aclrtCreateEventWithFlag(aclrtEvent* out, uint32_t flags) {
  return run(Function::aclrtCreateEventWithFlag,
             [&] { return create("aclrtCreateEventWithFlag", out, flags, false, false); });
}

extern "C" aclError aclrtCreateEventExWithFlag(aclrtEvent* out, uint32_t flags) {
  return run(Function::aclrtCreateEventExWithFlag,
             [&] { return create("aclrtCreateEventExWithFlag", out, flags, false, true); });
}

extern "C" aclError aclrtDestroyEvent(aclrtEvent handle) {
  return run(Function::aclrtDestroyEvent, [&] {
    const Lock lock(big_lock());
    int code = 0;
    const auto event = event_of("aclrtDestroyEvent", handle, code);
    if (event == nullptr) return code;
    live_events().erase(event.get());
    HandleTable::get().erase(handle);
    --Machine::get().devices[static_cast<std::size_t>(event->device)]->events;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return run(Function::aclrtRecordEvent, [&] { return record("aclrtRecordEvent", event, stream); });
}

extern "C" aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag) {
  return run(Function::aclrtRecordEventWithFlag, [&] {
    if (flag > 1) return fail_value("aclrtRecordEventWithFlag", std::to_string(flag), "flag", "it is neither 0 nor 1");
    return record("aclrtRecordEventWithFlag", event, stream);
  });
}

extern "C" aclError aclrtResetEvent(aclrtEvent handle, aclrtStream on) {
  return run(Function::aclrtResetEvent, [&] {
    const Lock lock(big_lock());
    int code = 0;
    const auto event = event_of("aclrtResetEvent", handle, code);
    if (event == nullptr) return code;
    if (event->extended)
      return fail(rt_param_invalid, "EE1011",
                  "aclrtResetEvent cannot be used with an event of aclrtCreateEventExWithFlag.");
    const auto stream = stream_of("aclrtResetEvent", on, code);
    if (stream == nullptr) return code;
    return stream->push(std::make_unique<ResetTask>(event, event->records), "aclrtResetEvent");
  });
}

extern "C" aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return run(Function::aclrtStreamWaitEvent, [&] { return stream_wait("aclrtStreamWaitEvent", stream, event, 0); });
}

extern "C" aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
  return run(Function::aclrtStreamWaitEventWithTimeout, [&] {
    if (timeout < 0)
      return fail(rt_param_invalid, "EE1003",
                  "aclrtStreamWaitEventWithTimeout failed because value %d for parameter timeout is invalid.", timeout);
    return stream_wait("aclrtStreamWaitEventWithTimeout", stream, event, static_cast<Nanoseconds>(timeout) * 1'000'000);
  });
}

extern "C" aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return run(Function::aclrtSynchronizeEvent, [&] { return host_wait("aclrtSynchronizeEvent", event, -1); });
}

extern "C" aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return run(Function::aclrtSynchronizeEventWithTimeout, [&] {
    if (timeout < -1)
      return fail(rt_param_invalid, "EE1003",
                  "aclrtSynchronizeEventWithTimeout failed because value %d for parameter timeout is invalid. Expected "
                  "value: -1 or more.",
                  timeout);
    return host_wait("aclrtSynchronizeEventWithTimeout", event, timeout);
  });
}

extern "C" aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  return run(Function::aclrtQueryEvent, [&] {
    if (status == nullptr) return fail_null("aclrtQueryEvent", "status");
    return query("aclrtQueryEvent", event, true, [&](Event& e) {
      *status = e.recorded() && e.complete() ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    });
  });
}

extern "C" aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return run(Function::aclrtQueryEventStatus, [&] {
    if (status == nullptr) return fail_null("aclrtQueryEventStatus", "status");
    // The other way round than aclrtQueryEvent: 1 is complete. An event that was not recorded has nothing to wait for.
    return query("aclrtQueryEventStatus", event, false, [&](Event& e) {
      *status = e.complete() ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    });
  });
}

extern "C" aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  return run(Function::aclrtQueryEventWaitStatus, [&] {
    if (status == nullptr) return fail_null("aclrtQueryEventWaitStatus", "status");
    return query("aclrtQueryEventWaitStatus", event, true, [&](Event& e) {
      *status = e.waits == e.waited ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    });
  });
}

namespace {

int timed(const char* function, const Event& event) {
  if ((event.flags & ACL_EVENT_TIME_LINE) == 0)
    return fail(rt_event_timestamp_invalid, "EE1011", "%s failed. The event was not created with ACL_EVENT_TIME_LINE.",
                function);
  if (!event.recorded() || !event.complete())
    return fail(rt_event_timestamp_invalid, "EE1011",
                "%s failed. The event was not recorded, or its stream has not reached it.", function);
  return 0;
}

}  // namespace

extern "C" aclError aclrtEventElapsedTime(float* ms, aclrtEvent start, aclrtEvent end) {
  return run(Function::aclrtEventElapsedTime, [&] {
    if (ms == nullptr) return fail_null("aclrtEventElapsedTime", "ms");
    const Lock lock(big_lock());
    int code = 0;
    const auto from = event_of("aclrtEventElapsedTime", start, code);
    if (from == nullptr) return code;
    const auto to = event_of("aclrtEventElapsedTime", end, code);
    if (to == nullptr) return code;
    if (code = timed("aclrtEventElapsedTime", *from); code != 0) return code;
    if (code = timed("aclrtEventElapsedTime", *to); code != 0) return code;
    if (to->when < from->when)
      return fail(rt_event_timestamp_reversal, "EE1011",
                  "aclrtEventElapsedTime failed. The end lies before the start.");
    *ms = static_cast<float>(static_cast<double>(to->when - from->when) / 1e6);
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtEventGetTimestamp(aclrtEvent handle, uint64_t* us) {
  return run(Function::aclrtEventGetTimestamp, [&] {
    if (us == nullptr) return fail_null("aclrtEventGetTimestamp", "timestamp");
    const Lock lock(big_lock());
    int code = 0;
    const auto event = event_of("aclrtEventGetTimestamp", handle, code);
    if (event == nullptr) return code;
    if (code = timed("aclrtEventGetTimestamp", *event); code != 0) return code;
    *us = event->when / 1000;
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtGetEventAvailNum(uint32_t* count) {
  return run(Function::aclrtGetEventAvailNum, [&] {
    if (count == nullptr) return fail_null("aclrtGetEventAvailNum", "eventCount");
    const Lock lock(big_lock());
    int code = 0;
    const auto context = current_context("aclrtGetEventAvailNum", code);
    if (context == nullptr) return code;
    *count = static_cast<std::uint32_t>(options().events() - context->device->events);
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclrtGetEventId(aclrtEvent handle, uint32_t* id) {
  return run(Function::aclrtGetEventId, [&] {
    if (id == nullptr) return fail_null("aclrtGetEventId", "eventId");
    const Lock lock(big_lock());
    int code = 0;
    const auto event = event_of("aclrtGetEventId", handle, code);
    if (event == nullptr) return code;
    *id = event->id;
    return static_cast<int>(ok);
  });
}
