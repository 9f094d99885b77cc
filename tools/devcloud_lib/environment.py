"""Makes the shell lines that let the clients use the cloud as one of its users."""

import shlex

from devcloud_lib.layout import PASSWORD, REGION, Layout


def exports(layout: Layout, user: str) -> str:
    """Return `export` lines for a user. The user's project has the same name."""
    values = {
        "OS_AUTH_TYPE": "password",
        "OS_AUTH_URL": layout.auth_url,
        "OS_USERNAME": user,
        "OS_PASSWORD": PASSWORD,
        "OS_PROJECT_NAME": user,
        "OS_USER_DOMAIN_ID": "default",
        "OS_PROJECT_DOMAIN_ID": "default",
        "OS_IDENTITY_API_VERSION": "3",
        "OS_REGION_NAME": REGION,
        "WARRE_DEVCLOUD_HOME": str(layout.home),
    }
    if layout.settings.dashboard:
        values["WARRE_DASHBOARD_URL"] = layout.url("dashboard")
    lines = [f"export {name}={shlex.quote(value)}" for name, value in values.items()]
    lines.append(f'export PATH={shlex.quote(str(layout.venv / "bin"))}:"$PATH"')
    return "\n".join(lines)
