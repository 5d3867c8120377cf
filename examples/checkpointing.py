"""Activation checkpointing: what the forward does not keep, the backward computes again.

THUNDER_DEBUG=trace python examples/checkpointing.py
"""

import warnings

warnings.filterwarnings("ignore")

import thunder  # noqa: E402
import torch  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def block(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.second(torch.sin(self.first(x))))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(self.block, x, use_reentrant=False)


torch.manual_seed(0)
net = Net()
jitted = thunder.jit(net)
x = torch.randn(2, 4)
jitted(x).sum().backward()
again = torch.autograd.grad(net.block(x).sum(), net.first.weight)[0]
print(f"gradients as without thunder: {torch.allclose(net.first.weight.grad, again)}")
