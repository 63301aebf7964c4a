"""Sources that are compiled together mean what they mean alone."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import units


def source(own, body="", head=""):
    return f"{head}\nnamespace tegula {{\nnamespace {{\n\n{own}\n\n}}  // namespace\n\nvoid all() {{\n  {body}\n}}\n}}\n"


class Units(unittest.TestCase):
    def together(self, **texts):
        found = units.units(list(texts), lambda path: texts.get(path, self.headers.get(path, "")))
        return [unit for unit in found.values() if len(unit) > 1]

    def setUp(self):
        self.headers = {"tegula/find.h": "namespace tegula {\ninline int find(int x) { return x; }\n}\n", "tegula/all.h": '#include "tegula/find.h"\n'}

    def test_what_shares_nothing_is_one_unit(self):
        self.assertEqual(self.together(a=source("int first(int x) { return x; }"), b=source("int second(int x) { return x; }")), [["a", "b"]])

    def test_two_of_one_name_are_apart(self):
        for own in ("int find(int x) {", "constexpr int kMost = 3;", "struct Pair {", "enum class Kind : char { A };", "using List = int;",
                    "[[noreturn]] void refuse() {", "template <class T>\nT half(T x) {", "int table[] = {1};"):
            self.assertEqual(self.together(a=source(own), b=source(own)), [], own)

    def test_a_name_of_its_own_is_not_used_elsewhere(self):
        self.assertEqual(self.together(a=source("int find(int x) {"), b=source("int other() {", "find(3L);")), [])

    def test_nor_called_by_headers_of_another(self):
        head = '#include "tegula/all.h"'
        self.assertEqual(self.together(a=source("int find(long x) {"), b=source("int other() {", head=head)), [])
        self.assertEqual(self.together(a=source("int seek(long x) {"), b=source("int other() {", head=head)), [["a", "b"]])

    def test_a_namespace_that_one_knows_is_not_another_of_the_other(self):
        self.headers["tegula/testing.h"] = "namespace tegula::testing {\nvoid draw();\n}\n"
        head = '#include "tegula/testing.h"'
        known = source("int own();", head=head)
        self.assertEqual(self.together(a=known, b=source("int other();", "testing::check();")), [])
        self.assertEqual(self.together(a=known, b=source("int other();", "testing::draw();", head)), [["a", "b"]])
        self.assertEqual(self.together(a=known, b=source("int other();", "::testing::check();")), [["a", "b"]])

    def test_an_edit_leaves_the_other_units(self):
        texts = {name: source(f"int {name}_own(int x) {{", "x;" * 3000) for name in "abcdefghijklmnopq"}
        before = units.units(list(texts), texts.get)
        self.assertEqual([len(unit) for unit in before.values()], [6, 6, 5])
        texts["a"] = source("int a_own(int x) {", "x;" * 5000)  # does not fit into the first unit if all begin anew
        self.assertEqual(units.units(list(texts), texts.get, before), before)
        self.assertNotEqual(units.units(list(texts), texts.get), before)
        texts["b"] = source("int a_own(long x) {")  # may not stay beside the first
        moved = units.units(list(texts), texts.get, before)
        self.assertNotIn("b", moved[0])
        self.assertEqual(moved[1], before[1] + ["b"])
        del texts["a"], texts["b"]
        texts["new"] = source("int new_own();")
        self.assertEqual(units.units(list(texts), texts.get, before)[0], ["c", "d", "e", "f", "new"])

    def test_macros_stay_alone(self):
        self.assertEqual(self.together(a=source("int a();", head="\n#define MOST 3"), b=source("int b();")), [])

    def test_opened_namespaces_are_those_of_the_whole_unit(self):
        head = "\nusing namespace tegula::tile;"
        self.assertEqual(self.together(a=source("int a();", head=head), b=source("int b();")), [])
        self.assertEqual(self.together(a=head + "\nvoid a() {\n}\n", b=head + "\nvoid b() {\n}\n"), [["a", "b"]])
        self.assertEqual(self.together(a=head + "\nvoid a() {\n}\n", b="\nusing namespace tegula;\nvoid b() {\n}\n"), [])
        self.assertEqual(self.together(a=head + "\nnamespace kernels {\n}\n", b=head + "\nnamespace kernels {\n}\n"), [])
        # A function of all is one that the other could take for that of the namespace.
        self.assertEqual(self.together(a=head + "\nvoid find() {\n}\n", b=head + "\nvoid other() {\n  find();\n}\n"), [])


if __name__ == "__main__":
    unittest.main()
