import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useRouteContext, useRouter } from '@tanstack/react-router'
import { Boxes, Building2, Inbox, type LucideIcon, Plus, Settings } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useEffect, useRef } from 'react'
import { viewerQuery } from '../api/identity.ts'
import { to } from '../routing/to.ts'
import { WaitingCount } from '../sessions/waiting-count.tsx'
import { EarlyInput } from '../ui/early-input.tsx'
import { useOnline } from '../ui/online.ts'
import { showOverlay, useOverlay } from './overlay.ts'
import { ShortcutKeys } from './shortcuts.tsx'
import { Sidebar } from './sidebar.tsx'

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))

/** The frame of every page: a sidebar on wide screens, a bar at the bottom on narrow ones. */
export function AppShell() {
  const overlay = useOverlay()
  const online = useOnline()
  const typed = useRef('')
  const router = useRouter()
  const { viewer } = useRouteContext({ from: '/shell' })
  const { data } = useQuery(viewerQuery)
  // What the person may do has changed: pages have it from the route.
  useEffect(() => {
    if (data !== viewer) void router.invalidate()
  }, [data, viewer, router])
  return (
    <div className="grid h-full grid-rows-[auto_minmax(0,1fr)_auto] lg:grid-cols-[15.5rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:absolute focus:top-2 focus:left-2"
      >
        Skip to the content
      </a>
      <p
        role="status"
        className={`col-span-full ${online ? 'sr-only' : 'row-start-1 bg-warning-soft px-4 py-1.5 text-center text-[0.8125rem]'}`}
      >
        {online ? '' : 'You are offline. Your agents go on; this page catches up when you are back.'}
      </p>
      <Sidebar />
      <main id="content" tabIndex={-1} className="row-start-2 min-h-0 min-w-0 outline-none lg:col-start-2">
        <Outlet />
      </main>
      <BottomBar />
      <ShortcutKeys />
      {overlay === 'palette' && (
        <Suspense
          fallback={
            <EarlyInput
              label="Search Sessions, pages and documentation"
              typed={typed}
              onClose={() => showOverlay(null)}
              className="fixed inset-x-4 top-[12vh] z-50 mx-auto flex max-w-xl items-center gap-2.5 rounded-xl border border-line bg-raised px-4 shadow-float"
              inputClass="h-12 text-base"
            />
          }
        >
          <Palette typed={typed} />
        </Suspense>
      )}
    </div>
  )
}

function BottomBar() {
  return (
    <nav
      aria-label="Main"
      className="row-start-3 flex border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] lg:hidden"
    >
      <BarLink to={to.sessions()} icon={Inbox} label="Sessions" exact>
        <span className="absolute top-1 left-1/2 ml-1.5">
          <WaitingCount />
        </span>
      </BarLink>
      <BarLink to={to.newSession()} icon={Plus} label="New" />
      <BarLink to={to.environments()} icon={Boxes} label="Environments" />
      <BarLink to={to.organization()} icon={Building2} label="Organization" />
      <BarLink to={to.settings()} icon={Settings} label="Settings" />
    </nav>
  )
}

function BarLink(props: {
  to: { readonly to: string }
  icon: LucideIcon
  label: string
  exact?: boolean
  children?: ReactNode
}) {
  const { icon: Icon, label } = props
  return (
    <Link
      {...props.to}
      activeOptions={{ exact: props.exact === true, includeSearch: false }}
      className="relative flex min-h-12 flex-1 flex-col items-center justify-center gap-0.5 text-2xs text-ink-2 aria-[current=page]:text-accent"
    >
      <Icon className="size-5" aria-hidden />
      {label}
      {props.children}
    </Link>
  )
}
