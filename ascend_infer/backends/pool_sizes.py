"""What the two pools of a device take, and how far they may grow."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_infer.errors import InvalidOptionError

__all__ = ["PoolSizes"]


@dataclass(frozen=True, slots=True)
class PoolSizes:
    """Sizes of a device's pool of memory and of its pool of pinned host memory.

    Attributes
    ----------
    pool_bytes, pinned_pool_bytes : int or None
        Bytes that are taken at once; None takes what is needed.
    growable, pinned_growable : bool
        False: these bytes are all there is.
    limit_bytes : int or None
        Most that a growable pool of device memory may come to.
    """

    pool_bytes: int | None = None
    pinned_pool_bytes: int | None = None
    growable: bool = True
    limit_bytes: int | None = None
    pinned_growable: bool = True

    def __str__(self) -> str:
        return f"{self._memory()}, pinned {_bytes(self.pinned_pool_bytes, self.pinned_growable)}"

    def refuse_other(self, wanted: PoolSizes, device: str) -> None:
        """Refuse what a model states where the device is open with these sizes.

        Raises
        ------
        InvalidOptionError
        """
        for name in ("pool_bytes", "pinned_pool_bytes"):
            have, want = getattr(self, name), getattr(wanted, name)
            if want is not None and want != have:
                raise InvalidOptionError(
                    f"{name}: got {want}, and device {device!r} is open with "
                    f"{'no size stated' if have is None else have}: all models of a device share its pools",
                    option=name,
                    got=want,
                )

    def refuse_making(self, wanted: PoolSizes, device: str, why_open: str) -> None:
        """Refuse a pool that is made by hand where the device is open with other sizes than these.

        Raises
        ------
        InvalidOptionError
        """
        if wanted != self:
            raise InvalidOptionError(
                f"memory pool of {device}: got {wanted}, and the device is open with {self} ({why_open}); a device has "
                "one pool: make it before the first session, or use session.memory_pool",
                option="nbytes",
                got=wanted.pool_bytes,
            )

    def _memory(self) -> str:
        limit = "" if self.limit_bytes is None else f" up to {self.limit_bytes}"
        return _bytes(self.pool_bytes, self.growable) + limit


def _bytes(number: int | None, growable: bool) -> str:
    text = "no size stated" if number is None else f"{number} bytes"
    return text if growable else f"{text}, fixed"
