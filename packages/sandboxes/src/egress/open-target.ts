import type { Socket } from 'node:net'
import { ForbiddenAddressError, type Network } from '@berth/platform/network/dial.ts'
import type { EgressNetwork, EgressObserver, RefusalCode } from '../driver.ts'
import { countBytes } from './count-bytes.ts'
import { dialTarget } from './dial-target.ts'
import type { ProxyPolicy, ProxyTarget, ProxyVerdict } from './reach-policy.ts'

const DIAL_TIMEOUT_MS = 10_000

/** The connection was decided against, for a reason in words for whoever wanted it. */
export class DecidedAgainst extends Error {
  override readonly name = 'DecidedAgainst'
  readonly code: RefusalCode

  constructor(code: RefusalCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Who decides about targets, and hears of them. */
export interface TargetRules {
  readonly policy: ProxyPolicy
  readonly decider?: EgressNetwork | undefined
  readonly observe?: EgressObserver | undefined
}

/** What else an opened target needs. */
export interface Opening {
  readonly network: Network
  /** Aborts when the client leaves, or the proxy is closed. */
  readonly signal: AbortSignal
  /** The program that connects, if it says so. */
  readonly by?: string | undefined
  /** Hears why a target was refused. */
  readonly refused: (reason: string) => void
}

/** An allowed target and its connection. */
export interface OpenTarget {
  readonly socket: Socket
  readonly verdict: ProxyVerdict & { readonly kind: 'allow' }
}

/**
 * Asks the policy and the network's decider, in this order, then connects. No name is resolved before both have allowed
 * the target, and the time that a decision takes is no part of the dial's.
 * @param opens judges what the policy allowed, and throws for a target that is refused before anybody is asked
 * @throws ForbiddenAddressError, DecidedAgainst, the dial's error, the signal's reason
 */
export async function openTarget(
  { policy, decider, observe }: TargetRules,
  target: ProxyTarget,
  { network, signal, by, refused }: Opening,
  opens?: (verdict: OpenTarget['verdict']) => void,
): Promise<OpenTarget> {
  const { host, port } = target
  try {
    const verdict = policy(target)
    if (verdict.kind === 'deny') throw new ForbiddenAddressError(verdict.reason)
    opens?.(verdict)
    if (decider !== undefined && verdict.how !== 'named') {
      const decision = await decided(decider.decide({ host, port, ...(by !== undefined && { by }) }, signal), signal)
      if (!decision.allow) throw new DecidedAgainst(decision.code, decision.reason)
    }
    const dialling = AbortSignal.any([signal, AbortSignal.timeout(DIAL_TIMEOUT_MS)])
    const socket = await dialTarget(network, target, verdict, dialling)
    observe?.reached({ host, port })
    if (observe !== undefined) countBytes(socket, count => observe.bytes({ host, port, ...count }))
    return { socket, verdict }
  } catch (error) {
    if (error instanceof ForbiddenAddressError || error instanceof DecidedAgainst) {
      refused(error.message)
      const code = error instanceof DecidedAgainst ? error.code : 'policy'
      observe?.refused({ host, port, code, reason: error.message })
    }
    throw error
  }
}

/** Waits for a decision, but never longer than its client does. */
async function decided<T>(decision: T | Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const left = Promise.withResolvers<never>()
  const leave = () => left.reject(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([decision, left.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
