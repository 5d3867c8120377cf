import torch
import torch.nn.functional
from thunder.executors.torchex import no_autocast

@torch.no_grad()
@no_autocast
def computation(input, t_0_bias, t_0_weight, t_2_bias, t_2_weight):
  # input: "cuda:0 f32[8, 64]"
  # t_0_bias: "cuda:0 f32[64]"
  # t_0_weight: "cuda:0 f32[64, 64]"
  # t_2_bias: "cuda:0 f32[64]"
  # t_2_weight: "cuda:0 f32[64]"

  # torch/nn/modules/linear.py:134: 	        return F.linear(input, self.weight, self.bias)
  t162 = torch.nn.functional.linear(input, t_0_weight, t_0_bias)  # t162: "cuda:0 f32[8, 64]"
    # t162 = ltorch.linear(input, t_0_weight, t_0_bias)  # t162: "cuda:0 f32[8, 64]"
      # t162 = prims.linear(input, t_0_weight, t_0_bias)  # t162: "cuda:0 f32[8, 64]"
  [t81, t112, t152] = nvFusion0(t162, t_2_weight, t_2_bias)
    # t50 = prims.div(t162, 1.4142135623730951)  # t50: "cuda:0 f32[8, 64]"
    # t57 = prims.erf(t50)  # t57: "cuda:0 f32[8, 64]"
    # t64 = prims.mul(0.5, t57)  # t64: "cuda:0 f32[8, 64]"
    # t68 = prims.add(0.5, t64)  # t68: "cuda:0 f32[8, 64]"
    # t70 = prims.mul(t162, t68)  # t70: "cuda:0 f32[8, 64]"
    # t74 = prims.shallow_copy(t70)  # t74: "cuda:0 f32[8, 64]"
    # t76 = prims.shallow_copy(t74)  # t76: "cuda:0 f32[8, 64]"
    # (t80, t81) = prims.var_mean(t76, (1,), correction=0)
    # t96 = prims.broadcast_in_dim(t80, [8, 1], [0])  # t96: "cuda:0 f32[8, 1]"
    # t101 = prims.broadcast_in_dim(t81, [8, 1], [0])  # t101: "cuda:0 f32[8, 1]"
    # t106 = prims.shallow_copy(t96)  # t106: "cuda:0 f32[8, 1]"
    # t108 = prims.shallow_copy(t101)  # t108: "cuda:0 f32[8, 1]"
    # t110 = prims.add(t106, 1e-05)  # t110: "cuda:0 f32[8, 1]"
    # t112 = prims.rsqrt(t110)  # t112: "cuda:0 f32[8, 1]"
    # t117 = prims.broadcast_in_dim(t108, (8, 64), (0, 1))  # t117: "cuda:0 f32[8, 64]"
    # t123 = prims.sub(t70, t117)  # t123: "cuda:0 f32[8, 64]"
    # t126 = prims.broadcast_in_dim(t112, (8, 64), (0, 1))  # t126: "cuda:0 f32[8, 64]"
    # t132 = prims.mul(t123, t126)  # t132: "cuda:0 f32[8, 64]"
    # t136 = prims.broadcast_in_dim(t_2_weight, (8, 64), (1,))  # t136: "cuda:0 f32[8, 64]"
    # t141 = prims.mul(t132, t136)  # t141: "cuda:0 f32[8, 64]"
    # t145 = prims.broadcast_in_dim(t_2_bias, (8, 64), (1,))  # t145: "cuda:0 f32[8, 64]"
    # t150 = prims.add(t141, t145)  # t150: "cuda:0 f32[8, 64]"
    # t152 = prims.shallow_copy(t150)  # t152: "cuda:0 f32[8, 64]"
  return {'output': (t152,), 'flat_args': [input, t_0_bias, t_0_weight, t_2_bias, t_2_weight], 'flat_output': (t152,)}, ((t162, t81, t_2_weight, t112, input), ())