/** The longest list of addresses that an app may have. */
const mostRedirects = 10

/** Returns the addresses of a field with one on each line. */
export function redirectsOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
}

/** Returns the fault of a consent page's redirect addresses. The service decides in the end. */
export function redirectFault(redirects: readonly string[]): string | undefined {
  if (redirects.length > mostRedirects) return `At most ${mostRedirects} addresses are possible.`
  if (new Set(redirects).size < redirects.length) return 'An address is there twice.'
  const odd = redirects.find(text => !/^https?:\/\/[^/]/.test(text) || !URL.canParse(text))
  return odd === undefined ? undefined : `This is no web address: ${odd}`
}

/** Returns the fault of a name. */
export function nameFault(name: string): string | undefined {
  return name.trim() === '' ? 'Enter a name.' : undefined
}

/** Returns the fault of a slug. */
export function slugFault(slug: string): string | undefined {
  if (slug === '') return undefined
  if (slug.startsWith('svc-')) return 'Slugs that begin with svc- are the service’s own.'
  return /^[a-z][a-z0-9-]{1,62}$/.test(slug)
    ? undefined
    : 'Needs 2 to 63 small letters, digits and hyphens, beginning with a letter.'
}

/** Returns the fault of a public key. */
export function pemFault(text: string): string | undefined {
  const pem = text.trim()
  if (pem === '') return undefined
  if (pem.includes('PRIVATE KEY')) return 'This is a private key. It stays with your backend: paste the public one.'
  return /^-----BEGIN PUBLIC KEY-----[\s\S]+-----END PUBLIC KEY-----$/.test(pem)
    ? undefined
    : 'This is no public key as PEM. It begins with -----BEGIN PUBLIC KEY-----.'
}
