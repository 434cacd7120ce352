import { randomUUID } from 'node:crypto'
import { type Environment, environmentLimits, type Issue } from '@berth/contract'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { uploadTo } from '@berth/testing/environments/archives.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { extensionOf, manifestOf, sha256Of, type ZipEntry, zipOf } from '@berth/testing/environments/zip.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
let mine: Environments
let environment: Environment
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  mine = new Environments(test.api)
  environment = await mine.make()
})
afterAll(() => test[Symbol.asyncDispose]())

const upload = (content: Buffer<ArrayBuffer>, id = environment.id, api = test.api) =>
  uploadTo(api, id, sha256Of(content), content)

describe('an archive', () => {
  it('is stored once, and a document may then name it', async () => {
    const { id, document } = await mine.make()
    const content = extensionOf({ name: 'Werkzeuge' })
    const sha256 = sha256Of(content)
    const extensions = [{ archive: `sha256:${sha256}` }]
    const named = { ...document, extensions }
    expect(await mine.put(id, named, 1)).toMatchObject({
      status: 400,
      body: { issues: [{ path: ['document', 'extensions', 0, 'archive'] }] },
    })
    const archive = {
      archive: `sha256:${sha256}`,
      sizeBytes: content.length,
      extension: { id: 'tools', name: 'Werkzeuge', version: '1.2.3' },
    }
    expect(await upload(content, id)).toMatchObject({ status: 201, body: { archive } })
    expect(await upload(content, id)).toMatchObject({ status: 200, body: { archive } })
    const { revision, archives } = (await mine.read(id)).body.environment
    expect([revision, archives]).toEqual([1, []])
    expect((await mine.put(id, named, 1)).body.environment.archives).toEqual([archive])
  })

  it('is listed in the order of the document', async () => {
    const { id, document } = await mine.make()
    const contents = ['a', 'b', 'c'].map(name => extensionOf({ name }))
    for (const content of contents) expect((await upload(content, id)).status).toBe(201)
    const extensions = contents.toReversed().map(content => ({ archive: `sha256:${sha256Of(content)}` }))
    const { archives } = (await mine.put(id, { ...document, extensions }, 1)).body.environment
    expect(archives.map(({ extension }) => extension.name)).toEqual(['c', 'b', 'a'])
  })

  it('of another environment cannot be named', async () => {
    const content = extensionOf({ name: 'elsewhere' })
    await upload(content)
    const other = await mine.make()
    const extensions = [{ archive: `sha256:${sha256Of(content)}` }]
    expect(outcome(await mine.put(other.id, { ...other.document, extensions }, 1))).toBe('400 environment_invalid')
  })

  it('is not found in an environment of another tenant, or in none', async () => {
    const { apiKey } = await createTenant(test.db.database)
    const content = extensionOf()
    const other = new Api(test.url, apiKey)
    expect(outcome(await upload(content, environment.id, other))).toBe('404 environment_not_found')
    expect(outcome(await upload(content, randomUUID()))).toBe('404 environment_not_found')
  })

  it('is not taken by an archived environment', async () => {
    const { id } = await mine.make()
    await mine.archive(id, 1)
    expect(outcome(await upload(extensionOf(), id))).toBe('409 environment_conflict')
  })

  it('must be what its digest says', async () => {
    const answer = await uploadTo(test.api, environment.id, 'a'.repeat(64), extensionOf())
    expect(answer).toMatchObject({
      status: 400,
      body: { error: 'environment_invalid', issues: [{ path: ['sha256'] }] },
    })
  })

  it('must be sent as application/zip', async () => {
    const content = extensionOf()
    for (const type of ['application/octet-stream', 'application/json']) {
      const answer = await uploadTo(test.api, environment.id, sha256Of(content), content, type)
      expect(outcome(answer)).toBe('415 unsupported_media_type')
    }
  })

  it('of one byte too many is refused, also if it names no length', async () => {
    const content = Buffer.alloc(environmentLimits.archiveBytes + 1)
    expect(outcome(await upload(content))).toBe('413 request_entity_too_large')
    const stream = new Blob([content]).stream()
    expect(outcome(await uploadTo(test.api, environment.id, sha256Of(content), stream))).toBe(
      '413 request_entity_too_large',
    )
  })

  it('is stored once by two uploads at the same time', async () => {
    const content = extensionOf({ name: 'twice' })
    const answers = await Promise.all([upload(content), upload(content), upload(content)])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 201])
  })

  it('needs room in its organization, which counts an archive once, but a repeat needs none', async () => {
    const { organizationId } = test.tenant
    const { id } = await mine.make()
    const [held, late] = [extensionOf({ name: 'held' }), extensionOf({ name: 'late' })]
    expect((await upload(held, id)).status).toBe(201)
    const filler = await mine.make()
    const fill = async (sizes: readonly number[]) => {
      for (const [index, size] of sizes.entries()) {
        await test.db.database.query(
          `insert into environment_archives (organization_id, environment_id, sha256, size_bytes, extension)
           values ($1, $2, $3, $4, '{"id": "a", "name": "a", "version": "1.0.0"}')`,
          [organizationId, filler.id, `${index}`.repeat(64), size],
        )
      }
    }
    try {
      await fill([environmentLimits.archivesBytes - late.length])
      expect(outcome(await upload(late, id))).toBe('409 quota_exceeded')
      expect((await upload(held, id)).status).toBe(200)
      expect((await upload(held, (await mine.make()).id)).status).toBe(409)
    } finally {
      await test.db.database.query('delete from environment_archives where environment_id = $1', [filler.id])
    }
    expect((await upload(late, id)).status).toBe(201)
  })
})

const good: ZipEntry = { name: 'extension.json', content: manifestOf() }
const file = (name: string | Buffer, more: Partial<ZipEntry> = {}): ZipEntry => ({ name, content: 'x', ...more })

describe('a ZIP file', () => {
  it('may hold directories, files of Unix, ZIP64 sizes and names beyond ASCII', async () => {
    const content = zipOf([
      good,
      { name: 'skills/', mode: 0o040_755 },
      file('skills/größe.md', { mode: 0o100_644, flags: 0x800 }),
      file('wide.txt', { zip64: true }),
      file('stored.bin', { deflate: true }),
    ])
    expect((await upload(content)).status).toBe(201)
  })

  it.each<[string, readonly ZipEntry[], string?]>([
    ['a way out', [file('a/../../x')]],
    ['an absolute name', [file('/etc/x')]],
    ['a drive', [file('C:x')]],
    ['a backslash', [file('a\\x')]],
    ['U+0000', [file('a\0x')]],
    ['a `.` segment', [file('./x')]],
    ['an empty segment', [file('a//x')]],
    ['a name that is not UTF-8', [file(Buffer.from([0x61, 0xff]))]],
    ['a link', [file('x', { mode: 0o120_777 })]],
    ['a device', [file('x', { mode: 0o020_666 })]],
    ['a directory with content', [file('x/')]],
    ['an encrypted entry', [file('x', { flags: 1 })]],
    ['an entry twice', [file('x'), file('x')]],
    ['an entry twice but for case', [file('x.md'), file('X.md')]],
    ['a file that is a directory too', [file('x'), file('x/y')]],
    ['a file that lies too deep', [file(`${'d/'.repeat(32)}x`)]],
    ['a local header of another name', [file('x', { local: { name: 'y' } })]],
    ['a local header of another size', [file('x', { local: { size: 2 } })]],
    ['a local header of other flags', [file('x', { local: { flags: 1 } })]],
    ['an entry over another', [file('x'), file('x2', { over: 1, name: 'x' })]],
    ['a false checksum', [file('x', { crc: 1 })]],
    ['more than the headers say', [file('x', { content: 'x'.repeat(9999), deflate: true, size: 9 })]],
    ['less than the headers say', [file('x', { deflate: true, size: 9 })]],
  ])('is refused for %s', async (_, entries) => {
    const answer = await upload(zipOf([good, ...entries]))
    expect(outcome(answer)).toBe('400 environment_invalid')
    expect((answer.body['issues'] as Issue[])[0]?.path[0]).toBe('archive')
  })

  it('is refused for an entry within the data of another', async () => {
    const inner = file('inner')
    const alone = zipOf([inner])
    const outer = file('outer', { content: alone.subarray(0, alone.indexOf('PK\x01\x02', 0, 'latin1')) })
    const whole = zipOf([outer, inner, good])
    // The central header of `inner` names the local header within the data of `outer`.
    const second = whole.indexOf('PK\x01\x02', whole.indexOf('PK\x01\x02', 0, 'latin1') + 4, 'latin1')
    whole.writeUInt32LE(30 + 'outer'.length, second + 42)
    expect(await upload(whole)).toMatchObject({
      status: 400,
      body: { issues: [{ path: ['archive', 'inner'], message: 'overlaps another entry' }] },
    })
  })

  it('is refused for more than 10 000 entries', async () => {
    const most = Array.from({ length: environmentLimits.archiveEntries }, (_, index) => ({ name: `f${index}` }))
    expect(outcome(await upload(zipOf([good, ...most])))).toBe('400 environment_invalid')
    expect((await upload(zipOf([good, ...most.slice(1)]))).status).toBe(201)
  })

  it('is refused for more than 10 000 directories, which no entry has to name', async () => {
    const deep = Array.from({ length: 500 }, (_, index) => ({ name: `${index}/${'d/'.repeat(20)}f` }))
    expect(await upload(zipOf([good, ...deep]))).toMatchObject({
      status: 400,
      body: { issues: [{ path: ['archive'], message: expect.stringContaining('directories') }] },
    })
    expect((await upload(zipOf([good, ...deep.slice(0, 100)]))).status).toBe(201)
  })

  it('is refused for more than 200 MiB', async () => {
    const half = Buffer.alloc(environmentLimits.archiveExpandedBytes / 2)
    const answer = await upload(
      zipOf([good, file('a', { content: half, deflate: true }), file('b', { content: half, deflate: true })]),
    )
    expect(answer).toMatchObject({ status: 400, body: { issues: [{ path: ['archive', 'b'] }] } })
  })

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('no archive')],
    ['a cut archive', extensionOf().subarray(0, -9)],
  ])('is not %s', async (_, content) => {
    expect(outcome(await upload(Buffer.from(content)))).toBe('400 environment_invalid')
  })
})

describe('an extension.json', () => {
  const refused = async (content: Buffer<ArrayBuffer>) => {
    const answer = await upload(content)
    expect(outcome(answer)).toBe('400 environment_invalid')
    return (answer.body['issues'] as Issue[]).map(({ path }) => path.join('/'))
  }

  it('may name skills, commands and servers, and whatever else', async () => {
    const contributes = { skills: ['skills'], commands: ['./commands'], mcpServers: { a: { command: 'a' } } }
    expect((await upload(extensionOf({ contributes, author: 'me', version: '2.0.0-rc.1+5' }))).status).toBe(201)
    expect((await upload(extensionOf({ contributes: { mcpServers: 'mcp.json' } }))).status).toBe(201)
  })

  it.each<[string, object, string]>([
    ['no id', { id: undefined }, 'id'],
    ['a long id', { id: 'a'.repeat(65) }, 'id'],
    ['an id with --', { id: 'a--b' }, 'id'],
    ['an id in upper case', { id: 'A' }, 'id'],
    ['a long name', { name: 'n'.repeat(101) }, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['another version', { version: 'v1' }, 'version'],
    ['no range', { compat: {} }, 'compat/pluginApi'],
    ['a range that is none', { compat: { pluginApi: 'one' } }, 'compat/pluginApi'],
    ['a range beyond this platform', { compat: { pluginApi: '>=2' } }, 'compat/pluginApi'],
    ['Electron', { compat: { pluginApi: '*', electron: '>=30' } }, 'compat/electron'],
    ['Electron as an engine', { engines: { electron: '>=30' } }, 'engines/electron'],
    ['agent runtimes', { contributes: { agentRuntimes: [] } }, 'contributes/agentRuntimes'],
    ['runtimes', { contributes: { runtimes: [] } }, 'contributes/runtimes'],
    ['an unknown contribution', { contributes: { constructor: [] } }, 'contributes/constructor'],
    ['skills outside', { contributes: { skills: ['../x'] } }, 'contributes/skills'],
    ['servers that are none', { contributes: { mcpServers: { a: 1 } } }, 'contributes/mcpServers'],
  ])('is refused for %s', async (_, more, path) => {
    expect(await refused(extensionOf(more))).toEqual([`extension.json/${path}`])
  })

  it('must be there, at the root', async () => {
    expect(await refused(zipOf([file('x')]))).toEqual(['extension.json'])
    expect(await refused(zipOf([{ ...good, name: 'tools/extension.json' }]))).toEqual(['extension.json'])
  })

  it('must be a JSON object of at most 1 MiB', async () => {
    expect(await refused(zipOf([{ ...good, content: '{' }]))).toEqual(['extension.json'])
    expect(await refused(zipOf([{ ...good, content: '[]' }]))).toEqual(['extension.json'])
    const padded = manifestOf().padEnd(environmentLimits.manifestBytes + 1)
    expect(await refused(zipOf([{ ...good, content: padded, deflate: true }]))).toEqual(['extension.json'])
    expect((await upload(zipOf([{ ...good, content: padded.slice(0, -1), deflate: true }]))).status).toBe(201)
  })
})
