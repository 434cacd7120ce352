import type { PullCheck } from '@berth/contract'
import {
  CircleCheck,
  CircleDashed,
  CircleMinus,
  CircleX,
  ExternalLink,
  LoaderCircle,
  type LucideIcon,
} from 'lucide-react'
import { Badge } from '../environments/badge.tsx'
import { printableLine } from '../ui/printable.ts'
import { inOrder, linkOf } from './check-labels.ts'

const styles: Readonly<Record<string, readonly [word: string, tone: string, icon: LucideIcon]>> = {
  success: ['succeeded', 'text-good', CircleCheck],
  failure: ['failed', 'text-bad', CircleX],
  pending: ['under way', 'text-accent', LoaderCircle],
  skipped: ['skipped', 'text-ink-3', CircleMinus],
  missing: ['not reported yet', 'text-warning', CircleDashed],
}

/** The checks of a pull request by name. Whoever reports a check chooses its name and link, so both are only text. */
export function Checks({ checks }: { checks: readonly PullCheck[] }) {
  if (checks.length === 0) return null
  return (
    <ul aria-label="Checks" className="flex flex-col rounded-md border border-line">
      {inOrder(checks).map(check => (
        <Check key={check.name} check={check} />
      ))}
    </ul>
  )
}

function Check({ check: { name, state, required, url } }: { check: PullCheck }) {
  const [word, tone, Icon] = styles[state] ?? [state, 'text-ink-3', CircleDashed]
  const link = linkOf(url)
  return (
    <li className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1 px-3 py-1.5 text-xs not-last:border-b not-last:border-line">
      <Icon
        className={`size-4 shrink-0 ${tone} ${state === 'pending' ? 'motion-safe:animate-spin' : ''}`}
        aria-hidden
      />
      <span className="min-w-0 font-medium wrap-anywhere">{printableLine(name)}</span>
      <span className={tone}>{word}</span>
      {required && <Badge tone="quiet">Required</Badge>}
      {link !== null && (
        <a
          href={link.href}
          target="_blank"
          rel="noopener noreferrer nofollow"
          aria-label={`${printableLine(name)} at ${link.host}`}
          className="ml-auto inline-flex items-center gap-1 text-accent underline underline-offset-2"
        >
          {link.host} <ExternalLink className="size-3" aria-hidden />
        </a>
      )}
    </li>
  )
}
