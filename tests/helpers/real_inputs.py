"""Real text, speech and print in the form that real models take."""

from __future__ import annotations

import json
import re
import unicodedata
import wave
from pathlib import Path
from typing import Any

import numpy as np
from real_models import real_file

__all__ = ["file_features", "line_of_print", "read_speech", "sentence_rows", "tokens"]

Array = np.ndarray[Any, Any]


def tokens(text: str, vocabulary: dict[str, int]) -> list[int]:
    """WordPiece, greedy from the left."""
    plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    found = [vocabulary["[CLS]"]]
    for word in re.findall(r"\w+|[^\w\s]", plain):
        start, pieces = 0, []
        while start < len(word):
            end = len(word)
            while end > start and ("##" if start else "") + word[start:end] not in vocabulary:
                end -= 1
            if end == start:
                pieces = [vocabulary["[UNK]"]]
                break
            pieces.append(vocabulary[("##" if start else "") + word[start:end]])
            start = end
        found += pieces
    return [*found, vocabulary["[SEP]"]]


def sentence_rows(sentences: list[str]) -> list[list[int]]:
    """Return MiniLM's tokens of each sentence."""
    vocabulary = json.loads(real_file("minilm.json").read_text())["model"]["vocab"]
    return [tokens(sentence, vocabulary) for sentence in sentences]


def file_features(path: Path) -> list[int]:
    """Return what magika looks at: a file's first and last 1024 bytes, without white space at the ends."""
    data = path.read_bytes()
    head, tail = data[:4096].lstrip()[:1024], data[-4096:].rstrip()[-1024:]
    return [*head, *[256] * (1024 - len(head)), *[256] * (1024 - len(tail)), *tail]


def read_speech() -> Array:
    """Return a minute of speech, 16 kHz, -1 to 1."""
    with wave.open(str(real_file("speech.wav"))) as file:
        return np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768


def line_of_print(box: tuple[int, int, int, int], width: int | None = None) -> Array:
    """Return a box of the printed page as PP-OCR takes it, [3, 48, width]; as wide as it comes where left out."""
    from PIL import Image

    line = Image.open(real_file("page.png")).convert("RGB").crop(box)
    width = round(48 * line.width / line.height) if width is None else width
    line = line.resize((width, 48), Image.Resampling.BILINEAR)
    return ((np.asarray(line, np.float32)[..., ::-1] / 255 - 0.5) / 0.5).transpose(2, 0, 1)
