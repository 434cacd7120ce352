import type { IncomingMessage } from 'node:http'
import type { EgressObserver, EgressSecret, LeaseAuthority } from '../../driver.ts'
import { DecidedAgainst, type OpenTarget } from '../open-target.ts'
import type { ProxyTarget } from '../reach-policy.ts'
import type { Refusal } from './edge.ts'
import type { EdgeParts } from './end-tls.ts'
import { isNamed, judgeHead } from './judge-head.ts'
import { pairsOf } from './request-head.ts'

/** What a sandbox's egress says of secrets. */
export interface EdgeRules {
  readonly secrets?: readonly EgressSecret[] | undefined
  readonly authority?: LeaseAuthority | undefined
  readonly observe?: EgressObserver | undefined
}

/** Where the proxy reads requests. A tunnel to another port of the same host could carry anything. */
const EDGE_PORT = 443

/**
 * Returns what is needed to read a tunnel to a target; undefined if no secret names its host, so that nobody reads it.
 * @param refused hears why a request in it was refused
 */
export function edgePartsOf(
  { secrets = [], authority, observe }: EdgeRules,
  target: ProxyTarget,
  refused: (reason: string) => void,
): Pick<EdgeParts, 'target' | 'secrets' | 'authority' | 'events'> | undefined {
  const { host, port } = { ...target, host: plainName(target.host) }
  if (authority === undefined || port !== EDGE_PORT || !isNamed(secrets, host)) return undefined
  return {
    target: { host, port },
    secrets,
    authority,
    events: {
      used: name => observe?.used({ name, host, port }),
      refused(code, reason) {
        refused(reason)
        observe?.refused({ host, port, code, reason })
      },
    },
  }
}

/**
 * Refuses a tunnel to another port of a host that a secret names, since nobody could read it. Origins that the operator
 * named stay open.
 * @throws DecidedAgainst
 */
export function assertReadable(
  { secrets = [] }: EdgeRules,
  { host, port, scheme }: ProxyTarget,
  { how }: OpenTarget['verdict'],
): void {
  if (scheme !== 'tunnel' || port === EDGE_PORT || how === 'named' || !isNamed(secrets, plainName(host))) return
  throw new DecidedAgainst(
    'secret_not_for_host',
    `secret_not_for_host: a secret of this environment goes to ${host}, so a tunnel leads only to its port ${EDGE_PORT}, not to ${port}`,
  )
}

/** Returns why a plain request is refused, if it holds the placeholder of a secret: nobody proves to be its host. */
export function refusalOfPlain(
  { secrets = [], observe }: EdgeRules,
  { method = 'GET', rawHeaders, url = '' }: IncomingMessage,
  { host, port }: ProxyTarget,
  refused: (reason: string) => void,
): Refusal | undefined {
  if (secrets.length === 0) return undefined
  const to = { host: plainName(host), isSecure: false }
  const judged = judgeHead(secrets, to, { method, target: url, headers: pairsOf(rawHeaders) })
  if (judged.kind !== 'refuse') return undefined
  const reason = `secret_not_for_host: ${judged.reason}`
  refused(reason)
  observe?.refused({ host, port, code: 'secret_not_for_host', reason })
  const message = `refused by the sandbox's proxy: ${judged.reason}. Nothing was sent.`
  return { status: 403, code: 'secret_not_for_host', message }
}

/** A name in DNS may end with a dot, and means the same. */
const plainName = (host: string) => host.replace(/\.$/, '')
