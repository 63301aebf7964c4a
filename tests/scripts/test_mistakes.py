"""tests/errors/mistakes.md says which program makes which mistake: each one that it names is there."""
import fnmatch
import re
import unittest

from test_named_tests import ROOT, named, tests_of_sources

ERRORS = ROOT / "tests/errors"


def rows(text):
    """(number, what holds it) of each row of the table."""
    return [(int(number), held) for number, held in re.findall(r"^\| (\d+) \|.*\| (.+) \|$", text, re.MULTILINE)]


class Mistakes(unittest.TestCase):
    def test_each_has_a_program_or_a_test(self):
        table = rows((ERRORS / "mistakes.md").read_text(encoding="utf-8"))
        self.assertEqual([number for number, _ in table], list(range(1, len(table) + 1)))
        programs = {path.stem for path in ERRORS.glob("*/*.cpp") if path.parent.name != "compile"}
        programs |= {f"compile/{path.stem}" for path in (ERRORS / "compile").glob("*.cpp")}
        suites, with_program, missing = tests_of_sources(), 0, []
        for number, held in table:
            names, tests = re.findall(r"`([\w/]+)`", held), named(held)
            with_program += bool(names)
            missing += [name for name in names if name not in programs]
            missing += [f"{suite}.{test}" for suite, test in tests if not fnmatch.filter(suites.get(suite, ()), test)]
            self.assertTrue(names or tests, number)
        self.assertEqual(missing, [])
        self.assertGreaterEqual(with_program, 100)

    def test_rows_are_found(self):
        self.assertEqual(rows("| | **a** | |\n| 1 | b | `c`, `d/e` |\n| 2 | f | G.H |\n"), [(1, "`c`, `d/e`"), (2, "G.H")])


if __name__ == "__main__":
    unittest.main()
