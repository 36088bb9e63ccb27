# SPDX-License-Identifier: Apache-2.0
"""lightning 2.6.6 on one card: Trainer.fit, and what its loops keep alive."""
import contextlib
import copy
from functools import partial

import snug
import torch
from lightning.fabric import Fabric, apply_to_collection, move_data_to_device, note_strategy, seed_everything, unified_precision
from lightning.fabric import HalfPrecision as FabricHalfPrecision
from lightning.fabric import Precision as FabricPrecision

_INFINITE = 1000000000
_UNSEEN = 8  # batches of a loader whose length is not known


class _End:
    pass


_END = _End()  # what a loader gives after its last batch


def _number(value, otherwise):
    if isinstance(value, (int, float)):
        return value
    return otherwise


# trainer/connectors/logger_connector/result.py: a logged value, on the card from its first logging on
class _ResultMetric:
    def __init__(self, name, fx, on_step, on_epoch, reduce_fx, prog_bar, dataloader_idx):
        self.name = name
        self.dataloader_idx = dataloader_idx
        self.fx = fx
        self.on_step = on_step
        self.on_epoch = on_epoch
        self.reduce_fx = reduce_fx
        self.prog_bar = prog_bar
        self.has_reset = False
        self._defaults = {"value": torch.tensor(0.0)}
        self.value = torch.tensor(0.0)
        self.cumulated_batch_size = None
        if reduce_fx == "mean":
            self._defaults["cumulated_batch_size"] = torch.tensor(0)
            self.cumulated_batch_size = torch.tensor(0)
        self._forward_cache = None
        self._computed = None

    def to(self, device):
        self._defaults = {k: v.to(device) for k, v in self._defaults.items()}
        self.value = self.value.to(device)
        if self.cumulated_batch_size is not None:
            self.cumulated_batch_size = self.cumulated_batch_size.to(device)
        if self._forward_cache is not None:
            self._forward_cache = self._forward_cache.to(device)
        if self._computed is not None:
            self._computed = self._computed.to(device)

    def update(self, value, batch_size):
        self._computed = None
        if value.dtype not in (torch.float32, torch.float64):
            value = value.to(torch.float32)
        if self.on_step:
            self._forward_cache = value.clone()
            if not self.on_epoch:
                self.value = self._forward_cache
                return
        if self.reduce_fx == "mean":
            self.value = self.value + value * batch_size
            self.cumulated_batch_size = self.cumulated_batch_size + batch_size
        else:
            self.value = self.value + value

    def compute(self):
        if self._computed is not None:
            return self._computed
        value = self.value.clone()
        if self.reduce_fx == "mean":
            value = value / self.cumulated_batch_size
        self._computed = value
        return value

    # torchmetrics' Metric.reset
    def reset(self):
        self._forward_cache = None
        self._computed = None
        for attr, default in self._defaults.items():
            setattr(self, attr, default.detach().clone())
        self.has_reset = True


class _ResultCollection:
    def __init__(self, training):
        self.training = training
        self.items = {}
        self.batch = None
        self.batch_size = None
        self.dataloader_idx = None

    def _extract_batch_size(self, batch_size, on_epoch, reduce_fx):
        if batch_size is None:
            batch_size = self.batch_size
        if batch_size is not None:
            return batch_size
        batch_size = 1
        if self.batch is not None and on_epoch and reduce_fx == "mean":
            self.batch_size = batch_size
        return batch_size

    def log(self, fx, name, value, on_step, on_epoch, reduce_fx, enable_graph, batch_size, prog_bar, add_dataloader_idx):
        if not enable_graph:
            value = value.detach()
        key = fx + "." + name
        if add_dataloader_idx and self.dataloader_idx is not None:
            key = key + "." + str(self.dataloader_idx)
            fx = fx + "." + str(self.dataloader_idx)
        if key not in self.items:
            self.items[key] = _ResultMetric(name, fx, on_step, on_epoch, reduce_fx, prog_bar, self.dataloader_idx)
        self.items[key].to(value.device)
        batch_size = self._extract_batch_size(batch_size, on_epoch, reduce_fx)
        self.items[key].update(value, batch_size)
        self.items[key].has_reset = False

    def metrics(self, on_step):
        metrics = {"callback": {}, "log": {}}
        for result_metric in self.items.values():
            if result_metric.has_reset or result_metric.dataloader_idx != self.dataloader_idx:
                continue
            cache = None
            if on_step and result_metric.on_step:
                cache = result_metric._forward_cache
            elif not on_step and result_metric.on_epoch:
                cache = result_metric.compute()
            if cache is None:
                continue
            value = cache.detach()
            name = result_metric.name
            if result_metric.dataloader_idx is not None:
                name = name + "/dataloader_idx_" + str(result_metric.dataloader_idx)
            forked_name = name
            if result_metric.on_step and result_metric.on_epoch:
                forked_name = forked_name + ("_step" if on_step else "_epoch")
            metrics["log"][forked_name] = value
            if self.training or result_metric.on_epoch and not on_step:
                metrics["callback"][name] = value
                metrics["callback"][forked_name] = value
            if result_metric.prog_bar:
                value.item()
        return metrics

    def cpu(self):
        for item in self.items.values():
            item.to("cpu")

    def reset(self, fx=None):
        for item in self.items.values():
            if fx is None or fx == item.fx:
                item.reset()


# trainer/connectors/logger_connector/logger_connector.py
class _LoggerConnector:
    def __init__(self, trainer):
        self.trainer = trainer
        self._callback_metrics = {}
        self._logged_metrics = {}
        self._first_loop_iter = None
        self._current_fx = None

    def should_reset_tensors(self, fx):
        return self._current_fx != fx and (self._first_loop_iter is None or self._first_loop_iter)

    def on_batch_start(self, batch, dataloader_idx=None):
        if self._first_loop_iter is None:
            self._first_loop_iter = True
        elif self._first_loop_iter:
            self._first_loop_iter = False
        results = self.trainer._results
        results.batch = batch
        results.batch_size = None
        results.dataloader_idx = dataloader_idx

    def update(self):
        metrics = self.trainer._results.metrics(self._first_loop_iter is not None)
        self._callback_metrics.update(metrics["callback"])
        self._logged_metrics.update(metrics["log"])
        return metrics["log"]

    def on_batch_end(self):
        self.update()
        self.trainer._results.batch = None
        self.trainer._results.batch_size = None

    def epoch_end_reached(self):
        self._first_loop_iter = None

    def on_epoch_end(self):
        self.update()
        self._current_fx = None

    def update_train_epoch_metrics(self):
        self.trainer._results.metrics(False)
        self.reset_results()

    def update_eval_epoch_metrics(self):
        if self.trainer.sanity_checking:
            return {}
        return self.update()

    def reset_results(self):
        results = self.trainer._results
        if results is not None:
            results.reset()
        self._first_loop_iter = None
        self._current_fx = None

    def teardown(self):
        self._logged_metrics = move_data_to_device(self._logged_metrics, "cpu")
        self._callback_metrics = move_data_to_device(self._callback_metrics, "cpu")

    def reset_metrics(self):
        self._logged_metrics = {}
        self._callback_metrics = {}


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


# plugins/precision/precision.py
class Precision(FabricPrecision):
    def pre_backward(self, tensor, module):
        trainer = module.trainer
        trainer._call("on_before_backward", tensor)
        return tensor

    def backward(self, tensor, model, optimizer, *args, **kwargs):
        model.backward(tensor, *args, **kwargs)

    def post_backward(self, tensor, module):
        closure_loss = tensor.detach()
        trainer = module.trainer
        trainer._call("on_after_backward")
        return closure_loss

    def _after_closure(self, model, optimizer):
        trainer = model.trainer
        trainer._call("on_before_optimizer_step", optimizer)
        if model.automatic_optimization:
            model.configure_gradient_clipping(
                optimizer, gradient_clip_val=trainer.gradient_clip_val, gradient_clip_algorithm=trainer.gradient_clip_algorithm
            )

    def _wrap_closure(self, model, optimizer, closure):
        closure_result = closure()
        self._after_closure(model, optimizer)
        return closure_result

    def optimizer_step(self, optimizer, model, closure, **kwargs):
        closure = partial(self._wrap_closure, model, optimizer, closure)
        return optimizer.step(closure=closure, **kwargs)

    def clip_gradients(self, optimizer, clip_val=0.0, gradient_clip_algorithm="norm"):
        if clip_val <= 0:
            return
        parameters = self.main_params(optimizer)
        if gradient_clip_algorithm == "value":
            torch.nn.utils.clip_grad_value_(parameters, clip_value=clip_val)
        else:
            torch.nn.utils.clip_grad_norm_(parameters, clip_val)

    def forward_context(self):
        return contextlib.nullcontext()


# plugins/precision/amp.py: the whole step runs under autocast, without its cache
class MixedPrecision(Precision):
    def __init__(self, precision, device="cuda", scaler=None):
        self.precision = precision
        if scaler is None and self.precision == "16-mixed":
            scaler = torch.amp.GradScaler(device=device)
        self.device = device
        self.scaler = scaler

    def pre_backward(self, tensor, module):
        if self.scaler is not None:
            tensor = self.scaler.scale(tensor)
        return super().pre_backward(tensor, module)

    def optimizer_step(self, optimizer, model, closure, **kwargs):
        if self.scaler is None:
            return super().optimizer_step(optimizer, model=model, closure=closure, **kwargs)
        closure_result = closure()
        self.scaler.unscale_(optimizer)
        self._after_closure(model, optimizer)
        step_output = self.scaler.step(optimizer, **kwargs)
        self.scaler.update()
        return step_output

    def forward_context(self):
        dtype = torch.bfloat16 if self.precision == "bf16-mixed" else torch.float16
        return torch.autocast(self.device, dtype=dtype, cache_enabled=False)


# plugins/precision/half.py and double.py
class HalfPrecision(Precision):
    def __init__(self, precision="16-true"):
        self.precision = precision
        self._of_fabric = FabricHalfPrecision(precision)

    def convert_module(self, module):
        return self._of_fabric.convert_module(module)

    def convert_input(self, data):
        return self._of_fabric.convert_input(data)

    def forward_context(self):
        return self._of_fabric.forward_context()


def _precision_plugin(precision, plugins):
    if plugins is not None:
        for plugin in plugins if isinstance(plugins, list) else [plugins]:
            if isinstance(plugin, FabricPrecision):
                return plugin
        snug.note("plugins of Lightning other than those of 16, 32 and 64 bits are not followed")
    precision = unified_precision(precision)
    if precision in ("16-mixed", "bf16-mixed"):
        return MixedPrecision(precision)
    if precision in ("16-true", "bf16-true", "64-true"):
        return HalfPrecision(precision)
    if precision != "32-true":
        snug.note("this precision of Lightning is not followed; the figure is that of 32-true, which usually takes more")
    return Precision()


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


# utilities/combined_loader.py and loops/fetchers.py: batches stay in the host's memory
class _Fetcher:
    def __init__(self, loaders, limit):
        self.loaders = loaders
        self.fetched = 0
        self.done = False
        self.length = limit
        self.iterator = None

    def start(self):
        self.fetched = 0
        self.done = self.length == 0
        if isinstance(self.loaders, dict):
            self.iterator = {k: iter(v) for k, v in self.loaders.items()}
        elif isinstance(self.loaders, (list, tuple)):
            self.iterator = [iter(v) for v in self.loaders]
        else:
            self.iterator = iter(self.loaders)

    def next(self):
        if self.done:
            return _END
        if isinstance(self.iterator, dict):
            batch = {k: next(v, _END) for k, v in self.iterator.items()}
        elif isinstance(self.iterator, list):
            batch = [next(v, _END) for v in self.iterator]
        else:
            batch = next(self.iterator, _END)
        self.fetched += 1
        self.done = self.fetched >= self.length
        return batch

    # what follows is the epoch's last batch
    def hurry(self):
        snug.to_last(self.iterator)
        self.length = self.fetched + 1


# utilities/data.py: has_len_all_ranks asks on the card
def _has_len_all_ranks(local_length):
    if local_length >= _INFINITE:
        return
    total_length = torch.tensor(local_length, device="cuda")
    total_length == 0
    total_length > 0


def _one_length(loader):
    length = _number(len(loader), _INFINITE)
    _has_len_all_ranks(length)
    return length


def _length(loaders, limit):
    if isinstance(loaders, dict):
        length = max([_one_length(v) for v in loaders.values()])
    elif isinstance(loaders, (list, tuple)):
        length = max([_one_length(v) for v in loaders])
    else:
        length = _one_length(loaders)
    if isinstance(limit, int):
        return min(length, limit)
    if isinstance(limit, float) and length < _INFINITE:
        return int(length * limit)
    return length


# loops/optimization/automatic.py: the loss with its graph, and a copy of its number
class ClosureResult:
    def __init__(self, closure_loss, extra):
        self.closure_loss = closure_loss
        self.loss = None
        self.extra = extra
        if self.closure_loss is not None:
            self.loss = self.closure_loss.detach().clone()

    @classmethod
    def from_training_step_output(cls, training_step_output, normalize=1):
        closure_loss, extra = None, {}
        if isinstance(training_step_output, dict):
            closure_loss = training_step_output.get("loss")
            extra = {k: v for k, v in training_step_output.items() if k != "loss"}
        elif isinstance(training_step_output, torch.Tensor):
            closure_loss = training_step_output
        if closure_loss is not None:
            closure_loss = closure_loss / normalize
        return cls(closure_loss, extra)

    def asdict(self):
        return {"loss": self.loss, **self.extra}


class Closure:
    def __init__(self, step_fn, backward_fn=None, zero_grad_fn=None):
        self._result = None
        self._step_fn = step_fn
        self._backward_fn = backward_fn
        self._zero_grad_fn = zero_grad_fn

    def closure(self, *args, **kwargs):
        with torch.enable_grad():
            step_output = self._step_fn()
            if self._zero_grad_fn is not None:
                self._zero_grad_fn()
            if self._backward_fn is not None and step_output.closure_loss is not None:
                self._backward_fn(step_output.closure_loss)
            return step_output

    def __call__(self, *args, **kwargs):
        self._result = self.closure(*args, **kwargs)
        return self._result.loss

    def consume_result(self):
        result, self._result = self._result, None
        return result


class _AutomaticOptimization:
    def __init__(self, trainer):
        self.trainer = trainer

    def run(self, optimizer, batch_idx, kwargs):
        closure = self._make_closure(kwargs, optimizer, batch_idx)
        if self.trainer.fit_loop._should_accumulate():
            closure()
        else:
            self._optimizer_step(batch_idx, closure)
        result = closure.consume_result()
        if result.loss is None:
            return {}
        return result.asdict()

    def _make_closure(self, kwargs, optimizer, batch_idx):
        step_fn = partial(self._training_step, kwargs)
        backward_fn = self._make_backward_fn(optimizer)
        zero_grad_fn = self._make_zero_grad_fn(batch_idx, optimizer)
        return Closure(step_fn=step_fn, backward_fn=backward_fn, zero_grad_fn=zero_grad_fn)

    def _make_zero_grad_fn(self, batch_idx, optimizer):
        is_first_batch_to_accumulate = batch_idx % self.trainer.accumulate_grad_batches == 0
        if not is_first_batch_to_accumulate:
            return None

        def zero_grad_fn():
            self.trainer._call("on_before_zero_grad", optimizer)
            self.trainer.lightning_module.optimizer_zero_grad(self.trainer.current_epoch, batch_idx, optimizer)

        return zero_grad_fn

    def _make_backward_fn(self, optimizer):
        def backward_fn(loss):
            self.trainer.strategy.backward(loss, optimizer)

        return backward_fn

    def _optimizer_step(self, batch_idx, train_step_and_backward_closure):
        trainer = self.trainer
        optimizer = trainer._lightning_optimizers[0]
        trainer.lightning_module.optimizer_step(trainer.current_epoch, batch_idx, optimizer, train_step_and_backward_closure)
        trainer.global_step += 1

    def _training_step(self, kwargs):
        trainer = self.trainer
        training_step_output = trainer.strategy.step("training_step", *kwargs.values())
        return ClosureResult.from_training_step_output(training_step_output, trainer.accumulate_grad_batches)


# loops/optimization/manual.py
class _ManualOptimization:
    def __init__(self, trainer):
        self.trainer = trainer
        self._output = {}

    def run(self, kwargs):
        self.advance(kwargs)
        output, self._output = self._output, {}
        return output

    def advance(self, kwargs):
        trainer = self.trainer
        training_step_output = trainer.strategy.step("training_step", *kwargs.values())
        del kwargs
        extra = {}
        if isinstance(training_step_output, dict):
            extra = training_step_output.copy()
        elif isinstance(training_step_output, torch.Tensor):
            extra = {"loss": training_step_output}
        if "loss" in extra:
            extra["loss"] = extra["loss"].detach()
        self._output = extra


# loops/evaluation_loop.py
class _EvaluationLoop:
    def __init__(self, trainer, stage):
        self.trainer = trainer
        self.stage = stage  # "validation" or "test"
        self._max_batches = None
        self._results = _ResultCollection(training=False)
        self._logged_outputs = []

    def setup_data(self, dataloaders, limit):
        if self._max_batches is None:
            loaders = dataloaders if isinstance(dataloaders, (list, tuple)) else [dataloaders]
            self._max_batches = [_length(loader, limit) for loader in loaders]

    def run(self, dataloaders, limit, sanity=None):
        with torch.inference_mode() if self.trainer.inference_mode else torch.no_grad():
            return self._run(dataloaders, limit, sanity)

    def _run(self, dataloaders, limit, sanity):
        trainer = self.trainer
        stage = self.stage
        several = isinstance(dataloaders, (list, tuple)) and len(dataloaders) > 1
        self.setup_data(dataloaders, limit)
        self._logged_outputs = []
        modes = snug.modes(trainer.lightning_module)
        getattr(trainer.lightning_module, "on_" + stage + "_model_eval")()
        trainer._call("on_" + stage + "_start")
        trainer._call("on_" + stage + "_epoch_start")
        dataloader_idx = 0
        for loader in dataloaders if isinstance(dataloaders, (list, tuple)) else [dataloaders]:
            length = self._max_batches[dataloader_idx]
            if length >= _INFINITE:
                length = _UNSEEN
            if sanity is not None:
                length = min(length, sanity)
            data_fetcher = _Fetcher(loader, length)
            data_fetcher.start()
            batch_idx = 0
            while not data_fetcher.done:
                batch = data_fetcher.next()
                if batch is _END:
                    break
                self._evaluation_step(batch, batch_idx, dataloader_idx, several)
                batch_idx += 1
            dataloader_idx += 1
            self._store_dataloader_outputs()
        trainer._logger_connector.epoch_end_reached()
        self._results.dataloader_idx = None
        trainer._call("on_" + stage + "_epoch_end")
        trainer._logger_connector.on_epoch_end()
        logged_outputs, self._logged_outputs = self._logged_outputs, []
        epoch_end_logged_outputs = trainer._logger_connector.update_eval_epoch_metrics()
        trainer._call("on_" + stage + "_end")
        trainer._logger_connector.reset_results()
        snug.set_modes(trainer.lightning_module, modes)
        return logged_outputs

    def _store_dataloader_outputs(self):
        trainer = self.trainer
        trainer._logger_connector.epoch_end_reached()
        self._logged_outputs.append(trainer._logger_connector.update_eval_epoch_metrics())

    def _evaluation_step(self, batch, batch_idx, dataloader_idx, several):
        trainer = self.trainer
        stage = self.stage
        batch = trainer.precision_plugin.convert_input(batch)
        batch = trainer.lightning_module.on_before_batch_transfer(batch, dataloader_idx)
        batch = trainer.strategy.batch_to_device(batch, dataloader_idx=dataloader_idx)
        hook_kwargs = {"batch": batch, "batch_idx": batch_idx}
        if several:
            hook_kwargs["dataloader_idx"] = dataloader_idx
        trainer._logger_connector.on_batch_start(batch, dataloader_idx if several else None)
        trainer._call("on_" + stage + "_batch_start", *hook_kwargs.values())
        step_args = tuple(hook_kwargs.values())
        output = trainer.strategy.step(stage + "_step", *step_args)
        trainer._call("on_" + stage + "_batch_end", output, *hook_kwargs.values())
        trainer._logger_connector.on_batch_end()


# loops/prediction_loop.py: predictions go to the host
class _PredictionLoop:
    def __init__(self, trainer):
        self.trainer = trainer

    def run(self, dataloaders, limit, return_predictions):
        trainer = self.trainer
        predictions = []
        with torch.inference_mode() if trainer.inference_mode else torch.no_grad():
            modes = snug.modes(trainer.lightning_module)
            trainer.lightning_module.eval()
            trainer._call("on_predict_start")
            length = _length(dataloaders, limit)
            data_fetcher = _Fetcher(dataloaders, _UNSEEN if length >= _INFINITE else length)
            data_fetcher.start()
            batch_idx = 0
            while not data_fetcher.done:
                batch = data_fetcher.next()
                if batch is _END:
                    break
                self._predict_step(batch, batch_idx, predictions)
                batch_idx += 1
            trainer._call("on_predict_end")
            snug.set_modes(trainer.lightning_module, modes)
        return predictions

    def _predict_step(self, batch, batch_idx, kept):
        trainer = self.trainer
        batch = trainer.precision_plugin.convert_input(batch)
        batch = trainer.lightning_module.on_before_batch_transfer(batch, 0)
        batch = trainer.strategy.batch_to_device(batch)
        trainer._call("on_predict_batch_start", batch, batch_idx)
        predictions = trainer.strategy.step("predict_step", batch, batch_idx)
        trainer._call("on_predict_batch_end", predictions, batch, batch_idx)
        kept.append(move_data_to_device(predictions, "cpu"))


# loops/training_epoch_loop.py
class _TrainingEpochLoop:
    def __init__(self, trainer):
        self.trainer = trainer
        self._results = _ResultCollection(training=True)
        self.val_loop = _EvaluationLoop(trainer, "validation")
        self.automatic_optimization = _AutomaticOptimization(trainer)
        self.manual_optimization = _ManualOptimization(trainer)
        self.batch_idx = -1
        self.total_batch_idx = -1
        self.is_last_batch = False

    @property
    def done(self):
        trainer = self.trainer
        return trainer.max_steps >= 0 and trainer.global_step >= trainer.max_steps or self.is_last_batch or trainer.should_stop

    def run(self, data_fetcher):
        self.batch_idx = -1
        self.is_last_batch = False
        while not self.done:
            self.advance(data_fetcher)
            self.on_advance_end()
        if not self.done:
            data_fetcher.hurry()
            self.advance(data_fetcher)
            self.on_advance_end()

    def advance(self, data_fetcher):
        batch = data_fetcher.next()
        if batch is _END:
            self.is_last_batch = True
            return
        self.batch_idx += 1
        self.total_batch_idx += 1
        batch_idx = self.batch_idx
        self.is_last_batch = data_fetcher.done
        trainer = self.trainer
        batch = trainer.precision_plugin.convert_input(batch)
        batch = trainer.lightning_module.on_before_batch_transfer(batch, 0)
        batch = trainer.strategy.batch_to_device(batch, dataloader_idx=0)
        trainer._logger_connector.on_batch_start(batch)
        batch_output = None
        trainer._call("on_train_batch_start", batch, batch_idx)
        kwargs = {"batch": batch, "batch_idx": batch_idx}
        if trainer.lightning_module.automatic_optimization:
            batch_output = self.automatic_optimization.run(trainer.optimizers[0], batch_idx, kwargs)
        else:
            batch_output = self.manual_optimization.run(kwargs)
        trainer._call("on_train_batch_end", batch_output, batch, batch_idx)
        trainer._logger_connector.on_batch_end()

    def on_advance_end(self):
        trainer = self.trainer
        if self._should_check_val_fx():
            trainer.validating = True
            first_loop_iter = trainer._logger_connector._first_loop_iter
            if not self._should_accumulate():
                trainer.lightning_module.on_validation_model_zero_grad()
            self.val_loop.run(trainer.val_dataloaders, trainer.limit_val_batches)
            trainer.validating = False
            trainer._logger_connector._first_loop_iter = first_loop_iter

    def _should_accumulate(self):
        accumulation_done = (self.batch_idx + 1) % self.trainer.accumulate_grad_batches == 0
        return not accumulation_done and not self.is_last_batch

    def _should_check_val_fx(self):
        trainer = self.trainer
        every = trainer.check_val_every_n_epoch
        if not trainer.enable_validation or every is not None and (trainer.current_epoch + 1) % every != 0:
            return False
        if self.is_last_batch and trainer.fit_loop.max_batches >= _INFINITE:
            return True
        if trainer.val_check_batch >= _INFINITE:
            return self.is_last_batch
        current_iteration = self.total_batch_idx if every is None else self.batch_idx
        return (current_iteration + 1) % trainer.val_check_batch == 0 or self.is_last_batch and trainer.val_check_batch == trainer.fit_loop.max_batches


# loops/fit_loop.py
class _FitLoop:
    def __init__(self, trainer):
        self.trainer = trainer
        self.epoch_loop = _TrainingEpochLoop(trainer)
        self.max_batches = 0
        self._data_fetcher = None

    @property
    def done(self):
        trainer = self.trainer
        if trainer.max_steps >= 0 and trainer.global_step >= trainer.max_steps:
            return True
        return trainer.max_epochs >= 0 and trainer.current_epoch >= trainer.max_epochs or trainer.should_stop

    def _should_accumulate(self):
        return self.epoch_loop._should_accumulate()

    def setup_data(self):
        trainer = self.trainer
        self.max_batches = _length(trainer.train_dataloader, trainer.limit_train_batches)
        _has_len_all_ranks(self.max_batches)
        self._data_fetcher = _Fetcher(trainer.train_dataloader, self.max_batches)
        interval = trainer.val_check_interval
        if isinstance(interval, int):
            trainer.val_check_batch = interval
        elif self.max_batches >= _INFINITE:
            trainer.val_check_batch = _INFINITE
        else:
            trainer.val_check_batch = max(1, int(self.max_batches * interval))

    def run(self):
        trainer = self.trainer
        self.setup_data()
        if trainer.enable_validation:
            self.epoch_loop.val_loop.setup_data(trainer.val_dataloaders, trainer.limit_val_batches)
        trainer._call("on_train_start")
        while not self.done:
            trainer._call("on_train_epoch_start")
            self._data_fetcher.start()
            self.epoch_loop.run(self._data_fetcher)
            self.on_advance_end()
        trainer._call("on_train_end")

    def on_advance_end(self):
        trainer = self.trainer
        trainer._logger_connector.epoch_end_reached()
        trainer._call("on_train_epoch_end")
        trainer._logger_connector.on_epoch_end()
        trainer._logger_connector.update_train_epoch_metrics()
        trainer.current_epoch += 1


# trainer/trainer.py
class Trainer:
    def __init__(
        self, accelerator="auto", strategy="auto", devices="auto", num_nodes=1, precision=None, logger=None, callbacks=None, fast_dev_run=False,
        max_epochs=None, min_epochs=None, max_steps=-1, min_steps=None, max_time=None, limit_train_batches=None, limit_val_batches=None,
        limit_test_batches=None, limit_predict_batches=None, overfit_batches=0.0, val_check_interval=None, check_val_every_n_epoch=1,
        num_sanity_val_steps=None, log_every_n_steps=None, enable_checkpointing=None, enable_progress_bar=None, enable_model_summary=None,
        accumulate_grad_batches=1, gradient_clip_val=None, gradient_clip_algorithm=None, deterministic=None, benchmark=None, inference_mode=True,
        use_distributed_sampler=True, profiler=None, detect_anomaly=False, barebones=False, plugins=None, sync_batchnorm=False,
        reload_dataloaders_every_n_epochs=0, default_root_dir=None, enable_autolog_hparams=True, model_registry=None,
    ):
        note_strategy(strategy, devices, num_nodes)
        if benchmark:
            snug.note("cuDNN's benchmark tries kernels whose workspaces are not followed; with convolutions the figure errs low")
        self.precision_plugin = _precision_plugin(precision, plugins)
        self.strategy = _Strategy(self, self.precision_plugin)
        self.callbacks = callbacks if isinstance(callbacks, list) else [callbacks] if callbacks is not None else []
        self.max_steps = _number(max_steps, -1)
        self.max_epochs = _number(max_epochs, -1 if self.max_steps >= 0 else 1000)
        self.limit_train_batches = _number(limit_train_batches, 1.0)
        self.limit_val_batches = _number(limit_val_batches, 1.0)
        self.limit_test_batches = _number(limit_test_batches, 1.0)
        self.limit_predict_batches = _number(limit_predict_batches, 1.0)
        self.num_sanity_val_steps = _number(num_sanity_val_steps, 2)
        if self.num_sanity_val_steps == -1:
            self.num_sanity_val_steps = _INFINITE
        if overfit_batches > 0:
            self.limit_train_batches = overfit_batches
            self.limit_val_batches = overfit_batches
        if fast_dev_run:
            batches = 1 if fast_dev_run is True else fast_dev_run
            self.max_steps = batches
            self.num_sanity_val_steps = 0
            self.limit_train_batches = batches
            self.limit_val_batches = batches
            self.limit_test_batches = batches
        self.val_check_interval = _number(val_check_interval, 1.0)
        self.val_check_batch = _INFINITE
        self.check_val_every_n_epoch = check_val_every_n_epoch
        self.accumulate_grad_batches = _number(accumulate_grad_batches, 1)
        self.gradient_clip_val = gradient_clip_val
        self.gradient_clip_algorithm = gradient_clip_algorithm
        self.inference_mode = inference_mode
        self.logger = snug.unknown()
        self.loggers = []
        self.lightning_module = None
        self.datamodule = None
        self.optimizers = []
        self.lr_schedulers = []
        self._lightning_optimizers = []
        self.train_dataloader = None
        self.val_dataloaders = None
        self.current_epoch = 0
        self.global_step = 0
        self.fitting = False
        self.validating = False
        self.sanity_checking = False
        self.should_stop = False
        self.enable_validation = False
        self.is_global_zero = True
        self.world_size = 1
        self.global_rank = 0
        self.local_rank = 0
        self.num_devices = 1
        self._evaluating = None
        self._logger_connector = _LoggerConnector(self)
        self.fit_loop = _FitLoop(self)

    @property
    def model(self):
        return self.lightning_module

    @property
    def callback_metrics(self):
        return self._logger_connector._callback_metrics

    @property
    def logged_metrics(self):
        return self._logger_connector._logged_metrics

    @property
    def num_training_batches(self):
        return self.fit_loop.max_batches

    @property
    def estimated_stepping_batches(self):
        return snug.unknown()

    @property
    def _results(self):
        if self._evaluating is not None:
            return self._evaluating._results
        if not self.fitting:
            return None
        if self.validating or self.sanity_checking:
            return self.fit_loop.epoch_loop.val_loop._results
        return self.fit_loop.epoch_loop._results

    def print(self, *args, **kwargs):
        pass

    def save_checkpoint(self, filepath, weights_only=False, storage_options=None):
        pass

    # trainer/call.py: _call_callback_hooks, then _call_lightning_module_hook
    def _call(self, hook_name, *args):
        pl_module = self.lightning_module
        prev_fx_name = pl_module._current_fx_name
        pl_module._current_fx_name = hook_name
        for callback in self.callbacks:
            if hasattr(callback, hook_name):
                getattr(callback, hook_name)(self, pl_module, *args)
        getattr(pl_module, hook_name)(*args)
        pl_module._current_fx_name = prev_fx_name

    def _connect(self, model, datamodule, stage):
        self.lightning_module = model
        model._trainer = self
        self.datamodule = datamodule
        if datamodule is not None:
            datamodule.trainer = self
            datamodule.prepare_data()
            datamodule.setup(stage)
        for callback in self.callbacks:
            callback.setup(self, model, stage)
        model.setup(stage)
        model.configure_model()

    def _loader(self, given, name):
        if given is not None:
            return given
        source = self.datamodule if self.datamodule is not None else self.lightning_module
        if hasattr(source, name):
            return getattr(source, name)()
        return None

    def fit(self, model, train_dataloaders=None, val_dataloaders=None, datamodule=None, ckpt_path=None, weights_only=None):
        if isinstance(train_dataloaders, LightningDataModule):
            datamodule = train_dataloaders
            train_dataloaders = None
        self.fitting = True
        self.should_stop = False
        self._connect(model, datamodule, "fit")
        self._logger_connector.reset_results()
        self._logger_connector.reset_metrics()
        self.strategy.setup()
        self._call("on_fit_start")
        self.train_dataloader = self._loader(train_dataloaders, "train_dataloader")
        self.val_dataloaders = self._loader(val_dataloaders, "val_dataloader")
        self.enable_validation = self.val_dataloaders is not None and hasattr(model, "validation_step") and self.limit_val_batches > 0
        model.zero_grad()
        self._run_sanity_check()
        self.fit_loop.run()
        self._teardown()
        self._call("on_fit_end")
        self.fitting = False

    def _run_sanity_check(self):
        val_loop = self.fit_loop.epoch_loop.val_loop
        if self.enable_validation and self.num_sanity_val_steps > 0:
            self.sanity_checking = True
            self._logger_connector.reset_results()
            self._logger_connector.reset_metrics()
            self._call_callbacks("on_sanity_check_start")
            val_loop.run(self.val_dataloaders, self.limit_val_batches, self.num_sanity_val_steps)
            self._call_callbacks("on_sanity_check_end")
            self._logger_connector.reset_results()
            self._logger_connector.reset_metrics()
            self.sanity_checking = False

    def _call_callbacks(self, hook_name):
        for callback in self.callbacks:
            if hasattr(callback, hook_name):
                getattr(callback, hook_name)(self, self.lightning_module)

    # strategies/strategy.py: teardown moves everything to the host; then accelerators/cuda.py empties the cache
    def _teardown(self):
        for optimizer in self.optimizers:
            snug.optimizer_to_host(optimizer)
        self.lightning_module.cpu()
        for results in (self.fit_loop.epoch_loop._results, self.fit_loop.epoch_loop.val_loop._results):
            results.cpu()
        self._logger_connector.teardown()
        torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()

    def _evaluate(self, model, dataloaders, datamodule, stage, limit):
        if isinstance(dataloaders, LightningDataModule):
            datamodule = dataloaders
            dataloaders = None
        name = "val" if stage == "validation" else stage
        self._connect(self.lightning_module if model is None else model, datamodule, stage)
        self.strategy.setup()
        loop = _EvaluationLoop(self, stage)
        self._evaluating = loop
        results = loop.run(self._loader(dataloaders, name + "_dataloader"), limit)
        self._evaluating = None
        self._teardown()
        return snug.unknown()

    def validate(self, model=None, dataloaders=None, ckpt_path=None, verbose=True, datamodule=None, weights_only=None):
        return self._evaluate(model, dataloaders, datamodule, "validation", self.limit_val_batches)

    def test(self, model=None, dataloaders=None, ckpt_path=None, verbose=True, datamodule=None, weights_only=None):
        return self._evaluate(model, dataloaders, datamodule, "test", self.limit_test_batches)

    def predict(self, model=None, dataloaders=None, datamodule=None, return_predictions=None, ckpt_path=None, weights_only=None):
        self._connect(self.lightning_module if model is None else model, datamodule, "predict")
        self.strategy.setup()
        predictions = _PredictionLoop(self).run(self._loader(dataloaders, "predict_dataloader"), self.limit_predict_batches, return_predictions)
        self._teardown()
        return predictions


# callbacks
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
