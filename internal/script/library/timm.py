# SPDX-License-Identifier: Apache-2.0
"""timm 1.0.30: what its training scripts use around a model."""
import copy

import snug
import torch


# models/_factory.py: the setup says which model it is
def create_model(model_name, pretrained=False, **kwargs):
    if not model_name.startswith("resnet"):
        snug.note("only timm's resnets are the models that the setup knows; the figure is that of the setup's own model")
    return snug.network()


# optim/_optim_factory.py: biases and norms get a group of their own where there is weight decay
def create_optimizer_v2(model_or_params, opt="sgd", lr=None, weight_decay=0.0, momentum=0.9, foreach=None, filter_bias_and_bn=True, **kwargs):
    params = model_or_params.parameters() if isinstance(model_or_params, torch.nn.Module) else model_or_params
    if weight_decay and filter_bias_and_bn and isinstance(model_or_params, torch.nn.Module):
        params = param_groups_weight_decay(model_or_params, weight_decay)
    opt = opt.lower()
    if opt in ("sgd", "nesterov", "momentum"):
        return torch.optim.SGD(params, lr=lr, momentum=momentum)
    if opt in ("adam", "nadam", "radam"):
        return torch.optim.Adam(params, lr=lr)
    if opt != "adamw":
        snug.note("this optimizer of timm is not followed; it is counted as AdamW")
    return torch.optim.AdamW(params, lr=lr)


def param_groups_weight_decay(model, weight_decay=1e-5, no_weight_decay_list=()):
    decay = []
    no_decay = []
    for name, param in model.named_parameters():
        if not param.requires_grad:
            continue
        if param.ndim <= 1 or name.endswith(".bias"):
            no_decay.append(param)
        else:
            decay.append(param)
    return [{"params": no_decay, "weight_decay": 0.0}, {"params": decay, "weight_decay": weight_decay}]


# utils/metrics.py
class AverageMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.val = 0
        self.avg = 0
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum = self.sum + val * n
        self.count = self.count + n
        self.avg = self.sum / self.count


# utils/model_ema.py
class ModelEmaV2(torch.nn.Module):
    def __init__(self, model, decay=0.9999, device=None):
        self.module = copy.deepcopy(model)
        self.module.eval()
        self.decay = decay
        self.device = device

    def _update(self, model, update_fn):
        with torch.no_grad():
            for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):
                ema_v.copy_(update_fn(ema_v, model_v))

    def update(self, model):
        self._update(model, update_fn=lambda e, m: self.decay * e + (1.0 - self.decay) * m)

    def set(self, model):
        self._update(model, update_fn=lambda e, m: m)

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)


ModelEma = ModelEmaV2


# utils/model_ema.py: V3 writes its averages in place
class ModelEmaV3(ModelEmaV2):
    def update(self, model, step=None):
        pass


# utils/cuda.py
class NativeScaler:
    def __init__(self, device="cuda"):
        self._scaler = torch.amp.GradScaler(device=device)

    def __call__(self, loss, optimizer, clip_grad=None, clip_mode="norm", parameters=None, create_graph=False, need_update=True):
        self._scaler.scale(loss).backward()
        if need_update:
            if clip_grad is not None:
                self._scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(parameters, clip_grad)
            self._scaler.step(optimizer)
            self._scaler.update()


def dispatch_clip_grad(parameters, value, mode="norm", norm_type=2.0):
    if mode == "norm":
        torch.nn.utils.clip_grad_norm_(parameters, value, norm_type=norm_type)


def accuracy(output, target, topk=(1,)):
    return [snug.unknown() for k in topk]
