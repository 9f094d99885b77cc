"""What the modules share: the connection to the cloud, and how they end."""

from ansible.module_utils.basic import missing_required_lib

# Ansible also loads modules where these packages aren't installed.
try:
    import openstack
    from keystoneauth1 import exceptions

    from warre_blazar import client
except ImportError as error:
    MISSING = str(error)
else:
    MISSING = None

CONNECTION = {
    "cloud": {"type": "str"},
    "auth": {"type": "dict", "no_log": True},
    "auth_type": {"type": "str"},
    "region_name": {"type": "str"},
    "interface": {"type": "str"},
}


def run(module, act):
    """End a module with the result of ``act``, which gets the client.

    An error ends the module with its sentence. Those of the API have a ``code`` and its ``detail``.
    """
    if MISSING:
        module.fail_json(msg=missing_required_lib(f"openstacksdk and warre-blazar ({MISSING})"))
    chosen = {name: module.params[name] for name in CONNECTION if module.params[name] is not None}
    try:
        connection = openstack.connect(**chosen)
        client.add_to(connection)
        result = act(connection.flavor_reservation)
    except client.errors.ApiError as error:
        module.fail_json(msg=str(error), code=error.code, detail=error.detail)
    except (
        client.errors.ClientError,
        exceptions.ClientException,
        openstack.exceptions.SDKException,
    ) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


def given(module, *names):
    """The options that are given, by the names of the client's filters."""
    return {name: module.params[name] for name in names if module.params[name] is not None}


def found(collection, ref):
    """The documents of the object with an id or a name. The list is empty if there is none."""
    try:
        return [collection.get(ref).document]
    except client.errors.NotFound:
        return []
