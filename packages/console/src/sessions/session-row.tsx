import { statusLabel, statusReason } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import {
  AlarmClock,
  AlarmClockOff,
  Archive,
  CheckCheck,
  CheckSquare,
  Ellipsis,
  GitBranch,
  Link2,
  Pin,
  PinOff,
  Plug,
  Zap,
} from 'lucide-react'
import type { KeyboardEvent } from 'react'
import { ChangeCounts } from '../changes/change-counts.tsx'
import { to } from '../routing/to.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { singleKeyOf } from '../shell/single-key.ts'
import { useMinute } from '../ui/clock.ts'
import { ago, dollars } from '../ui/format.ts'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { printableLine } from '../ui/printable.ts'
import { StatusDot } from '../ui/status-dot.tsx'
import { useKeptFocus } from './kept-focus.ts'
import type { ListedSession } from './list-data.ts'
import { markRead, pinSession, snoozeSession } from './marks.ts'
import { PullBadge } from './pull-badge.tsx'
import { snoozeText } from './snooze.ts'
import type { Selection } from './use-selection.ts'
import { Waiting } from './waiting.tsx'
import { WayOn } from './way-on.tsx'

/** One Session of the list: enough to decide whether to open it, and its actions. */
export function SessionRow(props: {
  listed: ListedSession
  /** Null where nothing can be done with several rows. */
  selection: Selection | null
  onArchive: (listed: ListedSession) => void
  onSnooze: (listed: ListedSession) => void
}) {
  const { listed, selection, onArchive, onSnooze } = props
  const { session, state } = listed
  const isSelected = selection?.ids.has(session.id) === true
  const can = useSessionCan(session)
  const pin = useMutation({ mutationFn: () => pinSession(session.id, !state.pinned) })
  const read = useMutation({ mutationFn: () => markRead(session.id, state.lastEventSequence) })
  const wake = useMutation({ mutationFn: () => snoozeSession(session.id, null) })
  const snooze = () => (state.snoozed === null ? onSnooze(listed) : wake.mutate())
  const archive = can('archive')
  const keys: Readonly<Record<string, (isRange: boolean) => void>> = {
    p: () => pin.mutate(),
    m: () => state.unread && read.mutate(),
    h: () => selection !== null && snooze(),
    e: () => archive.allowed && onArchive(listed),
    x: isRange => selection?.toggle(session.id, isRange),
  }
  const onKeyDown = (event: KeyboardEvent) => {
    keys[singleKeyOf(event.nativeEvent)?.toLowerCase() ?? '']?.(event.shiftKey)
  }
  const title = printableLine(session.title)
  return (
    <li className="group/row relative flex min-h-11 items-center gap-3 border-b border-line px-4 py-2 hover:bg-surface has-checked:bg-selected has-[a:focus-visible]:bg-surface lg:px-6">
      <span className="relative flex w-4 shrink-0 justify-center self-start pt-1.5 lg:self-center lg:pt-0">
        <StatusDot status={state.status} />
        {selection !== null && <SelectBox id={session.id} title={title} selection={selection} />}
      </span>
      <span className="flex min-w-0 flex-1 flex-col gap-1 lg:flex-row lg:items-center lg:gap-4">
        <span className="flex min-w-0 items-center gap-2 lg:flex-1 2xl:w-[42%] 2xl:flex-none">
          <Link
            {...to.session(session.id)}
            {...useKeptFocus(session.id)}
            data-list-item
            aria-keyshortcuts="p m h e x"
            onKeyDown={onKeyDown}
            className={`truncate text-sm outline-none after:absolute after:inset-0 focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent ${state.unread ? 'font-medium' : ''}`}
          >
            {title}
          </Link>
          {state.unread && (
            <span className="size-1.5 shrink-0 rounded-full bg-accent" title="Unread">
              <span className="sr-only">Unread</span>
            </span>
          )}
          {state.pinned && (
            <span title="Pinned">
              <Pin className="size-3 shrink-0 text-ink-3" aria-hidden />
              <span className="sr-only">Pinned</span>
            </span>
          )}
          {state.snoozed !== null && (
            <span className="flex shrink-0 items-center gap-1 text-xs text-ink-3">
              <AlarmClock className="size-3 shrink-0" aria-hidden /> {snoozeText(state.snoozed)}
            </span>
          )}
        </span>
        <Facts listed={listed} />
      </span>
      <time
        dateTime={state.updatedAt}
        title={new Date(state.updatedAt).toLocaleString()}
        className="w-12 shrink-0 self-start pt-0.5 text-right text-xs text-ink-3 tabular-nums lg:self-center lg:pt-0"
      >
        <Age at={Date.parse(state.updatedAt)} />
      </time>
      <span className="relative -my-1 -mr-2 shrink-0">
        <Menu
          label={`Actions for ${title}`}
          trigger={<Ellipsis className="size-4" aria-hidden />}
          triggerClass="inline-grid size-8 place-items-center rounded-md text-ink-3 hover:bg-hover hover:text-ink data-popup-open:bg-hover max-lg:size-9 lg:opacity-0 lg:group-focus-within/row:opacity-100 lg:group-hover/row:opacity-100 lg:data-popup-open:opacity-100"
        >
          <MenuItem icon={state.pinned ? PinOff : Pin} keys="p" onSelect={() => pin.mutate()}>
            {state.pinned ? 'Unpin' : 'Pin'}
          </MenuItem>
          <MenuItem
            icon={CheckCheck}
            keys="m"
            reason={state.unread ? undefined : 'Nothing is unread.'}
            onSelect={() => read.mutate()}
          >
            Mark as read
          </MenuItem>
          {selection !== null && (
            <MenuItem icon={state.snoozed === null ? AlarmClock : AlarmClockOff} keys="h" onSelect={snooze}>
              {state.snoozed === null ? 'Snooze…' : 'End the snooze'}
            </MenuItem>
          )}
          {selection !== null && (
            <MenuItem icon={CheckSquare} keys="x" onSelect={() => selection.toggle(session.id, false)}>
              {isSelected ? 'Unselect' : 'Select'}
            </MenuItem>
          )}
          <MenuItem icon={Link2} onSelect={() => void navigator.clipboard.writeText(session.sessionUrl)}>
            Copy link
          </MenuItem>
          <MenuItem
            icon={Archive}
            keys="e"
            danger
            reason={archive.allowed ? undefined : archive.reason}
            onSelect={() => onArchive(listed)}
          >
            Archive…
          </MenuItem>
        </Menu>
      </span>
    </li>
  )
}

function Facts({ listed: { session, state } }: { listed: ListedSession }) {
  const { viewer } = useRouteContext({ from: '/shell' })
  const { source } = session
  const { startedBy, startedThrough } = state
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink-3 lg:flex-nowrap lg:justify-end 2xl:flex-1 2xl:justify-start">
      {source !== undefined && (
        <span className="flex min-w-0 items-center gap-1 lg:max-w-64">
          <GitBranch className="size-3 shrink-0" aria-hidden />
          <span className="truncate">
            {source.label} · {source.baseBranch}
          </span>
        </span>
      )}
      <Status listed={{ session, state }} />
      {session.changes !== null && session.changes.files > 0 && <ChangeCounts changes={session.changes} />}
      {state.pull !== null && <PullBadge pull={state.pull} />}
      {state.costUsd > 0 && (
        <span className="tabular-nums lg:w-14 lg:text-right">
          <span className="sr-only">Cost </span>
          {dollars(state.costUsd)}
        </span>
      )}
      {startedThrough !== null && (
        <span className="flex min-w-0 items-center gap-1 lg:max-w-40">
          {startedThrough.kind === 'trigger' ? (
            <Zap className="size-3 shrink-0" aria-hidden />
          ) : (
            <Plug className="size-3 shrink-0" aria-hidden />
          )}
          <span className="sr-only">Started by the {startedThrough.kind} </span>
          <span className="truncate">{printableLine(startedThrough.name)}</span>
        </span>
      )}
      {startedBy !== null && startedBy.id !== viewer.user.id && (
        <span
          title={`Started by ${startedBy.name}`}
          className="grid size-5 shrink-0 place-items-center rounded-full bg-selected text-2xs font-medium text-ink-2"
        >
          <span aria-hidden>{startedBy.name.slice(0, 1).toUpperCase()}</span>
          <span className="sr-only">Started by {startedBy.name}</span>
        </span>
      )}
    </span>
  )
}

/** Takes the place of the status under the pointer, and wherever rows are selected. */
function SelectBox({ id, title, selection }: { id: string; title: string; selection: Selection }) {
  const shown = selection.ids.size > 0 ? '' : 'opacity-0 max-lg:hidden lg:group-hover/row:opacity-100'
  return (
    <span className={`absolute -inset-2 z-10 grid place-items-center bg-inherit max-lg:-inset-y-1 ${shown}`}>
      <input
        type="checkbox"
        // Keys select by `x`, and by the menu: a stop at each row would double the way.
        tabIndex={-1}
        aria-label={`Select ${title}`}
        checked={selection.ids.has(id)}
        onChange={({ nativeEvent }) => selection.toggle(id, (nativeEvent as MouseEvent).shiftKey)}
        className="size-4 accent-accent"
      />
    </span>
  )
}

const inks: Readonly<Record<string, string>> = { failed: 'text-bad', ready_to_review: 'text-good' }

/** The status in words, with the reason and the step that goes on if there are any. */
function Status({ listed: { session, state } }: { listed: ListedSession }) {
  if (state.attention !== null && !state.archived) return <Waiting attention={state.attention} />
  if (state.workLost) return <span className="font-medium text-bad">Work lost</span>
  if (state.status === 'working') return null
  const why = statusReason(state)
  const label = statusLabel(state.status)
  return (
    <span className={`flex min-w-0 items-center gap-2 ${inks[state.status] ?? ''}`}>
      <span className="truncate" title={why}>
        {why === '' ? label : `${label}: ${why}`}
      </span>
      <WayOn session={session} />
    </span>
  )
}

function Age({ at }: { at: number }) {
  return ago(at, useMinute())
}
