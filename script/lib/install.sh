# Installs missing packages. script/server and script/test source it after requirements.sh.

# Runs a command as root. Without a terminal, sudo must not ask for a password, because nobody could type it.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

# Prints the command that an administrator must run. Arguments: the reason, then the command.
ask_to_install() {
  local reason=$1
  shift
  echo "missing system packages, and $reason. Run as root, then start again: $*" >&2
  return 1
}

install_packages() {
  local install
  if command -v apt-get >/dev/null; then
    install=(apt-get install -y "$@")
  elif command -v dnf >/dev/null; then
    # Here `mount` is part of util-linux.
    install=(dnf install -y "${@/#mount/util-linux}")
  else
    echo "missing system packages: $*. Install them with the system's package manager, then start again." >&2
    return 1
  fi
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || ask_to_install 'there is no sudo to install them with' "${install[@]}" || return
    as_root true || ask_to_install 'sudo does not let this user install them' "${install[@]}" || return
  fi
  echo "installing the system packages $* with ${install[0]}, which takes up to a minute" >&2
  local begun=$SECONDS
  case "${install[0]}" in
    apt-get)
      as_root env DEBIAN_FRONTEND=noninteractive "${install[@]}" -qq >/dev/null 2>&1 || {
        as_root apt-get update -qq
        as_root env DEBIAN_FRONTEND=noninteractive "${install[@]}" -qq >/dev/null
      }
      ;;
    dnf) as_root "${install[@]}" -q ;;
  esac || ask_to_install 'they could not be installed' "${install[@]}" || return
  echo "installed them in $((SECONDS - begun)) s" >&2
}

install_npm_packages() {
  echo "installing npm packages into $root/node_modules, which takes a minute or two" >&2
  local begun=$SECONDS
  # Two concurrent runs would delete each other's files.
  (
    flock 9
    npm_packages_current && exit 0
    cd "$root" && npm ci && lock_checksum >node_modules/.berth-lock
  ) 9<"$root/package-lock.json" >&2 || return
  echo "installed them in $((SECONDS - begun)) s" >&2
}

install_missing() {
  local packages
  mapfile -t packages < <(missing_packages "$@")
  command -v npm >/dev/null || packages+=(npm)
  if [ "${#packages[@]}" -gt 0 ]; then install_packages "${packages[@]}"; fi
  if ! npm_packages_current; then install_npm_packages; fi
}
