# Installs what is missing. Sourced after requirements.sh by script/server and script/test.

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install_packages() {
  echo "installing $*" >&2
  if command -v apt-get >/dev/null; then
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null 2>&1 || {
      as_root apt-get update -qq
      as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
    }
  elif command -v dnf >/dev/null; then
    as_root dnf install -y -q "${@/#mount/util-linux}"
  else
    echo "missing: $*. Install them with the system's package manager." >&2
    return 1
  fi
}

install_npm_packages() {
  echo 'installing npm packages' >&2
  # Two runs at once would take one another's files away.
  (
    flock 9
    npm_packages_current && exit 0
    cd "$root" && npm ci && lock_checksum >node_modules/.berth-lock
  ) 9<"$root/package-lock.json" >&2
}

install_missing() {
  local packages
  mapfile -t packages < <(missing_packages "$@")
  command -v npm >/dev/null || packages+=(npm)
  if [ "${#packages[@]}" -gt 0 ]; then install_packages "${packages[@]}"; fi
  if ! npm_packages_current; then install_npm_packages; fi
}
