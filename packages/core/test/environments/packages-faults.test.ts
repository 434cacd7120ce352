import { execFileSync } from 'node:child_process'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { appliesIn, outputIn } from '@berth/testing/environments/applying.ts'
import { AptRepository } from '@berth/testing/environments/apt-repository.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { destroySandboxes } from '@berth/testing/faults/destroy-sandboxes.ts'
import { runDirectory } from '@berth/testing/leaks/run-directory.ts'
import { shortFence, startTestService, type TestService, variablesAlongside } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

const stack = new AsyncDisposableStack()
let service: TestService
let repository: AptRepository
let dataDir: string
let worker: ServiceProcess
beforeAll(async () => {
  repository = stack.use(
    await AptRepository.open([
      {
        name: 'berth-waits',
        files: { '/usr/bin/berth-waits': '#!/bin/sh\necho installed\n' },
        postinst: 'until [ -e /etc/go ]; do date +%N > /etc/beat; sleep 0.05; done',
      },
    ]),
  )
  service = stack.use(await startTestService({ variables: { BERTH_ROLES: 'api' } }))
  dataDir = await runDirectory('worker')
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  // Shared, like all mounts of a host under systemd.
  execFileSync('mount', ['--bind', dataDir, dataDir])
  stack.defer(() => void execFileSync('umount', ['--recursive', dataDir]))
  execFileSync('mount', ['--make-shared', dataDir])
  stack.defer(() => destroySandboxes(dataDir))
  stack.defer(() => worker.kill())
  worker = await startWorker()
})
afterAll(() => stack.disposeAsync())

const startWorker = () =>
  startServiceProcess({
    ...variablesAlongside(service),
    BERTH_ROLES: 'worker',
    BERTH_DATA_DIR: dataDir,
    ...shortFence,
    BERTH_PACKAGE_SOURCES: repository.sources,
  })

/** Waits for an installation that is at work in a directory, and returns its /etc. */
const installing = (before: readonly string[] = []) =>
  until('an installation at work', async () => {
    const names = await readdir(join(dataDir, 'package-layers')).catch(() => [])
    for (const name of names.filter(name => !before.includes(name))) {
      const etc = join(dataDir, 'package-layers', name, 'etc')
      if (await stat(join(etc, 'beat')).catch(() => false)) return { name, etc }
    }
    return undefined
  })

/** Returns how the data directory is mounted for each process that has mounts of an installation in it. */
async function mountsOfInstallers(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const texts = await Promise.all(pids.map(pid => readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '')))
  return texts.flatMap(text => {
    const mounts = new Map(text.split('\n').map(line => [line.split(' ')[4] ?? '', line]))
    const isInstaller = [...mounts.keys()].some(at => at.startsWith(`${dataDir}/package-layers/`))
    return isInstaller ? [mounts.get(dataDir) ?? ''] : []
  })
}

test('a worker that is killed while it installs packages takes the installation along, and the next begins anew', async () => {
  const { id } = await new Environments(service.api).make({ packages: ['berth-waits'] })
  const session = await service.api.createSession({ runtime: 'shell', environment: { id } }, 'berth-waits')
  const { name, etc } = await installing()
  await until('the output of the installation', async () =>
    outputIn(await service.api.events(session.id)).includes('Setting up berth-waits'),
  )
  // An unmount of the host reaches the installation, or it would keep the disks of ended sandboxes.
  const mounts = await mountsOfInstallers()
  expect(mounts.length).toBeGreaterThan(0)
  for (const mount of mounts) expect(mount).toMatch(/ master:\d+ /)
  await worker.kill()
  const beat = () => readFile(join(etc, 'beat'), 'utf8')
  await until('the scripts have ended', async () => {
    const seen = await beat()
    const later = Date.now() + 300
    return until('some beats', () => Date.now() > later).then(async () => (await beat()) === seen)
  })
  expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(dataDir.concat('/package-layers'))
  worker = await startWorker()
  const again = await installing([name])
  await writeFile(join(again.etc, 'go'), '')
  const events = await service.api.runEnded(session.id, session.activeRunId ?? '', 240_000)
  expect(appliesIn(events).map(({ status, errorCode }) => [status, errorCode])).toEqual([
    ['started', undefined],
    ['failed', 'apply_failed'],
    ['started', undefined],
    ['succeeded', undefined],
  ])
  expect(appliesIn(events).at(-1)).toMatchObject({ packages: { state: 'built' } })
  expect(events.findLast(({ type }) => type === 'svc.activity.completed')?.data['output']).toBe('installed\n')
})
