import { randomUUID } from 'node:crypto'
import { Api } from '../api/api.ts'
import { type Accounts, assert, makeAppKey } from './accounts.ts'

/** An app whose backend asks organizations for installations. */
export interface AskingApp {
  readonly slug: string
  /** Asks for an installation. @returns the address of the page on which a person decides */
  ask(capabilities: readonly string[], more?: Record<string, unknown>): Promise<{ id: string; authorizeUrl: string }>
  /** Returns a token of the installation that a person has approved. */
  exchange(intentId: string): Promise<{ token: string; installationId: string }>
}

/** Registers an app and its key as an administrator of the tenant does. */
export async function makeAskingApp(accounts: Accounts, name: string, redirectUrl: string): Promise<AskingApp> {
  const slug = `a-${randomUUID()}`
  const { api } = await accounts.person({ role: 'admin' })
  await api.call('POST', '/api/apps', { slug, name, redirectUrls: [redirectUrl] })
  const key = await makeAppKey()
  await api.call('POST', `/api/apps/${slug}/keys`, { publicKeyPem: key.publicKeyPem })
  const backend = new Api(accounts.test.url, 'none')
  const intents = '/api/apps/installation-intents'
  const call = async (path: string, more: Record<string, unknown> = {}) => {
    const body = { assertion: await assert(key, slug, accounts.issuer), ...more }
    const answer = await backend.call('POST', path, body)
    if (answer.status > 299) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    return Object(answer.body)
  }
  return {
    slug,
    ask: async (capabilities, more) => (await call(intents, { capabilities, redirectUrl, ...more })).intent,
    async exchange(id) {
      const { installationId } = (await call(`${intents}/${id}/status`)).intent
      const { token } = await call('/auth/app-installation-token', { installationId, resourceAudience: 'svc-cloud' })
      return { token, installationId }
    },
  }
}
