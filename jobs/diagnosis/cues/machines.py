"""Cues in messages of Vertex AI about quota, capacity, machines and time, in the order in which they are checked."""

from jobs.diagnosis.cues import Cue, read_cues

MACHINE_CUES: tuple[Cue, ...] = read_cues("""
pipeline_task: message: task~|custom job task~|component task~ & ~failed
pipeline_task: following tasks failed|following task failed|tasks failed|failed tasks & pipeline|task
rate_limit: quota|limit|request & per minute|requests per|rate_limit|ratelimit|too many requests|per second|
    submission requests|read requests|write requests|queries per|per user|online prediction requests &
    !custom_model_training
quota: custom_model_training|custom model training|serverless training & exceed|quota|limit|insufficient|not enough|
    exhaust|limit: 0
quota: quota metric & exceed|insufficient|limit|not enough
quota: insufficient regional quota|quota_exceeded|quotaexceeded|exceeded quota|gpus_all_regions|exceeds quota|
    over quota|out of quota|insufficient quota|quotafailure|quota failure|quota limits exceeded
quota: quota & exceed|insufficient|not enough|exhaust|limit|not sufficient|reached|no quota|too low|lack|does not have|
    increase|required & !disk quota exceeded|storage quota|drive
rate_limit: too many requests|rate_limit_exceeded|ratelimitexceeded|rate limit exceeded|toomanyrequests
flex_wait: maxwaitduration|max_wait_duration|max wait duration|maximum wait|max wait time|max wait|wait duration|
    wait time|waiting time|waited & exceed|elapsed|expired|reached|within|longer|ran out|passed|timed out|is over|
    not obtain|gave up|before|failed|could not|fulfilled|was not|were not|no capacity|not met|not granted & !invalid|
    must be|cannot be|only~|not supported|unsupported|required|negative|not allowed|at most|mount|lock
flex_wait: flex_start|flex-start|flex start|flexstart|dws|dynamic workload scheduler|provisioning request|
    provisioningrequest|queued resource|queuedprovisioning & exceed|elapsed|expired|reached|within|longer|ran out|
    passed|timed out|is over|not obtain|gave up|before|failed|could not|fulfilled|was not|were not|no capacity|not met|
    not granted|timeout|deadline|capacity|insufficient|unavailable|no machines & !invalid|must be|cannot be|only~|
    not supported|unsupported|required|negative|not allowed|at most|more than 7|seven days
preempted: preempt|spot vm|spot machine|spot instance|spot capacity & was~|were~|been~|maximum|too many|exceed|times|
    exhaust|reclaim|taken back|no more|limit|terminated|stopped|restart|lost|shut down|by compute engine & !quota|
    preemptible_|not supported|supported|invalid|must be
stockout: stockout|zone_resource_pool_exhausted|resource_pool_exhausted|resource pool exhausted|out of capacity|
    resources are insufficient|insufficient capacity|no capacity|not have enough resources|resource_availability|
    not enough capacity|insufficient resources|no available capacity|not have sufficient capacity|no more capacity|
    unable to provision|failed to provision|sufficient capacity|resources are not available|not enough resources|
    resources are currently unavailable|try a different zone|currently unavailable in the|capacity is unavailable|
    there are no available|capacity is not available|resources unavailable|lack of capacity|insufficient machine|
    machines are not available|no machines available|resource is not available|lack of resources|stocked out|
    out of stock|no machines are|no gpus are
stockout: try a different region|another region|different accelerator|other regions & resource|capacity|accelerator|gpu|
    machine|available
stockout: machines|gpus|accelerator|vm~|vms|tpu|nodes & no~|not available|unavailable|none & available|unavailable &
    at the moment|currently|temporarily|right now|in the zone|different zone|another zone|try again later &
    !not supported|service
retries_exhausted: retry|retries|restart|attempts & exhaust|maximum number|max number|limit reached|too many|used up|
    exceeded|no more|no retries|limit of|reached the|all attempts|maximum retr|max retr|out of retr|maximum restart|
    max restart|giving up|gave up|restarts left|retries left|attempts left|attempts reached & !url|httpsconnectionpool|
    quota|signal handler
retries_exhausted: failed after & attempts|retries|tries|restarts
retries_exhausted: backofflimitexceeded|backoff limit|crashloopbackoff|back-off restarting
timeout: ran longer|run longer|running longer|runs longer|job timed out|job has timed out|job_timeout|its timeout|
    exceeded timeout|exceeded the timeout|timeout exceeded|timeout reached|timeout was reached|reached the timeout|
    timeout has|maximum run|max run|maximum running|max running|run time limit|running time limit|runtime limit|
    time limit|maximum execution|scheduling.timeout|maximum duration|max duration|max_run_duration|
    longer than the allowed|longer than allowed|job expired|job has expired|job_state_expired|timed out after|
    maximum allowed time|execution time|custom job timeout|deadline has passed|exceeded its deadline|
    exceeded the deadline|timeout of|maximum lifetime|exceeded the maximum timeout|exceeds the timeout|job exceeded|
    exceeded maximum|did not finish|not finish within|not complete within|not completed within|not finished within &
    !invalid|must be|nccl|rendezvous|connect|socket|memory|watchdog|collective|read timed|cannot be|should be|
    not be longer|length|at most
timeout: timeout|timed out|time out & job|training|trial|run~ & exceed|reach|expire|elapsed|cancel|stopp|terminat|
    killed|timed out|ended & !nccl|rendezvous|connect|socket|watchdog|collective|store|pull|image|request
disk_full: low on disk|disk pressure|diskpressure|ephemeral-storage|ephemeral storage|no space left|insufficient disk|
    not enough disk|out of disk|disk is full|disk full|ran out of disk|disk space|boot disk is full|no disk space &
    !must be|at least|invalid|/dev/shm|quota
out_of_memory: low on memory|oomkilled|out of memory|out-of-memory|memorypressure|memory pressure|
    low on resource: memory|memory limit|insufficient memory|not enough memory|oom-kill|oom killer|larger memory|
    exceeded the memory|exceeds the memory|exceeded memory|memory available on|exceeded its memory|over its memory &
    !cuda|gpu|hbm|tpu|hip~
machine_lost: evict|node lost|nodelost|host error|hosterror|node failure|not ready|vm was terminated|unhealthy|
    health check|maintenance event|lost contact|node was|node has|host maintenance|machine failure|nodeshutdown|
    node is shutting down|node shutdown|vm crashed|lost connection to|hardware failure|instance was|vm is down|
    stopped responding|not responding|unresponsive & !service agent|deleted by user|persistent
image_start: starterror|containerd task|shim task|oci runtime|runc create|executable file not found|containercannotrun|
    runcontainererror|createcontainererror|createcontainerconfigerror|container_start|container failed to start|
    failed to start container|exec:~ & !exec format error
internal: internal error|internal server error|internal failure|500 internal|statuscode.internal|internal:~|
    unexpected error occurred|unknown error|internalservererror|unknown error occurred|please contact support|
    an error has occurred
unavailable: service unavailable|service is unavailable|is currently unavailable|503~|statuscode.unavailable|
    serviceunavailable|temporarily unavailable|502~|bad gateway|504~|deadline exceeded|deadline_exceeded|socket closed|
    visibility check was unavailable|backend error|failed to connect to all addresses|service is temporarily|
    gatewaytimeout|upstream connect error|connection reset by peer|try again in 30 seconds
cancelled: cancelled by|canceled by|was cancelled|was canceled|been cancelled|been canceled|user cancel|
    job_state_cancelled|cancellation requested|statuscode.cancelled|request to cancel
""")
