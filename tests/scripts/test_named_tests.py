"""docs/testing.md and docs/testing_history.md say which test holds what: each one that they name is there."""
import fnmatch
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tests_of_sources():
    suites = {}
    for source in (ROOT / "tests").rglob("*.cpp"):
        for suite, test in re.findall(r"TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", source.read_text(encoding="utf-8")):
            suites.setdefault(suite, set()).add(test)
    return suites


def named(text):
    """(suite, pattern) of what is written as Suite.Test, Suite.* or Suite.Begins*."""
    return {(suite, test) for suite, test in re.findall(r"(?<![\w./])([A-Z]\w+)\.([A-Z]\w*\*?|\*)", text)}


class NamedTests(unittest.TestCase):
    def test_each_is_there(self):
        suites = tests_of_sources()
        names = set.union(*(named((ROOT / "docs" / page).read_text(encoding="utf-8")) for page in ("testing.md", "testing_history.md")))
        self.assertGreater(len(names), 80)
        missing = [f"{suite}.{test}" for suite, test in sorted(names) if not fnmatch.filter(suites.get(suite, ()), test)]
        self.assertEqual(missing, [])

    def test_names_are_found(self):
        self.assertEqual(named("held by (Scan.Numbers, Extremes.*; docs/a.md, v1.B)"), {("Scan", "Numbers"), ("Extremes", "*")})


if __name__ == "__main__":
    unittest.main()
