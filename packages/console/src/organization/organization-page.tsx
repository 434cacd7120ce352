import { Link, Outlet, useRouteContext } from '@tanstack/react-router'
import { Lock } from 'lucide-react'
import { scrollCurrentIntoView } from '../ui/scroll-current-into-view.ts'
import { meetsRequirement } from './requirement.ts'
import { sectionGroupsOf } from './sections.ts'

/** The frame of the organization's pages: its sections at the left, in a row on narrow screens. */
export function OrganizationPage() {
  const { viewer } = useRouteContext({ from: '/shell' })
  return (
    <div className="flex h-full min-h-0 flex-col lg:grid lg:grid-cols-[12.5rem_minmax(0,1fr)]">
      <nav
        aria-label="Organization"
        // Each time it is drawn, since the current section may be another. It is `relative`, because words for screen readers
        // are placed absolutely and would widen the page.
        ref={nav => scrollCurrentIntoView(nav)}
        className="relative flex scroll-px-3 shrink-0 gap-1 overflow-x-auto border-b border-line px-3 py-1.5 lg:flex-col lg:gap-4 lg:overflow-x-visible lg:overflow-y-auto lg:border-r lg:border-b-0 lg:px-2 lg:py-4"
      >
        <p className="px-2.5 text-[0.9375rem] font-semibold max-lg:sr-only">Organization</p>
        {sectionGroupsOf(viewer.features).map(({ label, sections }) => (
          <div key={label} className="flex gap-1 lg:flex-col lg:gap-px">
            <p className="px-2.5 pb-1 text-2xs font-medium text-ink-3 max-lg:hidden">{label}</p>
            {sections.map(({ id, label: name, icon: Icon, needs, to }) => (
              <Link
                key={id}
                {...to}
                activeOptions={{ includeSearch: false }}
                className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-[0.8125rem] whitespace-nowrap text-ink-2 hover:bg-hover hover:text-ink aria-[current=page]:bg-selected aria-[current=page]:text-ink"
              >
                <Icon className="size-4 max-lg:hidden" aria-hidden />
                {name}
                {!meetsRequirement(needs, viewer.membership) && (
                  <span className="ml-auto text-ink-3" title="Not for your role">
                    <Lock className="size-3" aria-hidden />
                    <span className="sr-only">, not for your role</span>
                  </span>
                )}
              </Link>
            ))}
          </div>
        ))}
      </nav>
      <div className="min-h-0 min-w-0 flex-1">
        <Outlet />
      </div>
    </div>
  )
}
