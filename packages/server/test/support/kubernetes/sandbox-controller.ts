import { createHash } from 'node:crypto'
import { systemClock } from '../../../src/kit/clock.ts'
import type { ClusterApi } from '../../../src/kubernetes/api/cluster-api.ts'
import { ClusterError } from '../../../src/kubernetes/api/cluster-error.ts'
import { type Named, Objects } from '../../../src/kubernetes/api/objects.ts'
import { SANDBOX_ROOT } from '../../../src/kubernetes/api/sandboxes.ts'
import { Bell } from '../../../src/kubernetes/pods/bell.ts'
import { ObjectCache } from '../../../src/kubernetes/pods/object-cache.ts'
import { Patience } from '../../../src/kubernetes/pods/patience.ts'

type Json = Readonly<Record<string, unknown>>

interface Seen extends Named {
  readonly metadata: Json & {
    readonly deletionTimestamp?: string
    readonly ownerReferences?: readonly { readonly uid: string; readonly controller?: boolean }[]
  }
  readonly spec: Json & {
    readonly shutdownTime?: string
    readonly shutdownPolicy?: string
    readonly operatingMode?: string
    readonly podTemplate?: { readonly metadata?: { readonly labels?: Record<string, string> }; readonly spec: Json }
  }
  readonly status?: Json & { readonly phase?: string }
}

const GROUP = 'agents.x-k8s.io/'
const LOOK_MS = 200

const observe = (object: unknown): Seen | null => {
  const seen = object as Omit<Seen, 'name' | 'uid'>
  const { name, uid } = seen.metadata as unknown as Named
  return { ...seen, name, uid }
}

/**
 * Plays the controller of agent-sandbox, after its documentation and its types: one pod of the Sandbox's name for each,
 * with the labels and the spec of `podTemplate`; another when that is gone, none while it is suspended, and the end of both at
 * `shutdownTime`. The garbage collector deletes the pods of a Sandbox that is deleted.
 */
export class SandboxController implements AsyncDisposable {
  readonly #api: ClusterApi
  readonly #namespace: string
  readonly #pods: Objects<Seen>
  readonly #sandboxes: Objects<Seen>
  readonly #over = new AbortController()
  readonly #told = new Map<string, string>()
  #working: Promise<unknown> = Promise.resolve()

  private constructor(api: ClusterApi, namespace: string) {
    this.#api = api
    this.#namespace = namespace
    const scope = { namespace, selector: '' }
    this.#pods = new Objects(api, { root: '/api/v1', plural: 'pods', observe }, scope)
    this.#sandboxes = new Objects(api, { root: SANDBOX_ROOT, plural: 'sandboxes', observe }, scope)
  }

  static start(api: ClusterApi, namespace: string): SandboxController {
    const controller = new SandboxController(api, namespace)
    controller.#working = controller.#work(controller.#over.signal)
    return controller
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort(new Error('the controller stops'))
    await this.#working
  }

  async #work(signal: AbortSignal): Promise<void> {
    const bell = new Bell()
    const common = { clock: systemClock, changed: bell.ring, failed: () => undefined }
    const cacheOf = (objects: Objects<Seen>) =>
      new ObjectCache<Seen>({ ...common, objects, patience: new Patience(systemClock, 50) })
    const [pods, sandboxes] = [cacheOf(this.#pods), cacheOf(this.#sandboxes)]
    const following = [pods.follow(signal), sandboxes.follow(signal)]
    while (!signal.aborted) {
      await bell.wait(LOOK_MS, signal)
      const [seen, wanted] = [pods.all(), sandboxes.all()]
      if (seen === null || wanted === null) continue
      for (const sandbox of wanted) await this.#reconcile(sandbox, pods, signal).catch(() => undefined)
    }
    await Promise.all(following)
  }

  async #reconcile(sandbox: Seen, pods: ObjectCache<Seen>, signal: AbortSignal): Promise<void> {
    const { metadata, spec, name } = sandbox
    if (metadata.deletionTimestamp !== undefined) return
    const pod = pods.all()?.find(one => one.name === name)
    const isOwn = pod?.metadata.ownerReferences?.some(
      ({ uid, controller }) => controller === true && uid === sandbox.uid,
    )
    const isExpired = spec.shutdownTime !== undefined && Date.parse(spec.shutdownTime) <= Date.now()
    if (isExpired || spec.operatingMode === 'Suspended') {
      if (pod !== undefined && isOwn === true) await this.#pods.delete(pod, signal)
      if (isExpired && spec.shutdownPolicy === 'Delete') await this.#sandboxes.delete(sandbox, signal)
      return
    }
    if (pod === undefined) return await this.#make(sandbox, pods, signal)
    if (isOwn !== true) return await this.#tell(sandbox, 'False', 'ReconcilerError', `pod ${name} is another's`, signal)
    const ended = { Succeeded: 'PodSucceeded', Failed: 'PodFailed' }[String(pod.status?.phase)]
    const isReady = pod.status?.phase === 'Running'
    await this.#tell(
      sandbox,
      isReady ? 'True' : 'False',
      ended ?? `Dependencies${isReady ? '' : 'Not'}Ready`,
      '',
      signal,
    )
  }

  async #make({ name, uid, spec, ...sandbox }: Seen, pods: ObjectCache<Seen>, signal: AbortSignal): Promise<void> {
    const { podTemplate } = spec
    const given = Object.entries(podTemplate?.metadata?.labels ?? {}).filter(([label]) => !label.startsWith(GROUP))
    const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
    const owner = { apiVersion: `${GROUP}v1beta1`, kind: 'Sandbox', name, uid, controller: true }
    const manifest = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...{ name, namespace: this.#namespace },
        labels: { ...Object.fromEntries(given), [`${GROUP}sandbox-name-hash`]: hash },
        ownerReferences: [{ ...owner, blockOwnerDeletion: true }],
      },
      spec: podTemplate?.spec,
    }
    try {
      pods.note(await this.#pods.create(manifest, signal))
    } catch (error) {
      if (!(error instanceof ClusterError) || error.reason === 'AlreadyExists') return
      await this.#tell({ name, uid, spec, ...sandbox }, 'False', 'ReconcilerError', error.message, signal)
    }
  }

  async #tell(
    { name, uid }: Seen,
    status: string,
    reason: string,
    message: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#told.get(uid) === reason) return
    this.#told.set(uid, reason)
    const condition = { type: 'Ready', status, reason, message, lastTransitionTime: new Date().toISOString() }
    const path = `${SANDBOX_ROOT}/namespaces/${this.#namespace}/sandboxes/${name}/status`
    await this.#api.ask(
      { method: 'PATCH', path, body: { metadata: { uid }, status: { conditions: [condition] } } },
      signal,
    )
  }
}
