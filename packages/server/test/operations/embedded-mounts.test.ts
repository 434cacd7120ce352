import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { makeLoopDisk } from '@berth/sandboxes/leases/loop-disk.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { until } from '@berth/testing/until.ts'
import { expect, test } from 'vitest'

test.runIf(process.getuid?.() === 0)(
  'a disk that was mounted before PostgreSQL started is freed by its unmount',
  async () => {
    await using stack = new AsyncDisposableStack()
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-mounts-'))
    stack.defer(() => rmSync(dataDir, { recursive: true }))
    // Shared, like all mounts of a host under systemd.
    execFileSync('mount', ['--bind', dataDir, dataDir])
    stack.defer(() => void execFileSync('umount', [dataDir]))
    execFileSync('mount', ['--make-shared', dataDir])
    const disk = join(dataDir, 'disk')
    mkdirSync(disk)
    await makeLoopDisk(disk, 64 * 1024 ** 2)
    const devices = () => execFileSync('losetup', ['--associated', join(disk, 'image')], { encoding: 'utf8' })
    expect(devices()).not.toBe('')

    stack.use(await startEmbeddedPostgres({ dataDir, log: silentLog }))
    execFileSync('umount', [join(disk, 'files')])
    await until('a free loop device', async () => devices() === '')
  },
)
