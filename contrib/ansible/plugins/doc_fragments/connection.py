"""The options of all modules, for their documentation."""


class ModuleDocFragment:
    DOCUMENTATION = """
options:
  cloud:
    description:
      - The name of a cloud in C(clouds.yaml).
      - By default, the variables C(OS_*) of the environment choose the cloud.
    type: str
  auth:
    description: What the auth plugin needs, such as C(auth_url) and C(application_credential_id).
    type: dict
  auth_type:
    description: The name of the auth plugin.
    type: str
  region_name:
    description: The region.
    type: str
  interface:
    description: The interface of the endpoint in the catalog.
    type: str
requirements:
  - openstacksdk
  - warre-blazar
"""
