"""Learn a penguin's species from four measurements: a small neural network in plain Python, for Vertex AI training.

It shows what a job needs in order to survive restarts: a checkpoint after every epoch in AIP_CHECKPOINT_DIR, an orderly
end on SIGTERM, and a start from the last checkpoint. Each epoch shuffles by its own seed, so a run that was interrupted
any number of times ends with exactly the model of a run that was not.
"""

import argparse
import csv
import functools
import json
import math
import operator
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

MEASUREMENTS = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
BATCH_SIZE = 16
VALIDATION_SHARE = 0.2
CHECKPOINTS_KEPT = 3
EXIT_TERMINATED = 128 + signal.SIGTERM
"""What a shell reports for a program that SIGTERM ended: the run is unfinished, not failed."""

say = functools.partial(print, flush=True)
Row = tuple[list[float], int]
Weights = dict[str, list[list[float]]]


class Termination:
    """Remembers SIGTERM, so that an epoch is finished and saved before the program ends."""

    def __init__(self) -> None:
        self.requested = False
        signal.signal(signal.SIGTERM, self._remember)

    def _remember(self, *_: object) -> None:
        self.requested = True

    def wait(self, seconds: float) -> None:
        """Pass `seconds` in small steps, less if SIGTERM arrives."""
        end = time.monotonic() + seconds
        while not self.requested and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))


# ---------------------------------------------------------------- data
def local_path(path: str) -> Path:
    """Read `gs://bucket/x` where Vertex AI mounts it: `/gcs/bucket/x` (Cloud Storage FUSE)."""
    return Path(f"/gcs/{path[5:]}" if path.startswith("gs://") else path)


def read_penguins(path: Path) -> tuple[list[str], list[Row]]:
    """Return the species' names and ([four measurements], species index) per penguin that was measured in full."""
    with path.open(newline="", encoding="utf-8") as file:
        complete = [row for row in csv.DictReader(file) if "NA" not in (row[name] for name in MEASUREMENTS)]
    species = sorted({row["species"] for row in complete})
    return species, [([float(row[name]) for name in MEASUREMENTS], species.index(row["species"])) for row in complete]


def split(rows: list[Row], seed: int) -> tuple[list[Row], list[Row]]:
    """Divide into (rows to learn from, rows to validate with); the same seed gives the same halves."""
    shuffled = random.Random(f"split {seed}").sample(rows, len(rows))
    count = round(len(rows) * VALIDATION_SHARE)
    return shuffled[count:], shuffled[:count]


def scale_of(rows: list[Row]) -> list[tuple[float, float]]:
    """Return (mean, standard deviation) per measurement."""
    columns = list(zip(*(features for features, _ in rows), strict=True))
    means = [math.fsum(column) / len(column) for column in columns]
    return [
        (mean, math.sqrt(math.fsum((value - mean) ** 2 for value in column) / len(column)))
        for mean, column in zip(means, columns, strict=True)
    ]


def standardise(rows: list[Row], scale: list[tuple[float, float]]) -> list[Row]:
    """Express each measurement in standard deviations from the mean, with a constant 1 as the last input."""
    return [
        ([(value - mean) / width for value, (mean, width) in zip(features, scale, strict=True)] + [1.0], species)
        for features, species in rows
    ]


# ---------------------------------------------------------------- the network: one tanh layer, then softmax
def first_weights(hidden: int, species: int, seed: int) -> Weights:
    """Draw small random weights: `hidden` rows over the inputs, one row per species over the hidden values."""
    draw = random.Random(f"weights {seed}").gauss
    inputs = len(MEASUREMENTS) + 1
    return {
        "hidden": [[draw(0, inputs**-0.5) for _ in range(inputs)] for _ in range(hidden)],
        "output": [[draw(0, (hidden + 1) ** -0.5) for _ in range(hidden + 1)] for _ in range(species)],
    }


def predict(weights: Weights, features: list[float]) -> tuple[list[float], list[float]]:
    """Return (hidden values with a constant 1 at the end, probability of each species)."""
    hidden = [math.tanh(sum(map(operator.mul, row, features))) for row in weights["hidden"]] + [1.0]
    scores = [sum(map(operator.mul, row, hidden)) for row in weights["output"]]
    highest = max(scores)
    powers = [math.exp(score - highest) for score in scores]
    total = sum(powers)
    return hidden, [power / total for power in powers]


def learn_batch(weights: Weights, batch: list[Row], learning_rate: float) -> None:
    """Move the weights one step down the mean cross-entropy of `batch`."""
    step = learning_rate / len(batch)
    change = {name: [[0.0] * len(row) for row in rows] for name, rows in weights.items()}
    for features, species in batch:
        hidden, probabilities = predict(weights, features)
        errors = [probability - (index == species) for index, probability in enumerate(probabilities)]
        for row, error in zip(change["output"], errors, strict=True):
            for index, value in enumerate(hidden):
                row[index] += error * value
        for unit, row in enumerate(change["hidden"]):
            blame = sum(error * out[unit] for error, out in zip(errors, weights["output"], strict=True))
            slope = blame * (1 - hidden[unit] ** 2)
            for index, value in enumerate(features):
                row[index] += slope * value
    for name, rows in weights.items():
        for row, changes in zip(rows, change[name], strict=True):
            row[:] = [weight - step * total for weight, total in zip(row, changes, strict=True)]


def learn_epoch(weights: Weights, rows: list[Row], learning_rate: float, shuffle_seed: str) -> None:
    """Go through all rows once, in an order that depends on `shuffle_seed` alone."""
    order = random.Random(shuffle_seed).sample(rows, len(rows))
    for start in range(0, len(order), BATCH_SIZE):
        learn_batch(weights, order[start : start + BATCH_SIZE], learning_rate)


def measure(weights: Weights, rows: list[Row]) -> dict[str, float]:
    """Return the mean cross-entropy `loss` and the share of right answers, `accuracy`, over `rows`."""
    probabilities = [(predict(weights, features)[1], species) for features, species in rows]
    return {
        "loss": sum(-math.log(max(found[species], 1e-300)) for found, species in probabilities) / len(rows),
        "accuracy": sum(found.index(max(found)) == species for found, species in probabilities) / len(rows),
    }


# ---------------------------------------------------------------- what outlives the process
def write_whole(path: Path, content: object) -> None:
    """Write JSON so that a reader finds the old file or the whole new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(json.dumps(content), encoding="utf-8")
    unfinished.replace(path)


def save_checkpoint(folder: Path, state: dict[str, Any]) -> None:
    """Write the state after an epoch and drop the checkpoint that is `CHECKPOINTS_KEPT` epochs older."""
    write_whole(folder / f"checkpoint-{state['epoch']:05d}.json", state)
    (folder / f"checkpoint-{state['epoch'] - CHECKPOINTS_KEPT:05d}.json").unlink(missing_ok=True)


def last_checkpoint(folder: Path, settings: dict[str, Any], epochs: int) -> dict[str, Any] | None:
    """Return the newest state that these settings can continue, saying which files were passed over and why."""
    for path in sorted(folder.glob("checkpoint-*.json"), reverse=True):
        try:
            state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            usable = state["settings"] == settings and 0 < state["epoch"] <= epochs and bool(state["weights"])
        except (ValueError, KeyError, TypeError) as error:
            say(f"passing over {path.name}: it cannot be read ({error})")
            continue
        if usable:
            return state
        say(f"passing over {path.name}: it was made with other settings")
    return None


def report_metric(name: str, value: float, epoch: int) -> None:
    """Report to a hyperparameter tuning job in the form of cloudml-hypertune 0.1.0; outside of one, do nothing."""
    if file := os.environ.get("CLOUD_ML_HP_METRIC_FILE"):
        trial = os.environ.get("CLOUD_ML_TRIAL_ID", "0")
        line = {"timestamp": time.time(), "trial": trial, name: str(value), "global_step": str(epoch)}
        local_path(file).parent.mkdir(parents=True, exist_ok=True)
        with local_path(file).open("a", encoding="utf-8") as metrics:
            metrics.write(json.dumps({**line, "checkpoint_path": ""}) + "\n")


# ---------------------------------------------------------------- the run
def train(options: argparse.Namespace, termination: Termination) -> int:
    """Learn epoch by epoch from wherever the last attempt stopped; return the exit code."""
    species, penguins = read_penguins(local_path(options.data))
    to_learn, to_validate = split(penguins, options.seed)
    scale = scale_of(to_learn)
    to_learn, to_validate = standardise(to_learn, scale), standardise(to_validate, scale)
    say(f"{len(to_learn)} penguins to learn from, {len(to_validate)} to validate with")
    folder = local_path(os.environ["AIP_CHECKPOINT_DIR"]) if os.environ.get("AIP_CHECKPOINT_DIR") else None
    state = first_state(options, len(species), folder)

    for epoch in range(state["epoch"] + 1, options.epochs + 1):
        began = time.monotonic()
        learn_epoch(state["weights"], to_learn, options.learning_rate, f"epoch {epoch} {options.seed}")
        found = measure(state["weights"], to_validate)
        if folder:
            save_checkpoint(folder, {**state, "epoch": epoch})
        report_metric(options.report, found["accuracy"], epoch)
        say(f"epoch {epoch}/{options.epochs} loss {found['loss']:.4f} accuracy {found['accuracy']:.3f}")
        termination.wait(options.seconds_per_epoch - (time.monotonic() - began))
        if termination.requested and epoch < options.epochs:
            say(f"SIGTERM: {'saved' if folder else 'stopped'} after epoch {epoch}")
            return EXIT_TERMINATED

    metrics = {"epochs": options.epochs, "penguins": len(to_validate), **measure(state["weights"], to_validate)}
    if model := os.environ.get("AIP_MODEL_DIR"):
        described = {"species": species, "measurements": MEASUREMENTS, "scale": scale, "weights": state["weights"]}
        write_whole(local_path(model) / "model.json", described)
        write_whole(local_path(model) / "metrics.json", metrics)
    say(f"trained: accuracy {metrics['accuracy']:.3f} on {len(to_validate)} penguins it never learned from")
    return 0


def first_state(options: argparse.Namespace, species_count: int, folder: Path | None) -> dict[str, Any]:
    """Return {epoch, settings, weights} of the last checkpoint in `folder`, or those of a fresh start (epoch 0)."""
    settings = {name: getattr(options, name) for name in ("hidden", "learning_rate", "seed")}
    if not folder:
        say("AIP_CHECKPOINT_DIR is not set: a restart begins again at epoch 1")
    elif state := last_checkpoint(folder, settings, options.epochs):
        say(f"resuming from epoch {state['epoch']}")
        return state
    return {"epoch": 0, "settings": settings, "weights": first_weights(options.hidden, species_count, options.seed)}


def read_options(arguments: list[str]) -> argparse.Namespace:
    """Read the command line; a hyperparameter tuning job adds `--learning-rate` and `--hidden` by itself."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", default=str(Path(__file__).with_name("penguins.csv")), help="path or gs:// address")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seconds-per-epoch", type=float, default=1.0, help="0 = as fast as it goes")
    parser.add_argument("--learning-rate", type=float, default=0.02)
    parser.add_argument("--hidden", type=int, default=8, help="units of the hidden layer")
    parser.add_argument("--seed", type=int, default=2014)
    parser.add_argument("--report", default="accuracy", metavar="METRIC", help="its name in a tuning job")
    options = parser.parse_args(arguments)
    if options.epochs < 1 or options.hidden < 1 or not 0 < options.learning_rate < math.inf:
        parser.error("--epochs, --hidden and --learning-rate must be above 0")
    if not 0 <= options.seconds_per_epoch < math.inf:
        parser.error("--seconds-per-epoch must be 0 or more")
    return options


if __name__ == "__main__":
    sys.exit(train(read_options(sys.argv[1:]), Termination()))
