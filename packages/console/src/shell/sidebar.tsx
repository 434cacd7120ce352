import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { Boxes, Building2, GitPullRequest, Inbox, type LucideIcon, Plus, Search, Settings } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useCallback } from 'react'
import { to } from '../routing/to.ts'
import { groupList, type ListData } from '../sessions/list-data.ts'
import { sessionListQuery } from '../sessions/queries.ts'
import { WaitingCount } from '../sessions/waiting-count.tsx'
import { printableLine } from '../ui/printable.ts'
import { StatusDot } from '../ui/status-dot.tsx'
import { showOverlay } from './overlay.ts'
import { commandKey } from './single-key.ts'

const SidebarFoot = lazy(async () => ({ default: (await import('./sidebar-foot.tsx')).SidebarFoot }))

const item =
  'flex h-8 items-center gap-2.5 rounded-md px-2.5 text-[0.8125rem] text-ink-2 hover:bg-hover hover:text-ink aria-[current=page]:bg-selected aria-[current=page]:text-ink'

/** So many Sessions are at hand on every page. */
const most = 30

/** Selects the shown fields alone: an active Session changes many times a second, mostly in other fields. */
function recentOf(data: ListData, me: string) {
  const listed = groupList(data, {}, me).flatMap(({ id, sessions }) => (id === 'snoozed' ? [] : sessions))
  return listed.slice(0, most).map(({ session, state }) => ({
    id: session.id,
    title: session.title,
    unread: state.unread,
    status: state.status,
  }))
}

/** Navigation of wide screens: the pages, and the Sessions that changed last. */
export function Sidebar() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const select = useCallback((data: ListData) => recentOf(data, viewer.user.id), [viewer])
  const { data: recent = [] } = useInfiniteQuery({ ...sessionListQuery({}), select })
  return (
    <aside
      aria-label="Navigation"
      className="row-start-2 hidden min-h-0 flex-col border-r border-line bg-surface lg:flex"
    >
      <div className="flex items-center gap-2 px-3 pt-3 pb-2">
        <Mark />
        <span className="truncate text-sm font-semibold">{viewer.membership.organization.name}</span>
        <Link
          {...to.newSession()}
          aria-label="New Session"
          title="New Session (c)"
          className="ml-auto grid size-7 place-items-center rounded-md text-ink-2 hover:bg-hover hover:text-ink"
        >
          <Plus className="size-4" aria-hidden />
        </Link>
      </div>
      <div className="px-3 pb-2">
        <button
          type="button"
          onClick={() => showOverlay('palette')}
          className="flex h-8 w-full items-center gap-2 rounded-md border border-line bg-raised px-2.5 text-[0.8125rem] text-ink-3 hover:border-line-strong"
        >
          <Search className="size-3.5" aria-hidden /> Search
          <kbd className="ml-auto font-sans text-2xs">{commandKey} K</kbd>
        </button>
      </div>
      <nav aria-label="Main" className="flex flex-col gap-px px-2">
        <NavLink to={to.sessions()} icon={Inbox} exact>
          Sessions
          <WaitingCount />
        </NavLink>
        <NavLink to={to.pullRequests()} icon={GitPullRequest}>
          Pull requests
        </NavLink>
        <NavLink to={to.environments()} icon={Boxes}>
          Environments
        </NavLink>
        <NavLink to={to.organization()} icon={Building2}>
          Organization
        </NavLink>
        <NavLink to={to.settings()} icon={Settings}>
          Settings
        </NavLink>
      </nav>
      <nav aria-labelledby="recent" className="mt-4 flex min-h-0 flex-1 flex-col px-2">
        <h2 id="recent" hidden={recent.length === 0} className="px-2.5 pb-1 text-2xs font-medium text-ink-3">
          Recent
        </h2>
        <ul className="min-h-0 flex-1 overflow-y-auto pb-2">
          {recent.map(({ id, title, unread, status }) => (
            <li key={id}>
              <Link {...to.session(id)} activeOptions={{ includeSearch: false }} className={item}>
                <StatusDot status={status} />
                <span className={`truncate ${unread ? 'font-semibold text-ink' : ''}`}>
                  {printableLine(title)}
                  {unread && <span className="sr-only">, unread</span>}
                </span>
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <Suspense>
        <SidebarFoot />
      </Suspense>
    </aside>
  )
}

function NavLink(props: { to: { readonly to: string }; icon: LucideIcon; exact?: boolean; children: ReactNode }) {
  const { icon: Icon } = props
  return (
    <Link {...props.to} activeOptions={{ exact: props.exact === true, includeSearch: false }} className={item}>
      <Icon className="size-4" aria-hidden />
      {props.children}
    </Link>
  )
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" className="size-6 shrink-0" aria-hidden="true">
      <rect width="32" height="32" rx="8" className="fill-accent" />
      <path
        d="M11 8v16M11 8h6a4 4 0 0 1 0 8h-6m0 0h7a4 4 0 0 1 0 8h-7"
        className="fill-none stroke-on-accent"
        strokeWidth="3"
        strokeLinejoin="round"
      />
    </svg>
  )
}
