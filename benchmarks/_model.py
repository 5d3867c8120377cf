"""The model that is compiled: a real GPT (litgpt's Pythia), narrow: its compile takes the time, not its run."""

from __future__ import annotations

import torch
from litgpt import GPT, Config


def gpt(blocks: int) -> GPT:
    """A GPT with ``blocks`` blocks and random weights; what is compiled does not depend on its width."""
    torch.manual_seed(0)
    return GPT(
        Config.from_name("pythia-14m", n_layer=blocks, n_embd=32, n_head=4, intermediate_size=64, padded_vocab_size=128)
    )


def tokens() -> torch.Tensor:
    """Token ids, of shape (1, 8)."""
    return torch.arange(8)[None]
