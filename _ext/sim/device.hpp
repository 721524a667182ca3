// A simulated card, its contexts and its engines.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "clock.hpp"
#include "device_memory.hpp"
#include "handles.hpp"
#include "state.hpp"

namespace aclsim {

class Stream;
class Device;

struct Context {
  static constexpr Kind kind = Kind::context;
  Device* device = nullptr;
  bool primary = false;
  Slot* slot = nullptr;
  std::shared_ptr<Stream> default_stream;  // made on first use
  int stopped = 0;                         // code of the task that failed in a stream which stops on failure
  std::size_t streams = 0;                 // explicit ones that live
};

// Parts of a card that do one thing at a time when the time model gives that thing a duration.
enum class Engine { h2d, d2h, d2d, compute };

class Device {
 public:
  explicit Device(int id) : id(id) {}

  const int id;
  DeviceMemory memory;
  std::uint64_t sets = 0;  // aclrtSetDevice minus aclrtResetDevice
  std::shared_ptr<Context> primary;
  std::vector<std::shared_ptr<Context>> contexts;  // explicit ones
  std::vector<Stream*> streams;                    // every stream that lives, default ones included
  std::size_t events = 0;
  bool set_up = false;  // was used since the process began
  Nanoseconds first_use = 0;
  Nanoseconds engine_free[4] = {0, 0, 0, 0};
  Nanoseconds busy_ns = 0;                    // compute, for the utilization rate
  std::uint64_t bytes_copied[3] = {0, 0, 0};  // h2d, d2h, d2d
  std::uint64_t executions = 0;
  std::uint32_t next_stream = 0;
  int last_fault = 0;                    // code of the last task that failed
  std::uint32_t core_limit[2] = {0, 0};  // cube, vector; 0: all

  // 0, or the code with which every use fails now that the card is gone.
  int lost_code() const;
  double slowness() const;

  // Reserves an engine from `ready` on for `cost`; the end of that time. Cost 0 takes no engine.
  Nanoseconds occupy(Engine engine, Nanoseconds ready, Nanoseconds cost);
  // Opens the memory; 0 or a code.
  int open(Lock& lock, const char* function);
  // Everything goes: contexts, streams, events, memory, models. Waits for default streams.
  void shut(Lock& lock);
};

// The process's view of the machine. Guarded by the big lock.
struct Machine {
  std::uint64_t init_count = 0;
  bool finalized = false;
  std::string config;  // of the last aclInit
  bool was_initialized = false;
  bool environment_read = false;
  std::string environment_error;
  int default_device = -1;  // aclInit's defaultDevice
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::pair<std::string, std::uint64_t>> violations;
  std::uint64_t copies_in_flight = 0;

  static Machine& get();
  void read_options();
  // Physical device ids that ASCEND_RT_VISIBLE_DEVICES leaves; a negative result is a code.
  int visible(std::vector<int>& out) const;
  // The device of that id as the process counts them; null and a recorded error when there is none.
  Device* device(const char* function, std::int64_t id, int& code);
  Device* device_at(Address address);
  // Counts something that a card would have punished or hidden.
  void violation(const std::string& what);
};

// The calling thread's context; null and 107002 recorded when it has none. `code` gets why.
std::shared_ptr<Context> current_context(const char* function, int& code);
// The same without a message, for functions that only ask.
Context* peek_context();
void set_current(Context* context);
// aclInit was called, or 100001 recorded.
int require_init(const char* function);

}  // namespace aclsim
