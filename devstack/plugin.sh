# Devstack plugin: warre-blazar in a devstack that runs Blazar.
#
# Needs Blazar's own plugin, enabled before this one: that one writes blazar.conf, makes the
# database and the accounts in the phase post-config, and starts the services in the phase extra.
# So all that is done here is done in install and post-config.

_XTRACE_WARRE_BLAZAR=$(set +o | grep xtrace)
set +o xtrace

# Add values to a list option of blazar.conf, those that it doesn't have yet.
function _warre_blazar_append {
    local section=$1
    local option=$2
    shift 2
    local list
    list=$(iniget $BLAZAR_CONF_FILE $section $option)
    local value
    for value in "$@"; do
        if [[ ",$list," != *",$value,"* ]]; then
            list="${list:+$list,}$value"
        fi
    done
    iniset $BLAZAR_CONF_FILE $section $option "$list"
}

# Let blazar-manager and blazar-api load what the package has.
function configure_warre_blazar {
    _warre_blazar_append manager plugins flavor.slot.plugin
    _warre_blazar_append api api_v2_controllers \
        flavors flavorprojects reservations maintenancewindows limits warre
    _warre_blazar_append enforcement enabled_filters FlavorMaxLengthFilter
}

# Our tables, in the database that Blazar's plugin has just made anew.
function init_warre_blazar {
    $BLAZAR_BIN_DIR/warre-blazar-manage --config-file $BLAZAR_CONF_FILE db upgrade
}

# The catalogue entry that Warre's clients look for.
function create_warre_blazar_endpoint {
    local url="$BLAZAR_SERVICE_PROTOCOL://$BLAZAR_SERVICE_HOST"
    if [[ "$BLAZAR_USE_MOD_WSGI" == "True" ]]; then
        url="$url/reservation"
    else
        url="$url:$BLAZAR_SERVICE_PORT"
    fi
    local service
    service=$(get_or_create_service "warre" "nectar-reservation" "Reservations of flavors")
    get_or_create_endpoint $service "$REGION_NAME" "$url/v2/warre"
}

# Limits hang on Blazar's public endpoint, and are read with a token for the system.
function configure_warre_blazar_limits {
    local cloud="--os-cloud devstack-system-admin"
    local endpoint
    endpoint=$(openstack $cloud endpoint list --service reservation --interface public \
        --region "$REGION_NAME" -f value -c ID)
    iniset $BLAZAR_CONF_FILE oslo_limit auth_type password
    iniset $BLAZAR_CONF_FILE oslo_limit auth_url $KEYSTONE_SERVICE_URI
    iniset $BLAZAR_CONF_FILE oslo_limit username $BLAZAR_USER_NAME
    iniset $BLAZAR_CONF_FILE oslo_limit password $SERVICE_PASSWORD
    iniset $BLAZAR_CONF_FILE oslo_limit user_domain_id default
    iniset $BLAZAR_CONF_FILE oslo_limit system_scope all
    iniset $BLAZAR_CONF_FILE oslo_limit endpoint_id $endpoint
    openstack $cloud role add --user $BLAZAR_USER_NAME --user-domain default --system all reader
    openstack $cloud registered limit create --service reservation --region "$REGION_NAME" \
        --default-limit $WARRE_BLAZAR_RESERVATIONS reservation
    openstack $cloud registered limit create --service reservation --region "$REGION_NAME" \
        --default-limit $WARRE_BLAZAR_HOURS hours
}

if is_service_enabled blazar blazar-m blazar-a; then
    if [[ "$1" == "stack" && "$2" == "install" ]]; then
        echo_summary "Installing warre-blazar"
        setup_develop $WARRE_BLAZAR_DIR cli
    elif [[ "$1" == "stack" && "$2" == "post-config" ]]; then
        echo_summary "Configuring warre-blazar"
        configure_warre_blazar
        init_warre_blazar
        create_warre_blazar_endpoint
        configure_warre_blazar_limits
    fi
fi

$_XTRACE_WARRE_BLAZAR
