import type { PutTrigger, TriggerHook } from '@berth/contract'
import { invalidField } from '@berth/platform/kit/refusal.ts'

const fieldPath = /^[\w-]+(\.[\w-]+)*$/

/**
 * Checks how a trigger is to take what other systems post.
 * @throws ApiError 400 `invalid_request` for a key that stands at two places or none, a condition on something other than a path, or
 *   events of GitHub together with what they themselves tell
 */
export function judgeHook(
  { scheme, key, where, github }: TriggerHook,
  { thread, session }: Pick<PutTrigger, 'thread' | 'session'>,
): void {
  if (key !== undefined && (key.header === undefined) === (key.field === undefined)) {
    throw invalidField(['hook', 'key'], 'names either a header or a field')
  }
  for (const path of Object.keys(where ?? {})) {
    if (!fieldPath.test(path)) throw invalidField(['hook', 'where', path], 'is not the path of a field')
  }
  if (github === undefined) return
  if (scheme !== 'github') throw invalidField(['hook', 'github'], 'is for the scheme github')
  if (key !== undefined) throw invalidField(['hook', 'key'], 'is X-GitHub-Delivery for events of GitHub; leave it out')
  const problem = 'is told by the events of GitHub; leave it out'
  if (thread !== undefined) throw invalidField(['thread'], problem)
  if (session?.source !== undefined) throw invalidField(['session', 'source'], problem)
}
