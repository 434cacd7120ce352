import { Counter, Gauge, type Registry } from 'prom-client'
import type { Plan, PodEnd } from './plan.ts'

/** Counts what a provisioner sees and does. */
export interface PodMetrics {
  planned(counts: Plan['counts'] | null): void
  failed(fault: PodEnd): void
  /** @param outcome status of the answer, or `none` */
  apiFailed(outcome: string): void
  paused(seconds: number): void
}

/** Adds the figures of a provisioner to a registry. Only the process that provisions has any. */
export function podMetrics(registry: Registry): PodMetrics {
  const registers = [registry]
  const pods = new Gauge({
    name: 'berth_kubernetes_pods',
    help: 'Pods of this provisioner, by what they are for.',
    labelNames: ['state'],
    registers,
  })
  const faults = new Counter({
    name: 'berth_kubernetes_pod_faults_total',
    help: 'Pods that did not do their work, by the reason; a pod counts once for each.',
    labelNames: ['fault'],
    registers,
  })
  const api = new Counter({
    name: 'berth_kubernetes_api_failures_total',
    help: 'Requests to the API server that failed, by the status of the answer.',
    labelNames: ['status'],
    registers,
  })
  const pause = new Gauge({
    name: 'berth_kubernetes_pause_seconds',
    help: 'Time for which no pod is created, because the last ones failed.',
    registers,
  })
  return {
    planned(counts) {
      pods.reset()
      for (const [state, count] of Object.entries(counts ?? {})) pods.set({ state }, count)
    },
    failed: fault => faults.inc({ fault }),
    apiFailed: status => api.inc({ status }),
    paused: seconds => pause.set(seconds),
  }
}
