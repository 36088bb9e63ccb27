# SPDX-License-Identifier: Apache-2.0
"""accelerate 1.15.0 on one card: what its Accelerator, loaders and optimizers keep alive."""
import contextlib

import snug
import torch


class _End:
    pass


_END = _End()  # what a loader gives after its last batch


class KwargsHandler:
    pass


class AutocastKwargs(KwargsHandler):
    enabled: bool = True
    cache_enabled: bool = None


class GradScalerKwargs(KwargsHandler):
    init_scale: float = 65536.0
    enabled: bool = True


class DistributedDataParallelKwargs(KwargsHandler):
    pass


class InitProcessGroupKwargs(KwargsHandler):
    pass


class ProfileKwargs(KwargsHandler):
    pass


class ProjectConfiguration:
    project_dir: str = None
    logging_dir: str = None
    automatic_checkpoint_naming: bool = False
    total_limit: int = None
    iteration: int = 0


class GradientAccumulationPlugin(KwargsHandler):
    num_steps: int = None
    adjust_scheduler: bool = True
    sync_with_dataloader: bool = True
    sync_each_batch: bool = False


class DataLoaderConfiguration:
    split_batches: bool = False
    dispatch_batches: bool = None
    even_batches: bool = True
    use_seedable_sampler: bool = False
    non_blocking: bool = False
    use_stateful_dataloader: bool = False


# state.py: GradientState; all that ask share one
class GradientState:
    def __init__(self):
        self.sync_gradients = True
        self.plugin = GradientAccumulationPlugin(num_steps=1)
        self.dataloader_references = [None]

    @property
    def num_steps(self):
        return self.plugin.num_steps

    @property
    def sync_with_dataloader(self):
        return self.plugin.sync_with_dataloader

    @property
    def active_dataloader(self):
        return self.dataloader_references[-1]

    @property
    def in_dataloader(self):
        return self.active_dataloader is not None

    @property
    def end_of_dataloader(self):
        if not self.in_dataloader:
            return False
        return self.active_dataloader.end_of_dataloader

    @property
    def remainder(self):
        if not self.in_dataloader:
            return -1
        return self.active_dataloader.remainder

    def _set_sync_gradients(self, sync_gradients):
        self.sync_gradients = sync_gradients

    def _add_dataloader(self, dataloader):
        self.dataloader_references.append(dataloader)

    def _remove_dataloader(self, dataloader):
        self.dataloader_references = [d for d in self.dataloader_references if d is not dataloader]


_gradient_state = GradientState()


class PartialState:
    def __init__(self, cpu=False, **kwargs):
        self.device = "cpu" if cpu else "cuda"
        self.num_processes = 1
        self.process_index = 0
        self.local_process_index = 0
        self.is_main_process = True
        self.is_local_main_process = True
        self.is_last_process = True
        self.use_distributed = False
        self.distributed_type = "NO"

    def wait_for_everyone(self):
        pass

    def print(self, *args, **kwargs):
        pass


class AcceleratorState(PartialState):
    def __init__(self, mixed_precision="no", cpu=False, **kwargs):
        super().__init__(cpu=cpu)
        self.mixed_precision = mixed_precision


# utils/operations.py
def is_torch_tensor(tensor):
    return isinstance(tensor, torch.Tensor)


def recursively_apply(func, data, *args, test_type=is_torch_tensor, error_on_other_type=False, **kwargs):
    if isinstance(data, (tuple, list)):
        return type(data)([recursively_apply(func, o, *args, test_type=test_type, **kwargs) for o in data])
    elif isinstance(data, dict):
        return type(data)({k: recursively_apply(func, v, *args, test_type=test_type, **kwargs) for k, v in data.items()})
    elif test_type(data):
        return func(data, *args, **kwargs)
    return data


def send_to_device(tensor, device, non_blocking=False, skip_keys=None):
    if is_torch_tensor(tensor):
        return tensor.to(device)
    elif isinstance(tensor, (tuple, list)):
        return type(tensor)([send_to_device(t, device) for t in tensor])
    elif isinstance(tensor, dict):
        return type(tensor)({k: send_to_device(t, device) for k, t in tensor.items()})
    return tensor


def convert_to_fp32(tensor):
    def _convert_to_fp32(tensor):
        return tensor.float()

    def _is_fp16_bf16_tensor(tensor):
        return is_torch_tensor(tensor) and tensor.dtype in (torch.float16, torch.bfloat16)

    return recursively_apply(_convert_to_fp32, tensor, test_type=_is_fp16_bf16_tensor)


class ConvertOutputsToFp32:
    def __init__(self, model_forward):
        self.model_forward = model_forward

    def __call__(self, *args, **kwargs):
        return convert_to_fp32(self.model_forward(*args, **kwargs))


def convert_outputs_to_fp32(model_forward):
    model_forward = ConvertOutputsToFp32(model_forward)

    def forward(*args, **kwargs):
        return model_forward(*args, **kwargs)

    return forward


def gather(tensor):
    return tensor


def gather_object(object):
    return object


def broadcast(tensor, from_process=0):
    return tensor


def broadcast_object_list(object_list, from_process=0):
    return object_list


def concatenate(data, dim=0):
    if isinstance(data[0], (tuple, list)):
        return type(data[0])([concatenate([d[i] for d in data], dim=dim) for i in range(len(data[0]))])
    elif isinstance(data[0], dict):
        return type(data[0])({k: concatenate([d[k] for d in data], dim=dim) for k in data[0].keys()})
    elif not is_torch_tensor(data[0]):
        return data[0]
    return torch.cat(data, dim=dim)


def slice_tensors(data, tensor_slice, process_index=None, num_processes=None):
    def _slice_tensor(tensor, tensor_slice):
        return tensor[tensor_slice]

    return recursively_apply(_slice_tensor, data, tensor_slice)


def reduce(tensor, reduction="mean", scale=1.0):
    def _reduce_across_processes(tensor):
        cloned_tensor = tensor.clone()
        return cloned_tensor

    return recursively_apply(_reduce_across_processes, tensor)


def pad_across_processes(tensor, dim=0, pad_index=0, pad_first=False):
    def _pad_across_processes(tensor):
        if dim >= len(tensor.shape):
            return tensor
        size = torch.tensor(list(tensor.shape), device=tensor.device)[None]
        sizes = gather(size).cpu()
        return tensor

    return recursively_apply(_pad_across_processes, tensor)


# utils/modeling.py: get_mixed_precision_context_manager
def get_mixed_precision_context_manager(native_amp, autocast_kwargs, mixed_precision):
    if not native_amp:
        return contextlib.nullcontext()
    enabled = True if autocast_kwargs is None else autocast_kwargs.enabled
    cache_enabled = None if autocast_kwargs is None else autocast_kwargs.cache_enabled
    dtype = torch.float16 if mixed_precision == "fp16" else torch.bfloat16
    return torch.autocast(device_type="cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


# torch/amp/autocast_mode.py: autocast_decorator, which is what an autocast does to a function it is called with
def _autocast_decorator(autocast_instance, func):
    def decorate_autocast(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


# data_loader.py: DataLoaderStateMixin, DataLoaderAdapter
class _PreparedLoader(torch.utils.data.DataLoader):
    end_of_dataloader = False
    remainder = -1

    def reset(self):
        self.end_of_dataloader = False
        self.remainder = -1

    def begin(self):
        self.reset()
        if not self._drop_last:
            self.remainder = len(self.dataset) % self.base_dataloader.batch_size
        self.gradient_state._add_dataloader(self)

    def end(self):
        self.gradient_state._remove_dataloader(self)

    def set_epoch(self, epoch):
        self.iteration = epoch

    def __len__(self):
        return len(self.base_dataloader)

    def __getattr__(self, name):
        return getattr(self.base_dataloader, name)


# data_loader.py: DataLoaderShard fetches a batch ahead, in the host's memory. The batch in hand is also the
# generator's, as long as the loop's body runs.
class DataLoaderShard(_PreparedLoader):
    def __init__(self, dataloader, device=None, skip_batches=0, _drop_last=False):
        self.base_dataloader = dataloader
        self.device = device
        self.skip_batches = skip_batches
        self.gradient_state = _gradient_state
        self._drop_last = _drop_last
        self.iteration = 0
        self.left = None

    def __iter__(self):
        self.begin()
        self.set_epoch(self.iteration)
        dataloader_iter = iter(self.base_dataloader)
        current_batch = next(dataloader_iter, _END)
        if current_batch is _END:
            self.end()
            return
        batch_index = 0
        while True:
            if self.device is not None:
                current_batch = send_to_device(current_batch, self.device)
            next_batch = next(dataloader_iter, _END)
            if next_batch is _END:
                self.end_of_dataloader = True
                if batch_index >= self.skip_batches:
                    yield current_batch
                break
            if batch_index >= self.skip_batches:
                yield current_batch
            batch_index += 1
            if self.left is not None:  # a trainer passes over batches like those before
                next_batch = snug.seek(dataloader_iter, self.left)
                self.left = None
            current_batch = next_batch
        self.iteration += 1
        self.end()


# data_loader.py: DataLoaderDispatcher, which iterable data sets get. It keeps a slice of the first batch, and
# with it that batch, until its end.
class DataLoaderDispatcher(_PreparedLoader):
    def __init__(self, dataloader, split_batches=False, skip_batches=0, _drop_last=False, slice_fn=None):
        self.base_dataloader = dataloader
        self.split_batches = split_batches
        self.skip_batches = skip_batches
        self.gradient_state = _gradient_state
        self.state = PartialState()
        self._drop_last = _drop_last
        self.slice_fn = slice_tensors if slice_fn is None else slice_fn
        self.iteration = 0

    def _fetch_batches(self, iterator):
        batch = next(iterator, _END)
        self._stop_iteration = batch is _END
        if self._stop_iteration:
            return None, [None, True]
        if not self.split_batches:
            batches = [batch]
            batch = concatenate(batches, dim=0)
        return batch, [True, False]

    def __iter__(self):
        self.begin()
        self.set_epoch(self.iteration)
        main_iterator = iter(self.base_dataloader)
        stop_iteration = False
        self._stop_iteration = False
        first_batch = None
        next_batch, next_batch_info = self._fetch_batches(main_iterator)
        batch_index = 0
        while not stop_iteration:
            batch, batch_info = next_batch, next_batch_info
            if batch is None:
                break
            batch = send_to_device(batch, self.state.device)
            batch = broadcast(batch, from_process=0)
            if not self._drop_last and first_batch is None:
                first_batch = self.slice_fn(batch, slice(0, 1), process_index=0, num_processes=1)
            next_batch, next_batch_info = self._fetch_batches(main_iterator)
            stop_iteration = self._stop_iteration
            batch = self.slice_fn(batch, slice(0, self.base_dataloader.batch_size), process_index=0, num_processes=1)
            if stop_iteration:
                self.end_of_dataloader = True
            if batch_index >= self.skip_batches:
                yield batch
            batch_index += 1
        self.iteration += 1
        self.end()


def prepare_data_loader(dataloader, device=None, split_batches=False, put_on_device=False, dispatch_batches=None, slice_fn_for_dispatch=None):
    if dispatch_batches is None:
        dispatch_batches = put_on_device and isinstance(dataloader.dataset, torch.utils.data.IterableDataset)
    if dispatch_batches:
        return DataLoaderDispatcher(dataloader, split_batches=split_batches, _drop_last=dataloader.drop_last, slice_fn=slice_fn_for_dispatch)
    return DataLoaderShard(dataloader, device=device if put_on_device else None, _drop_last=dataloader.drop_last)


def skip_first_batches(dataloader, num_batches=0):
    if isinstance(dataloader, DataLoaderDispatcher):
        return DataLoaderDispatcher(dataloader.base_dataloader, split_batches=dataloader.split_batches, skip_batches=num_batches, _drop_last=dataloader._drop_last)
    elif isinstance(dataloader, DataLoaderShard):
        return DataLoaderShard(dataloader.base_dataloader, device=dataloader.device, skip_batches=num_batches, _drop_last=dataloader._drop_last)
    return dataloader


# optimizer.py: AcceleratedOptimizer does nothing while gradients accumulate
class AcceleratedOptimizer(torch.optim.Optimizer):
    def __init__(self, optimizer, device_placement=True, scaler=None):
        self.optimizer = optimizer
        self.scaler = scaler
        self.gradient_state = _gradient_state
        self.device_placement = device_placement
        self.step_was_skipped = False
        snug.place_states(self.optimizer)  # those that there are go to the card, their counters too

    @property
    def state(self):
        return self.optimizer.state

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    @property
    def defaults(self):
        return self.optimizer.defaults

    def add_param_group(self, param_group):
        self.optimizer.add_param_group(param_group)

    def load_state_dict(self, state_dict):
        self.optimizer.load_state_dict(state_dict)

    def state_dict(self):
        return self.optimizer.state_dict()

    def zero_grad(self, set_to_none=None):
        if self.gradient_state.sync_gradients:
            if set_to_none is None:
                set_to_none = True
            self.optimizer.zero_grad(set_to_none=set_to_none)

    def train(self):
        pass

    def eval(self):
        pass

    def step(self, closure=None):
        if self.gradient_state.sync_gradients:
            if self.scaler is not None:
                self.scaler.step(self.optimizer, closure)
                self.scaler.update()
            else:
                self.optimizer.step(closure)


# scheduler.py: AcceleratedScheduler
class AcceleratedScheduler(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, scheduler, optimizers, step_with_optimizer=True, split_batches=False):
        self.scheduler = scheduler
        self.optimizers = optimizers
        self.step_with_optimizer = step_with_optimizer
        self.gradient_state = _gradient_state

    def step(self, *args, **kwargs):
        if self.step_with_optimizer and not self.gradient_state.sync_gradients:
            return
        self.scheduler.step(*args, **kwargs)

    def get_last_lr(self):
        return self.scheduler.get_last_lr()

    def get_lr(self):
        return self.scheduler.get_lr()

    def state_dict(self):
        return self.scheduler.state_dict()

    def load_state_dict(self, state_dict):
        self.scheduler.load_state_dict(state_dict)


# accelerator.py
class Accelerator:
    def __init__(
        self,
        device_placement=True,
        split_batches=False,
        mixed_precision=None,
        gradient_accumulation_steps=1,
        cpu=False,
        dataloader_config=None,
        deepspeed_plugin=None,
        fsdp_plugin=None,
        torch_tp_plugin=None,
        megatron_lm_plugin=None,
        rng_types=None,
        log_with=None,
        project_dir=None,
        project_config=None,
        gradient_accumulation_plugin=None,
        step_scheduler_with_optimizer=True,
        kwargs_handlers=None,
        dynamo_backend=None,
        dynamo_plugin=None,
        deepspeed_plugins=None,
        parallelism_config=None,
    ):
        self.project_configuration = project_config if project_config is not None else ProjectConfiguration(project_dir=project_dir)
        if deepspeed_plugin is not None or deepspeed_plugins is not None or fsdp_plugin is not None or megatron_lm_plugin is not None or parallelism_config is not None:
            snug.note("the plugins of Accelerator for several cards are not followed; the figure is that of one card alone")
        if dynamo_backend is not None or dynamo_plugin is not None:
            snug.note("torch.compile is not simulated; a compiled model usually takes less")
        if mixed_precision == "fp8":
            snug.note("fp8 is not followed; the figure is that of bf16, which usually takes more")
        self.scaler_handler = None
        self.autocast_handler = None
        if kwargs_handlers is not None:
            for handler in kwargs_handlers:
                if isinstance(handler, GradScalerKwargs):
                    self.scaler_handler = handler
                elif isinstance(handler, AutocastKwargs):
                    self.autocast_handler = handler
        if mixed_precision is None:
            mixed_precision = "no"
        self.state = AcceleratorState(mixed_precision=mixed_precision, cpu=cpu)
        if gradient_accumulation_plugin is None:
            gradient_accumulation_plugin = GradientAccumulationPlugin(num_steps=gradient_accumulation_steps)
        self.gradient_state = _gradient_state
        self.gradient_state.plugin = gradient_accumulation_plugin
        self.device_placement = device_placement
        self.dataloader_config = dataloader_config if dataloader_config is not None else DataLoaderConfiguration(split_batches=split_batches)
        self.step_scheduler_with_optimizer = step_scheduler_with_optimizer
        self.scaler = None
        self.native_amp = mixed_precision in ("fp16", "bf16", "fp8") and not cpu
        if mixed_precision == "fp16" and not cpu:
            enabled = True if self.scaler_handler is None else self.scaler_handler.enabled
            self.scaler = torch.amp.GradScaler("cuda", enabled=enabled)
        self.step = 0
        self._optimizers = []
        self._models = []
        self._schedulers = []
        self._dataloaders = []
        self._custom_objects = []
        self.trackers = []
        self.flag_tensor = None

    @property
    def distributed_type(self):
        return self.state.distributed_type

    @property
    def num_processes(self):
        return self.state.num_processes

    @property
    def process_index(self):
        return self.state.process_index

    @property
    def local_process_index(self):
        return self.state.local_process_index

    @property
    def device(self):
        return self.state.device

    @property
    def split_batches(self):
        return self.dataloader_config.split_batches

    @property
    def dispatch_batches(self):
        return self.dataloader_config.dispatch_batches

    @property
    def use_distributed(self):
        return self.state.use_distributed

    @property
    def is_main_process(self):
        return True

    @property
    def is_local_main_process(self):
        return True

    @property
    def is_last_process(self):
        return True

    @property
    def mixed_precision(self):
        return self.state.mixed_precision

    @property
    def project_dir(self):
        return self.project_configuration.project_dir

    @property
    def sync_gradients(self):
        return self.gradient_state.sync_gradients

    @property
    def gradient_accumulation_steps(self):
        return self.gradient_state.num_steps

    @property
    def optimizer_step_was_skipped(self):
        return False

    def print(self, *args, **kwargs):
        pass

    def wait_for_everyone(self):
        pass

    def on_main_process(self, function):
        return function

    def on_local_main_process(self, function):
        return function

    @contextlib.contextmanager
    def main_process_first(self):
        yield

    @contextlib.contextmanager
    def local_main_process_first(self):
        yield

    @contextlib.contextmanager
    def split_between_processes(self, inputs, apply_padding=False):
        yield inputs

    @contextlib.contextmanager
    def no_sync(self, model):
        yield

    @contextlib.contextmanager
    def join_uneven_inputs(self, joinables, even_batches=None):
        yield

    @contextlib.contextmanager
    def profile(self, profile_handler=None):
        yield

    def _do_sync(self):
        if self.gradient_state.sync_with_dataloader and self.gradient_state.end_of_dataloader:
            self.step = 0
            self.gradient_state._set_sync_gradients(True)
        else:
            self.step += 1
            self.gradient_state._set_sync_gradients((self.step % self.gradient_state.num_steps) == 0)

    @contextlib.contextmanager
    def accumulate(self, *models):
        self._do_sync()
        yield

    def _prepare_one(self, obj, first_pass=False, device_placement=None):
        if first_pass:
            if isinstance(obj, torch.utils.data.DataLoader):
                return self.prepare_data_loader(obj, device_placement=device_placement)
            elif isinstance(obj, torch.nn.Module):
                return self.prepare_model(obj, device_placement=device_placement)
            elif isinstance(obj, torch.optim.Optimizer):
                return self.prepare_optimizer(obj, device_placement=device_placement)
        elif isinstance(obj, torch.optim.lr_scheduler.LRScheduler):
            return self.prepare_scheduler(obj)
        return obj

    def prepare(self, *args, device_placement=None):
        if device_placement is None:
            device_placement = [None for _ in args]
        result = tuple([self._prepare_one(obj, first_pass=True, device_placement=d) for obj, d in zip(args, device_placement)])
        result = tuple([self._prepare_one(obj, device_placement=d) for obj, d in zip(result, device_placement)])
        return result if len(result) > 1 else result[0]

    def prepare_model(self, model, device_placement=None, evaluation_mode=False):
        if device_placement is None:
            device_placement = self.device_placement
        if getattr(model, "_is_accelerate_prepared", False):
            return model
        self._models.append(model)
        if self.native_amp:
            model._original_forward = model.forward
            autocast_context = get_mixed_precision_context_manager(self.native_amp, self.autocast_handler, self.mixed_precision)
            model.forward = convert_outputs_to_fp32(_autocast_decorator(autocast_context, model.forward))
        if device_placement:
            model = model.to(self.device)
        model._is_accelerate_prepared = True
        return model

    def prepare_data_loader(self, data_loader, device_placement=None, slice_fn_for_dispatch=None):
        if isinstance(data_loader, _PreparedLoader):
            return data_loader
        if device_placement is None:
            device_placement = self.device_placement
        prepared_data_loader = prepare_data_loader(
            data_loader,
            self.device,
            split_batches=self.split_batches,
            put_on_device=device_placement,
            dispatch_batches=self.dispatch_batches,
            slice_fn_for_dispatch=slice_fn_for_dispatch,
        )
        self._dataloaders.append(prepared_data_loader)
        return prepared_data_loader

    def prepare_optimizer(self, optimizer, device_placement=None):
        if isinstance(optimizer, AcceleratedOptimizer):
            return optimizer
        optimizer = AcceleratedOptimizer(optimizer, device_placement=device_placement, scaler=self.scaler)
        self._optimizers.append(optimizer)
        return optimizer

    def prepare_scheduler(self, scheduler):
        if isinstance(scheduler, AcceleratedScheduler):
            return scheduler
        scheduler = AcceleratedScheduler(
            scheduler, self._optimizers, step_with_optimizer=self.step_scheduler_with_optimizer, split_batches=self.split_batches
        )
        self._schedulers.append(scheduler)
        return scheduler

    def backward(self, loss, **kwargs):
        loss = loss / self.gradient_accumulation_steps
        if self.scaler is not None:
            self.scaler.scale(loss).backward(**kwargs)
        else:
            loss.backward(**kwargs)

    def set_trigger(self):
        self.flag_tensor = torch.tensor(1, device=self.device)

    def check_trigger(self):
        if self.flag_tensor is None:
            self.flag_tensor = torch.tensor(0, device=self.device)
        flag_tensor = self.reduce(self.flag_tensor)
        return flag_tensor.item() >= 1

    def unscale_gradients(self, optimizer=None):
        if self.native_amp and self.mixed_precision == "fp16":
            if optimizer is None:
                optimizer = self._optimizers
            elif not isinstance(optimizer, (tuple, list)):
                optimizer = [optimizer]
            for opt in optimizer:
                if isinstance(opt, AcceleratedOptimizer):
                    opt = opt.optimizer
                self.scaler.unscale_(opt)

    def clip_grad_norm_(self, parameters, max_norm, norm_type=2):
        self.unscale_gradients()
        return torch.nn.utils.clip_grad_norm_(list(parameters), max_norm, norm_type=norm_type)

    def clip_grad_value_(self, parameters, clip_value):
        self.unscale_gradients()
        torch.nn.utils.clip_grad_value_(parameters, clip_value)

    def gather(self, tensor):
        return gather(tensor)

    def gather_for_metrics(self, input_data, use_gather_object=False):
        data = self.gather(input_data)
        if self.gradient_state.end_of_dataloader and self.gradient_state.remainder > 0:

            def _adjust_samples(tensor):
                return tensor[: self.gradient_state.remainder]

            return recursively_apply(_adjust_samples, data)
        return data

    def reduce(self, tensor, reduction="sum", scale=1.0):
        return reduce(tensor, reduction, scale)

    def pad_across_processes(self, tensor, dim=0, pad_index=0, pad_first=False):
        return pad_across_processes(tensor, dim=dim, pad_index=pad_index, pad_first=pad_first)

    def unwrap_model(self, model, keep_fp32_wrapper=True, keep_torch_compile=True):
        if not keep_fp32_wrapper and self.native_amp:
            model.forward = model._original_forward
        return model

    def init_trackers(self, project_name, config=None, init_kwargs=None):
        pass

    def get_tracker(self, name, unwrap=False):
        pass

    def log(self, values, step=None, log_kwargs=None):
        pass

    def end_training(self):
        pass

    def save(self, obj, f, safe_serialization=False):
        torch.save(obj, f)

    def save_model(self, model, save_directory, max_shard_size="10GB", safe_serialization=True):
        state_dict = self.get_state_dict(model)

    def register_for_checkpointing(self, *objects):
        self._custom_objects.extend(objects)

    def register_save_state_pre_hook(self, hook):
        pass

    def register_load_state_pre_hook(self, hook):
        pass

    # checkpointing.py: what save_accelerator_state writes is read from the card as it is written
    def save_state(self, output_dir=None, safe_serialization=True, **save_model_func_kwargs):
        weights = []
        for i, model in enumerate(self._models):
            weights.append(self.get_state_dict(model, unwrap=False))
        for i, opt in enumerate(self._optimizers):
            state = opt.state_dict()
            torch.save(state, f"{output_dir}/optimizer_{i}.bin")
        return output_dir

    # checkpointing.py: load_accelerator_state reads weights into the model, and the optimizer's states by way
    # of the host's memory
    def load_state(self, input_dir=None, load_kwargs=None, **load_model_func_kwargs):
        for i, opt in enumerate(self._optimizers):
            optimizer_state = torch.load(f"{input_dir}/optimizer_{i}.bin", map_location="cpu")
            self._optimizers[i].load_state_dict(optimizer_state)

    def free_memory(self, *objects):
        objects = release_memory(*objects)
        self._schedulers = []
        self._optimizers = []
        self._models = []
        self._dataloaders = []
        self.step = 0
        return objects

    def clear(self, *objects):
        return self.free_memory(*objects)

    def get_state_dict(self, model, unwrap=True):
        state_dict = model.state_dict()
        return state_dict

    @contextlib.contextmanager
    def autocast(self, autocast_handler=None):
        if autocast_handler is None:
            autocast_handler = self.autocast_handler
        autocast_context = get_mixed_precision_context_manager(self.native_amp, autocast_handler, self.mixed_precision)
        with autocast_context:
            yield

    def skip_first_batches(self, dataloader, num_batches=0):
        return skip_first_batches(dataloader, num_batches=num_batches)


# utils/memory.py
def release_memory(*objects):
    objects = list(objects)
    for i in range(len(objects)):
        objects[i] = None
    torch.cuda.empty_cache()
    return objects


def find_executable_batch_size(function=None, starting_batch_size=128, reduce_batch_size_fn=None):
    def decorator(function, *args, **kwargs):
        return function(starting_batch_size, *args, **kwargs)

    if function is None:
        return lambda function: lambda *args, **kwargs: decorator(function, *args, **kwargs)
    return lambda *args, **kwargs: decorator(function, *args, **kwargs)


def set_seed(seed, device_specific=False, deterministic=False):
    pass


def notebook_launcher(function, args=(), num_processes=None, **kwargs):
    return function(*args)
