# CUDAGraph2 by executor CUDAGraphTransform
# in   t162: cuda:0 f32[8, 64]
# in   t81: cuda:0 f32[8]
# in   t_2_weight: cuda:0 f32[64]
# in   t153: cuda:0 f32[8, 64]
# in   t112: cuda:0 f32[8, 1]
# in   input: cuda:0 f32[8, 64]
# out  t140: cuda:0 f32[64]
# out  t149: cuda:0 f32[64]
# out  t163: cuda:0 f32[64, 64]
# out  t49: cuda:0 f32[64]
# from torch/nn/modules/activation.py:816
# from torch/nn/modules/normalization.py:229
[t140, t149, t163, t49] = CUDAGraph2(t162, t81, t_2_weight, t153, t112, input)
  # [t159, t45, t44, t140, t149] = nvFusion1(t162, t81, t_2_weight, t153, t112, input)
    # t50 = prims.div(t162, 1.4142135623730951)  # t50: "cuda:0 f32[8, 64]"
    # t57 = prims.erf(t50)  # t57: "cuda:0 f32[8, 64]"
    # t101 = prims.broadcast_in_dim(t81, [8, 1], [0])  # t101: "cuda:0 f32[8, 1]"
    # t64 = prims.mul(0.5, t57)  # t64: "cuda:0 f32[8, 64]"
    # t108 = prims.shallow_copy(t101)  # t108: "cuda:0 f32[8, 1]"
    # t68 = prims.add(0.5, t64)  # t68: "cuda:0 f32[8, 64]"
    # t136 = prims.broadcast_in_dim(t_2_weight, (8, 64), (1,))  # t136: "cuda:0 f32[8, 64]"
    # t117 = prims.broadcast_in_dim(t108, (8, 64), (0, 1))  # t117: "cuda:0 f32[8, 64]"
    # t70 = prims.mul(t162, t68)  # t70: "cuda:0 f32[8, 64]"
    # t143 = prims.mul(t136, t153)  # t143: "cuda:0 f32[8, 64]"
    # t123 = prims.sub(t70, t117)  # t123: "cuda:0 f32[8, 64]"
    # t135 = prims.mul(t123, t143)  # t135: "cuda:0 f32[8, 64]"
    # t128 = prims.shallow_copy(t135)  # t128: "cuda:0 f32[8, 64]"
    # t129 = prims.sum(t128, (1,))  # t129: "cuda:0 f32[8]"
    # t126 = prims.broadcast_in_dim(t112, (8, 64), (0, 1))  # t126: "cuda:0 f32[8, 64]"
    # t130 = prims.shallow_copy(t129)  # t130: "cuda:0 f32[8]"
    # t134 = prims.mul(t126, t143)  # t134: "cuda:0 f32[8, 64]"
    # t131 = prims.broadcast_in_dim(t130, [8, 1], [0])  # t131: "cuda:0 f32[8, 1]"
    # t125 = prims.neg(t134)  # t125: "cuda:0 f32[8, 64]"
    # t115 = prims.pow(t112, 3.0)  # t115: "cuda:0 f32[8, 1]"
    # t114 = prims.mul(-0.5, t131)  # t114: "cuda:0 f32[8, 1]"
    # t119 = prims.shallow_copy(t125)  # t119: "cuda:0 f32[8, 64]"
    # t116 = prims.mul(t114, t115)  # t116: "cuda:0 f32[8, 1]"
    # t120 = prims.sum(t119, (1,))  # t120: "cuda:0 f32[8]"
    # t98 = prims.shallow_copy(t116)  # t98: "cuda:0 f32[8, 1]"
    # t121 = prims.shallow_copy(t120)  # t121: "cuda:0 f32[8]"
    # t99 = prims.sum(t98, (1,))  # t99: "cuda:0 f32[8]"
    # t122 = prims.broadcast_in_dim(t121, [8, 1], [0])  # t122: "cuda:0 f32[8, 1]"
    # t100 = prims.shallow_copy(t99)  # t100: "cuda:0 f32[8]"
    # t103 = prims.shallow_copy(t122)  # t103: "cuda:0 f32[8, 1]"
    # t89 = prims.broadcast_in_dim(t81, [8, 1], [0])  # t89: "cuda:0 f32[8, 1]"
    # t74 = prims.shallow_copy(t70)  # t74: "cuda:0 f32[8, 64]"
    # t87 = prims.broadcast_in_dim(t100, [8, 1], [0])  # t87: "cuda:0 f32[8, 1]"
    # t104 = prims.sum(t103, (1,))  # t104: "cuda:0 f32[8]"
    # t90 = prims.broadcast_in_dim(t89, (8, 64), (0, 1))  # t90: "cuda:0 f32[8, 64]"
    # t76 = prims.shallow_copy(t74)  # t76: "cuda:0 f32[8, 64]"
    # t88 = prims.broadcast_in_dim(t87, (8, 64), (0, 1))  # t88: "cuda:0 f32[8, 64]"
    # t105 = prims.shallow_copy(t104)  # t105: "cuda:0 f32[8]"
    # t92 = prims.sub(t76, t90)  # t92: "cuda:0 f32[8, 64]"
    # t91 = prims.mul(2.0, t88)  # t91: "cuda:0 f32[8, 64]"
    # t84 = prims.broadcast_in_dim(t105, [8, 1], [0])  # t84: "cuda:0 f32[8, 1]"
    # t93 = prims.mul(t91, t92)  # t93: "cuda:0 f32[8, 64]"
    # t85 = prims.broadcast_in_dim(t84, (8, 64), (0, 1))  # t85: "cuda:0 f32[8, 64]"
    # t94 = prims.div(t93, 64.0)  # t94: "cuda:0 f32[8, 64]"
    # t86 = prims.mul(0.015625, t85)  # t86: "cuda:0 f32[8, 64]"
    # t95 = prims.add(t86, t94)  # t95: "cuda:0 f32[8, 64]"
    # t59 = prims.pow(t50, 2.0)  # t59: "cuda:0 f32[8, 64]"
    # t158 = prims.add(t134, t95)  # t158: "cuda:0 f32[8, 64]"
    # t60 = prims.neg(t59)  # t60: "cuda:0 f32[8, 64]"
    # t73 = prims.mul(t162, t158)  # t73: "cuda:0 f32[8, 64]"
    # t61 = prims.exp(t60)  # t61: "cuda:0 f32[8, 64]"
    # t67 = prims.mul(0.5, t73)  # t67: "cuda:0 f32[8, 64]"
    # t62 = prims.mul(1.1283791670955126, t61)  # t62: "cuda:0 f32[8, 64]"
    # t63 = prims.mul(t62, t67)  # t63: "cuda:0 f32[8, 64]"
    # t132 = prims.mul(t123, t126)  # t132: "cuda:0 f32[8, 64]"
    # t52 = prims.div(t63, 1.4142135623730951)  # t52: "cuda:0 f32[8, 64]"
    # t72 = prims.mul(t68, t158)  # t72: "cuda:0 f32[8, 64]"
    # t144 = prims.mul(t132, t153)  # t144: "cuda:0 f32[8, 64]"
    # t159 = prims.add(t72, t52)  # t159: "cuda:0 f32[8, 64]"
    # t138 = prims.shallow_copy(t144)  # t138: "cuda:0 f32[8, 64]"
    # t147 = prims.shallow_copy(t153)  # t147: "cuda:0 f32[8, 64]"
    # t43 = prims.reshape(t159, (8, 64))  # t43: "cuda:0 f32[8, 64]"
    # t139 = prims.sum(t138, (0,))  # t139: "cuda:0 f32[64]"
    # t148 = prims.sum(t147, (0,))  # t148: "cuda:0 f32[64]"
    # t45 = prims.reshape(input, (8, 64))  # t45: "cuda:0 f32[8, 64]"
    # t44 = prims.transpose(t43, (1, 0))  # t44: "cuda:0 f32[64, 8]"
    # t140 = prims.shallow_copy(t139)  # t140: "cuda:0 f32[64]"
    # t149 = prims.shallow_copy(t148)  # t149: "cuda:0 f32[64]"
  # del t162, t81, t_2_weight, t153, t112, input
  # t163 = torch.matmul(t44, t45)  # t163: "cuda:0 f32[64, 64]"
    # t163 = ltorch.matmul(t44, t45)  # t163: "cuda:0 f32[64, 64]"
      # t163 = prims.matmul(t44, t45)  # t163: "cuda:0 f32[64, 64]"
  # del t44, t45
  # [t49] = nvFusion2(t159)
    # t47 = prims.shallow_copy(t159)  # t47: "cuda:0 f32[8, 64]"
    # t48 = prims.sum(t47, (0,))  # t48: "cuda:0 f32[64]"
    # t49 = prims.shallow_copy(t48)  # t49: "cuda:0 f32[64]"
  # del t159
  # return [t140, t149, t163, t49]
