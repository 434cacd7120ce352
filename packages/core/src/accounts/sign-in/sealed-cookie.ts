import { UnsealError } from '@berth/platform/storage/master-key.ts'
import type { SignInContext } from './configuration.ts'

/** Returns what a sealed cookie of the browser holds; null if there is none, or if its time is over. */
export function openCookie<Kept extends { readonly until: number }>(
  { clock, masterKey }: Pick<SignInContext, 'clock' | 'masterKey'>,
  name: string,
  header = '',
): Kept | null {
  const pair = header.split(/; */).find(each => each.startsWith(`${name}=`))
  if (pair === undefined) return null
  try {
    const opened = masterKey.open(Buffer.from(pair.slice(name.length + 1), 'base64url'), name)
    const kept: Kept = JSON.parse(opened.toString())
    return kept.until > clock.now().getTime() ? kept : null
  } catch (error) {
    if (error instanceof UnsealError) return null
    throw error
  }
}
