"""Tests of the house rules: imports between packages, sizes of modules and functions, and documentation.

An exception to a rule is named here with its reason.
"""

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from django.core.management import call_command
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[1]
PACKAGES = ("dashboard", "jobs", "emulator", "cli")
README = ROOT / "README.md"

LONG_MODULES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {}
LONG_TEMPLATES: dict[str, str] = {}
"""Path, or path:function, to the reason why it may exceed its ceiling."""

HOMES = {
    "os.environ": {
        "dashboard/env.py",
        "dashboard/__main__.py",
        "dashboard/celery.py",
        "dashboard/wsgi.py",
        "emulator/replicas/cluster.py",
        "cli/trainboard_cli/store.py",
        "cli/trainboard_cli/commands.py",
    },
    "time.sleep": {
        "dashboard/management/supervisor/claim.py",
        "dashboard/management/supervisor/ports.py",
        "emulator/replicas/guard.py",
    },
    "the clock": {"emulator/lifecycle/clock.py"},
}
"""Where a thing may be done: the environment is read in env.py (__main__.py, celery.py and wsgi.py only name Django's
settings, the emulator's replicas inherit the search path, the command line runs elsewhere), `up` waits for what a run
that is ending still holds, as a replica's guard does for its processes, and the time is the database's, which
jobs/clock.py asks."""


VERBS = (
    "requests", "submission", "observation", "queue", "upkeep", "explain.py", "transitions.py", "steps.py",
    "budgets/ledger.py",
)  # fmt: skip
"""What in jobs/ may write the rows of jobs."""


# ---------------------------------------------------------------- reading the house
@cache
def tracked() -> tuple[str, ...]:
    """Return every file that is or would be committed, as paths from the root."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return tuple(path for path in sorted(set(listing.stdout.splitlines())) if (ROOT / path).is_file())


def modules(*folders: str) -> list[str]:
    """Return the Python files below `folders`, migrations left out; no folder means everywhere."""
    return [
        path
        for path in tracked()
        if path.endswith(".py") and "/migrations/" not in path and (not folders or path.split("/")[0] in folders)
    ]


@cache
def tree(path: str) -> ast.Module:
    """Parse a module."""
    return ast.parse((ROOT / path).read_text(), path)


@cache
def nodes(path: str) -> tuple[ast.AST, ...]:
    """Return every node of a module: walking takes longer than parsing, and most rules walk."""
    return tuple(ast.walk(tree(path)))


def functions(path: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method of a module."""
    return (node for node in nodes(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for a chain of names, calls in between left out: `Job.objects.filter(x).update` keeps all four."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Call):
        return dotted(node.func)
    return node.id if isinstance(node, ast.Name) else ""


def uses(wanted: Callable[[ast.AST], bool], *folders: str) -> set[str]:
    """Return the modules below `folders` with a node that is `wanted`, as path:line."""
    return {
        f"{path}:{node.lineno}"  # type: ignore[attr-defined]
        for path in modules(*folders)
        for node in nodes(path)
        if wanted(node)
    }


def outside(homes: set[str], found: set[str]) -> list[str]:
    """Return the places that are in none of `homes`, which are files or folders."""
    return sorted(place for place in found if not any(place.startswith((f"{home}:", f"{home}/")) for home in homes))


# ---------------------------------------------------------------- who imports whom
def test_the_import_contracts_hold(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)

    verdict = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)

    assert verdict == 0, capsys.readouterr().out


# ---------------------------------------------------------------- how long things grow
def over(ceiling: int, lengths: dict[str, int], excused: dict[str, str]) -> dict[str, int]:
    """Return what is longer than its ceiling without a reason; refuse reasons that are not needed any more."""
    unneeded = [name for name in excused if lengths.get(name, 0) <= ceiling]
    assert unneeded == [], "these exceptions can go"
    return {name: length for name, length in lengths.items() if length > ceiling and name not in excused}


def test_modules_have_at_most_400_lines() -> None:
    lengths = {path: len((ROOT / path).read_text().splitlines()) for path in modules() if not path.startswith("tests/")}

    assert over(400, lengths, LONG_MODULES) == {}


def test_modules_of_tests_have_at_most_400_lines() -> None:
    """Tables of cases are long and simple."""
    lengths = {path: len((ROOT / path).read_text().splitlines()) for path in modules("tests")}

    assert over(400, lengths, {}) == {}


def test_functions_have_at_most_60_lines() -> None:
    assert over(60, function_lengths(modules(*PACKAGES, "bench", "docs", "examples")), LONG_FUNCTIONS) == {}


def test_functions_of_tests_have_at_most_60_lines() -> None:
    assert over(60, function_lengths(modules("tests")), {}) == {}


def function_lengths(paths: list[str]) -> dict[str, int]:
    """Return path:function -> lines, from `def` to the last one."""
    return {
        f"{path}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path in paths
        for node in functions(path)
    }


def test_views_have_at_most_25_lines() -> None:
    lengths = {
        f"{path}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path in modules("dashboard")
        if path.startswith(("dashboard/pages/", "dashboard/api/"))
        for node in functions(path)
        if node.args.args and node.args.args[0].arg in ("request", "_request")
    }

    assert lengths
    assert over(25, lengths, {}) == {}


def test_templates_have_at_most_120_lines() -> None:
    lengths = {path: len((ROOT / path).read_text().splitlines()) for path in tracked() if path.startswith("templates/")}

    assert over(120, lengths, LONG_TEMPLATES) == {}


def test_lines_of_templates_have_at_most_160_characters() -> None:
    paths = [path for path in tracked() if path.startswith("templates/")]
    lengths = {path: max(map(len, (ROOT / path).read_text().splitlines()), default=0) for path in paths}

    assert over(160, lengths, {}) == {}


# ---------------------------------------------------------------- what may be done where
def test_the_environment_is_read_in_one_place() -> None:
    found = uses(lambda node: dotted(node) in ("os.environ", "os.getenv"), *PACKAGES)

    assert outside(HOMES["os.environ"], found) == []


def test_nothing_sleeps() -> None:
    found = uses(lambda node: isinstance(node, ast.Call) and dotted(node) == "time.sleep", *PACKAGES, "tests")

    assert outside(HOMES["time.sleep"] | {"tests/support/waiting.py"}, found) == []


def test_the_domain_and_the_emulator_are_told_the_time() -> None:
    clocks = ("datetime.now", "datetime.utcnow", "datetime.datetime.now", "date.today", "timezone.now", "time.time")
    found = uses(lambda node: isinstance(node, ast.Call) and dotted(node) in clocks, "jobs", "emulator")

    assert outside(HOMES["the clock"], found) == []


def test_digits_are_parsed_in_one_place() -> None:
    """`int` accepts digits outside ASCII, raises for more than 4,300, and returns what no column holds."""

    def parses_digits(node: ast.AST) -> bool:
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            return False
        calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
        names = {dotted(each).rpartition(".")[2] for each in calls}
        names |= {dotted(word) for each in calls for word in each.args}  # map(int, ...)
        return "int" in names and not names.isdisjoint({"isdecimal", "isdigit", "isnumeric"})

    def parses_a_request(node: ast.AST) -> bool:
        sources = {"GET", "POST", "headers"}
        is_int = isinstance(node, ast.Call) and dotted(node) == "int"
        return is_int and any(isinstance(each, ast.Attribute) and each.attr in sources for each in ast.walk(node))

    assert outside({"jobs/bounds.py"}, uses(parses_digits, "jobs", "dashboard")) == []
    assert uses(parses_a_request, "jobs", "dashboard") == set()


def test_a_state_changes_in_one_place() -> None:
    def sets_a_state(node: ast.AST) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        by_assignment = any(isinstance(target, ast.Attribute) and target.attr == "state" for target in targets)
        by_query = isinstance(node, ast.Call) and dotted(node).endswith(".update")
        return by_assignment or (by_query and any(word.arg == "state" for word in node.keywords))

    assert outside({"jobs/transitions.py"}, uses(sets_a_state, "jobs", "dashboard")) == []


def test_only_verbs_write_the_rows_of_jobs() -> None:
    verbs = "create|bulk_create|update|bulk_update|delete|get_or_create|update_or_create|save"
    writes = re.compile(
        rf"(Job|JobEvent|Approval|Scope|LogLine)\.objects\b.*\.({verbs})$|^(job|scope|approval)\.(save|delete)$"
    )
    found = uses(lambda node: isinstance(node, ast.Call) and bool(writes.search(dotted(node))), "jobs", "dashboard")

    assert outside({f"jobs/{name}" for name in VERBS}, found) == []


def test_pages_query_through_access_and_queries() -> None:
    """Pages name models as types only: which rows a person may see is decided in dashboard/access."""
    managers = {"objects", "_default_manager", "_base_manager"}
    found = uses(lambda node: isinstance(node, ast.Attribute) and node.attr in managers, "dashboard")

    assert [place for place in sorted(found) if place.startswith(("dashboard/pages/", "dashboard/api/"))] == []


# ---------------------------------------------------------------- what is documented
def test_every_module_and_public_function_says_what_it_is() -> None:
    silent = [path for path in modules(*PACKAGES) if not ast.get_docstring(tree(path))]
    silent += [
        f"{path}:{node.name}"
        for path in modules(*PACKAGES)
        for node in public(tree(path))
        if not isinstance(node, ast.ClassDef) and not ast.get_docstring(node)
    ]

    assert silent == []


def public(within: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Yield the functions and classes, and the members of classes, whose names do not begin with an underscore."""
    for node in within.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node)


def test_the_readme_lists_every_environment_variable() -> None:
    readers = ("env.text", "env.flag", "env.number", "env.words", "env.folder", "env.secret", "env.whole")
    read = {
        node.args[0].value
        for path in modules("dashboard")
        for node in nodes(path)
        if isinstance(node, ast.Call) and dotted(node) in readers and isinstance(node.args[0], ast.Constant)
    }
    listed = set(re.findall(r"^\| `([A-Z_]+)`", README.read_text(), re.MULTILINE))

    assert listed == read


def test_every_make_target_that_the_documents_name_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    call = re.compile(r"(?:`|^\s*)(?:[A-Z_]+=\S+ )*make ([a-z-]+)", re.MULTILINE)
    documents = [path for path in tracked() if path.endswith(".md")]
    named = {target for path in documents for target in call.findall((ROOT / path).read_text())}

    assert {"up", "test", "check", "bench", "lint"} <= targets
    assert named <= targets
    assert "up" in named


def test_make_finds_every_test_of_a_browser() -> None:
    """It looks for them in two places, because collecting all tests takes longer than a journey."""
    marks = ("browser", "stack")
    found = uses(lambda node: any(dotted(node) == f"pytest.mark.{mark}" for mark in marks), "tests")

    assert len(found) > 20
    names = {place.rpartition(":")[0] for place in found}
    missed = {path for path in names if not re.fullmatch(r"tests/journeys/.*|tests/pages/test_(.*_)?browser\.py", path)}
    assert missed == set()


def test_tests_that_ask_for_the_database_run_on_both() -> None:
    asks = re.compile(r"connection\.vendor|IS_POSTGRES|sqlite3\"\)|environ.*DATABASE_URL")
    found = {
        path: "pytest.mark.both_databases" in (ROOT / path).read_text()
        for path in modules("tests")
        if path.startswith(("tests/domain/test_", "tests/pages/test_")) and asks.search((ROOT / path).read_text())
    }

    assert len(found) > 5
    assert [path for path, is_marked in found.items() if not is_marked] == []


def test_the_documents_link_to_files_that_exist() -> None:
    links = {
        (path, link)
        for path in tracked()
        if path.endswith(".md")
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / path).read_text())
    }

    assert links
    assert [(path, link) for path, link in sorted(links) if not (ROOT / path).parent.joinpath(link).exists()] == []


# ---------------------------------------------------------------- what may not be committed
def test_no_file_names_a_registry_or_a_path_of_a_machine() -> None:
    registries = [".".join(name) for name in (("pypi", "org"), ("pythonhosted", "org"), ("registry", "npmjs", "org"))]
    private = re.compile("|".join([*map(re.escape, registries), r"(?<![\w./-])/(root|home|work|Users)/\w"]))
    found = [
        f"{path}: {match[0]}"
        for path in tracked()
        if path not in ("LICENSE",) and not path.endswith((".png", ".woff2", ".gz"))
        if (match := private.search((ROOT / path).read_text(errors="replace")))
    ]

    assert found == []


def test_requirements_are_locked_with_hashes() -> None:
    for name, least in (
        ("build.txt", 1), ("run.txt", 20), ("dev.txt", 20), ("grpc.txt", 3), ("otel.txt", 10), ("helm.txt", 1),
        ("lowest.txt", 20),
    ):  # fmt: skip
        text = (ROOT / "requirements" / name).read_text()
        blocks = re.split(r"\n(?=\S)", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
        assert len(blocks) >= least
        assert [block for block in blocks if "==" not in block or "--hash=sha256:" not in block] == []


@pytest.mark.django_db
def test_the_migrations_match_the_models() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
