#include "stream.hpp"

#include <algorithm>

#include "codes.hpp"
#include "error_text.hpp"
#include "options.hpp"

namespace aclsim {
namespace {

aclrtExceptionInfoCallback exception_callback = nullptr;  // guarded by the big lock

}  // namespace

void set_exception_callback(aclrtExceptionInfoCallback callback) { exception_callback = callback; }

Stream::Stream(std::shared_ptr<Context> context, std::uint32_t number, std::uint32_t prio, std::uint32_t flag_bits,
               bool is_default)
    : id(number),
      priority(prio),
      flags(flag_bits),
      context_(std::move(context)),
      device_(context_->device),
      default_(is_default) {
  device_->streams.push_back(this);
}

Stream::~Stream() {
  if (worker_.joinable()) worker_.detach();  // only at the process's end, or after retire
}

int Stream::push(std::unique_ptr<Task> task, const char* function) {
  if (dead_) return fail_handle(function, "stream", slot);
  if (context_->stopped != 0)
    return fail(context_->stopped, "EE9999",
                "%s failed: a task of this context failed in a stream that stops on failure.", function);
  ThreadState& thread = this_thread();
  task->sequence = ++pushed_;
  task->id = thread.last_task = static_cast<std::uint32_t>(pushed_ & 0xFFFF);
  task->queued_at = Clock::get().now();
  task->delay = thread.task_delay_ns;
  task->injected = thread.task_error;
  task->thread = thread.id;
  if (task->is_copy()) ++Machine::get().copies_in_flight;
  queue_.push_back(std::move(task));
  if (!started_) {
    started_ = true;
    worker_ = std::thread([keep = shared_from_this()] { keep->work(); });
  } else if (sleeping_) {
    sleeping_ = false;
    work_.notify_all();
  }
  return 0;
}

void Stream::hurry(std::uint64_t sequence) {
  if (sequence <= hurried_) return;
  hurried_ = sequence;
  if (!queue_.empty()) work_.notify_all();
}

void Stream::work() {
  Lock lock(big_lock());
  for (;;) {
    if (queue_.empty() || running_) {
      if (stopping_ && !running_) return;
      sleeping_ = true;
      work_.wait(lock);
      continue;
    }
    sleeping_ = false;
    // A card does not begin at once. Who does not wait for the end must not find the work done by luck.
    const Task& next = *queue_.front();
    const Nanoseconds lateness = options().lateness_us * 1000;
    if (next.sequence > hurried_ && !stopping_ && lateness != 0 && !Clock::get().is_virtual()) {
      const Nanoseconds begin = next.queued_at + lateness;
      if (Clock::real_now() < begin) {
        work_.wait_until(lock, Clock::real_point(begin));
        continue;
      }
    }
    run_next(lock);
  }
}

void Stream::run_next(Lock& lock) {
  const std::unique_ptr<Task> task = std::move(queue_.front());
  queue_.pop_front();
  running_ = true;
  task_start_ = std::max(Clock::get().is_virtual() ? task->queued_at : Clock::get().now(), time_);
  std::string text;
  int code = device_->lost_code();
  if (code != 0) {
    text = format_error("EE9999", "Device " + std::to_string(device_->id) + " is lost.");
    task->drop();
  } else if (context_->stopped != 0) {
    task->drop();
  } else if (task->injected != 0) {
    code = task->injected;
    text = format_error("EE9999", "A task failed by the simulator's fault plan.");
    task->drop();
  } else {
    code = task->perform(*this, lock, text);
  }
  if (task->delay != 0) {
    const Nanoseconds end = std::max(time_, task_start_) + task->delay;
    time_ = end;
    wait_until(lock, end);
  }
  finish(lock, *task, code, text);
  running_ = false;
}

void Stream::finish(Lock& lock, Task& task, int code, const std::string& text) {
  if (task.is_copy()) --Machine::get().copies_in_flight;
  if (code != 0) {
    error_ = code;
    error_text_ = text;
    device_->last_fault = code;
    if (failure_mode == ACL_STOP_ON_FAILURE) context_->stopped = code;
    if (exception_callback != nullptr) {
      const auto callback = exception_callback;
      aclrtExceptionInfo info{task.id, id, static_cast<std::uint32_t>(task.thread),
                              static_cast<std::uint32_t>(device_->id), static_cast<std::uint32_t>(code)};
      const bool nested = this_thread().in_callback;
      this_thread().in_callback = true;
      lock.unlock();
      callback(&info);
      lock.lock();
      this_thread().in_callback = nested;
    }
  }
  if (!Clock::get().is_virtual())
    time_ = Clock::get().now();
  else
    time_ = std::max(time_, task_start_);
  done_ = task.sequence;
  done_signal_.notify_all();
}

Nanoseconds Stream::occupy(Engine engine, Nanoseconds cost) {
  const Nanoseconds end = device_->occupy(engine, std::max(task_start_, time_), cost);
  time_ = std::max(time_, end);
  return end;
}

bool Stream::wait_until(Lock& lock, Nanoseconds end) {
  if (Clock::get().is_virtual()) return true;
  const std::uint64_t aborts = aborts_;
  while (Clock::real_now() < end && aborts == aborts_) work_.wait_until(lock, Clock::real_point(end));
  return aborts == aborts_;
}

bool Stream::wait_event(Lock& lock, Event& event, std::uint64_t record) {
  const std::uint64_t aborts = aborts_;
  while (event.reached < record && event.error == 0 && aborts == aborts_) {
    if (const auto source = event.stream.lock()) source->hurry(event.stream_task);
    event.changed.wait(lock);
  }
  time_ = std::max({time_, task_start_, event.when});
  return aborts == aborts_;
}

bool Stream::idle() const { return done_ == pushed_ && (!Clock::get().is_virtual() || time_ <= Clock::get().now()); }

bool Stream::help(Lock& lock) {
  if (running_ || queue_.empty() || dead_ || !queue_.front()->anywhere()) return false;
  const auto keep = shared_from_this();
  run_next(lock);
  if (stopping_ || !queue_.empty()) work_.notify_all();
  return true;
}

int Stream::synchronize(Lock& lock, int timeout_ms, const char* function) {
  if (this_thread().in_callback)
    return fail(rt_param_invalid, "EE1011", "%s must not be called in a callback: the stream waits for its end.",
                function);
  const auto keep = shared_from_this();
  const std::uint64_t target = pushed_;
  const Nanoseconds begin = Clock::get().now();
  const Nanoseconds limit = timeout_ms < 0 ? UINT64_MAX : static_cast<Nanoseconds>(timeout_ms) * 1'000'000;
  hurried_ = std::max(hurried_, target);
  if (!queue_.empty() && (running_ || timeout_ms >= 0 || !queue_.front()->anywhere())) work_.notify_all();
  while (done_ < target) {
    if (aborted_until_ >= target)
      return fail(rt_stream_abort, "EE9999", "%s failed: the stream was aborted.", function);
    if (dead_) return fail_handle(function, "stream", slot);
    // Instead of waiting for the worker to wake up, this thread does the work.
    if (timeout_ms < 0 && help(lock)) continue;
    if (timeout_ms < 0 || Clock::get().is_virtual()) {
      done_signal_.wait(lock);
    } else {
      if (Clock::real_now() >= begin + limit)
        return fail(rt_stream_sync_timeout, "EE1002", "Stream synchronize timeout. stream_id=%u, timeout=%dms", id,
                    timeout_ms);
      done_signal_.wait_until(lock, Clock::real_point(begin + limit));
    }
  }
  if (Clock::get().is_virtual()) {
    if (limit != UINT64_MAX && time_ > begin + limit) {
      Clock::get().advance_to(begin + limit);
      return fail(rt_stream_sync_timeout, "EE1002", "Stream synchronize timeout. stream_id=%u, timeout=%dms", id,
                  timeout_ms);
    }
    Clock::get().advance_to(time_);
  }
  if (error_ != 0) {
    const int code = error_;
    error_ = 0;
    add_error_text(error_text_);
    this_thread().last_error = code;
    return code;
  }
  if (context_->stopped != 0)
    return fail(context_->stopped, "EE9999",
                "%s failed: a task of this context failed in a stream that stops on failure.", function);
  return 0;
}

void Stream::abort(Lock& lock) {
  ++aborts_;
  aborted_until_ = pushed_;
  for (auto& task : queue_) {
    if (task->is_copy()) --Machine::get().copies_in_flight;
    task->drop();
  }
  const bool running = started_ && done_ + queue_.size() < pushed_ && worker_.get_id() != std::this_thread::get_id();
  const std::uint64_t last = pushed_ - queue_.size();
  queue_.clear();
  work_.notify_all();
  done_signal_.notify_all();
  while (running && done_ < last) done_signal_.wait(lock);
  done_ = aborted_until_;
  error_ = 0;
  done_signal_.notify_all();
}

void Stream::retire(Lock& lock, bool force) {
  const auto keep = shared_from_this();
  if (dead_) return;
  dead_ = true;
  if (force && done_ != pushed_) abort(lock);
  stopping_ = true;
  work_.notify_all();
  if (worker_.joinable()) {
    if (worker_.get_id() == std::this_thread::get_id()) {
      worker_.detach();  // a callback destroyed its own stream
    } else {
      std::thread worker = std::move(worker_);
      lock.unlock();
      worker.join();
      lock.lock();
    }
  }
  done_signal_.notify_all();
  auto& list = device_->streams;
  list.erase(std::remove(list.begin(), list.end(), this), list.end());
  if (slot != nullptr) {
    HandleTable::get().erase(slot);
    if (!default_ && context_->streams > 0) --context_->streams;
  }
  if (default_) context_->default_stream.reset();
}

std::shared_ptr<Stream> default_stream(const std::shared_ptr<Context>& context) {
  if (context->default_stream == nullptr)
    context->default_stream = std::make_shared<Stream>(context, context->device->next_stream++, 0, 0, true);
  return context->default_stream;
}

std::shared_ptr<Stream> stream_of(const char* function, const void* handle, int& code) {
  const auto context = current_context(function, code);
  if (context == nullptr) return nullptr;
  if (handle == nullptr) return default_stream(context);
  auto stream = HandleTable::get().find<Stream>(handle);
  if (stream == nullptr) {
    code = fail_handle(function, "stream", handle);
    return nullptr;
  }
  if (stream->context() != context.get()) {
    code = fail(rt_stream_context, "EE1010",
                "%s execution failed because stream (stream_id=%u) does not belong to the current context.", function,
                stream->id);
    return nullptr;
  }
  return stream;
}

}  // namespace aclsim
