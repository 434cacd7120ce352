import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const manifest = findPackageJSON(import.meta.url)
if (manifest === undefined) throw new Error('this module lies in no package')

/** The directory of this package, whether its sources run or its bundle. */
export const packageDirectory = dirname(manifest)

/** The directory that holds this package beside the others of the repository. */
export const packagesDirectory = dirname(packageDirectory)

/** Whether the bundle runs (script/server-bundle.ts), and not the sources. */
export const isBundled = import.meta.filename.endsWith('.js')

/**
 * Returns the program of a thread.
 * @param name its path among the sources, without the extension; the bundle has it by its last part
 */
export function threadAt(name: string): URL {
  const built = join(packageDirectory, 'dist', `${name.split('/').at(-1)}.js`)
  return pathToFileURL(isBundled ? built : join(packageDirectory, 'src', `${name}.ts`))
}
