#!/usr/bin/env python3
"""Folders are the stages of the compiler: a room stands above all it includes (DESIGN, Layout)."""
import re
import sys

from sources import ROOT, sources

# Room -> the other rooms whose headers it may include. The floors, from the ground up; nobody is on the lists but by design.
RULES = {
    # floor 1: knows no op and no device kind
    "core": [],
    # floor 2: programs and calls as data, and what a device is
    "tile": ["core"],
    "runtime": ["core", "tile"],
    # floor 3: values; the graph's structural ops are written as tile code, library ops describe calls
    "graph": ["core", "tile", "runtime"],
    "ops": ["core", "graph", "tile", "runtime"],
    # floor 4: on ops and variables
    "nn": ["core", "graph", "ops", "io", "dist"],  # save and load of modules; layers of several ranks
    "optim": ["core", "graph", "ops"],
    "dist": ["core", "graph", "ops", "runtime"],
    # floor 4: the passes
    "compile": ["core", "graph", "tile", "runtime"],
    # floor 4: the machines; they know no op, and nobody includes them
    "cpu": ["core", "tile", "runtime", "emulator"],
    "emulator": ["core", "runtime", "io"],  # CUDA C++ of one's own, where there is no GPU
    "simt": ["core", "tile", "runtime"],  # what a GPU back end needs without a driver: threads, layouts, generated text
    "cuda": ["core", "tile", "runtime", "simt"],
    # floor 4: files and batches
    "data": ["core", "graph", "runtime", "io"],
    "text": ["core", "graph", "runtime", "io", "data"],
    "io": ["core", "graph", "runtime"],
}
MACHINES = ("cpu", "emulator", "simt", "cuda")
USER_ROOMS = [room for room in RULES if room not in MACHINES and room != "text"]
# Folder -> what of its own room it may include; a folder that is not named may include all of its room.
FOLDERS = {
    "compile/passes": ["compile"],
    "compile/plan": ["compile", "compile/passes"],
    "compile/show": ["compile", "compile/passes", "compile/plan"],
    "compile/run": ["compile", "compile/passes", "compile/plan", "compile/show"],
    "cpu/simd": ["cpu", "cpu/executor"],
    "cpu/executor": ["cpu", "cpu/simd"],
    "cuda/compiler": [],
    "dist/transport": [],  # bytes, and how ranks meet
    "dist/exchange": ["dist/transport"],  # groups, and collectives over host memory
    "dist/engines": ["dist/exchange", "dist/transport"],  # of devices
    "dist/collectives": ["dist/engines", "dist/exchange"],  # nodes of the graph, and what is made of them
    "dist/parallel": ["dist/collectives", "dist/exchange"],  # ways to train
    "dist/server": ["dist/transport"],  # asynchronous training
    "dist/show": ["dist/exchange"],  # timelines, costs
    "tile/facts": ["tile"],
    "tile/passes": ["tile"],
}
# floor 5: what people run; floor 6: the command line
RULES |= {room: USER_ROOMS for room in ("train", "models", "serve", "formats", "bench", "functional")}
CORE = USER_ROOMS + ["train", "models", "serve", "formats", "bench", "functional"]
RULES["functional"] = USER_ROOMS + ["formats"]  # finds an op by its name and its attributes, as graph files do
# The library tegula_text: what knows texts, which nothing in the library tegula includes. A folder within a room may be a room of its own.
RULES["models/text"] = CORE + ["text"]
# The library tegula_onnx: models in files of ONNX.
RULES["onnx"] = ["core", "graph", "nn", "ops", "io", "tile", "compile", "formats"]  # files are written from traced functions, op by op
RULES["app"] = CORE + ["text", "models/text", "onnx"]
# The front pages: each includes what its library has.
RULES["tegula.h"] = RULES["models.h"] = RULES["dist.h"] = RULES["tile.h"] = RULES["bench.h"] = CORE
RULES["text.h"] = CORE + ["text", "models/text"]
RULES["onnx.h"] = CORE + ["onnx"]
FRONT_PAGES = ("tegula.h", "models.h", "dist.h", "tile.h", "bench.h", "text.h", "onnx.h")

# What the front pages keep away from their users, for their compile time.
HEAVY = {"iostream", "sstream", "fstream", "ranges", "chrono", "random", "filesystem", "thread", "mutex", "future", "regex"}
HEAVY_FILES = re.compile(r"nlohmann/|hwy/|dnnl|^zlib\.h|^png\.h|jpeglib|^zip\.h|^expat\.h")

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def includes(path):
    """(line number, header) of each #include in the file."""
    for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1], match[2]


def room_of(parts):
    """The room of a path in tegula/ or app/; each front page is a room of its own; None for tests, examples and the like."""
    if parts[0] == "tegula":
        return "models/text" if parts[1:3] == ("models", "text") else parts[1]
    return "app" if parts[0] == "app" else None


def folder_of(parts):
    """The folder of these parts; folders within a named one belong to it."""
    named = ["/".join(parts[:n]) for n in range(len(parts), 1, -1)]
    return next((folder for folder in named if folder in FOLDERS), "/".join(parts))


def check_file(path, text_includes, rules=RULES):
    """The complaints about one file."""
    room = room_of(path.parts)
    for number, quote, header in text_includes:
        place = f"{path}:{number}"
        parts = tuple(header.split("/"))
        if parts[0] != "tegula":
            if quote == '"' and room != "app" and (ROOT / path.parent / header).is_file():
                yield f"{place}: {header}: write the full path, \"{path.parent}/{header}\""
            continue
        target = room_of(parts)
        if room is None:
            if target in MACHINES and path.parts[0] not in ("tests", "bench"):
                yield f"{place}: {header}: nobody includes the machines; runtime/device.h is the way to them"
        elif room not in rules:
            yield f"{place}: no rule for the room tegula/{room}/"
        elif target in FRONT_PAGES:
            if room != "app" and not (room in FRONT_PAGES and target == "tegula.h"):
                yield f"{place}: {target} is for users; include what is needed"
        elif target != room and target not in rules[room]:
            yield f"{place}: {room}/ may include only {', '.join(rules[room]) or 'itself'}; this is {header}"
        elif target == room and (folder := folder_of(path.parts[1:-1])) in FOLDERS:
            if (other := folder_of(parts[1:-1])) != folder and other not in FOLDERS[folder]:
                yield f"{place}: {folder}/ may include only {', '.join(FOLDERS[folder]) or 'itself'} of its room; this is {header}"


def check_weight(page):
    """What a front page drags in, directly or not, that it must not."""
    reached, pending = {page: page}, [page]
    while pending:
        path = pending.pop()
        for number, _, header in includes(path):
            if header in HEAVY or HEAVY_FILES.search(header):
                yield f"{path}:{number}: <{header}> is reached from {page} ({reached[path]}); users pay for it in compile time"
            elif header.startswith("tegula/") and header not in reached and (ROOT / header).is_file():
                reached[header] = f"{reached[path]} > {header}"
                pending.append(header)


def main():
    complaints = []
    paths = [path for path in sources("tegula", "app", "tests", "examples", "bench") if path.suffix in {".h", ".cpp", ".cu", ".cuh"}]
    for path in paths:
        complaints += check_file(path, includes(path))
    for page in FRONT_PAGES:
        complaints += check_weight(f"tegula/{page}")
    print("\n".join(complaints) if complaints else f"{len(paths)} files, all includes point downward")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
