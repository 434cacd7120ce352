import type { EgressPolicy, EnvironmentWarning } from '@berth/contract'
import { knownService } from '@berth/contract/known-services'
import { coversHosts, shareHosts } from '@berth/platform/network/host-pattern.ts'
import type { StoredDocument } from './document.ts'
import { isKeptFrom } from './policy-rules.ts'
import type { StoredPin } from './secret-exposure.ts'

/** What else says which hosts sandboxes reach and which secrets they get. */
export interface NetworkFacts {
  readonly environmentId: string
  readonly policy: EgressPolicy
  /** Hosts that the operator opens; null: every public one. */
  readonly openHosts: readonly string[] | null
  /** Variables that runtimes set, with the id of one that does. */
  readonly runtimeVariables: ReadonlyMap<string, string>
}

/** Returns what a document and its secrets say of the network without effect, and secrets that no program needs to have. */
export function networkWarnings(
  { network: { mode, hosts } }: StoredDocument,
  secrets: readonly StoredPin[],
  facts: NetworkFacts,
): EnvironmentWarning[] {
  const isListed = (host: string) => hosts.some(listed => shareHosts(host, listed))
  return [
    ...hosts.flatMap((host, index) => unreached(host, ['document', 'network', 'hosts', index], facts)),
    ...secrets.flatMap(({ name, egress }) => {
      const path = ['secrets', name]
      if (isKeptFrom(name, facts.environmentId, facts.policy))
        return [warning(path, 'is kept for other environments by the organization: sandboxes do not get it')]
      // The agent gets the runtime's own value in any case.
      if (egress === undefined) return facts.runtimeVariables.has(name) ? [] : proposal(name, path)
      return egress.hosts.flatMap(host => [
        ...unreached(host, path, facts, `goes to ${host}, which `),
        ...(mode === 'listed' && !isListed(host)
          ? [warning(path, `goes to ${host}, which \`network\` does not name: sandboxes do not reach it`)]
          : []),
      ])
    }),
  ]
}

/** Returns the words that propose to keep a service's key out of sandboxes; '' if no known service is named. */
export function egressProposal(name: string): string {
  const known = knownService(name)
  return known === null ? '' : `with the exposure \`egress\` for ${known.egress.hosts.join(' and ')}`
}

function proposal(name: string, path: readonly string[]): EnvironmentWarning[] {
  const known = egressProposal(name)
  return known === '' ? [] : [warning(path, `can be read by every program: write it ${known}, and none has it`)]
}

function unreached(
  host: string,
  path: readonly (string | number)[],
  { policy, openHosts }: NetworkFacts,
  of = '',
): EnvironmentWarning[] {
  if (policy.neverHosts.some(never => coversHosts(never, host)))
    return [warning(path, `${of}is closed by the organization: sandboxes do not reach it`)]
  if (openHosts !== null && !openHosts.some(open => shareHosts(open, host)))
    return [warning(path, `${of}is not among the hosts that the operator opens: sandboxes do not reach it`)]
  return []
}

/** Returns a warning about a place of the document. */
export const warning = (path: readonly (string | number)[], message: string): EnvironmentWarning => ({
  path: [...path],
  message,
})
