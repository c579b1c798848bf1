"""Tests of partial responses: `fields=`."""

import json
import re
import urllib.error
import urllib.parse
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.protocol import partial_responses
from emulator.protocol.errors import ApiError
from tests.support.running_emulator import Running
from tests.unit.emulator.conftest import JOBS, job_body

NAMES = st.text("abcXY_z1", min_size=1, max_size=4)
DOCUMENTS = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(NAMES, inside, max_size=4),
    max_leaves=20,
)


def ask(emulator: Running, path: str, fields: str, **more: str) -> Any:
    """GET with a selector."""
    return emulator.call("GET", path + "?" + urllib.parse.urlencode({"fields": fields, **more}))


class TestSelectors:
    """What is read, and what it keeps."""

    @pytest.mark.parametrize(
        ("text", "paths"),
        [
            ("", []),
            ("name", [("name",)]),
            ("name, state", [("name",), ("state",)]),
            ("a/b,a.c", [("a", "b"), ("a", "c")]),
            ("a(b,c/d),e", [("a", "b"), ("a", "c", "d"), ("e",)]),
            ("a/b(c(d),e)", [("a", "b", "c", "d"), ("a", "b", "e")]),
            ("*/a", [("*", "a")]),
        ],
    )
    def test_are_read(self, text: str, paths: list[partial_responses.Path]) -> None:
        assert partial_responses.parse(text) == paths

    @pytest.mark.parametrize("text", ["a(", "a)", "a(b", "a()", ",a", "a,", "a//b", "a/", "a(b)c", "(a)", "/", "a b"])
    def test_are_refused(self, text: str) -> None:
        with pytest.raises(ApiError, match="fields") as refused:
            partial_responses.parse(text)
        assert refused.value.http == 400

    @given(st.text("ab*,()/. ", max_size=30))
    def test_any_text_is_read_or_refused(self, text: str) -> None:
        try:
            paths = partial_responses.parse(text)
        except ApiError:
            return
        steps = {step for path in paths for step in path}
        assert steps == set(re.findall(r"[ab*]+", text))

    @given(DOCUMENTS, st.lists(st.lists(NAMES | st.just("*"), min_size=1, max_size=3).map(tuple), max_size=4))
    def test_keep_a_part_of_the_answer_and_lose_nothing_that_they_name(self, document: Any, paths: Any) -> None:
        kept = partial_responses.select(document, paths)

        assert partial_responses.select(kept, paths) == kept
        assert partial_responses.select(document, [*paths, ("*",)]) == document
        if isinstance(document, dict) and paths:
            assert kept.items() <= document.items() or any(len(path) > 1 for path in paths)
            for path in paths:
                if len(path) == 1 and path[0] in document:
                    assert kept[path[0]] == document[path[0]]


class TestAnswers:
    """Over HTTP."""

    @pytest.fixture
    def job(self, scripted: Running) -> dict[str, Any]:
        made: dict[str, Any] = scripted.call("POST", JOBS, job_body(["true"], labels={"team": "red", "run": "7"}))
        return made

    def test_get(self, scripted: Running, job: dict[str, Any]) -> None:
        path = "/v1/" + job["name"]

        assert ask(scripted, path, "name,state") == {"name": job["name"], "state": "JOB_STATE_PENDING"}
        assert ask(scripted, path, "display_name,labels/team") == {"displayName": "a job", "labels": {"team": "red"}}
        pools = {"workerPoolSpecs": [{"machineSpec": {"machineType": "n1-standard-4"}}]}
        assert ask(scripted, path, "jobSpec(workerPoolSpecs/machineSpec)") == {"jobSpec": pools}
        assert ask(scripted, path, "error") == {}
        assert ask(scripted, path, "*") == ask(scripted, path, "") == scripted.call("GET", path)
        assert scripted.call("GET", path + "?%24fields=name") == {"name": job["name"]}

    def test_list_beside_a_read_mask_and_numbers(self, scripted: Running, job: dict[str, Any]) -> None:
        scripted.call("POST", JOBS, job_body(["true"], name="second"))

        page = ask(scripted, JOBS, "customJobs(state,name),nextPageToken", pageSize="1", readMask="state,displayName")
        assert page["customJobs"] == [{"state": "JOB_STATE_PENDING"}]
        assert set(page) == {"customJobs", "nextPageToken"}
        whole = ask(scripted, JOBS, "customJobs/state", **{"$alt": "json;enum-encoding=int"})
        assert whole == {"customJobs": [{"state": 2}, {"state": 2}]}
        assert job["name"]

    def test_create_keeps_what_it_names(self, scripted: Running) -> None:
        made = scripted.call("POST", JOBS + "?fields=name", job_body(["true"]))

        assert set(made) == {"name"}
        assert scripted.call("GET", "/v1/" + made["name"])["displayName"] == "a job"

    @pytest.mark.parametrize("fields", ["wonder", "jobSpec/wonder", "state/more", "customJobs", "name("])
    def test_an_unknown_field_is_refused(self, scripted: Running, job: dict[str, Any], fields: str) -> None:
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(scripted, "/v1/" + job["name"], fields)

        with refused.value as reply:
            error = json.loads(reply.read())["error"]
        assert error["status"] == "INVALID_ARGUMENT"
        assert "Error expanding 'fields' parameter." in error["message"]
        assert error["details"][0]["fieldViolations"][0]["field"] == "fields"

    def test_a_refused_selector_creates_nothing(self, scripted: Running) -> None:
        with pytest.raises(urllib.error.HTTPError) as refused:
            scripted.call("POST", JOBS + "?fields=name(", job_body(["true"]))
        refused.value.close()

        assert scripted.call("GET", JOBS) == {}

    def test_storage_answers_in_parts_too(self, scripted: Running) -> None:
        scripted.call("POST", "/upload/storage/v1/b/stage/o?uploadType=media&name=a.txt", {})

        found = ask(scripted, "/storage/v1/b/stage/o", "items/name,nextPageToken")
        assert found == {"items": [{"name": "a.txt"}]}
