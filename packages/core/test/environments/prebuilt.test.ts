import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Event } from '@berth/contract'
import { Environments } from '@berth/testing/environments/environments.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let service: TestService
let environments: Environments
beforeAll(async () => {
  service = await startTestService()
  environments = new Environments(service.api)
})
afterAll(() => service[Symbol.asyncDispose]())

/** A script whose result tells whether it ran again. */
const setup = `set -e
mkdir -p node_modules/dep ~/.tools; echo $RANDOM$RANDOM > node_modules/dep/stamp
cp node_modules/dep/stamp ~/.tools/stamp; echo "STAMP=$(cat ~/.tools/stamp)" >> "$BERTH_ENV"
echo ran >> runs`
const show = 'cat node_modules/dep/stamp ~/.tools/stamp; echo "$STAMP"; wc -l < runs; ls -A'

const applied = (events: readonly Event[]) =>
  events.filter(({ type }) => type === 'svc.environment.apply').map(({ data }) => data as Record<string, unknown>)
const outputs = (events: readonly Event[]) =>
  events.filter(({ type }) => type === 'svc.activity.completed').map(({ data }) => (data as { output?: string }).output)

/** Runs one Turn in a new Session; returns the end of its apply and what the command printed. */
async function run(environmentId: string, command = show) {
  const session = await service.api.createSession({ runtime: 'shell', environment: { id: environmentId } }, command)
  const events = await service.api.runEnded(session.id, session.activeRunId ?? '')
  return { session, events, end: applied(events).at(-1) ?? {}, output: outputs(events)[0] ?? '' }
}

const stateOf = async (environmentId: string) => {
  const { rows } = await service.db.database.query<{ state: string; reason: string | null; blobs: string[] }>({
    text: 'select state, reason, blobs from environment_images where environment_id = $1 order by revision desc',
    values: [environmentId],
  })
  return rows[0]
}
const ready = (environmentId: string) =>
  until('the image is ready', async () => (await stateOf(environmentId))?.state === 'ready')

async function fileOf(sha256: string): Promise<string> {
  const root = join(service.dataDir, 'blobs')
  const found = (await readdir(root, { recursive: true })).find(name => name.endsWith(sha256.slice(4)))
  if (found === undefined) throw new Error(`no blob ${sha256}`)
  return join(root, found)
}

describe('an environment that is prebuilt', () => {
  test('runs setup once, and later sandboxes start from what it made', async () => {
    const { id } = await environments.make({ setup, prebuild: true })
    const first = await run(id, `${show}; echo agent > agents-file; rm -r node_modules`)
    expect(first.end).toMatchObject({ status: 'succeeded', setupExitCode: 0, prebuilt: { state: 'building' } })
    await ready(id)
    for (const _ of [1, 2]) {
      const later = await run(id)
      expect(later.end).toMatchObject({ status: 'succeeded', prebuilt: { state: 'used' } })
      expect(later.end).not.toHaveProperty('setupExitCode')
      expect(later.output).toBe(first.output)
      expect(later.events.map(({ type }) => type)).not.toContain('svc.environment.output')
    }
    expect(first.output.split('\n').slice(3)).toEqual(['1', '.berth', 'node_modules', 'runs', ''])
  })

  test('runs setup again for a new revision and for a new secret', async () => {
    const { id, document } = await environments.make({ setup, prebuild: true })
    const first = await run(id)
    await ready(id)
    await environments.put(id, { ...document, secrets: undefined, variables: { A: '1' } }, 1)
    const second = await run(id)
    expect(second.end).toMatchObject({ revision: 2, setupExitCode: 0, prebuilt: { state: 'building' } })
    expect(second.output).not.toBe(first.output)
    await environments.writeSecret(id, 'TOKEN', 'a-long-enough-value', 2)
    expect((await run(id)).end).toMatchObject({ revision: 3, setupExitCode: 0, prebuilt: { state: 'building' } })
  })

  test('runs setup again over a restored workspace', async () => {
    const { id } = await environments.make({ setup, prebuild: true })
    const { session } = await run(id)
    await ready(id)
    await until('the workspace was given back', async () => {
      const { status } = await service.api.call('DELETE', `/v1/sessions/${session.id}/workspace`)
      return status === 204
    })
    const { run: again } = await service.api.submitTurn(session.id, 'wc -l < runs')
    const events = await service.api.runEnded(session.id, again?.id ?? '')
    expect(applied(events).at(-1)).toMatchObject({ prebuilt: { state: 'unavailable', reason: 'restored' } })
    expect(outputs(events).at(-1)).toBe('2\n')
  })

  test('has no image that holds a secret', async () => {
    const value = 'a-value-that-nobody-may-read'
    const { id } = await environments.make({
      setup: 'mkdir -p deep; echo "token=$TOKEN" > deep/.npmrc',
      prebuild: true,
    })
    await environments.writeSecret(id, 'TOKEN', value, 1)
    for (const _ of [1, 2]) {
      const { end } = await run(id, 'true')
      expect(end).toMatchObject({ setupExitCode: 0, prebuilt: { state: 'unavailable', reason: 'secret' } })
    }
    expect(await stateOf(id)).toEqual({ state: 'unavailable', reason: 'secret', blobs: [] })
  })

  test('runs setup if its image is damaged, and never tries that again', async () => {
    const { id } = await environments.make({ setup, prebuild: true })
    await run(id)
    await ready(id)
    const { blobs = [] } = (await stateOf(id)) ?? {}
    // One blob alone belongs to this image: its random stamp is in one pack.
    for (const blob of blobs) await rm(await fileOf(blob), { force: true })
    await rm(join(service.dataDir, 'images'), { recursive: true })
    for (const _ of [1, 2]) {
      const { end } = await run(id)
      expect(end).toMatchObject({ setupExitCode: 0, prebuilt: { state: 'unavailable', reason: 'damaged' } })
    }
  })

  test('builds its image later if the process that built it died', async () => {
    const { id } = await environments.make({ setup, prebuild: true })
    const died = 'a process died while it built the image'
    await run(id)
    await ready(id)
    const lapse = async (until: string) =>
      service.db.database.query({
        text: `
          update environment_images set state = 'building', workspace_manifest = null, home_manifest = null,
            digest = null, claimed_until = now() + $2::interval
          where environment_id = $1`,
        values: [id, until],
      })
    await lapse('1 hour')
    expect((await run(id)).end, died).toMatchObject({ setupExitCode: 0, prebuilt: { state: 'building' } })
    expect(await stateOf(id)).toMatchObject({ state: 'building' })
    await lapse('-1 second')
    expect((await run(id)).end).toMatchObject({ setupExitCode: 0, prebuilt: { state: 'building' } })
    await ready(id)
    expect((await run(id)).end).toMatchObject({ prebuilt: { state: 'used' } })
  })

  test('is not where nobody asked for it', async () => {
    const { id } = await environments.make({ setup })
    expect((await run(id)).end).not.toHaveProperty('prebuilt')
    expect(await stateOf(id)).toBeUndefined()
  })
})
