"""Tests of tables that frameworks print line by line. The formats are published, the figures are examples."""

import json

import pytest

from jobs.metrics import Record, Totals, read_line

SOURCE = "workerpool0-0"

FASTAI = """
epoch     train_loss  valid_loss  accuracy  perplexity  time
0         1.051231    0.812345    0.701234  2.253100    01:12
1         0.851231    0.712345    0.751234  2.038700    01:11
"""
SKORCH = """
  epoch    train_loss    valid_acc    valid_loss     dur
-------  ------------  -----------  ------------  ------
      1        0.6905       0.6150        0.6749  0.0541
      2        0.6648       0.6450        0.6633  0.0412
"""
SPACY = """
E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  ENTS_P  ENTS_R  SCORE
---  ------  ------------  --------  ------  ------  ------  ------
  0       0          0.00     44.28    0.00    0.00    0.00    0.00
  0     200         53.51   2262.98   69.75   71.63   67.97    0.70
"""
YOLO = """
      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
      1/100      6.73G      1.081     0.4706      1.084         10        640: 100%|█| 16/16 [00:05<00:00,  2.78it/s]
                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|█| 8/8 [00:03<00:00]
                   all        722       1444      0.989       0.99      0.993      0.681
                person        500        800      0.111       0.11      0.113      0.111

      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size
      2/100      6.73G      1.038     0.4686      1.064         12        640: 100% ━━━━━━━━━━━━ 16/16 2.8it/s 5.7s
"""
YOLO5 = """
     Epoch   gpu_mem       box       obj       cls    labels  img_size
      0/99     3.21G   0.04371   0.06202   0.01711       225       640: 100%|████| 8/8 [00:04<00:00,  1.81it/s]
"""
BOOSTING = """
      Iter       Train Loss   Remaining Time
         1           1.2613            0.20s
         2           1.1212            0.19s
"""
MARKDOWN = """
| Step | Training Loss | Validation Loss |
|------|---------------|-----------------|
| 500  | 0.512300      | 0.412300        |
"""
AVERAGE_PRECISION = """
|   AP   |  AP50  |  AP75  |
|:------:|:------:|:------:|
| 38.623 | 59.531 | 41.952 |
"""
BASELINES = """
-----------------------------------------
| rollout/                |             |
|    ep_len_mean          | 200         |
|    ep_rew_mean          | -213        |
| time/                   |             |
|    fps                  | 850         |
|    iterations           | 7           |
|    time_elapsed         | 136         |
|    total_timesteps      | 3584        |
| train/                  |             |
|    approx_kl            | 0.010918302 |
|    learning_rate        | 0.0002      |
|    loss                 | 20.1        |
|    n_updates            | 18          |
-----------------------------------------
"""
LIGHTNING_TEST = """
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
┃        Test metric        ┃       DataLoader 0        ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━┩
│         test_acc          │    0.9821000099182129     │
│         test_loss         │    0.0612000003457069     │
└───────────────────────────┴───────────────────────────┘
"""
REPORT = """
              precision    recall  f1-score   support

           0     0.7130    0.6600    0.6855       350
           1     0.6835    0.7343    0.7080       350

    accuracy                         0.6971       700
   macro avg     0.6982    0.6971    0.6967       700
"""
SETTINGS = """
| batch_size    | 32    |
| learning_rate | 0.001 |
| num_layers    | 12    |
-------------------------
"""

TABLES = {
    "fastai": (FASTAI, {
        "train_loss": 0.851231, "valid_loss": 0.712345, "accuracy": 0.751234, "perplexity": 2.0387}),
    "skorch": (SKORCH, {"train_loss": 0.6648, "valid_acc": 0.645, "valid_loss": 0.6633}),
    "spaCy": (SPACY, {
        "LOSS TOK2VEC": 53.51, "LOSS NER": 2262.98, "ENTS_F": 69.75, "ENTS_P": 71.63, "ENTS_R": 67.97, "SCORE": 0.7}),
    "Ultralytics": (YOLO, {
        "box_loss": 1.038, "cls_loss": 0.4686, "dfl_loss": 1.064,
        "P": 0.989, "R": 0.99, "mAP50": 0.993, "mAP50-95": 0.681}),
    "YOLOv5": (YOLO5, {"box": 0.04371, "obj": 0.06202, "cls": 0.01711}),
    "scikit-learn": (BOOSTING, {"Train Loss": 1.1212}),
    "Markdown": (MARKDOWN, {"Training Loss": 0.5123, "Validation Loss": 0.4123}),
    "detectron2": (AVERAGE_PRECISION, {"AP": 38.623, "AP50": 59.531, "AP75": 41.952}),
    "Stable-Baselines3": (BASELINES, {
        "rollout/ep_len_mean": 200, "rollout/ep_rew_mean": -213, "train/approx_kl": 0.010918302,
        "train/learning_rate": 0.0002, "train/loss": 20.1}),
    "Lightning": (LIGHTNING_TEST, {"test_acc": 0.9821000099182129, "test_loss": 0.0612000003457069}),
    "classification_report": (REPORT, {"accuracy": 0.6971}),
    "settings": (SETTINGS, {}),
}  # fmt: skip


def folded(text: str, totals: Totals | None = None, record: Record | None = None, since: int = 0) -> Record:
    """Take in lines that come a second apart."""
    record = record or Record(totals=totals or Totals())
    for at, line in enumerate(text.splitlines(), since):
        record.take(read_line(line, record.columns_of(SOURCE)), float(at), SOURCE, owner="")
    return record


@pytest.mark.parametrize("name", TABLES)
def test_a_table_tells_its_metrics(name: str) -> None:
    text, expected = TABLES[name]

    assert {series.name: series.last[2] for series in folded(text).series if series.last} == expected


@pytest.mark.parametrize(
    ("text", "totals", "fraction"),
    [
        (FASTAI, Totals(epochs=4), 0.5), (SKORCH, Totals(epochs=4), 0.5), (YOLO, Totals(), 0.02),
        (YOLO5, Totals(), 1 / 100), (BOOSTING, Totals(steps=4), 0.5), (MARKDOWN, Totals(steps=1_000), 0.5),
        (BASELINES, Totals(steps=7_168), 0.5), (SPACY, Totals(steps=1_000), 0.2),
    ],
)  # fmt: skip
def test_a_table_tells_how_far_it_is(text: str, totals: Totals, fraction: float) -> None:
    assert folded(text, totals).runs[-1].reached == pytest.approx(fraction)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_is_read_in_two_parts_tells_the_same(name: str) -> None:
    text = TABLES[name][0]
    lines = text.splitlines()
    for cut in range(len(lines)):
        record = folded("\n".join(lines[:cut]))
        again = Record.load(json.loads(json.dumps(record.as_json())), Totals())

        whole = folded("\n".join(lines[cut:]), record=again, since=cut)

        assert [series.last[2] for series in whole.series if series.last] == [
            series.last[2] for series in folded(text).series if series.last
        ]


def test_lines_of_a_table_that_do_not_fit_it_tell_nothing() -> None:
    columns = ("epoch", "train_loss", "valid_loss")

    for line in ("done  0.5  0.4", "1  0.5", "1  0.5  0.4  0.3", "2024-01-01  0.5  0.4", "9e999  1  2"):
        assert read_line(line, columns).is_empty, line


def test_a_rule_or_a_heading_of_another_replica_does_not_make_it_the_first() -> None:
    record = Record(totals=Totals(epochs=2))
    record.take(read_line("-" * 40), 1.0, "workerpool1-0", owner="")
    record.take(read_line("epoch 1 loss 2"), 2.0, SOURCE, owner="")

    assert list(record.places) == [SOURCE]


def test_cells_of_a_table_that_never_ends_are_bounded() -> None:
    record = folded("\n".join(f"| loss_{n} | {n}.5 |" for n in range(5_000)))

    assert len(record.places[SOURCE].table.cells) < 100
