"""Cues in messages of Vertex AI about a job's fields, in the order in which they are checked."""

from jobs.diagnosis.cues import Cue, read_cues

FIELD_CUES: tuple[Cue, ...] = read_cues("""
unknown_field: cannot find field|unknown name|unknown field|unrecognized field|no such field|unknown key
unknown_field: protocol message & has no
invalid_value: invalid value at|invalid enum value|invalid value (|invalid json payload
unknown_field: field & not recognized|unexpected field|is not a known|is unknown|not a field of
persistent_resource_unfit: persistent resource|persistentresource|persistent_resource & match|resource pool|
    resource_pool|resourcepool|machine spec|machine_spec|machinespec|machine type|machine_type|disk|replica|exceed|
    compatib|does not have|not enough|insufficient|not support|accelerator|network|cannot be used|larger than
persistent_resource_not_ready: persistent resource|persistentresource|persistent_resource & not running|is not in|
    not in running|not ready|provisioning|stopping|in state|error state|rebooting|being updated|is updating|not active|
    is in error|being deleted|is busy
persistent_resource_missing: persistent resource|persistentresource|persistent_resource & not found|does not exist|
    not exist|could not be found|no such|not_found|notfound|doesnt exist|404|unknown|does not refer|no existing|
    non-existent|nonexistent|invalid|deleted|not a valid
reservation: reservation & not found|does not exist|not exist|could not be found|no such|not_found|notfound|
    doesnt exist|404|unknown|does not refer|no existing|non-existent|nonexistent|match|insufficient|capacity|not shared|
    permission|does not have|exhaust|fully|no available|not sufficient|cannot|invalid|not enough|must|not allowed|
    in use|no reservation|require
""")
"""Checked before all others: these name a field or a persistent resource."""
REQUEST_CUES: tuple[Cue, ...] = read_cues("""
trial_without_metric: too many hyperparameter tuning metrics|did not report a metric|no metric was reported
trial_without_metric: metric|measurement|objective & hyperparameter|hyper-parameter|trial|hypertune|study|optimiz|
    tuning & not report|no metric|missing|not found|did not|not been|without|never|too many|not written|no measurement|
    were not|was not|is nan|nan~|infinite|no final|no valid|no objective|not contain|failed to report|didnt|not log|
    cannot find|could not find|none of|no trial & !quota metric|max_failed|the failed trial had parameters
trials_failed: trial & too many failed|maximum number of failed|max_failed_trial|maxfailedtrial|
    before any other successful|all trials failed|trials have failed|infeasible|trials failed|trial failed|
    number of failed trials|failed trials|trial has failed|consecutive trial
package_missing: .tar.gz|.whl|package uri|package_uri|packageuri|python package|python_package & not found|
    does not exist|not exist|could not be found|no such|not_found|notfound|doesnt exist|404|unknown|does not refer|
    no existing|non-existent|nonexistent|denied|cannot|could not|unable|failed to|invalid & !import|no module
strategy_unfit: flex_start|flex-start|flex start|flexstart|dws|dynamic workload scheduler|max_wait_duration|
    maxwaitduration|scheduling strategy|scheduling.strategy|spot vm|spot is|strategy spot|spot strategy|with spot|
    for spot & not supported|unsupported|not support|cannot be used|only~|must be|invalid|not allowed|requires|required|
    cannot be set|not compatible|incompatible|not available for|not eligible|negative|not valid|homogeneous|
    same machine|cannot use|cannot be combined|at most|no longer than
region_not_supported: location|region & not supported|unsupported|is not available in|not a valid location|
    invalid location|unknown location|not a supported|unsupported_location|not a valid region|invalid region|
    does not match|must match|malformed|not offered|endpoint & !machine|accelerator|gpu|tpu|nvidia|bucket|key|disk
machine_not_supported: machine type|machine_type|machinetype|accelerator|gpu type|tpu type|tpu topology|tpu_topology|
    tputopology|nvidia_|machine spec|machine_spec|tpu v|n1-|a2-|a3-|g2-|e2-|ct5|ct6|cloud-tpu & not supported|
    unsupported|not available|unavailable in|not allowed|is invalid|not valid|compatib|does not fit|cannot be used|
    must be one of|not found|unknown|not support|not offered|invalid|not exist|must specify|no longer|deprecated|
    requires|can only be used|cannot attach|cannot be attached|should be specified|not permitted|not match|must be &
    !quota|exceed|list of found errors|invalid value at|capacity|insufficient|custom_job.
conflict: already exists|already_exists|alreadyexists|was modified concurrently|concurrent modification|409 conflict|
    statuscode.aborted|concurrent update|etag mismatch|aborted:~
invalid_value: invalid value|invalid json payload|invalid enum value|must be one of|contains an invalid argument|
    invalid argument|invalid_argument|invalid resource name|invalidargument|malformed|not a valid|is not valid|
    out of range|out_of_range|parse error|failed to parse|illegal duration|invalid duration|invalid field|
    cannot be empty|must not be empty|must be non-empty|must be specified|must be set|must be positive|must be greater|
    must be less|must be at least|must be at most|must be between|should be specified|missing required|required field|
    is required|is a required|exceeds the maximum length|too long|mutually exclusive|only one of|exactly one of|
    cannot be set|can only be set|cannot both be|oneof field|duplicate|expected format|must match pattern|should match|
    does not match the|not match the expected|unexpected value|is immutable|unable to parse|invalid format|wrong format|
    is invalid|statuscode.invalid & !permission
not_found: not found|does not exist|not exist|could not be found|no such|not_found|notfound|doesnt exist|404|unknown|
    does not refer|no existing|non-existent|nonexistent & resource|customjob|custom_job|projects/|job~|tensorboard|
    dataset|experiment|network|entity|model|404|not_found|metadata|object|artifact|pipeline|study|trial|context|
    operation & !may not exist|permission|denied
not_found: 404|not_found|requested entity was not found|could not be found
""")
REFUSED_CUES: tuple[Cue, ...] = read_cues("""
invalid_value: worker_pool|workerpool|replica|machine_spec|field|job_spec|jobspec|duration|value|argument|label|
    display_name|displayname|count|size|disk|name|image|env|timeout|uri|spec|parameter|number|request|url|path|string|
    character|format & must|cannot|empty|out of bounds|out of range|requir|should|invalid|not allowed|too~|expected|
    not supported|unsupported|exceed|greater than|less than|at most|at least|missing|negative|not match|unrecognized|
    does not accept|only~|not specified|not set|conflict|both|duplicate|illegal|bad~
""")
"""Checked last, and only if the code means that Vertex AI refused an argument or a precondition."""
