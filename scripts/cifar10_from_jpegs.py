#!/usr/bin/env python3
"""CIFAR-10's binary files from a folder or archive of JPEGs (train/<class>/<n>.jpg, test/<class>/<n>.jpg), in an order mixed by a fixed seed.

usage: cifar10_from_jpegs.py ARCHIVE OUT. Needs Pillow and NumPy. Lossy images: compare networks on these files with each other only."""

import io
import os
import sys
import tarfile

import numpy as np
from PIL import Image

CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()


def main():
    archive, out = sys.argv[1:3]
    sets = {"train": [], "test": []}
    with tarfile.open(archive) as tar:
        for member in tar:
            parts = member.name.split("/")
            if not member.isfile() or not member.name.endswith(".jpg"):
                continue
            pixels = np.asarray(Image.open(io.BytesIO(tar.extractfile(member).read())).convert("RGB"), np.uint8)
            label = np.array([CLASSES.index(parts[-2])], np.uint8)
            sets[parts[-3]].append((member.name, np.concatenate([label, pixels.transpose(2, 0, 1).ravel()])))
    os.makedirs(out, exist_ok=True)
    for name, items in sets.items():
        items.sort(key=lambda item: item[0])
        data = np.stack([record for _, record in items])
        data = data[np.random.default_rng(0).permutation(len(data))]
        if name == "test":
            data.tofile(f"{out}/test_batch.bin")
            continue
        for i, part in enumerate(np.array_split(data, 5)):
            part.tofile(f"{out}/data_batch_{i + 1}.bin")
    print({name: len(items) for name, items in sets.items()})


main()
