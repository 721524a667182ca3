// Limits, and upstreams that fail: every time a status, and nothing changed that should not be.
#include <functional>
#include <utility>

#include "pool_check.hpp"

TEST(options_that_contradict_each_other_are_refused) {
  const auto refused_with = [](auto change) {
    PoolOptions options;
    change(options);
    std::unique_ptr<CountingPool> pool;
    CHECK(CountingPool::open(options, pool, 64 * MiB).code() == StatusCode::invalid_argument && pool == nullptr);
  };
  refused_with([](PoolOptions &o) { o.growable = false; });
  refused_with([](PoolOptions &o) { o.guard = true; });  // no memory to put guards in
  refused_with([](PoolOptions &o) { o.limit_bytes = 100; });
  refused_with([](PoolOptions &o) { o.limit_bytes = MiB, o.pool_bytes = 2 * MiB; });
  refused_with([](PoolOptions &o) { o.pool_bytes = ~std::size_t{0}; });
  refused_with([](PoolOptions &o) { o.layout.granularity = 32; });
  refused_with([](PoolOptions &o) { o.layout.step = 3 * MiB; });
}

TEST(sizes_no_block_can_have_are_refused) {
  const auto pool = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  CHECK(refused(*pool, who, 0) == StatusCode::invalid_argument);
  CHECK(refused(*pool, who, ~std::size_t{0}) == StatusCode::invalid_argument);
  CHECK(refused(*pool, who, PoolLayout::largest_request) == StatusCode::out_of_memory);
  CHECK(refused(*pool, who + 7, 1) == StatusCode::invalid_argument);
  sound(*pool);
}

TEST(the_limit_holds_and_is_used_to_its_end) {
  PoolOptions options;
  options.limit_bytes = 3 * MiB + 100;
  const auto pool = counting(64 * MiB, options);
  const OwnerId who = owner(*pool);
  take(*pool, who, filling(2 * MiB));
  take(*pool, who, filling(MiB));  // half a step is left
  CHECK(pool->stats().reserved_bytes == 3 * MiB);
  CHECK(refused(*pool, who, 1) == StatusCode::out_of_memory);
  CHECK(pool->upstream().calls() == 2 && pool->upstream().peak() == 3 * MiB);
  sound(*pool);
}

TEST(idle_regions_are_given_back_to_serve_a_larger_request) {
  PoolOptions options;
  options.limit_bytes = 8 * MiB;
  const auto pool = counting(64 * MiB, options);
  const OwnerId who = owner(*pool);
  std::vector<Allocation> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(take(*pool, who, filling(2 * MiB)));
  for (std::size_t i = 1; i < 4; ++i) give(*pool, blocks[i]);
  take(*pool, who, filling(6 * MiB));
  CHECK(pool->stats().upstream_frees == 3 && pool->stats().reserved_bytes == 8 * MiB);
  CHECK(pool->upstream().peak() == 8 * MiB);
  sound(*pool);
}

TEST(a_request_that_can_never_be_served_costs_nobody_held_memory) {
  PoolOptions options;
  options.limit_bytes = 8 * MiB;
  const auto pool = counting(64 * MiB, options);
  const OwnerId who = owner(*pool);
  give(*pool, take(*pool, who, MiB));
  CHECK(refused(*pool, who, 9 * MiB) == StatusCode::out_of_memory);
  CHECK(pool->stats().held_bytes == 2 * MiB && pool->stats().upstream_frees == 0);
  // Nor does one that only the preallocated region, which stays, could make room for.
  options.pool_bytes = 2 * MiB;
  const auto kept = counting(64 * MiB, options);
  const OwnerId other = owner(*kept);
  give(*kept, take(*kept, other, 3 * MiB));
  CHECK(refused(*kept, other, 7 * MiB) == StatusCode::out_of_memory);
  CHECK(kept->stats().held_bytes == 6 * MiB && kept->stats().upstream_frees == 0);
  // And a device that is too small is known to be.
  const auto small = counting(4 * MiB);
  const OwnerId third = owner(*small);
  give(*small, take(*small, third, MiB));
  CHECK(refused(*small, third, 5 * MiB) == StatusCode::out_of_memory);
  CHECK(small->stats().held_bytes == 2 * MiB && small->stats().upstream_frees == 0);
}

TEST(an_upstream_gives_its_last_bytes) {
  const auto pool = counting(3 * MiB);
  const OwnerId who = owner(*pool);
  take(*pool, who, filling(2 * MiB));
  take(*pool, who, 700 * KiB);  // no whole step is left
  CHECK(pool->stats().failures == 0);
  sound(*pool);
}

TEST(out_of_memory_says_who_has_it) {
  PoolOptions options;
  options.limit_bytes = 32 * MiB;
  const auto pool = counting(16 * MiB, options);
  for (int i = 0; i < 7; ++i) {
    const std::string name = "owner " + std::to_string(i);
    take(*pool, owner(*pool, name.c_str()), filling(static_cast<std::size_t>(i + 1) * 256 * KiB));
  }
  Allocation block;
  const Status status = pool->allocate(12 * MiB, owner(*pool, "owner 0"), block);
  CHECK(status.code() == StatusCode::out_of_memory && status.detail() != nullptr);
  const MemoryShortage &shortage = status.detail()->shortage;
  const PoolStats stats = pool->stats();
  CHECK(shortage.needed == 12 * MiB && shortage.stride == PoolLayout().stride(12 * MiB) && !shortage.limited);
  CHECK(shortage.free == 16 * MiB - stats.reserved_bytes && shortage.total == 16 * MiB);
  CHECK(shortage.limit == 32 * MiB && shortage.active == stats.active_bytes && shortage.held == stats.held_bytes);
  CHECK(shortage.largest_held == stats.largest_held_bytes && shortage.reserved == stats.reserved_bytes);
  CHECK(shortage.holders.size() == 5 && shortage.holders[0].owner == "owner 6");
  CHECK(shortage.holders[0].active_bytes == 7 * 256 * KiB && shortage.holders[4].owner == "owner 2");
  CHECK(stats.failures == 1);
  PoolOptions fixed;
  fixed.growable = false;
  fixed.pool_bytes = 2 * MiB;
  const auto small = counting(64 * MiB, fixed);
  const Status bound = small->allocate(3 * MiB, owner(*small), block);
  CHECK(bound.code() == StatusCode::out_of_memory && bound.detail()->shortage.limited);
  CHECK(small->upstream().calls() == 1);
}

// The same history with the n-th upstream call failing, for each n: whatever fails, nothing is lost.
TEST(each_upstream_call_may_fail) {
  const auto history = [](const std::vector<std::size_t> &failing) {
    PoolOptions options;
    options.limit_bytes = 24 * MiB;
    const auto pool = counting(32 * MiB, options, failing);
    const OwnerId who = owner(*pool);
    std::vector<Allocation> blocks;
    std::size_t failed = 0;
    for (std::size_t i = 0; i < 60; ++i) {
      Allocation block;
      const Status status = pool->allocate(filling((i * 7 % 5 + 1) * 512 * KiB), who, block);
      sound(*pool);
      if (status.ok()) {
        blocks.push_back(block);
      } else {
        CHECK(status.code() == StatusCode::out_of_memory);
        ++failed;
      }
      if (i % 5 == 4) pool->trim();
      if ((i % 2 == 1 || i % 20 > 14) && !blocks.empty()) {
        give(*pool, blocks[i % blocks.size()]);
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i % blocks.size()));
      }
    }
    for (const Allocation &block : blocks) give(*pool, block);
    pool->trim();
    CHECK(pool->stats().reserved_bytes == 0 && pool->upstream().live() == 0 && pool->upstream().wrong_frees() == 0);
    CHECK(pool->stats().failures == failed && pool->stats().upstream_allocations == pool->upstream().calls());
    return pool->upstream().calls();
  };
  const std::size_t calls = history({});
  CHECK(calls >= 8);
  for (std::size_t n = 1; n <= calls; ++n) history({n});
  for (std::size_t n = 1; n < calls; ++n) history({n, n + 1, n + 2});
}

TEST(a_failed_preallocation_leaves_no_pool) {
  PoolOptions options;
  options.pool_bytes = 4 * MiB;
  std::unique_ptr<CountingPool> pool;
  CHECK(CountingPool::open(options, pool, MiB).code() == StatusCode::out_of_memory && pool == nullptr);
  CHECK(CountingPool::open(options, pool, 64 * MiB, std::vector<std::size_t>{1}).code() == StatusCode::out_of_memory);
}

TEST(another_failure_than_memory_is_passed_on_at_once) {
  const auto pool = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  give(*pool, take(*pool, who, MiB));
  pool->upstream().fail_call(2, StatusCode::upstream_failed);
  CHECK(refused(*pool, who, 4 * MiB) == StatusCode::upstream_failed);
  CHECK(pool->upstream().calls() == 2 && pool->stats().held_bytes == 2 * MiB);
  take(*pool, who, 4 * MiB);
}

TEST(what_the_upstream_said_reaches_the_caller) {
  struct Talking : CountingUpstream {
    using CountingUpstream::CountingUpstream;
    StatusCode code = StatusCode::out_of_memory;
    Status allocate(std::size_t, void **) noexcept {
      return Status(code, "EL0004: no memory").with_call_of(Status::of_call(code, "aclrtMalloc", 207001));
    }
  };
  std::unique_ptr<Pool<Talking>> pool;
  CHECK(Pool<Talking>::open(PoolOptions{}, pool, 64 * MiB).ok());
  const OwnerId who = owner(*pool);
  for (const StatusCode code : {StatusCode::out_of_memory, StatusCode::upstream_failed}) {
    pool->upstream().code = code;
    Allocation block;
    const Status status = pool->allocate(1, who, block);
    CHECK(status.code() == code && status.native_code() == 207001);
    CHECK(std::strcmp(status.function(), "aclrtMalloc") == 0 && status.detail()->message == "EL0004: no memory");
  }
}

TEST(what_is_freed_while_the_upstream_is_asked_still_serves) {
  struct Busy : CountingUpstream {
    using CountingUpstream::CountingUpstream;
    std::function<void()> meanwhile = [] {};
    Status allocate(std::size_t bytes, void **out) noexcept {
      std::exchange(meanwhile, [] {})();
      return CountingUpstream::allocate(bytes, out);
    }
  };
  std::unique_ptr<Pool<Busy>> pool;
  CHECK(Pool<Busy>::open(PoolOptions{}, pool, 2 * MiB).ok());
  const OwnerId who = owner(*pool);
  const Allocation first = take(*pool, who, filling(MiB));
  take(*pool, who, filling(MiB));
  pool->upstream().meanwhile = [&] { give(*pool, first); };
  CHECK(take(*pool, who, filling(MiB)).address == first.address);
  CHECK(pool->stats().failures == 0);
  sound(*pool);
}

TEST(a_misaligned_upstream_is_found_out) {
  const auto pool = counting(64 * MiB);
  pool->upstream().misalign(32);
  CHECK(refused(*pool, owner(*pool), 1) == StatusCode::misaligned_upstream);
  CHECK(pool->upstream().live() == 0 && pool->stats().reserved_bytes == 0);
}
