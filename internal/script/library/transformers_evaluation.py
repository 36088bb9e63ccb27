# SPDX-License-Identifier: Apache-2.0
"""What the Trainer's evaluation collects (transformers 5.17, trainer_utils.py and trainer_pt_utils.py)."""
import snug
import torch


class EvalPrediction:
    def __init__(self, predictions, label_ids, inputs=None, losses=None):
        self.predictions = predictions
        self.label_ids = label_ids
        self.inputs = inputs
        self.losses = losses
        self.elements = (self.predictions, self.label_ids)
        if self.inputs is not None:
            self.elements += (self.inputs,)
        if self.losses is not None:
            self.elements += (self.losses,)

    def __iter__(self):
        return iter(self.elements)

    def __getitem__(self, idx):
        return self.elements[idx]


class EvalLoopOutput:
    def __init__(self, predictions, label_ids, metrics, num_samples):
        self.predictions = predictions
        self.label_ids = label_ids
        self.metrics = metrics
        self.num_samples = num_samples


class PredictionOutput:
    def __init__(self, predictions, label_ids, metrics):
        self.predictions = predictions
        self.label_ids = label_ids
        self.metrics = metrics

    def __iter__(self):
        return iter((self.predictions, self.label_ids, self.metrics))

    def __getitem__(self, idx):
        return (self.predictions, self.label_ids, self.metrics)[idx]


def torch_pad_and_concatenate(tensor1, tensor2, padding_index=-100):
    if len(tensor1.shape) == 1 or tensor1.shape[1] == tensor2.shape[1]:
        return torch.cat((tensor1, tensor2), dim=0)
    new_shape = (tensor1.shape[0] + tensor2.shape[0], max(tensor1.shape[1], tensor2.shape[1])) + tuple(tensor1.shape[2:])
    result = tensor1.new_full(new_shape, padding_index)
    return result


def nested_concat(tensors, new_tensors, padding_index=-100):
    if isinstance(tensors, (list, tuple)):
        return tuple([nested_concat(t, n, padding_index=padding_index) for t, n in zip(tensors, new_tensors)])
    if isinstance(tensors, dict):
        return {k: nested_concat(t, new_tensors[k], padding_index=padding_index) for k, t in tensors.items()}
    if isinstance(tensors, torch.Tensor):
        return torch_pad_and_concatenate(tensors, new_tensors, padding_index=padding_index)
    return tensors


def find_batch_size(tensors):
    return snug.batch_size(tensors)


def nested_numpify(tensors):
    if isinstance(tensors, (list, tuple)):
        return tuple([nested_numpify(t) for t in tensors])
    if isinstance(tensors, dict):
        return {k: nested_numpify(t) for k, t in tensors.items()}
    t = tensors.cpu()
    return t.numpy()


def nested_detach(tensors):
    if isinstance(tensors, (list, tuple)):
        return tuple([nested_detach(t) for t in tensors])
    if isinstance(tensors, dict):
        return {k: nested_detach(t) for k, t in tensors.items()}
    return tensors.detach() if isinstance(tensors, torch.Tensor) else tensors


class EvalLoopContainer:
    def __init__(self, do_nested_concat=True, padding_index=-100):
        self.do_nested_concat = do_nested_concat
        self.padding_index = padding_index
        self.tensors = None
        self.arrays = None

    def add(self, tensors):
        if self.tensors is None:
            self.tensors = tensors if self.do_nested_concat else [tensors]
        elif self.do_nested_concat:
            self.tensors = nested_concat(self.tensors, tensors, padding_index=self.padding_index)
        else:
            self.tensors.append(tensors)

    def to_cpu_and_numpy(self):
        if self.tensors is None:
            return
        new_arrays = nested_numpify(self.tensors)
        if self.arrays is None:
            self.arrays = new_arrays
        elif self.do_nested_concat:
            self.arrays = nested_concat(self.arrays, new_arrays, padding_index=self.padding_index)
        else:
            self.arrays = self.arrays + new_arrays
        self.tensors = None

    def get_arrays(self):
        self.to_cpu_and_numpy()
        return self.arrays
