"""Lets Horizon check the policies of this package.

Horizon executes this file inside its settings. An operator who overrides policies writes them into
the file that is named here, relative to Horizon's directory of policies.
"""

from importlib.resources import files

# The names come from Horizon's settings.
POLICY_FILES.setdefault("reservation", "blazar_policy.yaml")  # type: ignore[name-defined] # noqa: F821
DEFAULT_POLICY_FILES["reservation"] = str(  # type: ignore[name-defined] # noqa: F821
    files("warre_blazar.dashboard") / "conf" / "default_policies.yaml"
)
