"""Tests of the doctor's page: failures first, with commands, for site admins only."""

from django.contrib.auth.models import User
from django.test import Client

from jobs import doctor
from jobs.models import Upkeep
from jobs.texts import translatable
from tests.pages.conftest import SignIn, text_of
from tests.support.clock import Clock


def keep(clock: Clock) -> None:
    status = doctor.Status
    checks = [
        doctor.Check(translatable("This site"), "Redis", status.PASS, translatable("It answers and accepts writes.")),
        doctor.Check("Project p", "monitoring.timeSeries.list", status.WARN, "Missing.", "gcloud warn"),
        doctor.Check("Project p", "aiplatform.customJobs.create", status.FAIL, "<b>Missing.", "gcloud fail --x='a b'"),
    ]
    result = {"checks": [each.as_kept() for each in checks]}
    Upkeep.objects.create(name=doctor.UPKEEP, answered_at=clock.now, due_at=clock.now, result=result)


def test_shows_what_fails_first_with_its_command(admin: User, signed_in: SignIn, clock: Clock) -> None:
    keep(clock)
    clock.forward(minutes=12)

    answer = signed_in(admin).get("/doctor/")
    text = text_of(answer)

    assert "Checked 12 min ago : 1 failed, 1 warning, 1 passed." in text
    assert text.index("gcloud fail --x='a b'") < text.index("gcloud warn")
    assert "This site: 1 passed" in text
    assert "<b>Missing" not in answer.content.decode()
    spanish = text_of(signed_in(admin).get("/doctor/", headers={"accept-language": "es"}))
    assert "Redis Responde y acepta escrituras." in spanish
    assert "Este sitio:" in spanish


def test_shows_a_check_that_fails_alike_in_several_groups_once(admin: User, signed_in: SignIn, clock: Clock) -> None:
    status = doctor.Status
    checks = [doctor.Check(f"Project p{number}", "list", status.FAIL, "No credentials.") for number in range(3)]
    checks.append(doctor.Check("Project p3", "list", status.FAIL, "Permission denied."))
    result = {"checks": [each.as_kept() for each in checks]}
    Upkeep.objects.create(name=doctor.UPKEEP, answered_at=clock.now, result=result)

    text = text_of(signed_in(admin).get("/doctor/"))

    assert "4 failed" in text
    assert text.count("No credentials.") == 1
    assert "Project p0 , Project p1 , Project p2 No credentials." in text
    assert "Project p3 Permission denied." in text


def test_says_that_nothing_was_checked_yet(admin: User, signed_in: SignIn) -> None:
    assert "Nothing has been checked yet." in text_of(signed_in(admin).get("/doctor/"))


def test_a_check_can_be_asked_for(admin: User, signed_in: SignIn, clock: Clock) -> None:
    keep(clock)
    Upkeep.objects.update(due_at=clock.forward(minutes=50))
    clock.now = clock.now - (clock.now - Upkeep.objects.get().answered_at) / 2  # type: ignore[operator]

    answer = signed_in(admin).post("/doctor/examine/", follow=True)

    assert "A worker was asked" in text_of(answer)
    assert Upkeep.objects.get().due_at == clock.now


def test_others_see_nothing(owner: User, stranger: User, approver: User, client: Client, signed_in: SignIn) -> None:
    for person in (owner, stranger, approver):
        assert signed_in(person).get("/doctor/").status_code == 404
        assert signed_in(person).post("/doctor/examine/").status_code == 404
        assert "Doctor" not in text_of(signed_in(person).get("/"))
    assert client.get("/doctor/").status_code == 302
    assert not Upkeep.objects.exists()
