"""Google's high-level SDK with its REST transport: `sdk.py start URL` or `sdk.py list URL`."""

import logging

from google.auth.credentials import AnonymousCredentials
from google.cloud import aiplatform

from bench.contenders.task import BODY, JOBS, PROJECT, REGION, race


def begin(url: str) -> None:
    logging.getLogger("google.cloud.aiplatform").setLevel(logging.ERROR)
    aiplatform.init(
        project=PROJECT,
        location=REGION,
        api_endpoint=url,
        api_transport="rest",
        credentials=AnonymousCredentials(),
        staging_bucket="gs://stage",
    )


def start(url: str) -> str:
    begin(url)
    pool = BODY["jobSpec"]["workerPoolSpecs"][0]
    job = aiplatform.CustomJob(
        display_name=BODY["displayName"],
        worker_pool_specs=[
            {
                "machine_spec": {"machine_type": pool["machineSpec"]["machineType"]},
                "replica_count": 1,
                "container_spec": {"image_uri": pool["containerSpec"]["imageUri"]},
            }
        ],
    )
    job.submit()
    return aiplatform.CustomJob.get(job.resource_name).state.name


def lister(url: str) -> int:
    begin(url)
    return len(aiplatform.CustomJob.list(filter=JOBS))


if __name__ == "__main__":
    race(start, lister)
