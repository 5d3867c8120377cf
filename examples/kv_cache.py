"""Inference with a cache that grows by a token a step: each step has another shape, so thunder compiles again.

THUNDER_DEBUG=trace THUNDER_DEBUG_RECOMPILE_WARNING=3 python examples/kv_cache.py
"""

import warnings

warnings.filterwarnings("ignore")

import thunder  # noqa: E402
import torch  # noqa: E402


class Attention(torch.nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.qkv = torch.nn.Linear(width, 3 * width)

    def forward(self, token, keys, values):
        query, key, value = self.qkv(token).chunk(3, dim=-1)
        keys, values = torch.cat([keys, key], dim=1), torch.cat([values, value], dim=1)
        weights = torch.softmax(query @ keys.transpose(1, 2), dim=-1)
        return weights @ values, keys, values


torch.manual_seed(0)
model = thunder.jit(Attention().eval())
keys = values = torch.zeros(1, 1, 8)
token = torch.ones(1, 1, 8)
with torch.no_grad():
    for _ in range(5):
        token, keys, values = model(token, keys, values)
print(f"{keys.shape[1]} keys, {thunder.cache_misses(model)} compiles")
