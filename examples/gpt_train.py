"""A training step of a real GPT (litgpt's Pythia, random weights). It does not know that anyone is watching.

THUNDER_DEBUG=nvfuser_code python examples/gpt_train.py
"""

import warnings

import torch
from litgpt import GPT, Config

warnings.filterwarnings("ignore")

import thunder  # noqa: E402
from thunder.executors.torch_compile import torch_compile_ex  # noqa: E402

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = GPT(Config.from_name("pythia-14m", n_layer=2)).to(device)
executors = None if thunder.nvfuser_executor and device == "cuda" else [torch_compile_ex]
jitted = thunder.jit(model, executors=executors)
optimizer = torch.optim.AdamW(model.parameters())
tokens = torch.randint(0, 1000, (2, 33), device=device)
for step in range(2):
    logits = jitted(tokens[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {step}: loss {loss.item():.4f}")
