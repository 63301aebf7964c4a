
#pragma region LldbTiles
"""lldb prints the tiles of a kernel: `command script import scripts/lldb_tiles.py`. It reads memory and calls nothing in the program.

A tile has elements where the kernel runs at once (kernel.check(), TEGULA_CHECK=tile); elsewhere it is part of a program that is being recorded.
"""
MOST = 16  # elements that are shown


def tile_of(value):
    """The Tile within a value of a type that derives from it: Ptr<float>, Int."""
    value = value.GetNonSyntheticValue()
    while not value.GetType().GetCanonicalType().GetName().startswith("tegula::tile::BasicTile<"):
        value = value.GetChildAtIndex(0)
    return value


def summary(value, _):
    if value.GetType().IsReferenceType():
        value = value.Dereference()
    view = tile_of(value).GetChildMemberWithName("view_")
    if view.GetValueAsUnsigned() == 0:
        return "a tile without elements here"

    def member(name):
        return view.GetChildMemberWithName(name)

    sizes = [member("sizes").GetChildAtIndex(k).GetValueAsSigned() for k in range(member("rank").GetValueAsSigned())]
    count = 1
    for size in sizes:
        count *= size
    elements = member("elements")
    element = elements.GetType().GetPointeeType()
    is_float = member("is_float").GetValueAsUnsigned() != 0
    dtype = member("dtype").GetSummary().strip('"')
    digits = ".16g" if dtype == "f64" else ".7g"
    shown = []
    for i in range(min(count, MOST)):
        one = elements.CreateChildAtOffset(str(i), i * element.GetByteSize(), element)
        text = one.GetChildMemberWithName("real" if is_float else "integer").GetValue()
        shown.append(format(float(text), digits) if is_float else text)
    return f"{dtype}{sizes if sizes else ''} {{{', '.join(shown)}{', …' if count > MOST else ''}}}"


def __lldb_init_module(debugger, _):
    types = "^(const )?tegula::tile::(BasicTile<|Tile$|Ptr<|Out<|InOut<|Int$|Float$|Bool$)"
    debugger.HandleCommand(f'type summary add --regex "{types}" --python-function {__name__}.summary')
#pragma endregion
