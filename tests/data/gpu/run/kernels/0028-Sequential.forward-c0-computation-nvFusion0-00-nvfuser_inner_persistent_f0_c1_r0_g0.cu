// Codegen generated code
__global__ void nvfuser_inner_persistent_f0_c1_r0_g0(Tensor<float, 2, 2> T0, Tensor<float, 1, 1> T1, Tensor<float, 1, 1> T2, Tensor<float, 1, 1> T34, Tensor<float, 2, 2> T36, Tensor<float, 2, 2> T27) {
  alignas(128) extern __shared__ char array[];
  void* shared_mem = array;
  nvfuser_index_t i0;
  i0 = 4 * ((nvfuser_index_t)threadIdx.x);
  nvfuser_index_t i1;
  i1 = i0 + (64 * ((nvfuser_index_t)blockIdx.x));
  bool b2;
  b2 = ((((nvfuser_index_t)threadIdx.x) * 4) + 3) < 64;
  bool b3;
  b3 = (3 + i0) < 64;
  bool b4;
  b4 = ((nvfuser_index_t)threadIdx.x) == 0;
  double d5;
  d5 = __to_double(64);
  double d6;
  d6 = 1.00000000000000000e+00 * d5;
  double d7;
  d7 = __to_double(0LL);
  double d8;
  d8 = d6 - d7;
  double d9;
  d9 = __to_double(0LL);
  double d10;
  d10 = __to_double(0LL);
  bool b11;
  b11 = d8 >= d10;
  double d12;
  d12 = b11 ? d8 : d9;
  double d13;
  d13 = reciprocal(d12);
  double d14;
  d14 = __to_double(64);
  double d15;
  d15 = 1.00000000000000000e+00 * d14;
  double d16;
  d16 = reciprocal(1.41421356237309515e+00);
  pdl::waitForPriorGrid();
  Array<float, 4, 1> T7;
  if (b2) {
    Array<float, 4, 4> T31;
    T31.set(float(0));
    loadGlobalToLocal<float, /*vec_size=*/4, /*is_volatile=*/false, CacheOp::Streaming>(&T31[0],  &T0[i1]);
    #pragma unroll
    for(nvfuser_index_t i17 = 0; i17 < 4; ++i17) {
      Array<float, 1, 1> T3;
      T3[0]
        = T31[i17]
        * (float) d16;
      Array<float, 1, 1> T4;
      T4[0]
         = erff(T3[0]);
      Array<float, 1, 1> T5;
      T5[0]
        = (float) 5.00000000000000000e-01
        * T4[0];
      Array<float, 1, 1> T6;
      T6[0]
        = (float) 5.00000000000000000e-01
        + T5[0];
      T7[i17]
        = T31[i17]
        * T6[0];
    }
  } else {
    Array<float, 4, 4> T31;
    T31.set(float(0));
    if (b3) {
      loadGlobalToLocal<float, /*vec_size=*/4, /*is_volatile=*/false, CacheOp::Streaming>(&T31[0],  &T0[i1]);
    }
    #pragma unroll
    for(nvfuser_index_t i17 = 0; i17 < 4; ++i17) {
      Array<float, 1, 1> T3;
      T3[0]
        = T31[i17]
        * (float) d16;
      Array<float, 1, 1> T4;
      T4[0]
         = erff(T3[0]);
      Array<float, 1, 1> T5;
      T5[0]
        = (float) 5.00000000000000000e-01
        * T4[0];
      Array<float, 1, 1> T6;
      T6[0]
        = (float) 5.00000000000000000e-01
        + T5[0];
      T7[i17]
        = T31[i17]
        * T6[0];
    }
  }
  Array<float, 1, 1> T41;
  T41[0] = 0.000000000e+00f;
  if (b2) {
    #pragma unroll
    for(nvfuser_index_t i18 = 0; i18 < 4; ++i18) {
      T41[0]
        = T41[0]
        + T7[i18];
    }
  } else {
    #pragma unroll
    for(nvfuser_index_t i18 = 0; i18 < 4; ++i18) {
      if (b3) {
        T41[0]
          = T41[0]
          + T7[i18];
      }
    }
  }
  Array<float, 1, 1> T28;
  T28[0] = 0.000000000e+00f;
  blockReduce<true, false, false, true>(T28[0], T41[0], [](float &a, float b) { a = a + b; }, static_cast<float*>(shared_mem), true, true, float(0.000000000e+00f), DefaultBlockDim());
  Array<float, 1, 1> T8;
  T8[0]
    = T28[0]
    / (float) d15;
  Array<float, 1, 1> T35;
  T35[0]
     = T8[0];
  if (b4) {
    T34[((nvfuser_index_t)blockIdx.x)]
       = T35[0];
  }
  Array<float, 1, 1> T14;
  broadcast::blockBroadcast<true, false, false, true>(T14[0], T8[0], static_cast<float*>(shared_mem), true, DefaultBlockDim());
  Array<float, 1, 1> T18;
  T18[0]
     = T14[0];
  Array<float, 1, 1> T42;
  T42[0] = 0.00000000000000000e+00;
  if (b2) {
    #pragma unroll
    for(nvfuser_index_t i19 = 0; i19 < 4; ++i19) {
      Array<float, 1, 1> T29;
      T29[0]
        = T7[i19]
        - T14[0];
      Array<float, 1, 1> T30;
      T30[0]
        = T29[0]
        * T29[0];
      T42[0]
        = T42[0]
        + T30[0];
    }
  } else {
    #pragma unroll
    for(nvfuser_index_t i19 = 0; i19 < 4; ++i19) {
      Array<float, 1, 1> T29;
      T29[0]
        = T7[i19]
        - T14[0];
      Array<float, 1, 1> T30;
      T30[0]
        = T29[0]
        * T29[0];
      if (b3) {
        T42[0]
          = T42[0]
          + T30[0];
      }
    }
  }
  Array<float, 1, 1> T9;
  T9[0] = 0.00000000000000000e+00;
  blockReduce<true, false, false, true>(T9[0], T42[0], [](float &a, float b) { a = a + b; }, static_cast<float*>(shared_mem), true, true, float(0.00000000000000000e+00), DefaultBlockDim());
  Array<float, 1, 1> T11;
  T11[0]
    = T9[0]
    * (float) d13;
  Array<float, 1, 1> T12;
  broadcast::blockBroadcast<true, false, false, true>(T12[0], T11[0], static_cast<float*>(shared_mem), true, DefaultBlockDim());
  Array<float, 1, 1> T16;
  T16[0]
    = T12[0]
    + (float) 1.00000000000000008e-05;
  Array<float, 1, 1> T17;
  T17[0]
     = rsqrtf(T16[0]);
  Array<float, 1, 1> T20;
  T20[0]
     = T17[0];
  Array<float, 1, 1> T37;
  T37[0]
     = T17[0];
  if (b4) {
    T36[((nvfuser_index_t)blockIdx.x)]
       = T37[0];
  }
  if (b2) {
    Array<float, 4, 4> T33;
    T33.set(float(0));
    loadGlobalToLocal<float, /*vec_size=*/4, /*is_volatile=*/false, CacheOp::AllLevels>(&T33[0],  &T2[i0]);
    Array<float, 4, 4> T32;
    T32.set(float(0));
    loadGlobalToLocal<float, /*vec_size=*/4, /*is_volatile=*/false, CacheOp::AllLevels>(&T32[0],  &T1[i0]);
    // Alias Allocation - register
    auto& T38 = T32;
    #pragma unroll
    for(nvfuser_index_t i20 = 0; i20 < 4; ++i20) {
      Array<float, 1, 1> T22;
      T22[0]
         = T32[i20];
      Array<float, 1, 1> T23;
      T23[0]
         = T22[0];
      Array<float, 1, 1> T25;
      T25[0]
         = T33[i20];
      Array<float, 1, 1> T26;
      T26[0]
         = T25[0];
      Array<float, 1, 1> T19;
      T19[0]
        = T7[i20]
        - T18[0];
      Array<float, 1, 1> T21;
      T21[0]
        = T19[0]
        * T20[0];
      Array<float, 1, 1> T24;
      T24[0]
        = T21[0]
        * T23[0];
      T38[i20]
        = T24[0]
        + T26[0];
    }
    pdl::launchDependentGrid();
    loadLocalToGlobal<float, /*vec_size=*/4, /*is_volatile=*/false>( &T27[i1], &T38[0]);
  } else {
    Array<float, 4, 4> T33;
    T33.set(float(0));
    if (b3) {
      loadGlobalToLocal<float, /*vec_size=*/4, /*is_volatile=*/false, CacheOp::AllLevels>(&T33[0],  &T2[i0]);
    }
    Array<float, 4, 4> T32;
    T32.set(float(0));
    if (b3) {
      loadGlobalToLocal<float, /*vec_size=*/4, /*is_volatile=*/false, CacheOp::AllLevels>(&T32[0],  &T1[i0]);
    }
    // Alias Allocation - register
    auto& T38 = T32;
    #pragma unroll
    for(nvfuser_index_t i20 = 0; i20 < 4; ++i20) {
      Array<float, 1, 1> T22;
      T22[0]
         = T32[i20];
      Array<float, 1, 1> T23;
      T23[0]
         = T22[0];
      Array<float, 1, 1> T25;
      T25[0]
         = T33[i20];
      Array<float, 1, 1> T26;
      T26[0]
         = T25[0];
      Array<float, 1, 1> T19;
      T19[0]
        = T7[i20]
        - T18[0];
      Array<float, 1, 1> T21;
      T21[0]
        = T19[0]
        * T20[0];
      Array<float, 1, 1> T24;
      T24[0]
        = T21[0]
        * T23[0];
      T38[i20]
        = T24[0]
        + T26[0];
    }
    pdl::launchDependentGrid();
    if (b3) {
      loadLocalToGlobal<float, /*vec_size=*/4, /*is_volatile=*/false>( &T27[i1], &T38[0]);
    }
  }
}
