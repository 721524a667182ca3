"""How a session puts requests together: the options of the micro-batcher, under Triton's names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ascend_infer.refusal import wrong_option
from ascend_infer.scheduling.policy import BatchRules, GearCost, LevelRules

if TYPE_CHECKING:
    from ascend_infer.config.model_config import ModelConfig
    from ascend_infer.config.scheduling_config import ModelQueuePolicy

__all__ = ["Batching", "QueuePolicy"]

#: The largest duration in nanoseconds, 146 years: longer ones are this long, so that sums stay within 64 bits.
_LONGEST = 2**62

#: Each level has a queue, and each look at them passes the empty ones.
_MOST_LEVELS = 65_536


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """Limits of the requests that wait in one priority level.

    Parameters
    ----------
    timeout_action : {"REJECT", "DELAY"}
        What happens to a request that has waited ``default_timeout_microseconds``: it fails with
        DeadlineExceededError, or it is served after all others of its level.
    default_timeout_microseconds : int
        0 for none.
    allow_timeout_override : bool
        Has no effect and is there because Triton has it: a request's own timeout always counts, always makes
        it fail, and can only shorten its time.
    max_queue_size : int
        A request that finds as many queued in its level fails with QueueFullError. 0 for any number.

    Raises
    ------
    InvalidOptionError
    """

    timeout_action: Literal["REJECT", "DELAY"] = "REJECT"
    default_timeout_microseconds: int = 0
    allow_timeout_override: bool = False
    max_queue_size: int = 0

    def __post_init__(self) -> None:
        if self.timeout_action not in ("REJECT", "DELAY"):
            raise wrong_option("timeout_action", self.timeout_action, "'REJECT' or 'DELAY'")
        _check_number("default_timeout_microseconds", self.default_timeout_microseconds, 0, 2**64)
        _check_flag("allow_timeout_override", self.allow_timeout_override)
        _check_number("max_queue_size", self.max_queue_size, 0, 2**32)

    @property
    def rules(self) -> LevelRules:
        """The same for the scheduler, in nanoseconds."""
        return LevelRules(
            _nanoseconds(self.default_timeout_microseconds),
            self.timeout_action == "DELAY",
            self.max_queue_size,
        )


@dataclass(frozen=True, slots=True)
class Batching:
    """Run requests of several callers together; the fields of ``dynamic_batching`` in config.pbtxt.

    Parameters
    ----------
    preferred_batch_size : sequence of int
        A batch of one of these sizes goes at once. Without any: the model's ``max_batch_size``.
    max_queue_delay_microseconds : int
        How long the oldest request waits for company before what is there goes. 0: nothing ever waits while
        an instance is free, and batches form only while all are busy.
    preserve_ordering : bool
        Results are handed out in the order of the requests, also where several instances run.
    priority_levels : int
        1 is served first; a level waits as long as there is work in a better one. 0 for a single level; at most
        65,536.
    default_priority_level : int
        Of requests with priority 0, or with one that is no level. 1 to ``priority_levels``.
    default_queue_policy : QueuePolicy
        Of levels that ``priority_queue_policy`` does not name.
    priority_queue_policy : mapping of int to QueuePolicy
        By level.

    Raises
    ------
    InvalidOptionError
        Where Triton refuses the same configuration; what depends on the model is checked when it is loaded.

    Notes
    -----
    A model with a ``max_batch_size`` of 0 or 1 runs every request by itself at once; priorities and queue
    policies hold for it too.
    """

    preferred_batch_size: tuple[int, ...] = ()
    max_queue_delay_microseconds: int = 0
    preserve_ordering: bool = False
    priority_levels: int = 0
    default_priority_level: int = 0
    default_queue_policy: QueuePolicy = field(default_factory=QueuePolicy)
    priority_queue_policy: Mapping[int, QueuePolicy] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        sizes = self.preferred_batch_size
        if isinstance(sizes, str | bytes | Mapping) or not isinstance(sizes, Iterable):
            raise wrong_option(
                "preferred_batch_size", sizes, f"a list of whole numbers from 1 to {2**31 - 1}"
            )
        sizes = tuple(sizes)
        for size in sizes:
            _check_number("preferred_batch_size", size, 1, 2**31)
        object.__setattr__(self, "preferred_batch_size", sizes)
        _check_number("max_queue_delay_microseconds", self.max_queue_delay_microseconds, 0, 2**64)
        _check_flag("preserve_ordering", self.preserve_ordering)
        _check_number("priority_levels", self.priority_levels, 0, _MOST_LEVELS + 1)
        levels = self.priority_levels
        if levels:
            _check_number("default_priority_level", self.default_priority_level, 1, levels + 1)
        else:
            _check_number("default_priority_level", self.default_priority_level, 0, 2**64)
        if not isinstance(self.default_queue_policy, QueuePolicy):
            raise wrong_option("default_queue_policy", self.default_queue_policy, "a QueuePolicy")
        if not isinstance(self.priority_queue_policy, Mapping):
            raise wrong_option(
                "priority_queue_policy", self.priority_queue_policy, "a dict of level and QueuePolicy"
            )
        object.__setattr__(self, "priority_queue_policy", dict(self.priority_queue_policy))
        for level, policy in self.priority_queue_policy.items():
            if levels:
                _check_number("priority_queue_policy", level, 1, levels + 1)
            if not isinstance(policy, QueuePolicy):
                raise wrong_option(f"priority_queue_policy[{level}]", policy, "a QueuePolicy")
        if self.preserve_ordering:
            self._check_ordering()

    def _check_ordering(self) -> None:
        if self.priority_levels > 1:
            raise wrong_option("priority_levels", self.priority_levels, "at most 1 with preserve_ordering")
        for policy in (self.default_queue_policy, *self.priority_queue_policy.values()):
            if policy.timeout_action == "DELAY" and policy.default_timeout_microseconds:
                raise wrong_option("timeout_action", "DELAY", "'REJECT' with preserve_ordering")

    @classmethod
    def from_config(cls, config: ModelConfig) -> Batching | None:
        """Return what ``dynamic_batching`` says, or None where it is not there.

        Raises
        ------
        InvalidOptionError
            For a checked configuration only where it has more than 65,536 priority levels.
        """
        message = config.dynamic_batching
        if message is None:
            return None
        return cls(
            preferred_batch_size=message.preferred_batch_size,
            max_queue_delay_microseconds=message.max_queue_delay_microseconds,
            preserve_ordering=message.preserve_ordering,
            priority_levels=message.priority_levels,
            default_priority_level=message.default_priority_level,
            default_queue_policy=_policy(message.default_queue_policy),
            priority_queue_policy={
                level: _policy(policy) for level, policy in message.priority_queue_policy.items()
            },
        )

    def rules(self, max_batch_size: int, gears: Iterable[tuple[int, float | None]] = ()) -> BatchRules:
        """Return what a batch of one model may be.

        Parameters
        ----------
        max_batch_size : int
            Of the model's configuration. 0: every request is one row, and one row is a batch.
        gears : iterable of (int, float or None)
            Rows of each compiled size and the seconds of one launch, None where it was not measured.

        Raises
        ------
        InvalidOptionError
            When a preferred size is above ``max_batch_size``.
        """
        for size in self.preferred_batch_size:
            if size > max_batch_size:
                most = f"at most the model's max_batch_size, {max_batch_size}"
                expected = most if max_batch_size else "none: the model's max_batch_size is 0"
                raise wrong_option("preferred_batch_size", size, expected)
        most_rows = max(1, max_batch_size)
        return BatchRules(
            max_rows=most_rows,
            preferred=tuple(sorted(set(self.preferred_batch_size))) or (most_rows,),
            delay=_nanoseconds(self.max_queue_delay_microseconds),
            gears=gear_costs(gears),
        )

    def levels(self) -> tuple[LevelRules, ...]:
        """Return the rules of each level, the one served first at 0."""
        common = self.default_queue_policy
        if not self.priority_levels:
            return (common.rules,)
        named = self.priority_queue_policy
        return tuple(named.get(level, common).rules for level in range(1, self.priority_levels + 1))

    def level_of(self, priority: int) -> int:
        """Return which of ``levels()`` a request's priority means; any number is allowed."""
        if not self.priority_levels:
            return 0
        return (priority if 1 <= priority <= self.priority_levels else self.default_priority_level) - 1


def gear_costs(gears: Iterable[tuple[int, float | None]]) -> tuple[GearCost, ...]:
    """Return compiled sizes with costs in seconds as the rules have them: sorted, in nanoseconds."""
    return tuple(
        sorted(GearCost(rows, 0 if cost is None else max(1, round(cost * 1e9))) for rows, cost in gears)
    )


def _policy(message: ModelQueuePolicy | None) -> QueuePolicy:
    if message is None:
        return QueuePolicy()
    return QueuePolicy(
        "DELAY" if message.timeout_action == "DELAY" else "REJECT",
        message.default_timeout_microseconds,
        message.allow_timeout_override,
        message.max_queue_size,
    )


def _nanoseconds(microseconds: int) -> int:
    return min(microseconds * 1000, _LONGEST)


def _check_number(option: str, value: Any, least: int, end: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < end:
        raise wrong_option(option, value, f"a whole number from {least} to {end - 1}")


def _check_flag(option: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise wrong_option(option, value, "True or False")
