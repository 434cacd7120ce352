import type { EgressRefusal } from '@berth/contract'

/** What a sandbox had to do with one host since it was last written down. */
export interface HostTally {
  readonly host: string
  readonly port: number
  readonly reached: number
  readonly refused: number
  readonly sentBytes: number
  readonly receivedBytes: number
  readonly lastReason: EgressRefusal | null
  /** How often each secret was put into a request. */
  readonly secrets: Readonly<Record<string, number>>
}

/** Refused connections to one host for one reason. */
export interface RefusalTally {
  /** Null for those beyond the most that are told one by one, and for a name that is too long to be one. */
  readonly target: { readonly host: string; readonly port: number } | null
  readonly reason: EgressRefusal
  readonly message: string
  readonly count: number
}
