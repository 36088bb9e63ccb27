# SPDX-License-Identifier: Apache-2.0
"""lightning 2.6.6: callbacks that move memory, and those that do not."""
import copy

import snug
from lightning.core import Callback


class Checkpoint(Callback):
    pass


class ModelCheckpoint(Checkpoint):
    def __init__(self, *args, **kwargs):
        self.best_model_path = snug.unknown()
        self.best_model_score = None
        self.last_model_path = snug.unknown()


class EarlyStopping(Callback):
    def __init__(self, *args, **kwargs):
        pass


class LearningRateMonitor(Callback):
    def __init__(self, *args, **kwargs):
        pass


class ModelSummary(Callback):
    def __init__(self, *args, **kwargs):
        pass


class RichModelSummary(ModelSummary):
    pass


class ProgressBar(Callback):
    def __init__(self, *args, **kwargs):
        pass


class TQDMProgressBar(ProgressBar):
    pass


class RichProgressBar(ProgressBar):
    pass


class Timer(Callback):
    def __init__(self, *args, **kwargs):
        pass


class DeviceStatsMonitor(Callback):
    def __init__(self, *args, **kwargs):
        pass


class LambdaCallback(Callback):
    def __init__(self, **kwargs):
        for name, function in kwargs.items():
            setattr(self, name, function)


class GradientAccumulationScheduler(Callback):
    def __init__(self, scheduling):
        self.scheduling = scheduling

    def on_train_epoch_start(self, trainer, *args):
        for epoch, accumulate in self.scheduling.items():
            if trainer.current_epoch >= epoch:
                trainer.accumulate_grad_batches = accumulate


# callbacks/stochastic_weight_avg.py: the average comes onto the card at its first epoch
class StochasticWeightAveraging(Callback):
    def __init__(self, swa_lrs, swa_epoch_start=0.8, annealing_epochs=10, annealing_strategy="cos", avg_fn=None, device="cpu"):
        self._device = device
        self._average_model = None
        snug.note("StochasticWeightAveraging is followed from the first epoch on; its average is on " + ("the card" if device is None or device != "cpu" else "the host"))

    def setup(self, trainer, pl_module, stage):
        self._average_model = copy.deepcopy(pl_module)

    def on_train_epoch_start(self, trainer, pl_module):
        self._average_model = self._average_model.to(self._device or "cuda")


# callbacks/weight_averaging.py: the average is made where the model is before fit moves it, so on the host
class WeightAveraging(Callback):
    def __init__(self, device=None, use_buffers=True, **kwargs):
        self._device = device
        self._average_model = None
        snug.note("the copies that WeightAveraging makes of weights in passing are not followed; the figure may err low by one weight")

    def setup(self, trainer, pl_module, stage):
        if stage == "fit" and self._device is not None:
            self._average_model = copy.deepcopy(pl_module)
            self._average_model.to(self._device)


class EMAWeightAveraging(WeightAveraging):
    def __init__(self, device=None, use_buffers=True, decay=0.999, **kwargs):
        super().__init__(device=device, use_buffers=use_buffers)


class BaseFinetuning(Callback):
    def __init__(self, *args, **kwargs):
        snug.note("what finetuning callbacks freeze is not followed; the figure errs high")


class BackboneFinetuning(BaseFinetuning):
    pass


class ModelPruning(Callback):
    def __init__(self, *args, **kwargs):
        snug.note("pruning is not followed; its masks are not counted, and the figure errs low")
