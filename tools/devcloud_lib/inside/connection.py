"""The connection to the cloud that the scripts in this directory use."""

import openstack
from openstack.connection import Connection


def connect(auth_url: str, password: str, region: str) -> Connection:
    """Log in as admin. Environment variables and clouds.yaml are ignored."""
    return openstack.connect(
        load_envvars=False,
        load_yaml_config=False,
        auth_type="password",
        auth={
            "auth_url": auth_url,
            "username": "admin",
            "password": password,
            "project_name": "admin",
            "user_domain_id": "default",
            "project_domain_id": "default",
        },
        region_name=region,
    )
