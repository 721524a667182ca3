// Streams: one worker thread each, tasks in order, late on purpose.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "allocator.hpp"
#include "clock.hpp"
#include "device.hpp"
#include "event.hpp"
#include "handles.hpp"
#include "state.hpp"

namespace aclsim {

class Stream;

// One thing that a stream does. perform runs on the worker with the lock held, may release it, and returns a code;
// a failure's text goes to `text`.
class Task {
 public:
  virtual ~Task() = default;
  virtual int perform(Stream& stream, Lock& lock, std::string& text) = 0;
  // The task will not be performed: its stream was destroyed or aborted.
  virtual void drop() {}
  virtual bool is_copy() const { return false; }
  // Runs no code of the program, so that a thread which waits for the stream may run it instead of the worker.
  virtual bool anywhere() const { return false; }

  std::uint64_t sequence = 0;
  std::uint32_t id = 0;
  Nanoseconds queued_at = 0;
  Nanoseconds delay = 0;  // asked for by the fault plan
  int injected = 0;       // likewise
  std::uint64_t thread = 0;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  static constexpr Kind kind = Kind::stream;

  Stream(std::shared_ptr<Context> context, std::uint32_t id, std::uint32_t priority, std::uint32_t flags,
         bool is_default);
  ~Stream();

  // Queues a task; 0, or the code with which a broken stream refuses.
  int push(std::unique_ptr<Task> task, const char* function);
  // Waits until everything queued so far is done. `timeout_ms` -1: without end. 0, 507046, or a task's failure.
  int synchronize(Lock& lock, int timeout_ms, const char* function);
  bool idle() const;
  // Lets the worker begin everything up to a task at once.
  void hurry(std::uint64_t sequence);
  void hurry() { hurry(pushed_); }
  // Runs the next task on the calling thread, when none runs and this one may; false when there was nothing to do.
  bool help(Lock& lock);
  // Drops what has not begun; waiters get 107023.
  void abort(Lock& lock);
  // Ends the worker. With `force` what has not begun is dropped. The stream is dead afterwards.
  void retire(Lock& lock, bool force);

  // For tasks: the end of a piece of work on an engine, and the wait for it. False when aborted meanwhile.
  Nanoseconds occupy(Engine engine, Nanoseconds cost);
  bool wait_until(Lock& lock, Nanoseconds end);
  bool wait_event(Lock& lock, Event& event, std::uint64_t record);

  bool is_default() const { return default_; }
  Device& device() const { return *device_; }
  Context* context() const { return context_.get(); }
  std::uint64_t pushed() const { return pushed_; }
  std::uint64_t done() const { return done_; }
  Nanoseconds time() const { return time_; }
  bool dead() const { return dead_; }

  const std::uint32_t id;
  const std::uint32_t priority;
  const std::uint32_t flags;
  std::uint64_t failure_mode = 0;
  std::uint64_t subscriber = 0;                                          // thread of aclrtSubscribeReport
  std::uint64_t host_subscriber = 0;                                     // of aclrtSubscribeHostFunc
  std::uint32_t overflow_switch = 0, custom_tag = 0, cache_op_info = 0;  // kept to be read back
  std::shared_ptr<Allocator> allocator;                                  // aclrtAllocatorRegister
  Slot* slot = nullptr;  // its handle; null for a default stream that was never asked for

 private:
  void work();
  void run_next(Lock& lock);
  void finish(Lock& lock, Task& task, int code, const std::string& text);

  std::shared_ptr<Context> context_;
  Device* device_;
  bool default_;
  bool dead_ = false, stopping_ = false, started_ = false;
  std::uint64_t aborts_ = 0;
  std::deque<std::unique_ptr<Task>> queue_;
  std::uint64_t pushed_ = 0, done_ = 0, hurried_ = 0, aborted_until_ = 0;
  Nanoseconds time_ = 0;  // when its last task ended; in virtual time the only clock that counts
  Nanoseconds task_start_ = 0;
  bool running_ = false;   // a task runs, on the worker or on a thread that waits for it
  bool sleeping_ = false;  // the worker waits for work
  int error_ = 0;          // of a task, until somebody synchronizes
  std::string error_text_;
  std::condition_variable work_, done_signal_;
  std::thread worker_;
};

// The stream of a handle, or the current context's default one for null, checked against the current context.
// Null and a recorded code otherwise.
std::shared_ptr<Stream> stream_of(const char* function, const void* handle, int& code);
std::shared_ptr<Stream> default_stream(const std::shared_ptr<Context>& context);

// aclrtSetExceptionInfoCallback; called by workers without the lock.
void set_exception_callback(aclrtExceptionInfoCallback callback);

}  // namespace aclsim

struct aclrtExceptionInfo {
  std::uint32_t task, stream, thread, device, code;
};
