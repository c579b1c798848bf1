"""Tests of cost estimates."""

import json
from datetime import date, timedelta
from decimal import Decimal

import pytest

from jobs.cost import accrued, format_usd, round_up
from jobs.cost.notes import in_words
from jobs.cost.prices import old_parts
from tests.unit.cost.builders import HOUR, JULY, custom_job, known, pool, priced, tuning_job

N1_PER_HOUR = Decimal("0.21849885") + Decimal("19.55") / 730


class TestWorkedExamples:
    @pytest.mark.parametrize(
        ("example", "strategy", "machine_type", "disk_gb", "hours", "usd"),
        [
            ("P1", "standard", "n1-standard-4", 100, 1.5, "0.367919508"),
            ("P2", "standard", "a3-highgpu-8g", 2000, 10, "1015.429684"),
            ("P3", "flex_start", "a3-highgpu-8g", 2000, 10, "520.306163"),
            ("P5", "reservation", "a3-highgpu-8g", 2000, 10, "1022.005779"),
        ],
    )
    def test_of_one_machine_come_out_to_the_printed_digit(
        self, example: str, strategy: str, machine_type: str, disk_gb: int, hours: float, usd: str
    ) -> None:
        job = custom_job(pool(machine_type, disk_gb=disk_gb))

        found = priced(job, strategy, timedelta(hours=hours), JULY)

        assert f"{known(found.expected_usd):.{len(usd.partition('.')[2])}f}" == usd, example
        assert round(known(found.low_usd) / known(found.expected_usd), 3) == Decimal("0.5")
        assert round(known(found.high_usd) / known(found.expected_usd), 3) == 2

    def test_of_spot_without_a_preemption_comes_out_per_hour(self) -> None:
        """P4 prices ten hours without restarts."""
        found = priced(custom_job(pool("a3-highgpu-8g", disk_gb=2000)), "spot", 10 * HOUR, JULY)

        assert f"{10 * known(found.usd_per_hour):.6f}" == "643.201189"

    def test_of_a_persistent_resource_bill_the_pool_and_not_the_run(self) -> None:
        """P6: four machines up for 24 hours, of which jobs use six."""
        job = custom_job(pool(replicas=4))

        run, up = priced(job, "persistent", 6 * HOUR), priced(job, "standard", 24 * HOUR)

        assert (run.usd_per_hour, run.expected_usd, run.low_usd, run.high_usd) == (0, 0, 0, 0)
        assert f"{known(up.expected_usd):.9f}" == "23.546848504"
        assert "about $0.98 an hour" in " ".join(run.notes)

    def test_of_tuning_count_every_trial(self) -> None:
        """P7."""
        found = priced(tuning_job(pool(), trials=20, parallel=4), expected=HOUR / 2)

        assert f"{known(found.expected_usd):.9f}" == "2.452796719"
        assert found.usd_per_hour == 4 * N1_PER_HOUR
        assert (found.rounds, found.elapsed_hours) == (5, 2.5)
        assert found.notes == (
            "20 trials of 30 minutes each, 4 at a time; every trial is billed. "
            "In 5 rounds they take about 2.5 hours. A waiting trial costs nothing.",
        )


class TestTuning:
    def test_takes_as_many_rounds_as_its_trials_need(self) -> None:
        found = priced(tuning_job(pool(), trials=9, parallel=4), expected=HOUR)

        assert (found.trials, found.rounds, found.elapsed_hours) == (9, 3, 3)
        assert priced(tuning_job(pool(), trials=3, parallel=8), expected=HOUR).elapsed_hours == 1

    def test_says_what_may_make_it_cheaper(self) -> None:
        less = {"studySpec": {"medianAutomatedStoppingSpec": {}}, "maxFailedTrialCount": 3}

        notes = priced(tuning_job(pool(), trials=9, parallel=4, **less)).notes

        assert notes[-1] == "It costs less with trials that are stopped early or an end after 3 failed trials."

    def test_has_a_timeout_for_each_trial(self) -> None:
        found = priced(tuning_job(pool(), trials=8, parallel=4, timeout="7200s"), expected=HOUR)

        assert found.high_usd == 2 * known(found.expected_usd)
        assert found.notes[-1] == "The upper end is that every trial runs until the timeout, after 2 hours."

    def test_on_spot_tells_the_risk_of_each_trial_and_of_any(self) -> None:
        found = priced(tuning_job(pool("a2-highgpu-1g", replicas=16), trials=10, parallel=5), "spot", 48 * HOUR)

        billed, chance = found.notes[1:3]
        assert billed.startswith("With ")
        assert "for each trial and" in chance
        assert chance.endswith("for any of the 10. The others go on.")
        assert found.restarts is not None
        assert found.elapsed_hours == pytest.approx(2 * found.restarts.billed_hours)


class TestPools:
    def test_add_up_with_their_replicas(self) -> None:
        job = custom_job(pool(), pool("n1-standard-8", replicas=3), pool(replicas=2))

        found = priced(job)

        one, eight = priced(custom_job(pool())), priced(custom_job(pool("n1-standard-8")))
        together = 3 * known(one.expected_usd) + 3 * known(eight.expected_usd)
        assert f"{known(found.expected_usd):.9f}" == f"{together:.9f}"
        assert [(line.resource, line.quantity) for line in found.lines] == [
            ("n1-standard-4", 3),
            ("pd-ssd boot disk", 600),
            ("n1-standard-8", 3),
        ]

    def test_that_are_skipped_cost_nothing(self) -> None:
        assert priced(custom_job(pool(), {}, pool())).expected_usd == priced(custom_job(pool(replicas=2))).expected_usd

    def test_with_an_impossible_number_of_replicas_count_none(self) -> None:
        assert priced(custom_job(pool(replicas=2), pool(replicas=-1))) == priced(custom_job(pool(replicas=2)))

    def test_that_are_missing_make_the_cost_unknown(self) -> None:
        found = priced(custom_job())

        assert (found.usd_per_hour, found.expected_usd, found.high_usd) == (None, None, None)

    def test_with_an_unknown_price_make_the_whole_unknown(self) -> None:
        found = priced(custom_job(pool(), pool("a4x-highgpu-4g")))

        assert found.expected_usd is None
        assert "Not known in us-central1: the on-demand price of a4x-highgpu-4g." in found.notes


class TestTimeout:
    def test_ends_the_range(self) -> None:
        found = priced(custom_job(pool(), timeout="10800s"), expected=2 * HOUR)

        assert found.expected_usd == 2 * N1_PER_HOUR
        assert found.high_usd == 3 * N1_PER_HOUR
        assert found.notes == ("The upper end is a run until the timeout, after 3 hours.",)

    def test_before_the_expected_end_ends_the_job(self) -> None:
        found = priced(custom_job(pool(), timeout="3600s"), expected=5 * HOUR)

        assert (found.hours, found.expected_usd, found.high_usd) == (1, N1_PER_HOUR, N1_PER_HOUR)
        assert found.notes == ("The timeout ends the job after 60 minutes, before the expected end.",)

    def test_that_is_not_given_ends_the_job_after_seven_days(self) -> None:
        found = priced(custom_job(pool()), expected=200 * HOUR)

        assert found.hours == 168
        assert found.notes == ("The default timeout ends the job after 7 days, before the expected end.",)

    def test_sooner_than_spot_may_need_does_not_end_its_range(self) -> None:
        job = custom_job(pool("a2-highgpu-1g"), timeout="172800s")

        capped, free = priced(job, "spot", 48 * HOUR), priced(custom_job(pool("a2-highgpu-1g")), "spot", 48 * HOUR)

        assert (capped.low_usd, capped.notes) == (free.low_usd, free.notes)
        assert 48 * known(capped.usd_per_hour) < known(capped.high_usd) < known(free.high_usd)

    def test_bounds_what_may_be_spent(self) -> None:
        short = priced(custom_job(pool("a2-highgpu-1g"), timeout="7200s"), "standard", HOUR)
        unbounded = priced(custom_job(pool("a2-highgpu-1g")), "standard", HOUR)
        assert short.usd_per_hour is not None

        late = short.usd_per_hour / 24  # 150 seconds until the machines are gone
        runs = 4  # the first one and three restarts
        assert short.most_usd == pytest.approx(runs * (2 * short.usd_per_hour + late))
        assert unbounded.most_usd == pytest.approx(runs * (7 * 24 * short.usd_per_hour + late))
        assert (short.longest, unbounded.longest) == (
            "up to 4 runs of up to 2 hours each", "up to 4 runs of up to 7 days each",
        )  # fmt: skip
        assert known(unbounded.high_usd) == pytest.approx(2 * short.usd_per_hour, rel=Decimal("0.001"))

    def test_counts_each_restart_of_a_replica_that_restarts_the_job(self) -> None:
        job = custom_job(pool("a2-highgpu-1g", replicas=3), timeout="7200s")
        restarts = job.job_spec.scheduling.but(restart_job_on_worker_restart=True)

        whole = job.with_job_spec(job.job_spec.but(scheduling=restarts))
        off = job.with_job_spec(job.job_spec.but(scheduling=restarts.but(disable_retries=True)))

        by_others = 9  # the first run, three for capacity, three of the job, two after internal errors
        assert priced(whole).attempts == by_others * (1 + 3 * 5), "five of each replica after each of them"
        assert priced(whole).most_usd == pytest.approx(known(priced(job).most_usd) / 4 * by_others * 16)
        assert priced(off).most_usd == priced(job).most_usd

    def test_names_a_shorter_one_and_what_it_saves(self) -> None:
        free = priced(custom_job(pool("a2-highgpu-1g")), "spot", 2 * HOUR)
        usd = 7 * (4 + Decimal(1) / 24) * known(free.usd_per_hour)

        assert free.shorter == f"With a timeout of 4 hours it is at most {format_usd(round_up(usd))}."
        close = priced(custom_job(pool("a2-highgpu-1g"), timeout="18000s"), "spot", 2 * HOUR)
        assert close.shorter == "", "it would not be much less"

    @pytest.mark.parametrize("timeout", ["0.000001s", "0.5s", "1s", "60s", "3600s"])
    def test_counts_machines_until_they_are_gone(self, timeout: str) -> None:
        """Recorded ends took up to 136 seconds; no number of trials divides that time."""
        one = priced(custom_job(pool("a3-highgpu-8g", replicas=100), timeout=timeout))
        many = priced(tuning_job(pool("a3-highgpu-8g"), trials=100, parallel=10, timeout=timeout))

        billed = accrued(one.usd_per_hour, timedelta(seconds=float(timeout[:-1]) + 136))
        assert known(one.most_usd) >= 4 * known(billed)
        assert known(many.most_usd) == pytest.approx(known(one.most_usd), rel=Decimal("1e-9"))

    def test_of_zero_is_none(self) -> None:
        assert priced(custom_job(pool(), timeout="0s")) == priced(custom_job(pool()))


class TestSpot:
    def test_gives_a_range_around_what_is_expected(self) -> None:
        found = priced(custom_job(pool("a2-highgpu-1g")), "spot", 24 * HOUR)

        bare = 24 * known(found.usd_per_hour)
        assert known(found.low_usd) < bare < known(found.expected_usd) < known(found.high_usd)
        assert known(found.low_usd) == pytest.approx(bare / 2, rel=Decimal("0.03"))
        assert known(found.high_usd) > 2 * bare

    def test_says_what_it_assumes_and_how_likely_the_job_dies(self) -> None:
        found = priced(
            custom_job(pool("a2-highgpu-1g", replicas=1), pool("a2-highgpu-1g", replicas=15)), "spot", 48 * HOUR
        )

        assumed, billed, chance = found.notes
        assert "5% to 15% of the machines are preempted within a day" in assumed
        assert "loses 3 to 12 minutes" in assumed
        assert billed == "With 3.6 preemptions, the job is billed for about 50.8 hours."
        assert chance.startswith("The chance of more than 6 preemptions")
        assert found.restarts is not None
        assert 0 < found.restarts.survival < 1

    def test_says_plainly_that_a_short_job_is_hardly_preempted(self) -> None:
        _, billed, chance = priced(custom_job(pool("a2-highgpu-1g", replicas=1)), "spot", HOUR / 2).notes

        assert billed.startswith("With hardly a preemption, the job is billed for about ")
        assert chance.endswith("is below 0.01%.")

    def test_counts_checkpoints_as_often_as_the_training_makes_them(self) -> None:
        job = custom_job(pool("a2-highgpu-1g"))

        best, never = priced(job, "spot", 48 * HOUR), priced(job, "spot", 48 * HOUR, checkpoint_every=48 * HOUR)

        assert known(never.expected_usd) > known(best.expected_usd)
        assert never.restarts is not None
        assert never.restarts.interval_hours == 48

    def test_is_unknown_for_a_job_that_would_never_finish(self) -> None:
        found = priced(custom_job(pool("a2-highgpu-1g", replicas=10**12)), "spot", 48 * HOUR, checkpoint_every=HOUR)

        assert found.usd_per_hour is not None
        assert found.expected_usd is None
        assert "With that many machines it would almost never finish." in found.notes

    def test_of_other_strategies_says_nothing_of_restarts(self) -> None:
        assert priced(custom_job(pool("a2-highgpu-1g")), "flex_start").restarts is None


class TestBasis:
    def test_begins_with_the_person_s_own_figure(self) -> None:
        short, cut = custom_job(pool()), custom_job(pool(), timeout="3600s")

        assert priced(short, expected=2 * HOUR).basis[0].startswith("You expect 2 hours: $0.49. No job of your team")
        words = priced(cut, expected=3 * HOUR).basis[0]
        assert words.startswith("You expect 3 hours, and the timeout ends it after 60 minutes: $0.25.")


class TestAsJson:
    def test_carries_amounts_as_text_and_dates_as_days(self) -> None:
        body = json.loads(json.dumps(priced(custom_job(pool()), expected=2 * HOUR).as_dict()))

        assert body["expected_usd"] == "0.490559344"
        assert body["prices_as_of"] == "2026-10-07"
        assert [line["resource"] for line in body["lines"]] == ["n1-standard-4", "pd-ssd boot disk"]

    def test_is_dated_by_the_main_price_and_names_older_parts(self) -> None:
        """The fee and the boot disk of 2025 hid for every machine that its own price is of 2026."""
        found = priced(custom_job(pool("a3-highgpu-8g")), "spot").as_dict()

        assert found["prices_as_of"] == "2026-09-17"
        older = old_parts(found["lines"], found["prices_as_of"], date(2026, 11, 27))
        assert older == {date(2025, 8, 16): ["management fee on a3-highgpu-8g", "pd-ssd boot disk"]}
        assert old_parts(found["lines"], found["prices_as_of"], date(2025, 11, 1)) == {}

    def test_carries_what_is_unknown_as_null(self) -> None:
        body = priced(custom_job(pool("a4x-highgpu-4g"))).as_dict()

        assert (body["usd_per_hour"], body["expected_usd"], body["restarts"]) == (None, None, None)


class TestInWords:
    @pytest.mark.parametrize(
        ("hours", "words"),
        [(0, "0 seconds"), (0.01, "36 seconds"), (0.5, "30 minutes"), (2, "2 hours"), (168.25, "168.2 hours")],
    )
    def test_picks_a_unit_for_people(self, hours: float, words: str) -> None:
        assert in_words(hours) == words
