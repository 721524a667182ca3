// Where blocks lie, told by their addresses alone.
#include "pool_check.hpp"

TEST(sizes_are_rounded_for_what_kernels_touch) {
  const PoolLayout layout;
  CHECK(layout.stride(1) == 512 && layout.stride(480) == 512);
  CHECK(layout.stride(481) == 1024 && layout.stride(512) == 1024);
  for (std::size_t bytes = 1; bytes < 5000; ++bytes) {
    const std::size_t needs = round_up(bytes, 32) + 32;
    CHECK(layout.stride(bytes) >= needs && layout.stride(bytes) - needs < 512 && layout.stride(bytes) % 512 == 0);
  }
  CHECK(layout.region_bytes(512) == 2 * MiB && layout.region_bytes(2 * MiB) == 2 * MiB);
  CHECK(layout.region_bytes(2 * MiB + 512) == 4 * MiB);
}

TEST(regions_leave_room_for_what_the_upstream_adds) {
  PoolOptions options;
  options.layout.upstream_extra = 32;
  CHECK(options.layout.region_bytes(512) == 2 * MiB - 512);
  CHECK(options.layout.region_bytes(2 * MiB - 512) == 2 * MiB - 512);
  CHECK(options.layout.region_bytes(2 * MiB) == 4 * MiB - 512);
  const auto pool = counting(64 * MiB, options);
  take(*pool, owner(*pool), 5 * MiB);
  CHECK(pool->stats().reserved_bytes == 6 * MiB - 512);
  sound(*pool);
}

TEST(a_region_is_split_from_its_beginning) {
  const auto pool = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  const Allocation first = take(*pool, who, filling(512)), second = take(*pool, who, filling(1024)),
                   third = take(*pool, who, 1);
  CHECK(first.address == CountingUpstream::first_address);
  CHECK(second.address == first.address + 512 && third.address == second.address + 1024);
  CHECK(pool->stats().upstream_allocations == 1 && pool->stats().reserved_bytes == 2 * MiB);
  sound(*pool);
}

TEST(a_freed_block_is_used_again) {
  const auto pool = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  const Allocation block = take(*pool, who, 10000);
  take(*pool, who, 1);
  give(*pool, block);
  CHECK(take(*pool, who, 10000).address == block.address);
}

TEST(the_best_fit_wins) {
  const auto pool = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  const Allocation large = take(*pool, who, filling(4096));
  take(*pool, who, 1);
  const Allocation small = take(*pool, who, filling(2048));
  take(*pool, who, 1);
  const Allocation medium = take(*pool, who, filling(3072));
  take(*pool, who, 1);
  give(*pool, large);
  give(*pool, small);
  give(*pool, medium);
  CHECK(take(*pool, who, filling(2560)).address == medium.address);
  CHECK(take(*pool, who, filling(2048)).address == small.address);
  CHECK(take(*pool, who, filling(2048)).address == large.address);
  sound(*pool);
}

TEST(of_equal_blocks_the_lowest_wins) {
  const auto pool = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  std::vector<Allocation> blocks;
  for (int i = 0; i < 8; ++i) {
    blocks.push_back(take(*pool, who, filling(1024)));
    take(*pool, who, 1);
  }
  for (const int i : {5, 2, 7, 1, 6}) give(*pool, blocks[static_cast<std::size_t>(i)]);
  for (const int i : {1, 2, 5, 6, 7})
    CHECK(take(*pool, who, filling(1024)).address == blocks[static_cast<std::size_t>(i)].address);
}

TEST(neighbours_merge_below_above_and_on_both_sides) {
  for (const auto &order : {std::vector<std::size_t>{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    const auto pool = counting(64 * MiB);
    const OwnerId who = owner(*pool);
    const Allocation blocks[] = {take(*pool, who, filling(512)), take(*pool, who, filling(1024)),
                                 take(*pool, who, filling(1536))};
    take(*pool, who, 1);
    for (const std::size_t i : order) {
      give(*pool, blocks[i]);
      sound(*pool);
    }
    CHECK(pool->stats().held_blocks == 2);
    CHECK(take(*pool, who, filling(3072)).address == blocks[0].address);
  }
}

TEST(an_idle_region_is_one_block_again) {
  const auto pool = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  std::vector<Allocation> blocks;
  for (std::size_t i = 0; i < 200; ++i) blocks.push_back(take(*pool, who, 100 + i * 40));
  for (std::size_t i = 0; i < blocks.size(); i += 2) give(*pool, blocks[i]);
  for (std::size_t i = 1; i < blocks.size(); i += 2) give(*pool, blocks[i]);
  const PoolStats stats = pool->stats();
  CHECK(stats.held_blocks == stats.regions && stats.active_bytes == 0 && stats.requested_bytes == 0);
  sound(*pool);
}

TEST(blocks_never_merge_across_regions) {
  // Two regions that touch, as malloc or a device may well give them.
  BlockList blocks;
  blocks.add_region(0x10000, 1024, false);
  blocks.add_region(0x10400, 1024, false);
  Block *low = blocks.take(1024), *high = blocks.take(1024);
  CHECK(low->address == 0x10000 && high->address == 0x10400);
  blocks.put_back(low);
  blocks.put_back(high);
  CHECK(blocks.free_blocks() == 2 && blocks.largest_free_bytes() == 1024 && blocks.take(2048) == nullptr);
  CHECK(blocks.find_fault() == nullptr);
}

TEST(a_pool_grows_by_what_is_needed) {
  const auto pool = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  take(*pool, who, 5 * MiB);
  CHECK(pool->stats().reserved_bytes == 6 * MiB);
  take(*pool, who, 900 * KiB);  // fits in the rest
  CHECK(pool->stats().upstream_allocations == 1);
  take(*pool, who, 200 * KiB);
  CHECK(pool->stats().upstream_allocations == 2 && pool->stats().reserved_bytes == 8 * MiB);
}

TEST(held_memory_can_be_tried_alone) {
  const auto pool = counting(64 * MiB);
  const OwnerId who = owner(*pool);
  Allocation block;
  Status status;
  CHECK(!pool->try_allocate(1000, who, block, status) && status.ok() && block.serial == 0);
  CHECK(pool->stats().upstream_allocations == 0 && pool->stats().failures == 0);
  const Allocation first = take(*pool, who, 1000);
  CHECK(pool->try_allocate(1000, who, block, status) && status.ok() && block.address == first.address + 1536);
  CHECK(!pool->try_allocate(3 * MiB, who, block, status));
  CHECK(pool->try_allocate(0, who, block, status) && status.code() == StatusCode::invalid_argument);
}

TEST(a_preallocated_pool_asks_once) {
  PoolOptions options;
  options.pool_bytes = 16 * MiB;
  const auto pool = counting(64 * MiB, options);
  CHECK(pool->stats().reserved_bytes == 16 * MiB && pool->stats().held_blocks == 1);
  const OwnerId who = owner(*pool);
  for (int round = 0; round < 100; ++round) {
    const Allocation a = take(*pool, who, 5 * MiB), b = take(*pool, who, 7 * MiB), c = take(*pool, who, 3 * MiB);
    give(*pool, b);
    give(*pool, a);
    give(*pool, c);
  }
  CHECK(pool->stats().upstream_allocations == 1 && pool->trim() == 0 && pool->stats().upstream_frees == 0);
}

TEST(two_instantiations_serve_side_by_side) {
  std::unique_ptr<HostPool> host;
  CHECK(HostPool::open(PoolOptions{}, host).ok());
  const OwnerId who = owner(*host);
  const Allocation block = take(*host, who, 3 * MiB);
  std::memset(reinterpret_cast<void *>(block.address), 0x5A, block.bytes + 32);  // the tail belongs to the block
  give(*host, block);
  CHECK(host->trim() == 4 * MiB && host->stats().reserved_bytes == 0);
  CHECK(host->host_accessible() && !counting(MiB)->host_accessible());
}
