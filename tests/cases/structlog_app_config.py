"""An application that uses structlog itself: its configuration and its lines stay its own, also in capture_logs()."""

import io
import logging

import structlog
import torch

buffer = io.StringIO()
logging.basicConfig(stream=buffer, level=logging.DEBUG, format="%(name)s %(message)s")
processors = [structlog.stdlib.add_log_level, structlog.processors.KeyValueRenderer(sort_keys=True)]
structlog.configure(
    processors=processors,
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
    cache_logger_on_first_use=True,
)
import thunder  # noqa: E402 - the application configures structlog first

log = structlog.get_logger("app")
log.info("before")
thunder.jit(torch.sin)(torch.ones(2))
log.info("after")
with structlog.testing.capture_logs() as captured:
    thunder.jit(torch.cos)(torch.ones(2))
    structlog.get_logger("fresh").info("inside")
lines = buffer.getvalue().splitlines()
mine = [line for line in lines if line.startswith("app ")]
ours = [line for line in lines if "thunder" in line.split()[0]]
same = structlog.get_config()["processors"] is processors
print("OUT", same, len(mine), len(ours), [event["event"] for event in captured])
