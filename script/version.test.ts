import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const { version }: { version: string } = JSON.parse(read('package.json'))
const manifests = globSync('packages/*/package.json', { cwd: root }).sort()
const run = (program: string, ...args: string[]) => execFileSync(program, args, { cwd: root, encoding: 'utf8' })

test.each(manifests)('%s has the version of the release', path => {
  expect(JSON.parse(read(path)).version).toBe(version)
})

test('the lock names the same version for each package', () => {
  const { packages }: { packages: Record<string, { version?: string }> } = JSON.parse(read('package-lock.json'))
  const own = ['', ...manifests.map(path => path.replace('/package.json', ''))]
  expect(own.map(path => [path, packages[path]?.version])).toEqual(own.map(path => [path, version]))
})

test('the chart of Kubernetes deploys the images of the same version', () => {
  const chart = read('deploy/kubernetes/chart/Chart.yaml')
  expect(chart).toContain(`\nversion: ${version}\n`)
  expect(chart).toContain(`\nappVersion: "${version}"\n`)
})

test('no source writes the version down: each reads a manifest', () => {
  const sources = globSync('packages/*/src/**/*.ts', { cwd: root })
    // Agents of others have versions of their own.
    .filter(path => !path.endsWith('.test.ts') && !/\/runtimes\/foreign\/|^packages\/testing\//.test(path))
  const named = /version\b[^\n]{0,12}['"`]\d+\.\d+\.\d+['"`]/i
  expect(sources.filter(path => named.test(read(path)))).toEqual([])
})

test('the command, the service and its scripts print the version', () => {
  expect(run('bin/berth', '--version')).toBe(`${version}\n`)
  expect(run('script/server', '--version')).toBe(`${version}\n`)
  expect(run(process.execPath, 'packages/server/dist/main.js', '--version')).toBe(`${version}\n`)
})

test('the first line of the log tells the version, even if the start fails', () => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-version-'))
  // Nobody listens on this port.
  const settings = { BERTH_DATA_DIR: directory, DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' }
  try {
    const env = { PATH: process.env['PATH'], BERTH_LOG_FORMAT: 'json', ...settings }
    const { stdout, status } = spawnSync(process.execPath, ['packages/server/dist/main.js'], { cwd: root, env })
    expect(JSON.parse(`${stdout}`.split('\n')[0] ?? '')).toMatchObject({ msg: 'Berth is starting', version })
    expect(status).toBe(1)
  } finally {
    rmSync(directory, { recursive: true })
  }
})

test('the changelog begins with this version, or with changes to come before it', () => {
  const [first, second] = [...read('CHANGELOG.md').matchAll(/^## (.+)$/gm)].map(([, name]) => name)
  expect(first === 'Unreleased' ? second : first).toMatch(new RegExp(`^${version.replaceAll('.', '\\.')}\\b`))
})
