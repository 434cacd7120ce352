import { StartError } from '../kit/start-error.ts'
import type { Environment } from './environment.ts'
import type { Fixed } from './fixed.ts'
import { parseWebUrl } from './web-url.ts'

/** How pods of a cluster hold sandboxes. */
export interface KubernetesSettings {
  readonly api: string
  readonly tokenFile: string
  readonly caFile: string
  readonly namespace: string
  readonly instance: string
  readonly serviceAccount: string
  /** The image of sandboxes, and that of this service. */
  readonly image: string
  readonly hostImage: string
  readonly hostsUrl: string
  readonly pool: string
  readonly runtimeClass: string | undefined
  readonly nodeSelector: Readonly<Record<string, string>>
  readonly idle: number
  readonly most: number
  readonly startMs: number
}

const NAME = /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/
const OBJECT = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/
const LABEL = /^([A-Za-z0-9][A-Za-z0-9._/-]{0,251})=([A-Za-z0-9][A-Za-z0-9._-]{0,61}[A-Za-z0-9]|[A-Za-z0-9])$/

const match = (form: RegExp) => (text: string) => (form.test(text) ? text : undefined)

/** Reads the settings of pods; undefined if this process makes none. */
export function readKubernetes(env: Environment, fixed: Fixed): KubernetesSettings | undefined {
  const image = env.text(
    'BERTH_KUBERNETES_IMAGE',
    'Image of the pods that hold sandboxes. Naming one makes a worker keep pods waiting ([hosts on Kubernetes](hosts-kubernetes.md)). Set it to hold sandboxes in pods.',
    'no pods',
    'the name of an image',
  )
  const hostImage = env.text(
    'BERTH_KUBERNETES_HOST_IMAGE',
    'Image of this service, whose `berth host` runs in each pod. Set it with `BERTH_KUBERNETES_IMAGE`.',
    'none',
    'the name of an image',
  )
  const hostsUrl = env.parsed(
    'BERTH_KUBERNETES_HOSTS_URL',
    'URL of the hosts’ endpoint, as pods dial it. Set it with `BERTH_KUBERNETES_IMAGE`.',
    'none',
    parseWebUrl,
    'an http or https URL without query',
  )
  const settings = {
    api: fixed.kubernetesApiUrl,
    tokenFile: fixed.kubernetesTokenFile,
    caFile: fixed.kubernetesCaFile,
    ...readPlace(env),
    pool:
      env.parsed(
        'BERTH_KUBERNETES_POOL',
        'Pool that the pods belong to. Change it to tell these hosts from others in `berth hosts list`.',
        'default',
        match(NAME),
        'lower-case letters, digits and hyphens',
      ) ?? 'default',
    runtimeClass: env.parsed(
      'BERTH_KUBERNETES_RUNTIME_CLASS',
      'Runtime class of the pods, such as `gvisor`. Set it for a stronger wall.',
      "the cluster's default",
      match(OBJECT),
      'the name of a runtime class',
    ),
    nodeSelector:
      env.parsed(
        'BERTH_KUBERNETES_NODE_SELECTOR',
        'Labels of the nodes that take pods, `name=value` with commas between. Set it to keep pods on nodes of their own.',
        'any node',
        parseLabels,
        'labels (name=value,name=value)',
      ) ?? {},
    idle: env.integer(
      'BERTH_KUBERNETES_IDLE',
      2,
      'Pods that wait, connected, for a Session. Raise it if many Sessions begin at once.',
      {
        least: 0,
        most: 1000,
      },
    ),
    most: env.integer(
      'BERTH_KUBERNETES_MOST',
      20,
      'Pods at most, those in use as well. Raise it with the size of the cluster.',
      { most: 10_000 },
    ),
    startMs: fixed.kubernetesStartMs,
  }
  if (image === undefined) return undefined
  if (hostImage === undefined || hostsUrl === undefined) {
    throw new StartError(
      'BERTH_KUBERNETES_IMAGE makes pods: set BERTH_KUBERNETES_HOST_IMAGE and BERTH_KUBERNETES_HOSTS_URL as well',
    )
  }
  return { ...settings, image, hostImage, hostsUrl }
}

/** Reads where the pods are. Their service account is named for the set of pods, and needs no rights. */
function readPlace(env: Environment): Pick<KubernetesSettings, 'namespace' | 'instance' | 'serviceAccount'> {
  const namespace = env.parsed(
    'BERTH_KUBERNETES_NAMESPACE',
    'Namespace of the pods. Change it if the namespace has another name.',
    'berth-sandboxes',
    match(NAME),
    'the name of a namespace',
  )
  const instance =
    env.parsed(
      'BERTH_KUBERNETES_INSTANCE',
      'Names this set of pods, and their service account with `-sandbox` at its end; each cluster or namespace of a service needs another one. Change it for a second set.',
      'berth',
      match(NAME),
      'lower-case letters, digits and hyphens',
    ) ?? 'berth'
  return { namespace: namespace ?? 'berth-sandboxes', instance, serviceAccount: `${instance}-sandbox` }
}

function parseLabels(text: string): Readonly<Record<string, string>> | undefined {
  const found = text.split(',').map(one => LABEL.exec(one.trim()))
  if (found.includes(null)) return undefined
  return Object.fromEntries(found.map(one => [one?.[1] ?? '', one?.[2] ?? '']))
}
