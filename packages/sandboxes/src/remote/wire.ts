import { isObject } from '@berth/platform/kit/json.ts'
import {
  type SandboxBounds,
  type SandboxEgress,
  SandboxGoneError,
  type SandboxState,
  type SandboxTrust,
} from '../driver.ts'
import { type NewBaseline, TreeUnfinishedError } from '../lease-program.ts'
import { LineBroken } from '../line/line-error.ts'
import { isLeaseId } from '../linux/instance.ts'

/** The errors of a driver that arrive as themselves. */
export const driverErrors = { SandboxGoneError, TreeUnfinishedError } as const

/** What a host says of itself on each line. */
export interface HostFacts {
  /** A new one for each process of the host. */
  readonly boot: string
  /** How its bounds are enforced, one line each. */
  readonly describes: readonly string[]
  /** The runtimes that it has and that only some machines have. */
  readonly runtimes: readonly string[]
}

/** A sandbox to create, as it is sent. */
export interface SentSpec {
  readonly leaseId: string
  readonly command: readonly string[]
  readonly bounds: SandboxBounds
  readonly runtime: string | null
  readonly objects: string | null
  readonly extensions: readonly SentExtension[]
  readonly egress: SentEgress
  /** What programs of the sandbox trust besides its system's authorities. */
  readonly trust: SandboxTrust | null
  /** Whether the bytes that follow are an engine. */
  readonly hasEngine: boolean
}

/** An extension, by what decides its content. */
export interface SentExtension {
  readonly id: string
  readonly content: string
}

/** What a proxy at the host may reach by itself, and whether there is a gateway and a service of the worker behind it. */
export interface SentEgress extends Pick<SandboxEgress, 'reach' | 'publicHosts'> {
  readonly gateway: boolean
  readonly service: boolean
  /** Whether connections to public hosts lead through the worker. */
  readonly isLent: boolean
}

/** Returns whether only the worker can do what an egress says of public hosts. */
export const isLent = ({ isLent: lent = false, secrets = [] }: SandboxEgress): boolean => lent || secrets.length > 0

export function sentEgress(egress: SandboxEgress): SentEgress {
  const { reach, publicHosts, gateway, service } = egress
  return {
    reach,
    ...(publicHosts !== undefined && { publicHosts }),
    gateway: gateway !== undefined,
    service: service !== undefined,
    isLent: isLent(egress),
  }
}

/** Name of a content: a digest, and which part of what it stands for. */
const CONTENT = /^[a-z0-9][a-z0-9-]{0,79}$/
/** Sandboxes that a host may have; more are a lie. */
const MAX_LEASES = 10_000
const MAX_LINES = 100
const MAX_CHARACTERS = 1_000

export function readContent(value: unknown): string {
  if (typeof value !== 'string' || !CONTENT.test(value)) throw new TypeError('not the name of a content')
  return value
}

/** Reads what a host says of itself, which is not to be trusted. */
export function readFacts(value: unknown): HostFacts {
  if (!isObject(value) || typeof value['boot'] !== 'string') throw new LineBroken('the host does not say what it is')
  const [describes, runtimes] = [value['describes'], value['runtimes']].map(texts => readTexts(texts, MAX_LINES))
  return { boot: value['boot'].slice(0, MAX_CHARACTERS), describes: describes ?? [], runtimes: runtimes ?? [] }
}

export function readTexts(value: unknown, most: number): string[] {
  if (!Array.isArray(value) || value.length > most || !value.every(text => typeof text === 'string')) {
    throw new LineBroken('not a list of texts')
  }
  return value.map(text => text.slice(0, MAX_CHARACTERS))
}

export function readLeaseIds(value: unknown): string[] {
  const ids = readTexts(value, MAX_LEASES)
  if (!ids.every(isLeaseId)) throw new LineBroken('not a list of leases')
  return ids
}

const states: ReadonlySet<unknown> = new Set([
  'running',
  'freezing',
  'frozen',
  'parked',
  'gone',
] satisfies SandboxState[])

export function readState(value: unknown): SandboxState {
  if (!states.has(value)) throw new LineBroken('not the state of a sandbox')
  return value as SandboxState
}

export function readBoolean(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new LineBroken('neither true nor false')
  return value
}

/** Reads the answer to the start of a program. */
export function readStarted(value: unknown): { readonly id: string; readonly baseline?: NewBaseline } {
  if (!isObject(value) || typeof value['id'] !== 'string') throw new LineBroken('not a program')
  const { id, baseline } = value
  if (baseline === undefined) return { id }
  if (!isObject(baseline) || typeof baseline['id'] !== 'string') throw new LineBroken('not a baseline')
  return { id, baseline: { id: baseline['id'], hasPrevious: baseline['hasPrevious'] === true } }
}

export function readEnd(value: unknown): string {
  if (!isObject(value) || typeof value['ended'] !== 'string') throw new LineBroken('not the end of a program')
  return value['ended']
}
