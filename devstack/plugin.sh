#!/usr/bin/env bash
# Devstack plugin that adds warre-blazar to a devstack that runs Blazar.
#
# In local.conf, this plugin may be enabled before or after Blazar's. It changes blazar.conf between
# the moment when Blazar's plugin has written the file and the moment when it starts Blazar. Running
# a phase again changes nothing.
#
# devstack sources this file, so that the functions of devstack and of Blazar's plugin can be used.
# shellcheck disable=SC2154

_XTRACE_WARRE_BLAZAR=$(set +o | grep xtrace)
set +o xtrace

# The name of the clone's directory is the name that local.conf gives the plugin.
WARRE_BLAZAR_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The plugin of Blazar from which everything else of this package follows.
_WARRE_BLAZAR_PLUGIN=flavor.slot.plugin
# The service type of what Warre's clients look for.
_WARRE_BLAZAR_TYPE=nectar-reservation

# Let Blazar load the package, and make what blazar.conf can't give: tables, a role on the system and
# limits.
function configure_warre_blazar {
    local plugins
    plugins=$(iniget "$BLAZAR_CONF_FILE" manager plugins)
    if [[ ",$plugins," != *",$_WARRE_BLAZAR_PLUGIN,"* ]]; then
        iniset "$BLAZAR_CONF_FILE" manager plugins "${plugins:+$plugins,}$_WARRE_BLAZAR_PLUGIN"
    fi
    # For application credentials with access rules.
    iniset "$BLAZAR_CONF_FILE" keystone_authtoken service_type reservation
    "$BLAZAR_BIN_DIR/warre-blazar-manage" --config-file "$BLAZAR_CONF_FILE" setup
}

# Blazar doesn't start with a plugin that isn't installed.
function unconfigure_warre_blazar {
    local plugins
    plugins=",$(iniget "$BLAZAR_CONF_FILE" manager plugins),"
    plugins=${plugins//",$_WARRE_BLAZAR_PLUGIN,"/,}
    plugins=${plugins#,}
    iniset "$BLAZAR_CONF_FILE" manager plugins "${plugins%,}"
    inidelete "$BLAZAR_CONF_FILE" keystone_authtoken service_type
}

# Print the address at which Blazar's API is served.
function _warre_blazar_url {
    local url="$BLAZAR_SERVICE_PROTOCOL://$BLAZAR_SERVICE_HOST"
    if [[ "$BLAZAR_USE_MOD_WSGI" == "True" ]]; then
        echo "$url/reservation"
    else
        echo "$url:$BLAZAR_SERVICE_PORT"
    fi
}

# Make the catalog entry that Warre's clients look for.
function create_warre_blazar_endpoint {
    local service
    service=$(get_or_create_service "warre" $_WARRE_BLAZAR_TYPE "Reservations of flavors")
    get_or_create_endpoint "$service" "$REGION_NAME" "$(_warre_blazar_url)/v2/warre"
}

# Add two options to uWSGI's file, which Blazar's plugin writes in post-config and removes in
# unstack.
function configure_warre_blazar_uwsgi {
    # Without it, Apache may answer 503 to a request that is refused while its body is sent.
    iniset "$BLAZAR_UWSGI_CONF" uwsgi post-buffering 65535
    # While requests wait for a manager, other threads answer the others.
    iniset "$BLAZAR_UWSGI_CONF" uwsgi threads 16
}

# Run our program in place of blazar-api, which Blazar's plugin runs without uWSGI, and which ends at
# once in Blazar 18.
function start_warre_blazar_api {
    stop_process blazar-a
    run_process blazar-a "$BLAZAR_BIN_DIR/warre-blazar-api --config-file $BLAZAR_CONF_FILE"
}

# Let Horizon find our pages. Horizon's own phase of devstack collects the static files later.
function install_warre_blazar_pages {
    local directory
    setup_develop "$WARRE_BLAZAR_DIR" dashboard
    for directory in enabled local_settings.d; do
        cp -a "$WARRE_BLAZAR_DIR/warre_blazar/dashboard/$directory"/_[0-9]*.py \
            "$HORIZON_DIR/openstack_dashboard/local/$directory/"
    done
}

# Uninstall the package from devstack's environment, which pip_uninstall doesn't find by itself.
function uninstall_warre_blazar {
    if [[ "$GLOBAL_VENV" != "True" ]]; then
        pip_uninstall warre-blazar
    elif [[ -d "$DEVSTACK_VENV" ]]; then
        PIP_VIRTUAL_ENV=$DEVSTACK_VENV pip_uninstall warre-blazar
    fi
}

# Run the upgrade check, which asks the API. Warnings don't stop the stack: without hosts there is always one.
function check_warre_blazar {
    local status=0
    curl --silent --output /dev/null --retry 60 --retry-delay 1 --retry-connrefused \
        "$(_warre_blazar_url)/" || die $LINENO "Blazar's API doesn't answer"
    "$BLAZAR_BIN_DIR/warre-blazar-status" --config-file "$BLAZAR_CONF_FILE" upgrade check ||
        status=$?
    if [[ $status -ge 2 ]]; then
        die $LINENO "warre-blazar isn't set up right, see above"
    fi
}

if is_service_enabled blazar blazar-m blazar-a; then
    if [[ "$1" == "stack" && "$2" == "install" ]]; then
        echo_summary "Installing warre-blazar"
        setup_develop "$WARRE_BLAZAR_DIR" server,cli
        if is_service_enabled horizon; then
            install_warre_blazar_pages
        fi
    elif [[ "$1" == "stack" && "$2" == "$WARRE_BLAZAR_PHASE" ]]; then
        echo_summary "Configuring warre-blazar"
        configure_warre_blazar
        create_warre_blazar_endpoint
        if [[ "$BLAZAR_USE_MOD_WSGI" == "True" ]]; then
            configure_warre_blazar_uwsgi
        fi
    elif [[ "$1" == "stack" && "$2" == "test-config" ]]; then
        if [[ "$BLAZAR_USE_MOD_WSGI" != "True" ]]; then
            echo_summary "Starting warre-blazar-api"
            start_warre_blazar_api
        fi
        echo_summary "Checking warre-blazar"
        check_warre_blazar
    fi

    # Nothing is removed from Keystone and the database, which the next stack makes anew. blazar.conf
    # stays.
    if [[ "$1" == "unstack" && -f "$BLAZAR_CONF_FILE" ]]; then
        echo_summary "Removing warre-blazar from blazar.conf"
        unconfigure_warre_blazar
    elif [[ "$1" == "clean" ]]; then
        echo_summary "Uninstalling warre-blazar"
        uninstall_warre_blazar
    fi
fi

$_XTRACE_WARRE_BLAZAR
