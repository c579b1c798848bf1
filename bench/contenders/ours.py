"""Trainboard's own client: `ours.py start URL` or `ours.py list URL`."""

from bench.contenders.task import BODY, JOBS, PROJECT, REGION, race
from jobs.vertex import VertexClient


def start(url: str) -> str:
    client = VertexClient(endpoint=url)
    created = client.create("custom_job", project=PROJECT, region=REGION, body=BODY)
    return client.get("custom_job", created.name).state


def lister(url: str) -> int:
    client = VertexClient(endpoint=url)
    return len(client.list("custom_job", project=PROJECT, region=REGION, filter=JOBS))


if __name__ == "__main__":
    race(start, lister)
