#!/usr/bin/env bash
# Devstack plugin that adds warre-blazar to a devstack that runs Blazar.
#
# Blazar's plugin must be enabled before this one. It writes blazar.conf and makes the database anew
# in the phase post-config, and starts its services in the phase extra. So this plugin adds its
# options and tables in post-config, and Blazar has them when it starts. Running a phase again
# changes nothing.
#
# devstack sources this file, so that the functions of devstack and of Blazar's plugin can be used.
# shellcheck disable=SC2154

_XTRACE_WARRE_BLAZAR=$(set +o | grep xtrace)
set +o xtrace

# The name of the clone's directory is the name that local.conf gives the plugin.
WARRE_BLAZAR_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
WARRE_BLAZAR_PLUGINS=(flavor.slot.plugin)
# The service types of Blazar's API, to which limits belong, and of what Warre's clients look for.
_WARRE_BLAZAR_LIMITED=reservation
_WARRE_BLAZAR_TYPE=nectar-reservation

# Stop the stack if Blazar's plugin is enabled after this one.
function check_warre_blazar_order {
    if [[ "$WARRE_BLAZAR_AFTER_BLAZAR" != "True" ]]; then
        die $LINENO "enable_plugin blazar must come before warre-blazar's line in local.conf"
    fi
}

# Add values to a list option of blazar.conf, unless they are in it.
# _warre_blazar_add section option value...
function _warre_blazar_add {
    local section=$1 option=$2 list value
    shift 2
    list=$(iniget "$BLAZAR_CONF_FILE" "$section" "$option")
    for value in "$@"; do
        if [[ ",$list," != *",$value,"* ]]; then
            list="${list:+$list,}$value"
        fi
    done
    iniset "$BLAZAR_CONF_FILE" "$section" "$option" "$list"
}

# Remove values from a list option of blazar.conf. An option that becomes empty is removed.
# _warre_blazar_drop section option value...
function _warre_blazar_drop {
    local section=$1 option=$2 list value
    shift 2
    list=",$(iniget "$BLAZAR_CONF_FILE" "$section" "$option"),"
    for value in "$@"; do
        list=${list//",$value,"/,}
    done
    list=${list#,}
    list=${list%,}
    if [[ -n "$list" ]]; then
        iniset "$BLAZAR_CONF_FILE" "$section" "$option" "$list"
    else
        inidelete "$BLAZAR_CONF_FILE" "$section" "$option"
    fi
}

# Make blazar-manager and blazar-api load the package. Everything follows from the plugin.
function configure_warre_blazar {
    _warre_blazar_add manager plugins "${WARRE_BLAZAR_PLUGINS[@]}"
    # For application credentials with access rules.
    iniset "$BLAZAR_CONF_FILE" keystone_authtoken service_type $_WARRE_BLAZAR_LIMITED
}

function unconfigure_warre_blazar {
    _warre_blazar_drop manager plugins "${WARRE_BLAZAR_PLUGINS[@]}"
    inidelete "$BLAZAR_CONF_FILE" keystone_authtoken service_type
    local option
    for option in auth_type auth_url username password user_domain_id system_scope \
        endpoint_service_type endpoint_region_name endpoint_interface; do
        inidelete "$BLAZAR_CONF_FILE" oslo_limit $option
    done
}

# Make our tables in the database that Blazar's plugin has made.
function init_warre_blazar {
    "$BLAZAR_BIN_DIR/warre-blazar-manage" --config-file "$BLAZAR_CONF_FILE" db upgrade
}

# Make the catalog entry that Warre's clients look for.
function create_warre_blazar_endpoint {
    local url="$BLAZAR_SERVICE_PROTOCOL://$BLAZAR_SERVICE_HOST" service
    if [[ "$BLAZAR_USE_MOD_WSGI" == "True" ]]; then
        url="$url/reservation"
    else
        url="$url:$BLAZAR_SERVICE_PORT"
    fi
    service=$(get_or_create_service "warre" $_WARRE_BLAZAR_TYPE "Reservations of flavors")
    get_or_create_endpoint "$service" "$REGION_NAME" "$url/v2/warre"
}

# Register the limit of a resource. An existing limit is kept: a developer may have chosen it.
# _warre_blazar_register resource default
function _warre_blazar_register {
    local registered
    registered=$(openstack --os-cloud devstack-system-admin registered limit list \
        --service $_WARRE_BLAZAR_LIMITED --region "$REGION_NAME" --resource-name "$1" \
        -f value -c ID)
    if [[ -z "$registered" ]]; then
        openstack --os-cloud devstack-system-admin registered limit create \
            --service $_WARRE_BLAZAR_LIMITED --region "$REGION_NAME" --default-limit "$2" "$1"
    fi
}

# Configure how limits are read: for Blazar's public endpoint, with a system-scoped token.
function configure_warre_blazar_limits {
    iniset "$BLAZAR_CONF_FILE" oslo_limit auth_type password
    iniset "$BLAZAR_CONF_FILE" oslo_limit auth_url "$KEYSTONE_SERVICE_URI"
    iniset "$BLAZAR_CONF_FILE" oslo_limit username "$BLAZAR_USER_NAME"
    iniset "$BLAZAR_CONF_FILE" oslo_limit password "$SERVICE_PASSWORD"
    iniset "$BLAZAR_CONF_FILE" oslo_limit user_domain_id default
    iniset "$BLAZAR_CONF_FILE" oslo_limit system_scope all
    iniset "$BLAZAR_CONF_FILE" oslo_limit endpoint_service_type $_WARRE_BLAZAR_LIMITED
    iniset "$BLAZAR_CONF_FILE" oslo_limit endpoint_region_name "$REGION_NAME"
    iniset "$BLAZAR_CONF_FILE" oslo_limit endpoint_interface public
    get_or_add_user_system_role reader "$BLAZAR_USER_NAME" all default
    _warre_blazar_register reservation "$WARRE_BLAZAR_RESERVATIONS"
    _warre_blazar_register hours "$WARRE_BLAZAR_HOURS"
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

# Run the upgrade check. Warnings don't stop the stack: without hosts there is always one.
function check_warre_blazar {
    local status=0
    "$BLAZAR_BIN_DIR/warre-blazar-status" --config-file "$BLAZAR_CONF_FILE" upgrade check ||
        status=$?
    if [[ $status -ge 2 ]]; then
        die $LINENO "warre-blazar isn't set up right, see above"
    fi
}

if is_service_enabled blazar blazar-m blazar-a; then
    if [[ "$1" == "stack" && "$2" == "pre-install" ]]; then
        check_warre_blazar_order
    elif [[ "$1" == "stack" && "$2" == "install" ]]; then
        echo_summary "Installing warre-blazar"
        setup_develop "$WARRE_BLAZAR_DIR" server,cli
        if is_service_enabled horizon; then
            install_warre_blazar_pages
        fi
    elif [[ "$1" == "stack" && "$2" == "post-config" ]]; then
        echo_summary "Configuring warre-blazar"
        configure_warre_blazar
        init_warre_blazar
        create_warre_blazar_endpoint
        configure_warre_blazar_limits
        if [[ "$BLAZAR_USE_MOD_WSGI" == "True" ]]; then
            configure_warre_blazar_uwsgi
        fi
    elif [[ "$1" == "stack" && "$2" == "extra" && "$BLAZAR_USE_MOD_WSGI" != "True" ]]; then
        echo_summary "Starting warre-blazar-api"
        start_warre_blazar_api
    elif [[ "$1" == "stack" && "$2" == "test-config" ]]; then
        echo_summary "Checking warre-blazar"
        check_warre_blazar
    fi

    # Nothing is removed from Keystone and the database, which the next stack makes anew. blazar.conf
    # stays, and a Blazar without this package wouldn't start with our plugin.
    if [[ "$1" == "unstack" && -f "$BLAZAR_CONF_FILE" ]]; then
        echo_summary "Removing warre-blazar from blazar.conf"
        unconfigure_warre_blazar
    elif [[ "$1" == "clean" ]]; then
        echo_summary "Uninstalling warre-blazar"
        uninstall_warre_blazar
    fi
fi

$_XTRACE_WARRE_BLAZAR
