import { isIP } from 'node:net'

/** Names that never are of the public network (RFC 6761, 6762, 8375, 9476 and ICANN's `internal`), and all below them. */
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

/** A host that a name of the public network, or an address, stands for. */
export type PublicHost =
  | { readonly kind: 'address'; readonly address: string }
  /** Without the dot at its end. */
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'private' }

/**
 * Reads a host as the URL standard writes it, which has undone every other spelling. Names that can only be private
 * are told apart here, so that no resolver, with its search list and tables, is asked for them.
 */
export function readPublicHost(host: string): PublicHost {
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  if (isIP(bare) !== 0) return { kind: 'address', address: bare }
  const name = host.replace(/\.$/, '')
  const labelled = name.length <= 253 && /^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{2,63}$/.test(name)
  const known = privateNames.some(ending => name === ending || name.endsWith(`.${ending}`))
  return labelled && !known ? { kind: 'name', name } : { kind: 'private' }
}
