import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { spawn } from '../../../../script/testing/spawn.ts'

const run = promisify(execFile)

/** Why no containers can be made on this machine; undefined if they can. */
export const noContainers: string | undefined =
  process.getuid?.() !== 0
    ? 'only root makes containers'
    : ['podman', 'runc'].find(program => !existsSync(`/usr/bin/${program}`))?.concat(' is not installed')

/** What the tests call inside. */
const programs =
  'sh bash env ls cat id grep tr cut tail head find touch mkdir rm rmdir mv cp ln chmod stat dd sleep setsid pgrep ps hostname curl git date tee sort wc sed uname mount kill script dirname basename readlink mktemp mkfifo printf true false timeout xargs'.split(
    ' ',
  )

/** What an image of a distribution has. */
const authorities = '/etc/ssl/certs/ca-certificates.crt'

/** Makes an image of the programs of this machine, without a registry. */
export async function makeTestImage(): Promise<{ readonly image: string } & AsyncDisposable> {
  const image = `localhost/berth-test:${process.pid}-${Math.random().toString(36).slice(2, 8)}`
  const tree = await mkdtemp(join(tmpdir(), 'berth-image-'))
  try {
    for (const name of ['bin', 'sbin', 'lib', 'lib64']) await symlink(`usr/${name}`, join(tree, name))
    const found = programs.map(name => `/usr/bin/${name}`).filter(path => existsSync(path))
    const { stdout } = await run('ldd', [...found, process.execPath]).catch(({ stdout }: { stdout: string }) => ({
      stdout,
    }))
    const libraries = [...new Set(stdout.match(/\/lib[^\s)]*\.so[^\s):]*/g))].filter(path => existsSync(path))
    const args = [
      ...['--create', '--dereference', '--hard-dereference', '--absolute-names'],
      ...['--transform', 's,^/lib,/usr/lib,', '--transform', 's,^/,,', ...found, ...libraries],
      ...(existsSync(authorities) ? [authorities] : []),
    ]
    const files = join(tree, 'files.tar')
    await run('tar', [...args, '--file', files])
    await run('tar', ['--append', '--file', files, '--directory', tree, 'bin', 'sbin', 'lib', 'lib64'])
    const podman = spawn('podman', ['--cgroup-manager=cgroupfs', 'import', '--quiet', files, image], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const [code] = await once(podman, 'exit')
    if (code !== 0) throw new Error(`podman could not import an image: ${code}`)
  } finally {
    await rm(tree, { recursive: true, force: true })
  }
  return {
    image,
    async [Symbol.asyncDispose]() {
      await run('podman', ['--cgroup-manager=cgroupfs', 'rmi', '--force', image])
    },
  }
}
