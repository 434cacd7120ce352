import { isDeepStrictEqual } from 'node:util'
import { type Capability, capabilities } from '@berth/contract'
import { setOrganization } from '@berth/server/admin/organizations.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { type InstalledApp, makeInstalledApp } from '@berth/testing/accounts/installed-app.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { disablePerson } from '../../src/accounts/people/change-person.ts'

let accounts: Accounts
beforeAll(async () => {
  // bound: a pause between two looks at what a stream may show
  accounts = await startAccounts({ fixed: { streamAuthorityMs: 1000 } })
})
afterAll(() => accounts[Symbol.asyncDispose]())

const db = () => accounts.test.db.database
const asOperator = () => ({ DATABASE_URL: databaseUrl(accounts.test.db), BERTH_DATA_DIR: accounts.test.dataDir })
const without =
  (capability: Capability) =>
  ({ boss, installationId }: InstalledApp) =>
    boss.call('PATCH', `/api/installations/${installationId}`, {
      capabilities: capabilities.filter(held => held !== capability),
    })
const signedOut = { person: '401 invalid_or_expired_credential', administration: '401 invalid_or_expired_credential' }
const everywhere = { ...signedOut, otherSignIn: '401 invalid_or_expired_credential' }
const ofInstallation = (refusal: string) => ({
  key: refusal,
  otherKey: refusal,
  cloudToken: refusal,
  boundToken: refusal,
})
const models = { aiKey: '401', aiToken: '401', endUserToken: '401' }
const exchanges = (refusal: string) => ({
  exchange: refusal,
  boundExchange: refusal,
  aiExchange: refusal,
  endUserExchange: refusal,
})
const ended = 'failed authority_revoked_dispatch'

/** What a revocation stops; everything else goes on. */
interface Effect {
  readonly act: (app: InstalledApp) => Promise<unknown>
  /** The outcome of the next request, of those that no longer succeed. */
  readonly requests: Readonly<Record<string, string>>
  readonly streams: readonly string[]
  readonly runs: Readonly<Record<string, string>>
}

const installationStreams = ['key', 'otherKey', 'cloudToken', 'boundToken']
const effects: Readonly<Record<string, Effect>> = {
  'an installation that is revoked': {
    act: ({ boss, installationId }) => boss.call('DELETE', `/api/installations/${installationId}`),
    requests: {
      ...ofInstallation('401 invalid_or_expired_credential'),
      ...models,
      runtime: '401',
      ...exchanges('404 installation_not_found'),
    },
    streams: installationStreams,
    runs: { installation: ended, member: ended },
  },
  'an organization that is suspended': {
    act: ({ organizationId }) => setOrganization(asOperator(), organizationId, { suspended: true }),
    requests: {
      ...ofInstallation('401 invalid_or_expired_credential'),
      ...everywhere,
      ...models,
      runtime: '401',
      ...exchanges('404 installation_not_found'),
    },
    streams: [...installationStreams, 'person'],
    runs: { installation: ended, member: ended },
  },
  'an organization that loses product access': {
    act: ({ organizationId }) => setOrganization(asOperator(), organizationId, { cloudAccess: false }),
    requests: {
      ...ofInstallation('403 cloud_access_denied'),
      person: '403 cloud_access_denied',
      otherSignIn: '403 cloud_access_denied',
      runtime: '401',
      exchange: '403 insufficient_scope',
      boundExchange: '403 insufficient_scope',
    },
    streams: [...installationStreams, 'person'],
    runs: { installation: ended, member: ended },
  },
  'a grant without product access': {
    act: without('svc.cloud.access'),
    requests: {
      ...ofInstallation('403 cloud_access_denied'),
      runtime: '401',
      exchange: '403 insufficient_scope',
      boundExchange: '403 insufficient_scope',
    },
    streams: installationStreams,
    runs: { installation: ended, member: ended },
  },
  'a grant that no longer reads Sessions': {
    act: without('svc.cloud.sessions:read'),
    requests: ofInstallation('403 insufficient_scope'),
    streams: installationStreams,
    runs: {},
  },
  'a grant that no longer calls models': {
    act: without('svc.ai.invoke'),
    requests: {
      aiKey: '403',
      aiToken: '403',
      endUserToken: '403',
      aiExchange: '403 insufficient_scope',
      endUserExchange: '403 insufficient_scope',
    },
    streams: [],
    runs: {},
  },
  'a key that is revoked': {
    act: ({ boss, organizationId, installationId, keyId }) =>
      boss.call('DELETE', `/api/organizations/${organizationId}/integrations/${installationId}/keys/${keyId}`),
    requests: { key: '401 invalid_or_expired_credential' },
    streams: ['key'],
    runs: {},
  },
  'a key of the app that is revoked': {
    act: ({ publisher, appSlug, appKey }) => publisher.call('DELETE', `/api/apps/${appSlug}/keys/${appKey.kid}`),
    requests: exchanges('401 invalid_assertion'),
    streams: [],
    runs: {},
  },
  'a membership that is ended': {
    act: ({ boss, organizationId, member }) =>
      boss.call('DELETE', `/api/organizations/${organizationId}/members/${member.who.membershipId}`),
    requests: everywhere,
    streams: ['person'],
    runs: { member: ended },
  },
  'a person who is disabled': {
    act: ({ member }) => disablePerson(db(), member.who.email, new Date()),
    requests: everywhere,
    streams: ['person'],
    runs: { member: ended },
  },
  'a sign-in that is ended': {
    act: ({ member }) => member.api.call('DELETE', `/api/sign-ins/${member.who.signInId}`),
    requests: signedOut,
    streams: ['person'],
    runs: {},
  },
  'a role that is lowered': {
    act: ({ boss, organizationId, member }) =>
      boss.call('PATCH', `/api/organizations/${organizationId}/members/${member.who.membershipId}`, { role: 'member' }),
    requests: { administration: '403 insufficient_scope' },
    streams: [],
    runs: {},
  },
  'the membership of whoever consented, once it is ended,': {
    act: ({ boss, organizationId, consenter }) =>
      boss.call('DELETE', `/api/organizations/${organizationId}/members/${consenter.membershipId}`),
    requests: { boundToken: '401 invalid_or_expired_credential', boundExchange: '404 setup_authority_not_found' },
    streams: ['boundToken'],
    runs: {},
  },
}

/**
 * Waits until streams and Runs have been judged again: another organization, revoked after the tested one, has lost a
 * stream that was opened later and a queued Run.
 */
async function judgedAgain(): Promise<void> {
  const later = await makeInstalledApp(accounts)
  await later.boss.call('DELETE', `/api/installations/${later.installationId}`)
  await until('a later revocation', async () => {
    const { installation } = await later.runs()
    return installation === ended && later.closedStreams().length === installationStreams.length
  })
}

describe('the next request, the open streams and the queued Runs', () => {
  it.concurrent.each(Object.entries(effects))('of %s end as they should, and nothing else', async (_, effect) => {
    const app = await makeInstalledApp(accounts)
    const before = await app.requests()
    expect(new Set(Object.values(before))).toEqual(new Set(['200']))
    expect([app.closedStreams(), await app.runs()]).toEqual([[], { installation: 'queued', member: 'queued' }])
    await effect.act(app)
    expect(await app.requests()).toEqual({ ...before, ...effect.requests })
    await judgedAgain()
    await until('the end of every stream', () => app.closedStreams().length >= effect.streams.length)
    expect(app.closedStreams()).toEqual(effect.streams)
    const runs = { installation: 'queued', member: 'queued', ...effect.runs }
    await until('the end of the Runs', async () => isDeepStrictEqual(await app.runs(), runs))
    expect(await app.requests()).toEqual({ ...before, ...effect.requests })
  })
})
