import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { scrollCurrentIntoView } from '../ui/scroll-current-into-view.ts'
import { settingsSections } from './sections.ts'

/** The frame of a person's settings: its pages at the left, in a row on narrow screens. */
export function SettingsPage() {
  // Drawn again for each section, so that its link comes into sight.
  useLocation({ select: ({ pathname }) => pathname })
  return (
    <div className="flex h-full min-h-0 flex-col lg:grid lg:grid-cols-[12.5rem_minmax(0,1fr)]">
      <nav
        aria-label="Settings"
        ref={nav => scrollCurrentIntoView(nav)}
        className="flex scroll-px-3 shrink-0 gap-1 overflow-x-auto border-b border-line px-3 py-1.5 lg:flex-col lg:gap-px lg:overflow-x-visible lg:border-r lg:border-b-0 lg:px-2 lg:py-4"
      >
        <p className="px-2.5 pb-3 text-[0.9375rem] font-semibold max-lg:sr-only">Settings</p>
        {settingsSections.map(({ id, label, icon: Icon, to }) => (
          <Link
            key={id}
            {...to}
            className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-[0.8125rem] whitespace-nowrap text-ink-2 hover:bg-hover hover:text-ink aria-[current=page]:bg-selected aria-[current=page]:text-ink"
          >
            <Icon className="size-4 max-lg:hidden" aria-hidden />
            {label}
          </Link>
        ))}
      </nav>
      <div className="min-h-0 min-w-0 flex-1">
        <Outlet />
      </div>
    </div>
  )
}
