"""Tests of metrics in lines printed by real programs. Each is as published, with its address beside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.metrics import Reading, read_line

KERAS = "https://github.com/keras-team/keras/issues/8680"
KERAS_COLAB = "https://github.com/keras-team/keras/issues/10506"
KERAS_PLAIN = "https://github.com/JesperDramsch/keras-complex/issues/22"
LIGHTNING = "https://github.com/Lightning-AI/pytorch-lightning/issues/4225"
LIGHTNING_PLAIN = "https://github.com/Lightning-AI/pytorch-lightning/issues/3866"
TRAINER = "https://github.com/huggingface/sentence-transformers/pull/2449"
JSON_LINES = "https://github.com/galilai-group/stable-pretraining/issues/201"
CAIKIT = "https://github.com/caikit/caikit-nlp/pull/208"
FAIRSEQ_JSON = "https://github.com/facebookresearch/fairseq/issues/233"
FAIRSEQ = "https://github.com/facebookresearch/fairseq/issues/2338"
FAIRSEQ_OLD = "https://github.com/facebookresearch/fairseq/issues/301"
TQDM = "https://github.com/facebookresearch/fairseq/issues/1955"
LIGHTGBM = "https://github.com/lightgbm-org/LightGBM/issues/1928"
LIGHTGBM_TWO = "https://github.com/energeeks/ashrae-energy-prediction/pull/63"
MMDET = "https://github.com/open-mmlab/mmdetection/issues/2672"
MMENGINE = "https://github.com/AILab-CVC/YOLO-World/issues/165"
YOLO = "https://github.com/ultralytics/ultralytics/issues/7653"
PLAIN = "https://github.com/jiwoon-ahn/irn/issues/13"

LINES = [
    (KERAS, "Epoch 175/200", Reading(epoch=175, epochs=200)),
    (
        KERAS,
        "1562/1562 [==============================] - 539s - loss: 1.0843"
        " - acc: 0.6560 - val_loss: 0.8596 - val_acc: 0.7302",
        Reading(
            step=1562, steps=1562, is_inner=True,
            values={"loss": 1.0843, "acc": 0.656, "val_loss": 0.8596, "val_acc": 0.7302},
        ),
    ),
    (
        KERAS_COLAB,
        "423/423 [==============================] - 192s 454ms/step"
        " - loss: 1.8386 - mean_squared_error: 0.0049 - acc: 0.6136",
        Reading(
            step=423, steps=423, is_inner=True, values={"loss": 1.8386, "mean_squared_error": 0.0049, "acc": 0.6136}
        ),
    ),
    (
        KERAS_PLAIN,
        "1079/1079 - 21s - loss: 0.2431 - 21s/epoch - 19ms/step",
        Reading(step=1079, steps=1079, is_inner=True, values={"loss": 0.2431}),
    ),
    (
        LIGHTNING,
        "Epoch 0:  22%|██▏       | 4/18 [00:17<01:02,  4.47s/it, loss=10.072, v_num=193315]",
        Reading(epoch=0, step=4, steps=18, is_inner=True, values={"loss": 10.072}),
    ),
    (
        LIGHTNING_PLAIN,
        "Epoch 0:  93% 1586/1702 [12:50<00:56,  2.06it/s, loss=0.158, v_num=0, train_loss=0.149]",
        Reading(epoch=0, step=1586, steps=1702, is_inner=True, values={"loss": 0.158, "train_loss": 0.149}),
    ),
    (
        TRAINER,
        "{'loss': 1.6531, 'learning_rate': 1.3934426229508198e-05, 'epoch': 0.38}",
        Reading(epoch=0.38, values={"loss": 1.6531, "learning_rate": 1.3934426229508198e-05}),
    ),
    (
        JSON_LINES,
        '{"train/loss_ssl": 0.04164312779903412, "train/lr": 0.0003887395330217693, "step": 1740, "epoch": 0,'
        ' "rank": 0, "timestamp": 1741161877.090587, "relative_time": 2506.8375227451324, "training": true}',
        Reading(epoch=0, step=1740, values={"train/loss_ssl": 0.04164312779903412, "train/lr": 0.0003887395330217693}),
    ),
    (
        CAIKIT,
        '{"name": "loss", "data": {"epoch": 0.01, "step": 1, "value": 3.9274,'
        ' "timestamp": "2023-09-26T19:25:18.737364"}}',
        Reading(epoch=0.01, step=1, values={"loss": 3.9274}),
    ),
    (
        FAIRSEQ_JSON,
        '{"epoch": 10, "valid_loss": 3.1633157649901, "valid_nll_loss": 1.3739047163839204, "valid_ppl": "2.59"}',
        Reading(
            epoch=10, values={"valid_loss": 3.1633157649901, "valid_nll_loss": 1.3739047163839204, "valid_ppl": 2.59}
        ),
    ),
    (
        FAIRSEQ,
        "2020-07-17 07:11:02 | INFO | train_inner | epoch 001:   2800 / 160368 loss=9.255, ppl=611.12, wps=57.3,"
        " ups=0.04, wpb=1613, bsz=80, num_updates=2800, lr=2.8e-05, gnorm=3.23, train_wall=13, wall=1236",
        Reading(
            epoch=1, step=2800, steps=160368, is_inner=True,
            values={"loss": 9.255, "ppl": 611.12, "wps": 57.3, "ups": 0.04, "lr": 2.8e-05, "gnorm": 3.23},
        ),
    ),
    (
        FAIRSEQ_OLD,
        "| epoch 010 | train loss 1.44 | train ppl 2.72 | s/checkpoint    7747 | words/s    961 | words/batch    906 |"
        " bsz    32 | lr 0.001000 | clip 100% | gnorm 2.1113",
        Reading(epoch=10, values={"train loss": 1.44, "train ppl": 2.72, "lr": 0.001, "gnorm": 2.1113}),
    ),
    (
        TQDM,
        "81989/88743 [10:51:46<53:53,  2.09it/s, loss=5.72711e-14, wps=8.90638e+19, ups=2.11, lr=0.00020708]",
        Reading(
            step=81989, steps=88743, values={"loss": 5.72711e-14, "wps": 8.90638e19, "ups": 2.11, "lr": 0.00020708}
        ),
    ),
    (LIGHTGBM, "[418]\tvalid_0's rmse: 28123.1", Reading(step=418, values={"valid_0 rmse": 28123.1})),
    (
        LIGHTGBM_TWO,
        "[25]    train_loss's rmse: 1.32994      eval's rmse: 1.34434",
        Reading(step=25, values={"train_loss rmse": 1.32994, "eval rmse": 1.34434}),
    ),
    (
        MMDET,
        "2020-05-08 18:56:16,649 - mmdet - INFO - Epoch [1][2400/7517]\tlr: 0.00125, eta: 4:33:09, time: 0.595, "
        "data_time: 0.032, memory: 6836, loss_cls: 0.1939, acc: 93.4961, loss_bbox: 0.1484, loss: 0.4890",
        Reading(
            epoch=1, step=2400, steps=7517, is_inner=True,
            values={"lr": 0.00125, "loss_cls": 0.1939, "acc": 93.4961, "loss_bbox": 0.1484, "loss": 0.489},
        ),
    ),
    (
        MMENGINE,
        "2024/01/24 02:47:35 - mmengine - INFO - Epoch(train)  [83][  50/2693]  base_lr: 2.0000e-03 lr: 3.9620e-04"
        "  eta: 14:57:00  time: 1.1114  data_time: 0.0995  memory: 27201  grad_norm: 1298.9029  loss: 1917.3984",
        Reading(
            epoch=83, step=50, steps=2693, is_inner=True,
            values={"base_lr": 0.002, "lr": 0.0003962, "grad_norm": 1298.9029, "loss": 1917.3984},
        ),
    ),
    (
        YOLO,
        "    70/1000      6.73G      1.081     0.4706      1.084         10        640: 100%|██████████| 16/16"
        " [00:05<00:00,  2.78it/s]",
        Reading(epoch=70, epochs=1000, step=16, steps=16, is_inner=True),
    ),
    (
        PLAIN,
        "step: 2300/ 3305 loss:0.3651 0.3224 2.8433 0.2046 imps:26.6 lr: 0.0343 etc:Tue Sep 17 15:31:41 2019",
        Reading(step=2300, steps=3305, values={"loss": 0.3651, "imps": 26.6, "lr": 0.0343}),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("source", "line", "expected"), LINES, ids=[line[1][:40] for line in LINES])
def test_a_published_line_tells_its_metrics(source: str, line: str, expected: Reading) -> None:
    assert read_line(line) == expected, source


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("epoch 3/40 loss 0.31 acc 0.88", Reading(epoch=3, epochs=40, values={"loss": 0.31, "acc": 0.88})),
        ("step 61,200 of 90,000 loss 2.113", Reading(step=61_200, steps=90_000, values={"loss": 2.113})),
        ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.318654", Reading(1, None, 640, 60_000, True, {"Loss": 2.318654})),
        ("[7]\ttrain-rmse:0.43\teval-rmse:0.44", Reading(step=7, values={"train-rmse": 0.43, "eval-rmse": 0.44})),
        ("  3%|▎         | 30/1000 [00:12<06:40,  2.42it/s]", Reading(step=30, steps=1000)),
        ("Test accuracy: 0.84096", Reading(values={"test accuracy": 0.84096})),
        ("\x1b[32mepoch 2/3\x1b[0m loss: 1.5", Reading(epoch=2, epochs=3, values={"loss": 1.5})),
        (" 1/9 [>..] - loss: 9.0\r 9/9 [==] - loss: 1.0", Reading(None, None, 9, 9, True, {"loss": 1.0})),
    ],
)
def test_a_plain_line_tells_its_metrics(line: str, expected: Reading) -> None:
    assert read_line(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "Listening on port 8080",
        "seed=42 lr=0.1 epochs=40",
        "Number of trainable parameters = 268,435,456",
        "Downloading: 100%|██████████| 440M/440M [00:12<00:00, 35.1MB/s]",
        "Map: 100%|██████████| 3000/3000 [00:01<00:00, 2000.00 examples/s]",
        "Loading checkpoint shards: 100%|██████████| 4/4 [00:02<00:00,  1.5it/s]",
        '{"port": 8080, "workers": 4}',
        "{'loss': nan, 'epoch': 1.0}",
        "loss 1 " * 1_000,
        "",
    ],
)
def test_other_lines_tell_none(line: str) -> None:
    assert read_line(line).is_empty


@given(st.text(alphabet=st.sampled_from("epochstlr 0123456789/[]%|=:,.{}'\"\r\n\x1b-+<━"), max_size=200))
def test_no_text_breaks_the_reader(line: str) -> None:
    reading = read_line(line)

    assert all(value == value for value in reading.values.values())
