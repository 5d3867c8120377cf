import thunder
import thunder.core.prims as prims
import torch
from thunder.executors.torchex import no_autocast

@torch.no_grad()
@no_autocast
def prologue(*args, **kwargs):
  # args: "Any"
  prims.check_len(args, 1)
  # kwargs: "Any"
  prims.check_len(kwargs, 0)
  input: "cuda:0 f32[8, 64]" = args[0]
  module0: "Any" = globals()['__function_obj']
  module: "Any" = thunder.core.module.get_thunder_module(module0)
  t_0_weight: "cuda:0 f32[64, 64]" = module.get_parameter('0.weight')
  t_0_bias: "cuda:0 f32[64]" = module.get_parameter('0.bias')
  t_2_weight: "cuda:0 f32[64]" = module.get_parameter('2.weight')
  t_2_bias: "cuda:0 f32[64]" = module.get_parameter('2.bias')
  prims.check_tensor_shape_and_metadata(input, (8, 64), 'cuda:0', torch.float32, False)
  m1: "Any" = module.get_submodule('0')
  i0: "bool True" = m1.training
  prims.check_number_type_and_value(i0, True)
  i1: "int 64" = m1.in_features
  prims.check_number_type_and_value(i1, 64)
  i2: "int 64" = m1.out_features
  prims.check_number_type_and_value(i2, 64)
  prims.check_tensor_shape_and_metadata(t_0_weight, (64, 64), 'cuda:0', torch.float32, True)
  prims.check_tensor_shape_and_metadata(t_0_bias, (64,), 'cuda:0', torch.float32, True)
  m2: "Any" = module.get_submodule('1')
  s4: "str" = m2.approximate
  prims.check_string_value(s4, 'none')
  m3: "Any" = module.get_submodule('2')
  obj4: "Any" = m3.normalized_shape
  i10: "int 64" = obj4[0]
  prims.check_number_type_and_value(i10, 64)
  i11: "bool True" = m3.training
  prims.check_number_type_and_value(i11, True)
  f12: "float 1e-05" = m3.eps
  prims.check_number_type_and_value(f12, 1e-05)
  i13: "bool True" = m3.elementwise_affine
  prims.check_number_type_and_value(i13, True)
  prims.check_tensor_shape_and_metadata(t_2_weight, (64,), 'cuda:0', torch.float32, True)
  prims.check_tensor_shape_and_metadata(t_2_bias, (64,), 'cuda:0', torch.float32, True)
  f14: "float 1e-05" = m3.eps
  prims.check_number_type_and_value(f14, 1e-05)
  cache_info: "Any" = thunder._get_cache_info()
  cache_info_default_dtype: "<class 'torch.dtype'>" = cache_info['default_dtype']
  prims.check_literal_like(cache_info_default_dtype, torch.float32)
  cache_info_default_device: "<class 'torch.device'>" = cache_info['default_device']
  prims.check_literal_like(cache_info_default_device, torch.device("cpu"))
  cache_info_is_autocast_enabled: "bool False" = cache_info['is_autocast_enabled']
  prims.check_number_type_and_value(cache_info_is_autocast_enabled, False)
  cache_info_alias_tensor_indices: "str" = cache_info['alias_tensor_indices']
  prims.check_string_value(cache_info_alias_tensor_indices, '')
  cache_info_is_grad_enabled: "bool True" = cache_info['is_grad_enabled']
  prims.check_number_type_and_value(cache_info_is_grad_enabled, True)
  cache_info_no_grad_sync: "bool False" = cache_info['no_grad_sync']
  prims.check_number_type_and_value(cache_info_no_grad_sync, False)
  return ((input, t_0_bias, t_0_weight, t_2_bias, t_2_weight), ())