"""The soapstone program under test, and soapstone-lab beside it."""

import os
import shutil
from pathlib import Path

from . import installing
from .processes import Failure, must


def built():
    """The one of this repository, brought up to date by cargo (profile: SOAPSTONE_PROFILE, default release)."""
    profile = os.environ.get("SOAPSTONE_PROFILE", "release")
    installing.say(f"cargo build --profile {profile} --bin soapstone --bin soapstone-lab")
    must("cargo", "build", "--quiet", "--profile", profile, "--bin", "soapstone", "--bin", "soapstone-lab", cwd=installing.REPOSITORY, timeout=3000)
    target = Path(os.environ.get("CARGO_TARGET_DIR", installing.REPOSITORY / "target"))
    return target / ("debug" if profile == "dev" else profile) / "soapstone"


def copied(soapstone, folder):
    """A copy of the program, with `soapstone-lab` beside it, so that a build that happens meanwhile does not change what is tested."""
    lab = soapstone.with_name("soapstone-lab")
    if not lab.is_file():
        raise Failure(f"expected soapstone-lab beside {soapstone}, found none")
    shutil.copy2(lab, folder)
    return Path(shutil.copy2(soapstone, folder / "soapstone"))
