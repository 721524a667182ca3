// Callbacks: functions of the program that a stream calls.
#include <pthread.h>

#include <deque>
#include <map>

#include "call.hpp"
#include "device.hpp"
#include "stream.hpp"

namespace aclsim {
namespace {

struct Report {
  aclrtCallback function;
  void* data;
  bool done = false;
  std::condition_variable changed;
};

// Threads that serve streams. Guarded by the big lock.
struct Subscriber {
  std::size_t streams = 0;
  std::deque<std::shared_ptr<Report>> reports;
  std::condition_variable arrived;
};
using Subscribers = std::map<std::uint64_t, Subscriber>;
// Of aclrtLaunchCallback, and of aclrtLaunchHostFunc.
Subscribers& subscribers() {
  static auto* table = new Subscribers;
  return *table;
}
Subscribers& host_subscribers() {
  static auto* table = new Subscribers;
  return *table;
}

// Hands the function to the subscribed thread; a blocking one holds the stream until that has run it.
class ReportTask : public Task {
 public:
  ReportTask(aclrtCallback function, void* data, bool block, bool host)
      : function_(function), data_(data), block_(block), host_(host) {}
  int perform(Stream& stream, Lock& lock, std::string& text) override {
    Subscribers& table = host_ ? host_subscribers() : subscribers();
    const auto at = table.find(host_ ? stream.host_subscriber : stream.subscriber);
    if (at == table.end()) {
      text = format_error("EE1011", "A callback was reached whose stream is subscribed by no thread any more.");
      return rt_stream_no_callback;
    }
    const auto report = std::make_shared<Report>();
    report->function = function_;
    report->data = data_;
    at->second.reports.push_back(report);
    at->second.arrived.notify_all();
    while (block_ && !report->done && !stream.dead()) report->changed.wait_for(lock, std::chrono::milliseconds(100));
    return 0;
  }

 private:
  aclrtCallback function_;
  void* data_;
  bool block_, host_;
};

// Runs on the stream's own thread.
class HostTask : public Task {
 public:
  HostTask(aclrtHostFunc function, void* data) : function_(function), data_(data) {}
  int perform(Stream&, Lock& lock, std::string&) override {
    lock.unlock();
    this_thread().in_callback = true;
    function_(data_);
    this_thread().in_callback = false;
    lock.lock();
    return 0;
  }

 private:
  aclrtHostFunc function_;
  void* data_;
};

}  // namespace
}  // namespace aclsim

using namespace aclsim;

namespace {

int subscribe(const char* function, Subscribers& table, std::uint64_t Stream::* member, std::uint64_t thread,
              void* handle) {
  const Lock lock(big_lock());
  int code = 0;
  const auto stream = stream_of(function, handle, code);
  if (stream == nullptr) return code;
  if (thread == 0) return fail_value(function, "0", "threadId", "it is no thread");
  if (stream.get()->*member != 0)
    return fail(rt_stream_subscribe, "EE1011", "%s failed. Stream %u is subscribed already.", function, stream->id);
  stream.get()->*member = thread;
  ++table[thread].streams;
  return 0;
}

int unsubscribe(const char* function, Subscribers& table, std::uint64_t Stream::* member, std::uint64_t thread,
                void* handle) {
  const Lock lock(big_lock());
  int code = 0;
  const auto stream = stream_of(function, handle, code);
  if (stream == nullptr) return code;
  const auto at = table.find(thread);
  if (at == table.end())
    return fail(rt_thread_subscribe, "EE1011", "%s failed. Thread %llu subscribes no stream.", function,
                static_cast<unsigned long long>(thread));
  if (stream.get()->*member != thread)
    return fail(rt_stream_subscribe, "EE1011", "%s failed. Stream %u is not subscribed by that thread.", function,
                stream->id);
  stream.get()->*member = 0;
  if (--at->second.streams == 0) {
    at->second.arrived.notify_all();
    // A thread that still waits in aclrtProcessReport looks its entry up again.
    if (at->second.reports.empty()) table.erase(at);
  }
  return 0;
}

int process(const char* function, Subscribers& table, std::int32_t timeout) {
  if (timeout < -1 || timeout == 0)
    return fail(rt_param_invalid, "EE1003",
                "%s failed because value %d for parameter timeout is invalid. Expected value: -1, or greater than 0.",
                function, timeout);
  Lock lock(big_lock());
  const std::uint64_t thread = this_thread().id;
  const Nanoseconds end = Clock::real_now() + static_cast<Nanoseconds>(timeout < 0 ? 0 : timeout) * 1'000'000;
  for (;;) {
    const auto at = table.find(thread);
    if (at == table.end())
      return fail(rt_thread_subscribe, "EE1011", "%s failed. This thread subscribes no stream.", function);
    Subscriber& subscriber = at->second;
    if (!subscriber.reports.empty()) {
      const auto report = subscriber.reports.front();
      subscriber.reports.pop_front();
      lock.unlock();
      this_thread().in_callback = true;
      report->function(report->data);
      this_thread().in_callback = false;
      lock.lock();
      report->done = true;
      report->changed.notify_all();
      return 0;
    }
    if (subscriber.streams == 0) {
      table.erase(at);
      continue;
    }
    if (timeout >= 0 && Clock::real_now() >= end) {
      this_thread().last_error = rt_report_timeout;  // idle, not worth a text
      return rt_report_timeout;
    }
    // In slices: the entry may go while this thread waits on its condition.
    const Nanoseconds slice = Clock::real_now() + 20'000'000;
    subscriber.arrived.wait_until(lock, Clock::real_point(timeout < 0 ? slice : std::min(slice, end)));
  }
}

}  // namespace

extern "C" aclError aclrtSubscribeReport(uint64_t thread, aclrtStream handle) {
  return run(Function::aclrtSubscribeReport,
             [&] { return subscribe("aclrtSubscribeReport", subscribers(), &Stream::subscriber, thread, handle); });
}

extern "C" aclError aclrtUnSubscribeReport(uint64_t thread, aclrtStream handle) {
  return run(Function::aclrtUnSubscribeReport,
             [&] { return unsubscribe("aclrtUnSubscribeReport", subscribers(), &Stream::subscriber, thread, handle); });
}

extern "C" aclError aclrtProcessReport(int32_t timeout) {
  return run(Function::aclrtProcessReport, [&] { return process("aclrtProcessReport", subscribers(), timeout); });
}

extern "C" aclError aclrtSubscribeHostFunc(uint64_t thread, aclrtStream handle) {
  return run(Function::aclrtSubscribeHostFunc, [&] {
    return subscribe("aclrtSubscribeHostFunc", host_subscribers(), &Stream::host_subscriber, thread, handle);
  });
}

extern "C" aclError aclrtUnSubscribeHostFunc(uint64_t thread, aclrtStream handle) {
  return run(Function::aclrtUnSubscribeHostFunc, [&] {
    return unsubscribe("aclrtUnSubscribeHostFunc", host_subscribers(), &Stream::host_subscriber, thread, handle);
  });
}

extern "C" aclError aclrtProcessHostFunc(int32_t timeout) {
  return run(Function::aclrtProcessHostFunc,
             [&] { return process("aclrtProcessHostFunc", host_subscribers(), timeout); });
}

extern "C" aclError aclrtLaunchCallback(aclrtCallback function, void* data, aclrtCallbackBlockType block,
                                        aclrtStream handle) {
  return run(Function::aclrtLaunchCallback, [&] {
    if (function == nullptr) return fail_null("aclrtLaunchCallback", "fn");
    if (block != ACL_CALLBACK_NO_BLOCK && block != ACL_CALLBACK_BLOCK)
      return fail_value("aclrtLaunchCallback", std::to_string(block), "blockType", "it is neither 0 nor 1");
    const Lock lock(big_lock());
    int code = 0;
    const auto stream = stream_of("aclrtLaunchCallback", handle, code);
    if (stream == nullptr) return code;
    if (stream->subscriber == 0)
      return fail(rt_stream_no_callback, "EE1011",
                  "aclrtLaunchCallback failed. No thread subscribed stream %u; call aclrtSubscribeReport first.",
                  stream->id);
    return stream->push(std::make_unique<ReportTask>(function, data, block == ACL_CALLBACK_BLOCK, false),
                        "aclrtLaunchCallback");
  });
}

extern "C" aclError aclrtLaunchHostFunc(aclrtStream handle, aclrtHostFunc function, void* data) {
  return run(Function::aclrtLaunchHostFunc, [&] {
    if (function == nullptr) return fail_null("aclrtLaunchHostFunc", "fn");
    const Lock lock(big_lock());
    int code = 0;
    const auto stream = stream_of("aclrtLaunchHostFunc", handle, code);
    if (stream == nullptr) return code;
    // With a thread subscribed for them, host functions run there and hold the stream all the same.
    if (stream->host_subscriber != 0)
      return stream->push(std::make_unique<ReportTask>(function, data, true, true), "aclrtLaunchHostFunc");
    return stream->push(std::make_unique<HostTask>(function, data), "aclrtLaunchHostFunc");
  });
}

extern "C" aclError aclrtGetThreadLastTaskId(uint32_t* id) {
  return run(Function::aclrtGetThreadLastTaskId, [&] {
    if (id == nullptr) return fail_null("aclrtGetThreadLastTaskId", "taskId");
    const Lock lock(big_lock());
    int code = 0;
    if (current_context("aclrtGetThreadLastTaskId", code) != nullptr) *id = this_thread().last_task;
    return code;
  });
}

extern "C" aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  return run(Function::aclrtSetExceptionInfoCallback, [&] {
    const Lock lock(big_lock());
    set_exception_callback(callback);
    return static_cast<int>(ok);
  });
}

namespace {

// These answer 0xFFFFFFFF without an info, as the real ones do.
template <typename Get>
std::uint32_t info_value(Function function, const aclrtExceptionInfo* info, Get get) {
  return ask(function, UINT32_MAX, [&] {
    if (info == nullptr) {
      fail_null(name_of(function), "info");
      return UINT32_MAX;
    }
    return get(*info);
  });
}

}  // namespace

extern "C" uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info_value(Function::aclrtGetTaskIdFromExceptionInfo, info,
                    [](const aclrtExceptionInfo& i) { return i.task; });
}
extern "C" uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info_value(Function::aclrtGetStreamIdFromExceptionInfo, info,
                    [](const aclrtExceptionInfo& i) { return i.stream; });
}
extern "C" uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info_value(Function::aclrtGetThreadIdFromExceptionInfo, info,
                    [](const aclrtExceptionInfo& i) { return i.thread; });
}
extern "C" uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info_value(Function::aclrtGetDeviceIdFromExceptionInfo, info,
                    [](const aclrtExceptionInfo& i) { return i.device; });
}
extern "C" uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info_value(Function::aclrtGetErrorCodeFromExceptionInfo, info,
                    [](const aclrtExceptionInfo& i) { return i.code; });
}
