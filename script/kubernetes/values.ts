import { readFileSync } from 'node:fs'

/** What an operator decides of a deployment; the fields of `deploy/kubernetes/values.json`. */
export interface Values {
  /** Of the service's processes. */
  readonly namespace: string
  /** Of the pods that hold sandboxes, and of nothing else. */
  readonly sandboxNamespace: string
  /** Image of the service. */
  readonly image: string
  /** Image of sandboxes. */
  readonly sandboxImage: string
  /** Secret of `namespace` whose entries are settings: at least `DATABASE_URL` and `BERTH_MASTER_KEY`. */
  readonly secret: string
  /** Settings of every process: at least `BERTH_AUTH_URL`, `BERTH_BASE_URL`, `BERTH_CONSOLE_URL` and `BERTH_BLOBS`. */
  readonly settings: Readonly<Record<string, string>>
  readonly replicas: Readonly<Record<'api' | 'account' | 'gateway' | 'worker', number>>
  readonly pods: {
    /** Pods that wait for a Session. */
    readonly idle: number
    /** Pods at most. */
    readonly most: number
    /** Runtime class of the pods; empty for the cluster's own. */
    readonly runtimeClass: string
  }
}

const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/**
 * Reads a file of values.
 * @throws Error that names the first field that is missing or wrong
 */
export function readValues(path: string): Values {
  return checkedValues(JSON.parse(readFileSync(path, 'utf8')))
}

/** @throws Error that names the first field that is missing or wrong */
export function checkedValues(said: unknown): Values {
  const values = fieldsOf(said, 'the file')
  for (const name of ['namespace', 'sandboxNamespace', 'secret']) {
    if (!NAME.test(textOf(values, name))) throw new Error(`${name} is not a name of Kubernetes`)
  }
  for (const name of ['image', 'sandboxImage']) textOf(values, name)
  if (values['namespace'] === values['sandboxNamespace']) {
    throw new Error('sandboxNamespace must be another than namespace: whoever makes pods there makes hosts')
  }
  const settings = fieldsOf(values['settings'], 'settings')
  for (const name of ['BERTH_AUTH_URL', 'BERTH_BASE_URL', 'BERTH_CONSOLE_URL', 'BERTH_BLOBS']) textOf(settings, name)
  for (const name of Object.keys(settings)) textOf(settings, name)
  const replicas = fieldsOf(values['replicas'], 'replicas')
  for (const name of ['api', 'account', 'gateway', 'worker']) numberOf(replicas, name)
  const pods = fieldsOf(values['pods'], 'pods')
  for (const name of ['idle', 'most']) numberOf(pods, name)
  if (typeof pods['runtimeClass'] !== 'string') throw new Error('pods.runtimeClass must be a text')
  return said as Values
}

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(said: unknown, name: string): Fields {
  if (typeof said !== 'object' || said === null || Array.isArray(said)) throw new Error(`${name} must be an object`)
  return said as Fields
}

function textOf(fields: Fields, name: string): string {
  const value = fields[name]
  if (typeof value !== 'string' || value === '') throw new Error(`${name} must be a text`)
  return value
}

function numberOf(fields: Fields, name: string): void {
  const value = fields[name]
  if (!Number.isSafeInteger(value) || Number(value) < 0) throw new Error(`${name} must be a whole number`)
}
