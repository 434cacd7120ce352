import { createHash } from 'node:crypto'
import { TEMPLATE_LABEL } from './plan.ts'

/** Whose pods they are. Both are labels of each pod, and what the pods are found by. */
export interface PodOwner {
  /** Of the database, so that no two services ever take each other's pods for their own. */
  readonly deployment: string
  readonly instance: string
}

/** What the operator decides of pods. */
export interface PodSettings {
  readonly namespace: string
  /** The image of sandboxes. */
  readonly image: string
  /** The image of this service, whose `berth host` dials. */
  readonly hostImage: string
  readonly hostsUrl: string
  readonly serviceAccount: string
  readonly runtimeClass: string | undefined
  readonly nodeSelector: Readonly<Record<string, string>>
  readonly pool: string
  /** Of the service; a host says which it has. */
  readonly release: string | undefined
  readonly bounds: {
    readonly memoryBytes: number
    readonly cpus: number
    readonly diskBytes: number
  }
}

/** The audience of the tokens that pods prove themselves with. No API server takes them for its own. */
export const AUDIENCE = 'berth'
export const DEPLOYMENT_LABEL = 'berth.dev/deployment'
export const INSTANCE_LABEL = 'berth.dev/instance'
/** What network policies find sandboxes by. */
const COMPONENT = { 'app.kubernetes.io/component': 'sandbox' }
const TOKEN_SECONDS = 3600
/**
 * Apart from each other, so that nothing in the sandbox reads the host's token or writes its volumes. The container `files`
 * works at the sandbox's files as their owner, in a container of its own because the sandbox's programs are of that user.
 */
const uids = { host: 10_001, agent: 10_002 }
const mebibyte = 1024 ** 2
const gibibyte = 1024 ** 3
/** Raise it with every change of `podSpec`, so that pods of the release before are replaced. */
const LAYOUT = 4

/** Returns the selector that finds the pods of an owner and no others. */
export const selectorOf = ({ deployment, instance }: PodOwner): string =>
  `${DEPLOYMENT_LABEL}=${deployment},${INSTANCE_LABEL}=${instance}`

/** A manifest for any number of pods. Its name is a digest, so that a pod tells whether it is of today's settings. */
export interface PodTemplate {
  readonly name: string
  /** @param address of the hosts' endpoint, since a pod can ask no name server */
  manifest(address: string): object
}

/** Returns the manifest of pods, which the `restricted` profile of the Pod Security Standards admits. */
export function podTemplate(owner: PodOwner, settings: PodSettings): PodTemplate {
  const name = createHash('sha256')
    .update(JSON.stringify([LAYOUT, settings]))
    .digest('hex')
    .slice(0, 16)
  const labels = {
    ...COMPONENT,
    [DEPLOYMENT_LABEL]: owner.deployment,
    [INSTANCE_LABEL]: owner.instance,
    [TEMPLATE_LABEL]: name,
  }
  return {
    name,
    manifest: address => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { generateName: `berth-${owner.instance}-`, namespace: settings.namespace, labels },
      spec: podSpec(settings, address),
    }),
  }
}

function podSpec(settings: PodSettings, address: string): object {
  const { hostsUrl, runtimeClass, nodeSelector, serviceAccount, bounds } = settings
  const diskMebibytes = Math.ceil(bounds.diskBytes / mebibyte)
  return {
    automountServiceAccountToken: false,
    hostname: 'berth',
    enableServiceLinks: false,
    serviceAccountName: serviceAccount,
    restartPolicy: 'OnFailure',
    // The first process of a container hears no signal that it does not handle, so most of this is waited for.
    terminationGracePeriodSeconds: 5,
    ...(runtimeClass !== undefined && { runtimeClassName: runtimeClass }),
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
    // No name server: the only name that a pod needs stands in its file of hosts.
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['127.0.0.1'] },
    hostAliases: [{ ip: address, hostnames: [new URL(hostsUrl).hostname] }],
    securityContext: {
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [hostContainer(settings), agentContainer(settings), filesContainer(settings)],
    volumes: [
      { name: 'host', emptyDir: { sizeLimit: '1024Mi' } },
      // Sockets alone.
      { name: 'line', emptyDir: { sizeLimit: '16Mi' } },
      { name: 'files-line', emptyDir: { sizeLimit: '16Mi' } },
      { name: 'platform', emptyDir: { sizeLimit: '1024Mi' } },
      { name: 'shown', emptyDir: { sizeLimit: `${diskMebibytes}Mi` } },
      { name: 'workspace', emptyDir: { sizeLimit: `${diskMebibytes}Mi` } },
      { name: 'home', emptyDir: { sizeLimit: `${diskMebibytes}Mi` } },
      { name: 'tmp', emptyDir: { sizeLimit: `${diskMebibytes}Mi` } },
      { name: 'scratch', emptyDir: { sizeLimit: `${diskMebibytes}Mi` } },
      { name: 'baselines', emptyDir: { sizeLimit: '1024Mi' } },
      {
        name: 'token',
        projected: {
          // For the user of the container that mounts it; no other has it.
          defaultMode: 0o444,
          sources: [{ serviceAccountToken: { audience: AUDIENCE, expirationSeconds: TOKEN_SECONDS, path: 'token' } }],
        },
      },
    ],
  }
}

const confined = (uid: number) => ({
  runAsUser: uid,
  runAsGroup: uid,
  runAsNonRoot: true,
  privileged: false,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
})

function hostContainer({ hostImage, hostsUrl, pool, release }: PodSettings): object {
  const variables = {
    BERTH_COMPUTE: 'pod',
    BERTH_DATA_DIR: '/var/lib/berth',
    BERTH_HOST_CAPACITY: '1',
    BERTH_HOST_POOL: pool,
    BERTH_HOST_TOKEN_FILE: '/var/run/secrets/berth/token',
    BERTH_HOST_URL: hostsUrl,
    ...(release !== undefined && { BERTH_RELEASE: release }),
  }
  return {
    name: 'host',
    image: hostImage,
    args: ['host'],
    env: Object.entries(variables).map(([name, value]) => ({ name, value })),
    securityContext: confined(uids.host),
    resources: {
      requests: { cpu: '50m', memory: '128Mi' },
      limits: { cpu: '1', memory: '512Mi', 'ephemeral-storage': '4Gi' },
    },
    volumeMounts: [
      { name: 'host', mountPath: '/var/lib/berth' },
      ...['line', 'files-line', 'platform', 'shown'].map(name => ({ name, mountPath: `/var/lib/berth/${name}` })),
      { name: 'token', mountPath: '/var/run/secrets/berth', readOnly: true },
    ],
  }
}

/** The sandbox's files, and what it is shown, at the paths that they have inside. */
const inside = (): readonly object[] => [
  { name: 'workspace', mountPath: '/workspace' },
  { name: 'home', mountPath: '/home/agent' },
  { name: 'shown', subPath: 'extensions', mountPath: '/opt/extensions', readOnly: true },
  { name: 'shown', subPath: 'source', mountPath: '/opt/source', readOnly: true },
  { name: 'shown', subPath: 'engine', mountPath: '/opt/berth/lease', readOnly: true },
]

function agentContainer({ image, bounds }: PodSettings): object {
  const limits = {
    cpu: `${Math.ceil(bounds.cpus * 1000)}m`,
    memory: String(bounds.memoryBytes),
    'ephemeral-storage': String(bounds.diskBytes),
  }
  return {
    name: 'agent',
    image,
    command: ['/opt/berth/pod-agent', 'agent'],
    securityContext: confined(uids.agent),
    resources: { requests: { cpu: '100m', memory: '256Mi' }, limits },
    volumeMounts: [
      ...inside(),
      { name: 'platform', mountPath: '/workspace/.berth', readOnly: true },
      { name: 'line', mountPath: '/run/berth', readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  }
}

function filesContainer({ image, bounds }: PodSettings): object {
  return {
    name: 'files',
    image,
    command: ['/opt/berth/pod-agent', 'files'],
    securityContext: confined(uids.agent),
    resources: {
      requests: { cpu: '50m', memory: '128Mi' },
      limits: {
        cpu: `${Math.ceil(bounds.cpus * 1000)}m`,
        memory: String(Math.max(bounds.memoryBytes, 2 * gibibyte)),
        'ephemeral-storage': String(bounds.diskBytes),
      },
    },
    volumeMounts: [
      ...inside(),
      { name: 'files-line', mountPath: '/run/berth', readOnly: true },
      { name: 'baselines', mountPath: '/var/lib/berth' },
      { name: 'scratch', mountPath: '/scratch' },
    ],
  }
}
