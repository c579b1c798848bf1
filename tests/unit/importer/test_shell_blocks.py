"""Tests of what only a shell knows: loops, conditions, what commands print, and lists that gcloud splits otherwise."""

import pytest

from jobs import importer
from tests.unit.importer.test_reading import codes, refused, spec_of
from tests.unit.importer.test_shells import CONFIG, POOL, START


def args_of(reading: importer.Reading) -> list[str]:
    """Return the arguments of the first worker pool."""
    args: list[str] = spec_of(reading)["workerPoolSpecs"][0]["containerSpec"]["args"]
    return args


def read(before: str, args: str = "--lr=$LR", after: str = "") -> importer.Reading:
    """Return the reading of a script around one command."""
    return importer.read_text(f"{before}{START} --worker-pool-spec={POOL} --args={args}{after}\n")


class TestLoops:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("for LR in 1 2; do ", "; done"),
            ("LR=7\nfor LR in 1 2\ndo\n", "\ndone"),
            ("for ((LR=0; LR<3; LR++)); do\n", "\ndone"),
            ("while read -r LR; do\n", "\ndone < rates.txt"),
            ("LR=7\nuntil IFS=, read LR x; do\n", "\ndone"),
            ("for a in 1; do for LR in 1 2; do\n", "\ndone; done"),
        ],
    )
    def test_a_value_that_a_loop_changes_is_a_placeholder(self, before: str, after: str) -> None:
        reading = read(before, after=after)

        assert args_of(reading) == ["--lr=${LR}"]
        assert reading.placeholders
        assert codes(reading)["command_in_loop"] == before.count("\n") + 1

    def test_says_that_a_loop_repeats_a_command_without_its_variable(self) -> None:
        reading = read("for i in {1..5}; do\n", "--fixed", "\ndone")

        assert refused(reading) == []
        assert codes(reading)["command_in_loop"] == 2

    def test_a_request_in_a_loop_is_repeated_as_well(self) -> None:
        address = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/customJobs"
        reading = importer.read_text(f'for i in 1 2; do\ncurl -X POST -d \'{{"displayName": "x"}}\' {address}\ndone\n')

        assert codes(reading)["command_in_loop"] == 2

    def test_says_nothing_after_a_loop(self) -> None:
        reading = read("LR=1\nfor i in 1 2; do echo $i; done\n")

        assert args_of(reading) == ["--lr=1"]
        assert "command_in_loop" not in codes(reading)

    @pytest.mark.parametrize("before", ["seq 3 | xargs -I{} ", "parallel "])
    def test_refuses_a_command_that_another_one_completes(self, before: str) -> None:
        assert "repeated_command" in refused(read(before, "--seed={}"))


class TestConditions:
    @pytest.mark.parametrize(
        ("before", "value"),
        [
            ("LR=1\nif [ -n $FAST ]; then LR=2; fi\n", "${LR}"),
            ("if [ -n $FAST ]; then\n  LR=1\nelse\n  LR=2\nfi\n", "${LR}"),
            ("if a; then LR=1; elif b; then LR=2; fi\n", "${LR}"),
            ("case $1 in\n  a) LR=1 ;;\n  *) LR=2 ;;\nesac\n", "${LR}"),
            ("LR=1\n[[ -n $FAST ]] && LR=2\n", "${LR}"),
            ("LR=1; test -f x || LR=2\n", "${LR}"),
            ("LR=1\nread -p 'rate? ' LR\n", "${LR}"),
            ("LR=1\nunset LR\n", "${LR}"),
            ("LR=1\n((LR+=1))\n", "${LR}"),
            ("LR=1\nwhile a; do LR=2; done\n", "${LR}"),
            ("if [ -z $LR ]; then LR=1; fi\n", "1"),
            ("LR=1\nif a; then LR=2\n", "2"),
            ("LR=1\nif a; then LR=2; else ", "1"),
            ("LR=1\nif a; then LR=2; elif b; then ", "1"),
            ("cd train && LR=1\n", "1"),
            ("LR=1\nif a; then X=2; fi\n", "1"),
            ("LR=1\n" + "if a; then " * 60 + "LR=1" + "; fi" * 60 + "\n", "1"),
            ("LR=1\n" + "if a; then " * 60 + "LR=2" + "; fi" * 60 + "\n", "${LR}"),
        ],
    )
    def test_a_value_that_depends_on_a_condition_is_a_placeholder(self, before: str, value: str) -> None:
        assert args_of(read(before)) == [f"--lr={value}"]

    def test_an_unknown_value_does_not_become_its_default(self) -> None:
        assert args_of(read("LR=1\nif a; then LR=2; fi\n", "--lr=${LR:-3}")) == ["--lr=${LR}"]

    @pytest.mark.parametrize("change", ["if a; then F+=(--network=n); fi", "if a\nthen\nF+=(--network=n)\nfi"])
    def test_says_that_a_condition_adds_words(self, change: str) -> None:
        reading = importer.read_text(f'F=(--args=--a)\n{change}\n{START} --worker-pool-spec={POOL} "${{F[@]}}"\n')

        assert spec_of(reading)["network"] == "n"
        assert "conditional_words" in codes(reading)


class TestVariables:
    def test_a_value_grows(self) -> None:
        assert args_of(read('ARGS="--lr=1"\nARGS+=",--epochs=3"\n', "$ARGS")) == ["--lr=1", "--epochs=3"]

    def test_a_value_from_elsewhere_that_grows_is_a_placeholder(self) -> None:
        assert args_of(read("ARGS+=,--epochs=3\n", "$ARGS")) == ["${ARGS}", "--epochs=3"]

    def test_a_command_in_a_substitution_has_the_values_from_before_it(self) -> None:
        assert args_of(read("LR=1\nJOB=$(", after=")\nLR=2")) == ["--lr=1"]

    @pytest.mark.parametrize("args", ["--user=`whoami`", '"--user=`whoami`"', "--user=$(whoami)"])
    def test_what_a_command_prints_is_a_placeholder(self, args: str) -> None:
        reading = read("", args)

        assert args_of(reading) == ["--user=${whoami}"]
        assert len(reading.placeholders) == 1

    def test_finds_a_command_between_backticks(self) -> None:
        assert args_of(read("LR=1\nJOB=`", after="`")) == ["--lr=1"]

    @pytest.mark.parametrize(
        ("mark", "written", "value"),
        [
            ("EOF", "--rev=$(git log --format='%h')", "--rev=${git log --format= %h}"),
            ("EOF", "--rev=`git log`", "--rev=${git log}"),
            ("EOF", r"--dir=\$(AIP_MODEL_DIR)", "--dir=$(AIP_MODEL_DIR)"),
            ("'EOF'", "--dir=$(AIP_MODEL_DIR)", "--dir=$(AIP_MODEL_DIR)"),
        ],
    )
    def test_reads_a_here_document_as_a_shell_does(self, mark: str, written: str, value: str) -> None:
        config = CONFIG.replace("${IMAGE}", "gcr.io/p/i") + f'      args: ["{written}"]\n'
        reading = importer.read_text(f"{START} --config=- <<{mark}\n{config}EOF\n")

        assert args_of(reading) == [value]


class TestLists:
    @pytest.mark.parametrize(
        "args",
        [
            """'["--epochs", "10"]'""",
            '["--epochs","10"]',
            '''"['--epochs', '10']"''',
            """'["--epochs"]'""",
            """'{"lr": 1, "epochs": 3}'""",
            """'--config={"lr":1,"epochs":3}'""",
            """'--note="one, two"'""",
            "--set={a,b}",
        ],
    )
    def test_refuses_a_list_that_gcloud_splits_inside_brackets(self, args: str) -> None:
        reading = read("", args)

        assert refused(reading) == ["list_in_brackets"]
        assert codes(reading)["list_in_brackets"] == 1

    @pytest.mark.parametrize(
        ("args", "expected"),
        [
            ("""'^;^--config={"lr":1,"epochs":3};--x'""", ['--config={"lr":1,"epochs":3}', "--x"]),
            ("""'--config={"lr":1}'""", ['--config={"lr":1}']),
            ("--layers=[3],--x", ["--layers=[3]", "--x"]),
        ],
    )
    def test_reads_brackets_that_stay_whole(self, args: str, expected: list[str]) -> None:
        reading = read("", args)

        assert refused(reading) == []
        assert args_of(reading) == expected

    def test_says_that_a_word_has_spaces(self) -> None:
        reading = read("", "'--epochs 10 --lr 1'")

        assert args_of(reading) == ["--epochs 10 --lr 1"]
        assert "spaces_in_word" in codes(reading)

    @pytest.mark.parametrize("args", ["--epochs 10", "--a $FLAGS"])
    def test_refuses_a_word_that_gcloud_does_not_accept(self, args: str) -> None:
        assert refused(read("", args)) == ["stray_word"]
