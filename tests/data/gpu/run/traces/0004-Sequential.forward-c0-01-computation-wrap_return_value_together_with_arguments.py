# Constructed by Return arguments to track copies onto them
import thunder
import thunder.torch as ltorch
import torch
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
  t3 = ltorch.linear(input, t_0_weight, t_0_bias)  # t3: "cuda:0 f32[8, 64]"
    # t3 = prims.linear(input, t_0_weight, t_0_bias)  # t3: "cuda:0 f32[8, 64]"

  # torch/nn/modules/activation.py:816: 	        return F.gelu(input, approximate=self.approximate)
  t9 = ltorch.gelu(t3, approximate='none')  # t9: "cuda:0 f32[8, 64]"
    # t5 = ltorch.true_divide(t3, 1.4142135623730951)  # t5: "cuda:0 f32[8, 64]"
      # t5 = prims.div(t3, 1.4142135623730951)  # t5: "cuda:0 f32[8, 64]"
    # t6 = ltorch.erf(t5)  # t6: "cuda:0 f32[8, 64]"
      # t6 = prims.erf(t5)  # t6: "cuda:0 f32[8, 64]"
    # t7 = ltorch.mul(0.5, t6)  # t7: "cuda:0 f32[8, 64]"
      # t7 = prims.mul(0.5, t6)  # t7: "cuda:0 f32[8, 64]"
    # t8 = ltorch.add(0.5, t7, alpha=1)  # t8: "cuda:0 f32[8, 64]"
      # t8 = prims.add(0.5, t7)  # t8: "cuda:0 f32[8, 64]"
    # t9 = ltorch.mul(t3, t8)  # t9: "cuda:0 f32[8, 64]"
      # t9 = prims.mul(t3, t8)  # t9: "cuda:0 f32[8, 64]"

  # torch/nn/modules/normalization.py:229: 	        return F.layer_norm(
  t35 = ltorch.layer_norm(t9, (64,), t_2_weight, t_2_bias, 1e-05)  # t35: "cuda:0 f32[8, 64]"
    # t15 = ltorch.to(t9, dtypes.float32, None, device=None, dtype=None, copy=False, memory_format=None)  # t15: "cuda:0 f32[8, 64]"
      # t15 = prims.shallow_copy(t9)  # t15: "cuda:0 f32[8, 64]"
    # (t23, t24) = ltorch.var_mean(t15, (1,), keepdim=True, correction=0)
      # t16 = ltorch.to(t15, dtypes.float32, None, device=None, dtype=None, copy=False, memory_format=None)  # t16: "cuda:0 f32[8, 64]"
        # t16 = prims.shallow_copy(t15)  # t16: "cuda:0 f32[8, 64]"
      # (t19, t20) = prims.var_mean(t16, (1,), correction=0)
      # t21 = prims.broadcast_in_dim(t19, [8, 1], [0])  # t21: "cuda:0 f32[8, 1]"
      # t22 = prims.broadcast_in_dim(t20, [8, 1], [0])  # t22: "cuda:0 f32[8, 1]"
      # t23 = ltorch.to(t21, dtypes.float32, None, device=None, dtype=None, copy=False, memory_format=None)  # t23: "cuda:0 f32[8, 1]"
        # t23 = prims.shallow_copy(t21)  # t23: "cuda:0 f32[8, 1]"
      # t24 = ltorch.to(t22, dtypes.float32, None, device=None, dtype=None, copy=False, memory_format=None)  # t24: "cuda:0 f32[8, 1]"
        # t24 = prims.shallow_copy(t22)  # t24: "cuda:0 f32[8, 1]"
    # t25 = ltorch.add(t23, 1e-05, alpha=1)  # t25: "cuda:0 f32[8, 1]"
      # t25 = prims.add(t23, 1e-05)  # t25: "cuda:0 f32[8, 1]"
    # t26 = ltorch.rsqrt(t25)  # t26: "cuda:0 f32[8, 1]"
      # t26 = prims.rsqrt(t25)  # t26: "cuda:0 f32[8, 1]"
    # t28 = ltorch.sub(t9, t24, alpha=1)  # t28: "cuda:0 f32[8, 64]"
      # t27 = prims.broadcast_in_dim(t24, (8, 64), (0, 1))  # t27: "cuda:0 f32[8, 64]"
      # t28 = prims.sub(t9, t27)  # t28: "cuda:0 f32[8, 64]"
    # t30 = ltorch.mul(t28, t26)  # t30: "cuda:0 f32[8, 64]"
      # t29 = prims.broadcast_in_dim(t26, (8, 64), (0, 1))  # t29: "cuda:0 f32[8, 64]"
      # t30 = prims.mul(t28, t29)  # t30: "cuda:0 f32[8, 64]"
    # t32 = ltorch.mul(t30, t_2_weight)  # t32: "cuda:0 f32[8, 64]"
      # t31 = prims.broadcast_in_dim(t_2_weight, (8, 64), (1,))  # t31: "cuda:0 f32[8, 64]"
      # t32 = prims.mul(t30, t31)  # t32: "cuda:0 f32[8, 64]"
    # t34 = ltorch.add(t32, t_2_bias, alpha=1)  # t34: "cuda:0 f32[8, 64]"
      # t33 = prims.broadcast_in_dim(t_2_bias, (8, 64), (1,))  # t33: "cuda:0 f32[8, 64]"
      # t34 = prims.add(t32, t33)  # t34: "cuda:0 f32[8, 64]"
    # t35 = ltorch.to(t34, dtypes.float32, None, device=None, dtype=None, copy=False, memory_format=None)  # t35: "cuda:0 f32[8, 64]"
      # t35 = prims.shallow_copy(t34)  # t35: "cuda:0 f32[8, 64]"
    # t36 = ltorch.to(t24, dtypes.float32, None, device=None, dtype=None, copy=False, memory_format=None)  # t36: "cuda:0 f32[8, 1]"
      # t36 = prims.shallow_copy(t24)  # t36: "cuda:0 f32[8, 1]"
    # t37 = ltorch.to(t26, dtypes.float32, None, device=None, dtype=None, copy=False, memory_format=None)  # t37: "cuda:0 f32[8, 1]"
      # t37 = prims.shallow_copy(t26)  # t37: "cuda:0 f32[8, 1]"
  return {'output': (t35,), 'flat_args': [input, t_0_bias, t_0_weight, t_2_bias, t_2_weight]}