"""Tests of images named in forms: read by a worker as the team's account, cached, bounded, never a reason to refuse."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from jobs import known_images
from jobs.assessment import Context, Outcome, assess
from jobs.known_images import Known
from jobs.models import AllowedResource, ImageReading, Team
from jobs.policy_rules import PolicyRules, rules_of_limits
from jobs.queue import claims
from jobs.spec.images import ImageState, ImageStatus
from jobs.upkeep import image_reading, retention
from tests.domain.conftest import Cloud
from tests.domain.test_checkpoints import put
from tests.support import samples
from tests.support.clock import Clock

REPOSITORY = "europe-docker.pkg.dev/vision-research/train"
NAME = f"{REPOSITORY}/resnet:1"
PENGUINS = "us-docker.pkg.dev/trainboard/samples/penguins:latest"
GB = 10**9


def ask(cloud: Cloud, team: Team, *names: str) -> Known:
    return known_images.known_images(team, names or [NAME], now=cloud.now)


def read(cloud: Cloud, team: Team, *names: str) -> Known:
    """Request a reading, let a worker do it, and return the result."""
    ask(cloud, team, *names)
    image_reading.read_when_due(cloud.now)
    return ask(cloud, team, *names)


def calls(cloud: Cloud) -> int:
    return sum(count for method, count in cloud.calls().items() if method in ("tags.get", "dockerImages.get"))


def test_an_image_is_asked_once_and_its_size_kept(cloud: Cloud, team: Team) -> None:
    cloud.control("images", {"sizes": {NAME: 4 * GB}})

    first = ask(cloud, team)
    assert first == Known({NAME: ImageState(None)}, is_asked=True)
    assert not ask(cloud, team).is_asked
    found = read(cloud, team)

    state = found.states[NAME]
    assert (state.status, state.size_bytes, found.is_asked) == (ImageStatus.FOUND, 4 * GB, False)
    assert state.read_at is not None
    assert state.read_at - cloud.now < timedelta(seconds=20)
    assert calls(cloud) == 2
    cloud.forward(minutes=59)
    assert read(cloud, team).states[NAME].size_bytes == 4 * GB
    assert calls(cloud) == 2
    cloud.forward(minutes=2)
    assert ask(cloud, team) == Known(found.states, is_asked=True)
    image_reading.read_when_due(cloud.now)
    assert calls(cloud) == 4


def test_a_missing_image_is_asked_again_soon(cloud: Cloud, team: Team) -> None:
    cloud.control("images", {"missing": [NAME]})
    assert read(cloud, team).states[NAME].is_missing

    cloud.control("images", {})
    cloud.forward(seconds=61)
    assert read(cloud, team).states[NAME].status == ImageStatus.FOUND


@pytest.mark.parametrize("kind", ["403", "429", "500", "html", "reset", "truncated"])
def test_what_could_not_be_asked_is_left_out(cloud: Cloud, team: Team, kind: str) -> None:
    cloud.fail("tags.get", kind)

    assert read(cloud, team) == Known()
    row = ImageReading.objects.get()
    assert (row.status, row.due_at) == (ImageStatus.UNKNOWN, None)
    assert row.last_error
    cloud.forward(minutes=6)
    assert read(cloud, team).states[NAME].status == ImageStatus.FOUND


def test_without_a_worker_nobody_waits_for_ever(cloud: Cloud, team: Team) -> None:
    ask(cloud, team)
    cloud.forward(seconds=31)

    assert ask(cloud, team) == Known({NAME: ImageState(None)}, is_asked=True)
    assert ImageReading.objects.count() == 1


def test_old_answers_are_not_shown_and_then_removed(cloud: Cloud, team: Team) -> None:
    read(cloud, team)
    cloud.forward(hours=25)
    assert ask(cloud, team).states == {NAME: ImageState(None)}

    cloud.forward(days=31)
    assert ("images", 1) in list(retention.prune(cloud.now))


def test_typing_makes_neither_many_rows_nor_many_calls(
    cloud: Cloud, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_images, "MAX_KEPT", 30)
    for number in range(50):
        ask(cloud, team, f"{REPOSITORY}/net{number}")
    assert ImageReading.objects.count() == 20

    for minute in range(3):
        cloud.forward(seconds=61)
        for number in range(15):
            ask(cloud, team, f"{REPOSITORY}/net{minute}-{number}")
    assert ImageReading.objects.count() == 30
    assert ImageReading.objects.filter(name=f"{REPOSITORY}/net2-14").exists()


def test_another_worker_is_left_alone(cloud: Cloud, team: Team) -> None:
    ask(cloud, team)
    assert claims.claim_upkeep(image_reading.UPKEEP, cloud.now) is not None

    image_reading.read_when_due(cloud.now)
    assert calls(cloud) == 0
    cloud.forward(seconds=31)
    image_reading.read_when_due(cloud.now)
    assert calls(cloud) == 2


class TestWhoAsks:
    def test_a_team_s_answer_is_not_another_s(self, cloud: Cloud, team: Team, other_team: Team) -> None:
        shared = "europe-docker.pkg.dev/company-images/base/torch"
        read(cloud, team, shared)

        assert ask(cloud, other_team, shared) == Known({shared: ImageState(None)}, is_asked=True)

    def test_trainboard_s_account_is_not_asked_about_another_team_s_project(
        self, cloud: Cloud, team: Team, other_team: Team
    ) -> None:
        assert ask(cloud, other_team) == Known()
        assert not ImageReading.objects.exists()

        AllowedResource.objects.create(team=other_team, kind="project", name=team.project)
        assert ask(cloud, other_team).is_asked

    def test_the_team_s_own_account_asks_and_another_one_asks_anew(
        self, cloud: Cloud, team: Team, other_team: Team, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Team.objects.filter(pk=other_team.pk).update(acts_as="one@speech-research.iam.gserviceaccount.com")
        other_team.refresh_from_db()
        asked_as, client = [], image_reading.platform_client
        monkeypatch.setattr(image_reading, "platform_client", lambda acts_as: asked_as.append(acts_as) or client())
        assert read(cloud, other_team).states[NAME].status == ImageStatus.FOUND

        other_team.acts_as = "two@speech-research.iam.gserviceaccount.com"
        assert ask(cloud, other_team) == Known({NAME: ImageState(None)}, is_asked=True)
        row = ImageReading.objects.get()
        assert (row.status, row.acts_as) == ("", other_team.acts_as)
        image_reading.read_when_due(cloud.now)
        assert asked_as == ["one@speech-research.iam.gserviceaccount.com", other_team.acts_as]


class TestAssessment:
    def notes(self, state: ImageState) -> Any:
        limits = PolicyRules(rules_of_limits(Decimal(10_000)))
        context = Context(policy=limits, image_states={PENGUINS: state})
        found = assess(samples.submission(extra_replicas=1), context, expected=timedelta(hours=1))
        assert found.outcome != Outcome.REFUSED
        return [each for each in found.findings if each.code == "image_is_missing"]

    def test_a_note_at_each_worker_pool(self, clock: Clock) -> None:
        notes = self.notes(ImageState(ImageStatus.NO_IMAGE, None, clock.now))

        assert [each.field for each in notes] == [
            f"jobSpec.workerPoolSpecs[{index}].containerSpec.imageUri" for index in range(len(notes))
        ]
        assert notes[0].severity == "note"
        assert notes[0].message == (
            "There is no image penguins:latest in us-docker.pkg.dev/trainboard/samples (read 2026-03-02 09:00 UTC)."
        )

    def test_a_repository_that_is_not_there(self, clock: Clock) -> None:
        (first, *_) = self.notes(ImageState(ImageStatus.NO_REPOSITORY, None, clock.now))

        assert first.message.startswith("There is no repository us-docker.pkg.dev/trainboard/samples (read")

    @pytest.mark.parametrize("status", [None, ImageStatus.FOUND, ImageStatus.UNKNOWN])
    def test_silence_otherwise(self, clock: Clock, status: ImageStatus | None) -> None:
        assert self.notes(ImageState(status, None, clock.now)) == []


class TestFolders:
    def test_are_listed_by_a_worker_for_checkpoints(self, cloud: Cloud, team: Team) -> None:
        Team.objects.filter(pk=team.pk).update(bucket="gs://vision")
        team.refresh_from_db()
        folder = "gs://vision/out"

        put(cloud, "elsewhere/notes.txt", cloud.now)
        assert read(cloud, team, folder).states[folder].status == ImageStatus.NO_CHECKPOINTS
        put(cloud, "out/checkpoints/step-2/model.bin", cloud.now)
        assert read(cloud, team, folder).states[folder].status == ImageStatus.NO_CHECKPOINTS, (
            "an answer of a moment ago"
        )
        cloud.forward(minutes=6)

        assert read(cloud, team, folder).states[folder].status == ImageStatus.CHECKPOINTS

    def test_of_a_bucket_that_is_not_the_team_s_are_not_listed(self, cloud: Cloud, team: Team) -> None:
        Team.objects.filter(pk=team.pk).update(bucket="gs://vision")
        team.refresh_from_db()

        assert read(cloud, team, "gs://vision-2/out") == Known()
        assert not ImageReading.objects.exists()
