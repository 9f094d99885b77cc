#!/usr/bin/env bash
# Devstack plugin that adds warre-blazar to a devstack that runs Blazar.
#
# Blazar's own plugin writes blazar.conf and makes the database anew in the phase post-config, and
# starts its services in the phase extra. This plugin does all of its work in extra and then
# restarts Blazar, so that the two plugins can be enabled in any order. There is one exception: if
# Blazar runs without uWSGI, its plugin must be enabled first, because it would start its blazar-api
# in place of ours. Running a phase again changes nothing.
#
# devstack sources this file, so that the functions of devstack and of Blazar's plugin can be used.
# shellcheck disable=SC2154

_XTRACE_WARRE_BLAZAR=$(set +o | grep xtrace)
set +o xtrace

# The name of the clone's directory is the name that local.conf gives the plugin.
WARRE_BLAZAR_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# The application that blazar-api serves: Blazar's own, behind the middleware of this package.
WARRE_BLAZAR_APPLICATION=warre_blazar.wsgi.api:application
WARRE_BLAZAR_PLUGINS=(flavor.slot.plugin)
WARRE_BLAZAR_CONTROLLERS=(flavors flavorprojects reservations maintenancewindows limits warre)
WARRE_BLAZAR_FILTERS=(StrictLeaseFilter FlavorMaxLengthFilter ProjectQuotaFilter)
# The service types of Blazar's API, to which limits belong, and of what Warre's clients look for.
_WARRE_BLAZAR_LIMITED=reservation
_WARRE_BLAZAR_TYPE=nectar-reservation

# Run the openstack command as the system's administrator. unstack.sh and clean.sh source openrc,
# which exports a project's credentials. The client would mix these with those of --os-cloud.
function _warre_blazar_openstack {
    (
        for name in "${!OS_@}"; do
            if [[ "$name" != OS_CLIENT_CONFIG_FILE ]]; then
                unset "$name"
            fi
        done
        openstack --os-cloud devstack-system-admin "$@"
    )
}

# Print the ids of the services of a type.
# _warre_blazar_services type
function _warre_blazar_services {
    local listed
    listed=$(_warre_blazar_openstack service list -f value -c ID -c Type) || return
    awk -v type="$1" '$2 == type { print $1 }' <<<"$listed"
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

# Make blazar-manager and blazar-api load the package's plugin, controllers and filters.
function configure_warre_blazar {
    _warre_blazar_add manager plugins "${WARRE_BLAZAR_PLUGINS[@]}"
    _warre_blazar_add api api_v2_controllers "${WARRE_BLAZAR_CONTROLLERS[@]}"
    _warre_blazar_add enforcement enabled_filters "${WARRE_BLAZAR_FILTERS[@]}"
}

function unconfigure_warre_blazar {
    _warre_blazar_drop manager plugins "${WARRE_BLAZAR_PLUGINS[@]}"
    _warre_blazar_drop api api_v2_controllers "${WARRE_BLAZAR_CONTROLLERS[@]}"
    _warre_blazar_drop enforcement enabled_filters "${WARRE_BLAZAR_FILTERS[@]}"
    local option
    for option in auth_type auth_url username password user_domain_id system_scope endpoint_id; do
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

# Delete this region's catalog entry, and the service if no other region has an endpoint of it.
function delete_warre_blazar_endpoint {
    local services service endpoints endpoint
    services=$(_warre_blazar_services $_WARRE_BLAZAR_TYPE) || return
    for service in $services; do
        endpoints=$(_warre_blazar_openstack endpoint list --service "$service" \
            --region "$REGION_NAME" -f value -c ID) || return
        for endpoint in $endpoints; do
            _warre_blazar_openstack endpoint delete "$endpoint" || return
        done
        endpoints=$(_warre_blazar_openstack endpoint list --service "$service" \
            -f value -c ID) || return
        if [[ -z "$endpoints" ]]; then
            _warre_blazar_openstack service delete "$service" || return
        fi
    done
}

# Print the id of this region's registered limit of a resource, if there is one.
function _warre_blazar_registered {
    _warre_blazar_openstack registered limit list --service $_WARRE_BLAZAR_LIMITED \
        --region "$REGION_NAME" --resource-name "$1" -f value -c ID
}

# Register the limit of a resource. An existing limit is kept: a developer may have chosen it.
# _warre_blazar_register resource default
function _warre_blazar_register {
    local registered
    registered=$(_warre_blazar_registered "$1") || return
    if [[ -z "$registered" ]]; then
        _warre_blazar_openstack registered limit create --service $_WARRE_BLAZAR_LIMITED \
            --region "$REGION_NAME" --default-limit "$2" "$1"
    fi
}

# Print the ids of the limits that projects have for a resource in this region. All limits are
# listed, because python-openstackclient 9.0 to 10.2 can't list those of one service.
# _warre_blazar_project_limits resource
function _warre_blazar_project_limits {
    local services listed
    services=$(_warre_blazar_services $_WARRE_BLAZAR_LIMITED) || return
    listed=$(_warre_blazar_openstack limit list -f value -c ID -c "Service ID" \
        -c "Resource Name" -c "Region ID") || return
    awk -v services="${services//$'\n'/ }" -v resource="$1" -v region="$REGION_NAME" '
        BEGIN { count = split(services, ids); for (i = 1; i <= count; i++) limited[ids[i]] }
        $2 in limited && $3 == resource && $4 == region { print $1 }
    ' <<<"$listed"
}

# Delete a registered limit. The projects' limits go first: Keystone refuses while there are any.
# _warre_blazar_unregister resource
function _warre_blazar_unregister {
    local limits limit
    limits=$(_warre_blazar_project_limits "$1") || return
    for limit in $limits; do
        _warre_blazar_openstack limit delete "$limit" || return
    done
    limits=$(_warre_blazar_registered "$1") || return
    for limit in $limits; do
        _warre_blazar_openstack registered limit delete "$limit" || return
    done
}

# Configure how limits are read: for Blazar's public endpoint, with a system-scoped token.
function configure_warre_blazar_limits {
    local endpoint
    endpoint=$(_warre_blazar_openstack endpoint list --service $_WARRE_BLAZAR_LIMITED \
        --interface public --region "$REGION_NAME" -f value -c ID)
    iniset "$BLAZAR_CONF_FILE" oslo_limit auth_type password
    iniset "$BLAZAR_CONF_FILE" oslo_limit auth_url "$KEYSTONE_SERVICE_URI"
    iniset "$BLAZAR_CONF_FILE" oslo_limit username "$BLAZAR_USER_NAME"
    iniset "$BLAZAR_CONF_FILE" oslo_limit password "$SERVICE_PASSWORD"
    iniset "$BLAZAR_CONF_FILE" oslo_limit user_domain_id default
    iniset "$BLAZAR_CONF_FILE" oslo_limit system_scope all
    iniset "$BLAZAR_CONF_FILE" oslo_limit endpoint_id "$endpoint"
    _warre_blazar_openstack role add --user "$BLAZAR_USER_NAME" --user-domain default \
        --system all reader
    _warre_blazar_register reservation "$WARRE_BLAZAR_RESERVATIONS"
    _warre_blazar_register hours "$WARRE_BLAZAR_HOURS"
}

function delete_warre_blazar_limits {
    local roles
    _warre_blazar_unregister reservation || return
    _warre_blazar_unregister hours || return
    roles=$(_warre_blazar_openstack role assignment list --user "$BLAZAR_USER_NAME" \
        --user-domain default --system all --role reader -f value -c Role) || return
    if [[ -n "$roles" ]]; then
        _warre_blazar_openstack role remove --user "$BLAZAR_USER_NAME" --user-domain default \
            --system all reader
    fi
}

# Set the application of the API in uWSGI's file, which Blazar's plugin has written. The file is
# missing if Blazar's plugin runs blazar-api without uWSGI, or has removed the file in unstack.
# _warre_blazar_serve application
function _warre_blazar_serve {
    if [[ ! -f "$BLAZAR_UWSGI_CONF" ]]; then
        return
    fi
    if [[ "$1" == *:* ]]; then
        inidelete "$BLAZAR_UWSGI_CONF" uwsgi wsgi-file
        iniset "$BLAZAR_UWSGI_CONF" uwsgi module "$1"
    else
        inidelete "$BLAZAR_UWSGI_CONF" uwsgi module
        iniset "$BLAZAR_UWSGI_CONF" uwsgi wsgi-file "$1"
    fi
    if [[ "$1" == warre_blazar.* ]]; then
        # Without it, Apache may answer 503 to a request that is refused while its body is sent.
        iniset "$BLAZAR_UWSGI_CONF" uwsgi post-buffering 65535
        # While requests wait for a manager, other threads answer the others.
        iniset "$BLAZAR_UWSGI_CONF" uwsgi threads 16
    else
        inidelete "$BLAZAR_UWSGI_CONF" uwsgi post-buffering
        inidelete "$BLAZAR_UWSGI_CONF" uwsgi threads
    fi
}

# Restart Blazar's services with the functions of Blazar's plugin. Without uWSGI, that plugin runs
# blazar-api, which doesn't serve our application, and which in Blazar 18 ends at once.
function restart_warre_blazar {
    stop_blazar
    start_blazar
    if [[ "$BLAZAR_USE_MOD_WSGI" != "True" ]]; then
        stop_process blazar-a
        run_process blazar-a "$BLAZAR_BIN_DIR/warre-blazar-api --config-file $BLAZAR_CONF_FILE"
    fi
}

# Uninstall the package from devstack's environment, which pip_uninstall doesn't find by itself.
function uninstall_warre_blazar {
    if [[ "$GLOBAL_VENV" != "True" ]]; then
        pip_uninstall warre-blazar
    elif [[ -d "$DEVSTACK_VENV" ]]; then
        PIP_VIRTUAL_ENV=$DEVSTACK_VENV pip_uninstall warre-blazar
    fi
}

# Print that limits or endpoint may be left in Keystone.
# _warre_blazar_left_over what
function _warre_blazar_left_over {
    echo "warre-blazar: its $1 may still be in Keystone, see above; stack.sh makes Keystone anew"
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
    if [[ "$1" == "stack" && "$2" == "install" ]]; then
        echo_summary "Installing warre-blazar"
        setup_develop "$WARRE_BLAZAR_DIR" cli
    elif [[ "$1" == "stack" && "$2" == "extra" ]]; then
        echo_summary "Configuring warre-blazar"
        configure_warre_blazar
        init_warre_blazar
        create_warre_blazar_endpoint
        configure_warre_blazar_limits
        _warre_blazar_serve $WARRE_BLAZAR_APPLICATION
        restart_warre_blazar
    elif [[ "$1" == "stack" && "$2" == "test-config" ]]; then
        echo_summary "Checking warre-blazar"
        check_warre_blazar
    fi

    # Keystone and the database still run in unstack. Nothing is removed from the database, because
    # Blazar's plugin makes it anew in the next stack, and clean.sh removes it with its server.
    if [[ "$1" == "unstack" ]]; then
        echo_summary "Removing warre-blazar from Blazar"
        delete_warre_blazar_limits || _warre_blazar_left_over limits
        delete_warre_blazar_endpoint || _warre_blazar_left_over endpoint
        _warre_blazar_serve "$BLAZAR_UWSGI"
        if [[ -f "$BLAZAR_CONF_FILE" ]]; then
            unconfigure_warre_blazar
        fi
    elif [[ "$1" == "clean" ]]; then
        echo_summary "Uninstalling warre-blazar"
        uninstall_warre_blazar
    fi
fi

$_XTRACE_WARRE_BLAZAR
