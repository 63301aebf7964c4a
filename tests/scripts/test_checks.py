"""The checks refuse what they are there to refuse."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_docs
import check_includes
import check_kernels
import check_links
import readme_tables


def complaints(path, *headers):
    return list(check_includes.check_file(pathlib.Path(path), [(1, '"', header) for header in headers]))


class Kernels(unittest.TestCase):
    PAGE = "a\n```cuda golden=softmax.cu\n// one: 4 threads\n```\nb\n```cuda golden=softmax.cu\n  float v3;\n  add(v3);\n```\n"

    def test_blocks_are_found_by_file(self):
        blocks = check_kernels.blocks_of(self.PAGE)
        self.assertEqual([match[2] for match in blocks["softmax.cu"]], ["// one: 4 threads\n", "  float v3;\n  add(v3);\n"])

    def test_a_kernel_with_other_numbers_goes_into_the_same_blocks(self):
        kernel = "// one: 8 threads\n  load();\n  float v12;\n  add(v12);\n"
        self.assertEqual(check_kernels.split(kernel, ["// one: 4 threads", "  float v3;"]),
                         ["// one: 8 threads\n  load();\n", "  float v12;\n  add(v12);\n"])

    def test_a_line_that_is_gone_is_said(self):
        self.assertIsNone(check_kernels.split("// one\n  add();\n", ["// one", "  float v3;"]))


class Links(unittest.TestCase):
    def test_a_link_to_nothing_is_refused(self):
        page = "[a](check_links.py), [b](nothing.py#part) and [c](https://example.org/nothing), `[](int x)`"
        self.assertEqual(check_links.missing(pathlib.Path(check_links.__file__).parent, page), ["nothing.py"])


class Includes(unittest.TestCase):
    def test_downward_is_fine(self):
        self.assertEqual(complaints("tegula/ops/products/matmul.cpp", "tegula/graph/node.h", "tegula/core/shape.h", "tegula/ops/products/matmul.h"), [])

    def test_upward_sideways_and_to_the_machines_is_refused(self):
        self.assertTrue(complaints("tegula/core/shape.cpp", "tegula/graph/node.h"))
        self.assertTrue(complaints("tegula/tile/ir.h", "tegula/graph/node.h"))
        self.assertTrue(complaints("tegula/compile/passes/fusion/fuse.cpp", "tegula/cpu/executor/executor.h"))
        self.assertTrue(complaints("examples/01_tensors.cpp", "tegula/cpu/executor/executor.h"))

    def test_a_machine_knows_no_op(self):
        self.assertTrue(complaints("tegula/cpu/executor/executor.cpp", "tegula/ops/products/matmul.h"))

    def test_folders_of_a_room_have_an_order(self):
        self.assertTrue(complaints("tegula/compile/passes/fusion/fuse.cpp", "tegula/compile/plan/plan.h"))
        self.assertTrue(complaints("tegula/cuda/compiler/nvrtc.cpp", "tegula/cuda/driver/context.h"))
        self.assertEqual(complaints("tegula/compile/plan/lower.cpp", "tegula/compile/passes/fusion/fuse.h", "tegula/compile/graph.h"), [])

    def test_the_library_does_not_include_its_own_front_page(self):
        self.assertTrue(complaints("tegula/nn/linear.cpp", "tegula/tegula.h"))
        self.assertTrue(complaints("tegula/nn/linear.cpp", "tegula/dist.h"))
        self.assertEqual(complaints("app/main.cpp", "tegula/tegula.h"), [])
        self.assertEqual(complaints("tegula/dist.h", "tegula/tegula.h"), [])

    def test_the_library_knows_no_text(self):
        self.assertTrue(complaints("tegula/train/trainer.cpp", "tegula/text/lines.h"))
        self.assertTrue(complaints("tegula/models/registry.cpp", "tegula/models/text/gpt2.h"))
        self.assertTrue(complaints("tegula/models.h", "tegula/models/text/gpt2.h"))
        self.assertTrue(complaints("tegula/text/words.cpp", "tegula/models/text/gpt2.h"))
        self.assertEqual(complaints("tegula/models/text/gpt2.cpp", "tegula/text/lines.h", "tegula/models/description.h", "tegula/train/loss.h"), [])
        self.assertEqual(complaints("tegula/text.h", "tegula/tegula.h", "tegula/text/lines.h", "tegula/models/text/gpt2.h"), [])

    def test_an_unknown_room_is_refused(self):
        self.assertTrue(complaints("tegula/attic/box.cpp", "tegula/core/shape.h"))


class Rows(unittest.TestCase):
    def test_the_second_cells_of_a_table_are_a_program(self):
        page = "```cpp rows\nTensor x;\n```\n| PyTorch | Tegula |\n|---|---|\n| `a` | `exp(x); y \\| x` words |\n| `b` | — no `code` |\n| `c` | `auto z = x;` |\n"
        programs, _ = check_docs.read_page(pathlib.Path("docs/page.md"), page)
        self.assertEqual(len(programs), 1)
        self.assertIn("int main() {\nTensor x;\n\n  { exp(x); y | x; }\n  { auto z = x; }\n}\n", programs[0].code)

    def test_a_setup_without_a_table_is_refused(self):
        with self.assertRaises(SystemExit):
            check_docs.read_page(pathlib.Path("docs/page.md"), "```cpp rows\nTensor x;\n```\nwords\n")


class Docs(unittest.TestCase):
    PAGE = "Text\n```cpp\nint main() {}\n```\nIt prints\n```text\nloss …\n```\n```cpp\nint fragment;\n```\n```cpp file=a/b.h\nint x;\n```\n"

    def test_only_complete_programs_run_and_their_output_is_found(self):
        programs, files = check_docs.read_page(pathlib.Path("README.md"), self.PAGE)
        self.assertEqual([(block.line, block.expected) for block in programs], [(2, "loss …\n")])
        self.assertEqual(files, {"a/b.h": "int x;\n"})

    def test_output_is_compared(self):
        self.assertTrue(check_docs.same("loss 0.25  \n", "loss …\n"))
        self.assertFalse(check_docs.same("lass 0.25\n", "loss …\n"))
        self.assertFalse(check_docs.same("a\nb\n", "a\n"))


class Tables(unittest.TestCase):
    def test_a_row_shows_units_share_and_ratio(self):
        row = {"name": "step", "value": 9.123, "unit": "ms", "floor": 6, "share": 0.657, "peer": 1234.5, "ratio": None}
        self.assertEqual(readme_tables.row_text(row), "| step | 9.12 ms | 6 ms | 0.66 | 1234 ms | – |")

    def test_the_front_page_shows_the_rows_that_it_wants_and_misses_none(self):
        row = {"name": "alone", "value": 1, "unit": "ms"}
        result = {"machine": "m", "date": "d", "versions": {}, "commit": "c", "rows": [row, {**row, "name": "beside", "ratio": 2, "peer": 2}]}
        shown = readme_tables.front_page({"m.json": result}, {"m.json": ["beside"]})
        self.assertIn("| beside | m | 1 ms | 2 ms | 2.00x |", shown)
        self.assertNotIn("alone", shown)
        with self.assertRaises(SystemExit):
            readme_tables.front_page({"m.json": result}, {"m.json": ["gone"]})

    def test_only_the_part_between_the_markers_changes(self):
        text = f"a {readme_tables.BEGIN} old {readme_tables.END} b"
        self.assertEqual(readme_tables.splice(text, "new"), f"a {readme_tables.BEGIN}\nnew\n{readme_tables.END} b")


if __name__ == "__main__":
    unittest.main()
