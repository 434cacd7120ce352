import type { Log } from '@berth/platform/kit/log.ts'
import type { Client, Provider } from 'oidc-provider'
import { issuerOf } from '../../identity/tokens/token-types.ts'
import { RecordAdapter, type RecordStore } from './adapter.ts'
import { provideClientKey } from './client-key.ts'
import { clientsOf, consoleClient } from './clients.ts'
import { providerConfiguration, type SignInContext } from './configuration.ts'
import { registerDelegation } from './delegation.ts'
import { replaceScriptedForm } from './provider-pages.ts'
import { keepBoundSignIns } from './session-binding.ts'

/**
 * The OpenID provider of this process. It is made at the first request, because loading it takes long and the issuer is
 * known only once the service listens; and made anew when the signing keys change.
 */
export class OpenIdProvider {
  readonly #context: SignInContext
  readonly #log: Log
  #made: Promise<Provider> | undefined

  constructor(context: SignInContext, log: Log) {
    this.#context = context
    this.#log = log
    context.keys.onChange(() => {
      this.#made = undefined
    })
  }

  get(): Promise<Provider> {
    this.#made ??= this.#make().catch(error => {
      this.#made = undefined
      throw error
    })
    return this.#made
  }

  async #make(): Promise<Provider> {
    const { Provider, errors, interactionPolicy } = await import('oidc-provider')
    const store: RecordStore = {
      ...this.#context,
      alreadyUsed: () => new errors.InvalidGrant('used by another request at the same moment'),
      isIssuing: () => Provider.ctx?.oidc.route === 'token',
      replayed: () => new errors.InvalidClientAuth('used by another request at the same moment'),
      tooLong: () => new errors.InvalidRequest('the parameters are too long'),
    }
    const policy = interactionPolicy.base()
    policy
      .get('login')
      ?.checks.add(
        new interactionPolicy.Check(
          'account_ended',
          'the person of this session can no longer sign in',
          'login_required',
          ({ oidc }) => oidc.session?.accountId !== undefined && oidc.account === undefined,
        ),
      )
    const adapter = (kind: string) => new RecordAdapter(kind, store)
    const { authUrl, consoleUrl, firstPartyClients } = this.#context
    const consoleKey = await provideClientKey(this.#context, consoleClient)
    const clients = clientsOf(consoleUrl(), consoleKey, firstPartyClients)
    const provider = new Provider(issuerOf(authUrl()), providerConfiguration(this.#context, adapter, policy, clients))
    const consoles = [consoleUrl(), ...firstPartyClients.flatMap(client => client.consoleUrl ?? [])]
    keepFromOrigins(provider, new Set(consoles.map(url => new URL(url).origin)))
    keepBoundSignIns(this.#context, provider)
    registerDelegation(provider, this.#context, errors)
    // The mount sets the headers that this trusts.
    provider.proxy = true
    provider.use(async (ctx, next) => {
      await next()
      replaceScriptedForm(ctx)
      // The provider opens its metadata and keys to every origin. No page of another origin needs this service.
      for (const name of Object.keys(ctx.response.headers)) if (name.startsWith('access-control-')) ctx.remove(name)
    })
    provider.on('server_error', (_ctx, error) => this.#log.error({ err: error }, 'the OpenID provider failed'))
    return provider
  }
}

/**
 * Keeps codes of public clients away from consoles: any program may begin their sign-in, and on loopback their
 * redirects fit every port, so also a console's.
 */
function keepFromOrigins(provider: Provider, origins: ReadonlySet<string>): void {
  const { redirectUriAllowed, postLogoutRedirectUriAllowed } = provider.Client.prototype
  const isKept = (client: Client, uri: string) =>
    client.clientAuthMethod === 'none' && URL.canParse(uri) && origins.has(new URL(uri).origin)
  provider.Client.prototype.redirectUriAllowed = function (uri) {
    return !isKept(this, uri) && redirectUriAllowed.call(this, uri)
  }
  provider.Client.prototype.postLogoutRedirectUriAllowed = function (uri) {
    return !isKept(this, uri) && postLogoutRedirectUriAllowed.call(this, uri)
  }
}
