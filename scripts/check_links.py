#!/usr/bin/env python3
"""What README.md and docs/*.md link to is there."""
import re
import sys

from sources import ROOT

CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)  # a lambda looks like a link
LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)[^)]*\)")


def missing(folder, text):
    """Links of a page in that folder to files that are not there."""
    return [link for link in LINK.findall(CODE.sub("code", text)) if "://" not in link and not (folder / link).exists()]


def main():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    wrong = [(page, link) for page in pages for link in missing(page.parent, page.read_text(encoding="utf-8"))]
    for page, link in wrong:
        print(f"{page.relative_to(ROOT)}: no {link}")
    print(f"{len(pages)} pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
