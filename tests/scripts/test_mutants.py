"""Each mutant of tests/mutation/mutants.txt has its place in the sources: its text is there once."""
import sys
import unittest

from test_named_tests import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import mutate  # noqa: E402


class Mutants(unittest.TestCase):
    def test_each_has_its_place(self):
        blocks = list(mutate.parse((ROOT / "tests/mutation/mutants.txt").read_text(encoding="utf-8")))
        self.assertGreater(len(blocks), 80)
        elsewhere = [name for name, path, _, before, _ in blocks if (ROOT / path).read_text(encoding="utf-8").count(before) != 1]
        self.assertEqual(elsewhere, [])


if __name__ == "__main__":
    unittest.main()
