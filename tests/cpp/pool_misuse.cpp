// Blocks freed twice, freed by strangers, written past their end or after their time.
#include "pool_check.hpp"

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
  BlockTable table;
  table.put_back(table.take());  // an unused block is all zeros, as no allocation is
  CHECK(table.find(Allocation{}) == nullptr);
  CHECK(pool->free(Allocation{block.address, 1000, 1, ~0u}).code() != StatusCode::ok);
  for (Allocation forged : {Allocation{block.address + 512, block.bytes, block.serial, block.slot},
                            Allocation{block.address, block.bytes + 1, block.serial, block.slot},
                            Allocation{block.address, block.bytes, block.serial, block.slot + 1}})
    CHECK(!pool->free(forged).ok());
  CHECK(pool->stats().active_blocks == 1 && other->stats().active_blocks == 1);
  give(*pool, block);
  give(*other, foreign);
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
