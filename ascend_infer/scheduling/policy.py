"""What the micro-batcher does next: a pure function of what is queued, the time and the rules.

The rules are Triton's dynamic batcher's. A reached preferred size goes at once, the largest such prefix first;
what can no longer grow goes at once; the rest waits until its oldest request has waited the delay, and then all
of it goes. With a delay of 0 something goes whenever something is queued. Order is strict: nothing is taken
past a request that does not fit.

One addition: where the model has compiled sizes with measured costs, a batch that would be padded up is cut at
a compiled size, if that and the rest run by itself cost less together. A batch of exactly a preferred size is
left alone, and so is one of which a request has not yet waited the delay: the rest of a cut would go on waiting.

All times are nanoseconds of one clock; 0 as a moment means never.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = [
    "BatchRules",
    "Decision",
    "Expiry",
    "GearCost",
    "LevelRules",
    "QueueSummary",
    "decide",
    "expires_at",
]


@dataclass(slots=True)
class QueueSummary:
    """The head of the queue, in the order in which requests are served. The queue fills it in place.

    Attributes
    ----------
    requests, rows : int
        The longest prefix that may run together: it has the same shapes and the same optional inputs where they
        must be the same, and at most ``BatchRules.max_rows`` rows. A request of a model without batching counts
        as one row.
    closed : bool
        Whether a request is queued behind them that cannot join them.
    best_requests, best_rows : int
        The largest prefix of these that has exactly a preferred number of rows. Where there is none: the
        shortest prefix that would have more rows than the largest preferred size with the next of these
        requests. Else 0.
    overshoot : bool
        Whether ``best_requests`` is of the second kind: a preferred size cannot be reached any more.
    oldest, newest : int
        When the first and the last of them to be queued were queued.
    next_deadline : int
        When the next queued request is to be refused or put behind the others, of all that are queued.
    gear_requests, gear_rows : list of int
        For each of ``BatchRules.gears``: the longest prefix of these with at most that many rows. Empty is
        allowed where there are no gears, and where every request has one row.
    """

    requests: int = 0
    rows: int = 0
    closed: bool = False
    best_requests: int = 0
    best_rows: int = 0
    overshoot: bool = False
    oldest: int = 0
    newest: int = 0
    next_deadline: int = 0
    gear_requests: list[int] = field(default_factory=list)
    gear_rows: list[int] = field(default_factory=list)


class Decision(NamedTuple):
    """Send a prefix of the queue, or wait.

    Attributes
    ----------
    requests, rows : int
        What to send; 0 to wait.
    wait_until : int
        When to decide again if nothing comes; 0 for never.
    wake_rows : int
        An arrival is a reason to decide again only when now at least this many rows are queued, when it cannot
        join the batch, when it is served before one that was queued already, or when it expires before
        ``wait_until``. Something that leaves the queue without being sent always is a reason.
    gear : int or None
        Rows of the compiled size that the batch runs in at the least cost; None where that is not known.
    """

    requests: int
    rows: int
    wait_until: int
    wake_rows: int
    gear: int | None


_NOTHING = Decision(0, 0, 0, 1, None)


class GearCost(NamedTuple):
    """Rows of a compiled size, and what one launch of it costs in nanoseconds; 0 where that was not measured."""

    rows: int
    cost: int


@dataclass(frozen=True, slots=True)
class BatchRules:
    """What a batch may be.

    Parameters
    ----------
    max_rows : int
        At least 1.
    preferred : tuple of int
        Sorted sizes, none above ``max_rows``; without any, everything goes at once.
    delay : int
        Nanoseconds that the oldest request waits for company.
    gears : tuple of GearCost
        Sorted by rows; empty where the model has no compiled batch sizes.

    Attributes
    ----------
    row_gears : tuple of int
        For each number of rows from 0 to the largest gear's: the rows of the cheapest gear that takes them, 0
        where the cheapest is not known.
    row_costs : tuple of int
        What that gear costs; 0 where it is not known.
    """

    max_rows: int
    preferred: tuple[int, ...] = ()
    delay: int = 0
    gears: tuple[GearCost, ...] = ()
    row_gears: tuple[int, ...] = field(init=False, repr=False, compare=False)
    row_costs: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        chosen = _cheapest(self.gears)
        object.__setattr__(self, "row_gears", tuple(gear.rows for gear in chosen))
        object.__setattr__(self, "row_costs", tuple(gear.cost for gear in chosen))

    def with_gears(self, gears: Iterable[GearCost]) -> BatchRules:
        """Return the same rules with other costs, sorted here."""
        return BatchRules(self.max_rows, self.preferred, self.delay, tuple(sorted(gears)))


class LevelRules(NamedTuple):
    """The queue policy of one priority level.

    Attributes
    ----------
    timeout : int
        Nanoseconds; 0 for none.
    delays : bool
        Whether a request whose timeout is over goes behind the others of its level, instead of being refused.
    max_requests : int
        How many may be queued in this level; 0 for any number.
    """

    timeout: int = 0
    delays: bool = False
    max_requests: int = 0


class Expiry(NamedTuple):
    """When a queued request is put behind the others of its level, and when it is refused; 0 for never."""

    delayed_at: int
    refused_at: int


def expires_at(level: LevelRules, arrived: int, asked: int | None) -> Expiry:
    """Return when a request's time in the queue is over: from these moments on, not only after them.

    Parameters
    ----------
    level : LevelRules
    arrived : int
    asked : int or None
        The request's own timeout in nanoseconds. It counts whatever the level says, and always refuses; it
        can end a request's time before the level's timeout does, not prolong it.
    """
    own = 0 if asked is None else max(1, arrived + asked)
    if not level.timeout:
        return Expiry(0, own)
    common = arrived + level.timeout
    if level.delays:
        return Expiry(common, own)
    return Expiry(0, min(own, common) if own else common)


def decide(summary: QueueSummary, now: int, rules: BatchRules) -> Decision:
    """Decide what runs next on an instance that is free.

    Parameters
    ----------
    summary : QueueSummary
        After what is over at ``now`` was refused or put back.
    now : int
    rules : BatchRules

    Returns
    -------
    Decision
    """
    requests = summary.requests
    if not requests:
        return _NOTHING
    rows = summary.rows
    delay = rules.delay
    due = summary.oldest + delay
    preferred = rules.preferred
    if summary.best_requests and (not delay or now < due):
        requests, rows = summary.best_requests, summary.best_rows
    elif delay and now < due and not summary.closed and preferred and rows < preferred[-1]:
        deadline = summary.next_deadline
        until = deadline if 0 < deadline < due else due
        return Decision(0, 0, until, preferred[bisect_right(preferred, rows)], None)
    # The rest of a cut would wait for its own delay, unless every request has waited as long already.
    is_cuttable = summary.overshoot or rows != summary.best_rows
    if rules.gears and is_cuttable and (not delay or now >= summary.newest + delay):
        requests, rows = _cut(summary, requests, rows, rules)
    return Decision(requests, rows, 0, 0, _gear(rows, rules))


def _gear(rows: int, rules: BatchRules) -> int | None:
    gears = rules.row_gears
    return gears[rows] or None if rows < len(gears) else None


def _cut(summary: QueueSummary, requests: int, rows: int, rules: BatchRules) -> tuple[int, int]:
    """Return the prefix after which the rest, run by itself, makes the least total; all of it at equal cost."""
    costs = rules.row_costs
    if rows >= len(costs) or not costs[rows]:
        return requests, rows
    single = requests == rows
    if not single and not summary.gear_rows:
        return requests, rows
    least = costs[rows]
    found = requests, rows
    for index, gear in enumerate(rules.gears):
        if gear.rows >= rows:
            break
        first = gear.rows if single else summary.gear_rows[index]
        if first and first < rows and costs[first] and costs[rows - first]:
            total = costs[first] + costs[rows - first]
            if total < least or (total == least and found[1] < first):
                least = total
                found = (first if single else summary.gear_requests[index]), first
    return found


def _cheapest(gears: tuple[GearCost, ...]) -> list[GearCost]:
    """Return the cheapest gear for each number of rows; 0 rows at no cost where it is not known.

    It is not known where the smallest gear that takes the rows was never measured. Larger ones that were not
    measured are taken to cost more.
    """
    chosen: list[GearCost] = []
    best: GearCost | None = None
    smaller = [*(gear.rows for gear in gears[-2::-1]), -1]
    for gear, below in zip(reversed(gears), smaller, strict=bool(gears)):
        if gear.cost and (best is None or gear.cost <= best.cost):
            best = gear
        chosen.extend([best if gear.cost and best is not None else GearCost(0, 0)] * (gear.rows - below))
    chosen.reverse()
    return chosen
