"""A transform of thunder's that changes the model: LoRA adds two small matrices to each linear layer.

THUNDER_DEBUG=trace python examples/lora.py
"""

import warnings

warnings.filterwarnings("ignore")

import thunder  # noqa: E402
import torch  # noqa: E402
from thunder.transforms import LORATransform  # noqa: E402

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
x = torch.randn(2, 64)
plain = net(x)
jitted = thunder.jit(net, transforms=[LORATransform(r=4, lora_alpha=8)])
out = jitted(x)
out.sum().backward()
parameters = [name for name, _ in jitted.named_parameters() if "lora" in name]
print(f"{len(parameters)} parameters of LoRA's own, output as before: {torch.allclose(out, plain, atol=1e-5)}")
