# SPDX-License-Identifier: Apache-2.0
"""lightning 2.6.6 on one card: Trainer.fit, and what its loops keep alive."""
import snug
import torch
from lightning.core import Callback, LightningDataModule, LightningModule, LightningOptimizer
from lightning.evaluation import _EvaluationLoop, _PredictionLoop
from lightning.fabric import Fabric, note_strategy, seed_everything
from lightning.fetchers import _INFINITE, _number
from lightning.loops import _FitLoop
from lightning.precision import HalfPrecision, MixedPrecision, Precision, _precision_plugin
from lightning.results import _LoggerConnector
from lightning.strategies import _Strategy


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
