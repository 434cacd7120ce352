import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noHelm } from './lib/helm.ts'
import { billOfMaterials, systemComponents } from './release/bill-of-materials.ts'
import { notesOf } from './release/fitness.ts'

const root = join(import.meta.dirname, '..')
const { version }: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Two packages name their licence in a field that npm no longer reads; both have that of MIT. */
const licensedElsewhere = ['busboy', 'streamsearch']

describe('the bill of materials', () => {
  const { components, metadata } = billOfMaterials(root, version)
  const names = new Set(components.map(({ name }) => name))

  it('is that of this version', () => {
    expect(metadata.component).toMatchObject({ name: 'berth', version })
  })

  it('has every production dependency of the service, and none of its tests', () => {
    const manifests = globSync(
      'packages/{platform,sandboxes,core,gateway,kubernetes,worker,triggers,server}/package.json',
      {
        cwd: root,
      },
    )
    const outside = manifests
      .flatMap(path => Object.keys(JSON.parse(readFileSync(join(root, path), 'utf8')).dependencies))
      .filter(name => !name.startsWith('@berth/'))
    expect(outside.length).toBeGreaterThan(10)
    expect(outside.filter(name => !names.has(name))).toEqual([])
    expect(['vitest', '@biomejs/biome', 'playwright-core'].filter(name => names.has(name))).toEqual([])
  })

  it('names a licence of each', () => {
    const unknown = components.filter(({ licenses = [] }) => licenses.length === 0).map(({ name }) => name)
    expect(unknown.filter(name => !licensedElsewhere.includes(name))).toEqual([])
  })
})

describe('the bill of materials of an image', () => {
  const list = 'git\t1:2.39.5-0+deb12u3\tamd64\ntini\t0.19.0-1+b3\tamd64\ngit\t1:2.39.5-0+deb12u3\tamd64\n'

  it('has the packages of its system besides, each once', () => {
    const of = (name: string, version: string, inUrl: string) => ({
      ...{ type: 'library', name, version, purl: `pkg:deb/debian/${name}@${inUrl}?arch=amd64` },
    })
    const system = [
      of('git', '1:2.39.5-0+deb12u3', '1%3A2.39.5-0%2Bdeb12u3'),
      of('tini', '0.19.0-1+b3', '0.19.0-1%2Bb3'),
    ]
    expect(systemComponents(list)).toEqual(system)
    const { components } = billOfMaterials(root, version, systemComponents(list))
    expect(components.slice(-2)).toEqual(system)
    expect(components.length).toBe(billOfMaterials(root, version).components.length + 2)
  })
})

describe('the notes of a release', () => {
  const changelog =
    '# Changelog\n\nWords.\n\n## Unreleased\n\n- A\n\n## 1.2.0 (2026-01-02)\n\n- B\n\n### Added\n\n- C\n\n## 1.1.0\n\n- D\n'

  it('are what the changelog says of its version', () => {
    expect(notesOf(changelog, '1.2.0')).toBe('- B\n\n### Added\n\n- C\n')
    expect(notesOf(changelog, '1.1.0')).toBe('- D\n')
  })

  it('must be there', () => {
    for (const missing of ['1.2', '1.3.0', '2.0.0']) expect(() => notesOf(changelog, missing)).toThrow('Unreleased')
    expect(() => notesOf('## 1.0.0\n\n## 0.9.0\n\n- A\n', '1.0.0')).toThrow('says nothing of 1.0.0')
  })
})

describe('a release', () => {
  let place: string
  let checkout: string
  const git = (...args: string[]) => execFileSync('git', args, { cwd: checkout, encoding: 'utf8' })
  const release = () => {
    const args = ['script/release.ts', join(place, 'out')]
    const { status, stderr, stdout } = spawnSync(process.execPath, args, { cwd: checkout, encoding: 'utf8' })
    return { status, stderr, stdout }
  }
  beforeAll(() => {
    place = mkdtempSync(join(tmpdir(), 'berth-release-'))
    checkout = join(place, 'checkout')
    execFileSync('git', ['clone', '--quiet', root, checkout])
    for (const name of ['user.name', 'user.email']) git('config', name, 'nobody@example.test')
    // Changes that are not committed are tested as well.
    execFileSync('cp', ['-r', join(root, 'script'), checkout])
    git('add', '--all')
    if (git('status', '--porcelain') !== '') git('commit', '--quiet', '--message', 'Change the script')
    symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
    writeFileSync(join(checkout, '.git/info/exclude'), 'node_modules\n')
  })
  afterAll(() => rmSync(place, { recursive: true }))

  it('is refused while something is not committed', () => {
    writeFileSync(join(checkout, 'stray'), '')
    expect(release()).toMatchObject({ status: 1, stderr: expect.stringContaining('not committed:\n?? stray') })
    rmSync(join(checkout, 'stray'))
  })

  it('is refused if its tag is there', () => {
    git('tag', `v${version}`)
    expect(release()).toMatchObject({ status: 1, stderr: expect.stringContaining(`the tag v${version} exists`) })
    git('tag', '--delete', `v${version}`)
    expect(existsSync(join(place, 'out'))).toBe(false)
  })

  it.skipIf(noHelm !== undefined)('is a folder of files with their sums, and publishes nothing', () => {
    const { status, stdout, stderr } = release()
    expect([status, stderr]).toEqual([0, ''])
    const out = join(place, 'out')
    const files = readdirSync(out).sort()
    expect(files).toEqual(
      [
        ...['SHA256SUMS', 'notes.md', 'sbom.cdx.json'],
        ...[`berth-${version}.tar.gz`, `berth-${version}.tgz`],
        ...[`berth-cli-${version}.tgz`, `berth-client-${version}.tgz`],
      ].sort(),
    )
    const sums = readFileSync(join(out, 'SHA256SUMS'), 'utf8')
    for (const name of files.filter(each => each !== 'SHA256SUMS')) {
      const digest = createHash('sha256')
        .update(readFileSync(join(out, name)))
        .digest('hex')
      expect(sums).toContain(`${digest}  ${name}\n`)
    }
    for (const command of ['git tag', 'npm publish', 'helm push', 'podman build']) expect(stdout).toContain(command)
    expect(git('tag')).toBe('')
  })
})
