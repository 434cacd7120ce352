import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const main = join(import.meta.dirname, '../../dist/main.js')
const asRoot = process.getuid?.() === 0

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-data-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

/** Starts a service that cannot; returns how it ended and its last line. The database of the URL does not answer. */
function refused(variables: Readonly<Record<string, string>>, through: readonly string[] = []) {
  const [file = '', ...args] = [...through, process.execPath, main]
  const { status, signal, stderr } = spawnSync(file, args, {
    env: { PATH: process.env['PATH'], BERTH_PORT: '0', DATABASE_URL: 'postgresql://x@127.0.0.1:9/x', ...variables },
    encoding: 'utf8',
    // Only a service that never ends is killed.
    timeout: 90_000,
    killSignal: 'SIGKILL',
  })
  return { status, signal, stderr }
}

const inOneLine = (line: string) => ({ status: 1, signal: null, stderr: `berth: ${line}\n` })
const unusable = (dataDir: string, cause: string) =>
  inOneLine(`the data directory ${dataDir} (BERTH_DATA_DIR) cannot be used: ${cause}`)

test('a data directory below /proc is refused at once, however deep', () => {
  for (const dataDir of ['/proc/berth', '/proc/berth/a/b']) {
    expect(refused({ BERTH_DATA_DIR: dataDir })).toEqual(unusable(dataDir, 'its file system takes no new directories'))
  }
})

test('a directory of blobs below /proc is refused at once', () => {
  const module = join(import.meta.dirname, '../../../platform/src/storage/blobs/file-blobs.ts')
  const script = `import { FileBlobs } from ${JSON.stringify(module)}
    await FileBlobs.open('/proc/berth').catch(error => console.log(error.code))`
  const args = ['--input-type=module', '--eval', script]
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 90_000, killSignal: 'SIGKILL' })
  expect(stdout).toBe('ENOENT\n')
})

test('a file in place of the data directory, or above it, is refused', () => {
  const file = join(directory, 'file')
  writeFileSync(file, '')
  const inPlace = 'something other than a directory is in its place'
  expect(refused({ BERTH_DATA_DIR: file })).toEqual(unusable(file, inPlace))
  const below = join(file, 'data')
  expect(refused({ BERTH_DATA_DIR: below })).toEqual(unusable(below, 'a part of the path is not a directory'))
})

test.runIf(asRoot)('a data directory that the service may only read is refused', () => {
  const dataDir = join(directory, 'data')
  mkdirSync(dataDir, { mode: 0o755 })
  chmodSync(directory, 0o755)
  // Still root's uid, so that it can read this checkout, but without the capability to write everywhere.
  const bare = ['setpriv', '--bounding-set=-all', '--inh-caps=-all']
  chmodSync(dataDir, 0o555)
  expect(refused({ BERTH_DATA_DIR: dataDir }, bare)).toEqual(unusable(dataDir, 'permission denied'))
})

test.runIf(asRoot)('a data directory on a file system that is read-only, or full, is refused', () => {
  const mounted = join(directory, 'mounted')
  mkdirSync(mounted)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'berth-test', mounted])
  try {
    expect(() => writeFileSync(join(mounted, 'filler'), Buffer.alloc(1 << 20))).toThrow('ENOSPC')
    expect(refused({ BERTH_DATA_DIR: mounted })).toEqual(unusable(mounted, 'no space left on the disk'))
    execFileSync('mount', ['-o', 'remount,ro', mounted])
    for (const dataDir of [mounted, join(mounted, 'data')]) {
      expect(refused({ BERTH_DATA_DIR: dataDir })).toEqual(unusable(dataDir, 'the file system is read-only'))
    }
  } finally {
    execFileSync('umount', [mounted])
  }
})
