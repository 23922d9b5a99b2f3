"""The command line: one thin command per capability.

Nothing heavy is imported until a command needs it, so that help appears at once.
"""

from protorynet.cli.app import app, main

__all__ = ["app", "main"]
