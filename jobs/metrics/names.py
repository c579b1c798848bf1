"""Names of figures in logs: which are metrics, and which only count, time or configure. Pure."""

import re

QUALITY = frozenset(
    "loss losses acc accuracy auc auroc f1 ppl perplexity rmse mae mse mape mlogloss logloss error err precision recall"
    " iou miou map map50 ap bleu rouge wer cer reward psnr ssim fid kl elbo bpc bpb dice r2 ndcg mrr top1 top5 l1 l2"
    " merror cindex silhouette correlation pearson spearman return".split()
)
"""A name with one of these words is a metric wherever it stands."""
BESIDE = frozenset("lr rate gnorm norm score speed throughput ips fps wps ups entropy value temperature".split())
"""A name with one of these is one only beside a step or an epoch; elsewhere it is a setting of the program."""
NO_METRIC = frozenset(
    "epoch epochs step steps iter iters iteration iterations batch batches eta etc time times elapsed memory mem wall"
    " bsz wpb num seed port pid rank rank0 date version id gpu cpu worker workers size total timestamp host line code"
    " runtime oom clip samples".split()
)
"""Words of what counts, times or names something."""
PARTS = frozenset(
    "train training val valid validation test eval dev avg mean average best learning lm nll loss".split()
)
"""Words in front of a metric that belong to its name: the data that it was measured on, `learning rate`, `lm loss`."""
MAX_NAME_CHARACTERS = 48

_WORDS = re.compile(r"[A-Za-z]+\d*|\d+")


def words_of(name: str) -> list[str]:
    """Return the words of a name in small letters: `val/top1_acc` has val, top1, acc."""
    return [word.lower() for word in _WORDS.findall(name)]


def is_quality(name: str) -> bool:
    """Tell whether a name is that of a metric, whatever stands around it."""
    words = words_of(name)
    return any(word in QUALITY or word.endswith(("loss", "accuracy")) for word in words) and not _counts(words)


def is_metric(name: str) -> bool:
    """Tell whether a number of this name beside a step or an epoch is a metric that a name alone can give away."""
    words = words_of(name)
    return is_quality(name) or (any(word in BESIDE for word in words) and not _counts(words))


def may_be_metric(name: str) -> bool:
    """Tell whether `name: number` beside a step or an epoch is taken for a metric."""
    words = words_of(name)
    return bool(words) and len(name) <= MAX_NAME_CHARACTERS and not _counts(words)


def _counts(words: list[str]) -> bool:
    return any(word in NO_METRIC for word in words)
