# SPDX-License-Identifier: Apache-2.0
"""lightning 2.6.6: the plugins for types of numbers."""
import contextlib
from functools import partial

import snug
import torch
from lightning.fabric import HalfPrecision as FabricHalfPrecision
from lightning.fabric import Precision as FabricPrecision
from lightning.fabric import unified_precision


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
