import { isRecord } from '../../line/line-error.ts'

export const SANDBOX_GROUP = 'agents.x-k8s.io'
/** The version whose schema is known; the API server converts from and to others. */
export const SANDBOX_VERSION = 'v1beta1'

/** agent-sandbox's resource for one pod, as far as the provisioner has to know it. */
export interface ObservedSandbox {
  readonly name: string
  readonly uid: string
  readonly createdAt: Date
  /** It is being deleted. */
  readonly isEnding: boolean
  /** When the cluster ends it; null: never. */
  readonly shutdownAt: Date | null
  /** Why its controller cannot make the pod; null if it has not said so. */
  readonly refusal: string | null
  readonly labels: Readonly<Record<string, string>>
}

type Part = Readonly<Record<string, unknown>>

/** Reads a Sandbox that the API server sent; returns null for an object that is none. */
export function observeSandbox(object: unknown): ObservedSandbox | null {
  const { metadata, spec, status } = part(object)
  const { name, uid, creationTimestamp, deletionTimestamp, labels } = part(metadata)
  if (typeof name !== 'string' || typeof uid !== 'string') return null
  return {
    name,
    uid,
    createdAt: dateOf(creationTimestamp) ?? new Date(0),
    isEnding: deletionTimestamp != null,
    shutdownAt: dateOf(part(spec)['shutdownTime']),
    refusal: refusalOf(part(status)),
    labels: Object.fromEntries(
      Object.entries(part(labels)).filter((one): one is [string, string] => typeof one[1] === 'string'),
    ),
  }
}

/** The controller tells of every error, such as a quota that refuses the pod, under this one reason. */
function refusalOf({ conditions }: Part): string | null {
  const all = Array.isArray(conditions) ? conditions.map(part) : []
  const ready = all.find(({ type }) => type === 'Ready')
  return ready?.['reason'] === 'ReconcilerError' ? String(ready['message'] ?? '') : null
}

function dateOf(text: unknown): Date | null {
  const date = new Date(typeof text === 'string' ? text : Number.NaN)
  return Number.isNaN(date.getTime()) ? null : date
}

const part = (value: unknown): Part => (isRecord(value) ? value : {})
