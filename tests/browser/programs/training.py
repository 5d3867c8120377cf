"""Training steps of a GPT with one block, a function that is compiled again, and one that cannot be compiled."""

import thunder
import torch
from litgpt import GPT, Config
from thunder.executors.torch_compile import torch_compile_ex

torch.manual_seed(0)
sizes = {"n_layer": 1, "n_embd": 16, "n_head": 2, "intermediate_size": 32, "block_size": 16}
model = GPT(Config(vocab_size=64, padded_vocab_size=64, **sizes))
jitted = thunder.jit(model, executors=[torch_compile_ex])
for _ in range(2):
    jitted(torch.randint(0, 64, (2, 16))).sum().backward()


def scaled(x, factor):
    return torch.nn.functional.gelu(x) * factor + 1


scaled = thunder.jit(scaled)
for rows, factor in ((2, 3), (2, 4), (3, 4)):
    scaled(torch.ones(rows, 4), factor)


def bad(x):
    return x.reshape(7, 9)


try:
    thunder.jit(bad)(torch.ones(3))
except RuntimeError as error:
    print(error)
