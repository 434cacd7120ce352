# What Berth needs on a machine, and whether it is there. Sourced by the scripts beside this folder; changes nothing.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# Programs of the system, each with the package that brings it (the names are the same for apt and dnf).
requirements=(bwrap:bubblewrap git:git setpriv:util-linux unshare:util-linux flock:util-linux prlimit:util-linux mount:mount)

# What the tests need besides; a service needs the first three only to transcribe. The packages are Debian's.
test_requirements=(
  ffmpeg:ffmpeg
  pocketsphinx_continuous:pocketsphinx
  /usr/share/pocketsphinx/model/en-us/en-us.lm.bin:pocketsphinx-en-us
  espeak-ng:espeak-ng
  strace:strace
  chromium:chromium
  /usr/bin/python3:python3
  pgbouncer:pgbouncer
)

# Packages of the programs and files that are missing, each once. Arguments: requirements beside those of everybody.
missing_packages() {
  local requirement
  for requirement in "${requirements[@]}" "$@"; do
    [ -e "${requirement%%:*}" ] || command -v "${requirement%%:*}" >/dev/null || echo "${requirement#*:}"
  done | sort -u
}

lock_checksum() {
  sha256sum <"$root/package-lock.json" | cut -d ' ' -f 1
}

# The npm packages are those of the lock file. One who ran `npm ci` by hand left no stamp, and npm's own record tells.
npm_packages_current() {
  local stamp=$root/node_modules/.berth-lock record=$root/node_modules/.package-lock.json
  if [ -f "$stamp" ]; then
    [ "$(cat "$stamp")" = "$(lock_checksum)" ]
  else
    [ -f "$record" ] && [ ! "$root/package-lock.json" -nt "$record" ]
  fi
}

# Node 24 comes with the npm packages; a system's own may be older.
use_packaged_node() {
  export PATH="$root/node_modules/.bin:$PATH"
}

node_is_current() {
  local major
  major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null) && [ "$major" -ge 24 ]
}
