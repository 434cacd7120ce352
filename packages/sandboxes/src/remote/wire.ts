import { isObject } from '@berth/platform/kit/json.ts'
import { type SandboxBounds, type SandboxEgress, SandboxGoneError, type SandboxState } from '../driver.ts'
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
}

export function sentEgress({ reach, publicHosts, gateway, service }: SandboxEgress): SentEgress {
  return {
    reach,
    ...(publicHosts !== undefined && { publicHosts }),
    gateway: gateway !== undefined,
    service: service !== undefined,
  }
}

/** Name of a content: a digest, and which part of what it stands for. */
const CONTENT = /^[a-z0-9][a-z0-9-]{0,79}$/
/** Sandboxes that a host may have; more are a lie. */
const MAX_LEASES = 10_000
const MAX_LINES = 100
const MAX_WORDS = 1_000

export function readContent(value: unknown): string {
  if (typeof value !== 'string' || !CONTENT.test(value)) throw new TypeError('not the name of a content')
  return value
}

/** Reads what a host says of itself, which is not to be trusted. */
export function readFacts(said: unknown): HostFacts {
  if (!isObject(said) || typeof said['boot'] !== 'string') throw new LineBroken('the host does not say what it is')
  const [describes, runtimes] = [said['describes'], said['runtimes']].map(texts => readTexts(texts, MAX_LINES))
  return { boot: said['boot'].slice(0, MAX_WORDS), describes: describes ?? [], runtimes: runtimes ?? [] }
}

export function readTexts(said: unknown, most: number): string[] {
  if (!Array.isArray(said) || said.length > most || !said.every(text => typeof text === 'string')) {
    throw new LineBroken('not a list of texts')
  }
  return said.map(text => text.slice(0, MAX_WORDS))
}

export function readLeaseIds(said: unknown): string[] {
  const ids = readTexts(said, MAX_LEASES)
  if (!ids.every(isLeaseId)) throw new LineBroken('not a list of leases')
  return ids
}

const states: ReadonlySet<unknown> = new Set(['running', 'freezing', 'frozen', 'gone'] satisfies SandboxState[])

export function readState(said: unknown): SandboxState {
  if (!states.has(said)) throw new LineBroken('not the state of a sandbox')
  return said as SandboxState
}

export function readBoolean(said: unknown): boolean {
  if (typeof said !== 'boolean') throw new LineBroken('neither true nor false')
  return said
}

/** Reads the answer to the start of a program. */
export function readStarted(said: unknown): { readonly id: string; readonly baseline?: NewBaseline } {
  if (!isObject(said) || typeof said['id'] !== 'string') throw new LineBroken('not a program')
  const { id, baseline } = said
  if (baseline === undefined) return { id }
  if (!isObject(baseline) || typeof baseline['id'] !== 'string') throw new LineBroken('not a baseline')
  return { id, baseline: { id: baseline['id'], hasPrevious: baseline['hasPrevious'] === true } }
}

export function readEnd(said: unknown): string {
  if (!isObject(said) || typeof said['ended'] !== 'string') throw new LineBroken('not the end of a program')
  return said['ended']
}
