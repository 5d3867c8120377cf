"""A GPT with 24 blocks, compiled with fusion and run once: narrow, so that its kernels are built within a minute."""

import thunder
import torch
from litgpt import GPT, Config
from thunder.executors.torch_compile import torch_compile_ex

torch.manual_seed(0)
sizes = {"n_layer": 24, "n_embd": 16, "n_head": 2, "intermediate_size": 32, "block_size": 16}
model = GPT(Config(vocab_size=64, padded_vocab_size=64, **sizes)).requires_grad_(False)
thunder.jit(model, executors=[torch_compile_ex])(torch.randint(0, 64, (2, 16)))
