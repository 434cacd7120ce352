import type { SessionState } from '@berth/contract'
import { GitMerge, GitPullRequest, GitPullRequestDraft, type LucideIcon } from 'lucide-react'

type Pull = NonNullable<SessionState['pull']>
type BadgeStyle = readonly [icon: LucideIcon, label: string, ink: string]

const merges: Readonly<Record<NonNullable<Pull['merge']>, BadgeStyle>> = {
  admitted: [GitMerge, 'Merging', 'text-accent'],
  attempted: [GitMerge, 'Merging', 'text-accent'],
  waiting: [GitMerge, 'Merges when ready', 'text-accent'],
  succeeded: [GitMerge, 'Merged', 'text-good'],
  failed: [GitMerge, 'Merge failed', 'text-bad'],
}

/** Returns how a pull request appears. Changes outside of Berth are not known here. */
function styleOf({ draft, merge }: Pull): BadgeStyle {
  if (merge !== null) return merges[merge]
  return draft
    ? [GitPullRequestDraft, 'Draft pull request', 'text-ink-3']
    : [GitPullRequest, 'Pull request delivered', 'text-ink-2']
}

/** The pull request that a Session delivered last, and where its merge stands. */
export function PullBadge({ pull }: { pull: Pull }) {
  const [Icon, label, ink] = styleOf(pull)
  return (
    <span className={`flex items-center gap-1 ${ink}`} title={label}>
      <Icon className="size-3.5 shrink-0" aria-hidden />
      <span className="sr-only">{label}, </span>#{pull.number}
    </span>
  )
}
