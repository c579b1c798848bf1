"""Tests of the compose page: choices, live preview, refusals, and that one click makes one job."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard.forms.compose.job_form import JobForm
from dashboard.forms.compose.worker_pool_form import WorkerPoolForm
from jobs.models import Job, Membership, Policy, Team
from tests.pages.conftest import SignIn, fields_of, text_in, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def typed(owner: User, signed_in: SignIn) -> Callable[..., dict[str, str]]:
    """`typed(name="x")` is what the browser posts from the example, with changes; `__` stands for the pool's prefix."""
    client = signed_in(owner)

    def post(**changes: Any) -> dict[str, str]:
        page = client.get("/jobs/new/?example=penguins").content.decode()
        return fields_of(page) | {name.replace("pool__", "pool-0-"): str(value) for name, value in changes.items()}

    return post


def finds_at(page: str, field: str) -> str:
    """Return the text of the findings at a field."""
    return text_in(page, f"id_{field}-finds")


def test_what_one_form_changes_of_its_fields_no_other_sees() -> None:
    for changed in (WorkerPoolForm(prefix="pool-0"), WorkerPoolForm(prefix="pool-1")):
        changed.fit("us-central1")
        changed.begins_at = "machine_type"
    JobForm(teams=[("1", "vision")])

    fresh, job = WorkerPoolForm(prefix="pool-0"), JobForm(teams=[("1", "vision"), ("2", "speech")])

    assert "autofocus" not in str(fresh["machine_type"])
    assert "a2-highgpu-1g" not in str(fresh["machine_type"])
    assert "speech" in str(job["team"])


class TestForm:
    def test_starts_from_the_example(self, team: Team, typed: Callable[..., dict[str, str]]) -> None:
        fields = typed()

        assert re.fullmatch(r"penguins-[0-9a-f]{4}", fields["name"])
        assert fields["output"] == f"gs://vision-training/{fields['name']}"
        assert fields["pool-0-command"] == "python train.py"
        assert fields["pool-0-args"] == "--epochs 40 --seconds-per-epoch 1"
        assert fields["run_time"] == "2 h"
        assert fields["strategy"] == "spot"
        assert fields["region"] == "us-central1"

    def test_an_empty_one_finds_nothing_before_somebody_types(self, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)
        page = client.get("/jobs/new/").content.decode()
        typed = client.post("/jobs/new/check/", fields_of(page) | {"run_time": "2 h"}).content.decode()

        assert 'class="find ' not in page
        assert 'aria-invalid="true"' not in page
        assert "required" in finds_at(typed, "name")
        assert re.search(r"\d+ required", text_in(typed, "findings"))

    def test_asks_for_no_approval_before_a_machine_is_chosen(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        client = signed_in(owner)
        page = client.post("/jobs/new/check/", typed(pool__machine_type="")).content.decode()

        assert "approval" not in text_in(page, "findings")
        assert "approval" in text_in(client.post("/jobs/new/check/", typed()).content.decode(), "findings")

    def test_shows_each_strategy_with_price_wait_and_risk(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/jobs/new/?example=penguins").content.decode()

        for strategy in ("standard", "spot", "flex_start"):
            words = text_in(page, f"strategy-{strategy}-facts")
            assert re.match(r"\$\d+\.\d\d \$\d+\.\d\d – \$\d+\.\d\d", words), strategy
            assert re.match(r"((cheapest|safest) )?\$\d+\.\d\d / h", text_in(page, f"strategy-{strategy}-name"))
        assert re.fullmatch(r"Range \$0 – \$\d+", text_in(page, "strategy-axis"))
        assert "no restart expected" in text_in(page, "strategy-spot-facts")
        assert "None from preemption" in text_in(page, "strategy-standard-facts")
        assert "Can be preempted." in text_in(page, "chosen")

    def test_shows_the_request(self, owner: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(owner).get("/jobs/new/?example=penguins"))

        assert '"strategy": "SPOT"' in text
        assert '"acceleratorType": "NVIDIA_TESLA_A100"' in text

    def test_is_not_for_viewers(self, teammate: User, signed_in: SignIn) -> None:
        Membership.objects.filter(user=teammate).update(role="viewer")
        client = signed_in(teammate)

        answer = client.get("/jobs/new/")

        assert answer.status_code == 403
        assert "a lead or an administrator can make you an engineer" in text_of(answer)
        assert "New job" not in text_of(client.get("/"))

    def test_lets_people_of_two_teams_choose(self, owner: User, other_team: Team, signed_in: SignIn) -> None:
        Membership.objects.create(team=other_team, user=owner, role="engineer")

        page = signed_in(owner).get("/jobs/new/").content.decode()

        assert re.search(r'<select [^>]*name="team"', page)


class TestSubmit:
    def test_requests_the_job_that_was_typed(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        answer = signed_in(owner).post(
            "/jobs/new/",
            typed(
                name="resnet",
                run_time="90 min",
                timeout="3 h",
                labels="phase=two",
                service_account="trainer@vision-research.iam.gserviceaccount.com",
                pool__args="--name 'two words' --lr 1e-3",
                pool__env="MODE=fast\nEMPTY=",
                pool__disk_type="pd-ssd",
                pool__disk_gb="200",
            ),
        )

        job = Job.objects.get()
        spec = job.spec["jobSpec"]
        pool = spec["workerPoolSpecs"][0]
        assert answer["Location"] == f"/jobs/{job.pk}/"
        assert (job.owner, job.display_name, job.strategy, job.expected_seconds) == (owner, "resnet", "spot", 5400)
        assert spec["scheduling"] == {"timeout": "10800s", "strategy": "SPOT"}
        assert spec["serviceAccount"] == "trainer@vision-research.iam.gserviceaccount.com"
        assert pool["containerSpec"]["args"] == ["--name", "two words", "--lr", "1e-3"]
        assert pool["containerSpec"]["env"] == [{"name": "MODE", "value": "fast"}, {"name": "EMPTY", "value": ""}]
        assert pool["diskSpec"] == {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 200}
        assert job.spec["labels"] == {"phase": "two"}

    def test_requests_a_python_package(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        signed_in(owner).post(
            "/jobs/new/",
            typed(
                pool__runs="package",
                pool__executor_image="us-docker.pkg.dev/vertex-ai/training/pytorch-gpu.2-4.py310:latest",
                pool__package_uris="gs://vision-training/trainer-1.0.tar.gz\n",
                pool__module="trainer.task",
                pool__args="--epochs 3",
            ),
        )

        pool = Job.objects.get().spec["jobSpec"]["workerPoolSpecs"][0]
        assert "containerSpec" not in pool
        assert pool["pythonPackageSpec"]["pythonModule"] == "trainer.task"
        assert pool["pythonPackageSpec"]["packageUris"] == ["gs://vision-training/trainer-1.0.tar.gz"]
        assert pool["pythonPackageSpec"]["args"] == ["--epochs", "3"]

    def test_sends_the_wait_limit_with_flex_start_only(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        client = signed_in(owner)
        client.post("/jobs/new/", typed(strategy="flex_start", max_wait="0 s", timeout="1 d"))
        client.post("/jobs/new/", typed(strategy="standard", max_wait="0 s", timeout="1 d"))

        flex, standard = (
            Job.objects.order_by("pk", "strategy").filter(strategy="flex_start").get(),
            Job.objects.get(strategy="standard"),
        )
        assert flex.spec["jobSpec"]["scheduling"]["maxWaitDuration"] == "0s"
        assert "maxWaitDuration" not in standard.spec["jobSpec"]["scheduling"]

    def test_says_when_it_waits_for_an_approval(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        page = signed_in(owner).post("/jobs/new/", typed(name="costly", run_time="20 d"), follow=True)

        assert Job.objects.get().state == "awaiting_approval"
        assert "costly waits for an approval." in text_of(page)

    def test_a_second_click_finds_the_first_job(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        client, fields = signed_in(owner), typed()

        first, second = (client.post("/jobs/new/", fields)["Location"] for _ in range(2))

        assert first == second
        assert Job.objects.count() == 1

    def test_check_without_javascript_saves_nothing(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        page = signed_in(owner).post("/jobs/new/", typed(do="check", run_time="3 h", name="kept"))

        assert page.status_code == 200
        assert 'value="kept"' in page.content.decode()
        assert Job.objects.count() == 0

    def test_a_stranger_cannot_request_for_another_team(
        self, team: Team, stranger: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        answer = signed_in(stranger).post("/jobs/new/", typed(team=team.pk))

        assert answer.status_code == 422
        assert Job.objects.count() == 0


class TestRefusal:
    def test_tells_every_finding_at_its_field_and_keeps_what_was_typed(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        answer = signed_in(owner).post(
            "/jobs/new/",
            typed(
                name="x" * 129,
                labels="Phase=Two",
                output="not-a-bucket",
                run_time="soon",
                strategy="flex_start",
                pool__replicas="3",
                pool__machine_type="n1-standard-8",
                pool__image="",
                pool__args="--name 'open",
                pool__env="no equals sign",
                pool__disk_gb="7",
            ),
        )

        page = answer.content.decode()
        assert answer.status_code == 422
        assert Job.objects.count() == 0
        for field, words in {
            "name": "at most 128",
            "labels": "lowercase",
            "output": "gs://",
            "run_time": "24 h, 90 min",
            "pool-0-replicas": "exactly one",
            "pool-0-machine_type": "Flex-start",
            "pool-0-args": "Close the quote",
            "pool-0-env": "Line 1 is not NAME=value",
            "pool-0-disk_gb": "100",
        }.items():
            assert words in finds_at(page, field), field
        assert finds_at(page, "pool-0-image").startswith("error:")
        for kept in ("not-a-bucket", "soon", "--name &#39;open", "no equals sign", "Phase=Two"):
            assert kept in page

    def test_marks_the_control_and_names_its_findings(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        page = signed_in(owner).post("/jobs/new/", typed(name="")).content.decode()

        control = re.search(r'<input[^>]*name="name"[^>]*>', page)
        assert control
        assert 'aria-invalid="true"' in control[0]
        assert 'aria-describedby="id_name-help id_name-finds"' in control[0]

    def test_says_what_the_team_may_not_spend(
        self, team: Team, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        Policy.objects.filter(team=team).update(refuse_over_usd=2)

        answer = signed_in(owner).post("/jobs/new/", typed(run_time="20 d"))

        assert answer.status_code == 422
        assert "The team refuses jobs over $2.00." in text_of(answer)

    def test_says_at_the_region_that_the_team_may_not_use_it(
        self, team: Team, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        Policy.objects.filter(team=team).update(regions=["europe-west4"])

        page = signed_in(owner).post("/jobs/new/", typed()).content.decode()

        assert "Choose one of europe-west4" in finds_at(page, "region")

    @pytest.mark.parametrize(
        "changes",
        [
            {"name": "<script>alert(1)</script>", "pool__image": "<b>"},
            {"pool__command": "\\", "pool__args": '"'},
            {"run_time": "1" * 60},
            {"pool__replicas": "9" * 400},
            {"pool__machine_type": "no-such-machine", "region": "mars", "strategy": "luck"},
            {"pool__env": "A=" + "x" * 300_000},
            {"name": "\x00\ud7ff", "labels": "=\n==\n=x"},
            {"team": "", "request_key": ""},
        ],
        ids=["html", "quotes", "digits", "number", "choices", "long", "odd", "hidden"],
    )
    @pytest.mark.parametrize("address", ["/jobs/new/", "/jobs/new/check/"])
    def test_never_breaks(
        self,
        owner: User,
        signed_in: SignIn,
        typed: Callable[..., dict[str, str]],
        changes: dict[str, str],
        address: str,
    ) -> None:
        answer = signed_in(owner).post(address, typed(**changes))

        assert answer.status_code == (422 if address == "/jobs/new/" else 200)
        assert "<script>alert" not in answer.content.decode()
        assert Job.objects.count() == 0


class TestWhileTyping:
    def test_returns_only_what_tells_and_saves_nothing(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        page = signed_in(owner).post("/jobs/new/check/", typed(pool__replicas="3")).content.decode()

        assert "exactly one" in finds_at(page, "pool-0-replicas")
        assert re.findall(r'<input[^>]* name="(\w+)"', page) == ["shown", "text_digest"]
        assert "<html" not in page
        assert re.search(r'id="request" [^>]*hx-swap-oob="morph"', page)
        assert Job.objects.count() == 0

    def test_says_the_same_as_a_submit(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        fields = typed(pool__machine_type="n1-standard-8", labels="Phase=Two")
        client = signed_in(owner)

        live = client.post("/jobs/new/check/", fields).content.decode()
        final = client.post("/jobs/new/", fields).content.decode()

        for field in ("pool-0-machine_type", "labels"):
            assert finds_at(live, field) == finds_at(final, field) != ""
        for field in ("name", "output"):
            assert f"id_{field}-finds" not in live
            assert finds_at(final, field) == ""

    def test_says_why_one_strategy_is_not_possible(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        page = signed_in(owner).post("/jobs/new/check/", typed(pool__machine_type="n1-standard-8")).content.decode()

        assert "L4, A100, H100" in text_in(page, "strategy-flex_start-facts")
        assert "/ h" not in text_in(page, "strategy-flex_start-name")
        assert "/ h" in text_in(page, "strategy-standard-name")

    def test_speaks_of_a_missing_image_at_its_field_and_not_as_a_fault_of_a_strategy(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        page = signed_in(owner).post("/jobs/new/check/", typed(pool__image="")).content.decode()

        assert finds_at(page, "pool-0-image") == "required"
        assert "/ h" in text_in(page, "strategy-spot-name")

    def test_empties_the_places_of_findings_that_are_no_more(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        client = signed_in(owner)
        wrong = client.post("/jobs/new/check/", typed(pool__replicas="3", labels="Phase=Two")).content.decode()
        told = re.findall(r'name="shown" id="id_shown" value="([^"]*)"', wrong)[0]

        half = client.post("/jobs/new/check/", typed(labels="Phase=Two", shown=told)).content.decode()

        assert {"id_pool-0-replicas-finds", "id_labels-finds"} <= set(told.split())
        assert '<div id="id_pool-0-replicas-finds" hx-swap-oob="innerHTML"></div>' in half
        assert "only lowercase letters" in finds_at(half, "labels")

    @pytest.mark.parametrize("told", ["id_x-finds><script>", "x " * 40_000, 'id_"-finds', "verdict"])
    def test_takes_nothing_else_for_a_place_of_findings(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]], told: str
    ) -> None:
        page = signed_in(owner).post("/jobs/new/check/", typed(shown=told)).content.decode()

        assert '"innerHTML"></div>' not in page

    def test_draws_a_card_anew_when_its_price_changes(
        self, owner: User, signed_in: SignIn, typed: Callable[..., dict[str, str]]
    ) -> None:
        client = signed_in(owner)
        short, long = (
            client.post("/jobs/new/check/", typed(run_time=hours)).content.decode() for hours in ("1 h", "9 h")
        )

        assert text_in(short, "strategy-standard-facts") != text_in(long, "strategy-standard-facts")

    def test_is_no_page_to_visit(self, owner: User, signed_in: SignIn) -> None:
        assert signed_in(owner).get("/jobs/new/check/").status_code == 405
