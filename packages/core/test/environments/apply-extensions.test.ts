import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { uploadTo } from '@berth/testing/environments/archives.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { extensionOf, sha256Of } from '@berth/testing/environments/zip.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listExtensionsShownBy } from '../../src/sessions/leases/lease-extension-sql.ts'

const skill = (name: string) => ({ name: `skills/${name}/SKILL.md`, content: `---\nname: ${name}\n---\n` })
const offered = extensionOf({ id: 'offered' }, [skill('shared'), skill('mine')])

let test: TestService
let environments: Environments
beforeAll(async () => {
  test = await startTestService({
    async prepare(dataDir) {
      await mkdir(join(dataDir, 'extensions'))
      await writeFile(join(dataDir, 'extensions', 'offered.zip'), offered)
    },
  })
  environments = new Environments(test.api)
})
afterAll(() => test[Symbol.asyncDispose]())

/** Makes an environment with uploaded archives, in the order of the document. */
async function environmentWith(contents: readonly Buffer<ArrayBuffer>[], more: object = {}): Promise<string> {
  const { id, document } = await environments.make()
  for (const content of contents) expect((await uploadTo(test.api, id, sha256Of(content), content)).status).toBe(201)
  const extensions = [...contents.map(content => ({ archive: `sha256:${sha256Of(content)}` })), { catalog: 'offered' }]
  expect((await environments.put(id, { ...document, extensions, ...more }, 1)).status).toBe(200)
  return id
}

/** Runs a command on a fresh sandbox, and returns what it printed and what the apply says. */
async function run(environmentId: string, command: string) {
  const session = await test.api.createSession({ runtime: 'shell', environment: { id: environmentId } }, command)
  const events = await test.api.runEnded(session.id, session.activeRunId ?? '')
  const dataOf = (type: string) => events.filter(event => event.type === type).map(event => event.data)
  return { applied: dataOf('svc.environment.apply').at(-1), printed: dataOf('svc.activity.completed')[0]?.['output'] }
}

describe('the extensions of a fresh sandbox', () => {
  it('are read-only, have a place for data, and their skills are in the home after setup', async () => {
    const tools = extensionOf({}, [
      skill('shared'),
      { name: 'bin/run', content: '#!/bin/sh\necho ran\n', mode: 0o100755 },
    ])
    const setup = 'mkdir -p ~/.agents/skills/mine && echo kept > ~/.agents/skills/mine/SKILL.md; ls ~/.agents/skills'
    const id = await environmentWith([tools], { setup })
    const commands = [
      '/opt/extensions/tools/bin/run',
      'touch /opt/extensions/tools/x 2>/dev/null || echo read-only',
      'cat ~/.agents/skills/mine/SKILL.md; ls ~/.agents/skills; ls ~/.claude 2>/dev/null',
      'echo changed > ~/.agents/skills/shared/SKILL.md && touch ~/.local/share/extensions/tools/data && echo owned',
    ]
    const { applied, printed } = await run(id, commands.join('; '))
    expect(printed).toBe('ran\nread-only\nkept\nmine\nshared\nowned\n')
    expect(applied).toMatchObject({ status: 'succeeded', outputTail: 'mine\n' })
    const kept = (name: string) => expect.stringContaining(`skill ${name}`)
    expect(applied?.['extensions']).toEqual([
      { ref: `sha256:${sha256Of(tools)}`, id: 'tools', version: '1.2.3', sha256: sha256Of(tools), state: 'active' },
      {
        ref: 'offered',
        id: 'offered',
        version: '1.2.3',
        sha256: sha256Of(offered),
        state: 'active',
        reason: kept('mine'),
      },
    ])
  })

  it('have their skills of the newest release in a restored home, where the rest is as the agent left it', async () => {
    const release = (output: string) =>
      extensionOf({}, [{ name: 'skills/shared/SKILL.md', content: `---\nname: shared\n---\n${output}\n` }])
    const id = await environmentWith([release('first')])
    const inspection = 'tail -n 1 ~/.agents/skills/shared/SKILL.md; cat ~/.local/share/extensions/tools/data ~/own'
    const fill = 'echo data > ~/.local/share/extensions/tools/data; echo mine > ~/own'
    const session = await test.api.createSession({ runtime: 'shell', environment: { id } }, `${fill}; ${inspection}`)
    const printed = async (runId: string) =>
      (await test.api.runEnded(session.id, runId)).findLast(({ type }) => type === 'svc.activity.completed')?.data[
        'output'
      ]
    expect(await printed(session.activeRunId ?? '')).toBe('first\ndata\nmine\n')
    const newer = release('second')
    expect((await uploadTo(test.api, id, sha256Of(newer), newer)).status).toBe(201)
    const document = { name: session.environment?.name, extensions: [{ archive: `sha256:${sha256Of(newer)}` }] }
    expect((await environments.put(id, document, 2)).status).toBe(200)
    await until('an idle session', async () => (await test.api.session(session.id)).phase === 'idle')
    expect((await test.api.call('DELETE', `/v1/sessions/${session.id}/workspace`)).status).toBe(204)
    const { run: next } = await test.api.submitTurn(session.id, inspection)
    expect(await printed(next.id)).toBe('second\ndata\nmine\n')
  })

  it('that cannot be installed leave nothing behind and fail no apply', async () => {
    const [one, two] = [extensionOf({ version: '1.0.0' }), extensionOf({ version: '2.0.0' }, [skill('second')])]
    const id = await environmentWith([one, two], { setup: 'echo in the way > ~/.agents' })
    const { applied, printed } = await run(
      id,
      'ls /opt/extensions; cat ~/.agents; cat /opt/extensions/tools/extension.json',
    )
    expect(printed).toContain('offered\ntools\nin the way\n')
    expect(printed).toContain('"version":"1.0.0"')
    expect(applied).toMatchObject({
      status: 'succeeded',
      extensions: [
        { version: '1.0.0', state: 'active' },
        { version: '2.0.0', state: 'failed', reason: 'duplicate_id' },
        { ref: 'offered', state: 'failed', reason: expect.stringContaining('skills could not be copied') },
      ],
    })
  })

  it('whose archive is gone from the store are missing', async () => {
    const content = extensionOf({ name: 'Gone soon' })
    const id = await environmentWith([content])
    await (await FileBlobs.open(join(test.dataDir, 'blobs'))).delete(sha256Of(content))
    const { applied } = await run(id, 'true')
    expect(applied).toMatchObject({
      status: 'succeeded',
      extensions: [{ state: 'failed', reason: 'missing' }, { state: 'active' }],
    })
  })

  it('count for the organization that uploaded them, on the host that shows them', async () => {
    const content = extensionOf({ name: 'Counted' })
    await run(await environmentWith([content]), 'true')
    const { database } = test.db
    const { rows } = await database.query<{ host: string }>('select distinct host from leases')
    const hosts = rows.map(({ host }) => host)
    const { organizationId } = test.tenant
    const counted = await listExtensionsShownBy(database, organizationId, hosts)
    expect(counted).toContain(sha256Of(content))
    expect(counted).not.toContain(sha256Of(offered))
    expect(await listExtensionsShownBy(database, organizationId, ['elsewhere'])).toEqual([])
    expect(await listExtensionsShownBy(database, randomUUID(), hosts)).toEqual([])
  })
})
