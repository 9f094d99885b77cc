# Fakes of the functions of devstack that the plugin uses, and of Blazar's plugin. They do what the
# real ones do, but processes and sudo are only recorded, in $CALLS.
# shellcheck shell=bash disable=SC2154

function _call {
    echo "$*" >>"$CALLS"
}

# Used in the settings of plugins. Both only inform programs that write a local.conf.
function define_plugin {
    :
}

function plugin_requires {
    :
}

# The beginning of each script. stack.sh ends at the first failure, and removes the credentials from
# its environment; unstack.sh and clean.sh do neither.
# begin_script stack|unstack|clean
function begin_script {
    if [[ "$1" == stack ]]; then
        set -o errexit
        export OS_CLOUD=devstack-admin
    else
        openrc
    fi
}

# A developer's credentials for a project. The client reads them beside the cloud that --os-cloud
# names.
function openrc {
    export OS_AUTH_TYPE=password OS_AUTH_URL=$KEYSTONE_SERVICE_URI
    export OS_USERNAME=demo OS_PASSWORD=$SERVICE_PASSWORD OS_USER_DOMAIN_ID=default
    export OS_PROJECT_NAME=demo OS_PROJECT_DOMAIN_ID=default OS_REGION_NAME=$REGION_NAME
    export OS_IDENTITY_API_VERSION=3
}

function is_service_enabled {
    local service
    for service in "$@"; do
        if [[ ",$ENABLED_SERVICES," == *",$service,"* ]]; then
            return 0
        fi
    done
    return 1
}

function echo_summary {
    echo "$*"
}

function die {
    local line=$1
    shift
    echo "[ERROR] line $line: $*" >&2
    exit 1
}

# iniget file section option
function iniget {
    SECTION="[$2]" OPTION=$3 awk '
        /^\[/ { inside = ($0 == ENVIRON["SECTION"]) }
        inside && $1 == ENVIRON["OPTION"] && $2 == "=" { sub(/^[^=]*= */, ""); print; exit }
    ' "$1"
}

# inidelete file section option
function inidelete {
    local kept
    kept=$(SECTION="[$2]" OPTION=$3 awk '
        /^\[/ { inside = ($0 == ENVIRON["SECTION"]) }
        !(inside && $1 == ENVIRON["OPTION"] && $2 == "=")
    ' "$1")
    printf '%s\n' "$kept" >"$1"
}

# iniset file section option value: adds the section if it doesn't exist.
function iniset {
    local file=$1 section=$2 option=$3 text
    shift 3
    touch "$file"
    if ! grep -qxF "[$section]" "$file"; then
        printf '\n[%s]\n' "$section" >>"$file"
    fi
    text=$(SECTION="[$section]" OPTION=$option VALUE="$*" awk '
        function put() { print ENVIRON["OPTION"] " = " ENVIRON["VALUE"]; done = 1 }
        /^\[/ { inside = ($0 == ENVIRON["SECTION"]) }
        inside && $1 == ENVIRON["OPTION"] && $2 == "=" { if (!done) put(); next }
        { print }
        END { if (!done) exit 3 }
    ' "$file") || text=$(SECTION="[$section]" OPTION=$option VALUE="$*" awk '
        { print }
        $0 == ENVIRON["SECTION"] { print ENVIRON["OPTION"] " = " ENVIRON["VALUE"] }
    ' "$file")
    printf '%s\n' "$text" >"$file"
}

# get_or_create_service name type description: prints its id.
function get_or_create_service {
    openstack --os-cloud devstack-system-admin service show "$2" -f value -c id 2>/dev/null ||
        openstack --os-cloud devstack-system-admin service create "$2" --name "$1" \
            --description "$3" -f value -c id
}

# get_or_create_endpoint service region publicurl: prints the id of the public endpoint.
function get_or_create_endpoint {
    local found
    found=$(openstack --os-cloud devstack-system-admin endpoint list --service "$1" \
        --interface public --region "$2" -f value -c ID)
    if [[ -z "$found" ]]; then
        found=$(openstack --os-cloud devstack-system-admin endpoint create "$1" public "$3" \
            --region "$2" -f value -c id)
    fi
    echo "$found"
}

# pip_install words...: installs with the constraints of the release, as devstack always does.
function pip_install {
    local constraints=$REQUIREMENTS_DIR/upper-constraints.txt
    if [[ "$GLOBAL_VENV" == "True" ]]; then
        "$DEVSTACK_VENV/bin/pip" install -c "$constraints" "$@"
    else
        _call sudo -H pip install -c "$constraints" "$@"
    fi
}

# setup_develop directory extras: what is installed from a clone leaves the constraints first.
function setup_develop {
    local name
    name=$(awk '/^name.*=/ {print $3}' "$1/setup.cfg")
    sed -i "/^$name===/d" "$REQUIREMENTS_DIR/upper-constraints.txt"
    pip_install -e "$1[$2]"
}

# pip_uninstall name: uses the pip of $PIP_VIRTUAL_ENV if that is a directory, else the system's pip.
function pip_uninstall {
    if [[ -n "$PIP_VIRTUAL_ENV" && -d "$PIP_VIRTUAL_ENV" ]]; then
        "$PIP_VIRTUAL_ENV/bin/pip" uninstall -y "$1"
    else
        _call sudo -H pip uninstall -y "$1"
    fi
}

# run_process service command
function run_process {
    _call start "$1: $2"
}

# stop_process service
function stop_process {
    _call stop "$1"
}

# write_uwsgi_config file application: the application is a module and its name.
function write_uwsgi_config {
    rm -f "$1"
    iniset "$1" uwsgi module "$2"
    iniset "$1" uwsgi processes 2
}

# blazar_plugin phase: does what Blazar's own plugin does in one of devstack's phases.
function blazar_plugin {
    if ! is_service_enabled blazar-m blazar-a; then
        return 0
    fi
    case "$*" in
    "stack install")
        # The real plugin installs a clone of Blazar's master.
        pip_install blazar
        ;;
    "stack post-config")
        iniset "$BLAZAR_CONF_FILE" manager plugins \
            physical.host.plugin,virtual.instance.plugin,flavor.instance.plugin
        iniset "$BLAZAR_CONF_FILE" api api_v2_controllers oshosts,leases
        if [[ "$BLAZAR_USE_MOD_WSGI" == "True" ]]; then
            write_uwsgi_config "$BLAZAR_UWSGI_CONF" "$BLAZAR_UWSGI"
        fi
        "$BLAZAR_BIN_DIR/blazar-db-manage" --config-file "$BLAZAR_CONF_FILE" upgrade head
        ;;
    "stack extra")
        start_blazar
        ;;
    unstack)
        stop_blazar
        rm -f "$BLAZAR_UWSGI_CONF"
        ;;
    esac
}

# As the services start, they read their files.
function start_blazar {
    if [[ "$BLAZAR_USE_MOD_WSGI" == "True" ]]; then
        run_process blazar-a "uwsgi $(iniget "$BLAZAR_UWSGI_CONF" uwsgi module)"
    else
        run_process blazar-a "$BLAZAR_BIN_DIR/blazar-api --config-file $BLAZAR_CONF_FILE"
    fi
    run_process blazar-m "$BLAZAR_BIN_DIR/blazar-manager --config-file $BLAZAR_CONF_FILE"
    _call "blazar-m reads $(iniget "$BLAZAR_CONF_FILE" manager plugins)"
}

function stop_blazar {
    stop_process blazar-a
    stop_process blazar-m
}
