# SPDX-License-Identifier: Apache-2.0
"""lightning 2.6.6: modules, their hooks, and their optimizers."""
import contextlib

import snug
import torch
from lightning.fabric import move_data_to_device


# core/hooks.py: hooks that do nothing, of modules and of callbacks
class _Hooks:
    def setup(self, *args, **kwargs):
        pass

    def teardown(self, *args, **kwargs):
        pass

    def on_fit_start(self, *args):
        pass

    def on_fit_end(self, *args):
        pass

    def on_sanity_check_start(self, *args):
        pass

    def on_sanity_check_end(self, *args):
        pass

    def on_train_start(self, *args):
        pass

    def on_train_end(self, *args):
        pass

    def on_train_epoch_start(self, *args):
        pass

    def on_train_epoch_end(self, *args):
        pass

    def on_train_batch_start(self, *args):
        pass

    def on_train_batch_end(self, *args):
        pass

    def on_validation_start(self, *args):
        pass

    def on_validation_end(self, *args):
        pass

    def on_validation_epoch_start(self, *args):
        pass

    def on_validation_epoch_end(self, *args):
        pass

    def on_validation_batch_start(self, *args):
        pass

    def on_validation_batch_end(self, *args):
        pass

    def on_test_start(self, *args):
        pass

    def on_test_end(self, *args):
        pass

    def on_test_epoch_start(self, *args):
        pass

    def on_test_epoch_end(self, *args):
        pass

    def on_test_batch_start(self, *args):
        pass

    def on_test_batch_end(self, *args):
        pass

    def on_predict_start(self, *args):
        pass

    def on_predict_end(self, *args):
        pass

    def on_predict_epoch_start(self, *args):
        pass

    def on_predict_epoch_end(self, *args):
        pass

    def on_predict_batch_start(self, *args):
        pass

    def on_predict_batch_end(self, *args):
        pass

    def on_before_backward(self, *args):
        pass

    def on_after_backward(self, *args):
        pass

    def on_before_optimizer_step(self, *args):
        pass

    def on_before_zero_grad(self, *args):
        pass


class Callback(_Hooks):
    pass


class LightningDataModule:
    allow_zero_length_dataloader_with_multiple_devices = False
    trainer = None

    def prepare_data(self):
        pass

    def setup(self, stage=None):
        pass

    def teardown(self, stage=None):
        pass

    def save_hyperparameters(self, *args, **kwargs):
        self.hparams = snug.caller_arguments()


# core/module.py
class LightningModule(torch.nn.Module, _Hooks):
    def __init__(self, *args, **kwargs):
        self._trainer = None
        self._fabric = None
        self._current_fx_name = None
        self.automatic_optimization = True
        self._toggled = []

    @property
    def trainer(self):
        return self._trainer

    @property
    def device(self):
        return "cuda"

    @property
    def current_epoch(self):
        return self.trainer.current_epoch

    @property
    def global_step(self):
        return self.trainer.global_step

    @property
    def global_rank(self):
        return 0

    @property
    def local_rank(self):
        return 0

    @property
    def logger(self):
        return self.trainer.logger

    def save_hyperparameters(self, *args, **kwargs):
        self.hparams = snug.caller_arguments()

    def print(self, *args, **kwargs):
        pass

    def all_gather(self, data, group=None, sync_grads=False):
        return data

    def configure_model(self):
        pass

    def configure_callbacks(self):
        return []

    def log(
        self, name, value, prog_bar=False, logger=None, on_step=None, on_epoch=None, reduce_fx="mean", enable_graph=False, sync_dist=False,
        sync_dist_group=None, add_dataloader_idx=True, batch_size=None, metric_attribute=None, rank_zero_only=False,
    ):
        trainer = self._trainer
        if trainer is None or trainer._results is None:
            return
        fx = self._current_fx_name
        steps = fx in _LOGGED_ON_STEP
        on_step = steps if on_step is None else on_step
        on_epoch = not steps if on_epoch is None else on_epoch
        value = self._to_tensor(value)
        if trainer._logger_connector.should_reset_tensors(fx):
            trainer._results.reset(fx=fx)
        if isinstance(value, torch.Tensor):
            trainer._results.log(fx, name, value, on_step, on_epoch, reduce_fx, enable_graph, batch_size, prog_bar, add_dataloader_idx)
        trainer._logger_connector._current_fx = fx

    def _to_tensor(self, value):
        if isinstance(value, torch.Tensor):
            value = value.clone().detach()
        elif isinstance(value, (int, float)):
            value = torch.tensor(value, device=self.device, dtype=torch.float32)
        else:
            return None
        value = value.squeeze()
        return value

    def log_dict(self, dictionary, **kwargs):
        for k, v in dictionary.items():
            self.log(k, v, **kwargs)

    def on_before_batch_transfer(self, batch, dataloader_idx):
        return batch

    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        return move_data_to_device(batch, device)

    def on_after_batch_transfer(self, batch, dataloader_idx):
        return batch

    def on_validation_model_zero_grad(self):
        self.zero_grad()

    def on_validation_model_eval(self):
        self.eval()

    def on_test_model_eval(self):
        self.eval()

    def optimizers(self, use_pl_optimizer=True):
        opts = self.trainer._lightning_optimizers if use_pl_optimizer else self.trainer.optimizers
        if len(opts) == 1:
            return opts[0]
        return opts

    def lr_schedulers(self):
        schedulers = self.trainer.lr_schedulers
        if len(schedulers) == 0:
            return None
        if len(schedulers) == 1:
            return schedulers[0]
        return schedulers

    def lr_scheduler_step(self, scheduler, metric):
        scheduler.step()

    def backward(self, loss, *args, **kwargs):
        loss.backward(*args, **kwargs)

    def manual_backward(self, loss, *args, **kwargs):
        self.trainer.strategy.backward(loss, None, *args, **kwargs)

    def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure=None):
        optimizer.step(closure=optimizer_closure)

    def optimizer_zero_grad(self, epoch, batch_idx, optimizer):
        optimizer.zero_grad()

    def configure_gradient_clipping(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        self.clip_gradients(optimizer, gradient_clip_val=gradient_clip_val, gradient_clip_algorithm=gradient_clip_algorithm)

    def clip_gradients(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        if gradient_clip_val is None:
            gradient_clip_val = self.trainer.gradient_clip_val or 0.0
        if gradient_clip_algorithm is None:
            gradient_clip_algorithm = self.trainer.gradient_clip_algorithm or "norm"
        self.trainer.precision_plugin.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)

    def toggle_optimizer(self, optimizer):
        if isinstance(optimizer, LightningOptimizer):
            optimizer = optimizer._optimizer
        self._toggled = snug.toggled(optimizer, self.trainer.optimizers)

    def untoggle_optimizer(self, optimizer):
        for param in self._toggled:
            param.requires_grad = True
        self._toggled = []

    def predict_step(self, batch, *args):
        return self(batch)

    def freeze(self):
        self.requires_grad_(False)
        return self.eval()

    def unfreeze(self):
        self.requires_grad_(True)
        return self.train()


_LOGGED_ON_STEP = (
    "training_step", "on_train_batch_start", "on_train_batch_end", "on_before_backward", "backward", "on_after_backward",
    "on_before_optimizer_step", "optimizer_step", "configure_gradient_clipping", "on_before_zero_grad", "optimizer_zero_grad",
)


# core/optimizer.py
def do_nothing_closure():
    return


class LightningOptimizer(torch.optim.Optimizer):
    def __init__(self, optimizer, trainer):
        self._optimizer = optimizer
        self._trainer = trainer

    @property
    def optimizer(self):
        return self._optimizer

    def step(self, closure=None, **kwargs):
        if closure is None:
            closure = do_nothing_closure
        step_output = self._trainer.strategy.optimizer_step(self._optimizer, closure, **kwargs)
        if not self._trainer.lightning_module.automatic_optimization:
            self._trainer.global_step += 1
        return step_output

    @contextlib.contextmanager
    def toggle_model(self, sync_grad=True):
        self._trainer.lightning_module.toggle_optimizer(self)
        yield
        self._trainer.lightning_module.untoggle_optimizer(self)

    def zero_grad(self, set_to_none=True):
        self._optimizer.zero_grad(set_to_none=set_to_none)

    def __getattr__(self, item):
        return getattr(self._optimizer, item)
