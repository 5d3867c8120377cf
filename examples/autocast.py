"""The same function with and without autocast: two compiles, the second with lower-precision ops.

THUNDER_DEBUG=nvfuser_region python examples/autocast.py
"""

import warnings

warnings.filterwarnings("ignore")

import thunder  # noqa: E402
import torch  # noqa: E402

torch.manual_seed(0)
linear = thunder.jit(torch.nn.Linear(4, 4))
x = torch.ones(2, 4)
plain = linear(x)
with torch.autocast("cpu", dtype=torch.bfloat16):
    lower = linear(x)
print(f"{plain.dtype} and {lower.dtype}, {thunder.cache_misses(linear)} compiles")
