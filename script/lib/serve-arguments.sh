# The service has settings but no arguments. script/server and script/run source this file.

# Ends the script on any argument, before it does anything: with the usage, and with success only for --help and --version.
# Arguments: the script's name, then its arguments.
take_no_arguments() {
  local name=$1 argument=${2-}
  local usage="usage: $name
Serves Berth. It takes no arguments: settings are environment variables (docs/settings.md), such as BERTH_PORT=4200."
  case "$argument" in
    '') [ "$#" -lt 2 ] || { printf '%s\n' "$usage" >&2 && exit 2; } ;;
    --version) sed -n 's/^  "version": "\(.*\)",$/\1/p' "$root/package.json" && exit 0 ;;
    -h | --help) printf '%s\n' "$usage" && exit 0 ;;
    *) printf '%s: unknown argument %s\n%s\n' "$name" "$argument" "$usage" >&2 && exit 2 ;;
  esac
}
