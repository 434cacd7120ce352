import { MAX_DETAIL, type ObservedPod } from '../api/observe-pod.ts'
import type { ObservedSandbox } from '../api/observe-sandbox.ts'

/**
 * Returns the pods, and for each Sandbox without one a pod that starts, so that it is counted and given up like any other.
 * A pod whose Sandbox is being deleted is being deleted as well.
 */
export function joinSandboxes(
  pods: readonly ObservedPod[],
  sandboxes: readonly ObservedSandbox[],
): readonly ObservedPod[] {
  const known = new Map(sandboxes.map(sandbox => [sandbox.uid, sandbox]))
  const held = new Set(pods.map(({ sandbox }) => sandbox?.uid))
  return [
    ...pods.map(pod => {
      const isEnding = pod.sandbox !== null && known.get(pod.sandbox.uid)?.isEnding === true
      return isEnding ? { ...pod, state: 'ending' as const } : pod
    }),
    ...sandboxes.filter(({ uid }) => !held.has(uid)).map(unmade),
  ]
}

/** Whether a Sandbox stands for a pod that its controller has not made, or that is gone. */
export const isUnmade = ({ uid, sandbox }: ObservedPod): boolean => uid === sandbox?.uid

function unmade({ name, uid, createdAt, isEnding, refusal, labels }: ObservedSandbox): ObservedPod {
  return {
    ...{ name, uid, createdAt, labels },
    state: isEnding ? 'ending' : 'starting',
    fault: refusal === null ? null : 'refused',
    detail: (refusal ?? '').slice(0, MAX_DETAIL),
    sandbox: { name, uid },
  }
}
