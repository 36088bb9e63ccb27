# SPDX-License-Identifier: Apache-2.0
"""What the Trainer uses of accelerate's Accelerator (accelerate 1.15)."""
import snug
import torch


# data_loader.py, DataLoaderShard: one batch is read ahead, and the one under way is held while it is used.
class DataLoaderShard:
    def __init__(self, base_dataloader, accelerator):
        self.base_dataloader = base_dataloader
        self.dataset = base_dataloader.dataset
        self.batch_size = base_dataloader.batch_size
        self.accelerator = accelerator
        self.left = None

    def __len__(self):
        return len(self.base_dataloader)

    def set_epoch(self, epoch):
        pass

    def __iter__(self):
        self.accelerator.end_of_dataloader = False
        self.accelerator.remainder = snug.remainder(self.base_dataloader)
        dataloader_iter = iter(self.base_dataloader)
        current_batch = next(dataloader_iter, None)
        if current_batch is None:
            return
        while True:
            current_batch = snug.moved(current_batch, "cuda")
            next_batch = next(dataloader_iter, None)
            if next_batch is None:
                self.accelerator.end_of_dataloader = True
                yield current_batch
                break
            yield current_batch
            if self.left is not None:
                next_batch = snug.seek(dataloader_iter, self.left)
                self.left = None
            current_batch = next_batch


# optimizer.py, AcceleratedOptimizer: what states there are already go to the card, their counters too.
class AcceleratedOptimizer:
    def __init__(self, optimizer, scaler=None):
        self.optimizer = optimizer
        self.scaler = scaler
        snug.place_states(self.optimizer)

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    @property
    def state(self):
        return self.optimizer.state

    def state_dict(self):
        return self.optimizer.state_dict()

    def load_state_dict(self, state_dict):
        self.optimizer.load_state_dict(state_dict)

    def zero_grad(self, set_to_none=None):
        self.optimizer.zero_grad()

    def train(self):
        pass

    def eval(self):
        pass

    def step(self, closure=None):
        if self.scaler is not None:
            self.scaler.step(self.optimizer, closure)
            self.scaler.update()
        else:
            self.optimizer.step(closure)


# accelerator.py
class _Accelerator:
    def __init__(self, mixed_precision="no"):
        self.mixed_precision = mixed_precision
        self.native_amp = mixed_precision == "fp16" or mixed_precision == "bf16"
        self.scaler = torch.amp.GradScaler("cuda") if mixed_precision == "fp16" else None
        self.gradient_accumulation_steps = 1
        self.sync_gradients = True
        self.end_of_dataloader = False
        self.remainder = -1
        self.device = "cuda"
        self.num_processes = 1
        self.process_index = 0
        self.is_main_process = True
        self.is_local_main_process = True
        self._models = []
        self._optimizers = []

    def free_memory(self, *objects):
        torch.cuda.empty_cache()
        self._models = []
        self._optimizers = []

    def prepare_model(self, model, device_placement=None, evaluation_mode=False):
        self._models.append(model)
        if self.native_amp:
            snug.autocast_forward(model, torch.float16 if self.mixed_precision == "fp16" else torch.bfloat16)
        model.to(self.device)
        return model

    def prepare_optimizer(self, optimizer):
        if isinstance(optimizer, AcceleratedOptimizer):
            self._optimizers.append(optimizer)
            return optimizer
        optimizer = AcceleratedOptimizer(optimizer, scaler=self.scaler)
        self._optimizers.append(optimizer)
        return optimizer

    def prepare_data_loader(self, data_loader):
        return DataLoaderShard(data_loader, self)

    def unwrap_model(self, model, keep_fp32_wrapper=True):
        return model

    def backward(self, loss, **kwargs):
        loss = loss / self.gradient_accumulation_steps
        if self.scaler is not None:
            self.scaler.scale(loss).backward()
        else:
            loss.backward()

    def unscale_gradients(self):
        if self.native_amp and self.mixed_precision == "fp16":
            for opt in self._optimizers:
                self.scaler.unscale_(opt.optimizer)

    def clip_grad_norm_(self, parameters, max_norm, norm_type=2):
        self.unscale_gradients()
        return snug.grad_norm(list(parameters), max_norm)

    def gather(self, tensor):
        return tensor

    def gather_for_metrics(self, input_data, use_gather_object=False):
        data = self.gather(input_data)
        if self.end_of_dataloader and self.remainder > 0:
            return snug.first_rows(data, self.remainder)
        return data

    def pad_across_processes(self, tensor, dim=0, pad_index=0, pad_first=False):
        if isinstance(tensor, (list, tuple)):
            return tuple([self.pad_across_processes(t, dim=dim, pad_index=pad_index) for t in tensor])
        if isinstance(tensor, dict):
            return {k: self.pad_across_processes(t, dim=dim, pad_index=pad_index) for k, t in tensor.items()}
        if not isinstance(tensor, torch.Tensor) or dim >= len(tensor.shape):
            return tensor
        size = torch.tensor(list(tensor.shape), device=tensor.device)[None]
        sizes = self.gather(size).cpu()
        return tensor

    def wait_for_everyone(self):
        pass

    def print(self, *args, **kwargs):
        pass
