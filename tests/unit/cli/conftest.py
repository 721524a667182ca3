from cli_run import cli

__all__ = ["cli"]
