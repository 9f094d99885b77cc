# What the plugin uses of devstack, and of Blazar's plugin, after what devstack's documentation says
# of it. Programs and processes are only written down, in $CALLS.
# shellcheck shell=bash disable=SC2154

function _call {
    echo "$*" >>"$CALLS"
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

# iniset file section option value: the section is added when it isn't there.
function iniset {
    local file=$1 section=$2 option=$3 text
    shift 3
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

# get_or_create_endpoint service region publicurl: prints the id of the public one.
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

function setup_develop {
    _call setup_develop "$@"
}

function pip_uninstall {
    _call pip_uninstall "$@"
}

function start_blazar {
    _call start blazar-a
    _call start blazar-m
}

function stop_blazar {
    _call stop blazar-a
    _call stop blazar-m
}
