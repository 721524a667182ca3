// Many threads on one pool; run under the thread sanitizer.
#include <atomic>
#include <random>
#include <thread>

#include "pool_check.hpp"

namespace {

std::size_t rounds() {
  const char *asked = std::getenv("POOL_THREAD_ROUNDS");
  return asked == nullptr ? 1500 : std::strtoull(asked, nullptr, 10);
}

// Runs `work(thread number)` in that many threads at once.
template <typename Work>
void at_once(unsigned count, Work work) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread &thread : threads) thread.join();
}

}  // namespace

TEST(threads_share_host_memory_and_never_the_same_bytes) {
  PoolOptions options;
  options.limit_bytes = 16 * MiB;
  std::unique_ptr<HostPool> pool;
  CHECK(HostPool::open(options, pool).ok());
  at_once(6, [&](unsigned number) {
    std::mt19937 random(number);
    const OwnerId who = owner(*pool, ("thread " + std::to_string(number)).c_str());
    std::vector<Allocation> mine;
    const auto drop = [&](std::size_t i) {
      const auto *bytes = reinterpret_cast<const unsigned char *>(mine[i].address);
      CHECK(bytes[0] == number && bytes[mine[i].bytes - 1] == number);
      give(*pool, mine[i]);
      mine[i] = mine.back();
      mine.pop_back();
    };
    for (std::size_t i = 0; i < rounds(); ++i) {
      Allocation block;
      const Status status = pool->allocate(1 + random() % (1u << (4 + random() % 16)), who, block);
      if (status.ok()) {
        std::memset(reinterpret_cast<void *>(block.address), static_cast<int>(number), block.bytes);
        mine.push_back(block);
      } else {
        CHECK(status.code() == StatusCode::out_of_memory);
      }
      while (mine.size() > 24 || (!status.ok() && !mine.empty())) drop(random() % mine.size());
      if (i % 64 == 0) pool->trim();
      if (i % 16 == 0) {
        const PoolStats stats = pool->stats();
        CHECK(stats.active_bytes + stats.held_bytes == stats.reserved_bytes && stats.reserved_bytes <= 16 * MiB);
        CHECK(!pool->owners().empty());
      }
    }
    while (!mine.empty()) drop(0);
    CHECK(pool->release_owner(who).ok());
  });
  sound(*pool);
  CHECK(pool->stats().active_bytes == 0 && pool->owners().empty());
}

TEST(threads_that_grow_together_never_pass_the_limit) {
  PoolOptions options;
  options.limit_bytes = 10 * MiB;
  const auto pool = counting(64 * MiB, options);
  std::atomic<std::size_t> served{0};
  at_once(8, [&](unsigned) {
    const OwnerId who = owner(*pool);
    for (std::size_t i = 0; i < rounds() / 10; ++i) {
      Allocation block;
      if (pool->allocate(filling(2 * MiB), who, block).ok()) {
        served.fetch_add(1);
        give(*pool, block);
        if (i % 3 == 0) pool->trim();
      }
    }
  });
  CHECK(served.load() > 0 && pool->upstream().peak() <= 10 * MiB && pool->upstream().wrong_frees() == 0);
  sound(*pool);
}

// Threads that want to grow the pool while another does are served from what that one brings.
TEST(threads_that_wait_for_growth_use_what_another_brought) {
  static std::atomic<unsigned> asking;
  struct Slow : CountingUpstream {
    using CountingUpstream::CountingUpstream;
    Status allocate(std::size_t bytes, void **out) noexcept {
      while (asking.load() < 8) std::this_thread::yield();
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // lets them come as far as they can
      return CountingUpstream::allocate(bytes, out);
    }
  };
  std::unique_ptr<Pool<Slow>> pool;
  CHECK(Pool<Slow>::open(PoolOptions{}, pool, 64 * MiB).ok());
  at_once(8, [&](unsigned) {
    const OwnerId who = owner(*pool);
    ++asking;
    take(*pool, who, 1000);
  });
  CHECK(pool->stats().upstream_allocations == 1 && pool->stats().active_blocks == 8);
}

TEST(only_one_of_many_frees_counts) {
  const auto pool = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  for (std::size_t i = 0; i < rounds() / 50; ++i) {
    const Allocation block = take(*pool, who, 100);
    std::atomic<int> ok{0}, twice{0};
    at_once(3, [&](unsigned) {
      const Status status = pool->free(block);
      status.ok() ? ++ok : status.code() == StatusCode::double_free ? ++twice : ++ok;
    });
    CHECK(ok == 1 && twice == 2);
  }
}

TEST(closing_while_others_allocate_leaves_nothing) {
  const auto pool = counting(64 * MiB);
  std::atomic<unsigned> started{0};
  at_once(5, [&](unsigned number) {
    const OwnerId who = owner(*pool);
    ++started;
    if (number == 0) {
      while (started.load() < 5) std::this_thread::yield();
      pool->close();
      return;
    }
    for (;;) {
      Allocation block;
      const Status status = pool->allocate(300 * KiB, who, block);
      if (status.code() == StatusCode::closed) return;
      CHECK(status.ok());
      give(*pool, block);
    }
  });
  CHECK(pool->stats().reserved_bytes == 0 && pool->upstream().live() == 0);
}

// Freeing takes the one lock only: it returns while the upstream is stuck in a call.
TEST(freeing_does_not_wait_for_the_upstream) {
  static std::atomic<bool> stuck, freed;
  struct Stuck : CountingUpstream {
    using CountingUpstream::CountingUpstream;
    Status allocate(std::size_t bytes, void **out) noexcept {
      if (bytes > 2 * MiB) {
        stuck = true;
        while (!freed) std::this_thread::yield();
      }
      return CountingUpstream::allocate(bytes, out);
    }
  };
  std::unique_ptr<Pool<Stuck>> pool;
  CHECK(Pool<Stuck>::open(PoolOptions{}, pool, 64 * MiB).ok());
  const OwnerId who = owner(*pool);
  const Allocation small = take(*pool, who, 1000);
  std::thread grower([&] { take(*pool, who, 3 * MiB); });
  while (!stuck) std::this_thread::yield();
  give(*pool, small);
  give(*pool, take(*pool, who, 2000));
  CHECK(pool->stats().active_blocks == 0);
  freed = true;
  grower.join();
}
