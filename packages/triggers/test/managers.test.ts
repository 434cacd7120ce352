import { randomUUID } from 'node:crypto'
import type { AuditEntryPage, Trigger } from '@berth/contract'
import { provideOwnInstallation } from '@berth/core/accounts/installations/own-installation.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'

let accounts: Accounts
beforeAll(async () => {
  accounts = await startAccounts()
})
afterAll(() => accounts[Symbol.asyncDispose]())
const draft = { name: 'Nightly', message: 'Look', hook: { scheme: 'svc' } }
type Answer = { trigger: Trigger; triggers: Trigger[] }
it('is managed by people of its organization who manage integrations, and the audit log tells of it', async () => {
  const { test } = accounts
  const { organizationId, installationId } = test.tenant
  const { api } = await accounts.person({ permissions: ['organization.integrations.manage'] })
  const path = `/v1/triggers/${randomUUID()}`
  expect(outcome(await api.put(path, draft))).toBe('400 invalid_request')
  const own = await provideOwnInstallation({ db: test.db.database, clock: systemClock }, organizationId)
  for (const stranger of [own.id, randomUUID()])
    expect(outcome(await api.put(path, { ...draft, installationId: stranger }))).toBe('404 installation_not_found')
  const { trigger } = (await api.put<Answer>(path, { ...draft, installationId })).body
  expect((await test.api.get<Answer>(path)).body.trigger).toEqual(trigger)
  expect((await api.get<Answer>('/v1/triggers')).body.triggers).toEqual([trigger])
  const renamed = await api.put<Answer>(path, { ...draft, name: 'Weekly' })
  expect(renamed.body.trigger).toMatchObject({ name: 'Weekly', installationId })
  expect(outcome(await api.call('POST', `${path}/secret`, {}))).toBe('201')
  expect(outcome(await api.get(`${path}/deliveries`))).toBe('200')
  expect(outcome(await api.call('DELETE', path))).toBe('204')
  expect(outcome(await test.api.get(path))).toBe('404 trigger_not_found')
  const admin = (await accounts.person({ role: 'admin' })).api
  const { entries } = (await admin.get<AuditEntryPage>('/cloud/audit?action=trigger')).body
  const actions = ['deleted', 'secret_replaced', 'written', 'written'].map(action => `trigger.${action}`)
  expect(entries.map(({ action }) => action)).toEqual(actions)
})

it('is no business of people without that permission, nor of another installation', async () => {
  const { test } = accounts
  const path = `/v1/triggers/${randomUUID()}`
  expect(outcome(await test.api.put(path, draft))).toBe('201')
  const { api } = await accounts.person({})
  for (const answer of [await api.get(path), await api.get('/v1/triggers'), await api.call('DELETE', path)]) {
    expect(outcome(answer)).toBe('403 insufficient_scope')
    expect(answer.body).toMatchObject({ requiredScope: 'organization.integrations.manage' })
  }
  const own = [test.tenant.installationId, randomUUID()].map(id => test.api.put(path, { ...draft, installationId: id }))
  expect((await Promise.all(own)).map(outcome)).toEqual(['200', '404 installation_not_found'])
})
