import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { podman, podmanSucceeds, startContainer } from './podman.ts'

/** The flags of docs/install-image.md, but for the network. */
const flags = [
  ...['--read-only', '--tmpfs=/tmp', '--cap-drop=ALL', '--security-opt=no-new-privileges'],
  ...['--security-opt=seccomp=unconfined', '--security-opt=unmask=ALL'],
]
const patienceMs = 120_000

/**
 * Runs the image as the documentation says: with an empty volume, a Session in a sandbox, a stop by SIGTERM, and a start on
 * the same volume, where the Session goes on from its files.
 */
export async function liveInContainer(image: string, revision: string, print: (line: string) => void): Promise<void> {
  const name = image.replaceAll(/[/:]/g, '-')
  const berth = (...args: readonly string[]) => podman('exec', name, 'berth', ...args)
  const labels = JSON.parse(podman('image', 'inspect', '--format', '{{json .Labels}}', image))
  assert.equal(labels['org.opencontainers.image.revision'], revision)
  // The address of a container is its own: in development the service makes a tenant only on loopback.
  const settings = ['--env=NODE_ENV=development', '--env=BERTH_HOST=127.0.0.1', `--volume=${name}:/var/lib/berth`]
  try {
    startContainer(name, ...flags, ...settings, image)
    await untilHealthy(name)
    assert.equal(labels['org.opencontainers.image.version'], podman('exec', name, 'berth', '--version'))
    assert.equal(podman('exec', name, 'id', '-u'), '10000')
    print('the container is healthy, as an ordinary user without capabilities, on a read-only system')

    const findings = berth('doctor', '--json')
      .split('\n')
      .map(line => JSON.parse(line))
    const failed = findings.filter(({ state }) => state === 'failure')
    assert.deepEqual(failed, [])
    const organization = berth('admin', 'organization', 'create', 'Example')
    assert.ok(berth('admin', 'organization', 'list').includes(organization))
    const log = berth('run', '--runtime', 'shell', '--follow', '--json', 'git --version && echo kept > note')
    const ended = log
      .split('\n')
      .map(line => JSON.parse(line))
      .find(({ type }) => type === 'svc.run.completed')
    const session: string = ended?.subject.sessionId ?? assert.fail(log)
    print('a Session ran in a sandbox')

    podman('stop', '--time=60', name)
    assert.equal(podman('inspect', '--format', '{{.State.ExitCode}}', name), '0')
    print('the container ended cleanly by its stop signal')

    podman('--log-level=fatal', 'start', name)
    await untilHealthy(name)
    assert.ok(berth('sessions', 'list').includes(session))
    const events = berth('run', '--session', session, '--follow', '--json', 'cat note')
    assert.ok(events.includes('kept'), events)
    print('a new start found the Session on the volume, and it went on from its files')
  } catch (error) {
    process.stderr.write(`${podman('logs', '--tail=40', name)}\n`)
    throw error
  } finally {
    podman('rm', '--force', '--ignore', '--volumes', name)
    podman('volume', 'rm', '--force', name)
  }
}

/** Calls the image's own health check until it succeeds. */
async function untilHealthy(name: string): Promise<void> {
  const deadline = performance.now() + patienceMs
  while (!podmanSucceeds('healthcheck', 'run', name)) {
    if (performance.now() > deadline) throw new Error(`${name} is not healthy within ${patienceMs / 1000} s`)
    await sleep(200)
  }
}
