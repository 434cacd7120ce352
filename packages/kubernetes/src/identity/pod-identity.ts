import type { HostIdentity } from '@berth/core/hosts/host-identity.ts'
import type { KnownPod } from '@berth/core/hosts/pod-host-sql.ts'
import { asObject, isObject } from '@berth/platform/kit/json.ts'
import { Semaphore } from '@berth/platform/kit/semaphore.ts'
import { LineRefused } from '@berth/sandboxes/line/upgrade.ts'
import type { ClusterApi } from '../api/cluster-api.ts'
import type { Pods } from '../api/pods.ts'
import { AUDIENCE, DEPLOYMENT_LABEL, INSTANCE_LABEL, type PodOwner } from '../pods/pod-manifest.ts'

export interface PodIdentityOptions {
  readonly api: ClusterApi
  readonly pods: Pods
  readonly owner: PodOwner
  readonly namespace: string
  readonly serviceAccount: string
  /** Names the provisioner of these pods. */
  readonly provisioner: string
  readonly pool: string
}

/** Tokens that are judged at once; a flood of forged ones must not reach the API server. */
const AT_ONCE = 16
const POD_NAME = 'authentication.kubernetes.io/pod-name'
const POD_UID = 'authentication.kubernetes.io/pod-uid'

/**
 * Judges the tokens of pods. The API server says whether it has issued the token for this audience, and to which pod; it
 * refuses tokens of pods that are gone, but may remember an answer for some seconds. So the pod itself is asked for as well, which also
 * tells whether the provisioner of this service has made it.
 */
export function podIdentity(options: PodIdentityOptions): HostIdentity {
  const { pods, owner, provisioner, pool } = options
  const judging = new Semaphore(AT_ONCE)
  return {
    async judge(token, signal) {
      using _ = await judging.take(signal)
      const { name, uid } = await review(token, options, signal)
      const pod = await pods.find(name, signal)
      if (pod === null || pod.uid !== uid || pod.state === 'ending' || pod.state === 'ended') {
        throw new LineRefused(401, 'the pod of this token is gone')
      }
      if (pod.labels[DEPLOYMENT_LABEL] !== owner.deployment || pod.labels[INSTANCE_LABEL] !== owner.instance) {
        throw new LineRefused(403, 'this pod belongs to another service')
      }
      return { uid, name, provisioner, pool }
    },
  }
}

/** Returns the pod that a token was issued to. @throws LineRefused, ClusterError */
async function review(
  token: string,
  { api, namespace, serviceAccount }: PodIdentityOptions,
  signal: AbortSignal,
): Promise<Pick<KnownPod, 'uid' | 'name'>> {
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token, audiences: [AUDIENCE] },
  }
  const path = '/apis/authentication.k8s.io/v1/tokenreviews'
  const { status } = await api.ask({ method: 'POST', path, body }, signal)
  const { authenticated, audiences, user } = asObject(status)
  if (authenticated !== true) throw new LineRefused(401, 'this token is not valid')
  // An API server that knows nothing of audiences names none, and would take a token for anybody.
  if (!Array.isArray(audiences) || !audiences.includes(AUDIENCE)) {
    throw new LineRefused(401, 'this token is for somebody else')
  }
  const { username, extra } = asObject(user)
  if (username !== `system:serviceaccount:${namespace}:${serviceAccount}`) {
    throw new LineRefused(403, 'this service account may not hold sandboxes')
  }
  const [name, uid] = [only(extra, POD_NAME), only(extra, POD_UID)]
  if (name === null || uid === null) throw new LineRefused(401, 'this token is not bound to a pod')
  return { name, uid }
}

/** Returns the one value that a member of a user's `extra` has. */
function only(extra: unknown, key: string): string | null {
  const values = isObject(extra) ? extra[key] : undefined
  const [value] = Array.isArray(values) && values.length === 1 ? values : []
  return typeof value === 'string' ? value : null
}
