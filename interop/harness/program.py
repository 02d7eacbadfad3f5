"""The soapstone program under test."""

import os
from pathlib import Path

from . import installing
from .processes import must


def built():
    """The one of this repository, brought up to date by cargo (profile: SOAPSTONE_PROFILE, default release)."""
    profile = os.environ.get("SOAPSTONE_PROFILE", "release")
    installing.say(f"cargo build --profile {profile} --bin soapstone")
    must("cargo", "build", "--quiet", "--profile", profile, "--bin", "soapstone", cwd=installing.REPOSITORY, timeout=3000)
    target = Path(os.environ.get("CARGO_TARGET_DIR", installing.REPOSITORY / "target"))
    return target / ("debug" if profile == "dev" else profile) / "soapstone"
