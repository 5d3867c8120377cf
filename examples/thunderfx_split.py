"""ThunderFX on a function with a graph break and an op that thunder leaves to Inductor.

THUNDER_DEBUG=trace python examples/thunderfx_split.py
"""

import warnings

warnings.filterwarnings("ignore")

import torch  # noqa: E402
from thunder.dynamo import thunderfx  # noqa: E402


def f(x):
    y = torch.sin(x)
    if y.sum() > 0:
        return y + torch.sinc(y)
    return y - 1


print(f"{thunderfx(f)(torch.ones(4, 4)).sum().item():.4f}")
