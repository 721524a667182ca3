// Limits, failing upstreams, wrong frees: every one a status, none of them changes what it should not.
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

TEST(a_misaligned_upstream_is_found_out) {
  const auto pool = counting(64 * MiB);
  pool->upstream().misalign(32);
  CHECK(refused(*pool, owner(*pool), 1) == StatusCode::misaligned_upstream);
  CHECK(pool->upstream().live() == 0 && pool->stats().reserved_bytes == 0);
}

TEST(freeing_twice_is_told_apart_even_after_reuse) {
  const auto pool = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  const Allocation block = take(*pool, who, 1000);
  give(*pool, block);
  CHECK(pool->free(block).code() == StatusCode::double_free);
  const Allocation again = take(*pool, who, 1000);
  CHECK(again.address == block.address);
  CHECK(pool->free(block).code() == StatusCode::double_free);
  CHECK(pool->stats().active_blocks == 1);
  give(*pool, again);
  sound(*pool);
}

TEST(blocks_of_others_are_refused) {
  const auto pool = counting(64 * MiB), other = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  const Allocation block = take(*pool, who, 1000), foreign = take(*other, owner(*other), 1000);
  CHECK(foreign.address == block.address && foreign.slot == block.slot);  // equal but for the serial
  CHECK(pool->free(foreign).code() == StatusCode::foreign_block);
  CHECK(pool->free(Allocation{}).code() == StatusCode::foreign_block);
  CHECK(pool->free(Allocation{block.address, 1000, 1, ~0u}).code() != StatusCode::ok);
  for (Allocation forged : {Allocation{block.address + 512, block.bytes, block.serial, block.slot},
                            Allocation{block.address, block.bytes + 1, block.serial, block.slot},
                            Allocation{block.address, block.bytes, block.serial, block.slot + 1}})
    CHECK(!pool->free(forged).ok());
  CHECK(pool->stats().active_blocks == 1 && other->stats().active_blocks == 1);
  give(*pool, block);
  give(*other, foreign);
}

TEST(trim_gives_back_what_is_wholly_free) {
  const auto pool = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  std::vector<Allocation> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(take(*pool, who, filling(2 * MiB)));
  take(*pool, who, 1);
  for (const std::size_t i : {0, 2, 5}) give(*pool, blocks[i]);
  CHECK(pool->trim() == 6 * MiB && pool->trim() == 0);
  CHECK(pool->stats().regions == 4 && pool->upstream().live() == 4 && pool->upstream().wrong_frees() == 0);
  sound(*pool);
}

TEST(owners_are_accounted_for) {
  const auto pool = counting(64 * MiB);
  const OwnerId weights = owner(*pool, "weights"), slots = owner(*pool, "slots");
  CHECK(owner(*pool, "weights") == weights && pool->release_owner(weights).ok());
  const Allocation a = take(*pool, weights, filling(4096)), b = take(*pool, weights, filling(512)),
                   c = take(*pool, slots, filling(8192));
  std::vector<OwnerUsage> owners = pool->owners();
  CHECK(owners.size() == 2 && owners[0].name == "slots" && owners[0].active_bytes == 8192);
  CHECK(owners[1].active_bytes == 4608 && owners[1].active_blocks == 2 && owners[1].allocations == 2);
  give(*pool, a);
  CHECK(pool->owners()[1].active_bytes == 512 && pool->owners()[1].peak_active_bytes == 4608);
  CHECK(pool->release_owner(weights).ok());
  CHECK(pool->owners().size() == 2);  // it still holds a block
  CHECK(!pool->release_owner(weights).ok());
  give(*pool, b);
  CHECK(pool->owners().size() == 1 && refused(*pool, weights, 1) == StatusCode::invalid_argument);
  give(*pool, c);
  CHECK(pool->owners().size() == 1);  // acquired
  CHECK(pool->release_owner(slots).ok() && pool->owners().empty());
  CHECK(!pool->release_owner(slots).ok() && !pool->release_owner(12345).ok());
}

TEST(a_closed_pool_gives_back_block_by_block) {
  PoolOptions options;
  options.pool_bytes = 2 * MiB;
  const auto pool = counting(64 * MiB, options);
  const OwnerId who = owner(*pool);
  const Allocation first = take(*pool, who, filling(2 * MiB)), second = take(*pool, who, MiB),
                   third = take(*pool, who, 512 * KiB);
  give(*pool, first);
  pool->close();
  CHECK(pool->upstream().live() == 1 && refused(*pool, who, 1) == StatusCode::closed);
  give(*pool, third);
  CHECK(pool->upstream().live() == 1);
  give(*pool, second);
  CHECK(pool->upstream().live() == 0 && pool->stats().reserved_bytes == 0);
  pool->close();
  sound(*pool);
}

TEST(a_dropped_pool_gives_everything_back) {
  static std::size_t left;
  struct Watched : CountingUpstream {
    using CountingUpstream::CountingUpstream;
    ~Watched() { left = live(); }
  };
  {
    std::unique_ptr<Pool<Watched>> pool;
    CHECK(Pool<Watched>::open(PoolOptions{}, pool, 64 * MiB).ok());
    take(*pool, owner(*pool), 9 * MiB);
    left = 99;
  }
  CHECK(left == 0);
}

TEST(guards_find_who_wrote_where_he_should_not) {
  PoolOptions options;
  options.guard = true;
  std::unique_ptr<HostPool> pool;
  CHECK(HostPool::open(options, pool).ok());
  const OwnerId who = owner(*pool, "slots of net");
  for (const std::size_t past : {std::size_t{0}, std::size_t{31}, std::size_t{411}}) {
    const Allocation block = take(*pool, who, 100);
    std::memset(reinterpret_cast<void *>(block.address), 7, 100);
    reinterpret_cast<unsigned char *>(block.address)[100 + past] = 1;
    const Status status = pool->free(block);
    CHECK(status.code() == StatusCode::overrun && pool->stats().active_blocks == 0);
    CHECK(status.detail()->message.find("slots of net") != std::string::npos);
    give(*pool, take(*pool, who, 100));
  }
  const Allocation block = take(*pool, who, 100);
  give(*pool, block);
  reinterpret_cast<unsigned char *>(block.address)[99] = 1;
  CHECK(refused(*pool, who, 50) == StatusCode::written_after_free);
  CHECK(pool->stats().active_blocks == 0);
  give(*pool, take(*pool, who, 50));
  sound(*pool);
}
