"""docs/using.md lists the options of a Trainer in the order of tegula/train/trainer.h, which is the order that C++ asks for."""
import re
import unittest

from test_named_tests import ROOT


class TrainerOptions(unittest.TestCase):
    def test_are_listed_in_their_order(self):
        header = (ROOT / "tegula/train/trainer.h").read_text(encoding="utf-8")
        body = re.search(r"struct TrainerOptions \{\n(.*?)\n\};", header, re.DOTALL).group(1)
        code = re.sub(r"//.*", "", body)
        declared = re.findall(r"\b(\w+)\s*=[^=][^;]*;", code)
        page = (ROOT / "docs/using.md").read_text(encoding="utf-8")
        listed = re.findall(r"`\.(\w+)`", page.split("<!-- trainer options -->\n")[1].split("\n\n")[0])
        self.assertGreater(len(declared), 20)
        self.assertEqual(listed, declared)


if __name__ == "__main__":
    unittest.main()
