"""An engine that accumulates gradients and whose optimizer steps once per parameter group."""


class DeepSpeedEngine:
    def __init__(self, optimizer, accumulation):
        self.optimizer, self.accumulation, self.micro_steps = optimizer, accumulation, 0

    def step(self, lr_kwargs=None):
        self.micro_steps += 1
        if self.micro_steps % self.accumulation == 0:
            self._take_model_step(lr_kwargs)

    def _take_model_step(self, lr_kwargs, block_eigenvalue={}):
        for _ in self.optimizer.param_groups:
            self.optimizer.step()
