import { mkdtemp, readdir, readFile, rm, stat, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BlobMissing } from '@berth/platform/storage/blobs/blobs.ts'
import { extensionOf, sha256Of, zipOf } from '@berth/testing/environments/zip.ts'
import { hostCache } from '@berth/testing/storage/host-cache.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { UnpackedExtensions } from '../../src/environments/extensions/unpacked-extensions.ts'

const never = new AbortController().signal
async function* chunks(content: Buffer) {
  yield content.subarray(0, 10)
  yield content.subarray(10)
}

let directory: string
let unpacked: UnpackedExtensions
let spooled: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-unpacked-'))
  spooled = await mkdtemp(join(tmpdir(), 'berth-spooled-'))
  unpacked = new UnpackedExtensions(hostCache(directory), spooled)
})
afterEach(async () => {
  for (const each of [directory, spooled]) await rm(each, { recursive: true, force: true })
})

/** Unpacks an archive, and counts how often it is read. */
let reads = 0
const provide = (content: Buffer, sha256 = sha256Of(content), from = unpacked) =>
  from.provide(
    sha256,
    async () => {
      reads += 1
      return chunks(content)
    },
    never,
  )

const skill = (name: string) => `---\nname: ${name}\ndescription: The ${name}.\n---\nDo it.\n`
const full = extensionOf({}, [
  { name: 'skills/build/SKILL.md', content: skill('build') },
  { name: 'skills/build/run.sh', content: '#!/bin/sh\n', mode: 0o100755 },
  { name: 'skills/notes.txt', content: 'no skill' },
  { name: 'skills/bad name/SKILL.md', content: skill('bad') },
  { name: 'commands/ship.md', content: '---\ndescription: Ship it\nallowed-tools: Bash\n---\nShip $ARGUMENTS.\n' },
  { name: 'commands/plain.md', content: '\n# Plain "words"\nmore' },
  { name: 'commands/build.md', content: 'a second build' },
  { name: 'mcp.json', content: '{"mcpServers":{"files":{"command":"node"},"bad":{}}}' },
  { name: 'empty/' },
])

describe('an extension', () => {
  it('is unpacked once, whatever its callers, and says what it brings', async () => {
    reads = 0
    const [one, two] = await Promise.all([provide(full), provide(full)])
    const three = await provide(full, sha256Of(full), new UnpackedExtensions(hostCache(directory), spooled))
    expect([reads, two, three]).toEqual([1, one, one])
    expect(one).toMatchObject({
      identity: { id: 'tools', name: 'Tools', version: '1.2.3' },
      directory: join(directory, sha256Of(full)),
      skills: [
        { name: 'build', from: 'content/skills/build' },
        { name: 'plain', from: 'commands/plain' },
        { name: 'ship', from: 'commands/ship' },
      ],
      servers: [{ name: 'tools.files', kind: 'stdio', command: 'node' }],
      leftOut: [
        'skill bad name: its name is not valid',
        'skill build: the extension has two of this name',
        expect.stringContaining('MCP server bad'),
      ],
    })
    expect(await readdir(directory)).toEqual([sha256Of(full)])
  })

  it('can be read by every user and written by none, and keeps what may be run', async () => {
    const { directory: at } = await provide(full)
    const mode = async (name: string) => ((await stat(join(at, name))).mode & 0o777).toString(8)
    expect(await mode('content/skills/build/run.sh')).toBe('555')
    expect(await mode('content/extension.json')).toBe('444')
    expect(await mode('commands/ship/SKILL.md')).toBe('444')
    for (const name of ['.', 'content', 'content/empty', 'content/skills/build', 'commands/ship'])
      expect(await mode(name)).toBe('755')
  })

  it('makes skills of its commands, with a head that YAML can read', async () => {
    const { directory: at } = await provide(full)
    const text = (name: string) => readFile(join(at, 'commands', name, 'SKILL.md'), 'utf8')
    expect(await text('ship')).toBe('---\nname: ship\ndescription: Ship it\n---\nShip $ARGUMENTS.\n')
    expect(await text('plain')).toBe('---\nname: plain\ndescription: "Plain \\"words\\""\n---\n\n# Plain "words"\nmore')
  })

  it('has a command without its byte order mark, and leaves out one that is not UTF-8 or too long', async () => {
    const { directory: at, ...brought } = await provide(
      extensionOf({}, [
        { name: 'commands/latin.md', content: Buffer.from('caf\xe9', 'latin1') },
        { name: 'commands/long.md', content: 'é'.repeat(1024 ** 2 / 2 + 1) },
        { name: 'commands/mark.md', content: '\ufeff---\ndescription: Mark\n---\nDo it.\n' },
        { name: 'commands/whole.md', content: 'é'.repeat(1024 ** 2 / 2) },
      ]),
    )
    expect(brought).toMatchObject({
      skills: [{ name: 'mark' }, { name: 'whole' }],
      leftOut: ['latin', 'long'].map(name => `command ${name}: is not UTF-8 of at most 1048576 bytes`),
    })
    const text = await readFile(join(at, 'commands/mark/SKILL.md'), 'utf8')
    expect(text).toBe('---\nname: mark\ndescription: Mark\n---\nDo it.\n')
  })

  it('reads the places that its manifest names, and says which are not there', async () => {
    const content = extensionOf(
      { contributes: { skills: ['./mine/', 'gone'], commands: [], mcpServers: 'servers.json' } },
      [
        { name: 'mine/SKILL.md', content: skill('mine') },
        { name: 'commands/unused.md', content: 'x' },
        { name: 'mcp.json', content: '{"unused":{"command":"x"}}' },
        { name: 'servers.json', content: '{"one":{"command":"x"}}' },
      ],
    )
    expect(await provide(content)).toMatchObject({
      skills: [{ name: 'mine' }],
      servers: [{ name: 'tools.one' }],
      leftOut: ['directory gone: is not in the archive'],
    })
  })

  it.each<[string, Buffer, string]>([
    ['of another digest', Buffer.concat([full, Buffer.from(' ')]), 'corrupt'],
    ['that is no archive', Buffer.from('no archive'), 'corrupt'],
    ['with a link', zipOf([{ name: 'link', content: '/etc', mode: 0o120777 }]), 'corrupt'],
    ['for another platform', extensionOf({ compat: { pluginApi: '^2.0.0' } }), 'incompatible'],
  ])('%s leaves nothing behind', async (kind, content, reason) => {
    const sha256 = kind === 'of another digest' ? sha256Of(full) : sha256Of(content)
    await expect(provide(content, sha256)).rejects.toThrow(reason)
    expect(await readdir(directory)).toEqual([])
  })

  it('whose archive is gone is missing, and can be had once it is back', async () => {
    const gone = unpacked.provide(sha256Of(full), () => Promise.reject(new BlobMissing(sha256Of(full))), never)
    await expect(gone).rejects.toThrow('missing')
    expect((await provide(full)).skills).toHaveLength(3)
  })

  it('is not unpacked beyond the bound of the host, until an unused one makes room', async () => {
    const old = await provide(full)
    const other = extensionOf({ id: 'other' })
    const big = new UnpackedExtensions(hostCache(directory, { bytes: 291_635_200 + 10 }), spooled)
    await expect(provide(other, sha256Of(other), big)).rejects.toThrow('no room')
    await utimes(old.directory, new Date(0), new Date(0))
    await provide(other, sha256Of(other), big)
    await expect.poll(() => readdir(directory)).toEqual([sha256Of(other)])
  })

  it('goes when nobody has used it since a time, and a use keeps it', async () => {
    const old = await provide(full)
    const before = new Date(Date.now() - 60_000)
    await utimes(old.directory, new Date(0), new Date(0))
    await provide(full)
    expect(await unpacked.tidy(before, never)).toBe(0)
    await utimes(old.directory, new Date(0), new Date(0))
    expect(await unpacked.tidy(before, never)).toBe(1)
    expect(await readdir(directory)).toEqual([])
  })

  it('is read no further once nobody waits for it', async () => {
    const stopping = new AbortController()
    const reading = Promise.withResolvers<void>()
    const stalled = async () =>
      (async function* () {
        yield full.subarray(0, 10)
        reading.resolve()
        await new Promise(() => undefined)
      })()
    const waiting = unpacked.provide(sha256Of(full), stalled, stopping.signal)
    await reading.promise
    stopping.abort(new Error('the run was cancelled'))
    await expect(waiting).rejects.toThrow('the run was cancelled')
    expect((await provide(full)).skills).toHaveLength(3)
  })
})
