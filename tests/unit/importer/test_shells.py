"""Tests of scripts around a gcloud command: arrays, texts in variables, defaults, pipes; and commands in pages."""

from time import process_time

import pytest

from jobs import importer
from jobs.spec import Severity
from tests.unit.importer.test_reading import codes, refused, spec_of

POOL = "machine-type=n1-standard-4,replica-count=1,container-image-uri=gcr.io/p/i"
START = "gcloud ai custom-jobs create --region=us-central1 --display-name=x"
CONFIG = """workerPoolSpecs:
  - machineSpec:
      machineType: ${MACHINE:-n1-highmem-8}
    replicaCount: 1
    containerSpec:
      imageUri: ${IMAGE}
"""


def first_pool(text: str) -> dict[str, object]:
    """Return the first worker pool of a text. Fail on an error."""
    reading = importer.read_text(text)
    assert refused(reading) == []
    pool: dict[str, object] = spec_of(reading)["workerPoolSpecs"][0]
    return pool


class TestArrays:
    def test_reads_a_command_that_an_array_holds(self) -> None:
        text = (
            "CALL=(\n"
            "  gcloud ai custom-jobs create  # the command\n"
            '  "--region=${REGION}"\n'
            "  --display-name=bird\n"
            f"  --worker-pool-spec={POOL}\n"
            ")\n"
            'if [[ -n "$KEY" ]]; then CALL+=("--kms-key=$KEY"); fi\n'
            "printf '%q ' \"${CALL[@]}\"\n"
            '"${CALL[@]}"\n'
        )
        reading = importer.read_text(text)

        assert refused(reading) == []
        assert "further_job" not in codes(reading)
        assert reading.body["displayName"] == "bird"
        assert reading.body["encryptionSpec"] == {"kmsKeyName": "${KEY}"}
        assert reading.line_of("displayName") == 4

    def test_puts_the_flags_of_an_array_into_a_command(self) -> None:
        text = f'FLAGS=(--args=--seed=1 --network=n)\n{START} --worker-pool-spec={POOL} "${{FLAGS[@]}}"\n'

        assert first_pool(text)["containerSpec"] == {"imageUri": "gcr.io/p/i", "args": ["--seed=1"]}

    def test_an_array_without_end_ends_with_the_text(self) -> None:
        assert "no_job" in codes(importer.read_text("CALL=(gcloud ai custom-jobs create --region=r"))


class TestTextsInVariables:
    def test_reads_a_config_that_a_variable_holds(self) -> None:
        text = (
            f'IMAGE=gcr.io/p/i\nSPEC=$(cat <<EOF\n{CONFIG}EOF\n)\necho "$SPEC" > job.yaml\n{START} --config=job.yaml\n'
        )
        reading = importer.read_text(text)

        assert refused(reading) == []
        assert spec_of(reading)["workerPoolSpecs"][0]["machineSpec"] == {"machineType": "n1-highmem-8"}
        assert spec_of(reading)["workerPoolSpecs"][0]["containerSpec"] == {"imageUri": "gcr.io/p/i"}
        assert reading.line_of("jobSpec.workerPoolSpecs[0].replicaCount") == 6

    @pytest.mark.parametrize("feed", ['echo "$SPEC" | {0}', '{0} <<< "$SPEC"', "cat <<END | {0}\n$SPEC\nEND"])
    def test_reads_a_config_from_standard_input(self, feed: str) -> None:
        command = feed.format(f"{START} --config=/dev/stdin")
        text = f"IMAGE=gcr.io/p/i\nMACHINE=n2-standard-4\nSPEC=$(cat <<EOF\n{CONFIG}EOF\n)\n{command}\n"

        assert first_pool(text)["machineSpec"] == {"machineType": "n2-standard-4"}

    def test_keeps_what_a_quoted_mark_keeps(self) -> None:
        text = f"IMAGE=gcr.io/p/i\n{START} --config=- <<'EOF'\n{CONFIG}EOF\n"

        assert first_pool(text)["containerSpec"] == {"imageUri": "${IMAGE}"}

    def test_rules_do_not_check_a_config_that_cannot_be_read(self) -> None:
        reading = importer.read_text(f"{START} --config=- <<'EOF'\nworkerPoolSpecs:\n- a\n b: - c\nEOF\n")

        assert "jobSpec.workerPoolSpecs" in reading.unseen
        assert refused(reading) == ["unreadable_yaml"]


class TestVariables:
    @pytest.mark.parametrize(
        ("written", "read"),
        [
            ("${NAME:-other}", "bird"),
            ("${NAME:?must be given}", "bird"),
            ("${MISSING:-other-$NAME}", "other-bird"),
            ('${MISSING:="other"}', "other"),
            ("${MISSING:?must be given}", "${MISSING}"),
            ("${NAME//-/_}", "${NAME//-/_}"),
            ("${NAME%-*}", "${NAME%-*}"),
            ("${NAME:+given}", "${NAME:+given}"),
            ("$1-${2:-b}", "${1}-b"),
        ],
    )
    def test_reads_a_name_its_default_or_leaves_it_open(self, written: str, read: str) -> None:
        text = f'NAME=bird\ngcloud ai custom-jobs create --display-name="{written}" --worker-pool-spec={POOL}\n'

        assert importer.read_text(text).body["displayName"] == read

    def test_a_numbered_redirection_is_no_word(self) -> None:
        reading = importer.read_text(f"{START} --worker-pool-spec={POOL} --quiet >/dev/null 2>&1 || exit 1\n")

        assert "stray_word" not in codes(reading)


class TestCommands:
    @pytest.mark.parametrize("start", ["\t@gcloud", "\t-gcloud", "\t@-gcloud", "/opt/sdk/bin/gcloud", "sudo gcloud"])
    def test_reads_a_recipe_and_a_path(self, start: str) -> None:
        command = START.replace("gcloud", start, 1)

        assert first_pool(f"train:\n{command} \\\n\t\t--worker-pool-spec={POOL}\n")["replicaCount"] == "1"

    def test_a_sentence_about_the_command_makes_no_job(self) -> None:
        reading = importer.read_text("We sent it with the gcloud ai custom-jobs create command. It took an hour.\n")

        assert refused(reading) == ["no_job"]

    def test_a_field_without_a_flag_belongs_in_the_config(self) -> None:
        found = importer.read_text(f"{START} --worker-pool-spec={POOL} --tensorboard=t").findings

        assert [finding.remedy for finding in found if finding.code == "unknown_flag"] == [
            "Put `tensorboard` into the config file."
        ]

    @pytest.mark.parametrize(
        ("flag", "remedy"),
        [
            ("--restart-job-on-worker-restart", "Put `scheduling.restartJobOnWorkerRestart` into the config file."),
            ("--timeout=7200s", "Put `scheduling.timeout` into the config file."),
        ],
    )
    def test_a_flag_that_gcloud_lacks_names_the_field_below_the_config(self, flag: str, remedy: str) -> None:
        found = importer.read_text(f"{START} --worker-pool-spec={POOL} {flag}").findings

        assert [(finding.code, finding.remedy) for finding in found if finding.severity is Severity.ERROR] == [
            ("unknown_flag", remedy)
        ]

    def test_a_count_that_gcloud_lacks_belongs_in_the_config_of_a_tuning_job(self) -> None:
        text = "gcloud ai hp-tuning-jobs create --display-name=x --max-failed-trial-count=3 --config=c.yaml"

        found = importer.read_text(text).findings

        assert [finding.remedy for finding in found if finding.code == "unknown_flag"] == [
            "Put `maxFailedTrialCount` into the config file."
        ]

    def test_packages_beside_a_config_are_an_advice(self) -> None:
        text = f"{START} --python-package-uris=gs://b/p.tar.gz --config=- <<'EOF'\n{CONFIG}EOF\n"
        reading = importer.read_text(text)

        assert refused(reading) == []
        assert "not_carried" in codes(reading)


class TestPages:
    def test_reads_a_command_in_a_sentence(self) -> None:
        text = f"# Train\n\nTo train, run `{START} --worker-pool-spec={POOL}` and wait.\n"
        reading = importer.read_text(text)

        assert refused(reading) == []
        assert reading.form == "a gcloud command, in a sentence"
        assert reading.line_of("displayName") == 3

    def test_code_in_a_line_opens_no_block(self) -> None:
        text = f"```one``` and ```two```\n\n```sh\n{START} --worker-pool-spec={POOL}\n```\n"

        assert importer.read_text(text).form == "a gcloud command, in a fenced block"

    def test_a_block_that_was_not_closed_ends_where_the_next_begins(self) -> None:
        text = f"# Jobs\n```text\nnotes\n\n~~~bash\n{START} --worker-pool-spec={POOL}\n~~~\n"

        assert importer.read_text(text).form == "a gcloud command, in a fenced block"

    def test_explains_the_block_where_no_block_can_be_read(self) -> None:
        text = "# Jobs\n\n> **Note:** [x]: y\n\n```yaml\nworkerPoolSpecs:\n- machineSpec: {\n```\n"
        reading = importer.read_text(text)

        assert refused(reading) == ["unreadable_yaml"]
        assert codes(reading)["unreadable_yaml"] == 8


class TestHoles:
    def test_a_name_in_brackets_is_a_placeholder_where_no_bracket_may_stand(self) -> None:
        text = (
            "workerPoolSpecs:\n- machineSpec: {machineType: n1-standard-4}\n  containerSpec:\n"
            "    imageUri: gcr.io/[project-id]/i\n    args: ['[cls]']\nserviceAccount: me@[my project].iam\n"
        )

        assert set(importer.read_text(text).placeholders) == {
            "jobSpec.workerPoolSpecs[0].containerSpec.imageUri",
            "jobSpec.serviceAccount",
        }


class TestBounds:
    @pytest.mark.parametrize(
        "text",
        [
            "A=$(cat <<EOF\n" + " " * 300_000 + ")\n",
            'A="${B:-' + "${a}" * 60_000 + '"\n',
            "cat > f <<EOF\n" + "${a${" * 60_000 + "\nEOF\n",
            "A=(a b)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 200,
            "\u2014" * 300_000,
            "`" + "gcloud " * 14_000,
            '"' + '\\"' * 45_000 + " gcloud",
        ],
        ids=["blanks", "defaults", "braces", "doubling", "dashes", "backticks", "quotes"],
    )
    def test_takes_bounded_time(self, text: str) -> None:
        reading = importer.read_text(f"{text}\n{START} --worker-pool-spec={POOL}\n")

        assert process_time() < self.started + 5
        assert reading.findings or reading.submission

    @pytest.fixture(autouse=True)
    def clock(self) -> None:
        self.started = process_time()
