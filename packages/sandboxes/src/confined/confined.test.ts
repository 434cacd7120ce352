import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { confine } from './confined.ts'

const NOBODY = 65_534
const bounds = { memoryBytes: 1024 ** 3, cpuSeconds: 10, fileBytes: 1024 ** 2 }
/** Numbers of `open_by_handle_at` and `keyctl` on this architecture. */
const numbers = process.arch === 'x64' ? [304, 250] : [265, 219]
/** Perl makes system calls by number, and comes with git. */
const probe = [
  ...numbers.map(number => `syscall(${number}, -1, 0, 0); print $! + 0, "\\n";`),
  'for my $fd (3 .. 20) { print "descriptor $fd\\n" if open(my $copy, "<&=", $fd) }',
].join(' ')

describe('a confined program', () => {
  it.each([true, false])('runs under the system-call filter (may read all files: %s)', async readsAll => {
    const program = await confine({
      ...(process.getuid?.() === 0 && { uid: NOBODY }),
      readsAll,
      bounds,
      environment: { PATH: '/usr/bin:/bin' },
      directories: [],
      mounts: [],
      command: ['perl', '-e', probe],
    })
    program.input.end()
    const [output, end] = await Promise.all([text(program.output), program.ended])
    expect(end).toBe('0')
    // EPERM twice, and no descriptor beyond the standard streams.
    expect(output).toBe('1\n1\n')
  })
})

const uid = 190_017
const [nameToHandle, openByHandle] = process.arch === 'x64' ? [303, 304] : [264, 265]
/** Opens the directory in its first argument by a handle, and prints the result. */
const opensByHandle = `
my $handle = pack("L l", 128, 0) . ("\\0" x 128);
my $mount = pack("i", 0);
opendir(my $directory, $ARGV[0]) or die "not opened: $!";
my $named = syscall(${nameToHandle}, -100, $ARGV[0], $handle, $mount, 0);
my $opened = $named < 0 ? $named : syscall(${openByHandle}, fileno($directory), $handle, 0);
print $opened < 0 ? "refused: $!\\n" : "opened\\n";
`
let dir = ''

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'berth-confined-'))
  mkdirSync(join(dir, 'tree'))
  for (const [name, mode] of [
    ['closed', 0o000],
    ['of-root', 0o600],
  ] as const) {
    writeFileSync(join(dir, 'tree', name), `${name}\n`)
    chmodSync(join(dir, 'tree', name), mode)
  }
  mkdirSync(join(dir, 'system'))
  writeFileSync(join(dir, 'system/secret'), 'secret\n')
  chmodSync(join(dir, 'system/secret'), 0o600)
  symlinkSync('/system', join(dir, 'tree/swapped'))
  for (const name of ['tree', 'tree/closed']) chownSync(join(dir, name), uid, uid)
})
afterAll(() => rmSync(dir, { recursive: true }))

async function run(...command: readonly string[]): Promise<{ output: string; ended: string }> {
  const program = await confine({
    uid,
    readsAll: true,
    bounds,
    environment: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    directories: [],
    mounts: ['--ro-bind', join(dir, 'tree'), '/tree', '--ro-bind', join(dir, 'system'), '/system'],
    command,
  })
  program.input.end()
  const [output, ended] = await Promise.all([text(program.output), program.ended])
  return { output, ended }
}

describe.runIf(process.getuid?.() === 0)('a confined program that ignores file modes', () => {
  test('reads files that its own user has closed', async () => {
    expect(await run('cat', '/tree/closed')).toEqual({ output: 'closed\n', ended: '0' })
  })

  test('cannot read files that another user has closed, even through a link in the tree', async () => {
    for (const path of ['/tree/of-root', '/tree/swapped/secret']) {
      expect(await run('cat', path)).toMatchObject({ output: '', ended: expect.stringContaining('Permission denied') })
    }
  })

  test('cannot open files by handle, which would reach the whole file system', async () => {
    for (const path of ['/usr', '/tree']) {
      expect((await run('perl', '-e', opensByHandle, path)).output).toBe('refused: Operation not permitted\n')
    }
  })

  test('runs in a user namespace that maps only its own uid', async () => {
    const shown = await run('stat', '-c', '%u %n', '/tree/closed', '/tree/of-root', '/usr')
    expect(shown.output).toBe(`${uid} /tree/closed\n65534 /tree/of-root\n65534 /usr\n`)
  })
})
