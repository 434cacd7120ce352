import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ImageKeeper } from '../../src/execution/images/image-keeper.ts'
import { isTrial } from '../../src/execution/images/start-once.ts'
import type { SandboxDriver } from '../../src/sandboxes/driver.ts'
import { MasterKey } from '../../src/storage/master-key.ts'
import { Environments } from '../support/environments/environments.ts'
import { until } from '../support/until.ts'
import { Resuming } from '../support/workspaces/resuming.ts'

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

const isReady = async () => {
  const { rows } = await bench.test.db.database.query<{ state: string }>('select state from environment_images')
  return rows.length > 0 && rows.every(({ state }) => state === 'ready')
}

test('a host that shows no lower trees copies the image, and starts it once in the same way', async () => {
  await using stack = new AsyncDisposableStack()
  const driver = (real: SandboxDriver): SandboxDriver => ({ ...real, lowerOwner: () => null })
  const context = await bench.work(stack, { driver })
  const { id } = await environments.make({ setup, prebuild: true })
  const first = await run(id, 'cat stamp ~/stamp linked')
  expect(first.prebuilt).toEqual({ state: 'building' })
  expect(await isReady()).toBe(false)
  await stack.use(new ImageKeeper(context)).start()
  await until('the image was started', isReady)
  expect(await run(id, 'cat stamp ~/stamp linked')).toEqual({ prebuilt: { state: 'used' }, output: first.output })
  // Nothing of the trial is left, and no directory was made for later sandboxes.
  expect((await context.driver.list()).filter(name => name.startsWith('trial-'))).toEqual([])
  await expect(readdir(join(bench.test.dataDir, 'images'))).rejects.toThrow('ENOENT')
})

test('a trial is spared by the sweeper while it may be under way', () => {
  const begun = new Date('2026-01-01T00:00:00Z')
  const name = `trial-${begun.getTime().toString(36)}-0a1b2c`
  const after = (minutes: number) => new Date(begun.getTime() + minutes * 60_000)
  expect([isTrial(name, after(0)), isTrial(name, after(9)), isTrial(name, after(11))]).toEqual([true, true, false])
  expect(isTrial('5e0c9a2e-0000-4000-8000-000000000000', begun)).toBe(false)
})
