"""Does what Heat's engine does with stacks. It runs in Heat's own environment.

It reads one request from each line of its input, in JSON, and writes one line for each: the stack's
state, its reason and outputs, and its resources. Its arguments are the URL of Keystone and the
directory of our plugin.
"""

import json
import sys
from pathlib import Path
from typing import Any

import requests
from heat.common import context, messaging, template_format
from heat.db import api as db_api
from heat.db import models
from heat.engine import clients, properties, resources, scheduler, stack, template
from oslo_config import cfg
from oslo_db import options


def start(plugins: str) -> None:
    etc = Path(sys.prefix) / "etc" / "heat"
    cfg.CONF([], project="heat")
    cfg.CONF.set_override("plugin_dirs", [plugins])
    cfg.CONF.set_override("environment_dir", str(etc / "environment.d"))
    cfg.CONF.set_override("deferred_auth_method", "password")
    options.set_defaults(cfg.CONF, connection="sqlite://")
    models.BASE.metadata.create_all(db_api.get_engine())
    messaging.setup("fake://")
    clients.initialise()
    resources.initialise()
    scheduler.ENABLE_SLEEP = False


def user(keystone: str, name: str) -> context.RequestContext:
    """The context that Heat's API makes of a request with a user's token."""
    headers = {"X-Auth-Token": f"token-{name}", "X-Subject-Token": f"token-{name}"}
    answer = requests.get(f"{keystone}/v3/auth/tokens", headers=headers, timeout=60)
    info = answer.json()
    return context.RequestContext.from_dict(
        {
            "auth_token": f"token-{name}",
            "auth_token_info": info,
            "auth_url": f"{keystone}/v3",
            "project_id": info["token"]["project"]["id"],
            "user_id": info["token"]["user"]["id"],
            "is_admin": False,
        }
    )


def do(asked: dict[str, Any], who: context.RequestContext) -> dict[str, Any]:
    if asked["do"] == "schema":
        known = resources.global_env().get_class("OS::WarreBlazar::Reservation")
        return {"properties": dict(properties.schemata(known.properties_schema))}
    wanted = None
    if "template" in asked:
        parsed = template.Template(template_format.parse(asked["template"]))
        wanted = stack.Stack(who, asked["name"], parsed)
        wanted.validate()
    if asked["do"] == "create":
        item = wanted
        item.store()
        item.create()
    else:
        item = stack.Stack.load(who, stack_id=asked["id"])
        if asked["do"] == "update":
            item.update(wanted)
        else:
            item.delete()
            return {"state": "_".join(item.state)}
    # The engine does this when it releases the stack.
    item._persist_state()
    return shown(stack.Stack.load(who, stack_id=item.id))


def shown(item: stack.Stack) -> dict[str, Any]:
    item._update_all_resource_data(for_resources=False, for_outputs=True)
    return {
        "id": item.id,
        "state": "_".join(item.state),
        "reason": item.status_reason,
        "outputs": {name: output.get_value() for name, output in item.outputs.items()},
        "resources": {name: found.resource_id for name, found in item.resources.items()},
    }


def main() -> None:
    keystone, plugins = sys.argv[1:]
    # What Heat prints must not get between the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    start(plugins)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = do(asked, user(keystone, asked["user"]))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer, default=dict), file=answers, flush=True)


if __name__ == "__main__":
    main()
