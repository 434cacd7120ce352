import type { KoaContextWithOIDC, Provider } from 'oidc-provider'
import { dropBinding, listBindings, putBinding } from './binding-sql.ts'
import type { SignInContext } from './configuration.ts'

/** Sign-ins of one session that live as long as it; beyond it the oldest ends. */
const MOST_BOUND = 60

type BindingContext = Pick<SignInContext, 'db' | 'clock' | 'masterKey'>

interface BoundToken {
  readonly accountId?: string | undefined
  readonly clientId?: string | undefined
  readonly grantId?: string | undefined
  readonly sessionUid?: string | undefined
  readonly expiresWithSession?: boolean | undefined
}

/**
 * Lets the sign-in of a code end with the session that approved it. A binding is a record of its own: tabs of a browser
 * approve clients at once, and of the session itself the last one to write it wins.
 */
export async function bindToSession(
  context: BindingContext,
  { oidc }: KoaContextWithOIDC,
  { grantId }: BoundToken,
): Promise<void> {
  if (oidc.session === undefined || grantId === undefined) return
  await putBinding(context, { grantId, sessionUid: oidc.session.uid })
  const bound = await listBindings(context, oidc.session.uid)
  for (const id of bound.slice(0, -MOST_BOUND)) await endBound(context, oidc.provider, id)
}

/**
 * Lets a browser hold several sign-ins of one client. The provider would take the tokens of all but the newest for those of
 * another session, and end only that one when the person signs out.
 */
export function keepBoundSignIns(context: BindingContext, provider: Provider): void {
  for (const model of [provider.RefreshToken, provider.AuthorizationCode, provider.DeviceCode]) {
    const find = model.find.bind(model) as (id: string, options?: object) => Promise<BoundToken | undefined>
    const findBound = async (id: string, options: { readonly ignoreSessionBinding?: boolean } = {}) => {
      const token = await find(id, { ...options, ignoreSessionBinding: true })
      if (token?.expiresWithSession !== true || options.ignoreSessionBinding === true) return token
      const session = await provider.Session.findByUid(token.sessionUid ?? '')
      return session !== undefined && session.accountId === token.accountId ? token : undefined
    }
    Object.assign(model, { find: findBound })
  }
  const { destroy } = provider.Session.prototype
  provider.Session.prototype.destroy = async function () {
    await destroy.call(this)
    for (const id of await listBindings(context, this.uid)) await endBound(context, provider, id)
  }
  renewOnlyAtSignIn(provider)
}

/**
 * Gives a session a new id only when somebody signs in, which keeps out whoever knew the old one. The provider would also
 * give it one at each approval, and so break approvals that other tabs make with the old one at this moment.
 */
function renewOnlyAtSignIn(provider: Provider): void {
  const signingIn = new WeakSet<object>()
  const { loginAccount, resetIdentifier } = provider.Session.prototype
  provider.Session.prototype.loginAccount = function (details) {
    signingIn.add(this)
    loginAccount.call(this, details)
  }
  provider.Session.prototype.resetIdentifier = function () {
    if (signingIn.has(this)) resetIdentifier.call(this)
  }
}

/** Ends a sign-in, and then what names it: whoever stops in between is told of it again. */
async function endBound({ db }: BindingContext, provider: Provider, id: string): Promise<void> {
  const grant = await provider.Grant.find(id)
  await grant?.destroy()
  await dropBinding(db, id)
}
