import type { EgressSecret } from '../../driver.ts'
import type { RequestHead } from './request-head.ts'

/** A shorter value stands in headers by chance; masking it would tell more than it hides. */
const LEAST = 4

/**
 * Returns what takes the values of secrets out of headers. In their place is the placeholder, so that a redirect of the
 * host to itself goes on working.
 */
export function maskOf(secrets: readonly EgressSecret[]): (headers: RequestHead['headers']) => RequestHead['headers'] {
  const hidden = secrets.flatMap(({ placeholder, put, value }) => {
    if (value.length < LEAST) return []
    const bytes = Buffer.from(value).toString('latin1')
    const basic = 'basic' in put ? [Buffer.from(`${put.basic.user}:${value}`).toString('base64')] : []
    const forms = [value, bytes, encodeURIComponent(value), Buffer.from(value).toString('base64'), ...basic]
    return [...new Set(forms)].map(form => ({ form, placeholder }))
  })
  // The longest first: one value may be part of another.
  const all = hidden.toSorted((one, other) => other.form.length - one.form.length)
  const mask = (text: string) =>
    all.reduce((masked, { form, placeholder }) => masked.replaceAll(form, () => placeholder), text)
  // A name has no case, so that a value in one would come in either.
  const maskName = (name: string) =>
    all.find(({ form }) => name.toLowerCase().includes(form.toLowerCase()))?.placeholder ?? name
  return headers => headers.map(([name, value]) => [maskName(name), mask(value)] as const)
}
