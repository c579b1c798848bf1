"""Causes in accounts, projects, networks and organizations."""

from functools import partial

from jobs.diagnosis.causes.sources import ACCESS_PAGE, GOOGLE, NOT_RETRIED, OBSERVED, REFUSED
from jobs.diagnosis.diagnosis import Diagnosis
from jobs.texts import translatable as _

Cause = partial(Diagnosis, retried=REFUSED)

KNOWN = (
    Cause(
        "api_disabled",
        _("A Google API is not enabled"),
        _("The project has not enabled an API that the job needs; most often it is the Vertex AI API."),
        _(
            "Enable the API that the message names in the Google Cloud console under APIs & Services, wait a few "
            "minutes, and run the job again. Check that the project is the right one."
        ),
        GOOGLE + "Enabling an API in your project, 2026-08-22",
        ({"action": "resubmit"},),
    ),
    Cause(
        "billing",
        _("The project has no active billing account"),
        _("Billing is turned off for the project, or its billing account is closed."),
        _("Link an active billing account to the project in the Google Cloud console, then run the job again."),
        GOOGLE + "Enable, disable, or change billing for a project, 2026-08-22",
        ({"action": "resubmit"},),
    ),
    Cause(
        "scope",
        _("The access token lacks a scope"),
        _(
            "The account may have the permission, but its access token was issued without the OAuth scope "
            "cloud-platform. Tokens of the Vertex AI Custom Code Service Agent never have it."
        ),
        _(
            "Name a service account of your own in the job, or create the credentials with the scope "
            "https://www.googleapis.com/auth/cloud-platform."
        ),
        "googleapis/python-aiplatform, issue 902",
        ({"action": "edit_field", "fields": ["serviceAccount"]},),
        retried=NOT_RETRIED,
    ),
    Cause(
        "credentials",
        _("The credentials are not valid"),
        _("Google did not accept the credentials: they are missing, expired or revoked."),
        _("Sign in again or renew the key. In a training program, remove key files and use the job's service account."),
        GOOGLE + "How Application Default Credentials works, 2026-08-22",
        retried=NOT_RETRIED,
    ),
    Cause(
        "wrong_project",
        _("The project is wrong or not accessible"),
        _(
            "There is no project of this name, it was deleted, or the account has no access to it. A project's display "
            "name does not serve as its ID."
        ),
        _("Check the project ID in the Google Cloud console, and that the account has a role in that project."),
        "GoogleCloudPlatform/training-data-analyst, issue 1811",
        ({"action": "edit_field", "fields": ["project"]},),
    ),
    Cause(
        "act_as",
        _("The job may not run as this service account"),
        _(
            "The account that submits jobs lacks the right to act as the service account that the job names, or there "
            "is no such service account."
        ),
        _("Grant the submitting account the role Service Account User on it, or name another service account."),
        OBSERVED,
        ({"action": "edit_field", "fields": ["serviceAccount"]},),
    ),
    Cause(
        "service_account_missing",
        _("The service account does not exist"),
        _("The service account that the job names does not exist, was deleted or is disabled."),
        _(
            "Correct the service account's address, or create it and grant the submitting account the role Service "
            "Account User on it. A job without one runs as Vertex AI's own service agent."
        ),
        ACCESS_PAGE,
        ({"action": "edit_field", "fields": ["serviceAccount"]},),
    ),
    Cause(
        "service_agent",
        _("Vertex AI's service agent is not ready"),
        _("Google is still creating the service agent by which Vertex AI works in this project, or it was removed."),
        _(
            "Wait a few minutes and run the job again. If it fails again, have the service agent created with `gcloud "
            "beta services identity create --service=aiplatform.googleapis.com`."
        ),
        GOOGLE + "Service agents, 2026-08-22",
        ({"action": "resubmit"},),
    ),
    Cause(
        "image_pull",
        _("The image cannot be pulled"),
        _(
            "The service account by which Vertex AI pulls images may not read the repository, or the image does not "
            "exist. A service account that the job runs as plays no part in this."
        ),
        _(
            "Check the image's address and tag, and give that service account the role Artifact Registry Reader on the "
            "repository."
        ),
        OBSERVED,
        ({"action": "edit_field", "fields": ["containerSpec.imageUri"]},),
        retried=NOT_RETRIED,
    ),
    Cause(
        "bucket_access",
        _("A bucket may not be read or written"),
        _("The account that the job runs as lacks a permission on a Cloud Storage bucket or object."),
        _(
            "Grant the account that the message names the role Storage Object User on the bucket, or Storage Object "
            "Viewer if it only reads."
        ),
        GOOGLE + "IAM roles for Cloud Storage, 2026-08-22",
        (
            {"action": "edit_field", "fields": ["baseOutputDirectory.outputUriPrefix", "serviceAccount"]},
            {"action": "resubmit"},
        ),
        retried=NOT_RETRIED,
    ),
    Cause(
        "bucket_missing",
        _("The bucket does not exist"),
        _("There is no Cloud Storage bucket of the name that the job uses."),
        _("Correct the bucket's name, or create the bucket in the job's region."),
        GOOGLE + "Cloud Storage error messages, 2026-08-22",
        ({"action": "edit_field", "fields": ["baseOutputDirectory.outputUriPrefix"]},),
        retried=NOT_RETRIED,
    ),
    Cause(
        "bucket_region",
        _("The bucket is in another region"),
        _("Vertex AI wants the Cloud Storage bucket in the region that the job runs in."),
        _("Use a bucket in the job's region, or run the job in the bucket's region."),
        "googleapis/python-aiplatform, issue 885",
        ({"action": "edit_field", "fields": ["baseOutputDirectory.outputUriPrefix"]}, {"action": "other_region"}),
    ),
    Cause(
        "permission",
        _("A right is missing"),
        _("An account that this job uses lacks a permission."),
        _(
            "Grant the permission that the message names. The role Vertex AI User covers everything that jobs "
            "themselves need."
        ),
        ACCESS_PAGE,
        retried=NOT_RETRIED,
    ),
    Cause(
        "perimeter",
        _("VPC Service Controls blocked it"),
        _("A service perimeter of the organization does not let this request pass."),
        _(
            "Give the unique identifier in the message to whoever administers VPC Service Controls: they can add an "
            "ingress or egress rule, or name projects and buckets that are inside the perimeter."
        ),
        GOOGLE + "VPC Service Controls with Vertex AI, 2026-08-22",
        ({"action": "edit_field", "fields": ["baseOutputDirectory.outputUriPrefix", "containerSpec.imageUri"]},),
        retried=NOT_RETRIED,
    ),
    Cause(
        "org_policy",
        _("An organization policy forbids it"),
        _("A constraint of the organization's policies does not allow what the job asks for, such as its region."),
        _(
            "Change the field that the constraint is about, or ask the administrator of the organization for an "
            "exception."
        ),
        GOOGLE + "Organization policy constraints, 2026-08-22",
        ({"action": "other_region"}, {"action": "edit_field", "fields": ["location"]}),
    ),
    Cause(
        "encryption_key",
        _("The encryption key cannot be used"),
        _(
            "The Cloud KMS key of the job does not exist, is disabled, is in another region, or the service agent of "
            "Vertex AI may not use it."
        ),
        _(
            "Name an enabled key in the job's region, and grant Vertex AI's service agent the role Cloud KMS CryptoKey "
            "Encrypter/Decrypter on it."
        ),
        GOOGLE + "Customer-managed encryption keys (CMEK), 2026-08-22",
        ({"action": "edit_field", "fields": ["encryptionSpec.kmsKeyName"]},),
    ),
    Cause(
        "ip_exhausted",
        _("The network has no free IP addresses"),
        _("The IP ranges that the VPC network reserves for Vertex AI are all in use."),
        _(
            "Reserve a larger IP range for the peering, wait until other jobs on this network have ended, or use a "
            "network attachment (Private Service Connect) instead of peering."
        ),
        GOOGLE + "Use a private IP for custom training, 2026-08-22",
        ({"action": "edit_field", "fields": ["network", "reservedIpRanges"]}, {"action": "resubmit"}),
        retried=NOT_RETRIED,
    ),
    Cause(
        "network_attachment",
        _("The network attachment cannot be used"),
        _("The network attachment does not exist in the job's region, or Vertex AI's service agent may not use it."),
        _(
            "Name an attachment in the job's region, let it accept the connection, and grant Vertex AI's service agent "
            "the role Compute Network Admin in its project."
        ),
        GOOGLE + "Use Private Service Connect interface for training, 2026-08-22",
        ({"action": "edit_field", "fields": ["pscInterfaceConfig.networkAttachment"]},),
        retried=NOT_RETRIED,
    ),
    Cause(
        "network_peering",
        _("The VPC network cannot be used"),
        _(
            "The network does not exist, is not peered with Google's service network, or another network is in use: "
            "Vertex AI peers with one network per region at a time."
        ),
        _(
            "Write the network as projects/PROJECT_NUMBER/global/networks/NAME, set up private services access on it, "
            "and let jobs on other networks end first."
        ),
        GOOGLE + "Set up VPC Network Peering, 2026-08-22",
        ({"action": "edit_field", "fields": ["network"]},),
    ),
)
