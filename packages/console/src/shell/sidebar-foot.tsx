import { Link, useRouteContext, useRouter } from '@tanstack/react-router'
import { Activity, BookOpen, Braces, CircleHelp, Keyboard, ScrollText } from 'lucide-react'
import { to } from '../routing/to.ts'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { changes, version } from './help.ts'
import { showOverlay } from './overlay.ts'

const open = (path: string) => void window.open(path, '_blank', 'noopener')

/** Who is signed in, and the way to help. */
export function SidebarFoot() {
  const { viewer } = useRouteContext({ from: '/shell' })
  const router = useRouter()
  return (
    <div className="flex items-center border-t border-line pr-2">
      <Link {...to.settings()} className="flex min-w-0 flex-1 items-center gap-2.5 px-4 py-2.5 hover:bg-hover">
        <span
          aria-hidden
          className="grid size-7 shrink-0 place-items-center rounded-full bg-accent-soft text-xs font-semibold text-accent"
        >
          {viewer.user.name.slice(0, 1).toUpperCase()}
        </span>
        <span className="min-w-0 text-xs">
          <span className="block truncate font-medium">{viewer.user.name}</span>
          <span className="block truncate text-ink-3">{viewer.user.email}</span>
        </span>
      </Link>
      <Menu
        label="Help"
        trigger={<CircleHelp className="size-4" aria-hidden />}
        triggerClass="ml-1 grid size-8 shrink-0 place-items-center rounded-md text-ink-2 hover:bg-hover hover:text-ink"
      >
        <MenuItem icon={BookOpen} onSelect={() => open('/docs/')}>
          Documentation
        </MenuItem>
        <MenuItem icon={Braces} onSelect={() => open('/v1/docs')}>
          API reference
        </MenuItem>
        <MenuItem icon={Keyboard} keys="?" onSelect={() => showOverlay('shortcuts')}>
          Keyboard shortcuts
        </MenuItem>
        {viewer.membership.role === 'admin' ? (
          <MenuItem icon={Activity} onSelect={() => void router.navigate(to.health())}>
            Status
          </MenuItem>
        ) : null}
        <MenuItem icon={ScrollText} onSelect={() => open(changes)}>
          {`Berth ${version}: what is new`}
        </MenuItem>
      </Menu>
    </div>
  )
}
