"""Tests of reading single values of Vertex AI's responses."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from jobs.vertex import wire
from jobs.vertex.logs import log_entry

NAME = "projects/123/locations/us-central1/customJobs/456"


class TestMoment:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("2026-11-21T08:00:00Z", datetime(2026, 11, 21, 8, tzinfo=UTC)),
            ("2026-11-21T08:00:00.1Z", datetime(2026, 11, 21, 8, 0, 0, 100_000, tzinfo=UTC)),
            ("2026-11-21T08:00:00.123456999Z", datetime(2026, 11, 21, 8, 0, 0, 123_456, tzinfo=UTC)),
            ("2026-11-21T08:00:00+05:30", datetime(2026, 11, 21, 2, 30, tzinfo=UTC)),
        ],
    )
    def test_reads_rfc_3339_into_utc(self, text: str, expected: datetime) -> None:
        found = wire.moment(text)

        assert found == expected
        assert found is not None
        assert found.tzinfo is UTC

    @pytest.mark.parametrize(
        "value",
        [
            None,
            "",
            7,
            {},
            "yesterday",
            "2026-11-21",
            "2026-11-21T08:00:00",
            "0001-01-01T00:00:00+14:00",
            "2026-13-01T0Z",
        ],
    )
    def test_what_is_no_moment_is_none(self, value: object) -> None:
        assert wire.moment(value) is None

    def test_is_written_as_filters_read_it(self) -> None:
        moment = datetime(2026, 11, 21, 10, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))

        assert wire.timestamp(moment) == "2026-11-21T08:00:00.000005Z"
        assert wire.moment(wire.timestamp(moment)) == moment


class TestRemoteJob:
    def test_odd_fields_do_not_spoil_it(self) -> None:
        job = wire.remote_job(
            "custom_job",
            {"name": NAME, "state": 3, "displayName": None, "labels": [], "createTime": 1, "error": "broken"},
        )

        assert (job.state, job.display_name, job.labels, job.create_time) == ("3", "", {}, None)
        assert job.error == {"code": 2, "message": "broken"}

    @pytest.mark.parametrize(
        ("error", "expected"),
        [
            (None, None),
            ({}, None),
            ({"code": 8, "message": "Short."}, {"code": 8, "message": "Short."}),
            ({"code": "13"}, {"code": 13, "message": ""}),
            ({"message": "Odd", "code": True}, {"code": 0, "message": "Odd"}),
            ({"code": 3, "details": [{"a": 1}]}, {"code": 3, "message": "", "details": [{"a": 1}]}),
            ({"code": 3, "details": "x"}, {"code": 3, "message": ""}),
        ],
    )
    def test_error_is_code_and_message(self, error: object, expected: object) -> None:
        assert wire.remote_job("custom_job", {"name": NAME, "error": error}).error == expected


class TestDecode:
    def test_replaces_what_no_database_can_store(self) -> None:
        found = wire.decode(rb'{"a": "x\u0000y", "b\ud800": ["\udfff", "\ud83d\ude00", "\\u0000"]}')

        assert found == {"a": "x\ufffdy", "b\ufffd": ["\ufffd", "\U0001f600", "\\u0000"]}
        json.dumps(found, ensure_ascii=False).encode()

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"NaN", b"[Infinity]", b"1e999", b"\xff", b"[" * 50_000, b"9" * 5_000]
    )
    def test_refuses_what_is_not_strict_json(self, content: bytes) -> None:
        with pytest.raises(ValueError, match=r".+"):
            wire.decode(content)


class TestLogEntry:
    @pytest.mark.parametrize(
        ("payload", "message"),
        [
            ({"textPayload": "epoch 1\n"}, "epoch 1"),
            ({"jsonPayload": {"message": "epoch 1", "levelname": "INFO"}}, "epoch 1"),
            ({"jsonPayload": {"message": ""}, "textPayload": "other"}, ""),
            ({"jsonPayload": {"message": "", "loss": 1}}, ""),
            (
                {"jsonPayload": {"message": "done\n", "step": 5, "loss": 0.5, "lineno": 12, "ok": True, "user": "a"}},
                'done {"step": 5, "loss": 0.5}',
            ),
            ({"jsonPayload": {"message": {"loss": 1}}}, '{"loss": 1}'),
            ({"jsonPayload": {"loss": 0.5}}, '{"loss": 0.5}'),
            ({"protoPayload": {"@type": "x", "é": 1}}, '{"@type": "x", "é": 1}'),
            ({}, ""),
        ],
    )
    def test_finds_the_message_wherever_it_is(self, payload: dict[str, object], message: str) -> None:
        entry = log_entry({"timestamp": "2026-11-21T08:00:00Z", **payload})

        assert entry is not None
        assert entry.message == message

    def test_labels_stand_in_for_resource_labels(self) -> None:
        entry = log_entry(
            {
                "receiveTimestamp": "2026-11-21T08:00:00Z",
                "labels": {"ml.googleapis.com/task_name": "worker-0", "ml.googleapis.com/job_id": "4"},
            }
        )

        assert entry is not None
        assert (entry.replica, entry.job_id, entry.severity, entry.insert_id) == ("worker-0", "4", "DEFAULT", "")

    @pytest.mark.parametrize("value", [None, 7, [], {}, {"timestamp": "soon"}])
    def test_without_a_time_there_is_no_entry(self, value: object) -> None:
        assert log_entry(value) is None
