import type { PullCheck } from '@berth/contract'
import type { HostCheck } from '../../git-hosts/git-host.ts'

/** Most characters of a name: anybody who may report a check chooses it. */
const NAME = 300

/** Returns a check as the API shows it. Links lead to the web or nowhere. */
export function toCheck({ name, state, url, required }: HostCheck): PullCheck {
  const parsed = url === null ? null : URL.parse(url)
  const isWeb = parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.username === '' && parsed.password === ''
  return { name: name.slice(0, NAME), state, required, ...(isWeb && { url: parsed.href }) }
}
