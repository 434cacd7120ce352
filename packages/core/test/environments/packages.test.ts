import { existsSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session } from '@berth/contract'
import type { SandboxDriver } from '@berth/sandboxes/driver.ts'
import { Applying, appliesIn, outputIn } from '@berth/testing/environments/applying.ts'
import { AptRepository } from '@berth/testing/environments/apt-repository.ts'
import { until } from '@berth/testing/until.ts'
import { RuntimeAnnouncer } from '@berth/worker/host/runtime-announcer.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** A file of the host that a maintainer script tries to write. */
const canary = join(tmpdir(), 'berth-canary-of-packages')

let repository: AptRepository
let bench: Applying
beforeAll(async () => {
  repository = await AptRepository.open([
    {
      name: 'berth-hello',
      depends: 'berth-words',
      files: { '/usr/bin/berth-hello': '#!/bin/sh\ncat /usr/share/berth-words/hello /etc/berth-hello.conf\n' },
      postinst: 'echo configured > /etc/berth-hello.conf; chmod u+s /usr/bin/berth-hello; useradd --system berth-user',
    },
    { name: 'berth-words', files: { '/usr/share/berth-words/hello': 'hello from a package\n' } },
    { name: 'berth-slow', postinst: 'touch /etc/berth-began; until [ -e /etc/berth-go ]; do sleep 0.05; done' },
    {
      name: 'berth-hostile',
      files: {
        '/opt/berth/evil': 'evil',
        '/opt/hostile/mark': 'kept',
        '/usr/bin/berth-hostile': '#!/bin/sh\necho ran\n',
      },
      postinst: [
        `echo broken > ${canary} || true; echo broken > /proc/1/root${canary} || true`,
        'echo pids $(ls /proc | grep -c "^[0-9]")',
        'cat /etc/shadow; cat /proc/net/route; mount -t tmpfs none /mnt || echo "no mount"; unshare -U true || echo "no namespace"',
        'mknod /usr/lib/berth-disk b 254 0 || echo "no device"; ln -sf /home/agent /etc/hosts; exit 0',
      ].join('\n'),
    },
    { name: 'berth-broken', postinst: 'echo about to fail; exit 3' },
  ])
  bench = await Applying.open()
})
afterAll(async () => {
  await bench[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

const work = (stack: AsyncDisposableStack, more: object = {}) =>
  bench.resuming.work(stack, { packageSources: repository.sources, ...more })

/** On a busy machine dpkg alone reads its database for a minute. */
const ended = (session: Session) => bench.api.runEnded(session.id, session.activeRunId ?? '', 240_000)

/** Runs a command in a new Session whose environment names the packages. */
async function run(packages: readonly string[], command: string, more: object = {}) {
  const session = await bench.session('', command, { packages, ...more })
  const events = await ended(session)
  const output = events.find(({ type }) => type === 'svc.activity.completed')?.data['output']
  return { session, events, apply: appliesIn(events).at(-1) ?? {}, output: String(output ?? '') }
}

describe('system packages of an environment', () => {
  test('are there for setup and agent, with what they depend on, and are installed once', async () => {
    await using stack = new AsyncDisposableStack()
    await work(stack)
    const setup = 'berth-hello > from-setup'
    const command =
      'cat from-setup; dpkg -s berth-words | grep Status; id -u berth-user; touch /usr/bin/x; stat -c %a /usr/bin/berth-hello'
    const first = await run(['berth-hello'], command, { setup })
    expect(first.apply).toMatchObject({ status: 'succeeded', packages: { state: 'built' } })
    expect(outputIn(first.events)).toMatch(/Unpacking berth-words[\s\S]*Setting up berth-hello/)
    expect(first.output).toContain('hello from a package\nconfigured\n')
    expect(first.output).toContain('Status: install ok installed')
    expect(first.output).toMatch(/no such user[\s\S]*Read-only file system/)
    const later = await run(['berth-hello'], 'berth-hello')
    expect(later.apply).toMatchObject({ status: 'succeeded', packages: { state: 'used' } })
    expect(later.output).toBe('hello from a package\nconfigured\n')
    expect(outputIn(later.events)).toBe('')
    expect(repository.fetched('berth-hello')).toBe(1)
    // The host itself has nothing of it.
    expect([existsSync('/usr/bin/berth-hello'), existsSync('/etc/berth-hello.conf')]).toEqual([false, false])
  })

  test('run their scripts without a way to the host, and get none into the sandbox', async () => {
    await writeFile(canary, 'whole')
    await using stack = new AsyncDisposableStack()
    stack.defer(() => rm(canary, { force: true }))
    await work(stack)
    const { events, output } = await run(
      ['berth-hostile'],
      'berth-hostile; cat /opt/hostile/mark; ls /opt/berth/evil; cat /etc/hosts | head -1; ls /usr/lib/berth-disk',
    )
    const text = outputIn(events)
    expect(text).toMatch(/no mount[\s\S]*no namespace[\s\S]*no device/)
    // apt, dpkg and the script itself, out of all of the host's.
    expect(Number(/pids (\d+)/.exec(text)?.[1])).toBeLessThan(12)
    expect(output).toMatch(/^ran\nkept/)
    expect(output).toContain('127.0.0.1 localhost')
    expect(output).toMatch(/cannot access '\/opt\/berth\/evil'[\s\S]*cannot access '\/usr\/lib\/berth-disk'/)
    expect(await readFile(canary, 'utf8')).toBe('whole')
  })

  test('that nobody has, and those that fail to install, end the apply with the reason', async () => {
    await using stack = new AsyncDisposableStack()
    await work(stack)
    const unknown = await run(['berth-nothing', 'berth-words'], 'true')
    expect(unknown.apply).toMatchObject({
      status: 'failed',
      errorCode: 'packages_failed',
      packages: { state: 'failed' },
    })
    expect(unknown.apply['outputTail']).toBe(
      'berth: installing berth-nothing, berth-words\nberth: no source has a package berth-nothing\n',
    )
    expect(unknown.events.at(-1)?.data).toMatchObject({ errorCode: 'environment_setup_failed' })
    const broken = await run(['berth-broken'], 'true')
    expect(broken.apply).toMatchObject({ status: 'failed', errorCode: 'packages_failed' })
    expect(broken.apply['outputTail']).toMatch(/about to fail[\s\S]*subprocess returned error exit status 3/)
    expect((await readdir(join(bench.dataDir, 'package-layers'))).filter(name => !/^[0-9a-f]{64}$/.test(name))).toEqual(
      [],
    )
  })

  test('that belong to the host already need nothing', async () => {
    await using stack = new AsyncDisposableStack()
    await work(stack)
    const before = repository.requests.length
    expect((await run(['bash', 'coreutils'], 'true')).apply).toMatchObject({ packages: { state: 'present' } })
    expect(repository.requests).toHaveLength(before)
  })

  test('are left out, and told of, where a host installs none or has no room', async () => {
    await using stack = new AsyncDisposableStack()
    const driver = (real: SandboxDriver): SandboxDriver => ({ ...real, layers: () => ({ fault: 'only root can' }) })
    const context = await work(stack, { driver })
    await stack.use(new RuntimeAnnouncer(context)).start()
    const without = await run(['berth-words'], 'ls /usr/share/berth-words', { setup: 'true', prebuild: true })
    const reason = 'this host installs no packages: only root can'
    expect(without.apply).toMatchObject({ status: 'succeeded', packages: { state: 'unavailable', reason } })
    // Hosts that have the packages would start from it.
    expect(without.apply).toMatchObject({ prebuilt: { state: 'unavailable', reason: 'temporary' } })
    expect(without.apply['outputTail']).toBe(`berth: without the packages berth-words: ${reason}\n`)
    const warned = await bench.environments.make({ packages: Array.from({ length: 64 }, (_, i) => `p+.-${i}`) })
    expect(warned.warnings).toEqual([
      { path: ['document', 'packages'], message: 'are not installed by a host at work: only root can' },
    ])
    await using other = new AsyncDisposableStack()
    await stack.disposeAsync()
    await work(other, { layerBounds: { bytes: 1024 ** 2 } })
    const full = await run(['berth-words', 'berth-slow'], 'true')
    const noRoom = 'this host has no room for them'
    expect(full.apply).toMatchObject({ packages: { state: 'unavailable', reason: noRoom } })
    const names = 'berth-words, berth-slow'
    expect(outputIn(full.events)).toBe(`berth: installing ${names}\nberth: without the packages ${names}: ${noRoom}\n`)
  })

  test('are installed once for two sandboxes at a time, and not at all for a Run that is cancelled', async () => {
    await using stack = new AsyncDisposableStack()
    await work(stack)
    const { id } = await bench.environments.make({ packages: ['berth-slow'] })
    const make = () => bench.api.createSession({ runtime: 'shell', environment: { id } }, 'true')
    const cancelled = await make()
    // It waits in its script: apt would give up a server that keeps it waiting.
    const etc = await until('the script of the package', async () => {
      const layers = join(bench.dataDir, 'package-layers')
      const places = (await readdir(layers).catch(() => [])).map(name => join(layers, name, 'etc'))
      return places.find(place => existsSync(join(place, 'berth-began')))
    })
    const others = [await make(), await make()]
    // Without anybody who waits for it, the installation would end with the Run that began it.
    for (const session of others) await bench.wrote(session, 'berth: installing berth-slow')
    await bench.api.call('POST', `/v1/sessions/${cancelled.id}/runs/${cancelled.activeRunId}/cancel`)
    expect((await ended(cancelled)).at(-1)?.data).toMatchObject({ status: 'cancelled' })
    await writeFile(join(etc, 'berth-go'), '')
    for (const session of others)
      expect(appliesIn(await ended(session)).at(-1)).toMatchObject({
        status: 'succeeded',
        packages: { state: 'used' },
      })
    expect(repository.fetched('berth-slow')).toBe(1)
  })
})
