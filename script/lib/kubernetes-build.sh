#!/usr/bin/env bash
# Builds what a Kubernetes cluster consists of, from packages and one source package of Debian 12, into a directory. Installs nothing.
#
#   script/lib/kubernetes-build.sh <directory>
#
# No package has the servers of Kubernetes, but Debian 12's source package `kubernetes` is the whole upstream tree with its vendored
# modules. `make` builds it without any download. The directory appears whole or not at all.
set -euo pipefail

readonly directory=$1
# Each program of the cluster, with the packages in which Debian has it.
readonly packages=(etcd-server containerd runc containernetworking-plugins catatonit)
readonly builders=(golang-1.19-go golang-1.19-src rsync libpopt0 libxxhash0)
readonly servers=(kube-apiserver kube-controller-manager kube-scheduler kubelet)

readonly parent=${directory%/*}
mkdir -p "$parent"
# One build at a time: another run waits, and then finds the directory.
exec 9>"$parent/lock"
flock 9
[ -d "$directory" ] && exit 0
readonly place=$parent/build
rm -rf "$place"
mkdir -p "$place"/{lists/partial,archives/partial,packages,root,result}
trap 'chmod -R u+w "$place"; rm -rf "$place"' EXIT

# This machine's own mirror of Debian 12. Neither apt's lists nor the installed packages of the machine change.
site=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' | sed -n 's/ bookworm$//p' | head -n 1)
[ -n "$site" ] || {
  echo "$0: apt on this machine has no sources of Debian 12 (bookworm)" >&2
  exit 1
}
printf '%s [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s bookworm main\n' deb "$site" deb-src "$site" >"$place/sources.list"
apt() {
  apt-get -qq -o Dir::Etc::SourceList="$place/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$place/lists" \
    -o Dir::Cache="$place" -o APT::Sandbox::User=root "$@"
}
apt update
(cd "$place/packages" && apt download "${packages[@]}" "${builders[@]}" && apt source --download-only kubernetes)
for archive in "$place"/packages/*.deb; do dpkg-deb -x "$archive" "$place/root"; done
mkdir "$place/source"
tar -xzf "$place"/packages/kubernetes_*.orig.tar.gz -C "$place/source" --strip-components 1

cd "$place/source"
# This tree is older than Go 1.19, whose iterator of maps takes a third argument. Without it the API server dies of the first
# object of a custom resource.
maps=vendor/github.com/modern-go/reflect2
sed -i -e 's/^func mapiterinit(.*$/func mapiterinit(rtype unsafe.Pointer, m unsafe.Pointer, it *hiter)/' $maps/unsafe_link.go
sed -i -e 's/mapiterinit(\(.*\)),$/iterated(\1),/' $maps/unsafe_map.go
cat >$maps/hiter.go <<'END'
package reflect2

import "unsafe"

// Has the layout of the runtime's own.
type hiter struct {
	key, value                                  unsafe.Pointer
	t, h, buckets, bptr, overflow, oldoverflow unsafe.Pointer
	startBucket                                 uintptr
	offset, wrapped, b, i                       uint8
	bucket, checkBucket                         uintptr
}

func iterated(rtype unsafe.Pointer, m unsafe.Pointer) *hiter {
	it := new(hiter)
	mapiterinit(rtype, m, it)
	return it
}
END
perl -0pi -e 's/type hiter struct \{.*?\n\}\n//s' $maps/unsafe_link.go
mkdir -p .go/src/k8s.io
ln -s ../../.. .go/src/k8s.io/kubernetes
export GOROOT=$place/root/usr/lib/go-1.19 GOPATH=$place/source/.go GOCACHE=$place/cache
export GO111MODULE=off GOFLAGS='' GOLDFLAGS='-s -w' CGO_ENABLED=0 PATH=$place/root/usr/lib/go-1.19/bin:$place/root/usr/bin:$PATH
# rsync, by which the build copies its generators, and its libraries.
LD_LIBRARY_PATH=$(echo "$place"/root/usr/lib/*-linux-gnu)
export LD_LIBRARY_PATH
export KUBE_GIT_VERSION=v1.20.2 KUBE_GIT_TREE_STATE=archive KUBE_GIT_COMMIT=none KUBE_GIT_MAJOR=1 KUBE_GIT_MINOR=20
# An apiserver alone takes 3 GiB to build; two linkers at once would take more.
for server in "${servers[@]}"; do make WHAT="cmd/$server"; done
for server in "${servers[@]}"; do cp "_output/local/go/bin/$server" "$place/result"; done
cp "$place"/root/usr/bin/{etcd,containerd,containerd-shim-runc-v2,ctr,catatonit} "$place"/root/usr/sbin/runc "$place/result"
cp "$place"/root/usr/lib/cni/{bridge,host-local,loopback} "$place/result"
# The packages that were used, for whoever asks what runs here.
(cd "$place/packages" && ls) >"$place/result/packages"
mv "$place/result" "$directory"
