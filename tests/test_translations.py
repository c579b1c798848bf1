"""Tests that every text for people is marked in the code and translated into every language that the site offers."""

import ast
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import polib
import pytest
from django.conf import settings
from django.utils.translation import to_locale

from tests.support.compiled_texts import compile_new
from tests.support.pseudo import extract

ROOT = Path(settings.BASE_DIR)
CODES = [to_locale(code) for code, _name in settings.LANGUAGES if code != "en"]
PLACEHOLDER = re.compile(r"%\(\w+\)s|{\w*}|%%")
ELEMENT = re.compile(r"</?[a-z]+[^>]*>")
REFUSALS = frozenset(
    "NotPermitted NotChanged Changed NotUsable NameNotUsable ChannelNotUsable NotKept BadExport NotAdmitted "
    "CannotAdopt NotReachable".split()
)
"""Exceptions whose words a page shows."""
SHOW_PAGES = ("dashboard/pages", "dashboard/forms", "dashboard/drawing")
FINDINGS = (
    "jobs/strategies/rules/*.py",
    "jobs/strategies/permission_places.py",
    "jobs/policy*.py",
    "jobs/budget.py",
    "jobs/allowed_resources.py",
    "jobs/assessment/*.py",
    "jobs/cost/notes.py",
    "jobs/requests/checks.py",
    "jobs/requests/attempt_endings.py",
    "jobs/requests/fallbacks.py",
    "jobs/requests/schedule_runs.py",
    "jobs/budgets/notices.py",
    "jobs/fallback.py",
    "jobs/doctor/site.py",
    "jobs/doctor/google.py",
    "jobs/doctor/permissions.py",
    "jobs/timeline/losses.py",
    "jobs/timeline/retry_budget.py",
    "jobs/messages/waits.py",
    "jobs/messages/reports.py",
    *(f"jobs/spec/{name}.py" for name in ("fields", "findings", "images", "misplaced_fields", "reading", "shape")),
)
"""Where findings and notes are made: every text of several words there is one for people."""
FOR_PROGRAMS = frozenset({"dashboard/pages/metrics.py", "dashboard/pages/health.py", "dashboard/pages/components.py"})
"""What programs read, and the sample values of the page for people who build pages."""
NEVER_SHOWN = frozenset(
    {
        "Http404",
        "HttpResponseBadRequest",
        "BadRequest",
        "ValueError",
        "AssertionError",
        "log",
        "confirmed_value",
        "transition",
        "take_each",
        "record_event",
        "record_sign_in_event",
    }
)
"""Calls whose words nobody reads on a page, or that stay English as all events do."""
MARKS = frozenset(
    {"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy", "format_lazy"}
)
LABELS = frozenset({"label", "help_text", "labels", "help_texts", "empty_label", "label_suffix"})
NAMES_IN_STYLES = frozenset({"vCPU", "Standard", "Spot", "Flex-start", "Reservation"})
SENTENCE = re.compile(r"\b(the|of|is|are|for|not|no|to|and|was|has|with|that|which|where|it|this|an|by)\b")
TELLING = frozenset({"error", "note", "Broken", "Unreadable"})
TOLD = frozenset({"message", "remedy", "SUPPORTED", "UNKNOWN", "NO_JOBS", "OTHERS"})
"""Calls that make a finding of the importer, and the names of what is given to them."""
SOURCES = frozenset(
    {
        "job {}",
        "policy of the team",
        "budget of the team",
        "settings of the team",
        "Agent Platform REST reference; google-cloud-aiplatform 2.7.0",
        "Understand the custom training service, read 2026-11-21",
        "Use Spot VMs with training, read 2026-11-21",
    }
)
"""Where findings and stored specs come from, which is English on every page."""
WORDS = re.compile(r"[A-Za-z}] [A-Za-z{]")
COMMAND = re.compile(r"(SELECT|PRAGMA|ALTER|gcloud|python|celery|sudo|curl|redis-cli|timedatectl) ")
ENGLISH = frozenset(
    {
        "prices of {}",
        "without a date",
        "published copy, not official",
        "a turn has a best",
        "with a password",
        "by a link from manage.py",
        "too many failures: refused for a while from this address",
    }
)
"""Texts about prices, which are English on every page, keys of the audit log, and what an assertion says."""


def po_of(code: str) -> polib.POFile:
    return polib.pofile(str(ROOT / "dashboard/locale" / code / "LC_MESSAGES/django.po"))


def forms_of(entry: polib.POEntry) -> list[str]:
    """Return the translation, or those for each form of the number."""
    return [text for _, text in sorted(entry.msgstr_plural.items())] if entry.msgid_plural else [entry.msgstr]


def parts_of(text: str) -> tuple[list[str], list[str]]:
    """Return what has to be the same in every language: placeholders and elements."""
    return sorted(PLACEHOLDER.findall(text)), sorted(ELEMENT.findall(text))


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> polib.POFile:
    """Return the texts that the code marks."""
    return extract(tmp_path_factory.mktemp("texts"))


@pytest.mark.parametrize("code", CODES)
class TestLanguage:
    def test_has_the_texts_of_the_code(self, code: str, marked: polib.POFile) -> None:
        """`make messages` brings them up to date."""
        there = {(each.msgctxt, each.msgid, each.msgid_plural) for each in po_of(code)}
        wanted = {(each.msgctxt, each.msgid, each.msgid_plural) for each in marked}

        assert sorted(map(str, wanted - there)) == [], "not in the file"
        assert sorted(map(str, there - wanted)) == [], "not in the code"

    def test_is_translated(self, code: str) -> None:
        po = po_of(code)
        count = int(re.findall(r"nplurals=(\d)", po.metadata["Plural-Forms"])[0])

        assert [each.msgid for each in po if each.fuzzy or not all(forms_of(each))] == []
        assert [each.msgid for each in po if each.msgid_plural and len(forms_of(each)) != count] == []
        assert [each.msgid for each in po.obsolete_entries()] == []

    def test_keeps_placeholders_and_elements(self, code: str) -> None:
        wrong = []
        for entry in po_of(code):
            *others, last = forms_of(entry)
            known = [parts_of(entry.msgid), parts_of(entry.msgid_plural or entry.msgid)]
            if parts_of(last) != known[1] or any(parts_of(each) not in known for each in others):
                wrong.append(entry.msgid)

        assert wrong == []

    def test_is_compiled(self, code: str) -> None:
        """`make` does it, with Babel; a run of pytest by hand with polib."""
        path = ROOT / "dashboard/locale" / code / "LC_MESSAGES/django.mo"
        compiled = {(each.msgctxt, each.msgid): forms_of(each) for each in polib.mofile(str(path))}

        assert compiled == {(each.msgctxt, each.msgid): forms_of(each) for each in po_of(code)}

    def test_is_what_gettext_accepts(self, code: str, tmp_path: Path) -> None:
        path = ROOT / "dashboard/locale" / code / "LC_MESSAGES/django.po"
        checked = subprocess.run(
            ["msgfmt", "--check-format", "--check-header", "-o", str(tmp_path / "x.mo"), str(path)],
            capture_output=True, text=True,
        )  # fmt: skip

        assert (checked.returncode, checked.stderr) == (0, "")


def test_compiled_translations_are_not_committed() -> None:
    files = subprocess.run(["git", "ls-files", "*.mo"], cwd=ROOT, capture_output=True, text=True, check=True)

    assert files.stdout == ""


def test_a_changed_translation_is_compiled_again(tmp_path: Path) -> None:
    folder = tmp_path / "es" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    source = folder / "django.po"
    source.write_bytes((ROOT / "dashboard/locale/es/LC_MESSAGES/django.po").read_bytes())

    assert (compile_new(tmp_path), compile_new(tmp_path)) == (["es"], [])

    compiled = source.with_suffix(".mo").stat().st_mtime
    os.utime(source, (compiled + 1, compiled + 1))
    assert compile_new(tmp_path) == ["es"]


def called(node: ast.Call) -> str:
    """Return the last name of what is called, "log" for each method of a log."""
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "log":
        return "log"
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def words_in(node: ast.AST) -> str:
    """Return the text of a literal, values as {}; "" for anything else."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def texts_in(node: ast.AST, hidden: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of the literals below a node that are neither documentation nor given to what is `hidden`."""
    if isinstance(node, ast.Call) and called(node) in hidden:
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if text := words_in(node):
        yield node.lineno, text  # type: ignore[attr-defined]
        return
    for child in ast.iter_child_nodes(node):
        yield from texts_in(child, hidden)


def python_files(*folders: str) -> Iterator[Path]:
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return (path for path in paths if "migrations" not in path.parts)


def test_sentences_of_pages_are_marked() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in python_files(*SHOW_PAGES)
        if str(path.relative_to(ROOT)) not in FOR_PROGRAMS
        for line, text in texts_in(ast.parse(path.read_text()), MARKS | NEVER_SHOWN)
        if SENTENCE.search(text) and " " in text.strip() and "<" not in text and text not in ENGLISH
    ]

    assert found == []


def test_texts_of_findings_are_marked() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for pattern in FINDINGS
        for path in sorted(ROOT.glob(pattern))
        for line, text in texts_in(ast.parse(path.read_text()), MARKS | NEVER_SHOWN - {"ValueError"})
        if WORDS.search(text) and text not in SOURCES and not COMMAND.match(text)
    ]

    assert found == []


def noted_in(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what is noted as a finding, raised to be noted, or kept as a message or a remedy."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) in TELLING:
            yield from node.args
        elif isinstance(node, ast.Assign) and any(getattr(each, "id", "") in TOLD for each in node.targets):
            yield node.value


def test_texts_that_the_importer_notes_are_marked() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in python_files("jobs/importer")
        for noted in noted_in(ast.parse(path.read_text()))
        for line, text in texts_in(noted, MARKS)
        if WORDS.search(text)
    }

    assert sorted(found) == []


def test_refusals_that_pages_show_are_marked() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {text}"
        for path in python_files("jobs", "dashboard")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and called(node) in REFUSALS
        for argument in node.args
        for _, text in texts_in(argument, MARKS)
        if re.search(r"[a-z] [a-z]", text)
    ]

    assert found == []


def test_styles_write_no_words() -> None:
    """A stylesheet has one language; it writes signs, attributes of the page and names only."""
    found = [
        f"{path.name}: {text}"
        for path in sorted((ROOT / "dashboard/static/trainboard").glob("*.css"))
        for text in re.findall(r"""content:[^;}]*?["']([^"']*)["']""", path.read_text())
        if re.search(r"[A-Za-z]", text) and text.strip(" :") not in NAMES_IN_STYLES
    ]

    assert found == []


def labels_in(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what is given as the label or help text of a field of a form."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in LABELS and words_in(node.value):
            yield node.value
        elif isinstance(node, ast.Assign) and any(getattr(each, "id", "") in LABELS for each in node.targets):
            yield from node.value.values if isinstance(node.value, ast.Dict) else ()


def test_labels_of_forms_are_marked() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in python_files("dashboard/forms")
        for label in labels_in(ast.parse(path.read_text()))
        for line, text in texts_in(label, MARKS)
        if re.search(r"[A-Za-z]{2}", text)
    ]

    assert found == []
