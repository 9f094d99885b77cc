#!/usr/bin/env bash
# Devstack plugin: warre-blazar in a devstack that runs Blazar.
#
# Blazar's own plugin writes blazar.conf and makes the database anew in the phase post-config, and
# starts its services in extra. All that is done here is done in extra, after which Blazar is
# started again: so it holds in whatever order the two plugins are enabled. Each phase can be run
# again, and changes nothing then.
#
# devstack sources this file; what it and Blazar's plugin define is there.
# shellcheck disable=SC2154

_XTRACE_WARRE_BLAZAR=$(set +o | grep xtrace)
set +o xtrace

WARRE_BLAZAR_PLUGINS=(flavor.slot.plugin)
WARRE_BLAZAR_CONTROLLERS=(flavors flavorprojects reservations maintenancewindows limits warre)
WARRE_BLAZAR_FILTERS=(FlavorMaxLengthFilter ProjectQuotaFilter)
# The service types of Blazar's API, which limits hang on, and of what Warre's clients look for.
_WARRE_BLAZAR_LIMITED=reservation
_WARRE_BLAZAR_TYPE=nectar-reservation

function _warre_blazar_openstack {
    openstack --os-cloud devstack-system-admin "$@"
}

# Add values to a list option of blazar.conf, those that it doesn't have yet.
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

# Take values out of a list option of blazar.conf, and the option too where nothing is left.
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

# Let blazar-manager and blazar-api load what the package has.
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

# Our tables, in the database that Blazar's plugin has made.
function init_warre_blazar {
    "$BLAZAR_BIN_DIR/warre-blazar-manage" --config-file "$BLAZAR_CONF_FILE" db upgrade
}

# The catalogue entry that Warre's clients look for.
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

# This region's entry; the service too when no other region has one.
function delete_warre_blazar_endpoint {
    local service id
    service=$(_warre_blazar_openstack service list -f value -c ID -c Type |
        awk -v type=$_WARRE_BLAZAR_TYPE '$2 == type { print $1 }')
    if [[ -z "$service" ]]; then
        return
    fi
    for id in $(_warre_blazar_openstack endpoint list --service "$service" \
            --region "$REGION_NAME" -f value -c ID); do
        _warre_blazar_openstack endpoint delete "$id"
    done
    if [[ -z $(_warre_blazar_openstack endpoint list --service "$service" -f value -c ID) ]]; then
        _warre_blazar_openstack service delete "$service"
    fi
}

# The id of this region's registered limit of a resource, if it has one.
function _warre_blazar_registered {
    _warre_blazar_openstack registered limit list --service $_WARRE_BLAZAR_LIMITED \
        --region "$REGION_NAME" --resource-name "$1" -f value -c ID
}

# Register the limit of a resource, unless it is: what it is now may be a developer's wish.
# _warre_blazar_register resource default
function _warre_blazar_register {
    if [[ -z $(_warre_blazar_registered "$1") ]]; then
        _warre_blazar_openstack registered limit create --service $_WARRE_BLAZAR_LIMITED \
            --region "$REGION_NAME" --default-limit "$2" "$1"
    fi
}

# Take back a registered limit, which Keystone refuses while projects have limits of their own.
function _warre_blazar_unregister {
    local id
    for id in $(_warre_blazar_openstack limit list --service $_WARRE_BLAZAR_LIMITED \
            --region "$REGION_NAME" --resource-name "$1" -f value -c ID); do
        _warre_blazar_openstack limit delete "$id"
    done
    for id in $(_warre_blazar_registered "$1"); do
        _warre_blazar_openstack registered limit delete "$id"
    done
}

# Limits hang on Blazar's public endpoint, and are read with a token for the system.
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
    _warre_blazar_unregister reservation
    _warre_blazar_unregister hours
    if [[ -n $(_warre_blazar_openstack role assignment list --user "$BLAZAR_USER_NAME" \
            --user-domain default --system all --role reader -f value -c Role) ]]; then
        _warre_blazar_openstack role remove --user "$BLAZAR_USER_NAME" --user-domain default \
            --system all reader
    fi
}

# Blazar's own plugin knows how its services run.
function restart_warre_blazar {
    stop_blazar
    start_blazar
}

# Warnings are for a person to read: there are no hosts yet.
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
        restart_warre_blazar
    elif [[ "$1" == "stack" && "$2" == "test-config" ]]; then
        echo_summary "Checking warre-blazar"
        check_warre_blazar
    fi

    # By then Keystone or the database may be away, and what is theirs gone with them.
    if [[ "$1" == "unstack" ]]; then
        echo_summary "Taking warre-blazar out of Blazar"
        delete_warre_blazar_limits || echo "warre-blazar: its limits may still be in Keystone"
        delete_warre_blazar_endpoint || echo "warre-blazar: its endpoint may still be in Keystone"
        if [[ -f "$BLAZAR_CONF_FILE" ]]; then
            unconfigure_warre_blazar
        fi
    elif [[ "$1" == "clean" ]]; then
        echo_summary "Removing warre-blazar"
        if [[ -x "$BLAZAR_BIN_DIR/warre-blazar-manage" && -f "$BLAZAR_CONF_FILE" ]]; then
            "$BLAZAR_BIN_DIR/warre-blazar-manage" --config-file "$BLAZAR_CONF_FILE" \
                db downgrade base || echo "warre-blazar: its tables may still be there"
        fi
        pip_uninstall warre-blazar
    fi
fi

$_XTRACE_WARRE_BLAZAR
