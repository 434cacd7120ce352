# Lists and checks the programs that Berth needs; changes nothing. The scripts in the parent folder source this file.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# System programs, each with its package (the names are the same for apt and dnf).
requirements=(bwrap:bubblewrap git:git setpriv:util-linux unshare:util-linux flock:util-linux prlimit:util-linux mount:mount)

# Further needs of the tests. A service needs the first three only to transcribe, and ssh-keygen or gpg only to sign commits.
# The packages are Debian's.
test_requirements=(
  ffmpeg:ffmpeg
  pocketsphinx_continuous:pocketsphinx
  /usr/share/pocketsphinx/model/en-us/en-us.lm.bin:pocketsphinx-en-us
  espeak-ng:espeak-ng
  strace:strace
  zsh:zsh
  fish:fish
  chromium-headless-shell:chromium-headless-shell
  chromium:chromium
  /usr/bin/python3:python3
  pgbouncer:pgbouncer
  curl:curl
  jq:jq
  openssl:openssl
  ssh-keygen:openssh-client
  gpg:gpg
  gpg-agent:gpg-agent
  podman:podman
  runc:runc
  /usr/lib/python3/dist-packages/requests:python3-requests
  /usr/lib/python3/dist-packages/httpx:python3-httpx
  go:golang-go
  java:default-jdk-headless
  mvn:maven
)

# Prints the packages of missing programs and files, each once. Arguments: requirements besides the common ones.
missing_packages() {
  local requirement
  for requirement in "${requirements[@]}" "$@"; do
    [ -e "${requirement%%:*}" ] || command -v "${requirement%%:*}" >/dev/null || echo "${requirement#*:}"
  done | sort -u
}

lock_checksum() {
  sha256sum <"$root/package-lock.json" | cut -d ' ' -f 1
}

# Succeeds if the npm packages match the lock file. A manual `npm ci` leaves no stamp; npm's own record tells then.
npm_packages_current() {
  local stamp=$root/node_modules/.berth-lock record=$root/node_modules/.package-lock.json
  if [ -f "$stamp" ]; then
    [ "$(cat "$stamp")" = "$(lock_checksum)" ]
  else
    [ -f "$record" ] && [ ! "$root/package-lock.json" -nt "$record" ]
  fi
}

# Node 24 comes with the npm packages; the system's own may be older.
use_packaged_node() {
  export PATH="$root/node_modules/.bin:$PATH"
}

node_is_current() {
  local major
  major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null) && [ "$major" -ge 24 ]
}
