"""Tests of the bill of materials, of digests of base images, and of what security documents name as evidence."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from deploy.pin_images import pinned
from deploy.sbom import bill_of

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements" / "run.txt").read_text()
DIGEST, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64
DOCUMENTS = ("SECURITY.md", "docs/threat-model.md", "docs/asvs.md")
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?(?:::(\w+))?`")


class TestBill:
    def test_has_every_locked_package_with_its_version_and_hashes(self) -> None:
        bill = bill_of(LOCK)

        locked = {line.split()[0] for line in LOCK.splitlines() if "==" in line and not line.startswith((" ", "#"))}
        assert {f"{each['name']}=={each['version']}" for each in bill["components"]} == {
            each.lower() for each in locked
        }
        assert sum(len(each["properties"]) for each in bill["components"]) == LOCK.count("--hash=")
        assert bill == bill_of(LOCK)

    def test_every_package_is_reached_from_the_application(self) -> None:
        bill = bill_of(LOCK)
        needs = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
        reached, open_ones = set[str](), ["trainboard"]
        while open_ones:
            ref = open_ones.pop()
            if ref not in reached:
                reached.add(ref)
                open_ones += needs[ref]

        assert reached == {"trainboard", *(each["bom-ref"] for each in bill["components"])}


class TestImages:
    def test_are_pinned_in_the_files_and_updated(self) -> None:
        for name in ("Dockerfile", "compose.yaml"):
            text = (ROOT / name).read_text()
            once = pinned(text, lambda *_: DIGEST)
            assert once.count(DIGEST) == 2
            assert once.replace(f"@{DIGEST}", "") == re.sub(r"@sha256:[0-9a-f]{64}", "", text)
            assert pinned(once, lambda *_: OTHER) == pinned(text, lambda *_: OTHER)

    def test_an_unreachable_registry_pins_nothing(self) -> None:
        def fails(_name: str, _tag: str) -> str:
            raise RuntimeError("no digest")

        with pytest.raises(RuntimeError):
            pinned("FROM python:3.12\n", fails)


@cache
def names_in(path: str) -> frozenset[str]:
    """Return the names of tests and their classes in a module."""
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_tests_that_a_document_names_exist(document: str) -> None:
    found = NAMED.findall((ROOT / document).read_text())

    assert len(found) > 10
    missing = [
        f"{path}::{name}"
        for path, *names in found
        for name in names or [""]
        if not (ROOT / path).exists() or (name and name not in names_in(path))
    ]
    assert missing == []
