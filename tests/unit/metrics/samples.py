"""Lines as training frameworks print them, with their expected reading: (framework, line, reading).

The formats are those of published logs: issues and documentation of each project, read 2026-11-25. The figures are
examples.
"""

from jobs.metrics import Reading

Sample = tuple[str, str, Reading]
NOTHING = Reading()

LINES: list[Sample] = [
    # ------------------------------------------------------------------ Keras
    ("Keras 3", "1875/1875 ━━━━━━━━━━━━━━━━━━━━ 8s 4ms/step - accuracy: 0.9132 - loss: 0.2849 - val_accuracy: 0.9852"
     " - val_loss: 0.0456", Reading(step=1875, steps=1875, is_inner=True, values={
         "accuracy": 0.9132, "loss": 0.2849, "val_accuracy": 0.9852, "val_loss": 0.0456})),
    ("Keras 3", "\x1b[1m 58/938\x1b[0m \x1b[32m━\x1b[0m\x1b[37m━━━━━━━━━━━━━━━━━━━\x1b[0m \x1b[1m5s\x1b[0m 6ms/step - "
     "accuracy: 0.5213 - loss: 1.6021\x08\x08\x08\x08\x08\x08\x08\x08\x08\x08\x08\x08\r\x1b[1m 67/938\x1b[0m \x1b[32m━"
     "\x1b[0m\x1b[37m━━━━━━━━━━━━━━━━━━━\x1b[0m \x1b[1m5s\x1b[0m 6ms/step - accuracy: 0.5513 - loss: 1.5021",
     Reading(step=67, steps=938, is_inner=True, values={"accuracy": 0.5513, "loss": 1.5021})),
    ("Keras 3", "1875/1875 - 4s - 2ms/step - accuracy: 0.7690 - loss: 19.0956 - learning_rate: 1.0000e-03",
     Reading(step=1875, steps=1875, is_inner=True, values={
         "accuracy": 0.769, "loss": 19.0956, "learning_rate": 1e-3})),
    ("Keras 2", " 1/9 [==>...........] - ETA: 3s - loss: 9.0000" + "\b" * 46 + "\r 2/9 [=====>........] - ETA: 2s - "
     "loss: 8.5000", Reading(step=2, steps=9, is_inner=True, values={"loss": 8.5})),
    ("Keras 2", "29312/60000 [=============>................] - ETA: 2:13 - loss: 0.0891 - acc: 0.9733",
     Reading(step=29312, steps=60000, is_inner=True, values={"loss": 0.0891, "acc": 0.9733})),
    ("Keras 2", "  13440/Unknown - 2s - loss: 0.8068 - acc: 0.7432",
     Reading(step=13440, is_inner=True, values={"loss": 0.8068, "acc": 0.7432})),
    ("Keras 2", "405/405 [==============================] - 0s 721us/sample - loss: 0.0888 - val_loss: 0.2726",
     Reading(step=405, steps=405, is_inner=True, values={"loss": 0.0888, "val_loss": 0.2726})),
    ("Keras", "Epoch 87/5000", Reading(epoch=87, epochs=5000)),
    ("Keras", "Epoch 00086: ReduceLROnPlateau reducing learning rate to 0.0001250000059371814.", Reading(epoch=86)),
    ("Keras", "Epoch 00001: val_loss improved from inf to 0.20000, saving model to models/model.01-0.2000.hdf5",
     Reading(epoch=1)),
    ("Keras", "Restoring model weights from the end of the best epoch: 3.", NOTHING),
    ("Keras", "1/1 [==============================] - 0s 675ms/step", NOTHING),
    ("Keras", "11490434/11490434 ━━━━━━━━━━━━━━━━━━━━ 0s 0us/step", NOTHING),
    # ------------------------------------------------------------------ PyTorch Lightning
    ("Lightning", "Epoch 0: 100%|██████████| 938/938 [00:08<00:00, 107.56it/s, v_num=0, train_loss_step=0.102, "
     "val_acc=0.98, train_loss_epoch=0.15]", Reading(epoch=0, step=938, steps=938, is_inner=True, values={
         "train_loss_step": 0.102, "val_acc": 0.98, "train_loss_epoch": 0.15})),
    ("Lightning rich", "Epoch 4    --------------- ---- 232/291 0:00:33 • 0:00:09 7.00it/s loss: 0.398",
     Reading(epoch=4, step=232, steps=291, is_inner=True, values={"loss": 0.398})),
    ("Lightning rich", "Epoch 3/9  ━━━━━━━━━━━━━━━━╸━━━━ 100/938 0:00:03 • 0:00:25 33.40it/s v_num: 0.000 "
     "train_loss: 0.512", Reading(epoch=3, epochs=9, step=100, steps=938, is_inner=True, values={
         "train_loss": 0.512})),
    ("tqdm", "(latest-run) Epoch 1/5 [Val]: 100%|██████████| 5/5 [00:01<00:00,  4.5it/s, loss=0.31]",
     Reading(epoch=1, epochs=5, values={"val loss": 0.31})),
    ("tqdm", "(latest-run) Epoch 1/5: 50%|█████     | 5/10 [00:01<00:01,  4.5it/s, loss=0.31]",
     Reading(epoch=1, epochs=5, step=5, steps=10, is_inner=True, values={"loss": 0.31})),
    ("Lightning", "Sanity Checking DataLoader 0:  50%|█████     | 1/2 [00:00<00:00, 10.21it/s]", NOTHING),
    ("Lightning", "Validation DataLoader 0:  40%|████      | 4/10 [00:00<00:00, 55.1it/s]", NOTHING),
    ("Lightning", "Epoch 0, global step 9000: 'val_loss' reached 7.04238 (best 7.04238), saving model to '/data/ckpt/"
     "gpt--val_loss=7.04-step=9000-consumed_samples=630000.0.ckpt' as top 3",
     Reading(epoch=0, step=9000, values={"val_loss": 7.04238})),
    ("NeMo", "Epoch 0: :   3%|▎         | 9000/301500 [1:42:42<55:37:46, v_num=0-56, reduced_train_loss=nan.0, "
     "global_step=9e+3, consumed_samples=6.3e+5, train_step_timing in s=0.615, val_loss=7.040]",
     Reading(epoch=0, step=9000, steps=301500, is_inner=True, values={"val_loss": 7.04})),
    ("NeMo", "Training epoch 0, iteration 120/149 | lr: 3e-05 | consumed_samples: 121 | global_batch_size: 1 | "
     "global_step: 120 | reduced_train_loss: 1.233 | train_step_timing in s: 0.03146 | val_loss: 4.106",
     Reading(epoch=0, step=120, steps=149, is_inner=True, values={
         "lr": 3e-05, "reduced_train_loss": 1.233, "val_loss": 4.106})),
    # ------------------------------------------------------------------ Hugging Face
    ("Trainer", "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2.5e-08, 'rewards/chosen': nan, "
     "'rewards/accuracies': 0.5, 'logits/chosen': -3.114, 'epoch': 0.0}", Reading(epoch=0.0, values={
         "loss": 0.0, "learning_rate": 2.5e-08, "rewards/accuracies": 0.5, "logits/chosen": -3.114})),
    ("Trainer", "{'loss': '0.6931', 'grad_norm': '1.25', 'learning_rate': '5e-05', 'epoch': '0.1'}",
     Reading(epoch=0.1, values={"loss": 0.6931, "grad_norm": 1.25, "learning_rate": 5e-05})),
    ("Trainer", "{'loss': np.float64(0.6931), 'grad_norm': np.float32(1.25), 'epoch': 0.1}",
     Reading(epoch=0.1, values={"loss": 0.6931, "grad_norm": 1.25})),
    ("Trainer", "{'loss': tensor(0.25, device='cuda:0'), 'epoch': 2}", Reading(epoch=2, values={"loss": 0.25})),
    ("Trainer", "{'eval_loss': 0.81, 'eval_runtime': 9.58, 'eval_samples_per_second': 10.4, 'eval_steps_per_second': "
     "1.357, 'eval_rewards/margins': -0.07, 'epoch': 0.2}", Reading(epoch=0.2, values={
         "eval_loss": 0.81, "eval_rewards/margins": -0.07})),
    ("Trainer", "{'train_runtime': 512.3, 'train_samples_per_second': 58.5, 'train_steps_per_second': 0.73, "
     "'train_loss': 0.4412, 'epoch': 3.0}", Reading(epoch=3.0, values={"train_loss": 0.4412})),
    ("Trainer", " 10%|█         | 100/1000 [00:10<01:30, 10.0it/s]\r                            \r{'loss': 0.5, "
     "'learning_rate': 4e-05, 'epoch': 0.3}\r 10%|█         | 101/1000 [00:10<01:30, 10.0it/s]",
     Reading(epoch=0.3, step=101, steps=1000, values={"loss": 0.5, "learning_rate": 4e-05})),
    ("Trainer", "  8%|███▎       | 1999/24128 [1:52:09<20:27:23,  3.33s/it]", Reading(step=1999, steps=24128)),
    ("Trainer", "  Num Epochs = 3", Reading(epochs=3)),
    ("Trainer", "  Total optimization steps = 375", Reading(steps=375)),
    ("Trainer", "  epoch                    =        3.0", Reading(epoch=3.0)),
    ("Trainer", "  train_loss               =     0.4412", Reading(values={"train_loss": 0.4412})),
    ("Trainer", "  train_runtime            = 0:08:32.30", NOTHING),
    ("Trainer", "  train_samples_per_second =     58.561", NOTHING),
    ("Trainer", "  Number of trainable parameters = 124,439,808", NOTHING),
    ("TRL", "Tokenizing train dataset: 100%|██████████| 1000/1000 [00:01<00:00, 800.12 examples/s]", NOTHING),
    ("datasets", "Generating train split: 100%|██████████| 1000/1000 [00:00<00:00, 51200.1 examples/s]", NOTHING),
    ("diffusers", "Steps:   5%|▌         | 50/1000 [00:50<15:00,  1.05it/s, lr=1e-5, step_loss=0.123]",
     Reading(step=50, steps=1000, values={"lr": 1e-5, "step_loss": 0.123})),
    ("torchtune", "1|25|Loss: 1.2345:   3%|▎         | 25/808 [00:10<05:13,  2.50it/s]",
     Reading(step=25, steps=808, values={"Loss": 1.2345})),
    ("accelerate", "epoch 2: {'accuracy': 0.8431372549019608, 'f1': 0.8897}",
     Reading(epoch=2, values={"accuracy": 0.8431372549019608, "f1": 0.8897})),
    # ------------------------------------------------------------------ DeepSpeed, Megatron, NeMo, torchtitan, MaxText
    ("DeepSpeed", "[2022-03-11 02:06:58,985] [INFO] [logging.py:69:log_dist] [Rank 0] step=40, skipped=2, "
     "lr=[5e-05], mom=[[0.9, 0.999]]", Reading(step=40, values={"lr": 5e-05})),
    ("DeepSpeed", "[2022-03-11 02:06:58,985] [INFO] [timer.py:189:stop] 0/40, SamplesPerSec=83.486, "
     "MemAllocated=0.26GB, MaxMemAllocated=9.02GB", NOTHING),
    ("DeepSpeed", "[2023-07-25 21:03:17,269] [INFO] [timer.py:215:stop] epoch=0/micro_step=34/global_step=34, "
     "RunningAvgSamplesPerSec=7.86, CurrSamplesPerSec=8.0, MemAllocated=59.65GB", Reading(epoch=0, step=34)),
    ("DeepSpeed", "[2023-07-25 21:03:17,269] [INFO] [logging.py:96:log_dist] [Rank 0] rank=0 time (ms) | forward: "
     "652.41 | backward: 2164.52 | step: 1172.13", NOTHING),
    ("DeepSpeed", "steps: 10 loss: 0.7321 iter time (s): 0.512 samples/sec: 62.5",
     Reading(step=10, values={"loss": 0.7321})),
    ("DeepSpeed", "[loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale:"
     " 65536, reducing to 32768", NOTHING),
    ("Megatron", " iteration      122/  250000 | consumed samples:       124928 | elapsed time per iteration (ms): "
     "86545.2 | learning rate: 9.150E-06 | global batch size:  1024 | lm loss: 2.504220E+00 | loss scale: 1.0 | "
     "grad norm: 0.231 | number of skipped iterations:   0 | number of nan iterations:   0 |",
     Reading(step=122, steps=250000, values={"learning rate": 9.15e-06, "lm loss": 2.50422, "grad norm": 0.231})),
    ("Megatron", " validation loss at iteration 1000 | lm loss value: 2.5E+00 | lm loss PPL: 1.218E+01 | ",
     Reading(step=1000, values={"validation lm loss value": 2.5, "validation lm loss ppl": 12.18})),
    ("Megatron", "epoch   0/ 10 | global iteration       20/    3402 | learning rate 3e-06 | lm loss 7.72363 | loss "
     "scale 512.0 |", Reading(epoch=0, epochs=10, step=20, steps=3402, values={
         "learning rate": 3e-06, "lm loss": 7.72363})),
    ("torchtitan", "[rank0]:[titan] 2026-05-18 16:04:46,338 - root - INFO - step: 14  loss:  3.24405  grad_norm:  "
     "0.8319  memory:  9.46GiB(64.99%)  tps: 7,282  tflops: 0.52  mfu: 0.17%", Reading(step=14, values={
         "loss": 3.24405, "grad_norm": 0.8319, "tps": 7282, "tflops": 0.52, "mfu": 0.17})),
    ("MaxText", "I0811 21:54:55.531340 138304841739136 metric_logger.py:226] completed step: 1, seconds: 0.631, "
     "TFLOP/s/device: 5688.282, Tokens/s/device: 311629.521, total_weights: 1572864, loss: 12.979, lm_loss: 12.979, "
     "perplexity: 433358.281", Reading(step=1, values={
         "TFLOP/s/device": 5688.282, "Tokens/s/device": 311629.521, "loss": 12.979, "lm_loss": 12.979,
         "perplexity": 433358.281})),
    ("nanoGPT", "iter 2920: loss 3.9883, time 1099.34ms, mfu 15.34%", Reading(step=2920, values={"loss": 3.9883})),
    ("nanoGPT", "2023-03-22 09:32:32 step 3000: train loss 4.0390, val loss 4.0427",
     Reading(step=3000, values={"train loss": 4.039, "val loss": 4.0427})),
    ("nanoGPT", "iter 3010: loss nan, time 1019.95ms, mfu 14.12%", Reading(step=3010)),
    ("llm.c", "step    1/19560 | loss 10.954 (+nanz)| norm 15.40 (+nanz)| lr 8.57e-07 | 1234.56 ms | 54.3% bf16 MFU | "
     "424000 tok/s", Reading(step=1, steps=19560, values={"loss": 10.954, "norm": 15.4, "lr": 8.57e-07})),
    # ------------------------------------------------------------------ vision
    ("ImageNet example", "Epoch: [0][   10/40037]\tTime  0.018 ( 0.114)\tData  0.000 ( 0.059)\tLoss 2.9971e+00 "
     "(6.2409e+00)\tAcc@1 100.00 ( 81.82)\tAcc@5 100.00 ( 81.82)", Reading(
         epoch=0, step=10, steps=40037, is_inner=True, values={"Loss": 2.9971, "Acc@1": 100, "Acc@5": 100})),
    ("ImageNet example", " * Acc@1 67.596 Acc@5 88.500", Reading(values={"Acc@1": 67.596, "Acc@5": 88.5})),
    ("ImageNet example", "Test: [  0/196]\tTime  3.021 ( 3.021)\tLoss 1.0345e+00 (1.0345e+00)\tAcc@1  74.22 ( 74.22)",
     Reading(values={"test Loss": 1.0345, "test Acc@1": 74.22})),
    ("torchvision", "Epoch: [0]  [ 103/5005]  eta: 4:43:31  lr: 0.1  img/s: 13.62830983555788  loss: 6.8536 (6.9458)  "
     "acc1: 0.0000 (0.2103)  acc5: 0.0000 (0.9916)  time: 2.5401  data: 0.0336  max mem: 3524", Reading(
         epoch=0, step=103, steps=5005, is_inner=True, values={
             "lr": 0.1, "img/s": 13.62830983555788, "loss": 6.8536, "acc1": 0.0, "acc5": 0.0})),
    ("timm", "Train: 2 [  50/1251 (  4%)]  Loss: 6.948 (6.95)  Time: 0.524s,  488.55/s  (0.624s,  410.13/s)  "
     "LR: 1.000e-05  Data: 0.017 (0.055)", Reading(epoch=2, step=50, steps=1251, is_inner=True, values={
         "Loss": 6.948, "LR": 1e-5})),
    ("timm", "Test: [   0/48]  Time: 1.553 (1.553)  Loss:   0.6523 (0.6523)  Acc@1: 85.9375 (85.9375)  "
     "Acc@5: 96.8750 (96.8750)", Reading(values={
         "test Loss": 0.6523, "test Acc@1": 85.9375, "test Acc@5": 96.875})),
    ("detectron2", "[04/05 01:30:24 d2.utils.events]:  eta: 0:03:35  iter: 19  total_loss: 1.36  loss_cls: 0.6522  "
     "time: 0.3636  data_time: 0.1102  lr: 3.8077e-06  max_mem: 433M", Reading(step=19, values={
         "total_loss": 1.36, "loss_cls": 0.6522, "lr": 3.8077e-06})),
    ("detectron2", " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.391", NOTHING),
    ("detectron2", " Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = 0.595", NOTHING),
    ("maskrcnn", "2019-05-27 10:48:54,461 maskrcnn_benchmark.trainer INFO: eta: 0:17:37  iter: 87940  loss: 0.6097 "
     "(0.9191)  loss_mask: 0.2618 (0.3238)  time: 0.5063 (0.5132)  data: 0.0062 (0.0078)  lr: 0.000025  max mem: 4358",
     Reading(step=87940, values={"loss": 0.6097, "loss_mask": 0.2618, "lr": 2.5e-05})),
    ("mmengine", "2024/01/24 02:47:35 - mmengine - INFO - Epoch(val) [83][1250/1250]    coco/bbox_mAP: 0.3910  "
     "coco/bbox_mAP_50: 0.5950  data_time: 0.0101  time: 0.1021", Reading(
         epoch=83, values={"val coco/bbox_mAP": 0.391, "val coco/bbox_mAP_50": 0.595})),
    ("PaddleDetection", "[07/21 14:43:00] ppdet.engine INFO: Epoch: [0] [ 20/200] learning_rate: 0.000025 loss_xy: "
     "7.020596 loss: 1037.630493 eta: 10 days, 19:39:33 batch_cost: 6.6231 data_cost: 6.0753 ips: 4.8315 images/s",
     Reading(epoch=0, step=20, steps=200, is_inner=True, values={
         "learning_rate": 2.5e-05, "loss_xy": 7.020596, "loss": 1037.630493, "ips": 4.8315})),
    ("PaddleSeg", "2021-03-30 06:55:57 [INFO]\t[TRAIN] epoch: 1, iter: 20/500, loss: 2.0859, lr: 0.009657, batch_cost: "
     "0.5344, reader_cost: 0.07273, ips: 3.7425 samples/sec | ETA 00:04:16", Reading(
         epoch=1, step=20, steps=500, is_inner=True, values={"loss": 2.0859, "lr": 0.009657, "ips": 3.7425})),
    ("PaddleSeg", "2021-01-13 16:41:31 [INFO]    [EVAL] #Images=76 mIoU=0.8526 Acc=0.9942 Kappa=0.8283",
     Reading(values={"eval mIoU": 0.8526, "eval Acc": 0.9942, "eval Kappa": 0.8283})),
    ("PaddleOCR", "[2024/06/22 06:28:25] ppocr INFO: epoch: [4/500], global_step: 172, lr: 0.000100, loss: 1.5, "
     "avg_reader_cost: 0.04024 s, avg_batch_cost: 0.05132 s, avg_samples: 0.9, ips: 17.53771 samples/s, eta: 2:48:41,"
     " max_mem_reserved: 6177 MB", Reading(epoch=4, epochs=500, step=172, values={
         "lr": 1e-4, "loss": 1.5, "ips": 17.53771})),
    ("DCGAN", "[0/5][50/1583]\tLoss_D: 1.7410\tLoss_G: 5.6101\tD(x): 0.5213\tD(G(z)): 0.5 / 0.01", Reading(
        epoch=0, epochs=5, step=50, steps=1583, is_inner=True, values={"Loss_D": 1.741, "Loss_G": 5.6101})),
    ("PyTorch tutorials", "[2,  2000] loss: 1.234", Reading(epoch=2, step=2000, is_inner=True, values={"loss": 1.234})),
    ("PyTorch tutorials", "loss: 1.234567  [ 6400/60000]", Reading(
        step=6400, steps=60000, values={"loss": 1.234567})),
    ("PyTorch example", "| epoch   5 |   100/ 2983 batches | lr 0.10 | ms/batch  7.34 | loss  4.53 | ppl    92.61",
     Reading(epoch=5, step=100, steps=2983, is_inner=True, values={"lr": 0.1, "loss": 4.53, "ppl": 92.61})),
    ("Plain", "Epoch [2/5], Loss: 0.1234, Accuracy: 96.12%", Reading(
        epoch=2, epochs=5, values={"Loss": 0.1234, "Accuracy": 96.12})),
    ("Plain", "Episode 10/500, reward: 23.5, epsilon: 0.95", Reading(step=10, steps=500, values={
        "reward": 23.5})),
    ("Plain", "Iteration 100: Cost 0.512", Reading(step=100, values={"Cost": 0.512})),
    ("MXNet", "INFO:root:Epoch[0] Batch [100]\tSpeed: 1234.50 samples/sec\taccuracy=0.912", Reading(
        epoch=0, step=100, is_inner=True, values={"accuracy": 0.912})),
    ("Model Garden", " eval | step:    100 | eval time:   12.3 sec | output: {'accuracy': 0.91, 'loss': 0.3}",
     Reading(step=100, values={"eval accuracy": 0.91, "eval loss": 0.3})),
    ("verl", "(TaskRunner pid=87031) step:83 - global_seqlen/min:340538.000 - actor/entropy_loss:0.317 - actor/kl_coef:"
     "0.001 - perf/max_memory_allocated_gb:44.192 - actor/lr:0.000 - critic/rewards/mean:0.906 - timing_s/reward:1.042",
     Reading(step=83, values={"actor/entropy_loss": 0.317, "actor/lr": 0.0, "critic/rewards/mean": 0.906})),
    ("OLMo", "2024-08-06 10:00:05.520 node-160750:0  olmo.train:908  INFO    [step=2/739328,epoch=0]",
     Reading(epoch=0, step=2, steps=739328)),
    ("AllenNLP", "2017-10-14 16:48:58,960 - INFO - allennlp.training.trainer - Batch 567/17168: accuracy: 0.42, loss: "
     "1.32 ||", Reading(step=567, steps=17168, is_inner=True, values={"accuracy": 0.42, "loss": 1.32})),
    ("U-2-Net", "[epoch:   2/100000, batch:  8268/13617, ite: 1824] train loss: 1.519413, tar: 0.169732", Reading(
        epoch=2, epochs=100000, step=8268, steps=13617, is_inner=True, values={
            "train loss": 1.519413, "tar": 0.169732})),
    ("PaddleNLP", "[2022-11-23 11:11:27,064] [    INFO] - loss: 1.0899848, learning_rate: 9.9e-05, global_step: 10, "
     "interval_runtime: 8.2708, interval_samples_per_second: 309.523, epoch: 0.0065", Reading(
         epoch=0.0065, step=10, values={"loss": 1.0899848, "learning_rate": 9.9e-05})),
    ("Coqui", "   --> TIME: 2022-01-01 10:00:00 -- STEP: 10/500 -- GLOBAL_STEP: 510",
     Reading(step=10, steps=500, is_inner=True)),
    ("mmengine", "2024/01/01 10:00:00 - mmengine - INFO - Iter(val) [100/100]    aAcc: 80.1  mIoU: 40.2  mAcc: 50.3  "
     "data_time: 0.01  time: 0.05", Reading(values={"val aAcc": 80.1, "val mIoU": 40.2, "val mAcc": 50.3})),
    ("LLaMA-Factory", '{"current_steps": 10, "total_steps": 375, "loss": 1.2, "lr": 5e-05, "epoch": 0.08, "percentage":'
     ' 2.67, "elapsed_time": "0:00:12"}', Reading(epoch=0.08, step=10, steps=375, values={"loss": 1.2, "lr": 5e-05})),
    ("PyTorch-GAN", "[Epoch 3/200] [Batch 5/938] [D loss: 0.687415] [G loss: 0.701232]", Reading(
        epoch=3, epochs=200, step=5, steps=938, is_inner=True, values={"d loss": 0.687415, "g loss": 0.701232})),
    ("StyleTTS2", "Epoch [1/75], Step [110/464], Loss: 0.31109, Disc Loss: 3.86298, CE Loss: 0.01998", Reading(
        epoch=1, epochs=75, step=110, steps=464, is_inner=True, values={
            "Loss": 0.31109, "disc loss": 3.86298, "ce loss": 0.01998})),
    ("MNIST example", "Test set: Average loss: 0.0566, Accuracy: 9822/10000 (98%)",
     Reading(values={"test average loss": 0.0566, "test Accuracy": 0.9822})),
    # ------------------------------------------------------------------ language and speech
    ("fairseq", "| epoch 002:     50 / 306 loss=0.211, nll_loss=0.211, ppl=1.16, wps=6348, ups=0, num_updates=347, "
     "lr=4.15825e-05, gnorm=0.183, clip=0.000, oom=0.000, loss_scale=0.125, wall=7944, train_wall=6864", Reading(
         epoch=2, step=50, steps=306, is_inner=True, values={
             "loss": 0.211, "nll_loss": 0.211, "ppl": 1.16, "wps": 6348, "ups": 0, "lr": 4.15825e-05,
             "gnorm": 0.183, "clip": 0.0})),
    ("fairseq", "| epoch 001 | valid on 'valid' subset | loss 0.584 | nll_loss 0.584 | ppl 1.50 | num_updates 296",
     Reading(epoch=1, step=296, values={"valid loss": 0.584, "valid nll_loss": 0.584, "valid ppl": 1.5})),
    ("fairseq", "| saved checkpoint /raid/T5_checkpoints/550/checkpoint_best.pt (epoch 1 @ 296 updates) (writing took "
     "166.43 seconds)", Reading(epoch=1)),
    ("flair", "2022-11-08 11:14:32,333 epoch 1 - iter 122/1227 - loss 0.93329908 - time (sec): 5.65 - samples/sec: "
     "86.35 - lr: 0.000030", Reading(epoch=1, step=122, steps=1227, is_inner=True, values={
         "loss": 0.93329908, "lr": 3e-05})),
    ("flair", "2019-02-19 18:37:12,571 DEV  : loss 0.03877527 - f-score 0.5586 - acc 0.5586",
     Reading(values={"dev loss": 0.03877527, "dev f-score": 0.5586, "dev acc": 0.5586})),
    ("Automodel", "2026-07-26 19:37:11 | INFO | nemo_automodel.recipes.llm.train_eagle1 | epoch=0 step=1070 loss=2.5004"
     " acc=0.3245 lr=2.61109e-05 grad_norm=0.123 rank_loss=20.51 token_loss=4.905", Reading(
         epoch=0, step=1070, values={"loss": 2.5004, "acc": 0.3245, "lr": 2.61109e-05, "grad_norm": 0.123,
                                     "rank_loss": 20.51, "token_loss": 4.905})),
    ("OpenNMT", "[2023-01-10 10:00:00,123 INFO] Step 50/100000; acc: 5.2; ppl: 6325.4; xent: 8.8; lr: 0.00001; "
     "sents: 3200; bsz: 1205/1190/64; 5120/5060 tok/s;     12 sec;", Reading(step=50, steps=100000, values={
         "acc": 5.2, "ppl": 6325.4, "xent": 8.8, "lr": 1e-5})),
    # ------------------------------------------------------------------ trees, scikit-learn
    ("XGBoost", "[11]\tvalidation_0-auc:0.64931\tvalidation_0-logloss:0.70277\tvalidation_1-auc:0.53782", Reading(
        step=11, values={"validation_0-auc": 0.64931, "validation_0-logloss": 0.70277, "validation_1-auc": 0.53782})),
    ("XGBoost", "[10]#011train-rmse:0.43115#011validation-rmse:0.44981",
     Reading(step=10, values={"train-rmse": 0.43115, "validation-rmse": 0.44981})),
    ("XGBoost", "[3]\ttrain-rmse:0.43115+0.00123\ttest-rmse:0.44981+0.00211",
     Reading(step=3, values={"train-rmse": 0.43115, "test-rmse": 0.44981})),
    ("LightGBM", "[100]\tcv_agg's l2: 0.0512 + 0.0031", Reading(step=100, values={"cv_agg l2": 0.0512})),
    ("LightGBM", "[LightGBM] [Info] Total Bins 25500", NOTHING),
    ("CatBoost", "100:\tlearn: 0.1697219\ttest: 0.1530068\tbest: 0.1530068 (100)\ttotal: 3.7s\tremaining: 33s",
     Reading(step=100, values={"learn": 0.1697219, "test": 0.1530068, "best": 0.1530068})),
    ("CatBoost", "34:     learn: 0.9508429        test: 0.8235312 best: 0.8356368 (1)     total: 17.5s    remaining: "
     "1h 39m 38s", Reading(step=34, values={"learn": 0.9508429, "test": 0.8235312, "best": 0.8356368})),
    ("CatBoost", "bestIteration = 566", NOTHING),
    ("scikit-learn", "Iteration 12, loss = 0.30512345", Reading(step=12, values={"loss": 0.30512345})),
    ("scikit-learn", "[Parallel(n_jobs=-1)]: Done  42 tasks      | elapsed:    0.1s", NOTHING),
    ("scikit-learn", "Norm: 1.52, NNZs: 10, Bias: 0.512, T: 100, Avg. loss: 0.6123",
     Reading(values={"avg loss": 0.6123})),
    # ------------------------------------------------------------------ TensorFlow
    ("Estimator", "INFO:tensorflow:loss = 4.264659, step = 100 (124.394 sec)",
     Reading(step=100, values={"loss": 4.264659})),
    ("TensorFlow", "Average loss at step 100000: 3.454290", Reading(step=100000, values={"average loss": 3.45429})),
    ("TensorFlow", "Loss step 12:  38.094772", Reading(step=12, values={"Loss": 38.094772})),
    ("CLU", "INFO:absl:[500] train_accuracy=0.9849, train_loss=0.0619", Reading(step=500, values={
        "train_accuracy": 0.9849, "train_loss": 0.0619})),
    ("Estimator", "INFO:tensorflow:global_step/sec: 0.803899", NOTHING),
    ("Estimator", "INFO:tensorflow:global step 182: loss = 0.6880 (1.231 sec/step)",
     Reading(step=182, values={"loss": 0.688})),
    ("Estimator", "INFO:tensorflow:Saving dict for global step 1625: accuracy = 0.5, global_step = 1625, loss = 0.7",
     Reading(step=1625, values={"accuracy": 0.5, "loss": 0.7})),
    ("Object Detection", "INFO:tensorflow:Step 100 per-step time 0.512s loss=0.921",
     Reading(step=100, values={"loss": 0.921})),
    # ------------------------------------------------------------------ others
    ("hypertune", '{"timestamp": 1741161877.09, "trial": "3", "accuracy": "0.89", "global_step": "10"}',
     Reading(step=10, values={"accuracy": 0.89})),
    ("JSON", '{"severity": "INFO", "message": "epoch 3/40 loss 0.31", "timestamp": "2026-01-01T10:00:00Z"}',
     Reading(epoch=3, epochs=40, values={"loss": 0.31})),
    ("JSON", 'epoch 3 loss 0.31 {"step": 300}', Reading(epoch=3, step=300, values={"loss": 0.31})),
    ("JSON", 'step done {"step": 300, "loss": 0.5}', Reading(step=300, values={"loss": 0.5})),
    ("JSON", '{"level": "info", "step": 100, "metrics": {"loss": 0.5, "acc": 0.9}, "elapsed": 12.5}',
     Reading(step=100, values={"loss": 0.5, "acc": 0.9})),
    ("JSON", '{"epoch": 4, "loss": NaN, "acc": 0.9, "lr": Infinity}', Reading(epoch=4, values={"acc": 0.9})),
    ("Detectron", 'json_stats: {"accuracy_cls": 0.98, "eta": "0:21:51", "iter": 55080, "loss": 0.024404, "lr": '
     '0.000025, "mb_qsize": 64, "mem": 3084, "time": 0.266505}', Reading(step=55080, values={
         "accuracy_cls": 0.98, "loss": 0.024404, "lr": 2.5e-05})),
    ("Ray", "(RayTrainWorker pid=9064, ip=10.0.0.1) Epoch 2 loss=0.25", Reading(epoch=2, values={"loss": 0.25})),
    ("Ray", "  episode_reward_mean: 22.577142857142857", Reading(values={"episode_reward_mean": 22.577142857142857})),
    ("rsl_rl", "                            Learning iteration 1/10                              ",
     Reading(step=1, steps=10)),
    ("rsl_rl", "                        Mean value loss: 19.7410", Reading(values={"mean value loss": 19.741})),
    ("wandb", "wandb: train/loss 0.51234", Reading(values={"train/loss": 0.51234})),
    ("Python", "INFO:root:Epoch 3/40 - loss: 0.31", Reading(epoch=3, epochs=40, values={"loss": 0.31})),
    ("Python", "I0619 10:00:00.123456 140 train.py:22] step 5 loss 1.25", Reading(step=5, values={"loss": 1.25})),
    ("Python", "2024-01-01T10:00:00 INFO train:12 step=5 loss=1.25", Reading(step=5, values={"loss": 1.25})),
    ("Python", "\x1b[34m[3,0]<stdout>:\x1b[0mepoch 2/3 loss: 1.5", Reading(epoch=2, epochs=3, values={"loss": 1.5})),
]  # fmt: skip

OTHERS = [
    "Traceback (most recent call last):",
    '  File "/app/train.py", line 42, in <module>',
    "    loss = 0.5 * criterion(output, target)",
    "ValueError: 12.5 is not in range",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.78 GiB total capacity)",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x512 and 256x10)",
    "torch==2.1.0 tensorflow==2.15.0 numpy==1.26.4",
    "Python 3.10.12, CUDA 12.1, cuDNN 8.9.2",
    "Connecting to 10.128.0.5:8470 from 10.0.0.12",
    "MASTER_ADDR=10.0.0.2 MASTER_PORT=29500 RANK=0 WORLD_SIZE=8",
    "t1v-n-0a1b:123:145 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.2<0>",
    "[0] NCCL INFO Channel 00/02 : 0 1 2 3",
    "Fetching 5 files: 100%|██████████| 5/5 [00:00<00:00, 12.21it/s]",
    "model-00001-of-00002.safetensors: 100%|██████████| 4.98G/4.98G [01:58<00:00, 42.1MB/s]",
    "train: Scanning /data/labels... 126 images, 2 backgrounds, 0 corrupt: 100%|██████████| 128/128 [00:00<00:00]",
    "     ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 755.5/755.5 MB 12.3 MB/s eta 0:00:00",
    "Downloading data: 170500096/170498071 [==============================] - 5s 0us/step",
    "engine/trainer: task=detect, mode=train, model=yolov8n.pt, epochs=100, patience=50, batch=16, imgsz=640, iou=0.7, "
    "lr0=0.01, lrf=0.01, momentum=0.937, box=7.5, cls=0.5, dfl=1.5, label_smoothing=0.0",
    "Namespace(lr=0.001, batch_size=64, gamma=0.7, seed=1, loss_weight=0.5)",
    "python train.py --lr=0.1 --loss=0.5 --epochs 90 --iou=0.5",
    '{"lr": 0.001, "l2": 0.01, "hidden": 128, "layers": 4}',
    "{'precision': 16, 'gpus': 1}",
    "gs://bucket/run/checkpoint-500/val_loss=0.31.ckpt",
    "Saved checkpoint to /out/epoch=3-step=100-val_loss=0.31.ckpt",
    "I0811 21:55:27.300509       7 profiler_session.cc:121] Profiler session initializing.",
    "2020-09-07 12:33:03.542709: I tensorflow/core/common_runtime/gpu/gpu_device.cc:990]      0 ",
    "INFO:tensorflow:Saving checkpoints for 0 into /models/test_10ep/model.ckpt.",
    "| N/A   34C    P0    25W /  70W |      0MiB / 15360MiB |      0%      Default |",
    "HTTP Error: 404",
    "exit code: 1",
    "Elapsed 00:12:30, ETA: 3:15:20",
    "speed: 12.5 samples/s",
    "Training took 512.3 seconds",
    "Total params: 38,211,247",
    "GET /healthz 200 0.002",
    "loss_fn=CrossEntropyLoss reduction=mean",
    "11/23/2023 07:08:29 - INFO - __main__ -   Num batches each epoch = 5",
    "best iteration = 853",
    "I0706 16:49:36.944943 140110937163584 pyconfig.py:559] Config param target_eval_loss: 0.5",
    "I0706 16:49:36.944943 140110937163584 pyconfig.py:559] Config param num_iterations: 1",
    "    step=[8, 11],",
    "            loss = (1 - mixing) * loss_fn(y_hat, y) + mixing * loss_fn(y_hat, y_perm)",
    "Step 2. Connected components and loss calculation",
    "- Step 1: Ask the user to restart the desktop app.",
    "Train split: 100%|██████████| 1123/1123 [00:47<00:00, 2300.69 examples/s]",
    "Map: 100%|██████████| 16/16 [00:02<00:00,  7.47ba/s]",
    "Parameters: depth = 6, learning_rate = 0.1, iterations = 100, l2_leaf_reg = 0.1, rsm = 0.95",
    "Running on 8 GPUs with batch size 32",
]
"""Lines that tell nothing of the training."""
