"""Tests of gRPC to HTTP: each message becomes the one request that it means, or is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.grpc.services import Services
from emulator.grpc.transcoding import Failure, Request, Transcoder
from emulator.protocol.errors import ApiError
from emulator.web import routes

SERVICES = Services()
TRANSCODER = Transcoder(SERVICES)
V1 = "/google.cloud.aiplatform.v1."
VERBS = {"Create": "create", "Get": "get", "List": "list", "Delete": "delete", "Cancel": "cancel", "Wait": "wait"}
VERBS |= {"Update": "patch", "Reboot": "reboot"}
paths = st.sampled_from(sorted(SERVICES.methods))
segments = st.text(st.sampled_from("ab1-_.~%?#&=+/: é\n*{}"), max_size=12)
names = st.builds("projects/{}/locations/{}/{}/{}".format, segments, segments, st.sampled_from(routes.KINDS), segments)


def made(path: str, **fields: object) -> Request:
    """The request that a message becomes."""
    method = SERVICES.methods[path]
    return TRANSCODER.request(method, method.request(**fields).SerializeToString())


@given(paths, st.binary(max_size=60))
def test_bytes_become_a_request_or_are_refused(path: str, data: bytes) -> None:
    try:
        request = TRANSCODER.request(SERVICES.methods[path], data)
    except ApiError:
        return
    assert routes.resolve(request.verb, request.path)


@given(paths, names | segments)
def test_a_name_leads_to_no_other_method(path: str, name: str) -> None:
    method = SERVICES.methods[path]
    fields = {field: name for rule in method.rules for field in rule.variables if "." not in field}
    try:
        request = made(path, **fields)
    except ApiError:
        return
    found = routes.resolve(request.verb, request.path)
    verb = next(verb for word, verb in VERBS.items() if path.rpartition("/")[2].startswith(word))
    assert found is not None
    assert found[0].method.endswith(f".{verb}")


@given(st.text(max_size=30), st.text(max_size=10))
def test_arguments_arrive_as_they_were(text: str, token: str) -> None:
    from starlette.datastructures import QueryParams

    request = made(f"{V1}JobService/ListCustomJobs", parent="projects/p/locations/l", filter=text, page_token=token)

    expected = {"filter": text, "pageToken": token}
    assert dict(QueryParams(request.query)) == {key: value for key, value in expected.items() if value}


def test_the_body_is_the_field_that_the_rule_names() -> None:
    job = {"display_name": "a", "job_spec": {"scheduling": {"timeout": {"seconds": 7}, "disable_retries": True}}}
    request = made(f"{V1}JobService/CreateCustomJob", parent="projects/p/locations/l", custom_job=job)

    assert request[:3] == ("POST", "/v1/projects/p/locations/l/customJobs", "")
    scheduling = {"timeout": "7s", "disableRetries": True}
    assert json.loads(request.body) == {"displayName": "a", "jobSpec": {"scheduling": scheduling}}


def test_a_mask_keeps_the_spelling_of_its_paths() -> None:
    name = "projects/p/locations/l/persistentResources/r"
    mask = {"paths": ["display_name", "resourcePools[0].replica_count"]}
    request = made(
        f"{V1}PersistentResourceService/UpdatePersistentResource", persistent_resource={"name": name}, update_mask=mask
    )

    assert (request.verb, request.path) == ("PATCH", f"/v1/{name}")
    assert request.query == "updateMask=display_name%2CresourcePools%5B0%5D.replica_count"
    assert json.loads(request.body) == {"name": name}


def test_a_number_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ApiError) as refused:
        made(
            f"{V1}PipelineService/CreateTrainingPipeline",
            parent="projects/p/locations/l",
            training_pipeline={"training_task_inputs": {"number_value": float("inf")}},
        )
    assert refused.value.http == 400


@pytest.mark.parametrize(("http", "name"), [(502, "UNKNOWN"), (503, "UNAVAILABLE"), (429, "RESOURCE_EXHAUSTED")])
@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"error": 1}'])
def test_an_error_that_is_not_googles_keeps_its_status(http: int, name: str, body: bytes) -> None:
    from google.rpc import code_pb2

    assert TRANSCODER.failure(http, body).code == code_pb2.Code.Value(name)


def test_half_an_answer_is_a_failure() -> None:
    with pytest.raises(Failure, match="cut off"):
        TRANSCODER.answer(SERVICES.methods[f"{V1}JobService/GetCustomJob"], b'{"name": "pro')


def test_every_http_method_of_google_is_there_over_grpc_too() -> None:
    elsewhere = {"projects.testIamPermissions", "serviceAccounts.testIamPermissions", "services.batchGet"}
    elsewhere |= {"quotaInfos.list", "timeSeries.list", "dockerImages.get", "repositories.get", "tags.get"}
    elsewhere |= {"machineTypes.aggregatedList", "acceleratorTypes.aggregatedList"}
    elsewhere |= {"advice.capacity", "advice.capacityHistory", "advice.calendarMode"}
    of_vertex_ai = [each for each in routes.ROUTES if each.method not in elsewhere]  # not other services'
    over_http = {each.method for each in of_vertex_ai if "projects" in each.pattern.pattern}
    reached = set()
    for method in SERVICES.methods.values():
        for rule in method.rules:
            path = rule.template
            for name, pattern in rule.variables.items():
                example = pattern.pattern.replace("[^/:]+", "x").replace("[^:]+", "x").replace("\\", "")
                path = path.replace(f"{{{name}}}", example)
            found = routes.resolve(rule.verb, path)
            assert found is not None, path
            reached.add(found[0].method)

    assert reached == over_http
