import { isRecord } from '../../line/line-error.ts'
import type { ClusterApi } from './cluster-api.ts'
import { ClusterError } from './cluster-error.ts'
import { SANDBOX_GROUP, SANDBOX_VERSION } from './observe-sandbox.ts'
import { SANDBOX_ROOT, SANDBOXES } from './sandboxes.ts'

/** The verbs that a provisioner needs for Sandboxes. */
const VERBS = ['create', 'list', 'watch', 'patch', 'delete'] as const

/** Whether Sandboxes can be made in a namespace, and if not, why. */
export type SandboxResource =
  | { readonly kind: 'usable' }
  /** @property versions those of the group that the API server has instead */
  | { readonly kind: 'absent'; readonly versions: readonly string[] }
  /** @property verbs those that this service account lacks */
  | { readonly kind: 'forbidden'; readonly verbs: readonly string[] }

/**
 * Asks an API server whether it serves Sandboxes of the version that is known, and whether this service account has all
 * verbs that a provisioner needs.
 * @throws ClusterError if it does not say
 */
export async function findSandboxResource(
  api: ClusterApi,
  namespace: string,
  signal?: AbortSignal,
): Promise<SandboxResource> {
  try {
    return await find(api, namespace, signal)
  } catch (error) {
    // Some clusters let service accounts discover nothing.
    if (error instanceof ClusterError && error.status === 403) return { kind: 'forbidden', verbs: ['discover'] }
    throw error
  }
}

async function find(api: ClusterApi, namespace: string, signal: AbortSignal | undefined): Promise<SandboxResource> {
  const group = await readOr404(api, `/apis/${SANDBOX_GROUP}`, signal)
  if (group === null) return { kind: 'absent', versions: [] }
  const versions = recordsOf(group['versions']).map(({ version }) => String(version))
  if (!versions.includes(SANDBOX_VERSION)) return { kind: 'absent', versions }
  const served = await readOr404(api, SANDBOX_ROOT, signal)
  if (!recordsOf(served?.['resources']).some(({ name }) => name === SANDBOXES)) return { kind: 'absent', versions: [] }
  const verbs: string[] = []
  for (const verb of VERBS) if (!(await mayDo(verb, api, namespace, signal))) verbs.push(verb)
  return verbs.length === 0 ? { kind: 'usable' } : { kind: 'forbidden', verbs }
}

async function readOr404(api: ClusterApi, path: string, signal: AbortSignal | undefined) {
  try {
    return await api.ask({ method: 'GET', path }, signal)
  } catch (error) {
    if (error instanceof ClusterError && error.status === 404) return null
    throw error
  }
}

async function mayDo(verb: string, api: ClusterApi, namespace: string, signal: AbortSignal | undefined) {
  const resourceAttributes = { namespace, verb, group: SANDBOX_GROUP, version: SANDBOX_VERSION, resource: SANDBOXES }
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  }
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
  const { status } = await api.ask({ method: 'POST', path, body }, signal)
  return isRecord(status) && status['allowed'] === true
}

const recordsOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.filter(isRecord) : []
