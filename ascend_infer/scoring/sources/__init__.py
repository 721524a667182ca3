"""Where rows come from: one module a kind of source, and :func:`open_source`, which tells them apart."""

from ascend_infer.scoring.sources.choice import open_source
from ascend_infer.scoring.sources.source import Source, SourceOptions

__all__ = ["Source", "SourceOptions", "open_source"]
