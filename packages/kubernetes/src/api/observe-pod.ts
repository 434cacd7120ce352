import { asObject } from '@berth/platform/kit/json.ts'

/** Why a pod does not do its work, in words that stay the same; metrics count by them. */
export type PodFault =
  | 'unschedulable'
  | 'image_missing'
  | 'container_refused'
  | 'crashing'
  | 'out_of_memory'
  | 'evicted'
  | 'failed'

/** A pod, as far as the provisioner has to know it. */
export interface ObservedPod {
  readonly name: string
  readonly uid: string
  readonly createdAt: Date
  /** `ending`: it is being deleted. `ended`: its containers have ended, and will not start again. */
  readonly state: 'starting' | 'running' | 'ending' | 'ended'
  readonly fault: PodFault | null
  /** What the cluster says about the fault. */
  readonly detail: string
  readonly labels: Readonly<Record<string, string>>
}

type Part = Readonly<Record<string, unknown>>

/** Longest detail of a fault. */
const MAX_DETAIL = 300

/** Reasons for which a container waits, with what they mean for the pod. Others, such as `PodInitializing`, are no faults. */
const waits: Readonly<Record<string, PodFault>> = {
  ErrImagePull: 'image_missing',
  ImagePullBackOff: 'image_missing',
  ErrImageNeverPull: 'image_missing',
  InvalidImageName: 'image_missing',
  ImageInspectError: 'image_missing',
  RegistryUnavailable: 'image_missing',
  CreateContainerConfigError: 'container_refused',
  CreateContainerError: 'container_refused',
  RunContainerError: 'container_refused',
  CrashLoopBackOff: 'crashing',
}

/** Reads a pod that the API server sent; returns null for an object that is none. */
export function observePod(object: unknown): ObservedPod | null {
  const { metadata, status } = part(object)
  const { name, uid, creationTimestamp, deletionTimestamp, labels } = part(metadata)
  if (typeof name !== 'string' || typeof uid !== 'string') return null
  const createdAt = new Date(typeof creationTimestamp === 'string' ? creationTimestamp : Number.NaN)
  const { fault, detail } = faultOf(part(status))
  return {
    name,
    uid,
    createdAt: Number.isNaN(createdAt.getTime()) ? new Date(0) : createdAt,
    state: deletionTimestamp == null ? stateOf(part(status)['phase']) : 'ending',
    fault,
    detail: detail.slice(0, MAX_DETAIL),
    labels: Object.fromEntries(
      Object.entries(part(labels)).filter((one): one is [string, string] => typeof one[1] === 'string'),
    ),
  }
}

function stateOf(phase: unknown): ObservedPod['state'] {
  if (phase === 'Succeeded' || phase === 'Failed') return 'ended'
  return phase === 'Running' ? 'running' : 'starting'
}

interface Found {
  readonly fault: PodFault | null
  readonly detail: string
}

const none: Found = { fault: null, detail: '' }

/** The pod's own reason comes first: an evicted pod's containers have failed as well. */
function faultOf(status: Part): Found {
  const { phase, reason, message } = status
  const detail = text(message)
  if (
    phase === 'Failed' &&
    typeof reason === 'string' &&
    /^(Evicted|Preempting|Terminated|NodeShutdown|Shutdown)$/.test(reason)
  )
    return { fault: 'evicted', detail: `${reason}: ${detail}` }
  const containers = [...parts(status['initContainerStatuses']), ...parts(status['containerStatuses'])]
  for (const container of containers) {
    const found = faultOfContainer(container)
    if (found.fault !== null) return found
  }
  if (phase === 'Failed') return { fault: 'failed', detail: `${text(reason)} ${detail}`.trim() }
  const scheduled = parts(status['conditions']).find(({ type }) => type === 'PodScheduled')
  if (scheduled?.['status'] === 'False') return { fault: 'unschedulable', detail: text(scheduled['message']) }
  return none
}

function faultOfContainer(container: Part): Found {
  const [state, last] = [part(container['state']), part(container['lastState'])]
  const ended = [part(state['terminated']), part(last['terminated'])]
  const name = text(container['name'])
  if (ended.some(({ reason }) => reason === 'OOMKilled')) {
    return { fault: 'out_of_memory', detail: `container ${name} needed more memory than its limit` }
  }
  const { reason, message } = part(state['waiting'])
  const fault = typeof reason === 'string' && Object.hasOwn(waits, reason) ? waits[reason] : undefined
  return fault === undefined ? none : { fault, detail: `container ${name}: ${text(reason)} ${text(message)}`.trim() }
}

const part = (value: unknown): Part => asObject(value)
const parts = (value: unknown): readonly Part[] => (Array.isArray(value) ? value.map(part) : [])
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
