
#pragma region GdbTiles
"""gdb prints the tiles of a kernel: `source scripts/gdb_tiles.py`. It reads memory and calls nothing in the program.

A tile has elements where the kernel runs at once (kernel.check(), TEGULA_CHECK=tile); elsewhere it is part of a program that is being recorded.
"""
import gdb
import gdb.printing

MOST = 16  # elements that are shown


def tile_of(value):
    """The Tile within a value of a type that derives from it: Ptr<float>, Int."""
    while not str(value.type.strip_typedefs()).startswith("tegula::tile::BasicTile<"):
        value = value[value.type.strip_typedefs().fields()[0]]
    return value


class TilePrinter:
    def __init__(self, value):
        self.view = tile_of(value)["view_"]

    def to_string(self):
        if int(self.view) == 0:
            return "a tile without elements here"
        view = self.view.dereference()
        sizes = [int(view["sizes"][k]) for k in range(int(view["rank"]))]
        count = 1
        for size in sizes:
            count *= size
        dtype = view["dtype"].string()
        digits = ".16g" if dtype == "f64" else ".7g"
        shown = [
            format(float(view["elements"][i]["real"]), digits) if view["is_float"] else str(view["elements"][i]["integer"])
            for i in range(min(count, MOST))
        ]
        return f"{dtype}{sizes if sizes else ''} {{{', '.join(shown)}{', …' if count > MOST else ''}}}"


def printers():
    collection = gdb.printing.RegexpCollectionPrettyPrinter("tegula")
    for name in ("BasicTile<", "Ptr<", "Out<", "InOut<", "Int$", "Float$", "Bool$"):
        collection.add_printer(name.strip("<$"), f"^tegula::tile::{name}", TilePrinter)
    return collection


gdb.printing.register_pretty_printer(gdb.current_objfile(), printers(), replace=True)
#pragma endregion
