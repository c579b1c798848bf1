"""Tests of the catalogue page: every part, filters, and missing prices."""

import re
from collections.abc import Callable
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.drawing import machine_rows
from dashboard.drawing.attached import list_attached
from jobs.catalog import ACCELERATORS, MACHINES, REGIONS, accelerators_in
from jobs.cost import PriceBook, Shape
from jobs.cost.rates import machine_rate
from jobs.models import Team
from tests.pages.conftest import SignIn, text_of


def machines(page: str) -> list[str]:
    """Return the machine types of the table, in its order."""
    table = page.partition('id="machines"')[2].partition("</section>")[0]
    return re.findall(r"<td><b>([^<]+)</b>", table)


def cells(page: str, machine: str) -> list[str]:
    """Return the text of a machine's cells."""
    row = page.partition(f"<td><b>{machine}</b>")[2].partition("</tr>")[0]
    return [re.sub(r"<[^>]+>", " ", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]


class TestPage:
    def test_shows_every_machine_with_what_it_is_made_of(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/catalogue/?region=").content.decode()

        assert machines(page) == list(MACHINES)
        assert cells(page, "a2-highgpu-1g")[:3] == ["12", "85 GB 78.2 GB allocatable", "1 × A100 40 GB"]
        assert cells(page, "n1-standard-16")[2] == "P4 × 1, 2 or 4; T4 × 1, 2 or 4; V100 × 2, 4 or 8"

    def test_shows_the_other_parts(self, owner: User, signed_in: SignIn) -> None:
        text = text_of(signed_in(owner).get("/catalogue/?region="))

        for words in ("2x2x1: 4, 1", "hyperdisk-balanced", "a3-ultragpu-8g, a4-highgpu-8g", "K80", "1 May 2024"):
            assert words in text
        for region in REGIONS:
            assert region in text

    def test_names_a_source_with_its_day_for_every_row(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/catalogue/?region=").content.decode()

        cited = set(re.findall(r'href="#source-(\d+)"', page))
        listed = dict(re.findall(r'<li id="source-(\d+)">(.*?)</li>', page))
        assert cited == set(listed)
        assert all(re.search(r"read \d+ \w+ 2026", source) for source in listed.values())
        assert page.count('class="cite"') >= len(MACHINES) + len(REGIONS) + len(ACCELERATORS)

    def test_is_there_for_everybody_who_is_signed_in(self, stranger: User, signed_in: SignIn) -> None:
        assert signed_in(stranger).get("/catalogue/").status_code == 200
        assert Client().get("/catalogue/").status_code == 302

    def test_works_nothing_out_twice(
        self, owner: User, signed_in: SignIn, django_assert_max_num_queries: Callable[[int], object]
    ) -> None:
        client = signed_in(owner)
        client.get("/catalogue/")
        before = machine_rows.render.cache_info(), machine_rows.prices_in.cache_info()

        with django_assert_max_num_queries(7):  # type: ignore[attr-defined]
            client.get("/catalogue/")

        after = machine_rows.render.cache_info(), machine_rows.prices_in.cache_info()
        assert [cache.misses for cache in after] == [cache.misses for cache in before]


class TestFilters:
    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("q=highgpu-1g", ["a3-highgpu-1g", "a2-highgpu-1g"]),
            ("q=A2 HIGHGPU 8", ["a2-highgpu-8g"]),
            ("accelerator=NVIDIA_B200", ["a4-highgpu-8g"]),
            ("accelerator=TPU_7X", ["tpu7x-standard-4t"]),
            ("q=nothing-like-this", []),
        ],
    )
    def test_narrow_the_machines(self, owner: User, signed_in: SignIn, query: str, found: list[str]) -> None:
        assert machines(signed_in(owner).get(f"/catalogue/?region=&{query}").content.decode()) == found

    def test_leave_what_a_region_has(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/catalogue/?region=asia-east2")

        found = machines(page.content.decode())
        assert {MACHINES[name].fixed_accelerator for name in found} == {""}
        assert "n1-standard-4" in found
        assert re.search(r"\d+ more are not in asia-east2", text_of(page))

    @pytest.mark.parametrize("region", REGIONS)
    def test_never_show_an_accelerator_that_a_region_lacks(self, region: str) -> None:
        found = machine_rows.filter_machines(text="", region=region, accelerator="")

        assert {machine.fixed_accelerator for machine in found} - {""} <= accelerators_in(region)

    def test_without_accelerators_leave_plain_machines(self, owner: User, signed_in: SignIn) -> None:
        found = machines(signed_in(owner).get("/catalogue/?region=&accelerator=none").content.decode())

        assert "e2-standard-4" in found
        assert "a2-highgpu-1g" not in found

    @pytest.mark.parametrize("query", ["region=atlantis", "accelerator=NVIDIA_ABACUS", "q=" + "x" * 200])
    def test_that_cannot_be_read_are_told(self, owner: User, signed_in: SignIn, query: str) -> None:
        page = signed_in(owner).get(f"/catalogue/?{query}")

        assert page.status_code == 200
        assert 'role="alert"' in page.content.decode()
        assert machines(page.content.decode())

    def test_show_html_as_text(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/catalogue/?q=<b>x&region=<b>y&accelerator=<b>z").content.decode()

        assert "<b>x" not in page
        assert "<b>y" not in page
        assert "<b>z" not in page

    def test_give_htmx_the_found_part_alone(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/catalogue/?q=a2", headers={"HX-Request": "true"}).content.decode()

        assert page.lstrip().startswith('<div id="results"')


class TestPrices:
    def test_are_those_of_the_price_book(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/catalogue/?region=us-central1").content.decode()

        rate = machine_rate(
            PriceBook.load(), Shape("a2-highgpu-1g", "NVIDIA_TESLA_A100", 1), region="us-central1", price_key="spot"
        )
        assert cells(page, "a2-highgpu-1g")[4] == f"${rate.usd_per_hour:.2f} est."

    def test_are_for_the_teams_region_unless_another_is_chosen(
        self, team: Team, owner: User, signed_in: SignIn
    ) -> None:
        Team.objects.filter(pk=team.pk).update(default_region="europe-west4")

        assert "Machine types in europe-west4" in text_of(signed_in(owner).get("/catalogue/"))
        assert "Choose a region to see prices." in text_of(signed_in(owner).get("/catalogue/?region="))

    def test_are_for_a_usual_region_where_the_team_names_none_that_trains(
        self, team: Team, owner: User, signed_in: SignIn
    ) -> None:
        Team.objects.filter(pk=team.pk).update(default_region="atlantis")

        assert "Machine types in us-central1" in text_of(signed_in(owner).get("/catalogue/"))

    def test_say_where_none_is_known_and_where_none_is_offered(self, owner: User, signed_in: SignIn) -> None:
        page = signed_in(owner).get("/catalogue/?region=us-central1").content.decode()

        assert cells(page, "e2-standard-4")[5] == "not offered"  # Flex-start
        assert cells(page, "cloud-tpu")[3:] == ["by accelerator", "by accelerator", "not offered", "by accelerator"]
        words = {word for each in machines(page) if each != "cloud-tpu" for word in cells(page, each)[3:]}
        assert "no price known" in words
        assert all(re.fullmatch(r"\$[\d.,]+( est\.)?|no price known|not offered", word) for word in words)

    @pytest.mark.parametrize("region", ["us-central1", "europe-west4", "africa-south1"])
    def test_have_sources_with_days(self, region: str) -> None:
        for source, days in machine_rows.sources_in(region, PriceBook.load()):
            assert source
            assert re.fullmatch(
                r"prices of \d{4}-\d\d-\d\d( to (\d{4}-\d\d-\d\d|without a date))?|without a date", days
            )


class TestPricesBesideTheMachine:
    @pytest.mark.parametrize("region", ["us-central1", "europe-west4", "asia-east2"])
    @pytest.mark.parametrize("price_key", ["standard", "spot"])
    def test_are_what_the_accelerator_adds_to_a_jobs_hour(self, region: str, price_key: str) -> None:
        def hour(*accelerator: str | int) -> Decimal | None:
            shape = Shape("n1-standard-8", *accelerator)  # type: ignore[arg-type]
            return machine_rate(PriceBook.load(), shape, region=region, price_key=price_key).usd_per_hour

        place = [each.price_key for each in machine_rows.PRICED].index(price_key)
        found = {
            each.name: each.prices[place].usd
            for each in list_attached(region, PriceBook.load())
            if each.unit == "one GPU"
        }

        assert "NVIDIA_TESLA_T4" in found
        plain = hour()
        assert plain is not None
        for name, usd in found.items():
            whole = hour(name, 1)
            assert whole is not None
            assert usd == whole - plain, name

    def test_count_a_tpu_by_its_device(self) -> None:
        (v3,) = (each for each in list_attached("us-central1", PriceBook.load()) if each.name == "TPU_V3")

        shape = Shape("cloud-tpu", "TPU_V3", 8)
        rate = machine_rate(PriceBook.load(), shape, region="us-central1", price_key="standard")
        assert (v3.unit, v3.prices[0].usd) == ("a device of 8 cores", rate.usd_per_hour)

    def test_stand_with_source_and_day_or_say_that_there_is_none(self, stranger: User, signed_in: SignIn) -> None:
        page = signed_in(stranger).get("/catalogue/?region=us-central1").content.decode()

        table = page.partition('id="attached"')[2].partition("</details>")[0]
        rows = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in table.split("<tr>")[2:]]
        assert len(rows) == len(list_attached("us-central1", PriceBook.load()))
        for row in rows:
            priced = "without a date" in row or re.search(r"prices of \d{4}-", row)
            assert bool(priced) == ("$" in row), row
            assert priced or "No published price is known." in row
        assert any("T4 NVIDIA_TESLA_T4 one GPU $0.40 est. $0.23 est. not offered $0.40 est." in row for row in rows)
        assert any("TPU v2 Pod" in row and row.count("no price known") == 3 for row in rows)

    def test_follow_the_filters(self, owner: User, signed_in: SignIn) -> None:
        client = signed_in(owner)

        chosen = client.get("/catalogue/?region=us-central1&accelerator=NVIDIA_TESLA_V100").content.decode()

        assert "NVIDIA_TESLA_T4" not in chosen.partition('id="attached"')[2].partition("</details>")[0]
        assert 'id="attached"' not in client.get("/catalogue/?region=").content.decode()
