import type { PutTrigger, TriggerDeliver, TriggerHook } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import type { Principal } from '@berth/core/identity/guard/principal.ts'
import { requireMayFollow } from '@berth/core/sessions/follow-ups/require-may-follow.ts'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import { runsScripts } from '../runs-scripts.ts'

/** What whoever publishes must be allowed to. */
export const publishCapability = 'svc.cloud.publications:create'

/**
 * Checks how a trigger is to publish.
 * @param principal the installation whose Sessions it makes
 * @throws ApiError 400 `invalid_request` without a repository, or for a member that the kind does not take
 * @throws ApiError 403 `insufficient_scope` if the installation may not publish, or not merge where the follow-up is to
 */
export function judgeDeliver(
  { runtimes }: Pick<Context, 'runtimes'>,
  principal: Principal,
  { kind, draft, title, text, followUp }: TriggerDeliver,
  { hook, session }: Pick<PutTrigger, 'session'> & { readonly hook: TriggerHook | undefined },
): void {
  if (session?.source === undefined && hook?.github === undefined) {
    throw invalidField(['deliver'], 'needs a repository: name one in session.source, or take the events of GitHub')
  }
  if (kind === 'direct_branch' && draft === true) {
    throw invalidField(['deliver', 'draft'], 'applies only to pull requests')
  }
  if (kind === 'direct_branch' && followUp !== undefined) {
    throw invalidField(['deliver', 'followUp'], 'applies only to pull requests')
  }
  if (title?.trim() === '') throw invalidField(['deliver', 'title'], 'is empty')
  if (text === 'output' && runsScripts(runtimes, session ?? {})) {
    throw invalidField(['deliver', 'text'], 'is for agents; a script gives no output')
  }
  if (!principal.capabilities.has(publishCapability)) {
    throw refusal('insufficient_scope', { requiredScope: publishCapability })
  }
  if (followUp !== undefined) requireMayFollow(principal, followUp)
}
