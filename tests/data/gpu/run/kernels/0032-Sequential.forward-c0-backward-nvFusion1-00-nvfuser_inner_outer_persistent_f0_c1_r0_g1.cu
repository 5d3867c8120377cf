// Codegen generated code

__global__ void nvfuser_inner_outer_persistent_f0_c1_r0_g1(Tensor<float, 2, 2> T4, Tensor<float, 2, 2> T3, Tensor<float, 1, 1> T1, Tensor<float, 2, 2> T0, Tensor<float, 1, 1> T2, Tensor<float, 1, 1> T62, Tensor<float, 1, 1> T61, Tensor<float, 2, 2> T64, Tensor<float, 2, 2> T109, Tensor<float, 2, 2> T114, Tensor<int64_t, 1, 1> T119) {
  alignas(128) extern __shared__ char array[];
  void* shared_mem = array;
  const unsigned smem_offset = alignBufferSize((max(16, ((nvfuser_index_t)blockDim.x))) * ((nvfuser_index_t)blockDim.y) * 1 * sizeof(float), 128);
  nvfuser_index_t i0;
  i0 = ceilDiv((ceilDiv(8, ((nvfuser_index_t)blockDim.y))), ((nvfuser_index_t)gridDim.y));
  nvfuser_index_t i1;
  i1 = ceilDiv(((nvfuser_index_t)gridDim.y), ((nvfuser_index_t)blockDim.x));
  nvfuser_index_t i2;
  i2 = 4 * ((nvfuser_index_t)threadIdx.x);
  nvfuser_index_t i3;
  i3 = 16 * ((nvfuser_index_t)threadIdx.x);
  nvfuser_index_t i4;
  i4 = ((nvfuser_index_t)threadIdx.y) + ((((nvfuser_index_t)blockDim.y) * i0) * ((nvfuser_index_t)blockIdx.y));
  nvfuser_index_t i5;
  i5 = 64 * ((nvfuser_index_t)blockDim.y);
  nvfuser_index_t i6;
  i6 = 64 * ((nvfuser_index_t)threadIdx.y);
  nvfuser_index_t i7;
  i7 = (i5 * i0) * ((nvfuser_index_t)blockIdx.y);
  float* ptr8;
  ptr8 = ((T0.data + i2) + i6) + i7;
  nvfuser_index_t i9;
  i9 = 256 * ((nvfuser_index_t)threadIdx.y);
  float* T88 = reinterpret_cast<float*>(array + smem_offset + (((((((((nvfuser_index_t)blockDim.y) * 64) * 4) + 127) & -128) + ((((nvfuser_index_t)blockDim.y) * 64) * 4)) + 127) & -128));
  float* T87 = reinterpret_cast<float*>(array + smem_offset + ((((((nvfuser_index_t)blockDim.y) * 64) * 4) + 127) & -128));
  uint32_t i10;
  i10 = (toSmem(T87) + i3) + i9;
  float* ptr11;
  ptr11 = ((T3.data + i2) + i6) + i7;
  float* T85 = reinterpret_cast<float*>(array + smem_offset + 0);
  uint32_t i12;
  i12 = (toSmem(T85) + i3) + i9;
  nvfuser_index_t i13;
  i13 = i2 + i6;
  nvfuser_index_t i14;
  i14 = i13 + i7;
  nvfuser_index_t i15;
  i15 = i2 + (64 * ((nvfuser_index_t)blockIdx.y));
  nvfuser_index_t i16;
  i16 = 2 * ((nvfuser_index_t)threadIdx.y);
  nvfuser_index_t i17;
  i17 = (2 * ((nvfuser_index_t)blockDim.y)) * ((nvfuser_index_t)blockIdx.y);
  nvfuser_index_t i18;
  i18 = ((64 * ((nvfuser_index_t)threadIdx.x)) + i16) + i17;
  nvfuser_index_t i19;
  i19 = 64 * ((nvfuser_index_t)blockDim.x);
  nvfuser_index_t i20;
  i20 = i16 + i17;
  bool b21;
  b21 = ((((nvfuser_index_t)threadIdx.x) * 4) + 3) < 64;
  bool b22;
  b22 = ((nvfuser_index_t)threadIdx.y) == 0;
  bool b23;
  b23 = (3 + i2) < 64;
  bool b24;
  b24 = ((nvfuser_index_t)threadIdx.x) < 16;
  bool b25;
  b25 = b24 && b23;
  bool b26;
  b26 = b23 && b24;
  bool b27;
  b27 = ((nvfuser_index_t)blockIdx.y) < (ceilDiv(32, ((nvfuser_index_t)blockDim.y)));
  bool b28;
  b28 = ((1 + i16) + i17) < 64;
  bool b29;
  b29 = b27 && b28;
  bool b30;
  b30 = ((((nvfuser_index_t)threadIdx.x) == 0) && b27) && b28;
  double d31;
  d31 = reciprocal(1.41421356237309515e+00);
  double d32;
  d32 = reciprocal(6.40000000000000000e+01);
  double d33;
  d33 = reciprocal(1.41421356237309515e+00);
  if (b21) {
    if (b22) {
      asm volatile(
        "{\n"
        "  .reg .pred p0; \n"
        "  setp.ne.b32 p0, %3, 0;\n"
        "  cp.async.ca.shared.global [%0], [%1], %2, p0;\n"
        "}\n"
        :
        :"r"((uint32_t)((toSmem(T88) + i3))),
         "l"((T2.data + i2)),
         "n"(16LL),
         "r"((uint32_t)((!b22)))
      );
    }
  }
  pdl::waitForPriorGrid();
  // Allocate global tensor T109
  // Allocate global tensor T114
  __syncthreads();
  Array<float, 4, 4> T110;
  #pragma unroll
  for(nvfuser_index_t i34 = 0; i34 < 4; ++i34) {
    T110[i34] = 0.000000000e+00f;
  }
  Array<float, 4, 4> T115;
  #pragma unroll
  for(nvfuser_index_t i35 = 0; i35 < 4; ++i35) {
    T115[i35] = 0.000000000e+00f;
  }
  Array<float, 4, 1> T108;
  #pragma unroll
  for(nvfuser_index_t i36 = 0; i36 < 4; ++i36) {
    T108[i36] = 0.000000000e+00f;
  }
  Array<float, 4, 1> T113;
  #pragma unroll
  for(nvfuser_index_t i37 = 0; i37 < 4; ++i37) {
    T113[i37] = 0.000000000e+00f;
  }
  #pragma unroll 1
  for(nvfuser_index_t i38 = 0; i38 < i0; ++i38) {
    nvfuser_index_t i39;
    i39 = i4 + (((nvfuser_index_t)blockDim.y) * i38);
    nvfuser_index_t i40;
    i40 = i5 * i38;
    nvfuser_index_t i41;
    i41 = i14 + i40;
    bool b42;
    b42 = i39 < 8;
    bool b43;
    b43 = b21 && b42;
    bool b44;
    b44 = b25 && b42;
    bool b45;
    b45 = b26 && b42;
    Array<float, 1, 1> T86;
    T86[0] = 0;
    if (b42) {
      T86[0]
         = T1[i39];
    }
    Array<float, 1, 1> T8;
    T8[0]
       = T86[0];
    Array<float, 1, 1> T14;
    T14[0]
       = T8[0];
    Array<float, 1, 1> T32;
    T32[0]
       = T86[0];
    Array<float, 1, 1> T37;
    T37[0]
       = T32[0];
    Array<float, 1, 1> T84;
    T84[0] = 0;
    if (b42) {
      T84[0]
         = T4[i39];
    } else {
      if (b42) {
        T84[0]
           = T4[i39];
      }
    }
    Array<float, 1, 1> T20;
    T20[0]
       = T84[0];
    Array<float, 1, 1> T78;
    T78[0]
       = T84[0];
    Array<float, 1, 1> T25;
    T25[0]
      = T84[0]
      * T84[0]
      * T84[0];
    if (b43) {
      asm volatile(
        "{\n"
        "  .reg .pred p0; \n"
        "  setp.ne.b32 p0, %3, 0;\n"
        "  cp.async.ca.shared.global [%0], [%1], %2, p0;\n"
        "}\n"
        :
        :"r"((uint32_t)(i10)),
         "l"((ptr8 + i40)),
         "n"(16LL),
         "r"((uint32_t)(false))
      );
    }
    if (b43) {
      asm volatile(
        "{\n"
        "  .reg .pred p0; \n"
        "  setp.ne.b32 p0, %3, 0;\n"
        "  cp.async.ca.shared.global [%0], [%1], %2, p0;\n"
        "}\n"
        :
        :"r"((uint32_t)(i12)),
         "l"((ptr11 + i40)),
         "n"(16LL),
         "r"((uint32_t)(false))
      );
    }
    asm volatile("cp.async.wait_all;\n");
    if (b43) {
      Array<float, 4, 4> T94;
      T94.set(float(0.000000000e+00f));
      loadGeneric<float, 4>( &T94[0],  &T85[i13]);
      #pragma unroll
      for(nvfuser_index_t i36 = 0; i36 < 4; ++i36) {
        T108[i36]
          = T108[i36]
          + T94[i36];
      }
    } else {
      Array<float, 4, 4> T94;
      T94.set(float(0.000000000e+00f));
      if (b44) {
        loadGeneric<float, 4>( &T94[0],  &T85[i13]);
      }
      #pragma unroll
      for(nvfuser_index_t i36 = 0; i36 < 4; ++i36) {
        T108[i36]
          = T108[i36]
          + T94[i36];
      }
    }
    Array<float, 1, 1> T118;
    T118[0] = 0.000000000e+00f;
    Array<float, 1, 1> T107;
    T107[0] = 0.000000000e+00f;
    if (b43) {
      Array<float, 4, 4> T106;
      T106.set(float(0));
      loadGeneric<float, 4>( &T106[0],  &T88[i2]);
      Array<float, 4, 4> T98;
      T98.set(float(0));
      loadGeneric<float, 4>( &T98[0],  &T87[i13]);
      Array<float, 4, 4> T99;
      T99.set(float(0));
      loadGeneric<float, 4>( &T99[0],  &T87[i13]);
      Array<float, 4, 4> T97;
      T97.set(float(0));
      loadGeneric<float, 4>( &T97[0],  &T85[i13]);
      Array<float, 4, 4> T95;
      T95.set(float(0));
      loadGeneric<float, 4>( &T95[0],  &T85[i13]);
      #pragma unroll
      for(nvfuser_index_t i37 = 0; i37 < 4; ++i37) {
        Array<float, 1, 1> T67;
        T67[0]
          = T98[i37]
          * (float) d33;
        Array<float, 1, 1> T68;
        T68[0]
           = erff(T67[0]);
        Array<float, 1, 1> T69;
        T69[0]
          = (float) 5.00000000000000000e-01
          * T68[0];
        Array<float, 1, 1> T70;
        T70[0]
          = (float) 5.00000000000000000e-01
          + T69[0];
        Array<float, 1, 1> T15;
        T15[0]
          = T99[i37]
          * T70[0];
        Array<float, 1, 1> T12;
        T12[0]
           = T106[i37];
        Array<float, 1, 1> T13;
        T13[0]
           = T12[0];
        Array<float, 1, 1> T16;
        T16[0]
          = T13[0]
          * T97[i37];
        Array<float, 1, 1> T17;
        T17[0]
          = T15[0]
          - T14[0];
        Array<float, 1, 1> T18;
        T18[0]
          = T17[0]
          * T16[0];
        T118[0]
          = T118[0]
          + T18[0];
        Array<float, 1, 1> T21;
        T21[0]
          = T20[0]
          * T16[0];
        Array<float, 1, 1> T24;
        T24[0]
           = -T21[0];
        T107[0]
          = T107[0]
          + T24[0];
        Array<float, 1, 1> T56;
        T56[0]
          = T17[0]
          * T20[0];
        Array<float, 1, 1> T59;
        T59[0]
          = T56[0]
          * T95[i37];
        T113[i37]
          = T113[i37]
          + T59[0];
      }
    } else {
      Array<float, 4, 4> T106;
      T106.set(float(0));
      if (b25) {
        loadGeneric<float, 4>( &T106[0],  &T88[i2]);
      }
      Array<float, 4, 4> T98;
      T98.set(float(0));
      if (b44) {
        loadGeneric<float, 4>( &T98[0],  &T87[i13]);
      }
      Array<float, 4, 4> T99;
      T99.set(float(0));
      if (b44) {
        loadGeneric<float, 4>( &T99[0],  &T87[i13]);
      }
      Array<float, 4, 4> T97;
      T97.set(float(0));
      if (b44) {
        loadGeneric<float, 4>( &T97[0],  &T85[i13]);
      }
      Array<float, 4, 4> T95;
      T95.set(float(0));
      if (b44) {
        loadGeneric<float, 4>( &T95[0],  &T85[i13]);
      }
      #pragma unroll
      for(nvfuser_index_t i37 = 0; i37 < 4; ++i37) {
        Array<float, 1, 1> T67;
        T67[0]
          = T98[i37]
          * (float) d33;
        Array<float, 1, 1> T68;
        T68[0]
           = erff(T67[0]);
        Array<float, 1, 1> T69;
        T69[0]
          = (float) 5.00000000000000000e-01
          * T68[0];
        Array<float, 1, 1> T70;
        T70[0]
          = (float) 5.00000000000000000e-01
          + T69[0];
        Array<float, 1, 1> T15;
        T15[0]
          = T99[i37]
          * T70[0];
        Array<float, 1, 1> T12;
        T12[0]
           = T106[i37];
        Array<float, 1, 1> T13;
        T13[0]
           = T12[0];
        Array<float, 1, 1> T16;
        T16[0]
          = T13[0]
          * T97[i37];
        Array<float, 1, 1> T17;
        T17[0]
          = T15[0]
          - T14[0];
        Array<float, 1, 1> T18;
        T18[0]
          = T17[0]
          * T16[0];
        if (b45) {
          T118[0]
            = T118[0]
            + T18[0];
        }
        Array<float, 1, 1> T21;
        T21[0]
          = T20[0]
          * T16[0];
        Array<float, 1, 1> T24;
        T24[0]
           = -T21[0];
        if (b45) {
          T107[0]
            = T107[0]
            + T24[0];
        }
        Array<float, 1, 1> T56;
        T56[0]
          = T17[0]
          * T20[0];
        Array<float, 1, 1> T59;
        T59[0]
          = T56[0]
          * T95[i37];
        if (b45) {
          T113[i37]
            = T113[i37]
            + T59[0];
        }
      }
    }
    Array<float, 1, 1> T28;
    T28[0] = 0.000000000e+00f;
    blockReduce<true, false, false, true>(T28[0], T107[0], [](float &a, float b) { a = a + b; }, static_cast<float*>(shared_mem), true, true, float(0.000000000e+00f), DefaultBlockDim());
    Array<float, 1, 1> T30;
    broadcast::blockBroadcast<true, false, false, true>(T30[0], T28[0], static_cast<float*>(shared_mem), true, DefaultBlockDim());
    Array<float, 1, 1> T44;
    T44[0]
       = T30[0];
    Array<float, 1, 1> T46;
    T46[0]
      = (float) 1.56250000000000000e-02
      * T44[0];
    Array<float, 1, 1> T19;
    T19[0] = 0.000000000e+00f;
    blockReduce<true, false, false, true>(T19[0], T118[0], [](float &a, float b) { a = a + b; }, static_cast<float*>(shared_mem), true, true, float(0.000000000e+00f), DefaultBlockDim());
    Array<float, 1, 1> T22;
    broadcast::blockBroadcast<true, false, false, true>(T22[0], T19[0], static_cast<float*>(shared_mem), true, DefaultBlockDim());
    Array<float, 1, 1> T26;
    T26[0]
      = (float) -5.00000000000000000e-01
      * T22[0];
    Array<float, 1, 1> T27;
    T27[0]
      = T26[0]
      * T25[0];
    Array<float, 1, 1> T38;
    T38[0]
       = T27[0];
    Array<float, 1, 1> T40;
    T40[0]
      = (float) 2.00000000000000000e+00
      * T38[0];
    if (b43) {
      Array<float, 4, 4> T104;
      T104.set(float(0));
      loadGeneric<float, 4>( &T104[0],  &T87[i13]);
      Array<float, 4, 4> T103;
      T103.set(float(0));
      loadGeneric<float, 4>( &T103[0],  &T87[i13]);
      Array<float, 4, 4> T101;
      T101.set(float(0));
      loadGeneric<float, 4>( &T101[0],  &T87[i13]);
      Array<float, 4, 4> T102;
      T102.set(float(0));
      loadGeneric<float, 4>( &T102[0],  &T87[i13]);
      Array<float, 4, 4> T96;
      T96.set(float(0));
      loadGeneric<float, 4>( &T96[0],  &T85[i13]);
      Array<float, 4, 4> T105;
      T105.set(float(0));
      loadGeneric<float, 4>( &T105[0],  &T88[i2]);
      Array<float, 4, 4> T100;
      T100.set(float(0));
      loadGeneric<float, 4>( &T100[0],  &T87[i13]);
      // Alias Allocation - register
      auto& T91 = T100;
      #pragma unroll
      for(nvfuser_index_t i46 = 0; i46 < 4; ++i46) {
        Array<float, 1, 1> T72;
        T72[0]
          = T101[i46]
          * (float) d33;
        Array<float, 1, 1> T73;
        T73[0]
           = erff(T72[0]);
        Array<float, 1, 1> T74;
        T74[0]
          = (float) 5.00000000000000000e-01
          * T73[0];
        Array<float, 1, 1> T75;
        T75[0]
          = (float) 5.00000000000000000e-01
          + T74[0];
        Array<float, 1, 1> T76;
        T76[0]
          = T102[i46]
          * T75[0];
        Array<float, 1, 1> T39;
        T39[0]
          = T76[0]
          - T37[0];
        Array<float, 1, 1> T65;
        T65[0]
          = T100[i46]
          * (float) d33;
        Array<float, 1, 1> T7;
        T7[0]
           = erff(T65[0]);
        Array<float, 1, 1> T10;
        T10[0]
          = (float) 5.00000000000000000e-01
          * T7[0];
        Array<float, 1, 1> T11;
        T11[0]
          = (float) 5.00000000000000000e-01
          + T10[0];
        Array<float, 1, 1> T79;
        T79[0]
           = T105[i46];
        Array<float, 1, 1> T80;
        T80[0]
           = T79[0];
        Array<float, 1, 1> T81;
        T81[0]
          = T80[0]
          * T96[i46];
        Array<float, 1, 1> T82;
        T82[0]
          = T78[0]
          * T81[0];
        Array<float, 1, 1> T6;
        T6[0]
          = T103[i46]
          * (float) d33;
        Array<float, 1, 1> T48;
        T48[0]
          = T6[0]
          * T6[0];
        Array<float, 1, 1> T50;
        T50[0]
           = -T48[0];
        Array<float, 1, 1> T52;
        T52[0]
           = expf(T50[0]);
        Array<float, 1, 1> T54;
        T54[0]
          = (float) 1.12837916709551256e+00
          * T52[0];
        Array<float, 1, 1> T43;
        T43[0]
          = T40[0]
          * T39[0];
        Array<float, 1, 1> T45;
        T45[0]
          = T43[0]
          * (float) d32;
        Array<float, 1, 1> T47;
        T47[0]
          = T46[0]
          + T45[0];
        Array<float, 1, 1> T49;
        T49[0]
          = T82[0]
          + T47[0];
        Array<float, 1, 1> T58;
        T58[0]
          = T11[0]
          * T49[0];
        Array<float, 1, 1> T51;
        T51[0]
          = T104[i46]
          * T49[0];
        Array<float, 1, 1> T53;
        T53[0]
          = (float) 5.00000000000000000e-01
          * T51[0];
        Array<float, 1, 1> T55;
        T55[0]
          = T54[0]
          * T53[0];
        Array<float, 1, 1> T57;
        T57[0]
          = T55[0]
          * (float) d31;
        Array<float, 1, 1> T60;
        T60[0]
          = T58[0]
          + T57[0];
        T91[i46]
           = T60[0];
      }
      pdl::launchDependentGrid();
      loadLocalToGlobal<float, /*vec_size=*/4, /*is_volatile=*/false>( &T64[i41], &T91[0]);
    } else {
      Array<float, 4, 4> T104;
      T104.set(float(0));
      if (b44) {
        loadGeneric<float, 4>( &T104[0],  &T87[i13]);
      }
      Array<float, 4, 4> T103;
      T103.set(float(0));
      if (b44) {
        loadGeneric<float, 4>( &T103[0],  &T87[i13]);
      }
      Array<float, 4, 4> T101;
      T101.set(float(0));
      if (b44) {
        loadGeneric<float, 4>( &T101[0],  &T87[i13]);
      }
      Array<float, 4, 4> T102;
      T102.set(float(0));
      if (b44) {
        loadGeneric<float, 4>( &T102[0],  &T87[i13]);
      }
      Array<float, 4, 4> T96;
      T96.set(float(0));
      if (b44) {
        loadGeneric<float, 4>( &T96[0],  &T85[i13]);
      }
      Array<float, 4, 4> T105;
      T105.set(float(0));
      if (b25) {
        loadGeneric<float, 4>( &T105[0],  &T88[i2]);
      }
      Array<float, 4, 4> T100;
      T100.set(float(0));
      if (b44) {
        loadGeneric<float, 4>( &T100[0],  &T87[i13]);
      }
      // Alias Allocation - register
      auto& T91 = T100;
      #pragma unroll
      for(nvfuser_index_t i46 = 0; i46 < 4; ++i46) {
        Array<float, 1, 1> T72;
        T72[0]
          = T101[i46]
          * (float) d33;
        Array<float, 1, 1> T73;
        T73[0]
           = erff(T72[0]);
        Array<float, 1, 1> T74;
        T74[0]
          = (float) 5.00000000000000000e-01
          * T73[0];
        Array<float, 1, 1> T75;
        T75[0]
          = (float) 5.00000000000000000e-01
          + T74[0];
        Array<float, 1, 1> T76;
        T76[0]
          = T102[i46]
          * T75[0];
        Array<float, 1, 1> T39;
        T39[0]
          = T76[0]
          - T37[0];
        Array<float, 1, 1> T65;
        T65[0]
          = T100[i46]
          * (float) d33;
        Array<float, 1, 1> T7;
        T7[0]
           = erff(T65[0]);
        Array<float, 1, 1> T10;
        T10[0]
          = (float) 5.00000000000000000e-01
          * T7[0];
        Array<float, 1, 1> T11;
        T11[0]
          = (float) 5.00000000000000000e-01
          + T10[0];
        Array<float, 1, 1> T79;
        T79[0]
           = T105[i46];
        Array<float, 1, 1> T80;
        T80[0]
           = T79[0];
        Array<float, 1, 1> T81;
        T81[0]
          = T80[0]
          * T96[i46];
        Array<float, 1, 1> T82;
        T82[0]
          = T78[0]
          * T81[0];
        Array<float, 1, 1> T6;
        T6[0]
          = T103[i46]
          * (float) d33;
        Array<float, 1, 1> T48;
        T48[0]
          = T6[0]
          * T6[0];
        Array<float, 1, 1> T50;
        T50[0]
           = -T48[0];
        Array<float, 1, 1> T52;
        T52[0]
           = expf(T50[0]);
        Array<float, 1, 1> T54;
        T54[0]
          = (float) 1.12837916709551256e+00
          * T52[0];
        Array<float, 1, 1> T43;
        T43[0]
          = T40[0]
          * T39[0];
        Array<float, 1, 1> T45;
        T45[0]
          = T43[0]
          * (float) d32;
        Array<float, 1, 1> T47;
        T47[0]
          = T46[0]
          + T45[0];
        Array<float, 1, 1> T49;
        T49[0]
          = T82[0]
          + T47[0];
        Array<float, 1, 1> T58;
        T58[0]
          = T11[0]
          * T49[0];
        Array<float, 1, 1> T51;
        T51[0]
          = T104[i46]
          * T49[0];
        Array<float, 1, 1> T53;
        T53[0]
          = (float) 5.00000000000000000e-01
          * T51[0];
        Array<float, 1, 1> T55;
        T55[0]
          = T54[0]
          * T53[0];
        Array<float, 1, 1> T57;
        T57[0]
          = T55[0]
          * (float) d31;
        Array<float, 1, 1> T60;
        T60[0]
          = T58[0]
          + T57[0];
        T91[i46]
           = T60[0];
      }
      pdl::launchDependentGrid();
      if (b44) {
        loadLocalToGlobal<float, /*vec_size=*/4, /*is_volatile=*/false>( &T64[i41], &T91[0]);
      }
    }
  }
  #pragma unroll
  for(nvfuser_index_t i34 = 0; i34 < 4; ++i34) {
    blockReduce<false, true, false, true>(T110[i34], T108[i34], [](float &a, float b) { a = a + b; }, static_cast<float*>(shared_mem), true, true, float(0.000000000e+00f), DefaultBlockDim());
  }
  #pragma unroll
  for(nvfuser_index_t i35 = 0; i35 < 4; ++i35) {
    blockReduce<false, true, false, true>(T115[i35], T113[i35], [](float &a, float b) { a = a + b; }, static_cast<float*>(shared_mem), true, true, float(0.000000000e+00f), DefaultBlockDim());
  }
  if (b21) {
    if (b22) {
      loadLocalToGlobal<float, /*vec_size=*/4, /*is_volatile=*/true>( &*(volatile float*)&T109[i15], &T110[0]);
    }
  }
  if (b21) {
    if (b22) {
      loadLocalToGlobal<float, /*vec_size=*/4, /*is_volatile=*/true>( &*(volatile float*)&T114[i15], &T115[0]);
    }
  }
  // Allocate global tensor T119
  grid_sync::sync<false, true, false, true, true>(T119[index_utils::maskedOffset<true, false, true>(blockIdx, gridDim)], index_utils::maskedSize<false, true, false>(gridDim), DefaultBlockDim());
  Array<float, 2, 1> T117;
  #pragma unroll
  for(nvfuser_index_t i47 = 0; i47 < 2; ++i47) {
    T117[i47] = 0.000000000e+00f;
  }
  #pragma unroll 1
  for(nvfuser_index_t i48 = 0; i48 < i1; ++i48) {
    Array<float, 2, 2> T116;
    T116.set(float(0.000000000e+00f));
    if ((b29 && ((((nvfuser_index_t)threadIdx.x) + (((nvfuser_index_t)blockDim.x) * i48)) < ((nvfuser_index_t)gridDim.y)))) {
      loadGlobalToLocal<float, /*vec_size=*/2, /*is_volatile=*/true, CacheOp::Streaming>(&T116[0],  &*(volatile float*)&T114[(i18 + (i19 * i48))]);
    }
    #pragma unroll
    for(nvfuser_index_t i47 = 0; i47 < 2; ++i47) {
      T117[i47]
        = T117[i47]
        + T116[i47];
    }
  }
  Array<float, 2, 2> T90;
  #pragma unroll
  for(nvfuser_index_t i49 = 0; i49 < 2; ++i49) {
    T90[i49] = 0.000000000e+00f;
  }
  #pragma unroll
  for(nvfuser_index_t i49 = 0; i49 < 2; ++i49) {
    blockReduce<true, false, false, true>(T90[i49], T117[i49], [](float &a, float b) { a = a + b; }, static_cast<float*>(shared_mem), true, true, float(0.000000000e+00f), DefaultBlockDim());
  }
  if (b30) {
    loadLocalToGlobal<float, /*vec_size=*/2, /*is_volatile=*/false>( &T61[i20], &T90[0]);
  }
  Array<float, 2, 1> T112;
  #pragma unroll
  for(nvfuser_index_t i50 = 0; i50 < 2; ++i50) {
    T112[i50] = 0.000000000e+00f;
  }
  #pragma unroll 1
  for(nvfuser_index_t i51 = 0; i51 < i1; ++i51) {
    Array<float, 2, 2> T111;
    T111.set(float(0.000000000e+00f));
    if ((b29 && ((((nvfuser_index_t)threadIdx.x) + (((nvfuser_index_t)blockDim.x) * i51)) < ((nvfuser_index_t)gridDim.y)))) {
      loadGlobalToLocal<float, /*vec_size=*/2, /*is_volatile=*/true, CacheOp::Streaming>(&T111[0],  &*(volatile float*)&T109[(i18 + (i19 * i51))]);
    }
    #pragma unroll
    for(nvfuser_index_t i50 = 0; i50 < 2; ++i50) {
      T112[i50]
        = T112[i50]
        + T111[i50];
    }
  }
  Array<float, 2, 2> T89;
  #pragma unroll
  for(nvfuser_index_t i52 = 0; i52 < 2; ++i52) {
    T89[i52] = 0.000000000e+00f;
  }
  #pragma unroll
  for(nvfuser_index_t i52 = 0; i52 < 2; ++i52) {
    blockReduce<true, false, false, true>(T89[i52], T112[i52], [](float &a, float b) { a = a + b; }, static_cast<float*>(shared_mem), true, true, float(0.000000000e+00f), DefaultBlockDim());
  }
  if (b30) {
    loadLocalToGlobal<float, /*vec_size=*/2, /*is_volatile=*/false>( &T62[i20], &T89[0]);
  }
}
