// Codegen generated code
__global__ void nvfuser_reduction_f0_c1_r0_g0(Tensor<float, 2, 2> T0, Tensor<float, 1, 1> T1) {
  NVFUSER_DEFINE_MAGIC_ZERO;
  nvfuser_index_t i0;
  i0 = ((nvfuser_index_t)threadIdx.x) + (((nvfuser_index_t)blockDim.x) * ((nvfuser_index_t)blockIdx.x));
  bool b1;
  b1 = i0 < 64;
  Array<float, 1, 1> T4;
  T4[0] = 0.000000000e+00f;
  if (b1) {
    Array<float, 8, 1> T2;
    #pragma unroll
    for(nvfuser_index_t i2 = 0; i2 < 8; ++i2) {
      T2[i2] = 0.000000000e+00f;
    }
    NVFUSER_UPDATE_MAGIC_ZERO;
    #pragma unroll
    for(nvfuser_index_t i2 = 0; i2 < 8; ++i2) {
      T2[i2]
         = T0[(i0 + (64 * (i2 + nvfuser_zero)))];
    }
    NVFUSER_UPDATE_MAGIC_ZERO;
    #pragma unroll
    for(nvfuser_index_t i3 = 0; i3 < 8; ++i3) {
      T4[0]
        = T4[0]
        + T2[i3];
    }
    NVFUSER_UPDATE_MAGIC_ZERO;
  } else {
    Array<float, 8, 1> T2;
    #pragma unroll
    for(nvfuser_index_t i2 = 0; i2 < 8; ++i2) {
      T2[i2] = 0.000000000e+00f;
    }
    NVFUSER_UPDATE_MAGIC_ZERO;
    #pragma unroll
    for(nvfuser_index_t i2 = 0; i2 < 8; ++i2) {
      if (b1) {
        T2[i2]
           = T0[(i0 + (64 * (i2 + nvfuser_zero)))];
      }
    }
    NVFUSER_UPDATE_MAGIC_ZERO;
    #pragma unroll
    for(nvfuser_index_t i3 = 0; i3 < 8; ++i3) {
      T4[0]
        = T4[0]
        + T2[i3];
    }
    NVFUSER_UPDATE_MAGIC_ZERO;
  }
  Array<float, 1, 1> T3;
  T3[0] = 0.000000000e+00f;
  T3[0]
    = T3[0]
    + T4[0];
  if (b1) {
    T1[i0]
       = T3[0];
  }
}
