# SPDX-License-Identifier: Apache-2.0
"""lightning 2.6.6: the loops over epochs and batches."""
from lightning.evaluation import _EvaluationLoop
from lightning.fetchers import _END, _INFINITE, _Fetcher, _has_len_all_ranks, _length
from lightning.optimization import _AutomaticOptimization, _ManualOptimization
from lightning.results import _ResultCollection


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
