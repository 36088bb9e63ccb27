# SPDX-License-Identifier: Apache-2.0
"""lightning 2.6.6: one card."""
from lightning.core import LightningOptimizer


# strategies/strategy.py and single_device.py
class _Strategy:
    def __init__(self, trainer, precision_plugin):
        self.trainer = trainer
        self.precision_plugin = precision_plugin
        self.root_device = "cuda"

    def setup(self):
        trainer = self.trainer
        model = self.precision_plugin.convert_module(trainer.lightning_module)
        model.to(self.root_device)
        if trainer.fitting:
            trainer.optimizers, trainer.lr_schedulers = _configure_optimizers(model.configure_optimizers())
            trainer._lightning_optimizers = [LightningOptimizer(opt, trainer) for opt in trainer.optimizers]

    def batch_to_device(self, batch, dataloader_idx=0):
        model = self.trainer.lightning_module
        batch = model.transfer_batch_to_device(batch, self.root_device, dataloader_idx)
        batch = model.on_after_batch_transfer(batch, dataloader_idx)
        return batch

    def step(self, hook_name, *args):
        model = self.trainer.lightning_module
        prev_fx_name = model._current_fx_name
        model._current_fx_name = hook_name
        with self.precision_plugin.forward_context():
            output = getattr(model, hook_name)(*args)
        model._current_fx_name = prev_fx_name
        return output

    def backward(self, closure_loss, optimizer, *args, **kwargs):
        model = self.trainer.lightning_module
        closure_loss = self.precision_plugin.pre_backward(closure_loss, model)
        self.precision_plugin.backward(closure_loss, model, optimizer, *args, **kwargs)
        closure_loss = self.precision_plugin.post_backward(closure_loss, model)
        return closure_loss

    def optimizer_step(self, optimizer, closure, model=None, **kwargs):
        model = model or self.trainer.lightning_module
        return self.precision_plugin.optimizer_step(optimizer, model=model, closure=closure, **kwargs)


def _configure_optimizers(optim_conf):
    if optim_conf is None:
        return [], []
    if isinstance(optim_conf, dict):
        schedulers = [_scheduler(optim_conf["lr_scheduler"])] if "lr_scheduler" in optim_conf else []
        return [optim_conf["optimizer"]], schedulers
    if isinstance(optim_conf, (list, tuple)):
        if len(optim_conf) == 2 and isinstance(optim_conf[0], (list, tuple)):
            opt, sch = optim_conf
            sch = sch if isinstance(sch, (list, tuple)) else [sch]
            return list(opt), [_scheduler(s) for s in sch]
        if len(optim_conf) > 0 and isinstance(optim_conf[0], dict):
            return [d["optimizer"] for d in optim_conf], [_scheduler(d["lr_scheduler"]) for d in optim_conf if "lr_scheduler" in d]
        return list(optim_conf), []
    return [optim_conf], []


def _scheduler(scheduler):
    return scheduler["scheduler"] if isinstance(scheduler, dict) else scheduler
