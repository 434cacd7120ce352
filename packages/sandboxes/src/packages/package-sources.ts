import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ignoring } from '@berth/platform/kit/system-errors.ts'

/** Files of /etc/apt that say where packages come from and who vouches for them. None of them holds a password. */
export interface PackageSources {
  readonly files: readonly { readonly name: string; readonly content: Buffer }[]
  readonly digest: string
}

const APT = '/etc/apt'
const trusted = /^(trusted\.gpg|(trusted\.gpg\.d|keyrings)\/[\w.+-]+\.(gpg|asc|pgp))$/
const ofHost = /^(sources\.list|sources\.list\.d\/[\w.+-]+\.(list|sources)|preferences|preferences\.d\/[\w.+-]+)$/

/**
 * Reads where packages come from.
 * @param path a file that takes the place of the host's own sources, in either of apt's forms; null: the host's own
 * @throws Error if the file cannot be read
 */
export async function readSources(path: string | null): Promise<PackageSources> {
  const names = ((await ignoring(['ENOENT'], readdir(APT, { recursive: true }))) ?? []).toSorted()
  const read = async (name: string) => ({ name, content: await readFile(join(APT, name)) })
  const wanted = names.filter(name => trusted.test(name) || (path === null && ofHost.test(name)))
  const files = await Promise.all(wanted.map(read))
  if (path !== null) {
    const form = basename(path).endsWith('.sources') ? 'sources' : 'list'
    files.push({ name: `sources.list.d/berth.${form}`, content: await readFile(path) })
  }
  const hash = createHash('sha256')
  for (const { name, content } of files) hash.update(`${name}\0${content.length}\0`).update(content)
  return { files, digest: hash.digest('hex') }
}
