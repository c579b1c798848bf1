"""Tests of bucket names: the rule and the emulator accept the same names."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from emulator.protocol import names
from jobs.spec import bucket_of, is_bucket, is_storage_uri

NEAR = st.text(st.sampled_from("ab9-_.A/é\n"), max_size=8) | st.from_regex(r"[a-z0-9._-]{1,230}", fullmatch=True)


@given(NEAR)
@example("b" * 63)
@example("b" * 64)
@example(f"{'b' * 63}.{'b' * 63}.{'b' * 63}.{'b' * 30}")
@example(f"{'b' * 63}.{'b' * 63}.{'b' * 63}.{'b' * 31}")
@example("abc\n")
def test_the_site_and_the_emulator_know_the_same_names(name: str) -> None:
    assert is_bucket(name) == names.is_bucket(name)


@pytest.mark.parametrize("name", ["abc", "9a9", "vision-training", "my_bucket", "example.com", "a.b", "b" * 63])
def test_names_of_buckets(name: str) -> None:
    assert is_bucket(name)
    assert is_storage_uri(f"gs://{name}")
    assert is_storage_uri(f"gs://{name}/Any Path/at.all")


@pytest.mark.parametrize("name", ["", "b", "ab", "-ab", "ab-", ".ab", "a..b", "Abc", "a b", "b" * 64, "größe"])
def test_names_that_no_bucket_has(name: str) -> None:
    assert not is_bucket(name)
    assert not is_storage_uri(f"gs://{name}/x")


@given(st.text(max_size=20))
def test_an_address_names_a_bucket_only_after_its_scheme(text: str) -> None:
    assert bucket_of(f"gs://{text}") == text.partition("/")[0]
    assert text.startswith("gs://") or not bucket_of(text)
