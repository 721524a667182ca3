// Tests in C++: TEST registers a case, CHECK ends the program with its place when it does not hold.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "core/counting_upstream.hpp"
#include "core/malloc_upstream.hpp"
#include "core/pool.hpp"

struct Case {
  const char *name;
  void (*run)();
};

inline std::vector<Case> &cases() {
  static std::vector<Case> all;
  return all;
}

#define TEST(name)                                                                    \
  static void name();                                                                 \
  static const bool name##_registered = (cases().push_back(Case{#name, name}), true); \
  static void name()

#define CHECK(what)                                                       \
  do {                                                                    \
    if (!(what)) {                                                        \
      std::fprintf(stderr, "%s:%d: CHECK(%s)\n", __FILE__, __LINE__, #what); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (false)

using namespace ascend_infer;

using CountingPool = Pool<CountingUpstream>;
using HostPool = Pool<MallocUpstream>;

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

// A request that takes exactly that many bytes in a pool of the usual layout.
constexpr std::size_t filling(std::size_t stride) { return stride - 32; }

inline std::unique_ptr<CountingPool> counting(std::size_t capacity, const PoolOptions &options = {},
                                              const std::vector<std::size_t> &failing = {}) {
  std::unique_ptr<CountingPool> pool;
  CHECK(CountingPool::open(options, pool, capacity, failing).ok());
  return pool;
}

inline OwnerId owner(AnyPool &pool, const char *name = "test") {
  OwnerId id = 0;
  CHECK(pool.acquire_owner(name, id).ok());
  return id;
}

inline Allocation take(AnyPool &pool, OwnerId who, std::size_t bytes) {
  Allocation block;
  CHECK(pool.allocate(bytes, who, block).ok());
  CHECK(block.serial != 0 && block.bytes == bytes && block.address % PoolLayout::alignment == 0);
  return block;
}

inline StatusCode refused(AnyPool &pool, OwnerId who, std::size_t bytes) {
  Allocation block;
  const Status status = pool.allocate(bytes, who, block);
  CHECK(!status.ok() && block.serial == 0);
  return status.code();
}

inline void give(AnyPool &pool, const Allocation &block) { CHECK(pool.free(block).ok()); }

template <typename U>
void sound(const Pool<U> &pool) {
  const char *fault = pool.find_fault();
  if (fault != nullptr) std::fprintf(stderr, "%s\n", fault);
  CHECK(fault == nullptr);
  const PoolStats stats = pool.stats();
  CHECK(stats.active_bytes + stats.held_bytes == stats.reserved_bytes);
  CHECK(stats.requested_bytes <= stats.active_bytes && stats.largest_held_bytes <= stats.held_bytes);
  CHECK(stats.peak_active_bytes >= stats.active_bytes && stats.peak_reserved_bytes >= stats.reserved_bytes);
  CHECK(stats.allocations - stats.frees == stats.active_blocks);
}
