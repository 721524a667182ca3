// Random histories against a model that knows addresses and sizes only.
#include <cstdint>
#include <map>
#include <random>

#include "pool_check.hpp"

namespace {

struct Live {
  Allocation block;
  std::size_t stride;
  std::size_t owner;
};

constexpr std::size_t owners_in_play = 4;

// Steps that may be asked for on the command line's behalf by a longer run.
std::size_t steps() {
  const char *asked = std::getenv("POOL_HISTORY_STEPS");
  return asked == nullptr ? 100000 : std::strtoull(asked, nullptr, 10);
}

void play(std::uint64_t seed, std::size_t limit, std::size_t capacity, std::size_t preallocated, std::size_t count) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  PoolOptions options;
  options.limit_bytes = limit;
  options.pool_bytes = preallocated;
  std::vector<std::size_t> failing;
  for (std::size_t call = 5; call < 100000; call += 1 + below(40)) failing.push_back(call);
  const auto pool = counting(capacity, options, failing);
  OwnerId ids[owners_in_play];
  for (std::size_t i = 0; i < owners_in_play; ++i) ids[i] = owner(*pool, ("owner " + std::to_string(i)).c_str());

  std::map<Address, Live> live;  // by address
  std::size_t active = 0, requested = 0, by_owner[owners_in_play] = {}, peak = 0;
  std::vector<Allocation> dead;
  for (std::size_t step = 0; step < count; ++step) {
    const std::size_t action = below(100);
    const bool full = active > (limit != 0 ? limit : capacity) / 2;
    if (action < (full ? 40u : 55u)) {
      const std::size_t bytes = 1 + below(std::size_t{1} << (3 + below(19)));
      const std::size_t who = below(owners_in_play), stride = options.layout.stride(bytes);
      const PoolStats before = pool->stats();
      Allocation block;
      const Status status = pool->allocate(bytes, ids[who], block);
      if (status.ok()) {
        // It lies in nobody's way.
        const auto above = live.lower_bound(block.address);
        CHECK(above == live.end() || block.address + stride <= above->first);
        if (above != live.begin()) {
          const Live &lower = std::prev(above)->second;
          CHECK(lower.block.address + lower.stride <= block.address);
        }
        live.emplace(block.address, Live{block, stride, who});
        active += stride;
        requested += bytes;
        by_owner[who] += stride;
        peak = std::max(peak, active);
      } else {
        CHECK(status.code() == StatusCode::out_of_memory && before.largest_held_bytes < stride);
      }
      // What fitted was served without the upstream.
      if (before.largest_held_bytes >= stride)
        CHECK(status.ok() && pool->stats().upstream_allocations == before.upstream_allocations);
    } else if (action < 97 && !live.empty()) {
      auto victim = live.lower_bound(CountingUpstream::first_address + below(2 * capacity));
      if (victim == live.end()) victim = live.begin();
      const Live block = victim->second;
      give(*pool, block.block);
      live.erase(victim);
      active -= block.stride;
      requested -= block.block.bytes;
      by_owner[block.owner] -= block.stride;
      if (dead.size() < 1000) dead.push_back(block.block);
      else dead[below(1000)] = block.block;
    } else if (action < 99 && !dead.empty()) {
      CHECK(pool->free(dead[below(dead.size())]).code() == StatusCode::double_free);
    } else {
      const std::size_t before = pool->stats().reserved_bytes, given = pool->trim();
      CHECK(pool->stats().reserved_bytes == before - given);
    }
    sound(*pool);
    const PoolStats stats = pool->stats();
    CHECK(stats.active_bytes == active && stats.requested_bytes == requested && stats.active_blocks == live.size());
    CHECK(stats.peak_active_bytes == peak && (limit == 0 || stats.reserved_bytes <= limit));
    CHECK(stats.reserved_bytes == capacity - pool->upstream().available());
    if (step % 64 == 0)
      for (const OwnerUsage &usage : pool->owners())
        CHECK(usage.active_bytes == by_owner[static_cast<std::size_t>(usage.name.back() - '0')]);
  }
  for (const auto &[address, block] : live) give(*pool, block.block);
  pool->close();
  CHECK(pool->upstream().live() == 0 && pool->upstream().wrong_frees() == 0);
  CHECK(pool->upstream().peak() <= (limit != 0 ? limit : capacity));
}

}  // namespace

TEST(random_histories_agree_with_a_model) {
  const std::size_t count = steps() / 4;
  play(1, 0, 24 * MiB, 0, count);
  play(2, 9 * MiB + 4096, 64 * MiB, 0, count);
  play(3, 16 * MiB, 64 * MiB, 4 * MiB, count);
  play(4, 3 * MiB, 64 * MiB, MiB + 1, count);
}
