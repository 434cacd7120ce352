import type { GitHostErrorKind } from './git-host.ts'

/** Git's words for each way in which a host keeps it out for good. */
const patterns: readonly (readonly [RegExp, GitHostErrorKind])[] = [
  [/authentication failed|could not read Username|error: 401/i, 'unauthorized'],
  [/access denied|error: 403/i, 'forbidden'],
  [/repository .* not found|error: 404/i, 'not_found'],
  [/error: 413/, 'invalid'],
  [/error: 429/, 'rate_limited'],
]

/** Returns the meaning of git's words when it did not get to a repository; `unavailable` if nothing better is known. */
export function gitErrorKind(message: string): GitHostErrorKind {
  return patterns.find(([pattern]) => pattern.test(message))?.[1] ?? 'unavailable'
}
