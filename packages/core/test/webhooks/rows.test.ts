import { randomUUID } from 'node:crypto'
import { eventCatalog } from '@berth/contract'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { Sending } from '@berth/testing/webhooks/sending.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { appendEvents } from '../../src/sessions/log/append.ts'

let sending: Sending
beforeAll(async () => {
  sending = await Sending.open()
})
afterEach(() => sending.made.database.query('delete from webhook_deliveries'))
afterEach(() => sending.made.database.query('delete from webhook_endpoints'))
afterAll(() => sending[Symbol.asyncDispose]())

const started = 'svc.run.started'

async function sequencesOf(endpoint: { readonly id: string }): Promise<readonly number[]> {
  return (await sending.deliveries(endpoint)).map(({ sequence }) => sequence)
}

describe('the rows of deliveries', () => {
  it('are written with each Event of a family that the endpoint names, and with no other', async () => {
    const all = await sending.endpoint(['run', 'interaction', 'artifact', 'publication', 'revision'])
    const some = await sending.endpoint(['artifact'])
    const key = await sending.session()
    const types = Object.keys(eventCatalog)
    for (const type of types) await sending.append(key, type)
    const families = Object.values(eventCatalog).map(({ family }) => family)
    const at = (meant: (family: string | null) => boolean) =>
      families.flatMap((family, index) => (meant(family) ? [index + 1] : []))
    expect(await sequencesOf(all)).toEqual(at(family => family !== null))
    expect(await sequencesOf(some)).toEqual(at(family => family === 'artifact'))
    const mixed = await sending.session()
    await sending.append(mixed, ...types)
    expect((await sequencesOf(some)).slice(2)).toEqual(at(family => family === 'artifact'))
    await sending.append(mixed, 'svc.of.no.catalog', 'constructor')
    expect(await sequencesOf(all)).toHaveLength(2 * at(family => family !== null).length)
  })

  it('vanish with a transaction that rolls back', async () => {
    const endpoint = await sending.endpoint()
    const key = await sending.session()
    const failing = sending.made.database.transaction(async tx => {
      await appendEvents(tx, key, [{ type: started, data: {} }], new Date())
      throw new Error('rolled back')
    })
    await expect(failing).rejects.toThrow('rolled back')
    expect(await sequencesOf(endpoint)).toEqual([])
  })

  it('are of what is appended after the registration', async () => {
    const key = await sending.session()
    await sending.append(key, started)
    const endpoint = await sending.endpoint()
    await sending.append(key, started)
    expect(await sequencesOf(endpoint)).toEqual([2])
  })

  it('are not written for Sessions of people, of other installations, and of other organizations', async () => {
    const endpoint = await sending.endpoint()
    const { organizationId, appSlug, installationId } = sending.tenant
    const other = await createInstallation(sending.made.database, organizationId, appSlug)
    const keys = [
      await sending.session({ kind: 'person', id: randomUUID() }),
      await sending.session({ kind: 'person', id: installationId }),
      await sending.session({ id: other.installationId }),
    ]
    for (const key of keys) await sending.append(key, started)
    for (const key of keys) await sending.append(key, started, started)
    expect(await sequencesOf(endpoint)).toEqual([])
  })

  it.each([
    [
      'lacks the right to read',
      'update installations set capabilities = array_remove(capabilities, $2) where id = $1',
      'svc.cloud.sessions:read',
    ],
    [
      'lacks product access',
      'update installations set capabilities = array_remove(capabilities, $2) where id = $1',
      'svc.cloud.access',
    ],
    ['was revoked', 'update installations set revoked_at = now() where id = $1 and $2::text is not null', ''],
    [
      'is of a suspended organization',
      'update organizations o set suspended_at = now() from installations i where i.id = $1 and o.id = i.organization_id and $2::text is not null',
      '',
    ],
    [
      'is of an organization without access',
      'update organizations o set cloud_access = false from installations i where i.id = $1 and o.id = i.organization_id and $2::text is not null',
      '',
    ],
  ])('are not written if the installation %s', async (_, statement, value) => {
    await using own = await Sending.open()
    const endpoint = await own.endpoint()
    const key = await own.session()
    await own.append(key, started)
    await own.made.database.query(statement, [own.tenant.installationId, value])
    await own.append(key, started)
    await own.append(key, started, started)
    expect((await own.deliveries(endpoint)).map(({ sequence }) => sequence)).toEqual([1])
  })
})
