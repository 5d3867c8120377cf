"""Records real outputs of nvFuser and of captures, small, for the CPU tests of what reads them.

    python tests/gpu/record_outputs.py FOLDER

writes FOLDER/nvfuser.json, and FOLDER/run/: a run folder at level 3 of a small network with CUDA graphs, without the
400 kB of nvFuser's device functions. They are kept in tests/data/gpu and say which machine made them, with what, when.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import torch, thunder
from thunder.transforms.cudagraph import CUDAGraphTransform
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)).cuda()
jitted = thunder.jit(model, transforms=[CUDAGraphTransform()])
x = torch.randn(8, 64, device="cuda")
for _ in range(2):
    jitted(x).sum().backward()
jitted(torch.randn(64, 8, device="cuda").t()).sum().backward()
"""


def outputs() -> dict[str, object]:
    """What nvFuser says of a region that it cuts into several kernels."""
    import nvfuser_direct
    import thunder
    import torch
    from test_nvfuser import inputs, network

    jitted = thunder.jit(network)
    arguments = list(inputs())
    jitted(*arguments)
    (region,) = (bsym for bsym in thunder.last_traces(jitted)[-1].bound_symbols if bsym.sym.is_fusion)
    fusion = next(iter(region._call_ctx.values())).last_used
    whole = fusion.fec.get_cuda_kernel(arguments, intrinsic_code=True)
    with nvfuser_direct.PythonProfiler() as profiler:
        fusion.execute(arguments)
    fields = ("name", "registers", "grid_str", "block_str", "shared_mem_str", "input_bytes", "output_bytes")
    fields += ("effective_bandwidth_gbs", "time_ms", "compile_time_ms")
    return {
        "machine": torch.cuda.get_device_name(),
        "date": datetime.date.today().isoformat(),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "thunder": thunder.__version__,
            "nvfuser": str(nvfuser_direct.version()),
        },
        "code": fusion.fec.get_cuda_kernel(arguments),
        "scheduled_ir": fusion.fec.get_scheduled_ir(arguments),
        "definition": repr(fusion),
        "runtime_size": len(whole.partition("// Codegen generated code\n")[0]),
        "runtime_begins": whole[:200],
        "after_kernels": whole[-200:],
        "launches": [{name: getattr(kernel, name) for name in fields} for kernel in profiler.profile.kernel_profiles],
    }


def main() -> None:
    folder = Path(sys.argv[1])
    sys.path.insert(0, str(Path(__file__).parent))
    (folder / "nvfuser.json").write_text(json.dumps(outputs(), indent=1) + "\n")
    environment = {**os.environ, "THUNDER_DEBUG": "3", "THUNDER_DEBUG_PROFILE_KERNELS": "1"}
    work = folder / "work"
    work.mkdir()
    subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], cwd=work, env=environment, check=True)
    (run,) = (work / "thunder_debug").iterdir()
    for runtime in run.glob("kernels/*nvfuser_runtime.cuh"):
        runtime.unlink()
    shutil.move(run, folder / "run")
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
