"""Cues in messages of Google's APIs about accounts, projects, images, buckets and networks; most specific first."""

from jobs.diagnosis.cues import Cue, read_cues

ACCESS_CUES: tuple[Cue, ...] = read_cues("""
disk_full: no space left on device & !/dev/shm
perimeter: vpcservicecontrols|vpc_service_controls|vpc service controls|service perimeter|vpc-sc
perimeter: prohibited by organizations policy|no_matching_access_level|security_policy_violated
perimeter: perimeter & violat|prohibit|block|denied|not allowed|outside
org_policy: constraints/|org policy|organization policy|organizations policy|organization policies & violat|denied|
    restrict|not allowed|prohibit|block|disallow|not permitted|forbid|enforce|in violation
org_policy: constraint~ & violated for|gcp.resourcelocations|gcp.restrict
billing: billing & disabled|not enabled|to be enabled|must be enabled|is closed|delinquent|not active|inactive|past due|
    no billing|not found|not been set|enable billing|not linked|not open|absent|suspended
service_agent: service agent|service_agent|p4sa|per-product|identity & being provisioned|not been provisioned|
    not provisioned|not yet|not ready|not been created|being created|does not exist|not exist|was deleted|not found
api_disabled: has not been used in project|service_disabled|accessnotconfigured|access_not_configured
api_disabled: ~api~|api has|googleapis.com & is not enabled|not been enabled|is disabled|it is disabled|must be enabled|
    not activated|enable it by visiting|needs to be enabled|enable the
encryption_key: cloudkms|cloud kms|kms key|kms_key|kmskey|cryptokey|crypto key|cmek|encryption key|encryptionspec|
    encryption_spec & permission|denied|not found|does not exist|not exist|unauthorized|forbidden|403|404|
    unauthenticated|unable|failed to|cannot|could not|not accessible|no access|not have access|inaccessible|not_found|
    disabled|destroyed|invalid|not enabled|must be|region|location|state|scheduled
scope: authentication scope|access_token_scope|insufficient scope|insufficient_scope|oauth scope|insufficientscope|
    lacks the scope|required scope & !authorization failed|pull|image
act_as: act as service|act as the service|actas|impersonat|serviceaccounts.getaccesstoken|serviceaccounttokencreator|
    service account user|serviceaccountuser|act as service_account
act_as: cross-project service account|disablecrossprojectserviceaccountusage
act_as: act as & serviceaccount.com|service account|service_account
ip_exhausted: ip_space_exhausted|range_exhausted|ip_exhausted
ip_exhausted: ip range|ip address|ip space|ip_space|reserved range|allocated range|cidr|subnet|ips & exhaust|
    insufficient|not enough|no free|no available|no more|run out|ran out|full|not sufficient|could not allocate|
    unable to allocate|failed to allocate|couldnt find free|cannot allocate|too small|left|no ip
network_attachment: network attachment|networkattachment|network_attachment|psc-i|psc interface|pscinterface|
    psc_interface|private service connect interface
network_peering: peering|peered|private services access|private service access|servicenetworking|service networking|
    reserved ip range|reserved_ip_range|reservedipranges|shared vpc
network_peering: network & global/networks|vpc|projects/|compute.networks|network field|jobs running on|host project &
    permission|denied|not found|does not exist|not exist|unauthorized|forbidden|403|404|unauthenticated|unable|
    failed to|cannot|could not|not accessible|no access|not have access|inaccessible|not_found|invalid|must be|already|
    format|different|not in|must contain|another network|other network|not allowed & !gs://|storage.|accelerator
image_arch: no matching manifest for|no match for platform|does not match the detected host platform
image_pull: errimagepull|imagepullbackoff|invalidimagename|errimageneverpull|registryunavailable|imageinspecterror|
    failed to pull|pull access denied|manifest unknown|manifest_unknown|name_unknown|name unknown|authorization failed|
    no basic auth credentials|error pulling|err_image_pull|repository does not exist or may require|
    requested access to the resource is denied|manifest for|artifactregistry.repositories.downloadartifacts|
    back-off pulling|image pull|pull rate limit
image_pull: toomanyrequests & docker|registry|gcr.io|ghcr.io|quay.io|image|manifest
image_pull: artifact registry|artifactregistry|docker.pkg.dev|gcr.io|container registry|docker.io|registry-1|docker hub|
    dockerhub|ghcr.io|quay.io & permission|denied|not found|does not exist|not exist|unauthorized|forbidden|403|404|
    unauthenticated|unable|failed to|cannot|could not|not accessible|no access|not have access|inaccessible|not_found|
    invalid|timeout|timed out|refused|x509
image_pull: image & pull & fail|error|unable|denied|cannot|could not|not found|unauthorized|timed out
image_pull: container image|docker image|image uri|image_uri|imageuri|custom container|image /|the image~|
    training image & permission|denied|not found|does not exist|not exist|unauthorized|forbidden|403|404|
    unauthenticated|unable|failed to|cannot|could not|not accessible|no access|not have access|inaccessible|not_found|
    invalid|is not valid|malformed|not a valid
image_pull: image~ & does not exist|not found|unauthorized|access denied & :|@sha256 & !accelerator|file|
    cannot identify|.jpg|.png|folder
service_account_missing: gaia id not found|unknown service account
service_account_missing: gserviceaccount.com|service account|service_account|serviceaccount~ & does not exist|not found|
    not exist|no such|is disabled|been disabled|been deleted|was deleted|is invalid|not a valid|is not valid|
    invalid service|could not be found|not_found|malformed|unknown & !or it may not exist|does not have|lacks|bucket|
    gs://|storage.|permission|object
bucket_region: bucket|gs://|cloud storage|gcs~ & in location|same location|regional location|same region|
    different region|different location|another region|colocated|co-located|located in|in the region|in region|
    multi-region|multi-regional|must be in
bucket_missing: bucket & does not exist|not exist|not found|no such bucket|nosuchbucket|invalid bucket|404|not_found|
    notfound & !storage.objects|storage.buckets|permission|denied|403
bucket_access: gs://|bucket|cloud storage|storage.objects|storage.buckets|storage.googleapis|/b/|gcs~ &storage.objects.|
    storage.buckets.|permission|access denied|accessdenied|403|forbidden|not have access|no access|not authorized|
    cannot access|unable to access|unauthorized|not have write|not have read|cannot write|cannot read|unable to write|
    unable to read|401|failed to access|anonymous caller & !storage.googleapis.com/projects
wrong_project: consumer_invalid|resource_project_invalid|user_project_denied|unknown project|invalid project|
    project not found|project_not_found|project is not found|not found or permission denied|not found or deleted|
    has been deleted or|permission denied on resource project|project does not exist|use project|project_invalid|
    project_deleted|consumer_suspended|project has been suspended|permission denied on locations
wrong_project: project~ & was not found|has been deleted|pending deletion|marked for deletion|suspended|
    may not exist or|is not a valid project|not a valid project id|does not match the project & !customjobs|persistent|
    /locations/|bucket|gs://|image
wrong_project: project number|project id & not found|does not exist|unknown
credentials: invalid authentication credentials|credentials were not found|invalid_grant|reauthentication|
    could not automatically determine credentials|access_token_expired|credentials_missing|refresherror|
    defaultcredentialserror|missing required authentication|token has been expired|anonymous credentials|
    request is missing required authentication|access_token_type_unsupported|could not find default credentials|
    invalid_client|token expired|expired token|authentication failed|invalid token|token is invalid|invalid jwt|
    statuscode.unauthenticated|unauthenticated:|account_state_invalid|api key not valid
""")
PERMISSION_CUES: tuple[Cue, ...] = read_cues("""
permission: permission & denied|does not have|do not have|lacks|missing|required|not granted|without
permission: permission_denied|iam_permission_denied|statuscode.permission_denied|403 the caller
permission: does not have|not authorized to|lacks the role|missing role|requires the role|access denied & access|role|
    perform|role|iam|denied
""")
"""Checked last among messages of the APIs: a permission is missing, and the message does not name the resource."""
