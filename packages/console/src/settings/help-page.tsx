import { Link, useRouteContext } from '@tanstack/react-router'
import { Activity, BookOpen, Braces, Keyboard, type LucideIcon, ScrollText } from 'lucide-react'
import type { ReactNode } from 'react'
import { to } from '../routing/to.ts'
import { changes, version } from '../shell/help.ts'
import { Page, Title } from '../ui/page.tsx'

const row = 'flex items-start gap-3 border-b border-line py-3 hover:bg-hover'

/** Where help is, also on screens that have no room for the menu. */
export function HelpPage() {
  const { viewer } = useRouteContext({ from: '/shell' })
  return (
    <Page title="Help">
      <Title>Help</Title>
      <ul className="max-w-md border-t border-line">
        <li>
          <a href="/docs/" className={row}>
            <Line icon={BookOpen} title="Documentation">
              Guides, settings, commands, and how it works. Ctrl or ⌘ with K searches it from every page.
            </Line>
          </a>
        </li>
        <li>
          <a href="/v1/docs" className={row}>
            <Line icon={Braces} title="API reference">
              Every operation, with examples.
            </Line>
          </a>
        </li>
        <li>
          <Link {...to.shortcuts()} className={row}>
            <Line icon={Keyboard} title="Keyboard shortcuts">
              Every key, and the way to switch single ones off.
            </Line>
          </Link>
        </li>
        {viewer.membership.role === 'admin' && (
          <li>
            <Link {...to.health()} className={row}>
              <Line icon={Activity} title="Status">
                Hosts, queues, and Runs that failed.
              </Line>
            </Link>
          </li>
        )}
        <li>
          <a href={changes} className={row}>
            <Line icon={ScrollText} title={`Berth ${version}`}>
              What is new.
            </Line>
          </a>
        </li>
      </ul>
    </Page>
  )
}

function Line({ icon: Icon, title, children }: { icon: LucideIcon; title: string; children: ReactNode }) {
  return (
    <>
      <Icon className="mt-0.5 size-4 shrink-0 text-ink-3" aria-hidden />
      <span className="min-w-0">
        <span className="block font-medium">{title}</span>
        <span className="block text-xs text-ink-3">{children}</span>
      </span>
    </>
  )
}
