"""Google's generated client with its REST transport: `generated.py start URL` or `generated.py list URL`."""

from google.auth.credentials import AnonymousCredentials
from google.cloud import aiplatform_v1
from google.cloud.aiplatform_v1.services.job_service.transports.rest import JobServiceRestTransport

from bench.contenders.task import BODY, JOBS, PARENT, race


def client(url: str) -> aiplatform_v1.JobServiceClient:
    scheme, _, host = url.partition("://")
    transport = JobServiceRestTransport(credentials=AnonymousCredentials(), host=host, url_scheme=scheme)
    return aiplatform_v1.JobServiceClient(transport=transport)


def start(url: str) -> str:
    service = client(url)
    created = service.create_custom_job(parent=PARENT, custom_job=_job())
    return service.get_custom_job(name=created.name).state.name


def lister(url: str) -> int:
    return len(list(client(url).list_custom_jobs(request={"parent": PARENT, "filter": JOBS, "page_size": 100})))


def _job() -> aiplatform_v1.CustomJob:
    pool = BODY["jobSpec"]["workerPoolSpecs"][0]
    return aiplatform_v1.CustomJob(
        display_name=BODY["displayName"],
        job_spec={
            "worker_pool_specs": [
                {
                    "machine_spec": {"machine_type": pool["machineSpec"]["machineType"]},
                    "replica_count": 1,
                    "container_spec": {"image_uri": pool["containerSpec"]["imageUri"]},
                }
            ]
        },
    )


if __name__ == "__main__":
    race(start, lister)
