"""scripts/layers_table.py: the page names every layer and every option that the headers have."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import layers_table  # noqa: E402


class LayersTable(unittest.TestCase):
    def rows(self):
        return [line for line in layers_table.table().splitlines() if line.startswith("| `nn::")]

    def test_has_every_option(self):
        page = layers_table.table()
        options = 0
        for _, header in layers_table.ROOMS:
            text = (ROOT / "tegula" / header).read_text(encoding="utf-8")
            for body in re.findall(r"struct \w+Options \{(.*?)\n\};", text, re.DOTALL):
                for name in re.findall(r"(\w+) =\s", re.sub(r"//[^\n]*", "", body)):
                    self.assertIn(f"`.{name} = ", page, header)
                    options += 1
        self.assertGreater(options, 60)

    def test_has_every_layer(self):
        """Every name in nn:: that a header declares and a sentence of the docs could use."""
        page = "\n".join(self.rows())
        for _, header in layers_table.ROOMS:
            text = re.sub(r"namespace detail \{.*?\n\}  // namespace detail", "", (ROOT / "tegula" / header).read_text(encoding="utf-8"), flags=re.DOTALL)
            layers = re.findall(r"^class (\w+)\b(?!.*;$)", text, re.MULTILINE)
            templates = set(re.findall(r"^using \w+ = (\w+)", text, re.MULTILINE))
            for name in [layer for layer in layers if layer not in templates]:
                self.assertIn(f"`nn::{name}`", page, header)
            for name in re.findall(r"^using (\w+) = ", text, re.MULTILINE):
                self.assertIn(f"`nn::{name}`", page, header)

    def test_reads_sizes_defaults_and_options(self):
        rows = self.rows()
        self.assertIn("| `nn::Linear` | `in_features`, `out_features` | `.bias = true` `.dtype = f32` | the same |", rows)
        self.assertIn("| `nn::PReLU` | `num_parameters = 1` | `.init = 0.25` `.layout = Layout::NCHW` | the same |", rows)
        self.assertIn("| `nn::Imputer` | `features`, `fill = Fill::Mean` | – | – |", rows)
        self.assertIn("| `nn::Softplus` | – | `.beta = 1` `.threshold = 20` | the same |", rows)


if __name__ == "__main__":
    unittest.main()
