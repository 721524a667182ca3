// The pool's own bookkeeping runs out of host memory: at any allocation, in any call, nothing is lost or half done.
#include <cstdlib>
#include <new>

#include "pool_check.hpp"

namespace {
thread_local std::size_t countdown = 0;  // 0: not armed
thread_local std::size_t made = 0;

void *make(std::size_t size) noexcept {
  ++made;
  if (countdown != 0 && --countdown == 0) return nullptr;
  return std::malloc(size);
}
}  // namespace

// Not inlined, or gcc would see a malloc where it expects a new.
__attribute__((noinline)) void *operator new(std::size_t size) {
  void *memory = make(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
__attribute__((noinline)) void operator delete(void *memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

namespace {

// Calls the function with its n-th allocation failing.
template <typename Call>
auto with_failure(std::size_t n, Call call) {
  countdown = n;
  auto result = call();
  countdown = 0;
  return result;
}

bool expected(const Status &status) {
  return status.ok() || status.code() == StatusCode::host_out_of_memory || status.code() == StatusCode::out_of_memory;
}

}  // namespace

TEST(every_call_survives_want_of_host_memory) {
  for (std::size_t n = 1; n < 24; ++n) {
    std::unique_ptr<CountingPool> pool;
    const PoolOptions options;
    const Status opened = with_failure(n, [&] { return CountingPool::open(options, pool, 8 * MiB); });
    CHECK(expected(opened) && opened.ok() == (pool != nullptr));
    if (pool == nullptr) CHECK(CountingPool::open(options, pool, 8 * MiB).ok());
    std::vector<Allocation> blocks;
    blocks.reserve(64);
    for (std::size_t i = 0; i < 20; ++i) {
      const std::string name = "an owner with a long name, number " + std::to_string(i % 6);
      OwnerId who = 0;
      const Status known = with_failure(n, [&] { return pool->acquire_owner(name, who); });
      CHECK(expected(known));
      if (!known.ok()) CHECK(pool->acquire_owner(name, who).ok());
      Allocation block;
      const Status status = with_failure(n, [&] { return pool->allocate(1 + i * 200 * KiB, who, block); });
      CHECK(expected(status) && status.ok() == (block.serial != 0));
      if (status.ok()) blocks.push_back(block);
      CHECK(pool->release_owner(who).ok());
      with_failure(n, [&] { return pool->owners(); });
      sound(*pool);
      if (i % 4 == 3 && !blocks.empty()) {
        CHECK(with_failure(n, [&] { return pool->free(blocks.front()); }).ok());
        CHECK(with_failure(n, [&] { return pool->free(blocks.front()); }).code() == StatusCode::double_free);
        blocks.erase(blocks.begin());
        sound(*pool);
      }
    }
    for (const Allocation &block : blocks) CHECK(with_failure(1, [&] { return pool->free(block); }).ok());
    CHECK(pool->owners().empty());
    with_failure(1, [&] { return pool->trim(); });
    CHECK(pool->upstream().live() == 0 && pool->stats().reserved_bytes == 0);
  }
}

TEST(the_steady_state_allocates_nothing_of_its_own) {
  const auto pool = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  const auto round = [&] {
    Allocation blocks[16];
    for (std::size_t i = 0; i < 16; ++i) CHECK(pool->allocate(1 + i * 3000, who, blocks[i]).ok());
    for (std::size_t i = 0; i < 16; ++i) CHECK(pool->free(blocks[i * 7 % 16]).ok());
  };
  round();
  const std::size_t before = made;
  for (int i = 0; i < 100; ++i) round();
  CHECK(made == before && pool->stats().upstream_allocations == 1);
}
