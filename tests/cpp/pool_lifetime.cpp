// What is given back and when: trimmed, closed, dropped, forked; and who is charged meanwhile.
#include <sys/wait.h>
#include <unistd.h>

#include "pool_check.hpp"

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

// How many regions an upstream had given and not got back when it was dropped.
static std::size_t left;
struct Watched : CountingUpstream {
  using CountingUpstream::CountingUpstream;
  ~Watched() { left = live(); }
};

TEST(a_dropped_pool_gives_everything_back) {
  std::unique_ptr<Pool<Watched>> pool;
  CHECK(Pool<Watched>::open(PoolOptions{}, pool, 64 * MiB).ok());
  take(*pool, owner(*pool), 9 * MiB);
  left = 99;
  pool.reset();
  CHECK(left == 0);
}

TEST(a_forked_child_gives_nothing_back) {
  std::unique_ptr<Pool<Watched>> pool;
  CHECK(Pool<Watched>::open(PoolOptions{}, pool, 64 * MiB).ok());
  const OwnerId who = owner(*pool);
  const Allocation block = take(*pool, who, 9 * MiB);
  CHECK(!pool->forked());
  const pid_t child = fork();
  if (child == 0) {
    OwnerId other = 0;
    CHECK(pool->forked() && refused(*pool, who, 1) == StatusCode::forked);
    CHECK(pool->acquire_owner("other", other).code() == StatusCode::forked);
    CHECK(pool->free(block).ok() && pool->free(block).ok() && pool->release_owner(who).ok() && pool->trim() == 0);
    pool->close();
    CHECK(pool->upstream().live() == 1 && pool->stats().reserved_bytes == 0 && pool->owners().empty());
    pool.reset();
    CHECK(left == 1);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  give(*pool, block);
  CHECK(pool->trim() == 10 * MiB);
}
