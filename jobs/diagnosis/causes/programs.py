"""Causes in the training program, its image, and the resources that it accesses."""

from functools import partial

from jobs.diagnosis.causes.sources import EXIT_NOT_RETRIED, GOOGLE, NOT_RETRIED, SAMPLES, SERVICE_PAGE
from jobs.diagnosis.diagnosis import Diagnosis
from jobs.texts import translatable as _

IMAGE = {"action": "edit_field", "fields": ["containerSpec.imageUri"]}
COMMAND = {"action": "edit_field", "fields": ["containerSpec.command", "containerSpec.args"]}
FILES = GOOGLE + "Training code requirements, 2026-08-22"

Cause = partial(Diagnosis, retried=EXIT_NOT_RETRIED)

KNOWN = (
    Cause(
        "user_code",
        _("The program failed"),
        _("The training program ended with an error."),
        _("Read the end of its log, correct the program or its arguments, and run it again."),
        f"{SERVICE_PAGE}; {SAMPLES}1504",
    ),
    Cause(
        "diverged",
        _("The training diverged"),
        _("A loss or gradient became infinite or NaN, and the program ended itself."),
        _("Lower the learning rate or warm up longer, clip gradients, and use bfloat16 instead of float16."),
        "PyTorch documentation: Automatic Mixed Precision examples",
    ),
    Cause(
        "gpu_not_ready",
        _("The machine's GPUs were not ready"),
        _("CUDA could not start, because the machine's Fabric Manager, which connects its GPUs, was not running."),
        _("Run it again: it gets other machines. If it stays so, choose another GPU or region."),
        "NVIDIA Fabric Manager User Guide: CUDA error 802",
        ({"action": "resubmit"}, {"action": "other_accelerator"}, {"action": "other_region"}),
    ),
    Cause(
        "gpu_old",
        _("The GPU is too old for what the program uses"),
        _("bfloat16 and FlashAttention need a GPU of the Ampere generation or newer, such as L4 or A100."),
        _("Choose a newer GPU, or use float16 and the default attention."),
        "Transformers documentation: mixed precision training",
        ({"action": "bigger_gpu"}, {"action": "edit_field", "fields": ["containerSpec.args"]}),
    ),
    Cause(
        "no_compiler",
        _("The image has no C compiler"),
        _("Triton, torch.compile and packages with C code compile at run time, and the image holds no compiler."),
        _("Install build-essential in the image, or use a development image of the framework."),
        "PyTorch documentation: torch.compile troubleshooting",
        (IMAGE,),
    ),
    Cause(
        "hub_limit",
        _("A download site limits its requests"),
        _("A hub or registry answered that it got too many requests, counted for each address or token."),
        _("Download once into the image or a bucket, sign in with a token, or let one process download for all."),
        "Hugging Face documentation: Hub rate limits",
        ({"action": "resubmit"}, {"action": "edit_field", "fields": ["containerSpec.env"]}),
    ),
    Cause(
        "open_files",
        _("The program opened too many files"),
        _("A process has as many open files as it may have; data loaders pass each tensor as one."),
        _("Use fewer workers, torch.multiprocessing's file_system sharing strategy, or `ulimit -n 65536` first."),
        "PyTorch documentation: torch.multiprocessing, sharing strategies",
        (COMMAND,),
    ),
    Cause(
        "bucket_scheme",
        _("A gs:// address was opened as a file"),
        _("The program's library cannot read gs:// addresses. Vertex AI mounts each bucket under /gcs/."),
        _("Write /gcs/BUCKET/... in place of gs://BUCKET/..., or install the library's support for Cloud Storage."),
        FILES,
        ({"action": "gcs_path"}, COMMAND),
    ),
    Cause(
        "git_login",
        _("The program could not sign in to Git"),
        _("A private repository was cloned without credentials."),
        _("Install the code in the image, or give the program a token or deploy key, best from Secret Manager."),
        "Git documentation: gitcredentials",
        (IMAGE, {"action": "edit_field", "fields": ["containerSpec.env"]}),
    ),
    Cause(
        "pipeline_task",
        _("A task of the pipeline failed"),
        _("The pipeline ended because of one of its tasks, which has a job and a log of its own."),
        _("Open the job of that task in the pipeline, and read its log."),
        GOOGLE + "View pipeline job details, 2026-08-22",
        retried=NOT_RETRIED,
    ),
    Cause(
        "terminated",
        _("The program was told to stop"),
        _("It ended on SIGTERM, which it gets when its machine is wanted back or the job is being stopped."),
        _("Run it again; with checkpoints it goes on from the last one."),
        SERVICE_PAGE,
        ({"action": "resubmit"},),
        retried=_("Vertex AI restarts it if its machine was taken away, and not if the job was being stopped."),
    ),
    Cause(
        "image_start",
        _("The container could not be started"),
        _(
            "The image was pulled, but its command could not be run: it is missing in the image, not executable, or "
            "made for another processor."
        ),
        _("Check the command, and that the image is built for linux/amd64."),
        SAMPLES + "1898",
        (COMMAND,),
        retried=NOT_RETRIED,
    ),
    Cause(
        "image_arch",
        _("The image is built for another processor"),
        _("The image or a program in it is built for another processor than the machine's, often for arm64 on a Mac."),
        _(
            "Build the image with `docker build --platform linux/amd64`, push it, and run the job again. Start scripts "
            "need a first line such as #!/bin/sh."
        ),
        "Docker documentation: multi-platform builds",
        (IMAGE,),
        retried=NOT_RETRIED,
    ),
    Cause(
        "gpu_memory",
        _("The GPU ran out of memory"),
        _("The program needed more memory than its GPU has; the machine's own memory is not the reason."),
        _("Use smaller batches, gradient accumulation or mixed precision, or choose a GPU with more memory."),
        "PyTorch documentation: CUDA memory management; JAX documentation: GPU memory allocation",
        ({"action": "bigger_gpu"},),
    ),
    Cause(
        "tpu_memory",
        _("The TPU ran out of memory"),
        _("The program needed more memory (HBM) than the TPU's chips have."),
        _(
            "Use smaller batches, rematerialization or bfloat16, shard the model over more chips, or choose a larger "
            "TPU."
        ),
        "JAX documentation: device memory profiling",
        ({"action": "other_machine"},),
    ),
    Cause(
        "gpu_program",
        _("The program made an error on the GPU"),
        _("A GPU kernel of the program failed, most often on a label or index outside its range."),
        _(
            "Run it with CUDA_LAUNCH_BLOCKING=1 to see the operation that fails, and check labels and the size of "
            "embeddings."
        ),
        "PyTorch documentation: CUDA semantics",
        ({"action": "edit_field", "fields": ["containerSpec.env"]},),
    ),
    Cause(
        "shared_memory",
        _("Shared memory ran out"),
        _("The program filled /dev/shm, by which data loaders and NCCL pass data between processes."),
        _(
            "Use fewer data-loader workers or num_workers=0, or torch.multiprocessing's file_system sharing strategy; "
            "a machine with more memory has more shared memory."
        ),
        "PyTorch documentation: torch.utils.data, multi-process data loading",
        ({"action": "next_machine_size"},),
    ),
    Cause(
        "data_loader",
        _("A data-loader worker died"),
        _("A worker process that loads data was killed, nearly always because memory ran out."),
        _("Use fewer workers (num_workers) or smaller prefetch buffers, or choose a machine with more memory."),
        "PyTorch documentation: torch.utils.data, multi-process data loading",
        ({"action": "next_machine_size"},),
    ),
    Cause(
        "distributed",
        _("The replicas lost each other"),
        _(
            "The replicas could not connect, or one of them did not answer in time. Often another replica failed "
            "first: its log tells why."
        ),
        _(
            "Look at the logs of all replicas for the first error. Check that master address, port and world size come "
            "from CLUSTER_SPEC, raise the process group's timeout, and set NCCL_DEBUG=INFO."
        ),
        GOOGLE + "Distributed training, 2026-08-22",
        ({"action": "edit_field", "fields": ["workerPoolSpecs", "containerSpec.env"]}, {"action": "resubmit"}),
    ),
    Cause(
        "bucket_mount",
        _("A file under /gcs/ could not be used"),
        _(
            "Cloud Storage is mounted under /gcs/ with Cloud Storage FUSE, and an access there failed: the account may "
            "not use the bucket, the object does not exist, or the operation is none that the mount supports."
        ),
        _(
            "Check the bucket's name and the rights of the job's service account. Write to the local disk first and "
            "copy the finished file, since appending, locking and linking do not work under /gcs/."
        ),
        GOOGLE + "Prepare training code: use Cloud Storage as mounted file system, 2026-08-22",
        ({"action": "edit_field", "fields": ["serviceAccount", "baseOutputDirectory.outputUriPrefix"]},),
    ),
    Cause(
        "missing_module",
        _("A Python module is missing"),
        _("The program imports a module that its image does not hold."),
        _("Install the module in the image, or name it among the requirements of the Python package."),
        "Python documentation: ModuleNotFoundError",
        (IMAGE,),
    ),
    Cause(
        "dependencies",
        _("The image's packages do not fit together"),
        _("Packages or libraries of the image have versions that do not work together, or could not be installed."),
        _("Pin versions that fit together (numpy, the framework, CUDA, glibc), and build the image again."),
        "Python Packaging User Guide: pinning versions",
        (IMAGE,),
    ),
    Cause(
        "missing_file",
        _("A file is missing"),
        _(
            "The program looked for a file that is not on its machine. gs:// addresses are no paths: Python's open() "
            "needs /gcs/BUCKET/..."
        ),
        _("Copy the file into the image, or read it from Cloud Storage under /gcs/; check the path in the arguments."),
        FILES,
        (COMMAND,),
    ),
    Cause(
        "arguments",
        _("The program did not accept its arguments"),
        _("The program does not know an argument, or one that it needs is missing."),
        _("Correct the job's args. A tuning job adds an argument for each parameter, which the program must accept."),
        "Python documentation: argparse",
        ({"action": "edit_field", "fields": ["containerSpec.args"]},),
    ),
    Cause(
        "program_network",
        _("The program could not reach the network"),
        _("An address that the program needs could not be reached from the job's machine."),
        _(
            "Run it again if the other side was down. Behind a peered network or a service perimeter, give it a route "
            "or Cloud NAT, or put what it downloads into the image or a bucket."
        ),
        GOOGLE + "Use a private IP for custom training, 2026-08-22",
        ({"action": "resubmit"}, {"action": "edit_field", "fields": ["network"]}),
    ),
    Cause(
        "program_login",
        _("The program could not sign in elsewhere"),
        _("A service that the program uses, such as Hugging Face or Weights & Biases, refused its token or got none."),
        _("Give the program a valid token, best from Secret Manager, and accept the terms of a gated model."),
        "Hugging Face documentation: gated models; Weights & Biases documentation: environment variables",
        ({"action": "edit_field", "fields": ["containerSpec.env"]},),
    ),
)
