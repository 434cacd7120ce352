import { join } from 'node:path'

/** The address of the node, and so of whatever the tests serve to pods. */
export const NODE_ADDRESS = '10.88.0.1'
export const BRIDGE = 'berth0'
export const API = 'https://127.0.0.1:6443'
export const ETCD = 'http://127.0.0.1:2379'
/** Holds the containers of a pod together. */
export const PAUSE_IMAGE = 'localhost/berth-pause:1'

/** Where a run has its files. */
export interface Places {
  /** The programs of the cluster. */
  readonly programs: string
  /** A directory of this run, which is removed with it. */
  readonly directory: string
  /** The cgroup of the kubelet's pods. */
  readonly group: string
}

/** Returns containerd's configuration. */
export function containerdConfiguration({ programs, directory }: Places): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"'
  return `version = 2
root = "${directory}/containerd"
state = "/run/containerd/state"
[grpc]
address = "/run/containerd/socket"
[${cri}]
sandbox_image = "${PAUSE_IMAGE}"
# Nobody here may lower it.
restrict_oom_score_adj = true
disable_apparmor = true
disable_tcp_service = true
[${cri}.cni]
bin_dir = "${programs}"
conf_dir = "${directory}/cni"
[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[${cri}.containerd.runtimes.runc.options]
BinaryName = "${programs}/runc"
`
}

/** Returns the network of pods: a bridge without a way out. */
export const networkConfiguration = ({ directory }: Places): object => ({
  cniVersion: '0.4.0',
  name: 'berth',
  plugins: [
    {
      type: 'bridge',
      bridge: BRIDGE,
      isGateway: false,
      ipam: {
        type: 'host-local',
        dataDir: join(directory, 'addresses'),
        ranges: [[{ subnet: '10.88.0.0/16', rangeStart: '10.88.1.1' }]],
      },
    },
  ],
})

/** Returns the kubelet's configuration. */
export const kubeletConfiguration = ({ group }: Places): object => ({
  kind: 'KubeletConfiguration',
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  address: '127.0.0.1',
  readOnlyPort: 0,
  authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  cgroupDriver: 'cgroupfs',
  cgroupRoot: `/${group}`,
  enforceNodeAllocatable: [],
  // A disk that others fill is not this cluster's.
  evictionHard: {},
  imageGCHighThresholdPercent: 100,
  failSwapOn: false,
  oomScoreAdj: 0,
  maxPods: 100,
  podPidsLimit: 400,
  resolvConf: '',
  // Sandboxes that exceed their disk are to be evicted soon.
  volumeStatsAggPeriod: '1s',
  featureGates: { DevicePlugins: false, KubeletPodResources: false },
})

/** Returns the configuration of a client of the API server. */
export const clientConfiguration = (token: string, authority: string): object => ({
  kind: 'Config',
  apiVersion: 'v1',
  clusters: [{ name: 'c', cluster: { server: API, 'certificate-authority': authority } }],
  users: [{ name: 'u', user: { token } }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'x',
})
