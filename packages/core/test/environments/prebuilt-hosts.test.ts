import { randomBytes } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { PeriodicTasks } from '@berth/platform/kit/periodic-tasks.ts'
import { type Blobs, BlobsUnavailable } from '@berth/platform/storage/blobs/blobs.ts'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { type SandboxDriver, SandboxGoneError } from '@berth/sandboxes/driver.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { until } from '@berth/testing/until.ts'
import { Resuming } from '@berth/testing/workspaces/resuming.ts'
import { ImageKeeper } from '@berth/worker/images/image-keeper.ts'
import { isTrial } from '@berth/worker/images/start-once.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claimBuild, recordUnavailable } from '../../src/environments/images/image-sql.ts'

let bench: Resuming
let environments: Environments
beforeAll(async () => {
  bench = await Resuming.open()
  // The workers here are of this process, and seal what setup exports.
  bench.test.db.database.masterKey = new MasterKey(randomBytes(32))
  environments = new Environments(bench.api)
})
afterAll(() => bench[Symbol.asyncDispose]())

const setup = 'set -e; echo $RANDOM$RANDOM > stamp; cp stamp ~/stamp; chmod 600 ~/stamp; ln stamp linked'

async function run(environmentId: string, command: string) {
  const session = await bench.api.createSession({ runtime: 'shell', environment: { id: environmentId } }, command)
  const events = await bench.api.runEnded(session.id, session.activeRunId ?? '')
  const of = (type: string) =>
    events.filter(event => event.type === type).map(({ data }) => data as Record<string, unknown>)
  return {
    prebuilt: of('svc.environment.apply').at(-1)?.['prebuilt'],
    output: of('svc.activity.completed').find(({ name }) => name !== 'restore')?.['output'],
  }
}

async function imageOf(environmentId: string) {
  const text = 'select state, reason, trials from environment_images where environment_id = $1'
  const { rows } = await bench.test.db.database.query<{ state: string; trials: number }>(text, [environmentId])
  return rows[0]
}
const isReady = async (environmentId: string) => (await imageOf(environmentId))?.state === 'ready'

test('a host that shows no lower trees copies the image, and starts it once in the same way', async () => {
  await using stack = new AsyncDisposableStack()
  const driver = (real: SandboxDriver): SandboxDriver => ({ ...real, lowerOwner: () => null })
  const context = await bench.work(stack, { driver })
  const { id } = await environments.make({ setup, prebuild: true })
  const first = await run(id, 'cat stamp ~/stamp linked')
  expect(first.prebuilt).toEqual({ state: 'building' })
  expect(await isReady(id)).toBe(false)
  await stack.use(new PeriodicTasks([new ImageKeeper(context)])).start()
  await until('the image was started', () => isReady(id))
  expect(await run(id, 'cat stamp ~/stamp linked')).toEqual({ prebuilt: { state: 'used' }, output: first.output })
  // Nothing of the trial is left, and no directory was made for later sandboxes.
  expect((await context.driver.list()).filter(name => name.startsWith('trial-'))).toEqual([])
  await expect(readdir(join(bench.test.dataDir, 'images'))).rejects.toThrow('ENOENT')
})

test('an image that cannot be copied into a sandbox is done without, and stays good', async () => {
  await using stack = new AsyncDisposableStack()
  const driver = (real: SandboxDriver): SandboxDriver => ({ ...real, lowerOwner: () => null })
  let away = false
  const blobs = (real: Blobs): Blobs => ({
    put: content => real.put(content),
    // The workspace is copied, and the store fails before the home is.
    get: sha256 => (away && copied++ > 1 ? Promise.reject(new BlobsUnavailable(new Error('away'))) : real.get(sha256)),
    stat: sha256 => real.stat(sha256),
    has: (sha256, sizeBytes) => real.has(sha256, sizeBytes),
    delete: sha256 => real.delete(sha256),
  })
  let copied = 0
  const context = await bench.work(stack, { driver, blobs })
  const { id } = await environments.make({ setup, prebuild: true })
  const first = await run(id, 'cat stamp ~/stamp linked')
  await stack.use(new PeriodicTasks([new ImageKeeper(context)])).start()
  await until('the image was started', () => isReady(id))
  away = true
  const second = await run(id, 'cat stamp ~/stamp linked; ls')
  expect(second.prebuilt).toEqual({ state: 'unavailable', reason: 'temporary' })
  expect(String(second.output)).toMatch(/^(\d+)\n\1\n\1\nlinked\nstamp\n$/)
  expect(String(second.output)).not.toContain(String(first.output))
  away = false
  expect(await run(id, 'cat stamp ~/stamp linked')).toEqual({ prebuilt: { state: 'used' }, output: first.output })
})

test('a trial is spared by the sweeper while it may be under way', () => {
  const begun = new Date('2026-01-01T00:00:00Z')
  const name = `trial-${begun.getTime().toString(36)}-0a1b2c`
  const after = (minutes: number) => new Date(begun.getTime() + minutes * 60_000)
  expect([isTrial(name, after(0)), isTrial(name, after(9)), isTrial(name, after(11))]).toEqual([true, true, false])
  expect(isTrial('5e0c9a2e-0000-4000-8000-000000000000', begun)).toBe(false)
})

test('an image is given up after the third trial in which its sandbox is silent, and no sooner', async () => {
  await using stack = new AsyncDisposableStack()
  const silent = (real: SandboxDriver): SandboxDriver => ({
    ...real,
    attach: (leaseId, signal) =>
      leaseId.startsWith('trial-') ? Promise.reject(new SandboxGoneError('silent')) : real.attach(leaseId, signal),
  })
  const context = await bench.work(stack, { driver: silent })
  const { id } = await environments.make({ setup: 'true', prebuild: true })
  await run(id, 'true')
  const keeper = stack.use(new PeriodicTasks([new ImageKeeper(context)]))
  await keeper.start()
  const { database } = bench.test.db
  for (const trials of [1, 2, 3]) {
    const row = await until(`trial ${trials}`, async () => {
      const image = await imageOf(id)
      return image?.trials === trials && (trials < 3 || image.state !== 'sealed') && image
    })
    expect(row).toEqual(
      trials < 3
        ? { state: 'sealed', reason: null, trials }
        : { state: 'unavailable', reason: 'does_not_start', trials },
    )
    await database.query("update environment_images set claimed_until = 'epoch' where environment_id = $1", [id])
  }
  expect((await run(id, 'true')).prebuilt).toEqual({ state: 'unavailable', reason: 'does_not_start' })
})

test('a host without room for an image sets up anew, and the image stays good for others', async () => {
  await using stack = new AsyncDisposableStack()
  const bounds = { bytes: 1024 ** 3 }
  const context = await bench.work(stack, { imageBounds: bounds })
  const { id } = await environments.make({ setup: 'echo up > file', prebuild: true })
  await run(id, 'true')
  await stack.use(new PeriodicTasks([new ImageKeeper(context)])).start()
  await until('the image was started', () => isReady(id))
  bounds.bytes = 0
  await rm(join(bench.test.dataDir, 'images'), { recursive: true })
  expect((await run(id, 'true')).prebuilt).toEqual({ state: 'unavailable', reason: 'temporary' })
  expect(await isReady(id)).toBe(true)
})

test('only the newest revision of a live environment gets an image', async () => {
  const { database } = bench.test.db
  const made = await environments.make({ setup: 'true', prebuild: true })
  const { organizationId } = bench.test.tenant
  const claim = (revision: number, at = Date.now()) => {
    const key = { organizationId, environmentId: made.id, revision, variant: 'a' }
    return claimBuild(database, key, { platform: 'test', now: new Date(at), until: new Date(at + 60_000) })
  }
  await environments.put(made.id, { name: made.name, setup: 'false', prebuild: true }, 1)
  expect(await claim(1)).toBe(null)
  const slow = await claim(2)
  expect(await claim(2, Date.now() + 90_000)).not.toBe(null)
  // A build that took too long says nothing of the image that another one builds since.
  await recordUnavailable(database, slow?.id ?? '', 'secret')
  expect(await imageOf(made.id)).toMatchObject({ state: 'building' })
  await database.query('delete from environment_images where environment_id = $1', [made.id])
  await database.query('update environments set archived_at = now() where id = $1', [made.id])
  expect(await claim(2)).toBe(null)
})
