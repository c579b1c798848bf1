"""Compiles the translations when the wheel is built. Git has the .po files only."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TextsHook(BuildHookInterface):
    """Runs as `hooks.custom` of pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling passes them
        """Write each .mo that is missing or old beside its .po, as `make` does."""
        root = Path(self.root)
        for source in sorted(root.glob("dashboard/locale/*/LC_MESSAGES/*.po")):
            compiled = source.with_suffix(".mo")
            if not compiled.exists() or compiled.stat().st_mtime < source.stat().st_mtime:
                subprocess.run([sys.executable, str(root / "deploy" / "compile_texts.py"), str(source)], check=True)
