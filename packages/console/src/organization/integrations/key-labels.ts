import type { ApiKey, Integration } from '@berth/contract'

/** The access that each kind of key gives. */
export const keyKinds: Readonly<Record<ApiKey['kind'], string>> = { cloud: 'Sessions', ai: 'AI gateway' }

/** Active keys that an integration may have of a kind. */
const mostOfAKind = 2

/** Returns how a key is told from others: its beginning and its last characters. */
export function keyName({ kind, hint }: Pick<ApiKey, 'kind' | 'hint'>): string {
  return `svc_${kind}_…${hint ?? '????'}`
}

/** Returns why an integration can have no further key of a kind; null if it can. */
export function kindFault(
  kind: ApiKey['kind'],
  { keys, capabilities }: Pick<Integration, 'keys' | 'capabilities'>,
): string | null {
  if (kind === 'ai' && !capabilities.includes('svc.ai.invoke')) return 'Its grant does not include calling models.'
  return keys.filter(key => key.kind === kind).length >= mostOfAKind ? 'Two are active. Revoke or replace one.' : null
}

/** Returns true if an integration can have no further key of any kind that its grant allows. */
export function isFull(integration: Pick<Integration, 'keys' | 'capabilities'>): boolean {
  return (Object.keys(keyKinds) as ApiKey['kind'][]).every(kind => kindFault(kind, integration) !== null)
}
