"""Cues in the output of failing training programs; root causes of other failures come first."""

from jobs.diagnosis.cues import Cue, read_cues

PROGRAM_CUES: tuple[Cue, ...] = read_cues("""
bucket_access: storage.objects.|storage.buckets. & access|permission|403
gpu_memory: cuda out of memory|torch.cuda.outofmemory|torch.outofmemory|cuda_error_out_of_memory|outofresources|
    out of resource: shared
gpu_not_ready: system not yet initialized|cudaerrorsystemnotready|system_not_ready|error 802
no_compiler: failed to find c compiler|no working c++ compiler|invalidcxxcompiler|unable to execute gcc|
    unable to execute g++|command gcc failed|command g++ failed|gcc: not found|gcc: command not found|
    no such file or directory: gcc|.h: no such file|x86_64-linux-gnu-gcc failed|no such file or directory: g++|
    cuda_home environment variable
hub_limit: huggingface|hf.co|hfhubhttperror|github.com|wandb & 429|too many requests|rate limit
open_files: too many open files|errno 24]|received 0 items of ancdata
bucket_scheme: scheme gs not implemented|file or directory: gs://|file or directory: bgs://
gpu_old: bf16|bfloat16|flashattention|flash_attn|fp8 & ampere|compute capability|setup doesnt support
git_login: could not read username for|could not read password for|host key verification failed|
    terminal prompts disabled|could not read from remote repository|authentication failed for https|
    permission denied (publickey
unknown_field: protocol message|message type google.cloud & has no
image_arch: exec format error|wrong elf class|cannot execute binary file|invalid elf header|illegal instruction|
    qemu-x86_64|no matching manifest for|compiled to use avx|ld-linux-aarch64|sigill|incompatible architecture &
    !fatal python error
image_start: executable file not found in|oci runtime create failed|containerd task|starterror|: command not found|
    not found in $path|entrypoint.sh: permission denied|exec:~
image_start: /sh:~|bash:~|dash:~ & : not found|: permission denied|cannot execute
diverged: gradient|grad norm|loss|parameters|weights & is nan|is inf|nan or inf|nan/inf|non-finite|not finite|
    became nan|nan loss|diverg|exploded|returned nan & !skip|rescal|warn
diverged: invalid value (nan) encountered|current loss scale already at minimum|minimum loss scale reached|
    returned nan values in its|infinite or nan|inf/nan|training has diverged|floatingpointerror
shared_memory: dev/shm|shared memory|bus error|sigbus|torch_shm_manager|file </torch_|shm_open|shm segment|shm size|
    shmget|return code = -7|exitcode: -7|exit code: -7|exit code -7|exited with code -7 & !sharedmemorymanager started
gpu_fault: uncorrectable ecc|ecc error|fallen off the bus|nvrm: xid|gpu is lost|cuda_error_ecc|xid (|double bit|
    nvlink error|cuda_error_hardware|row remap|hardware stack error
tpu_memory: memory space hbm|memory space vmem|exceeded hbm|hbm capacity|out of hbm|hbm oom|hbm usage|
    that was not possible. there are
tpu_memory: tpu|hbm & out of memory|resource_exhausted|resource exhausted|ran out|exhausted & !quota|custom_model|
    capacity is
gpu_memory: cublas_status_alloc_failed|oom when allocating|cudnn_status_alloc_failed|cudaerrormemory|hip out of memory|
    parallel_for failed: out of memory|trying to allocate|bfc_allocator|bfc allocator|gpu ran out|gpu memory is|
    no available memory for the cache|cuda_out_of_memory|cumemalloc|cudamalloc|insufficient gpu memory|
    gpu memory exhausted|device oom & !hbm|tpu|defaultcpuallocator|node running low|unable to allocate|cpu memory
gpu_memory: outofmemoryerror & cuda|gpu|hip|device|torch.
gpu_memory: gpu memory|kv cache & but only|are free|is less than|is larger than|exceeds
gpu_memory: gpu|cuda|cudnn|cublas|vram & out of memory|not enough memory|insufficient memory|alloc_failed|
    free memory on device & !cpu memory|node running|tpu
gpu_memory: resource_exhausted|resource exhausted|resourceexhausted & oom|allocat|out of memory & !quota|hbm|tpu
disk_full: no space left on device|errno 28|enospc|disk quota exceeded|errno 122|not enough free disk|disk is full|
    low on resource: ephemeral-storage|not enough disk|database or disk is full|disk full|out of disk|disk space
data_loader: dataloader|data loader|data_loader & killed|exited unexpectedly|died|abort|timed out|terminated|
    exited with exit code|segmentation
out_of_memory: memoryerror|cannot allocate memory|std::bad_alloc|defaultcpuallocator|errno 12]|java heap space|
    unable to allocate|oom-kill|oom killer|oomkilled|killed process|node running low on memory|outofmemoryerror|
    cpu out of memory|not enough memory: you tried|ran out of memory|bad_alloc|malloc failed|memory allocation of|
    malloc of size|exitcode: -9|exit code: -9|code = -9|signal 9 (sigkill)|sigkill|out of memory|brokenprocesspool|
    terminated abruptly|cpu memory & !sigkill_handler
out_of_memory: ~killed & line~|bash|python|sh: & !dataloader|by user
gpu_driver: driver version is insufficient|driver on your system is too old|system_driver_mismatch|
    driver/library version mismatch|forward compatibility|cuda_error_compat|unsupported ptx|no kernel image|
    unsupported toolchain|not compatible with the current|unsatisfied condition: cuda|nvidia-container-cli|
    please update your driver|please update your gpu driver|cuda version mismatch|mismatches the version that was used|
    cuda_error_no_binary|was not built with support for|driver too old|compute capability|only supports ampere|
    ampere gpus or newer|cuda_error_unsupported|cuda driver combination|invalid device function|requires a newer driver
gpu_driver: driver & nvidia|cuda|gpu & too old|mismatch|insufficient|incompatib|not support|update|not match
gpu_program: device-side assert|illegal memory access|misaligned address|cublas_status_execution_failed|
    cudnn_status_execution_failed|cuda_error_illegal|indexselectlargeindex|scattergatherkernel|unspecified launch|
    cublas_status_not_initialized|cudnn_status_not_initialized|cuda_error_launch_failed|cudnn_status_mapping_error
tpu_in_use: tpu|/dev/accel|/dev/vfio & already in use|in use by|lockfile|resource busy|being used by|used by
tpu_setup: libtpu|tpu initialization|tpu_topology|tpu topology|tpu backend|tpu system|tpu driver|tpu device|no tpu|
    tpu platform|tpu name|tpu_worker_|tpuinit|tpu cores|backend tpu|tpu slice|tpu metadata|tpu_process|tpu chips|
    find any tpu & fail|error|provide|not found|cannot|could not|unable|mismatch|no tpu|invalid|not available|
    unavailable|not init|expected|uninitialized|no such|different|version|missing|does not match|must be|
    undefined symbol
distributed: rendezvoustimeout|rendezvousconnection|rendezvousclosed|distbackenderror|distnetworkerror|diststoreerror|
    stopped sending heartbeats|jax distributed service detected|another task died|c10d|the client socket has|
    processgroupnccl|nccl watchdog|ncclsystemerror|ncclremoteerror|ncclinternalerror|ncclunhandled|
    collective operation timeout|missed heartbeat|heartbeat timeout|coordination service|coordination_service|
    coordinationservice|barrier timed out|eaddrinuse|address already in use|collective ops is aborted|
    peer is unreachable|connect() failed to|gloo connect|connectfullmesh|horovodinternalerror &!tcpstore server started|
    listening on|info:
distributed: nccl|gloo|rendezvous|processgroup|process group|tcpstore|horovod|mpi_|mpirun|allreduce|all_reduce|
    /job:worker|/job:chief|/job:ps|master_addr|init_process_group|parameter server|worldsize|world size|
    grpc server at workerpool|to workerpool|cmle-training & timeout|timed out|unhandled|remote error|connection closed|
    connection refused|connection reset|failed|abort|error|unavailable|unreachable|lost|not reachable|deadline|
    waiting for & !no module|undefined symbol|replica workerpool|version mismatch|could not find a version
bucket_mount: transport endpoint is not connected|gcsfuse|gcs fuse|gcs-fuse & fail|error|not connected|denied|unable|
    cannot|not found|could not|stale|timed out|crash|panic|exit
bucket_mount: /gcs/ & errno|permission denied|no such file|not connected|input/output|stale file|read-only file|
    operation not|function not implemented
missing_module: modulenotfounderror|no module named|error: could not find module
dependencies: no matching distribution|could not find a version that satisfies|resolutionimpossible|
    failed building wheel|failed to build wheel|numpy.dtype size changed|compiled using numpy 1|cannot import name|
    undefined symbol|glibcxx_|glibc_2|externally-managed|requires a different python|numpy.core.multiarray failed|
    versionconflict|distributionnotfound|conflicting dependencies|packagenotfounderror|dll load failed|
    binary incompatibility|numpy 2.0 release|numpy has no attribute|object has no attribute getprototype|in numpy 2.|
    metadata-generation-failed|_array_api not found|subprocess-exited-with-error|descriptors cannot be created|
    descriptors cannot not be created|has no attribute bool|importerror|cannot open shared object file|
    failed to import transformers & !no module named|dso_loader|dlerror|libcuda.so
arguments: unrecognized arguments|arguments are required|error: argument|invalid choice|no such option|missing option|
    missing argument|got unexpected extra argument|invalid value for -|unknown command line flag|illegalflagvalueerror|
    unrecognizedflagerror|could not override|one of the arguments|expected one argument|
    not used by the hfargumentparser|flag must have a value|requiredflag
program_login: gated repo|gatedrepoerror|invalid user token|huggingface-cli login|hf auth login|wandb: error|
    no api key configured|wandb.errors|api key must be|access to model|restricted and you are not|invalid api key|
    token is required|localtokennotfounderror|must be authenticated to access|api_key client option|api_key must|
    wandb.login
program_login: huggingface.co|hf.co|wandb.ai|api.wandb|mlflow|comet & 401|403|unauthorized|forbidden|not authorized
program_network: httpsconnectionpool|httpconnectionpool|max retries exceeded with url|name or service not known|
    temporary failure in name resolution|network is unreachable|failed to establish a new connection|getaddrinfo|
    could not resolve host|urlopen error|no route to host|couldnt connect to server|cannot connect to host|
    localentrynotfounderror|cant connect to|we couldnt connect|connecttimeout|readtimeout|name resolution|
    connectionrefusederror|connection timed out|proxyerror|sslerror|certificate_verify_failed|chunkedencodingerror|
    connectionreseterror|connection refused|offlinemode & !metadata.google
missing_file: filenotfounderror|no such file or directory|cant open file|notadirectoryerror|isadirectoryerror|
    file not found|does not appear to have a file named|unable to open file|path does not exist|
    errors_impl.notfounderror & !libcuda.so|restoring from checkpoint|not found in checkpoint
""")
WEAK_CUES: tuple[Cue, ...] = read_cues("""
gpu_missing: no cuda-capable device|found no nvidia driver|torch not compiled with cuda|no cuda gpus are available|
    cuda is not available|no gpu found|nvidia-smi: not found|nvidia-smi: command not found|failed to initialize nvml|
    could not select device driver|cuda_error_no_device|no visible gpu|invalid device ordinal|no gpus found|
    is_available() is false|no gpus available|requires a gpu|unknown backend cuda|no supported gpu|gpu is not available|
    requires gpu|cuda device requested|gpu is required|no devices were found|no gpu is|not find any gpu|without gpu|
    gpu not found|no gpu/tpu found|requested gpu|gpu available|libcuda.so.1|cuda driver library|nvml shared library|
    gpus available|no nvidia gpu|gpu device not found|need at least one gpu|not compiled with gpu support
terminated: terminated by service|received sigterm|caught sigterm|signal 15|sigterm received|got signal: 15|
    systemexit: 143|received death signal|signalexception: process|sigterm
user_code: returned non-zero exit status
user_code: segmentation fault|core dumped|sigsegv|sigabrt|fatal python error|childfailederror
""")
"""Phrases that logs of healthy programs contain too. They are checked only in the error itself, or if nothing else was
found."""
