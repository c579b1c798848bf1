"""Tests of what a program decides: conditions, derived lists, errors; and what the SDK leaves out of a machine."""

from typing import Any

import pytest

from jobs import importer
from tests.unit.importer.test_reading import codes, refused, spec_of

JOB = """
pools = [{"machine_spec": machine, "replica_count": 1, "container_spec": {"image_uri": "gcr.io/p/i", "args": args}}]
aiplatform.CustomJob(display_name="x", worker_pool_specs=pools).run()
"""
ARGS = "jobSpec.workerPoolSpecs[0].containerSpec.args[0]"
PLAIN = "from google.cloud import aiplatform\nmachine = {'machine_type': 'n1-standard-4'}\nargs = ['a']\n"


def pool_of(text: str) -> dict[str, Any]:
    """Return the pool of a program that sets `machine` and `args`; nothing in it is refused."""
    reading = importer.read_text(PLAIN + text + JOB)
    assert refused(reading) == []
    pool: dict[str, Any] = spec_of(reading)["workerPoolSpecs"][0]
    return pool


class TestConditions:
    @pytest.mark.parametrize(
        ("before", "test", "taken"),
        [
            ("", "True", True),
            ("GPU = False", "GPU", False),
            ("GPU = 0", "not GPU", True),
            ("KEY = None", "KEY is None", True),
            ("KEY = 'k'", "KEY is not None", True),
            ("KEY = None", "KEY", False),
            ("KEY = 'k'", "KEY and MODE", None),
            ("MODE = False", "KEY and MODE", False),
            ("KEY = 'k'", "MODE or KEY", True),
            ("KEY = ''", "KEY", False),
            ("KEY = []", "KEY", False),
            ("KEY = ['a']", "len(KEY) > 1 or 'a' in KEY", True),
            ("", "args[0] == 'a'", True),
            ("", "1 < 2 < 3", True),
            ("KEY = read()", "KEY", None),
        ],
    )
    def test_takes_the_branch_that_is_known(self, before: str, test: str, taken: bool | None) -> None:
        text = f"{before}\nif {test}:\n    args = ['yes']\nelse:\n    args = ['no']\n"
        shown = f"{before}\nargs = ['yes'] if {test} else ['no']\n"

        for program in (text, shown):
            reading = importer.read_text(PLAIN + program + JOB)
            args = spec_of(reading)["workerPoolSpecs"][0]["containerSpec"]["args"]
            assert args == [{True: "yes", False: "no", None: f"${{{test}}}"}[taken]]
            found = [each for each in reading.findings if each.code == "placeholder"]
            assert [(each.field, "“yes” / “no”" in each.message) for each in found] == [(ARGS, True)] * (taken is None)

    def test_finds_the_job_of_a_branch_that_is_not_taken(self) -> None:
        body = "".join(f"    {line}\n" for line in JOB.strip().split("\n"))

        assert refused(importer.read_text(f"{PLAIN}READY = False\nif READY:\n{body}")) == []

    def test_what_follows_an_error_is_open_unless_it_is_the_same(self) -> None:
        text = "try:\n    machine = {'machine_type': 'n2-standard-4'}\n    args = load()\n"
        text += "except OSError:\n    machine = {'machine_type': 'n2-standard-4', 'accelerator_count': 1}\n"
        text += "    args = ['b']\n"

        assert pool_of(text)["machineSpec"] == {"machineType": "n2-standard-4"}
        assert (
            "jobSpec.workerPoolSpecs[0].machineSpec.acceleratorCount"
            in importer.read_text(PLAIN + text + JOB).placeholders
        )
        assert pool_of(text)["containerSpec"]["args"] == ["${args}"]
        assert pool_of(text.replace("args = ['b']", "raise"))["machineSpec"] == {"machineType": "n2-standard-4"}


class TestLists:
    @pytest.mark.parametrize(
        ("written", "read"),
        [
            ("[f'--{k}={v}' for k, v in {'a': 1, 'b': 'two'}.items()]", ["--a=1", "--b=two"]),
            ("[x for x in ['a', 'b', 'c'] if x != 'b']", ["a", "c"]),
            ("[k for k in {'a': 1}]", ["a"]),
            ("[str(v) for v in {'a': 1}.values()]", ["1"]),
            ("list(f'{n}' for n in (1, 2))", ["1", "2"]),
            ("'--seed 1 --fast'.split()", ["--seed", "1", "--fast"]),
            ("'a,b'.split(',')", ["a", "b"]),
            ("'a b'.split(None)", ["a", "b"]),
            ("['a'] + extra", ["a", "${extra}"]),
            ("read() + ['a']", ["${read()}", "a"]),
            ("['a'] + [f'{x}' for x in unknown()]", ["a", "${[f'(x)' for x in unknown()]}"]),
            ("[f'{x}{y}' for x in ['a'] for y in ['b']]", ["ab"]),
            ("[x for x in ['a'] if unknown(x)]", ["${[x for x in ['a'] if unknown(x)]}"]),
            ("[a for a, b in [['c']]]", ["${a}"]),
        ],
    )
    def test_reads_what_is_made_of_known_lists(self, written: str, read: list[str]) -> None:
        assert pool_of(f"args = {written}\n")["containerSpec"]["args"] == read

    def test_reads_variables_made_of_a_mapping(self) -> None:
        text = (
            "from google.cloud import aiplatform\nENV = {'A': '1', 'B': '2'}\n"
            "aiplatform.CustomJob(display_name='x', worker_pool_specs=[{'machine_spec':\n"
            "    {'machine_type': 'n1-standard-4'}, 'container_spec': {'image_uri': 'gcr.io/p/i', "
            "'env': [{'name': n, 'value': v} for n, v in {n.lower(): v for n, v in ENV.items()}.items()]}}]).run()\n"
        )
        pool = spec_of(importer.read_text(text))["workerPoolSpecs"][0]

        assert pool["containerSpec"]["env"] == [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]

    def test_names_of_a_loop_end_with_it(self) -> None:
        assert pool_of("n = 'kept'\nargs = [n for n in ['a']] + [n]\n")["containerSpec"]["args"] == ["a", "kept"]

    def test_nested_loops_take_bounded_time(self) -> None:
        inner = "[x for x in many]"
        for _ in range(6):
            inner = f"[{inner} for x in many]"

        assert refused(importer.read_text(f"{PLAIN}many = [{', '.join('1' * 150)}]\nbig = {inner}\n{JOB}")) == [
            "too_much"
        ]


class TestMachine:
    RUN = (
        "from google.cloud import aiplatform\n"
        "aiplatform.CustomContainerTrainingJob(display_name='x', container_uri='gcr.io/p/i').run({})"
    )

    @pytest.mark.parametrize(
        "half",
        [
            "accelerator_type='NVIDIA_TESLA_T4'",
            "accelerator_type='NVIDIA_TESLA_T4', accelerator_count=0",
            "accelerator_count=2",
            "accelerator_type='ACCELERATOR_TYPE_UNSPECIFIED', accelerator_count=2",
        ],
    )
    def test_half_an_accelerator_is_none(self, half: str) -> None:
        reading = importer.read_text(self.RUN.format(f"machine_type='n1-standard-4', {half}"))

        assert refused(reading) == []
        assert "no_accelerator" in codes(reading)
        pool = reading.body["trainingTaskInputs"]["workerPoolSpecs"][0]
        assert pool["machineSpec"] == {"machineType": "n1-standard-4"}

    def test_names_of_reservations_go_with_a_specific_one(self) -> None:
        given = "reservation_affinity_type='{}', reservation_affinity_key='k', reservation_affinity_values=['v']"
        found, noted = [], []
        for kind in ("ANY_RESERVATION", "SPECIFIC_RESERVATION"):
            reading = importer.read_text(self.RUN.format(given.format(kind)))
            noted.append("no_reservation_named" in codes(reading))
            machine = reading.body["trainingTaskInputs"]["workerPoolSpecs"][0]["machineSpec"]
            found.append(machine["reservationAffinity"])

        assert found == [
            {"reservationAffinityType": "ANY_RESERVATION"},
            {"reservationAffinityType": "SPECIFIC_RESERVATION", "key": "k", "values": ["v"]},
        ]
        assert noted == [True, False]


@pytest.mark.parametrize("mark", ["''", "5", "SEPARATOR"])
def test_a_text_that_cannot_be_taken_apart_stays_open(mark: str) -> None:
    (args,) = pool_of(f"args = 'a b'.split({mark})")["containerSpec"]["args"]

    assert args.startswith("${")


def test_odd_escapes_of_a_program_warn_nobody(recwarn: pytest.WarningsRecorder) -> None:
    importer.read_text(PLAIN + "pattern = '\\d'\n" + JOB)

    assert not recwarn.list
