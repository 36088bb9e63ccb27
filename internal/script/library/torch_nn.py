# SPDX-License-Identifier: Apache-2.0
"""torch.nn of torch 2.11: the modules' parameters in the order in which they are made, and what their forward
calls. What every module has from Module is native."""
import snug
import torch
import torch.nn.functional as F


# modules/linear.py
class Identity(torch.nn.Module):
    def __init__(self, *args, **kwargs):
        pass

    def forward(self, input):
        return input


class Linear(torch.nn.Module):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        self.in_features = in_features
        self.out_features = out_features
        self.weight = torch.nn.Parameter(torch.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = torch.nn.Parameter(torch.empty(out_features, device=device, dtype=dtype))
        else:
            self.bias = None

    def reset_parameters(self):
        pass

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)


class Bilinear(torch.nn.Module):
    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        snug.note("nn.Bilinear is not followed; what it makes is not counted")
        self.weight = torch.nn.Parameter(torch.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = torch.nn.Parameter(torch.empty(out_features, device=device, dtype=dtype))
        else:
            self.bias = None


# modules/sparse.py
class Embedding(torch.nn.Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0,
                 scale_grad_by_freq=False, sparse=False, _weight=None, _freeze=False, device=None, dtype=None):
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        if sparse:
            snug.note("the sparse gradients of an embedding are counted as dense ones")
        self.weight = torch.nn.Parameter(torch.empty((num_embeddings, embedding_dim), device=device, dtype=dtype), requires_grad=not _freeze)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0,
                        scale_grad_by_freq=False, sparse=False):
        embedding = cls(embeddings.shape[0], embeddings.shape[1], padding_idx, _freeze=freeze)
        embedding.weight = torch.nn.Parameter(embeddings, requires_grad=not freeze)
        return embedding

    def reset_parameters(self):
        pass

    def forward(self, input):
        return F.embedding(input, self.weight)


# modules/normalization.py
class LayerNorm(torch.nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        if elementwise_affine:
            self.weight = torch.nn.Parameter(torch.empty(self.normalized_shape, device=device, dtype=dtype))
            if bias:
                self.bias = torch.nn.Parameter(torch.empty(self.normalized_shape, device=device, dtype=dtype))
            else:
                self.bias = None
        else:
            self.weight = None
            self.bias = None

    def reset_parameters(self):
        pass

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


# modules/batchnorm.py: what scripts put on pooled vectors
class BatchNorm1d(torch.nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None):
        self.num_features = num_features
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.empty(num_features, device=device, dtype=dtype)) if affine else None
        self.bias = torch.nn.Parameter(torch.empty(num_features, device=device, dtype=dtype)) if affine else None
        if track_running_stats:
            self.register_buffer("running_mean", torch.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", torch.ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.long, device=device))
        snug.note("a batch norm is counted as its result alone; it takes a little more")

    def forward(self, input):
        return input * 1.0


# modules/dropout.py
class Dropout(torch.nn.Module):
    def __init__(self, p=0.5, inplace=False):
        self.p = p
        self.inplace = inplace

    def forward(self, input):
        return F.dropout(input, self.p, self.training, self.inplace)


# modules/activation.py
class ReLU(torch.nn.Module):
    def __init__(self, inplace=False):
        self.inplace = inplace

    def forward(self, input):
        return F.relu(input, inplace=self.inplace)


class GELU(torch.nn.Module):
    def __init__(self, approximate="none"):
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)


class SiLU(torch.nn.Module):
    def __init__(self, inplace=False):
        self.inplace = inplace

    def forward(self, input):
        return F.silu(input, inplace=self.inplace)


class Tanh(torch.nn.Module):
    def forward(self, input):
        return torch.tanh(input)


class Sigmoid(torch.nn.Module):
    def forward(self, input):
        return torch.sigmoid(input)


class LeakyReLU(torch.nn.Module):
    def __init__(self, negative_slope=1e-2, inplace=False):
        self.inplace = inplace

    def forward(self, input):
        return F.leaky_relu(input, inplace=self.inplace)


class ELU(torch.nn.Module):
    def __init__(self, alpha=1.0, inplace=False):
        self.inplace = inplace

    def forward(self, input):
        return F.elu(input, inplace=self.inplace)


class Softplus(torch.nn.Module):
    def __init__(self, beta=1.0, threshold=20.0):
        pass

    def forward(self, input):
        return F.softplus(input)


class LogSigmoid(torch.nn.Module):
    def forward(self, input):
        return F.logsigmoid(input)


class Softmax(torch.nn.Module):
    def __init__(self, dim=None):
        self.dim = dim

    def forward(self, input):
        return F.softmax(input, self.dim)


class LogSoftmax(torch.nn.Module):
    def __init__(self, dim=None):
        self.dim = dim

    def forward(self, input):
        return F.log_softmax(input, self.dim)


# modules/flatten.py
class Flatten(torch.nn.Module):
    def __init__(self, start_dim=1, end_dim=-1):
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)


# modules/distance.py
class CosineSimilarity(torch.nn.Module):
    def __init__(self, dim=1, eps=1e-8):
        self.dim = dim

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim)


class PairwiseDistance(torch.nn.Module):
    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        self.keepdim = keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, keepdim=self.keepdim)


# modules/container.py: the modules in them are their attributes, by place or by key.
class Sequential(torch.nn.Module):
    def __init__(self, *args):
        self._items = []
        if len(args) == 1 and isinstance(args[0], dict):
            for key, module in args[0].items():
                setattr(self, key, module)
                self._items.append(module)
        else:
            for module in args:
                self.append(module)

    def append(self, module):
        setattr(self, str(len(self._items)), module)
        self._items.append(module)
        return self

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __getitem__(self, i):
        return self._items[i]

    def __setitem__(self, i, module):
        setattr(self, str(i), module)
        self._items[i] = module

    def forward(self, input):
        for module in self._items:
            input = module(input)
        return input


class ModuleList(torch.nn.Module):
    def __init__(self, modules=None):
        self._items = []
        if modules is not None:
            self.extend(modules)

    def append(self, module):
        setattr(self, str(len(self._items)), module)
        self._items.append(module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __getitem__(self, i):
        return self._items[i]

    def __setitem__(self, i, module):
        setattr(self, str(i), module)
        self._items[i] = module


class ModuleDict(torch.nn.Module):
    def __init__(self, modules=None):
        self._items = {}
        if modules is not None:
            self.update(modules)

    def update(self, modules):
        for key, module in modules.items():
            self[key] = module

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __contains__(self, key):
        return key in self._items

    def __getitem__(self, key):
        return self._items[key]

    def __setitem__(self, key, module):
        setattr(self, key, module)
        self._items[key] = module

    def keys(self):
        return self._items.keys()

    def values(self):
        return self._items.values()

    def items(self):
        return self._items.items()


class ParameterList(torch.nn.Module):
    def __init__(self, values=None):
        self._items = []
        if values is not None:
            for value in values:
                self.append(value)

    def append(self, value):
        setattr(self, str(len(self._items)), value)
        self._items.append(value)
        return self

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __getitem__(self, i):
        return self._items[i]


# modules/loss.py
class CrossEntropyLoss(torch.nn.Module):
    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.label_smoothing = label_smoothing

    def forward(self, input, target):
        return F.cross_entropy(input, target, weight=self.weight, ignore_index=self.ignore_index,
                               reduction=self.reduction, label_smoothing=self.label_smoothing)


class NLLLoss(torch.nn.Module):
    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        self.register_buffer("weight", weight)
        self.reduction = reduction

    def forward(self, input, target):
        return F.nll_loss(input, target, weight=self.weight, reduction=self.reduction)


class MSELoss(torch.nn.Module):
    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        self.reduction = reduction

    def forward(self, input, target):
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(torch.nn.Module):
    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        self.reduction = reduction

    def forward(self, input, target):
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(torch.nn.Module):
    def __init__(self, size_average=None, reduce=None, reduction="mean", beta=1.0):
        self.reduction = reduction

    def forward(self, input, target):
        return F.smooth_l1_loss(input, target, reduction=self.reduction)


class HuberLoss(torch.nn.Module):
    def __init__(self, reduction="mean", delta=1.0):
        self.reduction = reduction

    def forward(self, input, target):
        return F.huber_loss(input, target, reduction=self.reduction)


class KLDivLoss(torch.nn.Module):
    def __init__(self, size_average=None, reduce=None, reduction="mean", log_target=False):
        self.reduction = reduction
        self.log_target = log_target

    def forward(self, input, target):
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(torch.nn.Module):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        self.register_buffer("weight", weight)
        self.reduction = reduction

    def forward(self, input, target):
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(torch.nn.Module):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)
        self.reduction = reduction

    def forward(self, input, target):
        return F.binary_cross_entropy_with_logits(input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction)


class TripletMarginLoss(torch.nn.Module):
    def __init__(self, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
        self.swap = swap
        self.reduction = reduction

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_loss(anchor, positive, negative, swap=self.swap, reduction=self.reduction)


class CosineEmbeddingLoss(torch.nn.Module):
    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        self.reduction = reduction

    def forward(self, input1, input2, target):
        return F.cosine_embedding_loss(input1, input2, target, reduction=self.reduction)


class MarginRankingLoss(torch.nn.Module):
    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        self.reduction = reduction

    def forward(self, input1, input2, target):
        return F.margin_ranking_loss(input1, input2, target, reduction=self.reduction)


# modules/rnn.py: for each layer and direction w_ih, w_hh, b_ih, b_hh; on the card they are parts of one tensor.
class LSTM(torch.nn.Module):
    gates = 4

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.batch_first = batch_first
        self.bidirectional = bidirectional
        self._flat_weights = []
        directions = 2 if bidirectional else 1
        for layer in range(num_layers):
            for direction in range(directions):
                suffix = "_reverse" if direction == 1 else ""
                width = input_size if layer == 0 else hidden_size * directions
                self._add("weight_ih_l" + str(layer) + suffix, (self.gates * hidden_size, width), device, dtype)
                self._add("weight_hh_l" + str(layer) + suffix, (self.gates * hidden_size, hidden_size), device, dtype)
                if bias:
                    self._add("bias_ih_l" + str(layer) + suffix, (self.gates * hidden_size,), device, dtype)
                    self._add("bias_hh_l" + str(layer) + suffix, (self.gates * hidden_size,), device, dtype)
        snug.note("what cuDNN takes for a recurrent layer is estimated from a small one; a large one may take some percent more")

    def _add(self, name, size, device, dtype):
        weight = torch.nn.Parameter(torch.empty(size, device=device, dtype=dtype))
        setattr(self, name, weight)
        self._flat_weights.append(weight)

    def flatten_parameters(self):
        pass

    def forward(self, input, hx=None):
        if hx is None:
            count = self.num_layers * (2 if self.bidirectional else 1)
            batch = input.size(0) if self.batch_first else input.size(1)
            h_zeros = torch.zeros(count, batch, self.hidden_size, dtype=input.dtype, device=input.device)
            c_zeros = torch.zeros(count, batch, self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (h_zeros, c_zeros)
        result = snug.rnn(self, input, hx[0], hx[1])
        output = result[0]
        hidden = result[1:]
        return output, hidden


class GRU(LSTM):
    gates = 3

    def forward(self, input, hx=None):
        if hx is None:
            count = self.num_layers * (2 if self.bidirectional else 1)
            batch = input.size(0) if self.batch_first else input.size(1)
            hx = torch.zeros(count, batch, self.hidden_size, dtype=input.dtype, device=input.device)
        result = snug.rnn(self, input, hx, None)
        output = result[0]
        hidden = result[1]
        return output, hidden


class RNN(GRU):
    gates = 1
