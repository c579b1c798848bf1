"""Names of values in logs: which are metrics, and which are counters, times or settings. Pure."""

import re
from functools import lru_cache

LOSSES = frozenset("loss losses mlogloss logloss kl elbo nll xent bce crossentropy 损失".split())
RESULTS = frozenset(
    "acc accu accuracy accuracies auc auroc f1 fscore ppl perp perplexity rmse mae mse mape"
    " prec precision recall iu iou miou map map50 ap bleu rouge wer cer reward rewards rew psnr ssim fid bpc bpb"
    " dice r2 ndcg mrr top1 top5 merror cindex silhouette correlation pearson spearman kappa jaccard"
    " mcc gini brier squared absolute exact hit hits hr eer fb1 mr fitness 准确率 正确率 精确率 召回率".split()
)
QUALITY = LOSSES | RESULTS
"""A name with one of these words is a metric anywhere."""
BESIDE = frozenset(
    "lr rate gnorm pnorm norm score throughput ips fps wps ups entropy value cost temperature error err return l1"
    " l2".split()
)
"""A name with one of these words is a metric only next to a step or an epoch. Elsewhere it is a setting."""
OUTCOMES = frozenset("score scores return returns".split())
"""Last words of results of several words, as in `validation score` and `episode_return_mean`."""
NO_METRIC = frozenset(
    "eta etc time times timing elapsed memory mem wall bsz wpb num number seed port pid date id gpu cpu worker"
    " workers size timestamp host version runtime oom samples scale scaler second seconds sec secs ms hours"
    " walltime util gpuutil dur duration latency minute minutes hour day days clock"
    " weight weights threshold thresh thres coef coeff gamma eps epsilon smoothing patience tolerance"
    " interval freq warmup dropout momentum mom betas trial skipped params parameters images instances labels"
    " sents flos reader nupdates ntokens nsentences ip count severity level allocated reserved qsize exitcode config"
    " speed timer lambda counter took ram usage param option factor multiplier process proc node thread gb gib mb mib"
    " n s batchsize range".split()
)
"""Words of times, sizes and settings. A name with one of them is never a metric."""
COUNTS = frozenset(
    "code epoch epochs epch step steps iter iters itr iteration iterations batch batches total data line rank rank0"
    " seqlen update updates run fold timesteps depth leaves tokens tok ite percentage progress episode".split()
)
"""Words of counters. A name with one is a metric only with another word of a metric, as in `step_loss`."""
SUMS = frozenset("id total".split())
"""Names of counts, unless they have decimals: parts of a loss, and their sum."""
EVALUATION = frozenset("val vali valid validation test eval evaluation dev".split())
PARTS_OF_DATA = EVALUATION | {"train", "training"}
ON_DATA = PARTS_OF_DATA | {"learn", "cv"}
"""First words of any kind of metric, as in `test-gini` and CatBoost's `learn`."""
QUIET = frozenset("lr rate gnorm norm throughput ips fps wps ups epoch scale".split())
PARTS = EVALUATION | frozenset("time train training avg mean average best learn learning lm nll loss".split())
"""Words before a metric that belong to its name: the data it was measured on, `learning rate`, `lm loss`."""
LOG_LEVELS = frozenset("info debug warning warn critical root wandb".split())
ABOUT_NOTHING = LOG_LEVELS | frozenset(
    "the a an with at of is are was has to from for by and or in on new nan inf got saving saved using reached".split()
)
"""Words after which a name of several words begins: log levels, and words that join a sentence."""
COSTS = frozenset("time times timing timings ms elapsed latency mem memory cpu gpu ram usage".split())
"""Words of lines about how long work took and what it used: `time (ms) | forward: 441.1 | backward: 712.1`."""
STATISTICS = frozenset("min max mean avg std var median".split())
"""Names of statistics without that of what they were calculated from."""
RANKS = frozenset("1 5 10 20 mean median".split())
"""Words with which `rank` is a result of a search, and not the number of a process: `Rank-1`, `mean_rank`."""
MAX_NAME_CHARACTERS = 64
_KEPT_NAMES = 4_096

_WORDS = re.compile(r"[A-Za-z]+\d*|\d+|损失|(?:[准正精]确|召回)率")
_CAMEL = re.compile(r"[a-z][A-Z]")
_CAMEL_WORDS = re.compile(r"[A-Z]?[a-z]+\d*|[A-Z]+(?![a-z])\d*")
_OF_CODE = re.compile(r"(?:\.(?:py|cc|cpp|cu|hpp|h|go|rs|c|js)|(?<! )(?:Error|Exception|Warning))$")
_PER_SECOND = re.compile(r"(?:/|per_?)s(?:ec(?:ond)?s?)?(?![A-Za-z])", re.IGNORECASE)


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case: `val/top1_acc` has val, top1, acc; `trainLoss` also has train, loss."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if _CAMEL.search(name):
        words += [word.lower() for word in _CAMEL_WORDS.findall(name)]
    return words


@lru_cache(_KEPT_NAMES)
def is_quality(name: str) -> bool:
    """Return whether a name is that of a metric, independent of its context."""
    words = words_of(name)
    parts = {"id", "scale", "size", "weight", "count"} if words and words[-1].endswith("loss") else {"id"}
    return _is_name(name, words) and _has_quality(words) and not NO_METRIC.intersection(words) - parts


@lru_cache(_KEPT_NAMES)
def is_metric(name: str) -> bool:
    """Return whether a number next to a step or an epoch is a metric, judging by its name alone."""
    return is_quality(name) or (may_be_metric(name) and not BESIDE.isdisjoint(words_of(name)))


@lru_cache(_KEPT_NAMES)
def may_be_metric(name: str) -> bool:
    """Return whether `name: number` next to a step or an epoch is regarded as a metric."""
    words = words_of(name)
    is_rate = bool(_PER_SECOND.search(name)) and COUNTS.isdisjoint({*words} - {"tokens", "tok"})
    of_norm = {"params", "param", "weight"} if words[-1:] == ["norm"] else set[str]()
    unsure = {"second", "sec", "s", "gpu"} if is_rate else of_norm
    if not _is_name(name, words) or NO_METRIC.intersection(words) - unsure:
        return False
    if _has_quality(words) or is_rate or words[-2:] == ["grad", "norm"]:  # `total_grad_norm`
        return True
    return COUNTS.isdisjoint(words[:-1] if name.endswith("/total") else words)


@lru_cache(_KEPT_NAMES)
def is_measured(name: str) -> bool:
    """Return whether a name is of a measurement: a metric, or a value on a part of the data such as `test-gini`."""
    words = words_of(name)
    return is_quality(name) or (bool(words) and words[0] in ON_DATA and is_figure(name))


@lru_cache(_KEPT_NAMES)
def is_likely(name: str) -> bool:
    """Return whether a decimal number after a colon is a metric once a training has begun: `lr: 0.1`, `val/r: 0.2`."""
    is_result = "/" in name or name.lower().startswith(("mean ", "avg ", "average "))
    return is_metric(name) or is_measured(name) or (is_result and may_be_metric(name))


@lru_cache(_KEPT_NAMES)
def is_figure(name: str) -> bool:
    """Return whether a name is no counter, time or setting. It may be as short as `P` or `test`."""
    words = words_of(name)
    return (
        len(name) <= MAX_NAME_CHARACTERS
        and name[:1] != "#"
        and not _OF_CODE.search(name)
        and NO_METRIC.isdisjoint(words)
        and (_has_quality(words) or COUNTS.isdisjoint(words))
    )


@lru_cache(_KEPT_NAMES)
def may_be_measured(name: str, *, is_decimal: bool) -> bool:
    """Return whether a value of an unknown name may turn out to be a metric: `epoch mean: 2.1`, `episode_len: 39`."""
    words = words_of(name)
    is_of_count = (is_decimal or words[-1:] in (["len"], ["length"])) and COUNTS.isdisjoint(words[-1:])
    is_of_count = is_of_count or (is_decimal and name.lower() in SUMS - {"id"})
    is_sound = is_of_count and NO_METRIC.isdisjoint(words) and not _OF_CODE.search(name)
    return name.lower() not in PARTS_OF_DATA and (is_figure(name) or is_sound)


def importance(name: str) -> tuple[bool, int, str]:
    """Return the sort key of a metric: validation and results before losses, values of progress last."""
    words = frozenset(words_of(name))
    is_result = not words.isdisjoint(RESULTS | OUTCOMES)
    is_loss = not is_result and any(word in LOSSES or word.endswith("loss") for word in words)
    rank = 4 * (not EVALUATION.isdisjoint(words)) + 2 * is_result + is_loss
    return is_quiet(name), -rank, name.lower()


def is_quiet(name: str) -> bool:
    """Return whether a value describes the progress of the training and not its result, as `lr` does."""
    return not QUIET.isdisjoint(words_of(name))


def _is_name(name: str, words: list[str]) -> bool:
    """Return whether a text can be a metric's name: not a file or error class, and not a single letter."""
    return len(name) <= MAX_NAME_CHARACTERS and len("".join(words)) > 1 and not _OF_CODE.search(name)


def _has_quality(words: list[str]) -> bool:
    if ("rank" in words and not RANKS.isdisjoint(words)) or {"mean", "episode"} <= {*words}:
        return True
    if any(word.rstrip("0123456789") in QUALITY or word.endswith(("loss", "accuracy")) for word in words):
        return True
    is_outcome = len(words) > 1 and words[-1 - (words[-1] == "mean")] in OUTCOMES
    is_outcome = is_outcome or (words[-1:] == ["error"] and not {"best", "test"}.isdisjoint(words))
    return not QUALITY.isdisjoint(words) or (is_outcome and "min" not in words) or {"f", "score"} <= {*words}
