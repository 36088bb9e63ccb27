# SPDX-License-Identifier: Apache-2.0
"""lightning.fabric 2.6.6 on one card."""
import contextlib

import snug
import torch


# lightning_utilities/core/apply_func.py: apply_to_collection
def apply_to_collection(data, dtype, function, *args, **kwargs):
    if isinstance(data, dtype):
        return function(data, *args, **kwargs)
    if isinstance(data, dict):
        out = {}
        for k, v in data.items():
            v = apply_to_collection(v, dtype, function, *args, **kwargs)
            out[k] = v
        return type(data)(out)
    if isinstance(data, (list, tuple)):
        out = []
        for d in data:
            v = apply_to_collection(d, dtype, function, *args, **kwargs)
            out.append(v)
        return type(data)(out)
    return data


# utilities/apply_func.py: move_data_to_device
def move_data_to_device(batch, device):
    def batch_to(data):
        data_output = data.to(device)
        return data_output

    return apply_to_collection(batch, dtype=torch.Tensor, function=batch_to)


# plugins/precision/utils.py
def _convert_fp_tensor(tensor, dst_type):
    return tensor.to(dst_type) if torch.is_floating_point(tensor) else tensor


class _DtypeContextManager:
    def __init__(self, dtype):
        self._previous_dtype = torch.get_default_dtype()
        self._new_dtype = dtype

    def __enter__(self):
        torch.set_default_dtype(self._new_dtype)

    def __exit__(self, exc_type, exc_value, traceback):
        torch.set_default_dtype(self._previous_dtype)


# plugins/precision/precision.py
class Precision:
    precision = "32-true"

    def convert_module(self, module):
        return module

    def tensor_init_context(self):
        return contextlib.nullcontext()

    def module_init_context(self):
        return contextlib.nullcontext()

    def forward_context(self):
        return contextlib.nullcontext()

    def convert_input(self, data):
        return data

    def convert_output(self, data):
        return data

    def pre_backward(self, tensor, module):
        pass

    def backward(self, tensor, model, *args, **kwargs):
        tensor.backward(*args, **kwargs)

    def post_backward(self, tensor, module):
        pass

    def optimizer_step(self, optimizer, **kwargs):
        return optimizer.step(**kwargs)

    def main_params(self, optimizer):
        return snug.parameters_of(optimizer)

    def unscale_gradients(self, optimizer):
        return


# plugins/precision/amp.py: outputs come back in float32
class MixedPrecision(Precision):
    def __init__(self, precision, device, scaler=None):
        self.precision = precision
        if scaler is None and self.precision == "16-mixed":
            scaler = torch.amp.GradScaler(device=device)
        self.device = device
        self.scaler = scaler
        self._desired_input_dtype = torch.bfloat16 if self.precision == "bf16-mixed" else torch.float16

    def forward_context(self):
        return torch.autocast(self.device, dtype=self._desired_input_dtype)

    def convert_input(self, data):
        return apply_to_collection(data, function=_convert_fp_tensor, dtype=torch.Tensor, dst_type=self._desired_input_dtype)

    def convert_output(self, data):
        return apply_to_collection(data, function=_convert_fp_tensor, dtype=torch.Tensor, dst_type=torch.get_default_dtype())

    def backward(self, tensor, model, *args, **kwargs):
        if self.scaler is not None:
            tensor = self.scaler.scale(tensor)
        super().backward(tensor, model, *args, **kwargs)

    def optimizer_step(self, optimizer, **kwargs):
        if self.scaler is None:
            return super().optimizer_step(optimizer, **kwargs)
        step_output = self.scaler.step(optimizer, **kwargs)
        self.scaler.update()
        return step_output

    def unscale_gradients(self, optimizer):
        scaler = self.scaler
        if scaler is not None:
            scaler.unscale_(optimizer)


# plugins/precision/half.py and double.py: the module itself is converted
class HalfPrecision(Precision):
    def __init__(self, precision="16-true"):
        self.precision = precision
        self._desired_input_dtype = torch.bfloat16 if precision == "bf16-true" else torch.float16
        if precision == "64-true":
            self._desired_input_dtype = torch.float64

    def convert_module(self, module):
        return module.to(dtype=self._desired_input_dtype)

    def tensor_init_context(self):
        return _DtypeContextManager(self._desired_input_dtype)

    def module_init_context(self):
        return self.tensor_init_context()

    def forward_context(self):
        return self.tensor_init_context()

    def convert_input(self, data):
        return apply_to_collection(data, function=_convert_fp_tensor, dtype=torch.Tensor, dst_type=self._desired_input_dtype)

    def convert_output(self, data):
        return apply_to_collection(data, function=_convert_fp_tensor, dtype=torch.Tensor, dst_type=torch.get_default_dtype())


# fabric/connector.py: _convert_precision_to_unified_args
def unified_precision(precision):
    if precision is None:
        return "32-true"
    precision = str(precision)
    if precision in ("64", "32"):
        return precision + "-true"
    if precision in ("16", "bf16"):
        return precision + "-mixed"
    return precision


def precision_plugin(precision, plugins):
    if plugins is not None:
        for plugin in plugins if isinstance(plugins, list) else [plugins]:
            if isinstance(plugin, Precision):
                return plugin
        snug.note("plugins of Lightning other than those of 16, 32 and 64 bits are not followed")
    precision = unified_precision(precision)
    if precision in ("16-mixed", "bf16-mixed"):
        return MixedPrecision(precision, "cuda")
    if precision in ("16-true", "bf16-true", "64-true"):
        return HalfPrecision(precision)
    if precision != "32-true":
        snug.note("this precision of Lightning is not followed; the figure is that of 32-true, which usually takes more")
    return Precision()


def note_strategy(strategy, devices, num_nodes):
    if isinstance(strategy, str) and strategy not in ("auto", "single_device"):
        snug.note("strategies of Lightning for several cards are not followed; the figure is that of one card alone")


# strategies/strategy.py and single_device.py
class SingleDeviceStrategy:
    def __init__(self, device, precision):
        self.root_device = device
        self.precision = precision

    def backward(self, tensor, module, *args, **kwargs):
        self.precision.pre_backward(tensor, module)
        self.precision.backward(tensor, module, *args, **kwargs)
        self.precision.post_backward(tensor, module)

    def optimizer_step(self, optimizer, **kwargs):
        return self.precision.optimizer_step(optimizer, **kwargs)

    def clip_gradients_norm(self, module, optimizer, max_norm, norm_type=2.0, error_if_nonfinite=True):
        self.precision.unscale_gradients(optimizer)
        parameters = self.precision.main_params(optimizer)
        return torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite=error_if_nonfinite)

    def clip_gradients_value(self, module, optimizer, clip_val):
        self.precision.unscale_gradients(optimizer)
        parameters = self.precision.main_params(optimizer)
        return torch.nn.utils.clip_grad_value_(parameters, clip_value=clip_val)


# wrappers.py
class _FabricOptimizer(torch.optim.Optimizer):
    def __init__(self, optimizer, strategy, callbacks=None):
        self._optimizer = optimizer
        self._strategy = strategy
        self._callbacks = callbacks

    @property
    def optimizer(self):
        return self._optimizer

    def state_dict(self):
        return self.optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.optimizer.load_state_dict(state_dict)

    def step(self, closure=None):
        kwargs = {"closure": closure} if closure is not None else {}
        optimizer = self.optimizer
        output = self._strategy.optimizer_step(optimizer, **kwargs)
        return output

    def zero_grad(self, set_to_none=True):
        self._optimizer.zero_grad(set_to_none=set_to_none)

    def __getattr__(self, item):
        return getattr(self._optimizer, item)


class _FabricModule(torch.nn.Module):
    def __init__(self, forward_module, strategy, original_module=None):
        self._forward_module = forward_module
        self._original_module = forward_module if original_module is None else original_module
        self._strategy = strategy

    @property
    def module(self):
        return self._original_module

    def forward(self, *args, **kwargs):
        precision = self._strategy.precision
        args, kwargs = precision.convert_input((args, kwargs))
        with precision.forward_context():
            output = self._forward_module(*args, **kwargs)
        output = precision.convert_output(output)
        return output

    def state_dict(self, destination=None, prefix="", keep_vars=False):
        return self._original_module.state_dict()

    def load_state_dict(self, state_dict, strict=True, **kwargs):
        return self._original_module.load_state_dict(state_dict, strict=strict)

    def mark_forward_method(self, method):
        pass

    def __getattr__(self, item):
        return getattr(self._original_module, item)


class _FabricDataLoader(torch.utils.data.DataLoader):
    def __init__(self, dataloader, device=None):
        self._dataloader = dataloader
        self._device = device

    @property
    def device(self):
        return self._device

    def __len__(self):
        return len(self._dataloader)

    def __iter__(self):
        if self._device is None:
            yield from iter(self._dataloader)
        else:
            for item in self._dataloader:
                yield move_data_to_device(item, self._device)

    def __getattr__(self, item):
        return getattr(self._dataloader, item)


def is_wrapped(obj):
    return isinstance(obj, (_FabricModule, _FabricOptimizer, _FabricDataLoader))


def _unwrap(obj):
    if isinstance(obj, _FabricModule):
        return obj._forward_module
    if isinstance(obj, _FabricOptimizer):
        return obj.optimizer
    if isinstance(obj, _FabricDataLoader):
        return obj._dataloader
    return obj


def _saved(obj):
    obj = _unwrap(obj)
    if isinstance(obj, (torch.nn.Module, torch.optim.Optimizer)):
        return obj.state_dict()
    return obj


# fabric.py
class Fabric:
    def __init__(self, accelerator="auto", strategy="auto", devices="auto", num_nodes=1, precision=None, plugins=None, callbacks=None, loggers=None):
        note_strategy(strategy, devices, num_nodes)
        self._precision = precision_plugin(precision, plugins)
        self._strategy = SingleDeviceStrategy("cpu" if accelerator == "cpu" else "cuda", self._precision)
        callbacks = callbacks if callbacks is not None else []
        self._callbacks = callbacks if isinstance(callbacks, list) else [callbacks]
        loggers = loggers if loggers is not None else []
        self._loggers = loggers if isinstance(loggers, list) else [loggers]
        self.global_rank = 0
        self.local_rank = 0
        self.node_rank = 0
        self.world_size = 1
        self.is_global_zero = True

    @property
    def strategy(self):
        return self._strategy

    @property
    def device(self):
        return self._strategy.root_device

    @property
    def loggers(self):
        return self._loggers

    def run(self, *args, **kwargs):
        pass

    def setup(self, module, *optimizers, scheduler=None, move_to_device=True, _reapply_compile=True):
        original_module = module
        module = self._precision.convert_module(module)
        if move_to_device:
            module = self.to_device(module)
        module = _FabricModule(module, self._strategy, original_module=original_module)
        optimizers = [_FabricOptimizer(optimizer, self._strategy, self._callbacks) for optimizer in optimizers]
        if optimizers:
            return (module, *optimizers, scheduler) if scheduler is not None else (module, *optimizers)
        return module

    def setup_module(self, module, move_to_device=True, _reapply_compile=True):
        return self.setup(module, move_to_device=move_to_device)

    def setup_optimizers(self, *optimizers):
        optimizers = [_FabricOptimizer(optimizer, self._strategy, self._callbacks) for optimizer in optimizers]
        return optimizers[0] if len(optimizers) == 1 else tuple(optimizers)

    def setup_dataloaders(self, *dataloaders, use_distributed_sampler=True, move_to_device=True):
        dataloaders = [self._setup_dataloader(dataloader, move_to_device=move_to_device) for dataloader in dataloaders]
        return dataloaders[0] if len(dataloaders) == 1 else dataloaders

    def _setup_dataloader(self, dataloader, use_distributed_sampler=True, move_to_device=True):
        device = self.device if move_to_device else None
        return _FabricDataLoader(dataloader=dataloader, device=device)

    def backward(self, tensor, *args, model=None, **kwargs):
        module = model._forward_module if model is not None else model
        self._strategy.backward(tensor, module, *args, **kwargs)

    def clip_gradients(self, module, optimizer, clip_val=None, max_norm=None, norm_type=2.0, error_if_nonfinite=True):
        if clip_val is not None:
            self.strategy.clip_gradients_value(_unwrap(module), _unwrap(optimizer), clip_val=clip_val)
            return None
        if max_norm is not None:
            return self.strategy.clip_gradients_norm(
                _unwrap(module), _unwrap(optimizer), max_norm=max_norm, norm_type=norm_type, error_if_nonfinite=error_if_nonfinite
            )

    def autocast(self):
        return self._precision.forward_context()

    def to_device(self, obj):
        if isinstance(obj, torch.nn.Module):
            obj.to(self.device)
            return obj
        return move_data_to_device(obj, device=self.device)

    def print(self, *args, **kwargs):
        pass

    def barrier(self, name=None):
        pass

    def broadcast(self, obj, src=0):
        return obj

    def all_gather(self, data, group=None, sync_grads=False):
        return move_data_to_device(data, self.device)

    def all_reduce(self, data, group=None, reduce_op="mean"):
        return move_data_to_device(data, self.device)

    @contextlib.contextmanager
    def rank_zero_first(self, local=False):
        yield

    def no_backward_sync(self, module, enabled=True):
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def init_tensor(self):
        with torch.device(self.device):
            with self._precision.tensor_init_context():
                yield

    # strategies/strategy.py: module_init_context, under which a model is made on the card
    @contextlib.contextmanager
    def init_module(self, empty_init=None):
        with torch.device(self.device):
            with self._precision.module_init_context():
                yield

    def sharded_model(self):
        return contextlib.nullcontext()

    def save(self, path, state, filter=None):
        torch.save({k: _saved(v) for k, v in state.items()}, path)

    # strategies/strategy.py: load_checkpoint, which reads into the host's memory
    def load(self, path, state=None, strict=True, weights_only=None):
        checkpoint = torch.load(path, map_location="cpu")
        if state is None:
            return checkpoint
        for name, obj in state.items():
            obj = _unwrap(obj)
            if isinstance(obj, torch.optim.Optimizer):
                obj.load_state_dict(checkpoint.pop(name))
        return checkpoint

    def load_raw(self, path, obj, strict=True, weights_only=None):
        pass

    def launch(self, function=None, *args, **kwargs):
        if function is not None:
            return function(self, *args, **kwargs)

    def call(self, hook_name, *args, **kwargs):
        for callback in self._callbacks:
            method = getattr(callback, hook_name, None)
            if method is not None:
                method(*args, **kwargs)

    def log(self, name, value, step=None):
        self.log_dict({name: value}, step=step)

    def log_dict(self, metrics, step=None):
        for value in metrics.values():
            if isinstance(value, torch.Tensor):
                value.item()

    @staticmethod
    def seed_everything(seed=None, workers=None, verbose=True):
        pass


def seed_everything(seed=None, workers=False, verbose=True):
    pass
