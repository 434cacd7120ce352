import type { PodSettings } from '@berth/kubernetes/pods/pod-manifest.ts'

/** Settings of pods for tests. */
export const podSettings = (changes: Partial<PodSettings> = {}): PodSettings => ({
  namespace: 'sandboxes',
  image: 'registry.test/agent:1',
  hostImage: 'registry.test/berth:1',
  hostsUrl: 'http://berth-hosts.berth.svc:4101',
  serviceAccount: 'berth-sandbox',
  runtimeClass: undefined,
  nodeSelector: {},
  pool: 'default',
  release: '1',
  bounds: { memoryBytes: 2 * 1024 ** 3, cpus: 1.5, diskBytes: 4 * 1024 ** 3 },
  ...changes,
})
