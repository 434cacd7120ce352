import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const manifest = findPackageJSON(import.meta.url)
if (manifest === undefined) throw new Error('this module lies in no package')

/** The directory that holds the packages of the repository, whether the sources run or the bundle. */
export const packagesDirectory = dirname(dirname(manifest))

/** Whether the bundle runs (script/server-bundle.ts), and not the sources. */
export const isBundled = import.meta.filename.endsWith('.js')

/**
 * Returns the program of a thread.
 * @param name its package and its path below `src`, without the extension; the bundle has it by its last part
 */
export function threadAt(name: string): URL {
  const built = join(packagesDirectory, 'server/dist', `${name.split('/').at(-1)}.js`)
  return pathToFileURL(isBundled ? built : join(packagesDirectory, `${name.replace('/', '/src/')}.ts`))
}
