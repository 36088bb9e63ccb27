# SPDX-License-Identifier: Apache-2.0
"""lightning 2.6.6: logged values, and what keeps them."""
import torch
from lightning.fabric import move_data_to_device


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
