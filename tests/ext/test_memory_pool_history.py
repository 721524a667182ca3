"""Random histories of a memory pool against a dictionary."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from ascend_infer._native import Block, counting_pool
from ascend_infer.errors import (
    DeviceOutOfMemoryError,
    PoolLimitError,
)

MIB = 1 << 20
LIMIT = 6 * MIB


class PoolHistory(RuleBasedStateMachine):
    """Blocks by address against a dictionary; the upstream fails now and then."""

    blocks: Bundle[Block] = Bundle("blocks")

    @initialize(
        failing=st.sets(st.integers(2, 40), max_size=10), pool_bytes=st.sampled_from([0, 1000, 2 * MIB])
    )
    def open(self, failing: set[int], pool_bytes: int) -> None:
        self.pool = counting_pool(16 * MIB, limit_bytes=LIMIT, pool_bytes=pool_bytes, failing_calls=failing)
        self.live: dict[int, Block] = {}
        self.served = 0

    @rule(
        target=blocks,
        nbytes=st.one_of(
            st.integers(1, 5000), st.integers(1, 3 * MIB), st.sampled_from([480, 481, 2 * MIB - 32])
        ),
        owner=st.sampled_from(["weights", "workspace", "slots"]),
    )
    def allocate(self, nbytes: int, owner: str) -> Any:
        before = self.pool.stats()
        stride = self.pool.stride(nbytes)
        try:
            block = self.pool.allocate(nbytes, owner)
        except (PoolLimitError, DeviceOutOfMemoryError):
            assert before.largest_held_bytes < stride
            from hypothesis.stateful import multiple

            return multiple()
        if before.largest_held_bytes >= stride:
            assert self.pool.stats().upstream_allocations == before.upstream_allocations
        for other in self.live.values():
            end = other.address + self.pool.stride(other.nbytes)
            assert block.address >= end or other.address >= block.address + stride
        self.live[block.address] = block
        self.served += 1
        return block

    @rule(block=consumes(blocks))
    def free(self, block: Block) -> None:
        del self.live[block.address]
        block.free()
        block.free()

    @rule()
    def trim(self) -> None:
        before = self.pool.stats()
        given = self.pool.trim()
        after = self.pool.stats()
        assert before.reserved_bytes - after.reserved_bytes == given
        assert after.active_bytes == before.active_bytes
        assert self.pool.trim() == 0

    @invariant()
    def numbers_agree(self) -> None:
        if not hasattr(self, "pool"):
            return
        stats = self.pool.stats()
        assert stats.active_bytes + stats.held_bytes == stats.reserved_bytes <= LIMIT
        assert stats.active_bytes == sum(self.pool.stride(block.nbytes) for block in self.live.values())
        assert stats.requested_bytes == sum(block.nbytes for block in self.live.values())
        assert stats.active_blocks == len(self.live) == stats.allocations - stats.frees
        assert stats.allocations == self.served
        assert 0 <= stats.fragmentation < 1
        by_owner: dict[str, int] = {}
        for block in self.live.values():
            by_owner[block.owner] = by_owner.get(block.owner, 0) + self.pool.stride(block.nbytes)
        assert {usage.name: usage.active_bytes for usage in self.pool.owners()} == by_owner

    def teardown(self) -> None:
        if not hasattr(self, "pool"):
            return
        self.live.clear()
        self.pool.close()


TestPoolHistory = PoolHistory.TestCase
TestPoolHistory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
