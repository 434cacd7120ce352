import type { ClientAuthorizationState, KoaContextWithOIDC, Provider, Session } from 'oidc-provider'

/** Sign-ins of one client that live as long as one browser's session; beyond it the oldest ends. */
const MOST_BOUND = 20

/** What a session keeps about a client. The provider knows the newest grant alone; `bound` names all that end with it. */
type Authorization = ClientAuthorizationState & { bound?: string[] }

interface BoundToken {
  readonly accountId?: string | undefined
  readonly clientId?: string | undefined
  readonly grantId?: string | undefined
  readonly sessionUid?: string | undefined
  readonly expiresWithSession?: boolean | undefined
}

/** Lets the sign-in of a code end with the session that approved it. The provider saves the session afterwards. */
export async function bindToSession({ oidc }: KoaContextWithOIDC, { clientId, grantId }: BoundToken): Promise<void> {
  if (oidc.session === undefined || clientId === undefined || grantId === undefined) return
  const authorization: Authorization = oidc.session.authorizationFor(clientId)
  const bound = authorization.bound ?? []
  if (bound.includes(grantId)) return
  authorization.bound = [...bound, grantId].slice(-MOST_BOUND)
  for (const id of bound.slice(0, -(MOST_BOUND - 1))) await endGrant(oidc.provider, id)
}

/**
 * Lets a browser hold several sign-ins of one client. The provider would take the tokens of all but the newest for those of
 * another session, and end only that one when the person signs out.
 */
export function keepBoundSignIns(provider: Provider): void {
  for (const model of [provider.RefreshToken, provider.AuthorizationCode, provider.DeviceCode]) {
    const find = model.find.bind(model) as (id: string, options?: object) => Promise<BoundToken | undefined>
    const findBound = async (id: string, options: { readonly ignoreSessionBinding?: boolean } = {}) => {
      const token = await find(id, { ...options, ignoreSessionBinding: true })
      if (token?.expiresWithSession !== true || options.ignoreSessionBinding === true) return token
      const session = await provider.Session.findByUid(token.sessionUid ?? '')
      return session !== undefined && isBound(session, token) ? token : undefined
    }
    Object.assign(model, { find: findBound })
  }
  const { destroy } = provider.Session.prototype
  provider.Session.prototype.destroy = async function () {
    await destroy.call(this)
    for (const { bound = [] } of Object.values<Authorization>(this.authorizations ?? {})) {
      for (const id of bound) await endGrant(provider, id)
    }
  }
}

function isBound(session: Session, { accountId, clientId = '', grantId = '' }: BoundToken): boolean {
  const authorization: Authorization | undefined = session.authorizations?.[clientId]
  const isKnown = authorization?.grantId === grantId || authorization?.bound?.includes(grantId) === true
  return session.accountId === accountId && isKnown
}

async function endGrant(provider: Provider, id: string): Promise<void> {
  const grant = await provider.Grant.find(id)
  await grant?.destroy()
}
