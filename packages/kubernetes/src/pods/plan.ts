import type { ObservedPod, PodFault } from '../api/observe-pod.ts'

/** A host that a pod has dialled in as; its id is the pod's uid. */
export interface PodHost {
  readonly id: string
  /** The pod's name. */
  readonly name: string
  /** Its live leases. */
  readonly leases: number
  /** Whether a process has its connection. */
  readonly isConnected: boolean
  readonly heardAt: Date
  /** It gets no sandbox since then; null: it may get one. */
  readonly cordonedAt: Date | null
}

export interface PlanSettings {
  /** Pods that are to wait, connected, for a lease. */
  readonly idle: number
  /** Pods at most, those in use as well. */
  readonly most: number
  /** Names the manifest of today's pods. */
  readonly template: string
  /** A pod that has not dialled for so long is given up. */
  readonly startMs: number
  /** From the moment at which a host gets no sandboxes any more to the deletion of its pod. */
  readonly graceMs: number
  /** Pods that one round creates at most. */
  readonly burst: number
}

/** Why pods fail of late. */
export interface Failing {
  /** Failures since a pod last dialled in. */
  readonly failures: number
  /** No pod is created before this time. */
  readonly until: Date
}

/** Why a pod is deleted. `silent`: it runs, and its host does not dial. */
export type PodEnd = PodFault | 'silent' | 'over' | 'surplus'

export type PodAction =
  | { readonly kind: 'create'; readonly count: number }
  | { readonly kind: 'delete'; readonly pod: ObservedPod; readonly because: PodEnd }
  /** Lets a host get no sandboxes any more. */
  | { readonly kind: 'cordon'; readonly host: string }
  /** A host whose pod is not to be seen: find out, and if it is gone, so is the host. */
  | { readonly kind: 'verify'; readonly host: PodHost }

export interface Plan {
  readonly actions: readonly PodAction[]
  /** Pods by what they are for, for metrics. */
  readonly counts: Readonly<Record<'starting' | 'idle' | 'busy' | 'leaving' | 'ending', number>>
}

/** The ends of pods that failed. The others have done what they were there for. */
export const isFailure = (end: PodEnd): boolean => end !== 'over' && end !== 'surplus'

/** Label of a pod's manifest. */
export const TEMPLATE_LABEL = 'berth.dev/template'

interface Sorted {
  readonly starting: ObservedPod[]
  readonly idle: ObservedPod[]
  readonly busy: ObservedPod[]
  readonly leaving: ObservedPod[]
  readonly ending: ObservedPod[]
  readonly actions: PodAction[]
}

/**
 * Decides what to do with the pods of a provisioner.
 *
 * A pod has one lease in its life. It is created, dials, waits, is leased, and deleted when its lease is over: `takeRoom`
 * cordons its host with the lease, so it never gets a second one. A host is always cordoned some time before its pod is
 * deleted, and only a pod without a lease then goes; an operator may have taken the cordon away.
 *
 * | pod | host | then |
 * |---|---|---|
 * | is being deleted | any | wait |
 * | ended | any | delete it |
 * | lives | has a lease | keep it, and cordon the host |
 * | lives | cordoned, without a lease | delete it after the grace |
 * | lives | connected | it waits for a lease |
 * | lives | never came, or left | wait for it, then delete it |
 * | none | any | ask the cluster for the pod by name |
 */
export function planPods(
  pods: readonly ObservedPod[],
  hosts: readonly PodHost[],
  settings: PlanSettings,
  failing: Failing,
  now: Date,
): Plan {
  const known = new Map(hosts.map(host => [host.id, host]))
  const sorted: Sorted = { starting: [], idle: [], busy: [], leaving: [], ending: [], actions: [] }
  const seen = new Set(pods.map(({ uid }) => uid))
  for (const pod of pods) sortPod(pod, known.get(pod.uid), settings, now, sorted)
  const { starting, idle, busy, leaving, ending, actions } = sorted
  for (const host of hosts) if (!seen.has(host.id)) actions.push({ kind: 'verify', host })

  const isFresh = ({ labels }: ObservedPod) => labels[TEMPLATE_LABEL] === settings.template
  const fresh = idle.filter(isFresh)
  // An old pod serves until a new one can in its place: the new manifest may be one that never starts.
  const kept = Math.max(0, settings.idle - fresh.length)
  const surplus = [
    ...newestFirst(fresh).slice(0, Math.max(0, fresh.length - settings.idle)),
    ...newestFirst(idle.filter(pod => !isFresh(pod))).slice(kept),
  ]
  for (const { uid } of surplus) actions.push({ kind: 'cordon', host: uid })

  const all = starting.length + idle.length + busy.length + leaving.length + ending.length
  const wanted = settings.idle - fresh.length - starting.filter(isFresh).length
  // While pods fail, one at a time tries whether they still do.
  const burst = failing.failures > 0 ? 1 : settings.burst
  const count = now < failing.until ? 0 : Math.min(wanted, settings.most - all, burst)
  if (count > 0) actions.push({ kind: 'create', count })
  return {
    actions,
    counts: {
      starting: starting.length,
      idle: idle.length,
      busy: busy.length,
      leaving: leaving.length,
      ending: ending.length,
    },
  }
}

function sortPod(
  pod: ObservedPod,
  host: PodHost | undefined,
  { startMs, graceMs, template }: PlanSettings,
  now: Date,
  { starting, idle, busy, leaving, ending, actions }: Sorted,
): void {
  const sinceMs = (from: Date) => now.getTime() - from.getTime()
  if (pod.state === 'ending') return void ending.push(pod)
  if (pod.state === 'ended') {
    ending.push(pod)
    actions.push({ kind: 'delete', pod, because: pod.fault ?? 'over' })
    return
  }
  if (host !== undefined && host.leases > 0) {
    busy.push(pod)
    if (host.cordonedAt === null) actions.push({ kind: 'cordon', host: host.id })
    return
  }
  if (host !== undefined && host.cordonedAt !== null) {
    leaving.push(pod)
    if (sinceMs(host.cordonedAt) >= graceMs) actions.push({ kind: 'delete', pod, because: 'over' })
    return
  }
  if (host?.isConnected) return void idle.push(pod)
  const isOld = pod.labels[TEMPLATE_LABEL] !== template
  const heardAt = host === undefined || host.heardAt < pod.createdAt ? pod.createdAt : host.heardAt
  if (!isOld && sinceMs(heardAt) < startMs) return void starting.push(pod)
  // A host that has come before is cordoned first, since whoever had its connection may have placed a sandbox there.
  if (host !== undefined) {
    leaving.push(pod)
    actions.push({ kind: 'cordon', host: host.id })
    return
  }
  ending.push(pod)
  actions.push({ kind: 'delete', pod, because: isOld ? 'surplus' : (pod.fault ?? 'silent') })
}

const newestFirst = (pods: readonly ObservedPod[]): readonly ObservedPod[] =>
  pods.toSorted((one, other) => other.createdAt.getTime() - one.createdAt.getTime())
