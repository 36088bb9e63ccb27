# SPDX-License-Identifier: Apache-2.0
# torch.optim.Optimizer (torch 2.11, torch/optim/optimizer.py), for optimizers that a script writes itself.
from collections import defaultdict


class Optimizer:
    def __init__(self, params, defaults):
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        given = list(params)
        if given and not isinstance(given[0], dict):
            given = [{"params": given}]
        for group in given:
            self.add_param_group(group)

    def add_param_group(self, param_group):
        group = {**self.defaults, **param_group}
        group["params"] = list(group["params"])
        self.param_groups.append(group)

    def zero_grad(self, set_to_none=True):
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None

    def state_dict(self):
        return {"state": self.state, "param_groups": self.param_groups}

    def load_state_dict(self, state_dict):
        self.state.update(state_dict["state"])
