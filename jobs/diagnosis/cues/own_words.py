"""Which exceptions' own text cues may read: that of system and library classes, and wordings of libraries in others.

A program raises ValueError, RuntimeError or a class of its own with any words: `ValueError: connection refused by
policy table` is no failure of the network. Sources: code and issues of the projects named below, read 2026-11-27.
"""

import re

from jobs.diagnosis.cues.lines import fold

_OF_DATA = frozenset("KeyError IndexError LookupError ZeroDivisionError StopIteration RecursionError".lower().split())
"""Exceptions whose text is the program's data."""
_OF_CODE = frozenset("ArithmeticError AssertionError AttributeError NameError SyntaxError TypeError".lower().split())
"""Exceptions about the program's code, which libraries raise with few wordings."""
_OF_SYSTEM = re.compile(
    r"(?:\w+\.)*(?:(?:OS|IO|Environment|FileNotFound|FileExists|(?:Is|Not)ADirectory|Permission|BlockingIO|ChildProcess"
    r"|Connection\w*|BrokenPipe|Timeout|\w*Memory|ModuleNotFound|Import|System|FloatingPoint|CalledProcess|EOF)Error"
    r"|BrokenProcessPool|SystemExit|KeyboardInterrupt"
    r"|\w{0,40}(?:nccl|Cuda|Xla|TPU|Hub|Repo|SSL|Proxy)\w{0,40}(?:Error|NotFound)"
    r"|Dist\w*Error|Rendezvous\w*|HorovodInternal\w*|(?:Bad|Access|Command)\w*Exception|\w{0,40}Flag\w{0,40}Error)\Z"
    r"|(?:torch\w*|jax\w*|tensorflow|google\w*|grpc|_?Inactive\w+|requests|urllib\w*|http\w*|huggingface_hub|xgboost|ray"
    r"|cupy\w*|absl|transformers|triton|wandb|numba|subprocess|horovod|socket|ssl|openai|deepspeed"
    r"|\w*lightning\w*|keras|paddle|mxnet|lightgbm|vllm|polars|pyarrow|safetensors\w*|java|aiohttp|botocore|fsspec|gcsfs"
    r"|apitools|mlflow|comet\w*|accelerate|optax|flax|orbax|numpy|cudf|rmm)\.\w",
    re.IGNORECASE,
)
"""Classes that the system or a library raises, by their names or packages."""
FORMS: dict[str, str] = {
    "PyTorch, CUDA and what calls them raise RuntimeError": "cuda error|cuda out of memory|cuda failure|cudnn_status|"
    "cublas_status|cudnn error|cusolver error|cudagetdevicecount|hip out of memory|found no nvidia driver|"
    "torch not compiled with|no cuda gpus are available|nvidia driver on your system|device-side assert triggered|"
    "invalid device ordinal|cudaerror|cuda driver version|nvml|defaultcpuallocator|pytorchstreamwriter|"
    "in your environment variables: cuda|dataloader worker (|dataloader timed out after|dev/shm|</torch_|torch_shm|"
    "unable to open shared memory|unable to mmap|received 0 items of ancdata|returned nan values in its",
    "NCCL, Gloo and process groups raise RuntimeError or ValueError": "nccl error|ncclsystem|ncclremote|ncclinternal|"
    "ncclunhandled|nccl communicator|gloo/transport|gloo connect|server socket has failed|client socket has|tcpstore(|"
    "torch.distributed rendezvous|environment variable master_addr|store based barrier|monitoredbarrier",
    "JAX and XLA raise RuntimeError where jaxlib's class is missing": "unable to initialize backend|tpu initialization|"
    "bad statusor|resource_exhausted:|failed to initialize tpu|tpu topology|no tpu d",
    "vLLM, FlashAttention and accelerate raise ValueError": "memory for the cache blocks|kv cache is needed|"
    "stored in kv cache|of gpu memory|gpu memory utilization|flashattention only|bfloat16 is only|"
    "setup doesnt support bf16|bf16/gpu|mixed precision requires|support bf16|requires ampere",
    "NumPy and protobuf raise AttributeError, TypeError or ValueError for versions that do not fit": "numpy.dtype size|"
    "was removed in the numpy 2|has no attribute bool|module numpy has no|descriptors cannot|numpy 1.x|"
    "no attribute getprototype|has no field|protocol message",
    "Lightning, DeepSpeed and programs raise RuntimeError or ValueError for a loss": "loss is nan|loss is not finite|"
    "loss is inf|loss became nan|training_step is nan|loss scale already at|minimum loss scale|training has diverged|"
    "loss diverged|nan or inf|infinite or nan|nan in loss|norm is nan|norm is inf|non-finite|aborted: nan loss",
    "triton, argparse of Transformers, Trainer and hubs raise plain classes": "find c compiler|cpp_extension|"
    "not used by the hfargumentparser|failed to import transformers|no module named|hf_hub|huggingface.co|"
    "is not a local folder|api key not configured|no api key|wandb login|xid (",
}
"""Wordings that are raised in classes of any kind, by who raises them so."""
_PHRASES = tuple(phrase for phrases in FORMS.values() for phrase in phrases.split("|"))


def has_form(text: str) -> bool:
    """Return whether a text has the wording of a library, whatever class it is raised in."""
    return any(map(fold(text).__contains__, _PHRASES))


def is_readable(name: str, words: str, *, is_of_library: bool = False) -> bool:
    """Return whether cues may read the words of an exception. `is_of_library`: a frame of a library raised it."""
    is_trusted = (is_of_library and name.lower() not in _OF_CODE) or _OF_SYSTEM.match(name) is not None
    return name.lower() not in _OF_DATA and (not name or is_trusted or has_form(words))
