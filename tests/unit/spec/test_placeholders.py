"""Tests that template marks are placeholders in what a program reads, unless the container resolves them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import exporter, importer, strategies
from jobs.spec import Severity
from jobs.spec.programs import SERVICE, program_placeholders

LEGAL = """--level=INFO SPOT --gpu=NVIDIA_TESLA_T4 ON_DEMAND DEBUG --lr=1e-3 --pattern=^a$ --out=gs://b/MNIST TF_CPP=ALL
--x=$(AIP_MODEL_DIR) --loss=MEAN_SQUARED_ERROR --eos=<pad> --re=[A-Z]+ TRAIN RANDOM_SEARCH s3cr$tPass --cls=my.Module
--task=WORD_COUNT {"a":{"b":1}} RUN --table=a.b.C PARAMETER_SERVER UNIT_LOG_SCALE""".split()
OPEN = """${args.wandb_key} --k=${args.k} $NAME --f=$NAME YOUR_KEY --b=your-bucket gs://MODEL_BUCKET/x --d=DATASET_ID
CUSTOM_CONTAINER_COMMAND PYTHON_MODULE PYTHON_PACKAGE_ARGS CUSTOM_CONTAINER_ARGS [SQUARE] {{mustache}} <image>
gcr.io/PROJECT_ID/x --m=gcr.io/PROJECT_ID/x:1 projects/PROJECT_ID/x ${get_key()} run-$ID gs://$BUCKET/x --p=$(hostname)
TODO ... __NAME__ gs://your-bucket/x NFS_IP_ADDRESS ARG_1 --a=MY_VALUE @IMAGE@ %IMAGE% gs://${BUCKET}/x""".split()
SCRIPTS = (
    "python t.py --d $AIP_MODEL_DIR",
    "echo $(hostname) ${CLUSTER_SPEC}",
    "for i in a b; do echo $i; done",
    "X=1; echo ${X}",
    "echo $HOME ${HOME:-x}; ls",
    "awk '{print $NF}' f",
    "export MODEL_NAME=a && python $MODEL_NAME",
    "echo ${FOO}",
    "while read line; do echo $line; done",
    "echo $1 $@ $? $$ ${1} $# ${@:2}",
    "cat <in.txt >out.txt",
    "x=$(date +%s); echo ${x%.*} ${#x} ${x[0]}",
)
OPEN_SCRIPTS = (
    "python t.py --k ${args.key}",
    "python t.py --k ${key}",
    "python t.py --k $KEYX",
    "python t.py gs://YOUR_BUCKET/x",
    "python t.py --id PROJECT_ID",
    "pip3 install -q --user ${PACKAGE_URI} && python3 -m x",
    "echo <your name>",
    "run {{ x }}",
    "python -c 'x=${lr}'",
)
HOSTILE = ("$", "<a", "[A", "A_", "${", "'\"", "gs://", "your-", "a=", "read a ", "-c ", "{{", "PROJECT_ID ", "${a:-")
names = st.from_regex(r"[a-z][a-z_]{2,8}", fullmatch=True).filter(lambda name: SERVICE.fullmatch(name) is None)
unresolved = st.sampled_from(["{}", "args.{}", "get_{}()", "config['{}']", "FLAGS.{}", "os.environ['{}']", "{}.value"])


def found(command: list[str], args: list[str], env: tuple[tuple[str, str], ...] = ()) -> list[str]:
    return [place for place, _ in program_placeholders(command, args, env)]


@pytest.mark.parametrize("text", LEGAL)
def test_legal_values_are_none(text: str) -> None:
    assert found(["python", "t.py"], [text], (("A", text),)) == []


@pytest.mark.parametrize("text", OPEN)
def test_marks_are_found_in_words_and_variables(text: str) -> None:
    assert found([text], [text], (("A", text),)) == ["command[0]", "args[0]", "env[0].value"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_shell_resolves_is_none(script: str) -> None:
    env = (("FOO", "1"),)
    assert found(["bash", "-c", script], [], env) == []
    assert found(["/bin/sh"], ["-lc", script], env) == []
    assert found([], ["bash", "-o", "pipefail", "-ec", script], env) == []


@pytest.mark.parametrize("script", OPEN_SCRIPTS)
def test_what_no_shell_can_resolve_is_found(script: str) -> None:
    assert found(["bash", "-c", script], []) == ["command[2]"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_take_bounded_time(text: str) -> None:
    long = text * (1_000_000 // len(text))
    began = time.process_time()

    found(["bash", "-c", long], [long], (("A", long),))

    assert time.process_time() - began < 3


@given(name=names, written=unresolved, place=st.sampled_from(["args", "command", "script", "env", "concatenated"]))
def test_a_program_s_unresolved_value_is_never_submittable(name: str, written: str, place: str) -> None:
    value = written.format(name)
    field = {
        "args": f'"args": ["--x", {value}]',
        "command": f'"command": ["python", {value}]',
        "script": f'"command": ["bash", "-c", f"python t.py --x {{{value}}}"]'.replace("['", '["').replace("']", '"]'),
        "env": f'"env": [{{"name": "A", "value": {value}}}]',
        "concatenated": f'"args": ["--x=" + {value}]',
    }[place]
    pool = f'{{"machine_spec": {{"machine_type": "n1-standard-4"}}, "container_spec": {{"image_uri": "a/b", {field}}}}}'
    text = f"aiplatform.CustomJob(display_name='x', worker_pool_specs=[{pool}]).run()"

    reading = importer.read_text(text.replace('["bash", "-c", f"', '["bash", "-c", f\'\'\'').replace('}"]', "}''']"))

    assert reading.submission is not None, text
    assert any(finding.severity is Severity.ERROR for finding in reading.with_rules([], confirmed=())), text
    again = importer.read_text(exporter.write(reading.submission, "rest")).submission
    assert again is not None
    for each in (reading.submission, again):
        asked = type(each)(each.kind, "p", "us-central1", each.job, confirmed=frozenset())
        assert any(
            f.severity is Severity.ERROR and f.code.startswith(("placeholders", "placeholders"))
            for f in strategies.check(asked)
        )
