import { randomUUID } from 'node:crypto'
import { takePodConnection } from '@berth/core/hosts/pod-host-sql.ts'
import { Pods } from '@berth/kubernetes/api/pods.ts'
import { type PodOwner, podTemplate, selectorOf } from '@berth/kubernetes/pods/pod-manifest.ts'
import { podMetrics } from '@berth/kubernetes/pods/pod-metrics.ts'
import { Provisioner, type ProvisionerOptions } from '@berth/kubernetes/pods/provisioner.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { Registry } from 'prom-client'
import { expect } from 'vitest'
import { silentLog } from '../services/log.ts'
import type { TestDatabase } from '../storage/postgres.ts'
import type { ApiServer } from './api-server.ts'
import { podSettings } from './pod-settings.ts'

export interface StartedProvisioner extends AsyncDisposable {
  readonly owner: PodOwner
  readonly name: string
  /** Returns the value of a line of the metrics; '' if there is none. */
  metric(line: string): Promise<string>
  /** Lets the host in a pod dial. */
  dial(pod: string): Promise<void>
}

export interface ProvisionerChanges {
  readonly owner?: PodOwner
  readonly plan?: Partial<ProvisionerOptions['plan']>
  readonly watchMs?: number
  readonly timeoutMs?: number
  readonly image?: string
}

/** Starts a provisioner of a played API server that looks all the time. */
export async function startProvisioner(
  db: TestDatabase,
  api: ApiServer,
  { owner = { deployment: randomUUID(), instance: 'one' }, ...changes }: ProvisionerChanges = {},
): Promise<StartedProvisioner> {
  const { timeoutMs, image, watchMs } = changes
  const client = api.client(timeoutMs === undefined ? {} : { timeoutMs })
  const registry = new Registry()
  const settings = podSettings(image === undefined ? {} : { image })
  const { namespace } = settings
  const name = `${owner.instance}/${namespace}`
  const scope = { namespace, selector: selectorOf(owner) }
  const template = podTemplate(owner, settings)
  const provisioner = new Provisioner({
    db: db.database,
    wakeups: { subscribe: () => () => undefined },
    // bound: pauses between two looks
    ...{ clock: systemClock, log: silentLog, name, pollMs: 20, leastPauseMs: 20, template },
    pods: new Pods(client, scope, watchMs),
    metrics: podMetrics(registry),
    plan: { idle: 2, most: 10, startMs: 60_000, graceMs: 0, burst: 5, ...changes.plan },
    address: async () => '10.0.0.1',
  })
  await provisioner.start()
  let stopped: Promise<void> | undefined
  const stop = async () => {
    await provisioner[Symbol.asyncDispose]()
    await client[Symbol.asyncDispose]()
  }
  return {
    ...{ owner, name },
    metric: async line =>
      (await registry.metrics())
        .split('\n')
        .find(one => one.startsWith(line))
        ?.split(' ')
        .at(-1) ?? '',
    async dial(pod) {
      const { metadata } = api.named(pod)
      api.setStatus(pod, { phase: 'Running' })
      const known = { uid: metadata.uid, name: metadata.name, provisioner: name, pool: 'default' }
      expect(await takePodConnection(db.database, known, { driver: 'pod' }, 'here/1')).not.toBeNull()
    },
    [Symbol.asyncDispose]: () => {
      stopped ??= stop()
      return stopped
    },
  }
}
