import { Counter, Histogram, type Registry } from 'prom-client'
import { addObserver } from '../telemetry/observe.ts'

const quick = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const slow = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600]

/**
 * Counts and times the work of this process: its requests, the steps of Turns and the ends of Runs. Labels have few
 * values: patterns of routes, names of steps, status and codes of the contract.
 */
export function observeInMetrics(registry: Registry): Disposable {
  const registers = [registry]
  const requests = new Histogram({
    name: 'berth_http_request_seconds',
    help: 'Seconds from the head of a request to the end of its answer, by route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: quick,
    registers,
  })
  const steps = new Histogram({
    name: 'berth_step_seconds',
    help: 'Seconds of the steps of Turns.',
    labelNames: ['step', 'outcome'],
    buckets: slow,
    registers,
  })
  const runs = new Histogram({
    name: 'berth_run_seconds',
    help: 'Seconds from the admission of a Turn to the end of its Run, waiting included.',
    labelNames: ['status'],
    buckets: slow,
    registers,
  })
  const ended = new Counter({
    name: 'berth_runs_ended_total',
    help: 'Runs that this process ended, by status and error code.',
    labelNames: ['status', 'error_code'],
    registers,
  })
  return addObserver({
    request({ method, route, status, beganMs, endedMs }) {
      requests.observe({ method, route, status }, (endedMs - beganMs) / 1000)
    },
    step({ name, error, beganMs, endedMs }) {
      steps.observe({ step: name, outcome: error === null ? 'ok' : 'failed' }, Math.max(0, endedMs - beganMs) / 1000)
    },
    runEnded({ status, errorCode, queuedAt, endedAt }) {
      runs.observe({ status }, Math.max(0, endedAt.getTime() - queuedAt.getTime()) / 1000)
      ended.inc({ status, error_code: errorCode ?? 'none' })
    },
  })
}
