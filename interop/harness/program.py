"""The soapstone program under test, with soapstone-lab and soapstone-registry beside it."""

import os
import shutil
from pathlib import Path

from . import installing
from .processes import Failure, must

# The programs that soapstone starts by its own words.
BESIDE = ("soapstone-lab", "soapstone-registry")


def built():
    """The one of this repository, brought up to date by cargo (profile: SOAPSTONE_PROFILE, default release)."""
    profile = os.environ.get("SOAPSTONE_PROFILE", "release")
    programs = [word for name in ("soapstone", *BESIDE) for word in ("--bin", name)]
    installing.say(f"cargo build --profile {profile} {' '.join(programs)}")
    must("cargo", "build", "--quiet", "--profile", profile, *programs, cwd=installing.REPOSITORY, timeout=3000)
    target = Path(os.environ.get("CARGO_TARGET_DIR", installing.REPOSITORY / "target"))
    return target / ("debug" if profile == "dev" else profile) / "soapstone"


def copied(soapstone, folder):
    """A copy of the programs, so that a build that happens meanwhile does not change what is tested."""
    for name in BESIDE:
        beside = soapstone.with_name(name)
        if not beside.is_file():
            raise Failure(f"expected {name} beside {soapstone}, found none")
        shutil.copy2(beside, folder)
    return Path(shutil.copy2(soapstone, folder / "soapstone"))
