import { chownSync, mkdirSync } from 'node:fs'
import { chmod, lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startLeaseScript } from '@berth/sandboxes/confined/lease-script.ts'
import { extensionOf, sha256Of } from '@berth/testing/environments/zip.ts'
import { hostCache } from '@berth/testing/storage/host-cache.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { placeSkills } from '../../src/environments/extensions/place-skills.ts'
import { type UnpackedExtension, UnpackedExtensions } from '../../src/environments/extensions/unpacked-extensions.ts'

const skill = (name: string) => `---\nname: ${name}\ndescription: ${name}\n---\n`
const directories = ['.agents/skills', '.claude/skills']

let base: string
let home: string
const uid = process.getuid?.() === 0 ? 190_023 : undefined
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'berth-skills-'))
  await chmod(base, 0o755)
  home = join(base, 'home')
  makeOwned('.')
})
afterEach(() => rm(base, { recursive: true, force: true }))

/** Makes a directory of the home's owner. */
function makeOwned(name: string): void {
  const path = join(home, name)
  mkdirSync(path)
  if (uid !== undefined) chownSync(path, uid, uid)
}

async function unpack(id: string, names: readonly string[]): Promise<UnpackedExtension> {
  const content = extensionOf(
    { id },
    names.flatMap(name => [
      { name: `skills/${name}/SKILL.md`, content: skill(`${id} ${name}`) },
      { name: `skills/${name}/deep/run.sh`, content: '#!/bin/sh\n', mode: 0o100755 },
    ]),
  )
  const archive = async () =>
    (async function* () {
      yield content
    })()
  const unpacked = new UnpackedExtensions(hostCache(join(base, 'unpacked')), base)
  return unpacked.provide(sha256Of(content), archive, new AbortController().signal)
}

const place = (extensions: readonly UnpackedExtension[], into = directories) =>
  placeSkills(
    script => startLeaseScript({ workspace: home, home, scratchDir: base, ...(uid !== undefined && { uid }) }, script),
    extensions,
    into,
    new AbortController().signal,
  )
const read = (name: string) => readFile(join(home, name), 'utf8')

describe('the skills of extensions', () => {
  it('are copied into every directory, as files of the owner that may be changed, and again changes nothing', async () => {
    const extensions = [await unpack('one', ['a', 'b']), await unpack('two', [])]
    for (const _ of ['first', 'again'])
      expect(await place(extensions)).toEqual([
        { kept: [], fault: null },
        { kept: [], fault: null },
      ])
    for (const directory of directories) {
      expect(await readdir(join(home, directory))).toEqual(['a', 'b'])
      expect(await read(`${directory}/a/SKILL.md`)).toBe(skill('one a'))
      const { mode, uid: owner } = await stat(join(home, directory, 'a/deep/run.sh'))
      expect([(mode & 0o777).toString(8), owner]).toEqual(['755', uid ?? process.getuid?.()])
    }
    expect(await readdir(join(home, '.local/share/extensions'))).toEqual(['one', 'two'])
  })

  it('leave what is there, and the first extension wins', async () => {
    makeOwned('.agents')
    makeOwned('.agents/skills')
    makeOwned('.agents/skills/a')
    await writeFile(join(home, '.agents/skills/a/SKILL.md'), 'mine')
    await symlink('/nowhere', join(home, '.agents/skills/c'))
    const [one, two] = [await unpack('one', ['a', 'b']), await unpack('two', ['b', 'c'])]
    expect(await place([one, two], ['.agents/skills'])).toEqual([
      { kept: ['a'], fault: null },
      { kept: ['b', 'c'], fault: null },
    ])
    expect(await read('.agents/skills/a/SKILL.md')).toBe('mine')
    expect(await read('.agents/skills/b/SKILL.md')).toBe(skill('one b'))
    expect((await lstat(join(home, '.agents/skills/c'))).isSymbolicLink()).toBe(true)
  })

  it('leave nothing of an extension that cannot be placed whole, and the others in place', async () => {
    await writeFile(join(home, '.claude'), 'a file in the way')
    const [one, two] = [await unpack('one', ['a']), await unpack('two', [])]
    expect(await place([one, two])).toEqual([
      { kept: [], fault: expect.stringMatching(/^skills could not be copied: .*\.claude/) },
      { kept: [], fault: null },
    ])
    expect(await readdir(join(home, '.agents/skills'))).toEqual([])
  })

  it('never follow a link out of the home', async () => {
    const outside = join(base, 'outside')
    mkdirSync(outside)
    await chmod(outside, 0o777)
    await symlink(outside, join(home, '.agents'))
    const [placed] = await place([await unpack('one', ['a'])])
    expect(placed?.fault).not.toBeNull()
    expect(await readdir(outside)).toEqual([])
  })
})
