"""Tests of which values of a job look like secrets, of false positives, and that nothing of a hidden one remains."""

import json
import time
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.spec import secrets
from jobs.spec.secret_texts import MASK
from jobs.spec.secrets import Masker, find_secrets, holds_mask, mask_secrets, secrets_as_json

RANDOM = "q8Zr2LwXv91TbNc4KyPd7HsJm3GfAe6U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"


def env(name: str, value: str) -> dict[str, Any]:
    return {"jobSpec": {"workerPoolSpecs": [{"containerSpec": {"env": [{"name": name, "value": value}]}}]}}


def words(*args: str, where: str = "args") -> dict[str, Any]:
    return {"jobSpec": {"workerPoolSpecs": [{"containerSpec": {where: list(args)}}]}}


@pytest.mark.parametrize(
    "name",
    "HF_TOKEN TOKEN WANDB_API_KEY API_KEY OPENAI_KEY SECRET CLIENT_SECRET DB_PASSWORD PASSWD CREDENTIAL apiKey "
    "AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_SESSION_TOKEN githubToken dbpassword HFTOKEN NEPTUNE_API_TOKEN "
    "SECRET_KEY PRIVATE_KEY MY_PASSPHRASE KEY auth_token COMET_API_KEY SLACK_TOKEN DB_PASS PASS AUTH REDIS_AUTH JWT "
    "TOKENS HF_TOKENS GITHUB_PAT PAT PRIVATE_KEY_B64 SA_KEY_JSON SSH_KEY_BASE64 HF_TOKEN_2 DB_PW API_KEYS dbpass "
    "AWS_CREDS SESSION_COOKIE AUTHORIZATION MODEL_API_KEY_STR".split(),
)
def test_a_variable_is_told_by_its_name(name: str) -> None:
    body = env(name, "s3cr3t-of-ours")

    (found,) = find_secrets(body)

    assert found.path == "jobSpec.workerPoolSpecs[0].containerSpec.env[0].value"
    assert found.values == ["s3cr3t-of-ours"]


@pytest.mark.parametrize(
    "value",
    [
        "hf_abcdefghijklmnopqrstuvwxyz",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "github_pat_11ABCDEFG0123456789abcdef",
        "sk-proj-0123456789abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA0123456789abcdefghijklmnopqrstuv",
        "ya29.a0AfH6SMBx0123456789",
        "xoxb-0123456789-abcdefghij",
        "glpat-abcdefghij0123456789",
        PEM,
        JWT,
        RANDOM,
    ],
)
@pytest.mark.parametrize(
    "make",
    [
        lambda value: env("SETTING", value),
        lambda value: words("--setting", value),
        lambda value: words(f"--setting={value}"),
        lambda value: words("bash", "-c", f"run {value} now", where="command"),
    ],
    ids=["env", "argument", "flag", "command"],
)
def test_a_value_is_told_by_its_form(value: str, make: Any) -> None:
    hidden = mask_secrets(make(value))

    assert value not in json.dumps(hidden)
    assert json.dumps(value)[1:-1] not in json.dumps(hidden)
    assert MASK in json.dumps(hidden)


@pytest.mark.parametrize(
    ("args", "secret"),
    [
        (["--api-key=abc123xyz"], "abc123xyz"),
        (["--api-key", "abc123xyz"], "abc123xyz"),
        (["--api_key", "abc123xyz", "--epochs", "3"], "abc123xyz"),
        (["-token", "abc123xyz"], "abc123xyz"),
        (["--trainer.wandb.token=abc123xyz"], "abc123xyz"),
        (["trainer.hf_token=abc123xyz"], "abc123xyz"),
        (["bash", "-c", "export HF_TOKEN=abc123xyz && python train.py"], "abc123xyz"),
        (["bash", "-c", "python train.py --password 'abc 123 xyz'"], "abc"),
        (["bash", "-c", "PASSWORD='abc 123 xyz' python train.py"], "123 xyz"),
        (["sh", "-c", "python t.py --api-key abc123xyz --epochs 3"], "abc123xyz"),
        (['{"api_key": "abc123xyz", "epochs": 3}'], "abc123xyz"),
        (["token: abc123xyz"], "abc123xyz"),
        (["postgres://user:abc123xyz@db/train"], "abc123xyz"),
        (["--db-pass=abc123xyz"], "abc123xyz"),
        (["--db-pass", "hunter2"], "hunter2"),
        (["-u", "alice:abc123xyz"], "abc123xyz"),
        (["curl", "--user=alice:hunter", "https://x"], "hunter"),
        (["bash", "-c", "curl -u alice:correcthorse https://x | tar x"], "correcthorse"),
        (["bash", "-c", "curl --user 'alice:abc123xyz' https://x"], "abc123xyz"),
        (["--notify=https://hooks.slack.com/services/T0AAA/B0BBB/xyzxyzxyz"], "xyzxyzxyz"),
        (["--notify", "https://discord.com/api/webhooks/1234/xyzxyzxyz"], "xyzxyzxyz"),
        (["https://account.blob.core.windows.net/c/x?sv=2024&sig=ab%2Fxyz123%3D&se=1"], "xyz123"),
        (
            ["--data=https://storage.googleapis.com/b/o?X-Goog-Signature=0123456789abcdef"],
            "0123456789a",
        ),
        (["https://b.s3.amazonaws.com/o?X-Amz-Signature=0123456789abcdef"], "0123456789a"),
        (["https://0123456789abcdef0123456789abcdef@sentry.io/1"], "0123456789abcdef"),
        (["git clone https://x-access-token:abc123xyz@github.com/a/b"], "abc123xyz"),
        (["curl -H 'Authorization: Bearer abc123xyzabc123xyz' x"], "abc123xyzabc123xyz"),
    ],
    ids=str,
)
def test_arguments_are_read_as_programs_read_them(args: list[str], secret: str) -> None:
    for where in ("args", "command"):
        hidden = mask_secrets(words(*args, where=where))

        assert secret not in json.dumps(hidden)
        assert holds_mask(hidden)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KEY_FILE", "/etc/keys/service.json"),
        ("KEY", "/gcs/bucket/key.pem"),
        ("API_KEY_PATH", "gs://vision/keys/one"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/var/run/key.json"),
        ("TOKENIZER", "bert-base-uncased"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("MAX_TOKENS", "512"),
        ("MAX_TOKEN", "512"),
        ("PAD_TOKEN", "<pad>"),
        ("EOS_TOKEN", "endoftext"),
        ("KEY_COLUMN", "id"),
        ("SORT_KEY", "created_at"),
        ("KEY", "customer_id"),
        ("USE_TOKEN", "true"),
        ("SECRET_NAME", "wandb-key"),
        ("HF_TOKEN", "projects/vision/secrets/hf/versions/latest"),
        ("HF_TOKEN", "$(OTHER)"),
        ("HF_TOKEN", "${HF_TOKEN}"),
        ("AWS_REGION", "eu-central-1"),
        ("AWS_DEFAULT_REGION", "eu-central-1"),
        ("MONKEY", "banana-tree"),
        ("TURKEY", "istanbul-dataset"),
        ("GIT_COMMIT", "d01bf1a0c3f5e7a9b1d2e4f6a8c0e2f4a6b8c0d2"),
        ("RUN_ID", "123e4567-e89b-12d3-a456-426614174000"),
        ("IMAGE", "us-docker.pkg.dev/vision/train/resnet50@sha256:0123456789abcdef0123456789abcdef"),
        ("MODEL", "gs://vision/models/ResNet50ImageNet2012/checkpoint-120000"),
        ("EXPERIMENT", "TrainResNet50ImageNet2012ConfigB"),
        ("EMPTY_PASSWORD", ""),
        ("PYTHONPATH", "/app/src:/app/lib/python3.11/site-packages"),
        ("DATE", "2026-11-22T07:51:59Z"),
        ("TOKENS", "4096"),
        ("TOKENS", "300M"),
        ("TOKENS", "wikitext-103"),
        ("TRAIN_TOKENS", "1_000_000"),
        ("AUTH", "oauth2"),
        ("AUTH", "google-default"),
        ("AUTHOR", "abc123xyz"),
        ("FORWARD_PASS", "fused2"),
        ("PASS_THROUGH", "abc123xyz"),
        ("BYPASS", "abc123xyz"),
        ("COMPASS", "abc123xyz"),
        ("PATIENCE", "10"),
        ("SIGMA", "0.02"),
        ("SIGNATURE", "serving_default"),
        ("PATH_PATTERN", "abc123xyz"),
    ],
)
def test_what_only_seems_to_be_a_secret_stays(name: str, value: str) -> None:
    flag = name.lower().replace("_", "-")

    for body in (env(name, value), words(f"--{flag}={value}"), words(f"--{flag}", value)):
        assert list(find_secrets(body)) == []
        assert mask_secrets(body) == body


@pytest.mark.parametrize(
    "args",
    [
        ["--max_tokens=512", "--key-column=id", "--tokenizer", "bert-base-uncased"],
        ["--epochs", "40", "--seconds-per-epoch", "1", "--data", "gs://b/penguins.csv"],
        ["python", "-m", "trainer.task", "--lr=3e-4", "--token-count", "100"],
        ["--model=sk-learn-gradient-boosting", "--hidden", "2,32,64"],
        ["--special-tokens", "[CLS]", "[SEP]", "--mask-token", "[MASK]"],
        ["--author", "Ada Lovelace", "--tokens=4096", "--pass-through", "yes", "--tokens", "1B"],
        ["python", "-u", "train.py", "--auth=none", "--use-auth", "--num-passes=3"],
        ["docker", "run", "-u", "1000:1000", "--user=root:wheel", "--user", "app:app"],
        ["bash", "-c", "python -u train.py --map a:b && python -u app.py:main"],
        ["https://example.com/a?signal=12345678&design=abcdefghij"],
    ],
    ids=str,
)
def test_usual_arguments_stay(args: list[str]) -> None:
    assert mask_secrets(words(*args)) == words(*args)


def test_every_kind_of_body_is_looked_through() -> None:
    secret = "abc123xyz"
    task = {"workerPoolSpecs": [{"pythonPackageSpec": {"env": [{"name": "HF_TOKEN", "value": secret}]}}]}
    upload = {"containerSpec": {"env": [{"name": "API_KEY", "value": secret}], "args": ["--password", secret]}}
    bodies = [
        {"trainingTaskInputs": task, "modelToUpload": upload},
        {"trainingTaskInputs": {"trialJobSpec": task}},
        {"trialJobSpec": task},
        {"labels": {"note": "hf_abcdefghijklmnopqrstuvwxyz"}},
    ]

    for body in bodies:
        before = deepcopy(body)
        assert secret not in json.dumps(mask_secrets(body))
        assert "hf_abc" not in json.dumps(mask_secrets(body))
        assert body == before


def test_a_text_that_quotes_the_job_is_hidden_too() -> None:
    masker = Masker(env("DB_PASSWORD", 'tr"ee\\house'))

    told = masker.hide({"message": 'env DB_PASSWORD="tr\\"ee\\\\house" is wrong', "list": ['it is tr"ee\\house']})

    assert "house" not in json.dumps(told)


def test_the_same_secret_elsewhere_in_the_body_is_hidden() -> None:
    body = env("HF_TOKEN", "abc123xyz") | {"displayName": "run-abc123xyz"}

    assert "abc123xyz" not in json.dumps(mask_secrets(body))


def test_many_secrets_hide_each_text_about_them() -> None:
    body = words(*(f"--token=secret{index}value" for index in range(300)), "again secret7value") | {
        "displayName": "plain"
    }
    masker = Masker(body)

    assert masker.body["displayName"] == "plain"
    assert "secret7value" not in json.dumps(masker.body)
    assert masker.hide("the service did not like secret299value") == MASK


@given(
    st.recursive(
        st.text(max_size=60) | st.integers() | st.none() | st.booleans(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["env", "args", "command", "name", "value", "x"]), inner)
        ),
        max_leaves=12,
    )
)
def test_any_json_is_taken_and_masking_twice_changes_nothing(body: Any) -> None:
    once = mask_secrets(body)

    assert mask_secrets(once) == once
    assert json.dumps(once)


@given(
    st.text(alphabet="abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789!#%+=_-", min_size=6, max_size=60).filter(
        lambda text: (
            any(sign.isdigit() for sign in text) and any(sign.isalpha() for sign in text) and not text.startswith("-")
        )
    )
)
def test_no_password_of_a_variable_is_shown(value: str) -> None:
    hidden = mask_secrets(env("DB_PASSWORD", value) | {"displayName": "x"})

    shown = hidden["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["env"][0]["value"]
    assert shown == MASK or list(find_secrets(env("DB_PASSWORD", value))) == []


@pytest.mark.parametrize(
    "part",
    ["a=", "eyJ-", "token:", "-----BEGIN PRIVATE KEY-----", "x://a:", "--token ", "sk-", "aB1", "'token':'", "A "],
)
def test_no_text_takes_long(part: str) -> None:
    """A text of 100,000 characters that is made to be slow is looked through in well under a second on any machine."""
    text = part * (100_000 // len(part))

    began = time.process_time()
    find = list(find_secrets(words(text)))

    assert time.process_time() - began < 2
    assert isinstance(find, list)


class TestKept:
    BODY = env("DB_PASSWORD", "hunter2-and-more") | {"displayName": "uses hunter2-and-more"}

    def test_hides_the_same_without_a_search(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kept, searched = json.loads(json.dumps(secrets_as_json(self.BODY))), Masker(self.BODY)
        monkeypatch.setattr(secrets, "find_secrets", lambda *_: pytest.fail("it was searched"))

        found = Masker(self.BODY, kept)

        assert found.body == searched.body
        assert "hunter2" not in json.dumps(found.body)
        assert found.hide("it was hunter2-and-more") == searched.hide("it was hunter2-and-more")

    @pytest.mark.parametrize("kept", [{"version": 0}, {"digest": "of another body"}])
    def test_of_another_body_or_search_counts_for_nothing(self, kept: dict[str, Any]) -> None:
        stale = secrets_as_json({}) | {"digest": secrets_as_json(self.BODY)["digest"]} | kept

        assert "hunter2" not in json.dumps(Masker(self.BODY, stale).body)
