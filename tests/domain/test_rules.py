"""Tests of a site's own severities of rules: who may set them, their effect, and that every change is recorded."""

import pytest
from django.contrib.auth.models import User

from jobs import requests
from jobs.errors import NotAllowed, NotPermitted
from jobs.models import RuleSetting
from tests.domain.conftest import RequestJob
from tests.support.clock import Clock

CODE = "spot_saves_checkpoints"


class TestSeverity:
    def test_a_rule_made_heavier_refuses_what_it_advised_on(
        self, request_job: RequestJob, admin: User, clock: Clock
    ) -> None:
        request_job()
        requests.set_severity(CODE, "error", by=admin, note="We lost a week", now=clock.now)

        with pytest.raises(NotAllowed) as refusal:
            request_job()

        assert CODE in {finding.code for finding in refusal.value.findings if finding.severity == "error"}

    def test_a_rule_switched_off_is_silent(self, request_job: RequestJob, admin: User, clock: Clock) -> None:
        requests.set_severity(CODE, "off", by=admin, note="", now=clock.now)

        judged = request_job().events.get(kind="judged")

        assert CODE not in {finding["code"] for finding in judged.detail["findings"]}

    def test_the_newest_setting_counts_and_the_older_ones_stay(self, admin: User, clock: Clock) -> None:
        for severity in ("off", "error", "default"):
            requests.set_severity(CODE, severity, by=admin, note="", now=clock.now)

        assert requests.severities() == {}
        assert list(RuleSetting.objects.order_by("id").values_list("severity", flat=True)) == [
            "off",
            "error",
            "default",
        ]

    @pytest.mark.parametrize("who", ["owner", "approver", "stranger"])
    def test_only_a_site_admin_sets_them(self, who: str, request: pytest.FixtureRequest, clock: Clock) -> None:
        with pytest.raises(NotPermitted):
            requests.set_severity(CODE, "off", by=request.getfixturevalue(who), note="", now=clock.now)

        assert not RuleSetting.objects.exists()

    @pytest.mark.parametrize(("code", "severity"), [("no_such_rule", "off"), (CODE, "shout")])
    def test_what_does_not_exist_is_refused(self, admin: User, clock: Clock, code: str, severity: str) -> None:
        with pytest.raises(ValueError, match="rule"):
            requests.set_severity(code, severity, by=admin, note="", now=clock.now)
