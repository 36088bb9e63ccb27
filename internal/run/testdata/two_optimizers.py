"""Two optimizers in turn, one of them a subclass whose parent class is also used directly."""
import torch


class Mine(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)


a, b = torch.zeros(3, requires_grad=True), torch.zeros(3, requires_grad=True)
first, second = torch.optim.SGD([a], lr=0.1), Mine([b], lr=0.1)
for i in range(10):
    a.sum().backward()
    first.step()
    b.sum().backward()
    second.step()
    print("round", i + 1)
