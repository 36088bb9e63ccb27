# SPDX-License-Identifier: Apache-2.0
"""lightning 2.6.6: the loops of validation, test and prediction."""
import snug
import torch
from lightning.fabric import move_data_to_device
from lightning.fetchers import _END, _INFINITE, _UNSEEN, _Fetcher, _length
from lightning.results import _ResultCollection


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
