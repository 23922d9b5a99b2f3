"""The workbench's REST API: reading, editing and publishing models, mistakes, batches and trust."""

from protorynet.server.workbench.starting import router, start

__all__ = ["router", "start"]
