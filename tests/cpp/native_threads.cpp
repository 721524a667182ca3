// Threads over instances: gears, results in pinned memory, abandoned batches, device faults, closing while others run.
//
//     native_threads LIBRARY FOLDER ROUNDS
//
// LIBRARY is the simulator's file, or "" when it is linked in. Prints "passed"; aborts at the first wrong thing.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "../../_ext/core/acl_instance.hpp"
#include "../../_ext/core/acl_pools.hpp"
#include "sim/container.hpp"

using namespace ascend_infer;

namespace {

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
      std::abort();                                                             \
    }                                                                           \
  } while (0)

void succeed(const AclStatus &status, int line) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s:%d: outcome %d, %s answers %d: %s\n", __FILE__, line, static_cast<int>(status.outcome()),
               status.function(), status.code(), status.text().c_str());
  std::abort();
}
#define OK(call) succeed(call, __LINE__)

struct Machine {
  std::shared_ptr<AclDevice> device;
  std::shared_ptr<AnyPool> memory, pinned;
  PoolBlock weights;
  ModelSizes sizes;
  std::string path;

  std::shared_ptr<AclInstance> open(const char *name, std::size_t slots) {
    InstanceOptions options;
    options.path = path;
    options.name = name;
    options.slots = slots;
    options.work_bytes = sizes.work;
    options.weights = weights.address();
    options.weight_bytes = weights.bytes();
    std::shared_ptr<AclInstance> instance;
    OK(AclInstance::open(device, memory, pinned, options, instance));
    return instance;
  }
};

// One batch of `rows` rows in the gear that fits, checked. out = 2 * in + 1.
AclStatus run(AclInstance &instance, std::size_t rows, float start, bool leased, WaitPolicy wait = {}) {
  const std::size_t gear = rows == 1 ? 0 : rows == 2 ? 1 : 2;
  std::vector<float> input(rows * 4), output(rows * 4, -1.0f);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = start + static_cast<float>(i);
  Batch batch;
  batch.gear = gear;
  batch.inputs.resize(2);
  const std::size_t first = rows / 2;  // gathered from two pieces
  batch.inputs[0].push_back({input.data(), first * 16});
  batch.inputs[0].push_back({input.data() + first * 4, (rows - first) * 16});
  BatchOutput wanted;
  wanted.bytes = rows * 16;
  if (leased) wanted.lease = instance.lease(wanted.bytes);
  if (wanted.lease == nullptr) wanted.target = output.data();
  batch.outputs.push_back(wanted);
  batch.wait = wait;
  AclStatus status = instance.run(batch);
  if (!status.ok()) return status;
  if (wanted.lease != nullptr) std::memcpy(output.data(), wanted.lease->data(), wanted.bytes);
  for (std::size_t i = 0; i < input.size(); ++i) CHECK(output[i] == 2 * input[i] + 1);
  return status;
}

void mixed_load(Machine &machine, int rounds) {
  const auto a = machine.open("a", 2), b = machine.open("b", 3);
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 6; ++number)
    threads.emplace_back([&, number] {
      std::mt19937 random(number);
      for (int round = 0; round < rounds; ++round)
        OK(run(number % 2 == 0 ? *a : *b, 1 + random() % 4, static_cast<float>(random() % 1000), random() % 2 == 0));
    });
  // Meanwhile children are started, as far as the gate is concerned.
  for (int i = 0; i < rounds / 10; ++i) {
    CHECK(AclProcess::get().pause(60000));
    AclProcess::get().resume();
  }
  for (std::thread &thread : threads) thread.join();
  CHECK(a->batches() + b->batches() == 6 * static_cast<std::uint64_t>(rounds));
  OK(a->close(-1));
  OK(b->close(-1));
}

void abandoned(Machine &machine, int rounds) {
  const auto instance = machine.open("abandoned", 2);
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      std::mt19937 random(number);
      for (int round = 0; round < rounds; ++round) {
        const bool impatient = random() % 3 == 0;
        WaitPolicy wait;
        wait.go_on = [](void *argument) { return argument == nullptr; };
        wait.argument = impatient ? &wait : nullptr;
        const AclStatus status = run(*instance, 1 + random() % 4, 5, true, wait);
        CHECK(status.ok() || (impatient && status.outcome() == AclOutcome::interrupted));
      }
    });
  std::atomic<bool> over{false};
  std::thread asking([&] {  // for what was left, as who looks after instances that hang
    while (!over) CHECK(instance->reclaim() >= 0);
  });
  for (std::thread &thread : threads) thread.join();
  over = true;
  asking.join();
  while (instance->reclaim() > 0) std::this_thread::yield();
  CHECK(!instance->left());
  OK(instance->close(-1));
}

void closing(Machine &machine, int rounds) {
  for (int round = 0; round < rounds / 10 + 1; ++round) {
    const auto instance = machine.open("closing", 2);
    std::vector<std::thread> threads;
    for (int number = 0; number < 3; ++number)
      threads.emplace_back([&] {
        AclStatus status;
        while (status.ok()) status = run(*instance, 2, 1, true);
        CHECK(status.outcome() == AclOutcome::closed);
      });
    threads.emplace_back([&] { OK(instance->close(-1)); });
    threads.emplace_back([&] {
      AclStatus status;
      do status = instance->close(1);
      while (status.outcome() == AclOutcome::busy);
      OK(status);
    });
    for (std::thread &thread : threads) thread.join();
  }
}

void reaped(Machine &machine) {
  auto instance = machine.open("dropped", 1);
  OK(run(*instance, 3, 2, false));
  machine.device->adopt(std::move(instance));
  OK(machine.device->reap());
}

}  // namespace

int main(int count, char **words) {
  CHECK(count == 4);
  const int rounds = std::atoi(words[3]);
  Machine machine;
  machine.path = std::string(words[2]) + "/batch.om";
  std::ofstream(machine.path, std::ios::binary) << batch_model().bytes();

  std::string reason;
  std::vector<std::string> missing;
  const AclLibrary *library = AclLibrary::open(words[1], {}, false, reason, missing);
  if (library == nullptr) std::fprintf(stderr, "%s\n", reason.c_str());
  CHECK(library != nullptr);
  OK(AclDevice::open(*library, 0, machine.device));
  CHECK(open_device_pool({}, machine.device, machine.memory).ok());
  CHECK(open_pinned_pool({}, machine.device, machine.pinned).ok());
  OK(query_model_sizes(*machine.device, machine.path, machine.sizes));
  {
    PoolOwner owner;
    CHECK(owner.acquire(machine.memory, "weights").ok());
    CHECK(PoolBlock::take(machine.memory, machine.sizes.weights, owner.id(), machine.weights).ok());
  }
  mixed_load(machine, rounds);
  const PoolStats before = machine.memory->stats();
  mixed_load(machine, rounds / 4 + 1);
  CHECK(machine.memory->stats().upstream_allocations == before.upstream_allocations);
  abandoned(machine, rounds / 4 + 1);
  closing(machine, rounds / 4 + 1);
  reaped(machine);
  machine.weights.reset();
  CHECK(machine.memory->stats().active_blocks == 0);
  CHECK(machine.pinned->stats().active_blocks == 0);
  machine.memory->close();
  machine.pinned->close();
  OK(machine.device->close());
  std::puts("passed");
  return 0;
}
