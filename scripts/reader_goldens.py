#!/usr/bin/env python3
"""Writes the golden files of the readers of other programs' files: tests/golden/{hdf5,keras,gguf}, and the seeds of their fuzz targets.

Needs h5py, gguf, tensorflow and tf_keras; the tests need none of them. Weights and pictures are formulas, so that the answers come again:
tensor k of a model is 0.5 sin(0.7 i + k), a variance its absolute value and a half more; pictures are cos(0.3 i).

    python3 scripts/reader_goldens.py hdf5 gguf keras3 keras2
"""
import gzip
import json
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
GOLDEN, FUZZ = ROOT / "tests" / "golden", ROOT / "tests" / "fuzz"


def pack(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as out:
        out.write(Path(source).read_bytes())


def hdf5(scratch):
    import h5py

    for form, versions in {"earliest": "earliest", "v108": ("v108", "latest"), "latest": "latest"}.items():
        path = scratch / f"{form}.h5"
        with h5py.File(path, "w", libver=versions) as f:
            f.attrs["text"], f.attrs["bytes"], f.attrs["number"] = '{"a":1}', b"xyz", 3
            f.attrs["list"], f.attrs["longer list"] = np.array([b"one", b"three"]), ["aa", "bbbb"]
            many = f.create_group("many")
            for i in range(12):
                many.create_dataset(f"array number {i}", data=np.arange(6, dtype="f4").reshape(2, 3) + i)
            for i in range(10):
                many.attrs[f"attribute {i}"] = f"value {i}"
            kinds = f.create_group("kinds/of/types")
            for name, dtype in dict(f2="f2", f8="f8", i1="i1", u2="u2", i4be=">i4", f4be=">f4", u8="u8").items():
                kinds.create_dataset(name, data=np.arange(4).astype(dtype))
            kinds.create_dataset("bool", data=np.array([True, False]))
            kinds.create_dataset("scalar", data=np.float64(2.5))
            kinds.create_dataset("empty", data=np.zeros((0, 3), "f4"))
            kinds.create_dataset("texts", data="hello")
            chunks, numbers = f.create_group("chunks"), np.arange(210, dtype="i4").reshape(10, 21)
            chunks.create_dataset("one", data=np.arange(12, dtype="u2").reshape(3, 4), chunks=(3, 4))
            chunks.create_dataset("packed", data=numbers, chunks=(3, 8), compression="gzip", shuffle=True, fletcher32=True)
            chunks.create_dataset("plain", data=numbers, chunks=(4, 5))
            f["soft"], f["elsewhere"], f["again"] = h5py.SoftLink("/many"), h5py.ExternalLink("other.h5", "/x"), many
        pack(path, GOLDEN / "hdf5" / f"{form}.h5.gz")
    (FUZZ / "hdf5").mkdir(parents=True, exist_ok=True)
    for path, size in ((scratch / "indices.h5", 4300), (FUZZ / "hdf5" / "indices", 30)):
        with h5py.File(path, "w", libver="latest") as f:
            chunk_indices(f, h5py, size)
    pack(scratch / "indices.h5", GOLDEN / "hdf5" / "indices.h5.gz")
    if h5py.version.hdf5_version_tuple >= (2,):
        with h5py.File(scratch / "indices2.h5", "w", libver=("v200", "v200")) as f:
            chunk_indices(f, h5py, 600)
        pack(scratch / "indices2.h5", GOLDEN / "hdf5" / "indices2.h5.gz")
    for form, name in (("earliest", "old"), ("latest", "new")):
        with h5py.File(FUZZ / "hdf5" / name, "w", libver=form) as f:
            f.attrs["t"], f.attrs["l"] = "ab", np.array([b"a", b"bc"])
            f.create_dataset("a", data=np.arange(4, dtype="f4"))
            f.create_dataset("b", data=np.arange(6, dtype=">i2").reshape(2, 3), chunks=(2, 3), compression="gzip", shuffle=True)
            for i in range(9 if form == "latest" else 0):
                f.require_group("g").attrs[str(i)] = str(i)
    keras_seeds(h5py, scratch)


def chunk_indices(group, h5py, size):
    """An array for each index of chunks of HDF5 1.10: all of `size` numbers, of which some have limits above that."""
    line, square = np.arange(size, dtype="i2"), np.arange(size, dtype="i2").reshape(-1, 10)
    packed = dict(compression="gzip", shuffle=True)
    group.create_dataset("single", data=square, chunks=square.shape, **packed)
    group.create_dataset("fixed", data=line, chunks=(3,))
    group.create_dataset("fixed packed", data=square, chunks=(len(square) // 3, 4), maxshape=(size, 20), **packed)
    group.create_dataset("extensible", data=line, chunks=(2,), maxshape=(None,))
    group.create_dataset("extensible packed", data=square, chunks=(len(square) // 3, 3), maxshape=(12 * size, None), **packed)
    group.create_dataset("tree", data=square, chunks=(2, 7), maxshape=(None, None))
    group.create_dataset("tree packed", data=square, chunks=(len(square) // 3, 4), maxshape=(None, None), **packed)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((2, 3))
    plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    space = h5py.h5s.create_simple(square.shape, (size, 11))
    h5py.Dataset(h5py.h5d.create(group.id, b"implicit", h5py.h5t.NATIVE_INT16, space, plist))[...] = square


def keras_seeds(h5py, scratch):
    layer = lambda kind, **config: {"class_name": kind, "config": config}
    layers = [layer("InputLayer", name="i", batch_shape=[None, 2, 2, 2]), layer("Conv2D", name="c", filters=2), layer("Flatten", name="f"),
              layer("Dense", name="d", units=1), layer("GRU", name="g", units=1)]
    config = json.dumps({"class_name": "Sequential", "config": {"name": "s", "layers": layers}})
    shapes = {"c/kernel:0": (1, 1, 2, 2), "d/kernel:0": (8, 1), "d/bias:0": (1,), "g/kernel": (1, 3), "g/recurrent_kernel": (1, 3), "g/bias": (2, 3)}
    (FUZZ / "keras").mkdir(parents=True, exist_ok=True)
    with h5py.File(FUZZ / "keras" / "named", "w", libver="earliest") as f:
        f.attrs["model_config"] = config
        for path, shape in shapes.items():
            f.create_dataset(f"model_weights/{path[0]}/{path}", data=np.ones(shape, "f4"))
    inner = scratch / "inner.h5"
    with h5py.File(inner, "w", libver="latest") as f:
        for group, sizes in {"conv2d": [(1, 1, 2, 2)], "dense": [(8, 1), (1,)], "gru/cell": [(1, 3), (1, 3), (2, 3)]}.items():
            for i, shape in enumerate(sizes):
                f.create_dataset(f"layers/{group}/vars/{i}", data=np.ones(shape, "f4"))
    with zipfile.ZipFile(FUZZ / "keras" / "archive", "w") as z:
        for name, data in (("metadata.json", "{}"), ("config.json", config), ("model.weights.h5", inner.read_bytes())):
            z.writestr(zipfile.ZipInfo(name), data)


def gguf(scratch):
    import gguf as package
    from gguf.quants import dequantize, quantize

    types, random = package.GGMLQuantizationType, np.random.RandomState(0)
    large = {types.Q2_K: slice(80, 84), types.Q3_K: slice(108, 110), types.Q4_K: slice(0, 4), types.Q5_K: slice(0, 4),
             types.Q6_K: slice(208, 210), types.IQ4_XS: slice(0, 2)}  # where the scales in f16 lie

    def write(path, add):
        writer = package.GGUFWriter(path, "test")
        add(writer)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def golden(writer):
        numbers = random.uniform(-2, 2, (3, 256)).astype("f4")
        writer.add_tensor("f32", numbers[:, :5].copy())
        writer.add_tensor("f16", numbers[:, :6].astype("f2"))
        packed = {types.BF16: quantize(numbers[:, :6], types.BF16)}
        packed |= {kind: quantize(numbers[:, :64], kind) for kind in (types.Q8_0, types.Q4_0, types.Q4_1, types.Q5_0, types.Q5_1)}
        for kind, scales in {**large, types.IQ4_NL: slice(0, 2)}.items():  # which the package does not write
            packed[kind] = random.randint(0, 256, (2, package.GGML_QUANT_SIZES[kind][1])).astype("u1")
            packed[kind][:, scales] = random.uniform(0.001, 0.01, (2, 2)).astype("f2").view("u1").reshape(2, 4)[:, : scales.stop - scales.start]
        for kind, data in packed.items():
            name = "bf16" if kind == types.BF16 else kind.name
            writer.add_tensor(name, data, raw_dtype=kind)
            writer.add_tensor("expected " + name, dequantize(data, kind).astype("f4"))
        eight = np.concatenate([np.array([0.5], "f4").view("u1"), np.arange(256).astype("u1"), np.zeros(32, "u1")])[None]
        writer.add_tensor("Q8_K", eight, raw_dtype=types.Q8_K)  # which the package does not unpack
        writer.add_tensor("i32", np.arange(6, dtype="i4").reshape(2, 3))

    def seed(writer):
        writer.add_tensor("a", np.arange(6, dtype="f4").reshape(2, 3))
        for kind in (types.Q4_0, types.Q4_1, types.Q5_0, types.Q5_1, types.Q8_0, types.Q8_K, types.IQ4_NL, *large):
            writer.add_tensor(kind.name, random.randint(0, 256, (1, package.GGML_QUANT_SIZES[kind][1])).astype("u1"), raw_dtype=kind)

    write(scratch / "types.gguf", golden)
    pack(scratch / "types.gguf", GOLDEN / "gguf" / "types.gguf.gz")
    (FUZZ / "gguf").mkdir(parents=True, exist_ok=True)
    write(FUZZ / "gguf" / "types", seed)


def small_net(keras):
    layers = keras.layers
    return keras.Sequential([
        keras.Input((8, 6, 2)), layers.Conv2D(3, 3, padding="same", strides=2, activation="relu", name="conv1"), layers.BatchNormalization(name="bn"),
        layers.Conv2D(4, 2, padding="same", name="conv2"), layers.MaxPooling2D(2, padding="same"), layers.Flatten(), layers.Dropout(0.5),
        layers.Dense(5, activation="relu", name="fc1"), layers.Dense(3, name="fc2")], name="cnn")


def every_layer(keras):
    layers = keras.layers
    image, tokens = keras.Input((4, 4, 2), name="img"), keras.Input((5,), name="tok", dtype="int32")
    x = layers.DepthwiseConv2D(2, depth_multiplier=2, name="depth")(image)
    x = layers.SeparableConv2D(3, 2, depth_multiplier=2, name="sep")(x)
    x = layers.Conv2DTranspose(4, 3, strides=2, name="up")(x)
    maps = keras.Sequential([keras.Input((5, 5, 4)), layers.Conv2D(2, 3, name="inner_conv"), layers.LayerNormalization(name="inner_norm")], name="block")(x)
    row = layers.Dense(3, name="behind")(layers.BatchNormalization(name="flat_bn")(layers.Flatten(name="flat")(maps)))
    e = layers.Embedding(7, 4, name="table")(tokens)
    old = layers.GRU(2, reset_after=False, name="old_gru")
    outputs = [maps, row, layers.LSTM(3, return_sequences=True, name="lstm")(e), layers.GRU(3, return_sequences=True, name="gru")(e)]
    last = old(e)
    outputs += [layers.Bidirectional(layers.LSTM(2, return_sequences=True), name="bi")(e), layers.SimpleRNN(2, return_sequences=True, name="rnn")(e),
                layers.MultiHeadAttention(2, 2, name="mha")(e, e)]
    sequence = layers.Conv1D(3, 2, name="c1")(e)
    square = layers.Reshape((2, 2, 3), name="as_map")(layers.Dense(2 * 2 * 3, name="to_map")(row))
    outputs += [layers.PReLU(shared_axes=[1], name="prelu")(sequence), layers.Conv2D(2, 2, name="last_conv")(square), last]
    return keras.Model([image, tokens], outputs, name="many")


def keras_files(version, scratch):
    """Version 3 writes the expected answers; 2, in a run of its own behind it, compares its own with them."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"], os.environ["CUDA_VISIBLE_DEVICES"] = "3", ""
    if version == 2:
        import tf_keras as keras
    else:
        import keras
    kept = {"cnn": (".h5", ".keras", ".weights.h5"), "many": (".h5", ".weights.h5") if version == 2 else (".keras",)}
    for name, make, sizes in (("cnn", small_net, (8, 6, 2)), ("many", every_layer, (4, 4, 2))):
        keras.backend.clear_session()
        model = make(keras)
        for k, weight in enumerate(model.weights):
            shape, dtype = tuple(weight.shape), np.asarray(weight).dtype
            if dtype != np.float32:
                continue
            numbers = 0.5 * np.sin(np.arange(np.prod(shape)) * 0.7 + k).astype("f4").reshape(shape)
            is_variance = "variance" in (getattr(weight, "path", None) or weight.name)
            weight.assign(np.abs(numbers) + 0.5 if is_variance else numbers)
        inputs = [np.cos(np.arange(2 * np.prod(sizes)) * 0.3).astype("f4").reshape(2, *sizes)]
        if name == "many":
            inputs.append((np.arange(10).reshape(2, 5) * 3 % 7).astype("i4"))
        outputs = model(inputs[0] if len(inputs) == 1 else inputs)
        answers = {f"y{k}": np.asarray(y) for k, y in enumerate(outputs if isinstance(outputs, (list, tuple)) else [outputs])}
        expected = GOLDEN / "keras" / f"{name}.npz"
        expected.parent.mkdir(parents=True, exist_ok=True)
        if version == 3:
            np.savez(expected, **answers)
        else:
            worst = max(float(np.abs(answers[key] - y).max()) for key, y in np.load(expected).items())
            print(f"{name}: Keras 2 and 3 differ by {worst:.1e}")
        for end in kept[name]:
            path = scratch / f"{name}{version}{end}"
            (model.save_weights if end == ".weights.h5" else model.save)(str(path))
            pack(path, GOLDEN / "keras" / f"{path.name}.gz")
        if name == "cnn":
            folder = scratch / f"cnn{version}_saved"
            model.export(str(folder)) if version == 3 else model.save(str(folder), save_format="tf")
            shutil.copytree(folder / "variables", GOLDEN / "keras" / folder.name / "variables", dirs_exist_ok=True)
            if version == 2:
                (FUZZ / "checkpoint").mkdir(parents=True, exist_ok=True)
                shutil.copy(folder / "variables" / "variables.index", FUZZ / "checkpoint" / "index")


def main():
    parts = {"hdf5": hdf5, "gguf": gguf, "keras3": lambda scratch: keras_files(3, scratch), "keras2": lambda scratch: keras_files(2, scratch)}
    for part in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as scratch:
            parts[part](Path(scratch))


if __name__ == "__main__":
    main()
