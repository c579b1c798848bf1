"""The demo's people: who they are, and where they may not be."""

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from dashboard.management.demo import jobs, people
from dashboard.management.supervisor.claim import claim
from jobs.models import Job, Membership, Policy
from jobs.spec import refuses
from jobs.strategies import check

pytestmark = pytest.mark.django_db


@pytest.fixture
def state(settings: object, tmp_path: object) -> object:
    settings.STATE_DIR = tmp_path  # type: ignore[attr-defined]
    return tmp_path


def test_creates_everybody_who_signs_in() -> None:
    assert people.create("127.0.0.1") == ["engineer", "approver", "stranger", "admin"]

    roles = {f"{row.user} in {row.team}": row.role for row in Membership.objects.select_related("user", "team")}
    assert roles == {
        "engineer in vision": "engineer",
        "approver in vision": "approver",
        "stranger in speech": "engineer",
    }
    assert [user.username for user in User.objects.filter(is_superuser=True)] == ["admin"]
    assert all(user.check_password("trainboard") for user in User.objects.all())
    assert Policy.objects.get(team__name="vision").ask_over_usd == 1


def test_a_second_time_changes_nothing_that_people_changed() -> None:
    people.create("127.0.0.1")
    engineer = User.objects.get(username="engineer")
    engineer.set_password("my own")
    engineer.save()
    Membership.objects.filter(user=engineer).update(role="lead")
    Policy.objects.filter(team__name="vision").update(ask_over_usd=7)

    assert people.create("127.0.0.1") == []

    engineer.refresh_from_db()
    assert engineer.check_password("my own")
    assert Membership.objects.get(user=engineer).role == "lead"
    assert Policy.objects.get(team__name="vision").ask_over_usd == 7


def test_somebody_who_was_removed_from_a_team_is_not_put_back() -> None:
    people.create("127.0.0.1")
    Membership.objects.filter(user__username="stranger").delete()

    people.create("127.0.0.1")

    assert not Membership.objects.filter(user__username="stranger").exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "board.example.org"])
def test_is_refused_when_others_can_reach_the_site(host: str) -> None:
    with pytest.raises(people.NotLoopback, match="loopback only"):
        people.create(host)

    assert not User.objects.exists()


def test_knows_whose_password_everybody_knows() -> None:
    people.create("127.0.0.1")
    engineer = User.objects.get(username="engineer")
    engineer.set_password("my own")
    engineer.save()

    assert people.with_known_password() == ["admin", "approver", "stranger"]


class TestTheCommand:
    def test_is_refused_while_nothing_runs(self, state: object) -> None:
        with pytest.raises(CommandError, match=r"No `manage.py up` runs"):
            call_command("demo")

    def test_is_refused_when_the_site_listens_elsewhere(self, state: object) -> None:
        with claim(state) as held:  # type: ignore[arg-type]
            held.write(host="0.0.0.0")

            with pytest.raises(CommandError, match="loopback only"):
                call_command("demo")

        assert not User.objects.exists()

    def test_creates_people_for_the_site_that_runs(self, state: object, capsys: pytest.CaptureFixture[str]) -> None:
        with claim(state) as held:  # type: ignore[arg-type]
            held.write(host="127.0.0.1")

            call_command("demo")

        assert capsys.readouterr().out == "Created: engineer, approver, stranger, admin.\n"


class TestItsJobs:
    def test_are_requested_once_and_wait_only_where_a_person_is_to_look(
        self, state: object, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with claim(state) as held:  # type: ignore[arg-type]
            held.write(host="127.0.0.1", rehearsal=True)
            call_command("demo", "--jobs")
            call_command("demo", "--jobs")

        states = dict(Job.objects.values_list("display_name", "state"))
        assert states.pop("penguins-on-eight-a100") == "awaiting_approval"
        assert set(states.values()) == {"approved"}
        assert len(states) == len(jobs.EXAMPLES) - 1
        assert capsys.readouterr().out.endswith("Its jobs were requested before.\n")

    @pytest.mark.parametrize("example", jobs.EXAMPLES, ids=lambda each: each.name)
    def test_keep_every_rule(self, example: jobs.Example) -> None:
        assert not refuses(check(example.submission("vision-research")))

    @pytest.mark.parametrize("told", [{}, {"rehearsal": False}])
    def test_are_refused_where_they_would_cost_money(self, state: object, told: dict[str, bool]) -> None:
        with claim(state) as held:  # type: ignore[arg-type]
            held.write(host="127.0.0.1", **told)

            with pytest.raises(CommandError, match="would cost money"):
                call_command("demo", "--jobs")

        assert not Job.objects.exists()

    def test_are_requested_by_nobody_else_when_their_people_are_gone(self, state: object) -> None:
        people.create("127.0.0.1")
        User.objects.filter(username="approver").update(is_active=False)
        with claim(state) as held:  # type: ignore[arg-type]
            held.write(host="127.0.0.1", rehearsal=True)

            with pytest.raises(CommandError, match="approver"):
                call_command("demo", "--jobs")

        assert not Job.objects.exists()


class TestServingOthers:
    def test_up_refuses_while_everybody_knows_a_password(self, state: object) -> None:
        people.create("127.0.0.1")

        with pytest.raises(CommandError, match="admin, approver, engineer, stranger can sign in"):
            call_command("up", host="0.0.0.0", no_emulator=True)

    def test_up_refuses_to_put_the_emulator_before_others(self, state: object) -> None:
        with pytest.raises(CommandError, match="runs the commands of jobs on this machine"):
            call_command("up", host="0.0.0.0")
