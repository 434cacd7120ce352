import { isIP } from 'node:net'

/**
 * Names that never belong to the public network (RFC 6761, 6762, 8375, 9476 and ICANN's `internal`), and all below
 * them.
 */
const privateNames = [
  'localhost',
  'local',
  'internal',
  'home.arpa',
  'test',
  'invalid',
  'onion',
  'alt',
  'lan',
  'localdomain',
]

/** A host of a request: an address, a name that may be public, or a private name. */
export type PublicHost =
  | { readonly kind: 'address'; readonly address: string }
  /** Without a trailing dot. */
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'private' }

/**
 * Classifies a host in the URL standard's form, which removes all other spellings. It recognises names that can only be
 * private, so that no resolver, with its search list and tables, is asked for them.
 */
export function readPublicHost(host: string): PublicHost {
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  if (isIP(bare) !== 0) return { kind: 'address', address: bare }
  const name = host.replace(/\.$/, '')
  const labelled = name.length <= 253 && /^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{2,63}$/.test(name)
  const known = privateNames.some(ending => name === ending || name.endsWith(`.${ending}`))
  return labelled && !known ? { kind: 'name', name } : { kind: 'private' }
}
