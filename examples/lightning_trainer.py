"""Lightning's Trainer with a module that thunder compiles.

THUNDER_DEBUG=nvfuser_code python examples/lightning_trainer.py
"""

import logging
import warnings

warnings.filterwarnings("ignore")
for name in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)

import lightning  # noqa: E402
import thunder  # noqa: E402
import torch  # noqa: E402
from thunder.executors.torch_compile import torch_compile_ex  # noqa: E402


class Net(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 1))
        self.net = thunder.jit(layers, executors=[torch_compile_ex])
        self.losses: list[float] = []

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], _index: int) -> torch.Tensor:
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.losses.append(loss.item())
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


torch.manual_seed(0)
x = torch.randn(64, 8)
data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
net = Net()
trainer = lightning.Trainer(
    max_epochs=4,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(net, torch.utils.data.DataLoader(data, batch_size=16))
print(f"{len(net.losses)} steps, the loss fell: {net.losses[-1] < net.losses[0] / 2}")
