# SPDX-License-Identifier: Apache-2.0
"""lightning 2.6.6: a training step with its update."""
from functools import partial

import torch


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
