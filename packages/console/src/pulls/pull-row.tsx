import type { PullRequest } from '@berth/contract'
import { Link } from '@tanstack/react-router'
import {
  CircleStop,
  Ellipsis,
  ExternalLink,
  GitMerge,
  GitPullRequest,
  GitPullRequestClosed,
  GitPullRequestDraft,
  Link2,
  type LucideIcon,
  RotateCw,
} from 'lucide-react'
import { type KeyboardEvent, useState } from 'react'
import { linkOf } from '../changes/check-labels.ts'
import { to } from '../routing/to.ts'
import { singleKeyOf } from '../shell/single-key.ts'
import { useMinute } from '../ui/clock.ts'
import { ago, dollars } from '../ui/format.ts'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { FollowDialog } from './follow-dialog.tsx'
import { attemptsText, followUpReason, followUpText, hasEnded, stateText } from './pull-labels.ts'
import { useFollow } from './use-follow.ts'

const styles: Readonly<Record<string, readonly [icon: LucideIcon, tone: string]>> = {
  open: [GitPullRequest, 'text-good'],
  draft: [GitPullRequestDraft, 'text-ink-3'],
  merged: [GitMerge, 'text-accent'],
  closed: [GitPullRequestClosed, 'text-bad'],
}

/** One pull request of the list: whose turn it is, how far Berth has gone with it, and the ways to stop and to try again. */
export function PullRow({ pull, mayFollow, mayMerge }: { pull: PullRequest; mayFollow: boolean; mayMerge: boolean }) {
  const { sessionId, publicationId, number, followUp, state } = pull
  const [asks, setAsks] = useState(false)
  const { follow, stop } = useFollow(sessionId, publicationId)
  const [Icon, tone] = styles[state] ?? [GitPullRequest, 'text-ink-3']
  const isOpen = state !== 'merged' && state !== 'closed'
  const isFollowed = followUp !== null && !hasEnded(followUp)
  const forbidden = mayFollow ? undefined : 'Your membership does not include this. Ask an administrator.'
  const stops = forbidden ?? (isFollowed ? undefined : 'Nothing follows it.')
  const tries = forbidden ?? (isOpen ? undefined : 'It has ended.')
  const link = linkOf(pull.url)
  const keys: Readonly<Record<string, () => void>> = {
    s: () => stops === undefined && stop.mutate(),
    r: () => tries === undefined && setAsks(true),
  }
  const onKeyDown = (event: KeyboardEvent) => keys[singleKeyOf(event.nativeEvent) ?? '']?.()
  const title = printableLine(pull.title)
  return (
    <li className="group/row relative flex min-h-11 flex-wrap items-center gap-x-3 border-b border-line px-4 py-2 hover:bg-surface has-[a:focus-visible]:bg-surface lg:px-6">
      <span
        className="flex w-4 shrink-0 justify-center self-start pt-0.5 lg:self-center lg:pt-0"
        title={stateText(state)}
      >
        <Icon className={`size-4 ${tone}`} aria-hidden />
        <span className="sr-only">{stateText(state)}: </span>
      </span>
      <span className="flex min-w-0 flex-1 flex-col gap-1 lg:flex-row lg:items-center lg:gap-4">
        <span className="flex min-w-0 items-baseline gap-2 lg:flex-1 2xl:w-[42%] 2xl:flex-none">
          <Link
            {...to.session(sessionId, { panel: 'changes' })}
            data-list-item
            aria-keyshortcuts="s r"
            onKeyDown={onKeyDown}
            className="truncate text-sm outline-none after:absolute after:inset-0 focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
          >
            {title}
          </Link>
        </span>
        <Facts pull={pull} />
      </span>
      <time
        dateTime={pull.updatedAt}
        title={new Date(pull.updatedAt).toLocaleString()}
        className="w-12 shrink-0 self-start pt-0.5 text-right text-xs text-ink-3 tabular-nums lg:self-center lg:pt-0"
      >
        <Age at={Date.parse(pull.updatedAt)} />
      </time>
      <span className="relative -my-1 -mr-2 shrink-0">
        <Menu
          label={`Actions for #${number} ${title}`}
          trigger={<Ellipsis className="size-4" aria-hidden />}
          triggerClass="inline-grid size-8 place-items-center rounded-md text-ink-3 hover:bg-hover hover:text-ink data-popup-open:bg-hover max-lg:size-9 lg:opacity-0 lg:group-focus-within/row:opacity-100 lg:group-hover/row:opacity-100 lg:data-popup-open:opacity-100"
        >
          <MenuItem icon={RotateCw} keys="r" reason={tries} onSelect={() => setAsks(true)}>
            {followUp === null
              ? 'Follow it…'
              : isFollowed && followUp.state !== 'needs_person'
                ? 'Bounds…'
                : 'Try again…'}
          </MenuItem>
          <MenuItem
            icon={ExternalLink}
            reason={link === null ? 'It has no address.' : undefined}
            onSelect={() => link !== null && void window.open(link.href, '_blank', 'noopener')}
          >
            {link === null ? 'Open' : `Open at ${link.host}`}
          </MenuItem>
          <MenuItem icon={Link2} onSelect={() => void navigator.clipboard.writeText(pull.url)}>
            Copy link
          </MenuItem>
          <MenuItem icon={CircleStop} keys="s" danger reason={stops} onSelect={() => stop.mutate()}>
            Stop following
          </MenuItem>
        </Menu>
      </span>
      {stop.error !== null && (
        <div className="relative basis-full pt-1.5">
          <InlineProblem error={stop.error} />
        </div>
      )}
      {asks && (
        <FollowDialog
          number={number}
          followUp={followUp}
          mayMerge={mayMerge}
          busy={follow.isPending}
          problem={<InlineProblem error={follow.error} />}
          onFollow={request => follow.mutate(request, { onSuccess: () => setAsks(false) })}
          onClose={() => setAsks(false)}
        />
      )}
    </li>
  )
}

function Facts({ pull: { repository, number, followUp, costUsd, state } }: { pull: PullRequest }) {
  const needs = followUp?.state === 'needs_person'
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink-3 lg:flex-nowrap lg:justify-end 2xl:flex-1 2xl:justify-start">
      <span className="min-w-0 truncate lg:max-w-64">
        {printableLine(repository)} <span className="tabular-nums">#{number}</span>
      </span>
      {state !== 'open' && <span>{stateText(state)}</span>}
      {followUp !== null && (
        <>
          <span
            className={`min-w-0 truncate lg:max-w-72 ${needs ? 'text-warning' : ''}`}
            title={followUpText(followUp)}
          >
            {needs && followUp.reason !== undefined ? upper(followUpReason(followUp.reason)) : followUpText(followUp)}
          </span>
          <span className="shrink-0 tabular-nums">{attemptsText(followUp)}</span>
        </>
      )}
      {costUsd > 0 && (
        <span className="shrink-0 tabular-nums lg:w-14 lg:text-right">
          <span className="sr-only">Cost </span>
          {dollars(costUsd)}
        </span>
      )}
    </span>
  )
}

const upper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function Age({ at }: { at: number }) {
  return ago(at, useMinute())
}
